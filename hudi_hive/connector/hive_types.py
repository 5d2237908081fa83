"""Converts Hive types and values of partition keys that only the metastore has to Arrow."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from hudi_hive.errors import MetastoreError, SchemaError
from hudi_hive.metastore.client import DEFAULT_PARTITION

_PLAIN: Final[dict[str, pa.DataType]] = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
_TEXT = re.compile(r"(?:var)?char\(\d+\)")
_DECIMAL = re.compile(r"decimal(?:\((\d+),(\d+)\))?")


def arrow_type(hive_type: str) -> pa.DataType:
    """Arrow type of a Hive type that a partition key may have.

    Raises:
        SchemaError: another type.
    """
    text = hive_type.replace(" ", "").lower()
    if text in _PLAIN:
        return _PLAIN[text]
    if _TEXT.fullmatch(text):
        return pa.string()
    decimal = _DECIMAL.fullmatch(text)
    if decimal is not None:
        return pa.decimal128(int(decimal[1] or 10), int(decimal[2] or 0))
    raise SchemaError(f"partition keys of Hive type {hive_type!r} are not understood")


def key_value(text: str | None, kind: pa.DataType, key: str) -> pa.Scalar:
    """Parse a partition key's value as the metastore has it.

    The result is typed, and null for Hive's default partition and for None.

    Raises:
        MetastoreError: the text is no value of the type.
    """
    if text is None or text == DEFAULT_PARTITION:
        return pa.scalar(None, kind)
    try:
        return pa.scalar(text, pa.string()).cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise MetastoreError(f"partition value {text!r} of key {key} is no {kind}: {error}") from error
