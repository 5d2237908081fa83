"""Mutations of tables of further kinds: change data, ids of columns, no meta columns, formatted times in paths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive.errors import (
    MutationError,
    RecordPartitionError,
    SchemaError,
    UnknownRecordError,
    UnsupportedTableError,
    WriteError,
)
from hudi_hive.mutation.hudi import HudiMutatorClient, HudiMutatorCoordinator
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from hudi_hive.table_api import HudiTable
from hudi_hive.write.coordination import LocalExecutor
from hudi_hive.write.files import run_write_task
from tests.support.mutation.hudi_mutation_helpers import AT_FIRST, QUICK, change, make, make_by_day, row, seen, table_of

INSERT, UPDATE, DELETE = 0, 1, 2
both_kinds = pytest.mark.parametrize("kind", [COPY_ON_WRITE, MERGE_ON_READ])


@pytest.mark.parametrize("version", [8, 9])
def test_change_data_have_a_row_for_each_change(tmp_path, version):
    table = make(tmp_path, version, cdc=True)
    last = table.refresh().timeline.completed()[-1]
    with HudiMutatorClient(table.path, QUICK) as client:
        change(client, [(INSERT, row("n", 2, "n2")), (UPDATE, row("a", 2, "a2")), (DELETE, {"id": "b"})], ["x"])
    found = HudiTable.open(table.path).scan(query_type="cdc", begin=last.completed).to_arrow().to_pylist()
    assert sorted(one["op"] for one in found) == ["d", "i", "u"]


@both_kinds
def test_columns_with_ids_are_found_in_older_files(tmp_path, kind):
    table = make(tmp_path, kind=kind)
    table.update_schema(QUICK).rename("v", "text").add("extra", "long").commit()
    with HudiMutatorClient(table.path, QUICK) as client:
        with pytest.raises(SchemaError, match="unknown v"):
            change(client, [(UPDATE, row("a", 2, "a2"))], ["x"])
        changes: list[tuple[int, dict[str, Any]]] = [
            (UPDATE, {"id": "a", "ts": 2, "text": "a2", "extra": 5}),
            (INSERT, {"id": "n", "ts": 2, "text": "n2", "extra": None}),
        ]
        change(client, changes, ["x"])
        change(client, [(DELETE, {"id": "c"})], ["y"])
    rows = HudiTable.open(table.path).scan(selected_fields=["id", "text", "extra"]).to_arrow().sort_by("id")
    assert [tuple(one.values()) for one in rows.to_pylist()] == [
        ("a", "a2", 5),
        ("b", "b1", None),
        ("d", "d1", None),
        ("n", "n2", None),
    ]


def test_a_table_without_meta_columns(tmp_path):
    table = make(tmp_path, populate_meta_fields=False, ordering_fields=[])
    options = {**QUICK, "hoodie.index.type": "SIMPLE"}
    with HudiMutatorClient(table.path, options) as client:
        with pytest.raises(UnknownRecordError):
            change(client, [(UPDATE, row("q", 2, "q"))], ["x"])
        change(client, [(INSERT, row("n", 2, "n2")), (UPDATE, row("a", 2, "a2")), (DELETE, {"id": "b"})], ["x"])
    expected = {**AT_FIRST, ("a", "x"): (2, "a2"), ("n", "x"): (2, "n2")}
    del expected["b", "x"]
    assert seen(table) == expected
    other = make(tmp_path / "other", kind=MERGE_ON_READ, populate_meta_fields=False, ordering_fields=[])
    with HudiMutatorClient(other.path, options) as client, pytest.raises(UnsupportedTableError, match="meta columns"):
        change(client, [(UPDATE, row("a", 2, "q"))], ["x"])
    assert seen(other) == AT_FIRST


@both_kinds
@pytest.mark.parametrize(
    ("version", "payload"), [(6, "OverwriteNonDefaultsWithLatestAvroPayload"), (9, "PartialUpdateAvroPayload")]
)
def test_updates_that_partial_updates_would_pass_over_are_refused(tmp_path, kind, version, payload):
    """A null would leave the older value, though the update says that there is none."""
    table = make(tmp_path, version, kind, payload_class=f"org.apache.hudi.common.model.{payload}")
    with HudiMutatorClient(table.path, QUICK) as client:
        with pytest.raises(MutationError, match="None in column v would leave the older value"):
            change(client, [(UPDATE, {"id": "a", "ts": 2, "v": None})], ["x"])
        assert seen(table) == AT_FIRST
        change(client, [(UPDATE, row("a", 2, "a2")), (INSERT, {"id": "n", "ts": 2, "v": None})], ["x"])
    assert seen(table) == {**AT_FIRST, ("a", "x"): (2, "a2"), ("n", "x"): (2, None)}


@both_kinds
@pytest.mark.parametrize("operation", [UPDATE, DELETE])
def test_a_record_that_a_file_holds_twice_is_changed_wholly_or_not_at_all(tmp_path, kind, operation):
    """Log files change the first of its rows alone."""
    table = make(tmp_path, kind=kind)
    table.insert(table_of([("a", "x", 1, "again")]), QUICK)
    with HudiMutatorClient(table.path, QUICK) as client:
        if kind == MERGE_ON_READ:
            with pytest.raises(MutationError, match="several times in one file"):
                change(client, [(operation, row("a", 2, "a2"))], ["x"])
        else:
            change(client, [(operation, row("a", 2, "a2"))], ["x"])
    rows = HudiTable.open(table.path).scan("id = 'a'", selected_fields=["v"]).to_arrow()
    expected = ["a1", "again"] if kind == MERGE_ON_READ else ["a2", "a2"] if operation == UPDATE else []
    assert sorted(rows["v"].to_pylist()) == expected


def test_records_that_a_file_holds_twice_are_updated_and_deleted_in_one_transaction(tmp_path):
    """By event time, where records are read back."""
    table = make(tmp_path)
    table.insert(table_of([("a", "x", 1, "again"), ("b", "x", 1, "again")]), QUICK)
    with HudiMutatorClient(table.path, QUICK) as client:
        change(client, [(UPDATE, row("a", 2, "a2")), (DELETE, {"id": "b"})], ["x"])
    rows = HudiTable.open(table.path).scan("p = 'x'", selected_fields=["id", "v"]).to_arrow().to_pylist()
    assert rows == [{"id": "a", "v": "a2"}, {"id": "a", "v": "a2"}]


@pytest.mark.parametrize("ordering", [[], ["ts"]])
def test_a_record_that_a_log_file_deleted_is_inserted_where_it_belongs(tmp_path, ordering):
    """The global index still finds its key where it was."""
    options = {**QUICK, "hoodie.index.type": "GLOBAL_BLOOM"}
    table = make(tmp_path, kind=MERGE_ON_READ, options=options, ordering_fields=ordering)
    with HudiMutatorClient(table.path, options) as client:
        change(client, [(DELETE, {"id": "a"})], ["x"])
        change(client, [(INSERT, row("a", 0, "again"))], ["y"])
    rows = HudiTable.open(table.path).scan("p = 'y'", selected_fields=["id", "v"]).to_arrow().sort_by("id").to_pylist()
    assert rows == [{"id": "a", "v": "again"}, {"id": "c", "v": "c1"}, {"id": "d", "v": "d1"}]
    assert len(seen(table)) == 4


class Forgetful(LocalExecutor):
    """Loses a row of each file group, as an engine may whose rows are others when they are computed again."""

    def map(self, function: Any, tasks: Any) -> list[Any]:
        return super().map(
            function, [_with_a_row_less(task) for task in tasks] if function is run_write_task else tasks
        )


def _with_a_row_less(task: Any) -> Any:
    job, work = task
    return job, replace(work, rows=work.rows.table().slice(1))


@both_kinds
def test_changes_that_are_lost_on_the_way_are_missed(tmp_path, kind):
    table = make(tmp_path, kind=kind)
    changes = [(UPDATE, row("a", 2, "a2")), (UPDATE, row("b", 2, "b2"))]
    with (
        HudiMutatorClient(table.path, QUICK, executor=Forgetful()) as client,
        pytest.raises(WriteError, match="of 2 changes 1 were written"),
    ):
        change(client, changes, ["x"])
    assert seen(table) == AT_FIRST and not table.refresh().timeline.pending()


@both_kinds
def test_formatted_times_in_paths(tmp_path, kind):
    table = make_by_day(tmp_path, kind)
    day = 86_400_000
    table.insert(pa.table({"id": ["a", "b"], "at": pa.array([day, 2 * day], pa.int64()), "v": [1, 2]}), QUICK)
    with HudiMutatorClient(table.path, QUICK) as client:
        with pytest.raises(RecordPartitionError, match="its columns say '1970/01/02'"):
            change(client, [(UPDATE, {"id": "a", "at": day, "v": 5})], ["1970/01/03"])
        with pytest.raises(SchemaError, match="lacks at"):
            change(client, [(UPDATE, {"id": "a", "v": 5})], ["1970/01/02"])
        changes = [(UPDATE, {"id": "a", "at": day + 7, "v": 5}), (INSERT, {"id": "n", "at": day, "v": 6})]
        change(client, changes, ["1970/01/02"])
        change(client, [(DELETE, {"id": "b", "at": 2 * day})], ["1970/01/03"])
    rows = HudiTable.open(table.path).scan(selected_fields=["id", "v"]).to_arrow().sort_by("id").to_pylist()
    assert rows == [{"id": "a", "v": 5}, {"id": "n", "v": 6}]


@both_kinds
def test_partition_columns_that_are_in_no_file(tmp_path, kind):
    table = HudiTable.create(
        tmp_path / "t",
        name="t",
        table_type=kind,
        record_keys=["id"],
        partition_fields=["p"],
        hive_style_partitioning=True,
        properties={"hoodie.datasource.write.drop.partition.columns": "true"},
    )
    table.insert(table_of([("a", "x", 1, "a1"), ("b", "y", 1, "b1")]), QUICK)
    with HudiMutatorClient(table.path, QUICK) as client:
        change(client, [(UPDATE, row("a", 2, "a2")), (INSERT, row("n", 2, "n2"))], ["x"])
        change(client, [(DELETE, {"id": "b"})], ["y"])
    assert seen(table) == {("a", "x"): (2, "a2"), ("n", "x"): (2, "n2")}
    assert "p" not in {field["name"] for field in table.refresh().client.avro_schema()["fields"]}


@pytest.mark.parametrize(
    ("kind", "index"), [(COPY_ON_WRITE, "BLOOM"), (MERGE_ON_READ, "BLOOM"), (MERGE_ON_READ, "GLOBAL_SIMPLE")]
)
def test_more_records_than_a_filter_names_one_by_one(tmp_path, kind, index):
    options = {**QUICK, "hoodie.index.type": index}
    table = make(tmp_path, kind=kind, options=options)
    keys = [f"k{number}" for number in range(3000)]
    places = ["xyz"[number % 3] for number in range(3000)]

    def rows(ts: int, start: int, end: int) -> pa.Table:
        texts = [f"{key} {ts}" for key in keys[start:end]]
        return pa.table({"id": keys[start:end], "p": places[start:end], "ts": [ts] * (end - start), "v": texts})

    with HudiMutatorClient(table.path, options) as client:
        for step, parts in (
            (1, {"insert_batch": (0, 2000)}),
            (2, {"update_batch": (0, 1500), "delete_batch": (1500, 2000)}),
        ):
            with client.new_transaction() as txn:
                coordinator = HudiMutatorCoordinator(txn.table())
                for name, (start, end) in parts.items():
                    getattr(coordinator, name)(rows(step, start, end))
                coordinator.insert_batch(rows(step, 2000 + 500 * (step - 1), 2500 + 500 * (step - 1)))
                txn.accept(coordinator.close())
        with pytest.raises(UnknownRecordError, match="'k1999'"), client.new_transaction() as txn:
            coordinator = HudiMutatorCoordinator(txn.table())
            coordinator.update_batch(rows(3, 0, 1200))
            coordinator.update_batch(rows(3, 1999, 2000))
            txn.accept(coordinator.close())
    expected = {(keys[n], places[n]): (2, f"{keys[n]} 2") for n in (*range(1500), *range(2500, 3000))}
    expected |= {(keys[n], places[n]): (1, f"{keys[n]} 1") for n in range(2000, 2500)}
    assert seen(table) == {**AT_FIRST, **expected}


@both_kinds
def test_values_with_slashes_among_several_are_refused(tmp_path, kind):
    """A path of two fields with three folders tells neither reader which value is which."""
    path = tmp_path / "t"
    table = HudiTable.create(path, name="t", table_type=kind, record_keys=["id"], partition_fields=["p", "q"])
    table.insert(pa.table({"id": ["a"], "p": ["x"], "q": ["y"], "v": [1]}), QUICK)
    wrong = pa.table({"id": ["n"], "p": ["x/y"], "q": ["z"], "v": [1]})
    with HudiMutatorClient(table.path, QUICK) as client:
        with pytest.raises(RecordPartitionError, match=r"'x/y/z'.*cannot be told apart"):
            change(client, [(INSERT, wrong.to_pylist()[0])], ["x/y", "z"])
        with client.new_transaction() as txn, pytest.raises(RecordPartitionError, match="cannot be told apart"):
            HudiMutatorCoordinator(txn.table()).insert_batch(wrong)
        change(client, [(INSERT, {"id": "n", "p": "x", "q": "z", "v": 2})], ["x", "z"])
    rows = HudiTable.open(table.path).scan(selected_fields=["id", "p", "q"]).to_arrow().sort_by("id").to_pylist()
    assert rows == [{"id": "a", "p": "x", "q": "y"}, {"id": "n", "p": "x", "q": "z"}]
