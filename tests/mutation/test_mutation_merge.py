"""Merges into ACID tables: which records come out for coordinators, and what the table holds after they are written."""

from __future__ import annotations

import datetime
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive.errors import InvalidOptionError, MutationError, SchemaError, UnknownColumnError
from hudi_hive.formats.hash import bucket_numbers
from hudi_hive.formats.orc import DELETE, INSERT, UPDATE, parse_hive_type
from hudi_hive.mutation.acid_table.acid_names import staging_folder
from hudi_hive.mutation.acid_table.reader import AcidPartition, AcidReader
from hudi_hive.mutation.acid_table.row_ids import ROW_ID, row_id_keys
from hudi_hive.mutation.acid_write.coordinator import MutatorCoordinator
from hudi_hive.mutation.acid_write.manifest import check_manifests
from hudi_hive.mutation.acid_write.merge_by_key import merge
from hudi_hive.mutation.acid_write.publish import Publisher
from tests.support.mutation.acid_rows import delete, insert, names, snapshot, table_at


def fill(table, write_id, rows, partition=""):
    """Insert rows into the buckets where they belong."""
    if not table.buckets and rows.num_rows:
        insert(table, write_id, 0, rows, partition=partition)
        return
    columns = [rows[name].combine_chunks() for name in table.bucket_columns]
    buckets = bucket_numbers(columns, table.bucket_types, table.buckets, table.bucketing_version)
    for bucket in np.unique(buckets):
        insert(table, write_id, int(bucket), rows.filter(pa.array(buckets == bucket)), partition=partition)


def apply(table, write_id, result):
    """Write a merge's records as a coordinator would; updates must stay in their bucket."""
    operations, records = result.operations, result.records
    for values in {partition_of(table, row) for row in records.to_pylist()}:
        here = [partition_of(table, row) == values for row in records.to_pylist()]
        partition = "/".join(f"{name}={value}" for name, value in zip(table.key_names, values, strict=True))
        gone = records[ROW_ID].filter(pa.array(here & (operations != INSERT)))
        if len(gone):
            keys = list(zip(*(part.tolist() for part in row_id_keys(gone)), strict=True))
            delete(table, write_id, keys, partition=partition)
        fresh = records.filter(pa.array(here & (operations != DELETE))).select(table.row_schema.names)
        fill(table, write_id, fresh, partition)


def partition_of(table, row):
    return tuple(row[name] for name in table.key_names)


def rows(table, high=100):
    return sorted(tuple(r.values()) for r in AcidReader(table, snapshot(high)).read(with_row_id=False).to_pylist())


def reader(table, high=100):
    return AcidReader(table, snapshot(high))


def in_order(table, result):
    """Whether records come in groups, and identifiers ascend in each."""
    records = result.records.to_pylist()
    seen, last = [], None
    for place, (operation, record) in enumerate(zip(result.operations.tolist(), records, strict=True)):
        row_id = record[ROW_ID]
        assert (row_id is None) == (operation == INSERT)
        if place in result.groups:
            seen.append(tuple(record[key] for key in table.key_names))
            last = (-1, -1, -1)
        if row_id is not None:
            assert last is not None and tuple(row_id.values()) > last
            last = tuple(row_id.values())
        else:
            last = None
    return seen


def test_update_insert_delete(tmp_path):
    table = table_at(tmp_path)
    fill(table, 1, names(*((number, "old") for number in range(10))))
    changes = names((3, "new"), (4, "drop"), (20, "fresh"), (21, "drop"))
    result = merge(reader(table), changes, ["ID"], delete_where="name = 'drop'")
    assert (result.inserted, result.updated, result.deleted) == (1, 1, 1)
    assert sorted(result.operations.tolist()) == [INSERT, UPDATE, DELETE]
    in_order(table, result)
    apply(table, 2, result)
    wanted = {number: "old" for number in range(10) if number != 4} | {3: "new", 20: "fresh"}
    assert rows(table) == sorted(wanted.items())
    assert rows(table, 1) == [(number, "old") for number in range(10)]


@pytest.mark.parametrize(
    "how, expected",
    [
        ({}, [(1, "a"), (2, "B"), (9, "Z")]),
        ({"when_matched": "ignore"}, [(1, "a"), (2, "b"), (9, "Z")]),
        ({"when_matched": "delete"}, [(1, "a"), (9, "Z")]),
        ({"when_not_matched": "ignore"}, [(1, "a"), (2, "B")]),
        ({"when_matched": "delete", "when_not_matched": "ignore"}, [(1, "a")]),
        ({"when_matched": "ignore", "delete_where": "id = 2"}, [(1, "a"), (9, "Z")]),
        ({"delete_where": "name IS NOT NULL"}, [(1, "a")]),
    ],
)
def test_what_is_done(tmp_path, how, expected):
    table = table_at(tmp_path)
    fill(table, 1, names((1, "a"), (2, "b")))
    apply(table, 2, merge(reader(table), names((2, "B"), (9, "Z")), ["id"], **how))
    assert rows(table) == expected


