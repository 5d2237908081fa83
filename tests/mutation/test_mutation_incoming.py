"""Partition values and identifiers of records: what would lead elsewhere is refused by name."""

from __future__ import annotations

import errno
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive.errors import MutationError, RecordIdentifierError, SchemaError, StorageError
from hudi_hive.mutation.acid_table.row_ids import ROW_ID, ROW_ID_TYPE
from hudi_hive.mutation.acid_table.table import AcidColumn
from hudi_hive.mutation.acid_write.coordinator import MutatorCoordinator
from hudi_hive.mutation.acid_write.incoming import check_values, read_incoming
from hudi_hive.storage import Storage
from tests.support.mutation.acid_rows import key, table_at


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", "01"),
        ("int", "x"),
        ("tinyint", "128"),
        ("date", "2024-2-1"),
        ("boolean", "TRUE"),
        ("boolean", "1"),
        ("boolean", "maybe"),
        ("decimal(5,2)", "abc"),
        ("decimal(5,2)", "1.234"),
        ("decimal(5,2)", "1.50"),
        ("decimal(5,2)", "1.0"),
        ("decimal(5,2)", "01"),
        ("decimal(5,2)", "1e1"),
        ("char(4)", "ab"),
        ("char(4)", "ab   "),
        ("decimal(5,2)", "1234.5"),
        ("double", "one"),
        ("timestamp", "noon"),
        ("varchar(2)", "abc"),
        ("string", "__HIVE_DEFAULT_PARTITION__"),
        ("string", "a\0b"),
        ("string", 5),
        ("int", 5),
    ],
)
def test_values_that_are_none_of_their_key(kind: str, value: Any) -> None:
    table = table_at("/t", keys=f"p:{kind}")
    with pytest.raises(MutationError, match=r"partition value|missing p"):
        check_values(table, [value])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", "-1"),
        ("date", "2024-02-01"),
        ("boolean", "true"),
        ("decimal(5,2)", "1.5"),
        ("decimal(5,2)", "-0.1"),
        ("decimal(5,0)", "100"),
        ("decimal(38,10)", "0.0000000001"),
        ("char(4)", "ab  "),
        ("double", "1.0E10"),
        ("double", "Infinity"),
        ("timestamp", "2024-02-29 12:00:00"),
        ("timestamp", "2024-02-29 12:00:00.5"),
        ("char(2)", "ab"),
        ("string", " a/b "),
    ],
)
def test_values_of_each_type(kind: str, value: str) -> None:
    table = table_at("/t", keys=f"p:{kind} q:{kind}")
    assert check_values(table, [value, None]) == (value, None)
    assert check_values(table, ["", value]) == (None, value)


def test_a_text_is_no_list_of_values() -> None:
    with pytest.raises(MutationError, match=r"'DE' of db\.t are not texts"):
        check_values(table_at("/t", keys="a:string b:string"), "DE")


@pytest.mark.parametrize("names", [("rowid", "bucketid", "writeid"), ("a", "b", "c"), ("writeid", "bucketid", "row")])
def test_identifiers_are_taken_by_name(tmp_path: Path, names: tuple[str, ...]) -> None:
    """The first and the third part have the same type: out of place, another row would be deleted, or none."""
    kinds = [pa.int64(), pa.int32(), pa.int64()]
    for given, refused in ((names, True), (("writeId", "bucketId", "rowId"), False)):
        column = pa.array([key(1, 0, 2)], pa.struct(list(zip(given, kinds, strict=True))))
        coordinator = MutatorCoordinator(table_at(tmp_path).in_transaction(5, 5))
        if refused:
            with pytest.raises(RecordIdentifierError, match=r"not struct<writeid: int64, bucketid"):
                coordinator.delete_batch(pa.table({ROW_ID: column}))
        else:
            coordinator.delete_batch(pa.table({ROW_ID: column}))
            assert coordinator.close().rows == 1


@pytest.mark.parametrize("stretch", [1, 3, 40])
def test_partitions_of_long_and_short_stretches(tmp_path: Path, stretch: int) -> None:
    """Stretches are looked at in another way than records: with nulls, and keys that change one without the other."""
    kinds = (AcidColumn("region", "string"), AcidColumn("day", "int"))
    table = replace(table_at(tmp_path, buckets=0), partition_keys=kinds).in_transaction(5, 5)
    rng = np.random.default_rng(stretch)
    given = [(rng.choice(["a", "b", None]), rng.choice([1, 2, None])) for _ in range(30)]
    given = [values for values in given for _ in range(stretch)]
    columns = {"id": pa.nulls(len(given), pa.int32()), "name": pa.nulls(len(given), pa.string())}
    columns |= {"region": pa.array([one for one, _ in given]), "day": pa.array([two for _, two in given], pa.int32())}
    found = read_incoming(table, pa.table(columns), np.zeros(len(given), np.int8), None, 0)
    expected = [(one, None if two is None else str(two)) for one, two in given]
    assert [found.partition_values[code] for code in found.partitions] == expected
    assert list(found.partition_values) == list(dict.fromkeys(found.partition_values))


