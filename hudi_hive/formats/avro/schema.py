"""Avro schemas as trees of nodes, each with its Arrow type.

The one mapping of Avro to Arrow types of this package. It is the one that Hudi's Parquet files and Spark show.

Source: Avro specification 1.11, docs/format.md#avro-schemas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeGuard

import pyarrow as pa

from hudi_hive.errors import SchemaError

_PRIMITIVES: Final[Mapping[str, pa.DataType]] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}

_LEAST: Final[Mapping[str, int]] = {"null": 0, "float": 4, "double": 8}

_LOGICAL: Final[Mapping[tuple[str, str], pa.DataType]] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("ns", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
}

_MAX_DEPTH: Final = 100
_MAX_WEIGHT: Final = 100_000
"""Nodes that a schema may stand for once its references are followed; references to references can grow without end."""

_MAX_FIXED: Final = 1 << 20
"""Bytes that a fixed may have: Arrow lays them out for nulls too."""


@dataclass(frozen=True, slots=True)
class Node:
    """One type of a schema.

    Attributes:
        arrow: the Arrow type of its values.
        least: the fewest bytes that a value takes.
        weight: nodes below and including this one.
        width: bytes that a row takes in Arrow's buffers, null or not, whatever text and items come on top.
    """

    arrow: pa.DataType
    least: int
    weight: int
    width: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", _width(self.arrow))


@dataclass(frozen=True, slots=True)
class PlainNode(Node):
    """A primitive type; ``kind`` is its Avro name, logical types show in ``arrow`` alone."""

    kind: str


@dataclass(frozen=True, slots=True)
class FixedNode(Node):
    """An Avro ``fixed``: values of a constant number of bytes."""

    size: int


@dataclass(frozen=True, slots=True)
class EnumNode(Node):
    """An Avro ``enum``: one of a list of symbols, encoded as its number."""

    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordNode(Node):
    """An Avro ``record``: fields, encoded one after the other."""

    fields: tuple[pa.Field, ...]
    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ArrayNode(Node):
    """An Avro ``array``: items, encoded in blocks."""

    item: Node


@dataclass(frozen=True, slots=True)
class MapNode(Node):
    """An Avro ``map``: entries of key and value, encoded in blocks."""

    entry: RecordNode


@dataclass(frozen=True, slots=True)
class UnionNode(Node):
    """An Avro ``union``: null and one type become that type, several types a struct of members.

    Attributes:
        branches: all branches, null among them, as written.
        null_at: position of the null branch, or -1.
        members: positions of the other branches.
    """

    branches: tuple[Node, ...]
    null_at: int
    members: tuple[int, ...]


def _width(arrow: pa.DataType) -> int:
    if pa.types.is_struct(arrow):
        return sum(_width(entry.type) for entry in arrow)
    if pa.types.is_null(arrow):
        return 0
    if pa.types.is_primitive(arrow) or pa.types.is_decimal(arrow) or pa.types.is_fixed_size_binary(arrow):
        return int(arrow.bit_width + 7) // 8
    return 4  # offsets of text, lists and maps


NULL_NODE: Final = PlainNode(pa.null(), 0, 1, "null")
_KEY_NODE: Final = PlainNode(pa.string(), 1, 1, "string")


def avro_to_arrow(schema: Mapping[str, Any] | str) -> pa.Schema:
    """The Arrow schema of an Avro record schema.

    Every field is nullable, as Spark shows them: a base file of an older schema may lack any column. ``doc`` of a field
    becomes the field metadata ``doc``. Lists are ``list<element>``, maps ``map<string, value>``, enums strings. A union
    of several types becomes the struct ``member0, member1, …`` that Parquet files hold for it. Logical types that are
    not known count as their plain type (Avro specification, "Logical Types").

    Args:
        schema: the parsed schema, or its JSON text.

    Raises:
        SchemaError: it is no record, refers to a type that it does not define, or is recursive.
    """
    return pa.schema(parse_record(schema).fields)


def parse_record(schema: Mapping[str, Any] | str) -> RecordNode:
    """The tree of an Avro record schema, from the parsed schema or its JSON text.

    Raises:
        SchemaError: it is no record, refers to a type that it does not define, or is recursive.
    """
    if isinstance(schema, str):
        return _parse_text(schema)
    try:
        text = json.dumps(schema)
    except (TypeError, ValueError, RecursionError):  # not made from JSON: converted as it is
        return _parse(schema)
    return _parse_text(text)


@lru_cache(maxsize=128)
def _parse_text(text: str) -> RecordNode:
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"Avro schema is not JSON: {error}") from error
    return _parse(schema)


def _parse(schema: object) -> RecordNode:
    if not isinstance(schema, Mapping) or schema.get("type") not in ("record", "error"):
        raise SchemaError("Avro schema of a table must be a record")
    try:
        return _Parser().record(schema, "", "")
    except UnicodeEncodeError as error:  # JSON's escapes can name halves of characters
        raise SchemaError(f"Avro schema has a text that is no Unicode: {error.reason}") from error


class _Parser:
    """Walks one schema; remembers its named types, and which of them it is inside of."""

    def __init__(self) -> None:
        self._named: dict[str, Node | None] = {}  # None while the type is being defined
        self._depth = 0

    def record(self, schema: Mapping[str, Any], namespace: str, path: str) -> RecordNode:
        full_name, namespace = self._begin(schema, namespace, path)
        raw_fields = schema.get("fields")
        if not isinstance(raw_fields, list):
            raise SchemaError(f"Avro record {full_name!r} has no list of fields", path=path or None)
        fields, children = [], []
        for raw in raw_fields:
            if not isinstance(raw, Mapping) or not isinstance(raw.get("name"), str) or "type" not in raw:
                raise SchemaError(f"a field of Avro record {full_name!r} lacks a name or a type", path=path or None)
            name = raw["name"]
            child = self.convert(raw["type"], namespace, f"{path}.{name}" if path else name)
            metadata = {"doc": raw["doc"]} if isinstance(raw.get("doc"), str) and raw["doc"] else None
            fields.append(pa.field(name, child.arrow, metadata=metadata))
            children.append(child)
        node = _record_node(tuple(fields), tuple(children), path)
        self._named[full_name] = node
        return node

    def convert(self, schema: object, namespace: str, path: str) -> Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise SchemaError(f"Avro type of column {path!r} is nested too deep")
        try:
            if isinstance(schema, str):
                return self._by_name(schema, namespace, path)
            if isinstance(schema, list):
                return self._union(schema, namespace, path)
            if isinstance(schema, Mapping):
                return self._complex(schema, namespace, path)
        finally:
            self._depth -= 1
        raise SchemaError(f"Avro type of column {path!r} is neither name, union nor object: {schema!r}")

    def _by_name(self, name: str, namespace: str, path: str) -> Node:
        if name in _PRIMITIVES:
            return _plain(name, _PRIMITIVES[name])
        for full_name in (name,) if "." in name else (f"{namespace}.{name}", name):
            if full_name in self._named:
                node = self._named[full_name]
                if node is None:
                    raise SchemaError(
                        f"column {path!r} is of the recursive Avro type {full_name!r}",
                        remedy="recursive types have no columnar form",
                    )
                return node
        raise SchemaError(f"column {path!r} is of the unknown Avro type {name!r}")

    def _union(self, raw: list[object], namespace: str, path: str) -> Node:
        nulls = [position for position, branch in enumerate(raw) if branch in ("null", {"type": "null"})]
        if len(nulls) > 1:
            raise SchemaError(f"the union of column {path!r} has null more than once")
        members = tuple(position for position in range(len(raw)) if position not in nulls)
        names = [path] if len(members) == 1 else [f"{path}.member{i}" for i in range(len(members))]
        branches: list[Node] = [NULL_NODE] * len(raw)
        for position, name in zip(members, names, strict=True):
            branches[position] = self.convert(raw[position], namespace, name)
        if len(members) == 1:
            arrow = branches[members[0]].arrow
        elif members:
            arrow = pa.struct([pa.field(f"member{i}", branches[at].arrow) for i, at in enumerate(members)])
        else:
            arrow = pa.null()
        least = 1 + min((branch.least for branch in branches), default=0)
        weight = _weight(branches, path)
        return UnionNode(arrow, least, weight, tuple(branches), nulls[0] if nulls else -1, members)

    def _complex(self, schema: Mapping[str, Any], namespace: str, path: str) -> Node:
        kind = schema.get("type")
        if isinstance(kind, (list, Mapping)):
            return self.convert(kind, namespace, path)
        if kind in ("record", "error"):
            return self.record(schema, namespace, path)
        if kind == "array":
            item = self.convert(schema.get("items"), namespace, f"{path}.element")
            return ArrayNode(pa.list_(pa.field("element", item.arrow)), 1, _weight([item], path), item)
        if kind == "map":
            value = self.convert(schema.get("values"), namespace, f"{path}.value")
            fields = (pa.field("key", pa.string(), nullable=False), pa.field("value", value.arrow))
            entry = _record_node(fields, (_KEY_NODE, value), path)
            return MapNode(pa.map_(pa.string(), value.arrow), 1, _weight([entry], path), entry)
        if kind == "enum":
            return self._define(schema, namespace, path, _enum(schema, path))
        if kind == "fixed":
            return self._define(schema, namespace, path, _fixed(schema, path))
        if kind == "bytes" and schema.get("logicalType") == "decimal":
            return _plain("bytes", _decimal(schema, path))
        logical = _LOGICAL.get((str(kind), str(schema.get("logicalType"))))
        return _plain(str(kind), logical) if logical is not None else self._by_name(str(kind), namespace, path)

    def _begin(self, schema: Mapping[str, Any], namespace: str, path: str) -> tuple[str, str]:
        """Full name and namespace of a named type, which is registered as being defined."""
        name = schema.get("name")
        if not isinstance(name, str) or not name:
            raise SchemaError("a named Avro type has no name", path=path or None)
        if "." in name:
            namespace = name.rpartition(".")[0]
        else:
            own = schema.get("namespace")
            namespace = own if isinstance(own, str) else namespace
            name = f"{namespace}.{name}" if namespace else name
        self._named[name] = None
        return name, namespace

    def _define(self, schema: Mapping[str, Any], namespace: str, path: str, node: Node) -> Node:
        full_name, _ = self._begin(schema, namespace, path)
        self._named[full_name] = node
        return node


def _plain(kind: str, arrow: pa.DataType) -> PlainNode:
    return PlainNode(arrow, _LEAST.get(kind, 1), 1, kind)


def _record_node(fields: tuple[pa.Field, ...], children: tuple[Node, ...], path: str) -> RecordNode:
    least = sum(child.least for child in children)
    return RecordNode(pa.struct(fields), least, _weight(children, path), fields, children)


def _weight(children: list[Node] | tuple[Node, ...], path: str) -> int:
    weight = 1 + sum(child.weight for child in children)
    if weight > _MAX_WEIGHT:
        raise SchemaError(f"the Avro type of column {path!r} has too many fields")
    return weight


def _enum(schema: Mapping[str, Any], path: str) -> EnumNode:
    symbols = schema.get("symbols")
    if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
        raise SchemaError(f"Avro enum of column {path!r} has no symbols")
    "".join(symbols).encode()  # fails for what cannot become an Arrow string
    return EnumNode(pa.string(), 1, 1, tuple(symbols))


def _fixed(schema: Mapping[str, Any], path: str) -> FixedNode:
    size = schema.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _MAX_FIXED:
        raise SchemaError(f"Avro fixed of column {path!r} has the size {size!r}")
    arrow = _decimal(schema, path) if schema.get("logicalType") == "decimal" else pa.binary(size)
    return FixedNode(arrow, size, 1, size)


def _decimal(schema: Mapping[str, Any], path: str) -> pa.DataType:
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not _is_whole(precision) or not _is_whole(scale) or not 0 < precision <= 76 or not 0 <= scale <= precision:
        raise SchemaError(f"decimal column {path!r} has precision {precision!r} and scale {scale!r}")
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def _is_whole(number: object) -> TypeGuard[int]:
    return isinstance(number, int) and not isinstance(number, bool)