def test_rows_that_move_are_deleted_and_inserted(tmp_path):
    table = table_at(tmp_path, "id:int name:string", keys="day:int", bucket_columns=("name",), buckets=4)
    fill(table, 1, names((1, "a"), (2, "b"), (3, "c")), "day=1")
    fill(table, 1, names((4, "d")), "day=2")
    columns = [pa.array([1, 2, 4, 5], pa.int32()), ["a", "somewhere else", "d", "e"], pa.array([1, 1, 3, 2])]
    changes = pa.table(columns, names=["id", "name", "day"])
    result = merge(reader(table), changes, ["id"])
    assert (result.inserted, result.updated, result.deleted) == (1, 3, 0)
    assert sorted(result.operations.tolist()) == [INSERT] * 3 + [UPDATE] + [DELETE] * 2
    in_order(table, result)
    apply(table, 2, result)
    assert rows(table) == [(1, "a", 1), (2, "somewhere else", 1), (3, "c", 1), (4, "d", 3), (5, "e", 2)]


def test_columns_that_changes_lack(tmp_path):
    table = table_at(tmp_path, "id:int name:string score:double", keys="p:string")
    old = pa.table([pa.array([1, 2], pa.int32()), ["a", "b"], [0.5, 1.5]], names=["id", "name", "score"])
    fill(table, 1, old, "p=x")
    changes = pa.table([pa.array([2], pa.int64()), [9.5]], names=["id", "Score"])
    result = merge(reader(table), changes, ["id"])
    assert result.records.to_pylist()[0] | {ROW_ID: None} == {
        "id": 2,
        "name": "b",
        "score": 9.5,
        "p": "x",
        ROW_ID: None,
    }
    with pytest.raises(SchemaError, match="lack the partition key p"):
        merge(reader(table), pa.table({"id": [7]}), ["id"])
    fresh = merge(reader(table), pa.table({"id": [7], "p": ["y"]}), ["id"])
    assert fresh.records.drop([ROW_ID]).to_pylist() == [{"id": 7, "name": None, "score": None, "p": "y"}]


def test_null_keys_match_nothing_and_several_rows_may_match(tmp_path):
    table = table_at(tmp_path, buckets=0)
    fill(table, 1, pa.table([pa.array([1, 1, None], pa.int32()), ["a", "b", "c"]], names=["id", "name"]))
    changes = pa.table([pa.array([1, None, None], pa.int32()), ["x", "y", "z"]], names=["id", "name"])
    result = merge(reader(table), changes, ["id"])
    assert (result.inserted, result.updated) == (2, 2)
    keyed = merge(reader(table), names((1, "b"), (1, "q")), ["id", "name"], when_matched="delete")
    assert (keyed.inserted, keyed.deleted) == (1, 1)


def test_many_keys_and_stretches_for_workers(tmp_path):
    table = table_at(tmp_path, keys="p:string", buckets=4)
    for part in ("p=a", "p=b"):
        fill(table, 1, names(*((number, part) for number in range(2000))), part)
    changes = pa.table([pa.array(range(500, 2500), pa.int32())], names=["id"])
    result = merge(reader(table), changes, ["id"], when_not_matched="ignore")
    assert result.updated == 3000 and len(result.groups) == 8
    assert len(in_order(table, result)) == 8
    for parts in (1, 3, 8, 20):
        split = result.split(parts)
        assert len(split) <= parts and sum(len(one.operations) for one in split) == 3000
        assert sum(len(one.groups) for one in split) == 8
        assert pa.concat_tables([one.records for one in split]).equals(result.records)
    assert result.split(2)[0].records.num_rows in range(1200, 1800)
    assert merge(reader(table), changes.slice(0, 0), ["id"]).split(3) == []
    with pytest.raises(InvalidOptionError):
        result.split(0)


def test_feeding_a_coordinator(tmp_path):
    table = table_at(tmp_path)
    fill(table, 1, names((1, "a")))
    taken = []

    class Taker:
        def mutate_batch(self, batch, operations):
            taken.append((batch.num_rows, operations.tolist()))

    merge(reader(table), names((1, "b")), ["id"]).feed(Taker())
    merge(reader(table), names((7, "b")), ["id"], when_not_matched="ignore").feed(Taker())
    assert taken == [(1, [UPDATE])]


