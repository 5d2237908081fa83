"""Vectors of Hudi 1.2: which Avro types are some, and the numbers that their bytes hold."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from hudi_hive.schema import avro_to_arrow, holds_vectors, shown_avro, shown_schema, vectors_of_bytes


def vector(name: str, dimension: int, element: str, size: int) -> dict:
    own = {"type": "fixed", "name": name, "namespace": "", "size": size, "logicalType": "vector"}
    return {**own, "dimension": dimension, "elementType": element, "storageBacking": "FIXED_BYTES"}


def record(**types: object) -> dict:
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    return {"type": "record", "name": "r", "namespace": "n", "fields": fields}


def test_columns_of_vectors_are_lists_in_tables_of_lance_files() -> None:
    avro = record(
        plain=["null", vector("f3", 3, "FLOAT", 12)],
        again=["null", "f3"],
        wide=vector("d2", 2, "DOUBLE", 16),
        small=["null", vector("i4", 4, "INT8", 4)],
        other=["null", {"type": "fixed", "name": "uuid16", "size": 16}],
        false=["null", vector("f4", 3, "FLOAT", 16)],
        text=["null", "string"],
        both=["null", "string", "f3"],
    )
    types = shown_schema(avro, "lance").types
    floats = pa.list_(pa.field("element", pa.float32()))
    assert types[:3] == [floats, floats, pa.list_(pa.field("element", pa.float64()))]
    assert types[3:-1] == avro_to_arrow(avro).types[3:-1]
    assert types[-1].field(1).type == floats
    assert shown_schema(avro, "parquet") == avro_to_arrow(avro)


def test_no_field_of_a_struct_is_required_in_tables_of_lance_files() -> None:
    inner = {"type": "record", "name": "i", "fields": [{"name": "x", "type": "int"}]}
    outer = record(
        s=inner, list={"type": "array", "items": "i"}, optional=["string", "null"], map={"type": "map", "values": "i"}
    )
    shown = shown_avro(outer, "lance")
    assert [field["type"] for field in shown["fields"]] == [
        ["null", {**inner, "fields": [{"name": "x", "type": ["null", "int"]}]}],
        ["null", {"type": "array", "items": "i"}],
        ["string", "null"],
        ["null", {"type": "map", "values": "i"}],
    ]
    assert shown_schema(outer, "lance") == avro_to_arrow(outer)
    assert shown_avro(outer, "orc") is outer


@pytest.mark.parametrize(
    ("element", "code", "vectors"),
    [
        (pa.float32(), "<3f", [[0.5, -1.0, 3.25], None, [0.0, 2.0, 2.0**99], [1.0, 1.0, 1.0]]),
        (pa.float64(), "<2d", [None, [0.1, -(2.0**990)], [2.0, 3.0]]),
    ],
)
def test_bytes_of_vectors(element: pa.DataType, code: str, vectors: list) -> None:
    target = pa.list_(pa.field("element", element))
    binary = pa.array([one and struct.pack(code, *one) for one in vectors], pa.binary(struct.calcsize(code)))
    assert holds_vectors(binary.type, target)
    for start in range(len(vectors) + 1):
        for length in range(len(vectors) - start + 1):
            lists = vectors_of_bytes(binary.slice(start, length), target)
            lists.validate(full=True)
            assert lists.type == target
            assert lists.to_pylist() == vectors[start : start + length]


def test_what_is_no_vector() -> None:
    floats = pa.list_(pa.float32())
    for source, target in (
        (pa.binary(10), floats),
        (pa.binary(), floats),
        (pa.binary(12), pa.list_(pa.string())),
        (pa.binary(12), pa.list_(pa.int32())),
        (pa.binary(12), pa.binary(12)),
    ):
        assert not holds_vectors(source, target)
