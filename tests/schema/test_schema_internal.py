"""Id-based schemas: what a column was called in an older file."""

from __future__ import annotations

import json

import pytest

from hudi_hive.errors import SchemaError
from hudi_hive.schema.internal import (
    EvolvedSchema,
    FieldSource,
    field_sources,
    is_identity,
    parse_history,
    parse_internal_schema,
    schema_at,
)
from hudi_hive.table import MetaClient
from tests.support.fixture_tables import fixture_names, unzip_fixture


def schema(version: int, *fields: tuple) -> dict:
    made = [{"id": i, "name": n, "optional": True, "type": t} for i, n, t in fields]
    return {"version_id": version, "max_column_id": 99, "type": "record", "fields": made}


STRUCT = {"type": "record", "fields": [{"id": 5, "name": "x", "optional": True, "type": "int"}]}
RENAMED_STRUCT = {"type": "record", "fields": [{"id": 5, "name": "y", "optional": True, "type": "long"}]}


def in_map_of_list(kind: dict) -> dict:
    array = {"type": "array", "element_id": 9, "element": kind, "element_optional": True}
    return {"type": "map", "key_id": 7, "key": "string", "value_id": 8, "value": array, "value_optional": True}


OLD = parse_internal_schema(
    schema(0, (1, "a", "int"), (2, "gone", "int"), (3, "s", STRUCT), (4, "m", in_map_of_list(STRUCT)))
)
NEW = parse_internal_schema(
    schema(
        20240102000000000,
        (10, "gone", "int"),
        (1, "b", "long"),
        (3, "s", RENAMED_STRUCT),
        (4, "m", in_map_of_list(RENAMED_STRUCT)),
    )
)


def test_renames_drops_and_nesting():
    sources = field_sources(NEW, OLD)
    assert sources["b"] == FieldSource("a")
    assert sources["gone"] == FieldSource(None)  # dropped and added anew: not the column that had this name
    assert sources["s"] == FieldSource("s", {"y": FieldSource("x")})
    value = sources["m"].children["value"]
    assert value.children["element"].children == {"y": FieldSource("x")}
    assert not is_identity(sources)
    assert is_identity(field_sources(NEW, NEW))


def test_a_file_has_the_newest_version_at_its_commit():
    history = parse_history(json.dumps({"schemas": [schema(20240102000000000), schema(0)]}).encode())
    assert [s.version_id for s in history] == [0, 20240102000000000]
    for instant, version in (
        ("20231231000000000", 0),
        ("20240102000000000", 20240102000000000),
        ("20250101000000000", 20240102000000000),
    ):
        assert schema_at(history, instant).version_id == version
    assert schema_at((NEW,), "20231231000000000") is None
    evolved = EvolvedSchema(NEW, (OLD, NEW))
    assert evolved.sources("20240102000000000") is None  # names are the same: nothing to tell
    assert evolved.sources("20240101000000000") == field_sources(NEW, OLD)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b'{"schemas": [{"fields": 1}]}', b'{"schemas": [{"version_id": "x", "fields": []}]}']
)
def test_what_is_no_history_is_refused(data):
    with pytest.raises(SchemaError):
        parse_history(data)


@pytest.mark.parametrize("name", fixture_names("cow_schema_evo"))
def test_history_of_a_table(tmp_path, name):
    path = unzip_fixture(name, tmp_path)
    client = MetaClient.load(path)
    evolved = client.evolved_schema()
    assert evolved.history[0].version_id == 0
    assert [field.name for field in evolved.query.fields] == client.schema().names
    first = client.timeline.write_instants()[0].requested
    assert client.evolved_schema(first) is None
    assert evolved.sources(first)["full_name"] == FieldSource("name")
    newest = sorted((path / ".hoodie" / ".schema").glob("*.schemacommit"))[-1]
    # A leftover of a commit that did not complete does not count.
    (newest.parent / "29990101000000000.schemacommit").write_bytes(b"junk")
    assert MetaClient.load(path).evolved_schema().history == evolved.history
    newest.write_bytes(b"junk")
    with pytest.raises(SchemaError) as caught:
        MetaClient.load(path).evolved_schema()
    assert caught.value.path.endswith(newest.name)