def test_a_real_coordinator_takes_the_records(tmp_path):
    table = table_at(tmp_path, "id:int name:string", keys="day:int", bucket_columns=("name",), buckets=4)
    old = {number: (f"n{number % 7}", number % 3) for number in range(60)}
    for day in range(3):
        fill(table, 1, names(*((n, name) for n, (name, at) in old.items() if at == day)), f"day={day}")
    new = {number: (f"n{number % 5}", number % 4) for number in range(30, 90)}
    columns = [pa.array(new, pa.int32()), *map(list, zip(*new.values(), strict=True))]
    result = merge(reader(table), pa.table(columns, names=["id", "name", "day"]), ["id"], delete_where="name = 'n4'")
    for attempt, part in enumerate(result.split(3)):
        with MutatorCoordinator(table.in_transaction(5, 2), attempt=f"a{attempt}") as coordinator:
            part.feed(coordinator)
        for group in coordinator.close().groups:
            for path in filter(None, (group.delta, group.delete_delta)):
                (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / staging_folder(2, f"a{attempt}") / path).rename(tmp_path / path)
    wanted = {**old, **new}
    for number, (name, _) in new.items():
        if name == "n4":
            del wanted[number]
    assert rows(table) == sorted((number, *values) for number, values in wanted.items())
    assert rows(table, 1) == sorted((number, *values) for number, values in old.items())


def test_changes_that_cannot_be_merged_are_refused(tmp_path):
    table = table_at(tmp_path, "id:int name:string f:array<int>", keys="day:int")
    row = pa.table([pa.array([1], pa.int32()), ["a"], pa.array([[5]], pa.list_(pa.int32()))], names=["id", "name", "f"])
    fill(table, 1, row, "day=1")
    changes = row.append_column("day", pa.array([1]))
    for given, on, error, what in (
        (changes, ["nope"], UnknownColumnError, "not nope"),
        (changes, [], UnknownColumnError, "needs columns"),
        (changes.append_column("op", ["d"]), ["id"], UnknownColumnError, "no column op"),
        (changes, ["f"], SchemaError, "not joined by column 'f'"),
        (pa.concat_tables([changes, changes]), ["id"], MutationError, "1 keys come several times"),
        (changes.append_column("ID", pa.array([1])), ["id"], SchemaError, "differ only in case"),
        (changes.set_column(0, "id", pa.array([1.5])), ["id"], SchemaError, "column id is int32"),
    ):
        with pytest.raises(error, match=what):
            merge(reader(table), given, on)
    with pytest.raises(InvalidOptionError, match="when_matched='upsert'"):
        merge(reader(table), changes, ["id"], when_matched="upsert")
    assert merge(reader(table), changes.append_column("op", ["d"]), ["id"], delete_where="op = 'd'").deleted == 1
    for partition, what in (
        (AcidPartition(("1",), "DAY=1"), "not in the folder of its name"),
        (AcidPartition(("01",), f"{table.location}/day=01"), "not how Hive writes a int32"),
    ):
        with pytest.raises(MutationError, match=what):
            merge(AcidReader(table, snapshot(9), partitions=[partition]), changes, ["id"])


def test_partitions_elsewhere_are_found_by_their_values(tmp_path):
    table = table_at(tmp_path / "t", keys="p:string")
    fill(table, 1, names((1, "a")), "../elsewhere")
    partitions = [AcidPartition(("x",), str(tmp_path / "elsewhere"))]
    changes = names((1, "b")).append_column("p", pa.array(["x"]))
    assert merge(AcidReader(table, snapshot(9), partitions=partitions), changes, ["id", "p"]).updated == 1


@pytest.mark.parametrize(
    "kind, values",
    [
        ("boolean", [True, False]),
        ("tinyint", [1, -1]),
        ("bigint", [2**40, -(2**40)]),
        ("date", [datetime.date(2020, 1, 1), datetime.date(1960, 1, 1)]),
        ("timestamp", [datetime.datetime(2020, 1, 1, 1, 2, 3, 4), datetime.datetime(1960, 1, 1)]),
        ("decimal(20,2)", [Decimal("1.50"), Decimal("-12345678901234567.25")]),
        ("binary", [b"\xff\x00", b""]),
        ("varchar(9)", ["o'clock", ""]),
    ],
)
def test_keys_of_all_types(tmp_path, kind, values):
    table = table_at(tmp_path, f"k:{kind} v:int", buckets=0)
    old = pa.table(
        [pa.array([*values, None], table.row_schema.types[0]), pa.array([1, 2, 3], pa.int32())], names=["k", "v"]
    )
    fill(table, 1, old)
    for chosen in (old.slice(0, 1), old.slice(1, 2), old):
        result = merge(reader(table), chosen, ["k"])
        known = len(chosen) - chosen["k"].null_count
        assert (result.updated, result.inserted) == (known, chosen["k"].null_count)
        assert sorted(result.records["v"].to_pylist()) == sorted(chosen["v"].to_pylist())


