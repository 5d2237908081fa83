"""Changes by key into Hudi tables, and workers that do not know which kind of table they write."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive.errors import InvalidOptionError, MutationError, SchemaError, UnknownColumnError
from hudi_hive.mutation.hudi import HudiMutatorClient, HudiMutatorCoordinator, HudiTransaction, merge
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from hudi_hive.table_api import HudiTable
from tests.support.mutation.hudi_mutation_helpers import AT_FIRST, QUICK, make, make_by_day, seen, table_of

both_kinds = pytest.mark.parametrize("kind", [COPY_ON_WRITE, MERGE_ON_READ])


def merged(table: HudiTable, changes: pa.Table, on: list[str], parts: int = 1, **how) -> HudiTransaction:
    with HudiMutatorClient(table.path, QUICK) as client, client.new_transaction() as txn:
        records = merge(txn.reader(), changes, on, **how)
        for part in records.split(parts):
            coordinator = HudiMutatorCoordinator(txn.table())
            part.feed(coordinator)
            txn.accept(coordinator.close())
    assert txn.report is not None
    told = (records.inserted, records.updated, records.deleted)
    assert told == (
        np.sum(records.operations == 0),
        np.sum(records.operations == 1),
        np.sum(records.operations == 2),
    ) or ("p" in changes.column_names)
    return txn


@both_kinds
def test_changes_insert_update_delete_and_move(tmp_path, kind):
    table = make(tmp_path, kind=kind, ordering_fields=[])
    changes = pa.table(
        {
            "ID": ["a", "c", "d", "n", "q", None],
            "p": ["x", "x", "y", "z", "z", "z"],
            "ts": [7, 7, 7, 7, 7, 7],
            "gone": [False, False, True, False, True, True],
        }
    )
    merged(table, changes, ["id"], parts=3, delete_where="gone")
    # What the changes do not tell stays; `c` moves to another partition.
    assert seen(table) == {("a", "x"): (7, "a1"), ("b", "x"): (1, "b1"), ("c", "x"): (7, "c1"), ("n", "z"): (7, None)}


@both_kinds
def test_matches_are_changed_or_ignored_by_clause(tmp_path, kind):
    table = make(tmp_path, kind=kind, ordering_fields=[])
    changes = table_of([("a", "x", 7, "a7"), ("n", "x", 7, "n7")])
    merged(table, changes, ["id", "p"], when_matched="ignore")
    expected = {**AT_FIRST, ("n", "x"): (7, "n7")}
    assert seen(table) == expected
    merged(table, changes.set_column(3, "v", pa.array(["u", "u"])), ["id", "p"], when_not_matched="ignore")
    expected |= {("a", "x"): (7, "u"), ("n", "x"): (7, "u")}
    assert seen(table) == expected
    merged(table, pa.table({"v": ["u"]}), ["v"], when_matched="delete", when_not_matched="ignore")
    assert seen(table) == {key: value for key, value in AT_FIRST.items() if key != ("a", "x")}
    merged(table, table_of([]), ["id"])


@pytest.mark.parametrize(
    ("changes", "how", "error"),
    [
        (pa.table({"id": ["a", "a"]}), {"on": ["id"]}, MutationError),
        (pa.table({"id": ["a"], "w": [1]}), {"on": ["id"]}, UnknownColumnError),
        (pa.table({"id": ["a"]}), {"on": ["p"]}, UnknownColumnError),
        (pa.table({"id": ["a"]}), {"on": ["w"]}, UnknownColumnError),
        (pa.table({"id": ["a"]}), {"on": []}, UnknownColumnError),
        (pa.table({"id": ["a"], "ts": ["x"]}), {"on": ["id"]}, SchemaError),
        (pa.table({"id": ["a"], "ID": ["a"]}), {"on": ["id"]}, SchemaError),
        (pa.table({"id": ["a"]}), {"on": ["id"], "when_matched": "insert"}, InvalidOptionError),
    ],
)
def test_what_cannot_be_merged_is_refused(tmp_path, changes, how, error):
    table = make(tmp_path)
    with HudiMutatorClient(table.path, QUICK) as client, pytest.raises(error), client.new_transaction() as txn:
        merge(txn.reader(), changes, **how)
    assert seen(table) == AT_FIRST and not table.refresh().timeline.pending()


@both_kinds
def test_columns_that_take_no_null(tmp_path, kind):
    fields = [{"name": "id", "type": "string"}, {"name": "v", "type": "long"}]
    text = json.dumps({"type": "record", "name": "t", "fields": fields})
    table = HudiTable.create(tmp_path / "t", name="t", table_type=kind, record_keys=["id"], create_schema=text)
    with HudiMutatorClient(table.path, QUICK) as client:
        for operations, values in (([0, 0], [1, 2]), ([1, 2, 0], [5, None, 3])):
            with client.new_transaction() as txn:
                coordinator = HudiMutatorCoordinator(txn.table())
                rows = pa.table({"id": ["a", "b", "c"][: len(values)], "v": values})
                coordinator.mutate_batch(rows, np.array(operations, np.int8), [])
                txn.accept(coordinator.close())
        with pytest.raises(SchemaError, match="takes no null"), client.new_transaction() as txn:
            HudiMutatorCoordinator(txn.table()).update_batch(pa.table({"id": ["a"], "v": pa.array([None], pa.int64())}))
    rows = table.refresh().scan(selected_fields=["id", "v"]).to_arrow().sort_by("id").to_pylist()
    assert rows == [{"id": "a", "v": 5}, {"id": "c", "v": 3}]


@both_kinds
def test_a_time_that_stays_on_its_day_moves_nothing(tmp_path, kind):
    """The path tells the day alone."""
    table = make_by_day(tmp_path, kind)
    day = 86_400_000
    table.insert(pa.table({"id": ["a", "b", "c"], "at": [day, day, day], "v": [1, 2, 3]}), QUICK)
    changes = pa.table({"id": ["a", "b"], "at": [day + 7, 2 * day]})
    with HudiMutatorClient(table.path, QUICK) as client, client.new_transaction() as txn:
        with HudiMutatorCoordinator(txn.table()) as coordinator:
            merge(txn.reader(), changes, ["id"]).feed(coordinator)
        txn.accept(coordinator.close())
    assert txn.report is not None and (txn.report.updated, txn.report.inserted, txn.report.deleted) == (1, 1, 1)
    rows = table.refresh().scan(selected_fields=["id", "at", "v", "_hoodie_partition_path"]).to_arrow().sort_by("id")
    assert [tuple(one.values()) for one in rows.to_pylist()] == [
        ("a", day + 7, 1, "1970/01/02"),
        ("b", 2 * day, 2, "1970/01/03"),
        ("c", day, 3, "1970/01/02"),
    ]
