"""Type texts, Spark's schema text and the extractors against what real hive-sync made (golden files 20 and 21)."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.errors import InvalidOptionError, PartitionValueError, SchemaSyncError
from hudi_hive.sync.config import extractors
from hudi_hive.sync.table.parquet_schema import StorageField, storage_fields
from hudi_hive.sync.table.spark_schema import (
    declared_parameters,
    declared_types,
    spark_schema_json,
    spark_table_parameters,
)
from hudi_hive.sync.table.types import Dialect, hive_type, metastore_type, type_warnings
from tests.support.fixture_tables import GOLDEN

PURE = json.loads((GOLDEN / "20_pure_functions.json").read_text())
AVRO = json.loads((GOLDEN / "21_avro_types.json").read_text())["avro_types"]

# docs/format/rules.md#hive-types: real hive-sync fails or writes a text that is no Hive type; ours are the nearest.
NEAREST = {
    "optional int32 c (UINT_32)": ("int", "integer"),
    "optional int32 c (TIME_MILLIS)": ("int", "integer"),
    "optional int64 c (TIME_MICROS)": ("bigint", "long"),
    "optional int96 c": ("timestamp", "timestamp"),
    "optional fixed_len_byte_array(16) c": ("binary", "binary"),
    "optional fixed_len_byte_array(16) c (UUID)": ("binary", "binary"),
    "optional group c (MAP) { repeated group key_value { required binary key (UTF8); optional int32 value; } }": (
        "MAP<string,int>",
        None,
    ),
    "optional group c (MAP) { repeated group map (MAP_KEY_VALUE) { required int32 key; optional int32 value; } }": (
        "MAP<int,int>",
        None,
    ),
    "optional group c { optional int96 t; }": ("STRUCT<t:timestamp>", None),
}

_TOKEN = re.compile(r"\s*([A-Za-z_][\w$-]*|[0-9]+|[(){};,])")
_NAMES = {"UTF8": "STRING", "fixed_len_byte_array": "fixed"}


class Message:
    """Reads Parquet's text form of a field, as the golden files hold it."""

    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def take(self, expected: str | None = None) -> str:
        token = self.tokens[self.at]
        assert expected is None or token == expected, (token, expected)
        self.at += 1
        return token

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def arguments(self) -> list[str]:
        found = []
        if self.peek() == "(":
            self.take("(")
            while self.peek() != ")":
                token = self.take()
                if token != ",":
                    found.append(token)
                    if self.peek() == "(":
                        found.extend(self.arguments())
            self.take(")")
        return found

    def fields(self) -> tuple[StorageField, ...]:
        found = []
        self.take("{")
        while self.peek() != "}":
            found.append(self.field())
        self.take("}")
        return tuple(found)

    def field(self) -> StorageField:
        repetition, kind = self.take(), self.take()
        if kind == "fixed_len_byte_array":
            self.arguments()
        name = self.take()
        extra = self.arguments()
        annotation = _NAMES.get(extra[0], extra[0]) if extra else None
        precision = scale = 0
        if annotation == "DECIMAL":
            precision, scale = int(extra[1]), int(extra[2])
        elif annotation in ("TIME", "TIMESTAMP"):
            annotation = f"{annotation}_{extra[1]}"
        if kind == "group":
            return StorageField(name, repetition, None, annotation, children=self.fields())
        if self.peek() == ";":
            self.take(";")
        return StorageField(name, repetition, _NAMES.get(kind, kind), annotation, precision, scale)


@pytest.mark.parametrize("case", PURE["types"], ids=lambda case: case["parquet"])
def test_hive_types_of_parquet_types_are_those_of_hudi(case):
    field = Message(case["parquet"]).field()
    texts = {
        "hms": hive_type(field),
        "hms_ts": hive_type(field, support_timestamp=True),
        "ddl": hive_type(field, dialect=Dialect.SQL),
        "ddl_ts": hive_type(field, dialect=Dialect.SQL, support_timestamp=True),
    }
    spark = spark_schema_json([field])
    if case["parquet"] not in NEAREST:
        assert {key: f"{field.name} | {text}" for key, text in texts.items()} == {key: case[key] for key in texts}
        assert spark == case["spark"]
        return
    hive, spark_type = NEAREST[case["parquet"]]
    assert texts["hms"] == hive
    if spark_type is None:
        assert spark == case["spark"]
    else:
        assert json.loads(spark)["fields"][0]["type"] == spark_type


def test_nearest_types_are_those_that_real_hive_sync_cannot_write():
    for case in PURE["types"]:
        broken = isinstance(case["hms"], dict) or isinstance(case["spark"], dict) or "timestamp_" in case["hms"]
        assert (broken or "timestamp-" in case["hms"]) == (case["parquet"] in NEAREST)


