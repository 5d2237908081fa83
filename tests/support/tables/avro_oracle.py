"""Decoding records one by one with fastavro: the slow way, and what the columnar one is tested against.

fastavro is given a schema of our own making that has the same binary form but keeps what it would lose: branches of
unions become records of their own, maps arrays of entries, enums and logical types the numbers behind them.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa

from hudi_hive.errors import CorruptFileError
from hudi_hive.formats.avro import ArrayNode, EnumNode, FixedNode, MapNode, Node, PlainNode, RecordNode, UnionNode


def decode_with_fastavro(view: memoryview, spans: Sequence[tuple[int, int]], root: RecordNode) -> list[pa.Array]:
    """Columns of all fields of the records at the spans of a buffer.

    Raises:
        CorruptFileError: a record does not follow the schema or does not fill its span.
    """
    schema: Any = fastavro.parse_schema(_Namer().plain_schema(root))
    rows: list[dict[str, Any]] = []
    for start, end in spans:
        stream = io.BytesIO(view[start:end])
        try:
            row: Any = fastavro.schemaless_reader(stream, schema, None, return_record_name=True)
        except Exception as error:  # damaged bytes make the decoder fail in any place
            raise CorruptFileError(f"Avro record cannot be decoded: {type(error).__name__}") from error
        if stream.tell() != end - start:
            raise CorruptFileError("Avro record does not fill its length")
        rows.append(row)
    return [_column(child, [row[f"f{i}"] for row in rows]) for i, child in enumerate(root.children)]


class _Namer:
    """Makes schemas whose named types all have names of their own."""

    def __init__(self) -> None:
        self._count = 0

    def _name(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def plain_schema(self, node: Node) -> Any:
        if isinstance(node, PlainNode):
            return node.kind
        if isinstance(node, FixedNode):
            return {"type": "fixed", "name": self._name(), "size": node.size}
        if isinstance(node, ArrayNode):
            return {"type": "array", "items": self.plain_schema(node.item)}
        if isinstance(node, MapNode):
            return {"type": "array", "items": self.plain_schema(node.entry)}
        if isinstance(node, RecordNode):
            return self._record([self.plain_schema(child) for child in node.children], self._name())
        if isinstance(node, UnionNode):
            return [
                "null" if at == node.null_at else self._record([self.plain_schema(branch)], f"{self._name()}_{at}")
                for at, branch in enumerate(node.branches)
            ]
        return "int"  # an enum

    def _record(self, types: list[Any], name: str) -> dict[str, Any]:
        fields = [{"name": f"f{i}", "type": kind} for i, kind in enumerate(types)]
        return {"type": "record", "name": name, "fields": fields}


def _column(node: Node, values: list[Any]) -> pa.Array:
    """Values as fastavro gave them, none of them missing unless the node is a union, as an Arrow array."""
    if isinstance(node, UnionNode):
        return _union(node, values)
    if isinstance(node, RecordNode):
        return _struct(node, values)
    if isinstance(node, (ArrayNode, MapNode)):
        item = node.item if isinstance(node, ArrayNode) else node.entry
        offsets = np.zeros(len(values) + 1, np.int32)
        np.cumsum([len(value) for value in values], out=offsets[1:])
        items = _column(item, [one for value in values for one in value])
        return pa.Array.from_buffers(node.arrow, len(values), [None, pa.py_buffer(offsets)], children=[items])
    if isinstance(node, EnumNode):
        if any(not 0 <= value < len(node.symbols) for value in values):
            raise CorruptFileError("Avro enum has no such symbol")
        return pa.array([node.symbols[value] for value in values], pa.string())
    if pa.types.is_decimal(node.arrow):
        return _decimals(node.arrow, values)
    if pa.types.is_temporal(node.arrow):
        return pa.array(values, pa.int32() if node.arrow.bit_width == 32 else pa.int64()).view(node.arrow)
    return pa.array(values, node.arrow)


def _union(node: UnionNode, values: list[Any]) -> pa.Array:
    if not node.members:
        return pa.nulls(len(values))
    branch = np.array([node.null_at if value is None else int(value[0].rpartition("_")[2]) for value in values], int)
    arrays = []
    for at in node.members:
        here = branch == at
        present = _column(
            node.branches[at], [value[1]["f0"] for value, is_it in zip(values, here, strict=True) if is_it]
        )
        arrays.append(present.take(pa.array(np.cumsum(here) - 1, mask=~here)))
    if len(node.members) == 1:
        return arrays[0]
    return pa.StructArray.from_arrays(arrays, fields=list(node.arrow), mask=pa.array(branch == node.null_at))


def _struct(node: RecordNode, values: list[Any]) -> pa.Array:
    values = [value[1] if isinstance(value, tuple) else value for value in values]
    children = [_column(child, [value[f"f{i}"] for value in values]) for i, child in enumerate(node.children)]
    return pa.Array.from_buffers(node.arrow, len(values), [None], children=children)


def _decimals(arrow: pa.DataType, values: list[bytes]) -> pa.Array:
    width = arrow.bit_width // 8
    try:
        data = b"".join(
            int.from_bytes(value, "big", signed=True).to_bytes(width, "little", signed=True) for value in values
        )
        array = pa.Array.from_buffers(arrow, len(values), [None, pa.py_buffer(data)])
        array.validate(full=True)
    except (OverflowError, pa.ArrowInvalid) as error:
        raise CorruptFileError(f"Avro decimal does not fit {arrow}") from error
    return array
