"""What Spark's tasks do in a mutation, without Spark: records to their places, groups to files, reads of buckets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive.errors import (
    BucketIdError,
    HudiHiveError,
    MutationError,
    MutationStateError,
    RecordIdentifierError,
    RecordSequenceError,
    SchemaError,
    UnknownColumnError,
)
from hudi_hive.formats.hash import bucket_numbers
from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.mutation import AcidTable, MutationManifest, MutatorClient
from hudi_hive.mutation.acid_table import ROW_ID, ROW_ID_TYPE
from hudi_hive.mutation.acid_write import MergeClauses, MergeRules
from hudi_hive.read.remote import deserialize_error
from hudi_hive.spark.mutate.mutate_frame import _only_one
from hudi_hive.spark.mutate.tasks import (
    BUCKET,
    OPERATION,
    REMOVING,
    TASK,
    TIMES,
    MergePairs,
    Placement,
    PlaceRecords,
    ReadChanges,
    WriteGroups,
    placed_schema,
)
from hudi_hive.testing import FakeMetastore
from tests.support.mutation.acid_definitions import acid_table
from tests.support.mutation.acid_rows import key, table_at

TASKS = 4


def table_in(folder: Path, buckets: int = 2, keys: str = "country:string day:date") -> AcidTable:
    return table_at(folder, "id:int msg:string", keys, buckets).in_transaction(7, 5)


def records(ids: list[int], operation: str | list[str] = "insert", row_ids: list[Any] | None = None) -> pa.Table:
    """Records of two partitions by turns."""
    count = len(ids)
    names = [field.name for field in ROW_ID_TYPE]
    values = [None if one is None else dict(zip(names, one, strict=True)) for one in row_ids or [None] * count]
    return pa.table(
        {
            "ID": pa.array(ids, pa.int32()),
            "msg": [f"m{number}" for number in ids],
            "country": ["x" if number % 2 else "" for number in ids],
            "day": pa.array(["2024-05-01"] * count).cast(pa.date32()),
            OPERATION: [operation] * count if isinstance(operation, str) else operation,
            ROW_ID: pa.array(values, ROW_ID_TYPE),
        }
    )


def called(step: Any, *tables: pa.Table) -> pa.Table:
    """What a step makes of rows; its errors as they reach the driver."""
    batches = [batch for table in tables for batch in table.to_batches()]
    try:
        made = list(step(iter(batches)))
    except RuntimeError as error:
        ours = deserialize_error(str(error))
        assert ours is not None
        raise ours from None
    return pa.Table.from_batches(made) if made else None


def placed(table: AcidTable, *rows: pa.Table, changes: bool = True, writers: int = 3) -> pa.Table:
    return called(PlaceRecords(Placement(table.encode(), TASKS, writers), changes), *rows)


def test_a_partition_and_bucket_is_one_task(tmp_path: Path) -> None:
    """Whatever else is in the batch; an empty text is the partition of null."""
    table = table_in(tmp_path)
    ids = list(range(200))
    found = placed(table, records(ids))
    assert found.schema == placed_schema(table)
    buckets = bucket_numbers([found["id"].combine_chunks()], ["int"], 2, 2)
    assert found[BUCKET].to_pylist() == buckets.tolist()
    assert set(found["country"].to_pylist()) == {"x", None}
    groups = set(zip(found["country"].to_pylist(), found[BUCKET].to_pylist(), found[TASK].to_pylist(), strict=True))
    assert len(groups) == 4 and all(0 <= group[2] < TASKS for group in groups)
    # The buckets of a partition go to as many tasks.
    assert {len({group[2] for group in groups if group[0] == country}) for country in ("x", None)} == {2}
    alone = [placed(table, records([number])) for number in ids[:20]]
    assert pa.concat_tables(alone)[TASK].to_pylist() == found[TASK].to_pylist()[:20]


def test_deletes_carry_their_identifiers_alone(tmp_path: Path) -> None:
    table = table_in(tmp_path, buckets=0)
    rows = records([1, 3, 5], ["Delete", "UPDATE", "insert"], [key(1, 2, 0), key(1, 3, 7), None])
    found = placed(table, rows, writers=1)
    assert found[BUCKET].to_pylist() == [2, 3, 0]
    assert found["msg"].to_pylist() == [None, "m3", "m5"]
    assert found[OPERATION].to_pylist() == [2, 1, 0]
    assert [row and row["rowid"] for row in found[ROW_ID].to_pylist()] == [0, 7, None]


@pytest.mark.parametrize(
    "error, match, change, changes",
    [
        (MutationError, "'upsert'", lambda: records([1], "upsert"), True),
        (RecordIdentifierError, "unknown snapshot", lambda: records([1], "delete", [key(1, 0, 0)]), False),
        (RecordIdentifierError, "no identifier", lambda: records([1], "update"), True),
        (RecordIdentifierError, "before write id 5", lambda: records([1], "update", [key(5, 0, 0)]), True),
        (RecordIdentifierError, "is an insert and has", lambda: records([1], "insert", [key(1, 0, 0)]), True),
        (BucketIdError, "belongs into bucket", lambda: records([1, 2], "update", [key(1, 0, 0), key(1, 0, 1)]), True),
        (UnknownColumnError, "no column more", lambda: records([1]).append_column("more", [[1]]), True),
        (SchemaError, "lack the column msg", lambda: records([1]).drop_columns(["msg"]), True),
        (SchemaError, "lack the partition key day", lambda: records([1]).drop_columns(["day"]), True),
        (SchemaError, "int32", lambda: records([1]).set_column(0, "id", [["1"]]), True),
    ],
)
def test_records_that_break_a_rule(
    tmp_path: Path, error: type[HudiHiveError], match: str, change: Any, changes: bool
) -> None:
    with pytest.raises(error, match=match):
        placed(table_in(tmp_path), change(), changes=changes)


def test_groups_become_files_of_one_attempt(tmp_path: Path) -> None:
    table = table_in(tmp_path, buckets=0)
    rows = placed(table, records(list(range(1, 9, 2))))
    rows = rows.set_column(rows.schema.get_field_index(BUCKET), BUCKET, pa.array([1, 1, 4, 4], pa.int32()))
    step = WriteGroups(table.encode(), {})
    first, second = (MutationManifest.decode(called(step, rows)["manifest"][0].as_py()) for _ in range(2))
    assert first.attempt != second.attempt and first.groups == second.groups
    assert [(group.partition, group.bucket, group.inserts) for group in first.groups] == [
        (("x", "2024-05-01"), 1, 2),
        (("x", "2024-05-01"), 4, 2),
    ]
    assert called(step) is None
    assert len(list(tmp_path.rglob("bucket_*"))) == 4


def test_an_attempt_that_fails_leaves_nothing(tmp_path: Path) -> None:
    table = table_in(tmp_path, buckets=0)
    rows = placed(table, records([1, 3], "delete", [key(1, 2, 5), key(1, 2, 5)]))
    with pytest.raises(RecordSequenceError):
        called(WriteGroups(table.encode(), {}), rows)
    assert not list(tmp_path.rglob("bucket_*"))


def test_pairs_of_changes_and_rows(tmp_path: Path) -> None:
    """Changes are inserted, move a row, delete it, or come twice, which is refused unless the key is null."""
    table = table_in(tmp_path, buckets=0, keys="country:string")
    rules = MergeRules(table, ("id",), MergeClauses(delete_where="gone = true"))
    changes = pa.table(
        {
            "id": pa.array([1, 2, 3, 4, None, None], pa.int64()),
            "country": ["y", "x", "x", "z", "z", "z"],
            "gone": [False, False, True, False, False, False],
        }
    )
    input_schema = rules.changes_schema(changes.column_names)
    output = input_schema.append(pa.field(REMOVING, pa.bool_()))
    read = called(ReadChanges(rules, output), changes)
    assert read.schema == output and read[REMOVING].to_pylist() == changes["gone"].to_pylist()
    row_schema = pa.schema([(ROW_ID, ROW_ID_TYPE), ("id", pa.int32()), ("msg", pa.string()), ("country", pa.string())])
    names = [field.name for field in ROW_ID_TYPE]
    ids = [dict(zip(names, key(1, 0, place), strict=True)) for place in range(3)]
    beside = [pa.array([*ids, None, None, None], ROW_ID_TYPE), pa.array([1, 2, 3, None, None, None], pa.int32())]
    beside += [pa.array(["a", "b", "c", None, None, None]), pa.array(["x", "x", "x", None, None, None])]
    times = np.array([1, 1, 1, 1, 2, 2], np.int64)

    def pairs(times: Any) -> pa.Table:
        columns = [*read.columns, pa.array(times), *beside]
        return pa.table(columns, names=[*read.column_names, TIMES, *(f"row {place}" for place in range(4))])

    step = MergePairs(rules, Placement(table.encode(), TASKS, 3), input_schema, row_schema)
    rows = [(row[OPERATION], row["id"], row["msg"], row["country"]) for row in called(step, pairs(times)).to_pylist()]
    assert sorted(rows, key=repr) == sorted(
        [
            (2, None, None, "x"),
            (0, 1, "a", "y"),
            (1, 2, "b", "x"),
            (2, None, None, "x"),
            (0, 4, None, "z"),
            (0, None, None, "z"),
            (0, None, None, "z"),
        ],
        key=repr,
    )
    with pytest.raises(MutationError, match=r"several times in the changes, \{'id': 4\}"):
        called(step, pairs([1, 1, 1, 2, 1, 1]))
    _check_keys_computed_again(step, pairs(times))


def _check_keys_computed_again(step: MergePairs, pairs: pa.Table) -> None:
    """A key whose rows were not read when the keys were collected is refused; more keys than came are not."""
    for sought, fits in (
        ((pa.array([1, 2, 3, 4, 5], pa.int32()), True), True),
        ((pa.array([1, 4], pa.int32()), False), True),
        ((pa.array([1, 2, 3], pa.int32()), True), False),  # of 4 no rows were read, it may be there
        ((pa.array([2, 4], pa.int32()), False), False),
    ):
        again = replace(step, sought={"id": sought})
        if fits:
            assert called(again, pairs).num_rows == 7
        else:
            with pytest.raises(MutationError, match=f"id {1 if not sought[1] else 4} when they were computed again"):
                called(again, pairs)


def test_a_table_is_mutated_once_though_two_threads_begin(tmp_path):
    """The second would not see the rows of the first, which is not at its end yet; one that failed does not count."""
    with FakeMetastore() as running, HiveMetastore(running.uri) as store:
        TransactionClient(store).create_table(acid_table(f"file:{tmp_path}/t", keys=[], name="t"))
        with MutatorClient(store, sinks=["default.t"]) as client:
            transaction = client.new_transaction().begin()
            with pytest.raises(SchemaError), _only_one(transaction, "default.t"):
                raise SchemaError("rows of another table")
            first, second = _only_one(transaction, "default.t"), _only_one(transaction, "Default.T")
            with first, pytest.raises(MutationStateError, match="has been mutated"), second:
                pass
