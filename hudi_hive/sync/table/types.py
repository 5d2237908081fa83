"""Makes Hive type texts of Parquet fields, in the two spellings that hive-sync uses.

``HMS`` is what it gives to the metastore (``ARRAY<int>``), ``SQL`` what it writes into statements (``ARRAY< int>``).
The rules are those of docs/format/hive.md#hive-sync-types; where real hive-sync writes a text that no Hive type has
(INT96, an empty record) or fails, the nearest Hive type is taken or the column is refused by name.
"""

from __future__ import annotations

from enum import Enum

from hudi_hive.errors import SchemaSyncError
from hudi_hive.sync.table.parquet_schema import REPEATED, StorageField, list_element, map_entry

_PLAIN = {
    "boolean": "boolean",
    "int32": "int",
    "int64": "bigint",
    "float": "float",
    "double": "double",
    "fixed": "binary",
    "int96": "timestamp",
}


class Dialect(Enum):
    """Spelling of a Hive type: for the metastore's Thrift structures or for a SQL statement."""

    HMS = "hms"
    SQL = "sql"


def hive_type(field: StorageField, *, dialect: Dialect = Dialect.HMS, support_timestamp: bool = False) -> str:
    """Hive type text of a field, without its name.

    Args:
        field: a Parquet field.
        dialect: the spelling.
        support_timestamp: whether 64-bit timestamps become ``TIMESTAMP`` rather than ``bigint``.

    Raises:
        SchemaSyncError: a record without fields, or a list or map that cannot be understood.
    """
    return _Writer(dialect, support_timestamp).field(field)


def metastore_type(field: StorageField, *, support_timestamp: bool = False) -> str:
    """The type as hive-sync stores it in the metastore: the ``HMS`` spelling in lower case."""
    return hive_type(field, support_timestamp=support_timestamp).lower()


class _Writer:
    def __init__(self, dialect: Dialect, support_timestamp: bool) -> None:
        self._blank = " " if dialect is Dialect.SQL else ""
        self._dialect = dialect
        self._support_timestamp = support_timestamp

    def field(self, field: StorageField) -> str:
        if field.repetition == REPEATED:
            return self._array(self._repeated_element(field))
        return self._once(field)

    def _repeated_element(self, field: StorageField) -> str:
        # A repeated group of one field, outside a list, is taken for a list of that field.
        if field.physical is None and field.annotation is None and len(field.children) == 1:
            return self.field(field.children[0])
        return self._once(field)

    def _once(self, field: StorageField) -> str:
        if field.physical is not None:
            return self._primitive(field)
        if field.annotation == "LIST":
            return self._array(self._once(list_element(field)))
        if field.annotation in ("MAP", "MAP_KEY_VALUE"):
            key, value = map_entry(field)
            return f"MAP<{self._blank}{self.field(key)},{self._blank}{self.field(value)}>"
        return self._struct(field)

    def _array(self, element: str) -> str:
        return f"ARRAY<{self._blank}{element}>"

    def _struct(self, field: StorageField) -> str:
        if not field.children:
            raise SchemaSyncError(
                f"column {field.name} is a record without fields, which Hive cannot hold",
                remedy="drop the column or give the record a field",
            )
        texts = []
        for child in field.children:
            name = child.name.replace("$", "_dollar_")
            kind = self.field(child)
            texts.append(f"`{name}` : {kind}" if self._dialect is Dialect.SQL else f"{name}:{kind}")
        inner = f",{self._blank}".join(texts)
        return f"STRUCT<{self._blank}{inner}>".replace("-", "_")

    def _primitive(self, field: StorageField) -> str:
        annotation = field.annotation
        if annotation == "DECIMAL":
            comma = f"{self._blank},{self._blank}"
            return f"DECIMAL({field.precision}{comma}{field.scale})"
        if annotation == "DATE":
            return "DATE"
        if annotation in ("TIMESTAMP_MILLIS", "TIMESTAMP_MICROS") and self._support_timestamp:
            return "TIMESTAMP"
        if field.physical == "binary":
            return "string" if annotation in ("STRING", "ENUM") else "binary"
        return _PLAIN[str(field.physical)]


def type_warnings(fields: tuple[StorageField, ...]) -> tuple[str, ...]:
    """Warnings of fields whose Hive type does not show the written values, one line for each.

    Hive has no time of day, and neither Hive nor Spark has fixed-length bytes or unsigned integers: such columns are
    synced with the nearest type.
    """
    lines = []
    for top in fields:
        for path, field in top.walk():
            annotation = field.annotation or ""
            if annotation.startswith("TIME_"):
                unit = "milliseconds" if annotation.endswith("MILLIS") else "microseconds"
                lines.append(f"column {path} is a time of day and is synced as a number of {unit}")
            elif annotation.startswith("UINT_"):
                lines.append(f"column {path} is an unsigned integer and is synced as a signed one")
            elif field.physical == "fixed" and annotation != "DECIMAL":
                lines.append(f"column {path} is fixed-length bytes and is synced as binary")
    return tuple(lines)