@pytest.mark.parametrize("case", AVRO, ids=lambda case: case["avro"])
def test_parquet_types_of_avro_types_are_those_of_hudi(case):
    kind = json.loads(case["avro"])
    record = {"type": "record", "name": "m", "fields": [{"name": "c", "type": kind}]}
    fields = storage_fields(record)
    assert fields == Message(case["parquet"].removeprefix("message m ")).fields()
    if kind == "null":
        assert fields == ()
        return
    if case["hive"] == "struct>":
        with pytest.raises(SchemaSyncError, match="column c is a record without fields"):
            metastore_type(fields[0])
        return
    assert metastore_type(fields[0]) == case["hive"]
    assert metastore_type(fields[0], support_timestamp=True) == case["hive_ts"]
    spark = spark_schema_json(fields)
    if isinstance(case["spark"], str):
        assert spark == case["spark"]
        assert type_warnings(fields) == ()
    else:
        assert json.loads(spark)["fields"][0]["type"] in ("integer", "long", "binary")
        assert len(type_warnings(fields)) == 1


@pytest.mark.parametrize("case", PURE["extractors"], ids=lambda case: f"{case['extractor']}:{case['path']}")
def test_extractors_give_the_values_that_hudi_s_give(case):
    extract = extractors.find_extractor(extractors.PACKAGE + case["extractor"])
    if "error" in case:
        with pytest.raises(PartitionValueError):
            extract(case["path"])
    else:
        assert extract(case["path"]) == case["values"]


def test_unknown_extractor_is_refused_by_name():
    with pytest.raises(InvalidOptionError, match=r"com\.acme\.Mine"):
        extractors.find_extractor("com.acme.Mine")


@pytest.mark.parametrize(
    ("fields", "hive_style", "expected"),
    [
        ([], True, extractors.NON_PARTITIONED),
        (["a"], True, extractors.HIVE_STYLE),
        (["a"], False, extractors.SINGLE_PART),
        (["a", "b"], True, extractors.MULTI_PART),
    ],
)
def test_the_extractor_is_inferred_from_the_partition_fields(fields, hive_style, expected):
    assert extractors.infer_extractor(fields, hive_style_partitioning=hive_style) == expected


@given(st.text(min_size=1, max_size=300), st.integers(1, 50))
def test_chunks_join_to_the_text(text, length):
    parameters = spark_table_parameters(text, ["p"], chunk_length=length)
    count = int(parameters["spark.sql.sources.schema.numParts"])
    chunks = [parameters[f"spark.sql.sources.schema.part.{index}"] for index in range(count)]
    assert "".join(chunks) == text
    assert count == -(-len(text) // length)
    assert all(len(chunk) == length for chunk in chunks[:-1])


def test_chunk_length_must_be_positive():
    with pytest.raises(InvalidOptionError, match="schema_string_length_thresh"):
        spark_table_parameters("{}", [], chunk_length=0)


def test_named_types_are_followed_and_recursive_ones_refused():
    point = {"type": "record", "name": "point", "namespace": "n", "fields": [{"name": "x", "type": "int"}]}
    fields = [{"name": "a", "type": point}, {"name": "b", "type": ["null", "n.point"]}]
    assert [metastore_type(f) for f in storage_fields({"type": "record", "name": "r", "fields": fields})] == [
        "struct<x:int>",
        "struct<x:int>",
    ]
    loop = {"type": "record", "name": "loop", "fields": [{"name": "next", "type": ["null", "loop"]}]}
    with pytest.raises(SchemaSyncError, match="recursive"):
        storage_fields({"type": "record", "name": "r", "fields": [{"name": "c", "type": loop}]})
    with pytest.raises(SchemaSyncError, match="unknown Avro type 'nothing'"):
        storage_fields({"type": "record", "name": "r", "fields": [{"name": "c", "type": "nothing"}]})


def test_what_statements_declared_stays_and_no_more_than_times_without_a_zone():
    ntz, row = "timestamp_ntz", {"type": "struct", "fields": [{"name": "T", "type": "long", "nullable": True}]}
    fields = [
        {"name": name, "type": kind, "metadata": {}} for name, kind in (("At", "long"), ("n", "string"), ("r", row))
    ]
    array = {"type": "array", "elementType": row, "containsNull": True}
    fields += [{"name": name, "type": array, "metadata": {}} for name in ("a", "b")]
    text = json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))
    parameters = spark_table_parameters(text, (), chunk_length=50)
    inner = {"type": "struct", "fields": [{"name": "t", "type": ntz}]}
    declared = {"at": ntz, "n": ntz, "r": inner, "a": {"type": "array", "elementType": inner}, "b": {"type": "array"}}
    kept = declared_types(declared_parameters(parameters, {"n": "a name"}, declared))
    inner_kept = row | {"fields": [row["fields"][0] | {"type": ntz}]}
    assert kept == {"at": ntz, "n": "string", "r": inner_kept, "a": array | {"elementType": inner_kept}, "b": array}
    assert declared_parameters(parameters, {}, {"at": "long"}) == parameters
    entry = {"at": "long", "r": {"type": "struct", "fields": []}}
    new = declared_types(declared_parameters(parameters, {}, entry, declared))
    assert new == {"at": "long", "n": "string", "r": inner_kept, "a": array | {"elementType": inner_kept}, "b": array}
    for wrong in ("", "[]", "{", '{"fields": 1}', '{"fields": [{}]}'):
        damaged = spark_table_parameters(wrong or " ", (), chunk_length=50)
        assert (declared_types(damaged), declared_parameters(damaged, {"n": "x"}, declared)) == ({}, damaged)