@pytest.mark.parametrize("kind", ["float", "double"])
def test_float_keys_match_as_numbers_do_in_spark(tmp_path, kind):
    """0.0 is -0.0, NaN is NaN, whatever its bits, and a null matches nothing."""
    arrow = {"float": pa.float32(), "double": pa.float64()}[kind]
    table = table_at(tmp_path, f"k:{kind} v:int", buckets=0)
    other_nan = np.array([-np.nan], arrow.to_pandas_dtype())
    old = pa.array([-0.0, np.nan, 0.1, np.inf, -np.inf, None], arrow)
    fill(table, 1, pa.table([old, pa.array(range(6), pa.int32())], names=["k", "v"]))
    new = pa.concat_arrays([pa.array([0.0], arrow), pa.array(other_nan), pa.array([0.1, np.inf, 7.0, None], arrow)])
    changes = pa.table([new, pa.array([10, 11, 12, 13, 14, 15], pa.int32())], names=["k", "v"])
    result = merge(reader(table), changes, ["k"])
    assert (result.updated, result.inserted) == (4, 2)
    apply(table, 2, result)
    found = {row["v"]: row["k"] for row in reader(table).read(with_row_id=False).to_pylist()}
    assert sorted(found) == [4, 5, 10, 11, 12, 13, 14, 15]
    assert repr(found[10]) == "0.0" and found[11] != found[11]
    for same in ([0.0, -0.0], [np.nan, -np.nan]):
        twice = pa.table([pa.array(np.array(same, arrow.to_pandas_dtype())), pa.array([1, 2], pa.int32())], ["k", "v"])
        with pytest.raises(MutationError, match="1 keys come several times"):
            merge(reader(table), twice, ["k"])


PARTITION_TEXTS = [  # as Hive 4.0.1 named them
    ("double", [1.0, 1e10, 1e-5, 123456789.125, -0.0], ["1.0", "1.0E10", "1.0E-5", "1.23456789125E8", "-0.0"]),
    ("float", [1.100000023841858, 16777216.0, float("inf")], ["1.1", "1.6777216E7", "Infinity"]),
    ("decimal(10,3)", [Decimal("1.500"), Decimal("0.000"), Decimal("100.000")], ["1.5", "0", "100"]),
    (
        "timestamp",
        [
            datetime.datetime(2020, 1, 1),
            datetime.datetime(2020, 1, 1, 1, 2, 3, 500_000),
            datetime.datetime(1, 1, 1),
            datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999),
        ],
        ["2020-01-01 00:00:00", "2020-01-01 01:02:03.5", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"],
    ),
]


@pytest.mark.parametrize(("kind", "values", "texts"), PARTITION_TEXTS)
def test_partitions_by_numbers_and_times_are_named_as_hive_names_them(tmp_path, kind, values, texts):
    table = replace(table_at(tmp_path, "id:int name:string", keys=f"k:{kind}", buckets=1), transaction_id=1, write_id=1)
    column = pa.array(values, parse_hive_type(kind).arrow)
    ids = pa.array(range(len(values)), pa.int32())
    with MutatorCoordinator(table) as coordinator:
        coordinator.insert_batch(pa.table({"id": ids, "name": ["a"] * len(ids), "k": column}))
    files = coordinator.close()
    assert [group.partition for group in files.groups] == [(text,) for text in texts]
    Publisher(table).place(check_manifests([files], table.qualified_name, 1), {})
    changes = pa.table({"id": ids, "k": column, "name": ["b"] * len(ids)})
    by_partition = merge(reader(table), changes, ["k", "id"])
    assert (by_partition.updated, by_partition.inserted) == (len(ids), 0)
    assert by_partition.operations.tolist() == [UPDATE] * len(ids)
    # To another partition and back: all rows move to the first.
    moved = merge(reader(table), changes.set_column(1, "k", pa.array([values[0]] * len(ids), column.type)), ["id"])
    assert sorted(moved.operations.tolist()) == sorted([UPDATE, *[DELETE, INSERT] * (len(ids) - 1)])
    odd = AcidPartition((texts[0] + "0",), f"{table.location}/k={texts[0]}0")
    with pytest.raises(MutationError, match="not how Hive writes"):
        merge(AcidReader(table, snapshot(9), partitions=[odd]), changes, ["id"])
