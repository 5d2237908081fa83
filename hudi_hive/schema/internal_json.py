"""Writes the JSON form of id-based schemas, byte for byte as Hudi does.

A commit's ``latest_schema`` holds one version, a ``.schemacommit`` file all of them, the newest first. Both are read by
:mod:`hudi_hive.schema.internal`.

Source: docs/format.md#id-based-schemas.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hudi_hive.schema.internal import ArrayType, InternalField, InternalSchema, InternalType, MapType, RecordType


def to_json(schema: InternalSchema) -> str:
    """The JSON text of one version, for ``latest_schema`` of a commit."""
    return _text(_schema(schema))


def history_bytes(schemas: Sequence[InternalSchema]) -> bytes:
    """The bytes of a ``.schemacommit`` file with all versions.

    Args:
        schemas: all versions, the newest first.
    """
    return _text({"schemas": [_schema(schema) for schema in schemas]}).encode()


def _text(value: Any) -> str:  # noqa: ANN401 - JSON
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _schema(schema: InternalSchema) -> dict[str, Any]:
    return {"max_column_id": schema.max_column_id, "version_id": schema.version_id, **_record(schema.fields)}


def _record(fields: Sequence[InternalField]) -> dict[str, Any]:
    return {"type": "record", "fields": [_field(item) for item in fields]}


def _field(item: InternalField) -> dict[str, Any]:
    made = {"id": item.id, "name": item.name, "optional": item.optional, "type": _type(item.type)}
    return made if item.doc is None else {**made, "doc": item.doc}


def _type(kind: InternalType) -> Any:  # noqa: ANN401 - JSON
    if isinstance(kind, RecordType):
        return _record(kind.fields)
    if isinstance(kind, ArrayType):
        return {
            "type": "array",
            "element_id": kind.element_id,
            "element": _type(kind.element),
            "element_optional": kind.element_optional,
        }
    if isinstance(kind, MapType):
        return {
            "type": "map",
            "key_id": kind.key_id,
            "key": _type(kind.key),
            "value_id": kind.value_id,
            "value": _type(kind.value),
            "value_optional": kind.value_optional,
        }
    return kind
