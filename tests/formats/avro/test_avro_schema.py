"""Avro schemas to Arrow: every fixture's schema against the types that Spark showed, and the cases no fixture has."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from hudi_hive.errors import SchemaError
from hudi_hive.schema import META_FIELDS, add_partition_columns, avro_to_arrow, with_meta_fields
from tests.support.fixture_tables import expected, fixture_names

SPARK_NAMES = {
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}


def spark_type(arrow: pa.DataType) -> str:
    if pa.types.is_decimal(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    if pa.types.is_list(arrow):
        return f"array<{spark_type(arrow.value_type)}>"
    if pa.types.is_map(arrow):
        return f"map<{spark_type(arrow.key_type)},{spark_type(arrow.item_type)}>"
    if pa.types.is_struct(arrow):
        return "struct<" + ",".join(f"{field.name}:{spark_type(field.type)}" for field in arrow) + ">"
    return SPARK_NAMES[arrow]


@pytest.mark.parametrize("name", fixture_names())
def test_fixture_schema_has_the_types_that_spark_showed(name):
    answers = expected(name)
    schema = avro_to_arrow(answers["avro_schema"])
    if answers["table_config"].get("hoodie.populate.meta.fields") != "false":
        schema = with_meta_fields(schema)
    snapshots = [
        q for q in answers["queries"] if q["kind"] == "snapshot" and q.get("columns") and not q.get("historical")
    ]
    for query in snapshots:
        shown = {column["name"]: column["type"] for column in query["columns"]}
        ours = {field.name: spark_type(field.type) for field in schema}
        # Key generators that format a value make Spark show the partition column as text
        # (docs/format/rules.md#partition-column-values).
        for text in set(answers["partition_fields"]) & set(ours):
            if "string" in (shown.get(text), ours[text]):
                shown.pop(text), ours.pop(text)
        assert ours == {column: shown[column] for column in ours}
        assert set(shown) == set(ours)


def record(*fields: object, name: str = "r", **more: object) -> dict:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(avro: object, name: str = "c", **more: object) -> dict:
    return {"name": name, "type": avro, **more}


@pytest.mark.parametrize(
    ("avro", "arrow"),
    [
        ("string", pa.string()),
        (["null", "int"], pa.int32()),
        (["int", "null"], pa.int32()),
        (["long"], pa.int64()),
        ("null", pa.null()),
        (["null"], pa.null()),
        ({"type": "bytes"}, pa.binary()),
        ({"type": {"type": "long", "logicalType": "timestamp-millis"}}, pa.timestamp("ms", "UTC")),
        ({"type": "long", "logicalType": "timestamp-micros"}, pa.timestamp("us", "UTC")),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, pa.timestamp("ms")),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, pa.timestamp("us")),
        ({"type": "int", "logicalType": "time-millis"}, pa.time32("ms")),
        ({"type": "long", "logicalType": "time-micros"}, pa.time64("us")),
        ({"type": "int", "logicalType": "date"}, pa.date32()),
        ({"type": "string", "logicalType": "uuid"}, pa.string()),
        ({"type": "int", "logicalType": "timestamp-micros"}, pa.int32()),  # does not fit its type: ignored
        ({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}, pa.decimal128(10, 2)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 50}, pa.decimal256(50, 0)),
        (
            {"type": "fixed", "name": "f", "size": 9, "logicalType": "decimal", "precision": 20, "scale": 6},
            pa.decimal128(20, 6),
        ),
        ({"type": "fixed", "name": "f", "size": 7}, pa.binary(7)),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, pa.string()),
        ({"type": "array", "items": ["null", "int"]}, pa.list_(pa.field("element", pa.int32()))),
        ({"type": "map", "values": "long"}, pa.map_(pa.string(), pa.int64())),
        (
            ["null", "int", "string"],
            pa.struct([("member0", pa.int32()), ("member1", pa.string())]),
        ),
    ],
)
def test_an_avro_type_becomes_its_arrow_type(avro, arrow):
    schema = avro_to_arrow(record(field(avro)))
    assert schema.field("c").type == arrow
    assert schema.field("c").nullable


def test_list_element_is_named_element_at_every_depth():
    inner = {"type": "array", "items": {"type": "array", "items": "int"}}
    arrow = avro_to_arrow(record(field(inner))).field("c").type
    assert str(arrow) == "list<element: list<element: int32>>"


def test_the_doc_of_a_field_becomes_metadata_of_the_arrow_field():
    schema = avro_to_arrow(json.dumps(record(field("int", doc="how many"), field("int", name="d", doc=""))))
    assert schema.field("c").metadata == {b"doc": b"how many"}
    assert schema.field("d").metadata is None


def test_named_types_are_found_by_name_in_their_namespace():
    point = record(field("int", "x"), name="point")
    schema = avro_to_arrow(record(field(point, "a"), field("point", "b"), field("org.t.point", "c"), namespace="org.t"))
    assert schema.field("a").type == schema.field("b").type == schema.field("c").type == pa.struct([("x", pa.int32())])


def test_same_short_name_in_different_namespaces():
    first = {"type": "fixed", "name": "fixed", "namespace": "n.a", "size": 3}
    second = {"type": "fixed", "name": "fixed", "namespace": "n.b", "size": 5}
    schema = avro_to_arrow(record(field(first, "a"), field(second, "b"), field("n.a.fixed", "c")))
    assert [f.type for f in schema] == [pa.binary(3), pa.binary(5), pa.binary(3)]


@pytest.mark.parametrize(
    "schema",
    [
        "not json",
        "[]",
        {"type": "string"},
        record(field("nothing")),
        record(field(None)),
        record({"name": "x"}),
        {"type": "record", "name": "r"},
        {"type": "record", "fields": []},
        record(field({"type": "fixed", "name": "f"})),
        record(field({"type": "fixed", "name": "f", "size": -1})),
        record(field({"type": "bytes", "logicalType": "decimal"})),
        record(field({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 5})),
        record(field({"type": "bytes", "logicalType": "decimal", "precision": 77})),
        record(field({"type": "array"})),
        record(field(["null", "r"])),  # recursive
    ],
)
def test_a_schema_that_arrow_cannot_hold_is_refused(schema):
    with pytest.raises(SchemaError):
        avro_to_arrow(schema)


def test_recursive_type_is_refused_by_column():
    tree = record(field(["null", "tree"], "left"), name="tree")
    with pytest.raises(SchemaError, match=r"'top.left'.*recursive.*tree"):
        avro_to_arrow(record(field(tree, "top")))


def test_endless_nesting_is_refused():
    avro: object = "int"
    for _ in range(500):
        avro = {"type": "array", "items": avro}
    with pytest.raises(SchemaError, match="too deep"):
        avro_to_arrow(record(field(avro)))


def test_meta_fields_come_first_and_once():
    schema = pa.schema([("a", pa.int32()), ("_hoodie_record_key", pa.string()), ("b", pa.int32())])
    assert with_meta_fields(schema).names == [*META_FIELDS, "a", "b"]
    assert with_meta_fields(with_meta_fields(schema)) == with_meta_fields(schema)
    assert with_meta_fields(schema, operation=True).names == [*META_FIELDS, "_hoodie_operation", "a", "b"]


def test_partition_columns_are_appended_once():
    schema = pa.schema([("a", pa.int32()), ("p", pa.int64())])
    more = pa.schema([("p", pa.string()), ("q", pa.string())])
    assert add_partition_columns(schema, more) == pa.schema([("a", pa.int32()), ("p", pa.int64()), ("q", pa.string())])
