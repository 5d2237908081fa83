"""Arrow schemas to Avro: the names and types of real Hudi, and back."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive.errors import SchemaError
from hudi_hive.formats.avro import avro_to_arrow
from hudi_hive.schema.from_arrow import arrow_to_avro, record_name
from tests.support.fixture_tables import fixture_names, unzip_fixture


@pytest.mark.parametrize("name", fixture_names())
def test_schemas_of_real_base_files_come_back(name):
    found = 0
    for path in sorted(Path(unzip_fixture(name)).rglob("*.parquet")):
        text = (pq.read_metadata(path).metadata or {}).get(b"parquet.avro.schema")
        if text is None or ".hoodie" in path.parts:
            continue
        real = json.loads(text)
        record, namespace = record_name(name)
        assert (real["name"], real["namespace"]) == (record, namespace)
        assert arrow_to_avro(avro_to_arrow(real), record, namespace) == real
        found += 1
    rows_of_spark = ("orc", "ts_millis")  # these footers hold no Avro schema
    assert found or "_mor_" in name or name.endswith(rows_of_spark)


def test_names_that_avro_does_not_take():
    assert record_name("my-table 1") == ("my__table__1_record", "hoodie.my__table__1")
    assert record_name("1st") == ("__st_record", "hoodie.__st")
    with pytest.raises(SchemaError, match="'a b'"):
        arrow_to_avro(pa.schema([("a b", pa.int32())]), "r")
    with pytest.raises(SchemaError, match="'x-y'"):
        arrow_to_avro(pa.schema([]), "x-y")


@pytest.mark.parametrize(
    ("kind", "avro"),
    [
        (pa.int8(), "int"),
        (pa.uint32(), "long"),
        (pa.large_string(), "string"),
        (pa.dictionary(pa.int32(), pa.string()), "string"),
        (pa.timestamp("us"), {"type": "long", "logicalType": "local-timestamp-micros"}),
        (pa.timestamp("ms", "UTC"), {"type": "long", "logicalType": "timestamp-millis"}),
        (pa.timestamp("ns", "UTC"), {"type": "long", "logicalType": "timestamp-micros"}),
        (pa.time64("us"), {"type": "long", "logicalType": "time-micros"}),
        (pa.binary(3), {"type": "fixed", "name": "fixed", "namespace": "n.r.c", "size": 3}),
    ],
)
def test_an_arrow_type_becomes_its_avro_type(kind, avro):
    (field,) = arrow_to_avro(pa.schema([pa.field("c", kind, nullable=False)]), "r", "n")["fields"]
    assert field == {"name": "c", "type": avro}


@pytest.mark.parametrize(
    "kind", [pa.null(), pa.uint64(), pa.duration("s"), pa.map_(pa.int32(), pa.string()), pa.decimal128(5, -2)]
)
def test_types_that_avro_has_not(kind):
    with pytest.raises(SchemaError, match="c"):
        arrow_to_avro(pa.schema([("c", kind)]), "r")


@pytest.mark.parametrize("precision", range(1, 39))
def test_decimals_take_as_few_bytes_as_parquet_gives_them(precision):
    fields = arrow_to_avro(pa.schema([("c", pa.decimal128(precision, 0))]), "r")["fields"]
    table = pa.table({"c": pa.nulls(1, pa.decimal128(precision, 0))})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    column = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema.column(0)
    assert fields[0]["type"][1]["size"] == column.length


@pytest.mark.parametrize("name", ["größe", "日期", "_1", "ключ٣"])
def test_names_of_any_script(name):
    assert arrow_to_avro(pa.schema([pa.field(name, pa.int32())]), "r")["fields"][0]["name"] == name


@pytest.mark.parametrize("name", ["", "1a", "٣a", "a b", "m²", "a-b", "a.b", "𝒳"])
def test_names_that_java_does_not_take(name):
    with pytest.raises(SchemaError):
        arrow_to_avro(pa.schema([pa.field(name, pa.int32())]), "r")
