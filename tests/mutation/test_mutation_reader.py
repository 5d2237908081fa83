"""Rows of ACID tables under snapshots, from files of our own writers."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import tempfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudi_hive.errors import (
    CorruptFileError,
    FileVanishedError,
    MutationError,
    SchemaError,
    TimeTravelError,
    UnknownColumnError,
    UnsupportedAcidTableError,
    UnsupportedAcidValueError,
)
from hudi_hive.formats.orc import parse_hive_type
from hudi_hive.metastore import Partition, StorageDescriptor
from hudi_hive.metastore.transactions import ValidTransactions
from hudi_hive.mutation.acid_table.directories import choose, parse_directory
from hudi_hive.mutation.acid_table.reader import AcidPartition, AcidReader
from hudi_hive.mutation.acid_table.row_ids import ROW_ID, DeletedRows, row_id_keys
from tests.support.mutation.acid_rows import delete, insert, key, names, snapshot, table_at

ALL = snapshot(100)


def rows(table, ids=ALL, transactions=None, **how):
    return sorted(
        tuple(row.values()) for row in AcidReader(table, ids, transactions).read(with_row_id=False, **how).to_pylist()
    )


def chosen(folders, ids=ALL, transactions=None, compacted=()):
    base, deltas = choose([parse_directory(name) for name in folders.split()], ids, transactions, compacted=compacted)
    return " ".join([base.name if base else "-", *(one.name for one in deltas)])


# -- which folders ----------------------------------------------------------------------------------------------------


def test_names_of_folders():
    assert parse_directory("base_0000006_v0000079").visibility == 79
    assert parse_directory("base_-9223372036854775808").max_write_id == -(2**63)
    delta = parse_directory("delete_delta_0000001_0000004_0002_v0000077")
    assert (delta.kind, delta.min_write_id, delta.max_write_id, delta.statement) == ("delete_delta", 1, 4, 2)
    assert parse_directory("delta_0000003_0000003").statement == -1
    assert [parse_directory(name) for name in ("delta_1", "deltas_1_1", "base_x", "p=1")] == [None] * 4


@pytest.mark.parametrize(
    "folders, high, opened, aborted, expected",
    [
        ("delta_2_2_0000 delta_1_1_0000", 5, (), (), "- delta_1_1_0000 delta_2_2_0000"),
        ("delta_1_1_0000 delta_2_2_0000", 1, (), (), "- delta_1_1_0000"),
        ("delta_1_1_0000 delta_2_2_0000 delta_3_3_0000", 3, (2,), (3,), "- delta_1_1_0000"),
        ("delta_1_1_0000 delta_1_1_0001 delete_delta_1_1_0001", 1, (), (),
         "- delta_1_1_0000 delete_delta_1_1_0001 delta_1_1_0001"),
        ("delta_1_1 delete_delta_1_1", 1, (), (), "- delete_delta_1_1 delta_1_1"),
        ("base_5 delta_4_4_0000 delta_6_6_0000 delete_delta_5_5_0000", 9, (), (), "base_5 delta_6_6_0000"),
        ("base_5 base_3 delta_4_4_0000", 4, (), (), "base_3 delta_4_4_0000"),
        ("base_5 delta_4_4_0000", 9, (), (5,), "- delta_4_4_0000"),
        ("delta_1_4 delta_2_2_0000 delete_delta_3_3_0000 delta_5_5_0000", 9, (), (), "- delta_1_4 delta_5_5_0000"),
        ("delta_1_4 delete_delta_1_4 delta_1_3 delete_delta_4_4_0000", 9, (), (), "- delete_delta_1_4 delta_1_4"),
        ("delta_5_5 delta_5_5_0000", 9, (), (), "- delta_5_5"),
    ],
)  # fmt: skip
def test_choice_of_folders(folders, high, opened, aborted, expected):
    assert chosen(folders, snapshot(high, opened, aborted)) == expected


def test_compactions_of_hive_4_count_once_their_transaction_is_visible():
    folders = "delta_1_1_0000 delta_2_2_0000 delta_1_2_v0000020 delta_1_2_v0000030 base_2_v0000040"
    assert chosen(folders, transactions=ValidTransactions(10)) == "- delta_1_1_0000 delta_2_2_0000"
    assert chosen(folders, transactions=ValidTransactions(25)) == "- delta_1_2_v0000020"
    assert chosen(folders, transactions=ValidTransactions(35)) == "- delta_1_2_v0000030"
    assert chosen(folders, transactions=ValidTransactions(45)) == "base_2_v0000040"
    assert chosen(folders, transactions=ValidTransactions(45, (), (40,))) == "- delta_1_2_v0000030"
    with pytest.raises(UnsupportedAcidTableError, match="list of transactions"):
        chosen(folders)


def test_a_compacted_base_needs_all_that_is_below_it_settled():
    assert chosen("base_5", snapshot(9, (3,)), compacted=[]) == "base_5"  # INSERT OVERWRITE
    with pytest.raises(TimeTravelError, match="base_5 replaced what"):
        chosen("base_5 delta_6_6_0000", snapshot(9, (3,)), compacted=["base_5"])
    with pytest.raises(TimeTravelError):
        chosen("base_5 delta_2_2_0000", snapshot(4))  # what it replaced may be gone
    assert chosen("base_5 base_2", snapshot(9, (3,)), compacted=["base_5", "base_2"]) == "base_2"


# -- deleted identifiers ----------------------------------------------------------------------------------------------

small = st.integers(0, 4)
keys_strategy = st.lists(
    st.tuples(small, st.sampled_from([536870912, 536870913, 536936448, 3]), st.sampled_from([0, 1, 2, 2**40]))
)


def columns(keys):
    return tuple(np.array([one[place] for one in keys], np.int64) for place in range(3))


@given(keys_strategy, keys_strategy)
def test_deleted_rows_are_a_set(deletes, others):
    deleted = DeletedRows.of([columns(deletes[:2]), columns(deletes[2:])])
    assert len(deleted) == len(set(deletes))
    assert deleted.mask(columns(others)).tolist() == [one in set(deletes) for one in others]


def test_identifiers_that_do_not_fit_are_refused():
    with pytest.raises(UnsupportedAcidTableError, match="deleted row ids"):
        DeletedRows.of([columns([(1, 0, 2**62), (2, 0, 5), (3, 0, 5)])])


# -- rows -------------------------------------------------------------------------------------------------------------


def test_rows_of_a_snapshot(tmp_path):
    table = table_at(tmp_path)
    insert(table, 1, 0, names((1, "a"), (2, "b"), (3, "c")))
    insert(table, 1, 1, names((4, "d")))
    delete(table, 2, [key(1, 0, 1), key(1, 1, 0)])
    insert(table, 2, 1, names((4, "D")))
    insert(table, 3, 0, names((5, "e")))
    delete(table, 3, [key(1, 0, 0)])
    assert rows(table, snapshot(1)) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert rows(table, snapshot(3, opened=[3])) == [(1, "a"), (3, "c"), (4, "D")]
    assert rows(table, snapshot(3, aborted=[3])) == [(1, "a"), (3, "c"), (4, "D")]
    assert rows(table, snapshot(3)) == [(3, "c"), (4, "D"), (5, "e")]
    assert rows(table, snapshot(3, aborted=[2])) == [(2, "b"), (3, "c"), (4, "d"), (5, "e")]
    found = AcidReader(table, snapshot(3)).read()
    assert sorted(zip(*(part.tolist() for part in row_id_keys(found[ROW_ID])), strict=True)) == [
        key(1, 0, 2), key(2, 1, 0), key(3, 0, 0),
    ]  # fmt: skip


def test_deletes_find_rows_of_all_statements_of_a_write(tmp_path):
    table = table_at(tmp_path, buckets=1)
    for statement in (0, 1):
        insert(table, 1, 0, names((1, "a"), (2, "b"), (3, "c")), statement=statement)
    delete(table, 2, [key(1, 0, 2), key(1, 0, 0, statement=1)])
    assert rows(table) == [(1, "a"), (2, "b"), (2, "b"), (3, "c")]


def test_rows_of_a_wide_delta_are_seen_one_by_one(tmp_path):
    table = table_at(tmp_path, buckets=0)
    path = insert(table, 2, 0, names((1, "a")), folder="delta_0000001_0000003")
    insert(table, 3, 1, names((2, "b")), folder="delta_0000001_0000003")
    assert rows(table, snapshot(3, opened=[3])) == [(1, "a")]
    assert rows(table, snapshot(3, aborted=[2])) == [(2, "b")]
    assert os.path.exists(path)


def test_base_and_later_deletes(tmp_path):
    table = table_at(tmp_path)
    insert(table, 4, 0, names((1, "a"), (2, "b")), folder="base_0000004")
    insert(table, 2, 0, names((9, "gone")))
    delete(table, 5, [key(4, 0, 0)])
    assert rows(table) == [(2, "b")]
    (tmp_path / "base_0000004" / "_metadata_acid").write_text("{}")
    assert rows(table, snapshot(9)) == [(2, "b")]
    with pytest.raises(TimeTravelError):
        rows(table, snapshot(9, opened=[3]))


def test_columns_filters_and_partitions(tmp_path):
    table = table_at(tmp_path, keys="country:string day:int")
    insert(table, 1, 0, names((1, "a"), (2, "b")), partition="country=DE/day=1")
    insert(table, 1, 0, names((3, None)), partition="country=a%2Fb/day=2")
    insert(table, 1, 1, names((4, "d")), partition="country=__HIVE_DEFAULT_PARTITION__/day=2")
    (tmp_path / "_staging" / "x").mkdir(parents=True)
    assert rows(table, row_filter="country = 'a/b'") == [(3, None, "a/b", 2)]
    assert rows(table, row_filter="country IS NULL", columns=["DAY", "id"]) == [(2, 4)]
    assert rows(table, row_filter="name > 'a' AND day < 3", columns=["id"]) == [(2,), (4,)]
    assert rows(table, row_filter="day = 2 AND country = 'DE'") == []
    reader = AcidReader(table, ALL)
    assert reader.read([], with_row_id=False).num_rows == 4
    assert reader.read([]).column_names == [ROW_ID]
    with pytest.raises(UnknownColumnError, match="no column nope"):
        reader.read(["nope"])


def test_partitions_of_the_metastore(tmp_path):
    table = table_at(tmp_path / "t", keys="p:string")
    insert(table, 1, 0, names((1, "a")), partition="p=x")
    insert(table, 1, 0, names((2, "b")), partition="../elsewhere")
    insert(table, 1, 0, names((3, "c")), partition="p=dropped")
    partitions = [
        AcidPartition(("x",), f"{table.location}/p=x"),
        AcidPartition.of(
            Partition(
                values=["__HIVE_DEFAULT_PARTITION__"], sd=StorageDescriptor(location=f"file:{tmp_path}/elsewhere")
            )
        ),
        AcidPartition(("empty",), f"{table.location}/p=empty"),
    ]
    found = AcidReader(table, ALL, partitions=partitions).read(with_row_id=False)
    assert found.to_pylist() == [{"id": 1, "name": "a", "p": "x"}, {"id": 2, "name": "b", "p": None}]


def test_columns_added_and_widened_later(tmp_path):
    old = table_at(tmp_path, "ID:int name:string")
    insert(old, 1, 0, pa.table([pa.array([7], pa.int32()), ["a"]], names=["ID", "name"]))
    new = table_at(tmp_path, "id:bigint name:string more:decimal(10,2)")
    assert rows(new) == [(7, "a", None)]
    with pytest.raises(SchemaError, match="'name' is string in the file and int32"):
        rows(table_at(tmp_path, "id:int name:int"))


def test_nested_columns_and_times(tmp_path):
    table = table_at(tmp_path, "id:int s:struct<a:int,b:array<string>> m:map<string,int> t:timestamp")
    kinds = dict(zip(table.row_schema.names, table.row_schema.types, strict=True))
    values = {"id": [1], "s": [{"a": 1, "b": ["x", None]}], "m": [[("k", 1)]], "t": [1_600_000_000_000_001]}
    insert(table, 1, 0, pa.table([pa.array(values[name], kind) for name, kind in kinds.items()], names=list(kinds)))
    row = AcidReader(table, ALL).read(with_row_id=False)
    assert row.schema == table.row_schema
    assert row["t"].cast(pa.int64()).to_pylist() == [1_600_000_000_000_001] and row["s"].to_pylist() == values["s"]
    fine = row.set_column(3, "t", pa.array([1_600_000_000_000_000_001], pa.timestamp("ns")))
    insert(table, 2, 0, fine)
    with pytest.raises(UnsupportedAcidValueError, match="column 't'"):
        AcidReader(table, ALL).read()
    assert AcidReader(table, ALL).read(["id"]).num_rows == 2


def test_times_that_nanoseconds_do_not_hold_are_read_as_microseconds(tmp_path):
    """Arrow writes them and refuses to read them; Hive reads them."""
    table = table_at(tmp_path, columns="id:int t:timestamp")
    far = pa.array([None, -62135596800000000, 253402300799999999], pa.timestamp("us"))
    insert(table, 1, 0, pa.table({"id": pa.array([1, 2, 3], pa.int32()), "t": far}))
    assert AcidReader(table, ALL).read()["t"].combine_chunks() == far
    assert AcidReader(table, ALL).read(["id"], "t > '9999-01-01'")["id"].to_pylist() == [3]


def test_times_that_nanoseconds_do_not_hold_are_read_below_structs_lists_and_maps(tmp_path):
    table = table_at(tmp_path, columns="id:int s:struct<t:timestamp,l:array<timestamp>,m:map<string,timestamp>>")
    kind = parse_hive_type(table.columns[1].type).arrow
    chance = random.Random(3)
    times = [chance.randrange(-62_135_596_800, 253_402_300_799) * 1_000_000 for _ in range(2000)]
    # Fractions of seconds before 1970 are not written, as Hive reads them wrongly from such files.
    times = [time + chance.choice([0, 0, 1, 999_999, 500_000, 120_000]) * (time >= 0) for time in times]
    values = [
        None
        if number % 11 == 0
        else {"t": time, "l": None if number % 5 == 0 else [time, None, times[0]], "m": [("k", time)]}
        for number, time in enumerate(times)
    ]
    column = pa.array(values, kind)
    insert(table, 1, 0, pa.table({"id": pa.array(range(2000), pa.int32()), "s": column}))
    assert AcidReader(table, ALL).read(["s"], with_row_id=False)["s"].combine_chunks().equals(column)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_foreign_files_and_folders_are_refused(tmp_path):
    table = table_at(tmp_path)
    path = insert(table, 1, 0, names((1, "a")))
    for name, what in (("000000_0", "without row identifiers"), ("part-1.orc", "none that Hive puts")):
        shutil.copy(path, tmp_path / name)
        with pytest.raises(UnsupportedAcidTableError, match=what):
            rows(table)
        (tmp_path / name).unlink()
        shutil.copy(path, os.path.join(os.path.dirname(path), name))
        with pytest.raises(UnsupportedAcidTableError, match=what):
            rows(table)
        os.unlink(os.path.join(os.path.dirname(path), name))
    (tmp_path / "other").mkdir()
    with pytest.raises(UnsupportedAcidTableError, match="folder 'other'"):
        rows(table)
    (tmp_path / "other").rmdir()
    shutil.copy(path, path + "_0")
    with pytest.raises(UnsupportedAcidTableError, match="two files of bucket 0"):
        rows(table)
    os.unlink(path)
    assert rows(table) == [(1, "a")]  # Hive 4 appends the number of an attempt


def test_files_that_are_no_acid_files(tmp_path):
    import pyarrow.orc as orc

    table = table_at(tmp_path)
    path = insert(table, 1, 0, names((1, "a")))
    legacy = orc.read_table(path).set_column(0, "operation", pa.array([2], pa.int32()))
    for content, error, what in (
        (names((1, "a")), UnsupportedAcidTableError, "without row identifiers"),
        (legacy, UnsupportedAcidTableError, "legacy layout"),
    ):
        orc.write_table(content, path)
        with pytest.raises(error, match=what):
            rows(table)
    with open(path, "wb") as stream:
        stream.write(b"no ORC at all")
    with pytest.raises(CorruptFileError):
        rows(table)
    open(path, "wb").close()
    assert rows(table) == []


def test_streaming_side_file_cuts_the_file(tmp_path):
    table = table_at(tmp_path)
    path = insert(table, 1, 0, names((1, "a")))
    size = os.path.getsize(path)
    with open(path, "ab") as stream:
        stream.write(b"half a stripe")
    with pytest.raises(CorruptFileError):
        rows(table)
    with open(path + "_flush_length", "wb") as stream:
        stream.write((size // 2).to_bytes(8, "big") + size.to_bytes(8, "big") + b"\0\0")
    assert rows(table) == [(1, "a")]


def test_vanished_file_and_foreign_snapshot(tmp_path):
    table = table_at(tmp_path)
    insert(table, 1, 0, names((1, "a")))
    second = insert(table, 2, 0, names((2, "b")))
    batches = AcidReader(table, ALL, threads=1).read_batches()
    next(batches)
    os.unlink(second)
    with pytest.raises(FileVanishedError, match="compacted and cleaned"):
        next(batches)
    other = table_at(tmp_path)
    with pytest.raises(MutationError, match=r"write ids of db\.t say nothing about"):
        AcidReader(other.__class__("db", "u", other.location, other.columns), ALL)


@pytest.mark.parametrize("buckets", [0, 2])
def test_single_buckets_can_be_read(tmp_path, buckets):
    """What was chosen travels; nothing is listed again, and deletes in the file of another writer count if they may."""
    table = table_at(tmp_path, buckets=buckets)
    insert(table, 1, 0, names((1, "a"), (2, "b")))
    insert(table, 1, 1, names((3, "c"), (4, "d")))
    delete(table, 2, [key(1, 0, 0), key(1, 1, 1)])
    if not buckets:
        (tmp_path / "delete_delta_0000002_0000002_0000" / "bucket_00000").rename(
            tmp_path / "delete_delta_0000002_0000002_0000" / "bucket_00007"
        )
    (place,) = AcidReader(table, ALL).partitions()
    found = []
    for state in AcidReader(table, ALL).state(place).by_bucket(bucketed=buckets > 0):
        reader = AcidReader(table, ALL, partitions=[place], states={place: pickle.loads(pickle.dumps(state))})
        found.append([row["id"] for row in reader.read(["id"], with_row_id=False).to_pylist()])
        assert not reader.storage.counters["lists"]
    assert found == [[2], [3]]


# -- against a model --------------------------------------------------------------------------------------------------

step = st.tuples(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), max_size=3),  # inserts: bucket, statement
    st.lists(st.integers(0, 30), max_size=4),  # deletes: place among the rows that are there
    st.sampled_from(["commit", "commit", "abort", "open"]),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(step, max_size=6))
def test_histories_read_as_a_model_says(history):
    with tempfile.TemporaryDirectory() as folder:
        table = table_at(folder)
        live, states, ends = {}, [{}], []
        for write_id, (inserts, places, end) in enumerate(history, 1):
            own = dict(live)
            doomed = sorted({sorted(live)[place % len(live)] for place in places}) if live else []
            for one in doomed:
                del own[one]
            if doomed:
                delete(table, write_id, doomed)
            for bucket, statement in set(inserts):
                fresh = [(write_id * 100 + place, f"{bucket}") for place in range(2)]
                insert(table, write_id, bucket, names(*fresh), statement=statement)
                own |= {key(write_id, bucket, place, statement): row for place, row in enumerate(fresh)}
            live = own if end == "commit" else live
            states.append(live)
            ends.append(end)
        for high in range(len(history) + 1):
            ids = snapshot(
                high, *([i for i, end in enumerate(ends[:high], 1) if end == which] for which in ("open", "abort"))
            )
            found = AcidReader(table, ids).read()
            got = zip(*(part.tolist() for part in row_id_keys(found[ROW_ID])), strict=True)
            values = zip(found["id"].to_pylist(), found["name"].to_pylist(), strict=True)
            assert dict(zip(got, values, strict=True)) == states[high]
            assert found.num_rows == len(states[high])
