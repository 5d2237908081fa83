"""Coordinators: the rules for records, and the files that come of those that keep them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from hudi_hive.errors import (
    BucketIdError,
    GroupRevisitedError,
    MutationError,
    MutationStateError,
    RecordIdentifierError,
    RecordSequenceError,
    SchemaError,
    UnknownColumnError,
    UnsupportedAcidValueError,
)
from hudi_hive.formats.hash import bucket_numbers
from hudi_hive.mutation.acid_table.acid_names import staging_folder
from hudi_hive.mutation.acid_table.row_ids import ROW_ID, ROW_ID_TYPE
from hudi_hive.mutation.acid_table.table import AcidTable
from hudi_hive.mutation.acid_write.coordinator import MutatorCoordinator, RowId
from hudi_hive.mutation.acid_write.groups import GroupValidator
from hudi_hive.mutation.acid_write.incoming import read_incoming
from hudi_hive.mutation.acid_write.manifest import MutationManifest
from tests.support.mutation.acid_definitions import acid_table

WRITE_ID = 9


def _ids_of(bucket: int, count: int, buckets: int = 2) -> list[int]:
    numbers = bucket_numbers([pa.array(range(1000), pa.int32())], ["int"], buckets, 2)
    return [int(number) for number in np.flatnonzero(numbers == bucket)[:count]]


def _property(bucket: int, statement: int = 0) -> int:
    return 1 << 29 | bucket << 16 | statement


def _sink(root: Path, *, partitioned: bool = False, buckets: int = 2) -> AcidTable:
    keys = [("ds", "date"), ("country", "string")] if partitioned else []
    table = AcidTable.of(acid_table(f"file:{root}", keys=keys, buckets=buckets))
    return table.in_transaction(100, WRITE_ID)


def _events(root: Path, manifest: MutationManifest, path: str) -> list[dict[str, object]]:
    data = (root / staging_folder(WRITE_ID, manifest.attempt) / path).read_bytes()
    return list(orc.ORCFile(io.BytesIO(data)).read().to_pylist())


def _batch(ids: Sequence[int], row_ids: Sequence[tuple[int, int, int] | None] | None = None) -> pa.Table:
    table = pa.table({"id": pa.array(ids, pa.int32()), "msg": [f"m{number}" for number in ids]})
    if row_ids is None:
        return table
    names = [field.name for field in ROW_ID_TYPE]
    values = [None if row_id is None else dict(zip(names, row_id, strict=True)) for row_id in row_ids]
    return table.append_column(ROW_ID, pa.array(values, ROW_ID_TYPE))


def test_inserts_updates_and_deletes_become_files_of_their_bucket(tmp_path: Path) -> None:
    zero, one = _ids_of(0, 3), _ids_of(1, 1)
    coordinator = MutatorCoordinator(_sink(tmp_path), attempt="a")
    coordinator.update([], {"id": zero[0], "msg": "new", "ROW__ID": RowId(3, _property(0), 4)})
    coordinator.insert([], {"id": zero[1], "msg": "first"})
    coordinator.delete([], {"row__id": (3, _property(0), 5)})
    coordinator.insert_batch(_batch([zero[2]]))
    coordinator.delete_batch(_batch(one, [(2, _property(1, 1), 0)]).select([ROW_ID]))
    manifest = coordinator.close()
    assert coordinator.close() == manifest == MutationManifest.decode(manifest.encode())
    assert manifest.rows == 5
    first, second = manifest.groups
    assert (first.bucket, first.inserts, first.updates, first.deletes) == (0, 2, 1, 1)
    assert (second.bucket, second.inserts, second.updates, second.deletes, second.delta) == (1, 0, 0, 1, "")
    assert first.delta == "delta_0000009_0000009_0000/bucket_00000"
    assert second.delete_delta == "delete_delta_0000009_0000009_0000/bucket_00001"
    rows = _events(tmp_path, manifest, first.delta)
    assert [event["row"]["id"] for event in rows] == zero  # type: ignore[index]
    assert [(event["originalTransaction"], event["bucket"], event["rowId"]) for event in rows] == [
        (WRITE_ID, _property(0), number) for number in range(3)
    ]
    gone = _events(tmp_path, manifest, first.delete_delta)
    assert [(e["operation"], e["originalTransaction"], e["rowId"], e["row"]) for e in gone] == [
        (2, 3, 4, None),
        (2, 3, 5, None),
    ]
    # Where readers look, there is nothing yet.
    assert [path.name for path in tmp_path.iterdir()] == ["_hudi_hive_mutation"]


def test_partitions_come_from_columns_or_from_the_caller(tmp_path: Path) -> None:
    ids = _ids_of(0, 4)
    batch = _batch(ids)
    batch = batch.append_column("ds", pa.array(["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-02"]).cast("date32"))
    batch = batch.append_column("country", pa.array(["x/y", "x/y", None, None]))
    with MutatorCoordinator(_sink(tmp_path, partitioned=True)) as coordinator:
        coordinator.insert_batch(batch)
        coordinator.insert_batch(_batch(ids), ["2024-01-03", "z"])
    groups = coordinator.close().groups
    assert [group.partition for group in groups] == [("2024-01-01", "x/y"), ("2024-01-02", None), ("2024-01-03", "z")]
    assert [group.inserts for group in groups] == [2, 2, 4]
    assert groups[0].delta.startswith("ds=2024-01-01/country=x%2Fy/delta_")
    assert "/country=__HIVE_DEFAULT_PARTITION__/" in groups[1].delta


@pytest.mark.parametrize(
    ("stated", "codec"), [(None, "ZLIB"), ("snappy", "SNAPPY"), ("NONE", "UNCOMPRESSED"), ("ZSTD", "ZLIB")]
)
def test_files_are_compressed_as_the_table_says(tmp_path: Path, stated: str | None, codec: str) -> None:
    parameters = {} if stated is None else {"orc.compress": stated}
    table = AcidTable.of(acid_table(f"file:{tmp_path}", parameters=parameters)).in_transaction(100, WRITE_ID)
    with MutatorCoordinator(AcidTable.decode(table.encode())) as coordinator:
        coordinator.update_batch(_batch(_ids_of(0, 1), [(3, _property(0), 1)]))
    manifest = coordinator.close()
    folder = tmp_path / staging_folder(WRITE_ID, manifest.attempt)
    for path in (manifest.groups[0].delta, manifest.groups[0].delete_delta):
        assert orc.ORCFile(folder / path).compression == codec


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y", None, "z"])), max_size=12))
def test_partitions_of_records_are_distinguished(keys: list[tuple[str, str | None]]) -> None:
    table = AcidTable.of(acid_table("file:/t", keys=[("p", "string"), ("q", "string")])).in_transaction(100, WRITE_ID)
    batch = _batch(range(len(keys)))
    for place, name in enumerate("pq"):
        batch = batch.append_column(name, pa.array([key[place] for key in keys], pa.string()))
    found = read_incoming(table, batch, np.zeros(len(keys), np.int8), None, 0)
    assert [found.partition_values[place] for place in found.partitions] == keys
    assert len(set(found.partition_values)) == len(found.partition_values) == len(set(keys))


def test_inserts_are_spread_over_writers(tmp_path: Path) -> None:
    """A table without buckets has a file for each writer; a row that is changed stays with the one that it had."""
    batch = _batch([1, 2, 3, 4], [(3, _property(1), 0), None, None, None])
    operations = np.array([2, 0, 0, 0], np.int8)
    with MutatorCoordinator(_sink(tmp_path, buckets=0)) as coordinator:
        coordinator.mutate_spread(batch, operations, np.array([9, 1, 7, 7], np.int32))
    groups = coordinator.close().groups
    assert [(group.bucket, group.inserts, group.deletes) for group in groups] == [(1, 1, 1), (7, 2, 0)]
    with (
        MutatorCoordinator(_sink(tmp_path, buckets=0), attempt="b") as other,
        pytest.raises(MutationError, match="writers 1 to 4096 are out of range"),
    ):
        other.mutate_spread(batch, operations, np.array([0, 4096, 7, 7], np.int32))


def test_a_group_that_was_left_does_not_come_again(tmp_path: Path) -> None:
    zero, one = _ids_of(0, 2), _ids_of(1, 1)
    coordinator = MutatorCoordinator(_sink(tmp_path))
    with pytest.raises(GroupRevisitedError, match="bucket 0"):
        coordinator.insert_batch(_batch([zero[0], one[0], zero[1]]))
    with pytest.raises(MutationStateError, match="failed"):
        coordinator.insert_batch(_batch([1]))
    with pytest.raises(MutationStateError, match="failed"):
        coordinator.close()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((3, _property(0), 5), (3, _property(0), 5)),
        ((3, _property(0), 5), (3, _property(0), 4)),
        ((3, _property(0), 5), (2, _property(0), 9)),
        # In order of write id and row id alone, which is what the Java API asks for and Hive loses deletes by.
        ((3, _property(0, 1), 5), (3, _property(0, 0), 6)),
    ],
)
def test_identifiers_ascend_by_three_parts(
    tmp_path: Path, first: tuple[int, int, int], second: tuple[int, int, int]
) -> None:
    zero = _ids_of(0, 2)
    for together in (True, False):
        coordinator = MutatorCoordinator(_sink(tmp_path))
        with pytest.raises(RecordSequenceError):
            if together:
                coordinator.delete_batch(_batch(zero, [first, second]))
            else:
                coordinator.update_batch(_batch(zero[:1], [first]))
                coordinator.delete_batch(_batch(zero[1:], [second]))
    MutatorCoordinator(_sink(tmp_path)).delete_batch(_batch(zero, [min(first, second), (4, _property(0), 0)]))


@pytest.mark.parametrize(
    "row_id", [None, (-1, _property(0), 0), (3, _property(0), -1), (3, 0, 5), (WRITE_ID, _property(0), 0)]
)
def test_updates_and_deletes_need_an_identifier_of_an_earlier_row(
    tmp_path: Path, row_id: tuple[int, int, int] | None
) -> None:
    zero = _ids_of(0, 1)
    with pytest.raises(RecordIdentifierError):
        MutatorCoordinator(_sink(tmp_path)).update_batch(_batch(zero, [row_id]))
    with pytest.raises(RecordIdentifierError):
        MutatorCoordinator(_sink(tmp_path)).delete_batch(_batch(zero, [row_id]))


def test_inserts_have_no_identifier_and_others_a_column_of_them(tmp_path: Path) -> None:
    zero = _ids_of(0, 1)
    with pytest.raises(RecordIdentifierError, match="insert"):
        MutatorCoordinator(_sink(tmp_path)).insert_batch(_batch(zero, [(3, _property(0), 0)]))
    with pytest.raises(RecordIdentifierError, match=ROW_ID):
        MutatorCoordinator(_sink(tmp_path)).update_batch(_batch(zero))
    MutatorCoordinator(_sink(tmp_path)).insert_batch(_batch(zero, [None]))


def test_an_update_stays_in_its_bucket(tmp_path: Path) -> None:
    one = _ids_of(1, 1)
    with pytest.raises(BucketIdError, match="bucket 0 and belongs into bucket 1"):
        MutatorCoordinator(_sink(tmp_path)).update_batch(_batch(one, [(3, _property(0), 0)]))
    with pytest.raises(BucketIdError, match="bucket 7"):
        MutatorCoordinator(_sink(tmp_path)).delete_batch(_batch(one, [(3, _property(7), 0)]))


def test_nothing_goes_after_the_end(tmp_path: Path) -> None:
    coordinator = MutatorCoordinator(_sink(tmp_path))
    coordinator.insert([], {"id": 1, "msg": "a"})
    coordinator.close()
    for call in (coordinator.insert, coordinator.update, coordinator.delete):
        with pytest.raises(MutationStateError, match="closed"):
            call([], {"id": 2, "msg": "b"})
    with pytest.raises(MutationStateError, match="closed"):
        coordinator.flush()
    table = AcidTable.of(acid_table(f"file:{tmp_path}"))
    with pytest.raises(MutationStateError, match="not open for writing"):
        MutatorCoordinator(table)


def test_an_attempt_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    with (
        pytest.raises(GroupRevisitedError),
        MutatorCoordinator(_sink(tmp_path), attempt="a") as coordinator,
        MutatorCoordinator(_sink(tmp_path), attempt="b") as other,
    ):
        other.insert_batch(_batch(_ids_of(0, 1)))
        other.close()
        coordinator.insert_batch(_batch([_ids_of(0, 1)[0], _ids_of(1, 1)[0], _ids_of(0, 2)[1]]))
    assert not list((tmp_path / staging_folder(WRITE_ID)).iterdir())


def test_columns_must_be_the_tables(tmp_path: Path) -> None:
    with pytest.raises(UnknownColumnError, match="extra"):
        MutatorCoordinator(_sink(tmp_path)).insert_batch(_batch([1]).append_column("extra", [[1]]))
    with pytest.raises(SchemaError, match="msg"):
        MutatorCoordinator(_sink(tmp_path)).insert_batch(_batch([1]).select(["id"]))
    with pytest.raises(SchemaError, match="id"):
        MutatorCoordinator(_sink(tmp_path)).insert_batch(pa.table({"id": [2**40], "msg": ["a"]}))
    coordinator = MutatorCoordinator(_sink(tmp_path))
    coordinator.insert([], {"id": 1})
    with pytest.raises(SchemaError, match="lacks msg"):
        coordinator.flush()
    with pytest.raises(SchemaError, match="partition key ds"):
        MutatorCoordinator(_sink(tmp_path, partitioned=True)).insert_batch(_batch([1]))


@pytest.mark.parametrize(
    ("kind", "records"),
    [
        ("int", pa.string()),
        ("string", pa.int32()),
        ("date", pa.int32()),
        ("date", pa.timestamp("us")),
        ("timestamp", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("boolean", pa.int8()),
        ("float", pa.float64()),
        ("decimal(10,2)", pa.float64()),
        ("struct<a:int,b:int>", pa.struct([("a", pa.int32())])),
        ("array<date>", pa.list_(pa.int32())),
    ],
)
def test_values_are_not_made_of_others(tmp_path: Path, kind: str, records: pa.DataType) -> None:
    table = AcidTable.of(acid_table(f"file:{tmp_path}", [("id", "int"), ("v", kind)])).in_transaction(1, 1)
    batch = pa.table({"id": pa.array([1], pa.int32()), "v": pa.nulls(1, records)})
    with pytest.raises(SchemaError, match="column v"):
        MutatorCoordinator(table).insert_batch(batch)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("bigint", pa.array([1], pa.int8())),
        ("decimal(20,2)", pa.array([1], pa.int32())),
        ("double", pa.array([1.5], pa.float32())),
        ("string", pa.array(["a"], pa.large_string())),
        ("string", pa.array(["a"]).dictionary_encode()),
        ("timestamp", pa.array([1], pa.timestamp("ns"))),
        ("array<bigint>", pa.array([[1]], pa.list_(pa.int32()))),
        ("int", pa.nulls(1)),
    ],
)
def test_values_of_narrower_types_are_taken(tmp_path: Path, kind: str, values: pa.Array) -> None:
    table = AcidTable.of(acid_table(f"file:{tmp_path}", [("id", "int"), ("v", kind)])).in_transaction(1, WRITE_ID)
    coordinator = MutatorCoordinator(table)
    coordinator.insert_batch(pa.table({"id": pa.array([1], pa.int32()), "v": values}))
    manifest = coordinator.close()
    (event,) = _events(tmp_path, manifest, manifest.groups[0].delta)
    assert event["row"]["v"] == values[0].as_py()  # type: ignore[index]


@pytest.mark.parametrize("values", [["2024-1-1", "x"], ["x"], ["2024-01-01", "__HIVE_DEFAULT_PARTITION__"]])
def test_partition_values_are_as_hive_writes_them(tmp_path: Path, values: list[str]) -> None:
    with pytest.raises(MutationError):
        MutatorCoordinator(_sink(tmp_path, partitioned=True)).insert_batch(_batch([1]), values)


@pytest.mark.parametrize(("kind", "column"), [("float", pa.array([1.0])), ("binary", pa.array([b"a"]))])
def test_partition_keys_of_columns_that_their_type_does_not_hold_come_as_text(
    tmp_path: Path, kind: str, column: pa.Array
) -> None:
    table = AcidTable.of(acid_table(f"file:{tmp_path}", keys=[("k", kind)])).in_transaction(1, 1)
    with pytest.raises(UnsupportedAcidValueError, match="as text"):
        MutatorCoordinator(table).insert_batch(_batch([1]).append_column("k", column))


def test_a_table_without_buckets_numbers_its_writers(tmp_path: Path) -> None:
    coordinator = MutatorCoordinator(_sink(tmp_path, buckets=0), writer=5)
    coordinator.delete_batch(_batch([1], [(3, _property(2), 0)]))
    coordinator.insert_batch(_batch([1, 2, 3]))
    assert [(group.bucket, group.inserts, group.deletes) for group in coordinator.close().groups] == [
        (2, 0, 1),
        (5, 3, 0),
    ]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), max_size=12),
    st.integers(0, 12),
)
def test_the_order_of_identifiers_is_that_of_tuples(keys: list[tuple[int, int, int]], cut: int) -> None:
    validator = GroupValidator()
    validator.enter(((), 0))
    ascending = all(before < after for before, after in pairwise(keys))
    try:
        for part in (keys[:cut], keys[cut:]):
            columns = np.array(part, np.int64).reshape(-1, 3).T
            validator.follow(*columns)
        assert ascending
    except RecordSequenceError:
        assert not ascending
