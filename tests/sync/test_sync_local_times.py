"""Times without a zone in Spark's schema of a table: numbers where a sync made it, as in hive-sync, or as declared."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.sync.table import MADE_BY_SQL, declared_parameters, declared_types
from tests.support.metastore.sync_behaviour import DATABASE, change_stamp, sync
from tests.sync.shared.sync_tool_helpers import client, server

__all__ = ["client", "server"]

TIME = pa.timestamp("us")
SCHEMA = pa.schema([("id", pa.string()), ("at", TIME), ("s", pa.struct([("t", TIME)])), ("a", pa.list_(TIME))])
ROW = {"id": "1", "at": 0, "s": {"t": 0}, "a": [0]}


@pytest.fixture
def table(tmp_path):
    made = HudiTable.create(tmp_path / "t", name="t", record_keys=["id"], table_type="MERGE_ON_READ")
    made.insert(pa.Table.from_pylist([ROW], SCHEMA))
    return made


def shown(client, name):
    """The types that Spark shows of the columns that are or hold times."""
    types = declared_types(client.table(DATABASE, name).parameters)
    inner = {field["name"]: field["type"] for field in types["s"]["fields"]}
    return types["at"], inner, types["a"]["elementType"], types.get("new")


def widen(table):
    """Add a column, and one in a struct."""
    inner = pa.struct([("t", TIME), ("u", TIME)])
    schema = pa.schema([SCHEMA.field("id"), SCHEMA.field("at"), ("s", inner), SCHEMA.field("a"), ("new", TIME)])
    row = {**ROW, "s": {"t": 0, "u": 0}, "new": 0}
    table.upsert(pa.Table.from_pylist([row], schema))


def test_a_sync_makes_numbers_of_them_and_keeps_them(table, client):
    for _ in range(2):
        sync(client, table.path, "t")
        assert shown(client, "t") == shown(client, "t_rt") == ("long", {"t": "long"}, "long", None)
    widen(table)
    sync(client, table.path, "t")
    assert shown(client, "t") == ("long", {"t": "long", "u": "long"}, "long", "long")


def test_they_stay_what_statements_declared_and_are_such_in_new_columns_and_names(table, client):
    sync(client, table.path, "t")
    parameters = dict(client.table(DATABASE, "t").parameters)
    declared = {"at": "timestamp_ntz", "s": {"type": "struct", "fields": [{"name": "t", "type": "timestamp_ntz"}]}}
    change_stamp(client, "t", {MADE_BY_SQL: "hudi", **declared_parameters(parameters, {}, declared)})
    client.drop_table(DATABASE, "t_rt")
    widen(table)
    for _ in range(2):
        sync(client, table.path, "t")
        # What the entry has as numbers stays so, too: another sync may have made them.
        inner = {"t": "timestamp_ntz", "u": "timestamp_ntz"}
        assert shown(client, "t") == ("timestamp_ntz", inner, "long", "timestamp_ntz")
        assert shown(client, "t_rt") == ("timestamp_ntz", inner, "timestamp_ntz", "timestamp_ntz")
    assert {field.name: field.type for field in client.table(DATABASE, "t").sd.cols}["new"] == "bigint"