@pytest.mark.parametrize("wrong", [key(5, 0, 0), key(-1, 0, 0), key(1, 0, -1), (1, 7, 0), None])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_identifier_that_cannot_be_among_others(tmp_path: Path, wrong: Any, place: int) -> None:
    rows = [key(1, 0, 2), key(1, 0, 3)]
    rows.insert(place, wrong)
    coordinator = MutatorCoordinator(table_at(tmp_path).in_transaction(5, 5))
    with pytest.raises(RecordIdentifierError, match=f"record {place} has"):
        coordinator.delete_batch(pa.table({ROW_ID: pa.array(rows, ROW_ID_TYPE)}))


# -- what is no batch or no list of values ----------------------------------------------------------------------------

ROWS = pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["a", "b"]})


@pytest.mark.parametrize(
    "operations",
    [
        np.array([0], np.int8),
        np.array([0, 0, 0]),
        np.array([[0, 0]]),
        "insert",
        3,
        -1,
        256,
        0.5,
        np.array([0.0, 1.0]),
        None,
    ],
)
def test_operations_that_are_none(tmp_path: Path, operations: Any) -> None:
    coordinator = MutatorCoordinator(table_at(tmp_path).in_transaction(5, 5))
    with pytest.raises(MutationError, match="one for each of 2 records"):
        coordinator.mutate_batch(ROWS, operations)


def test_operations_for_all_and_for_each(tmp_path: Path) -> None:
    for operations in (0, np.zeros(2, np.int64), [0, 0]):
        coordinator = MutatorCoordinator(table_at(tmp_path, buckets=0).in_transaction(5, 5))
        coordinator.mutate_batch(ROWS, operations)  # type: ignore[arg-type]
        coordinator.mutate_batch(ROWS.slice(0, 0), [])  # type: ignore[arg-type]
        assert coordinator.close().rows == 2


def test_what_is_no_batch(tmp_path: Path) -> None:
    coordinator = MutatorCoordinator(table_at(tmp_path).in_transaction(5, 5))
    with pytest.raises(SchemaError, match="not a list"):
        coordinator.insert_batch([{"id": 1, "name": "a"}])  # type: ignore[arg-type]


@pytest.mark.parametrize("values", ["DE", None, 5, [5], {"p": "DE"}])
def test_what_are_no_partition_values(tmp_path: Path, values: Any) -> None:
    table = table_at(tmp_path, keys="p:string q:string").in_transaction(5, 5)
    with pytest.raises(MutationError, match="partition values are"):
        MutatorCoordinator(table).insert(values, {"id": 1, "name": "a"})
    if values is not None:
        with pytest.raises(MutationError, match="partition values are"):
            MutatorCoordinator(table).insert_batch(ROWS, values)


# -- a disk that is full ----------------------------------------------------------------------------------------------


class _FullDisk(io.RawIOBase):
    """Takes some bytes, then no more."""

    def __init__(self, room: int) -> None:
        self._room = room

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._room -= len(data)
        if self._room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return len(data)


@pytest.mark.parametrize("room", [0, 300])
@pytest.mark.parametrize("what", ["insert", "delete"])
def test_a_full_disk_has_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, what: str
) -> None:
    def full(self: Storage, path: str) -> pa.NativeFile:
        return pa.PythonFile(_FullDisk(room), mode="w")

    monkeypatch.setattr(Storage, "open_output", full)
    coordinator = MutatorCoordinator(table_at(tmp_path, buckets=0).in_transaction(5, 5))
    ids = pa.array([key(1, 0, number) for number in range(2)], ROW_ID_TYPE)
    with pytest.raises(StorageError, match="No space left"):
        if what == "insert":
            coordinator.insert_batch(ROWS)
        else:
            coordinator.delete_batch(pa.table({ROW_ID: ids}))
        coordinator.close()
    with pytest.raises(MutationError, match="has failed"):
        coordinator.close()


def test_char_keys_of_batches_are_padded(tmp_path: Path) -> None:
    batch = ROWS.append_column("p", pa.array(["ab", "ab "]))
    with MutatorCoordinator(table_at(tmp_path, keys="p:char(4)", buckets=0).in_transaction(5, 5)) as coordinator:
        coordinator.insert_batch(batch)
    assert [group.partition for group in coordinator.close().groups] == [("ab  ",)]
