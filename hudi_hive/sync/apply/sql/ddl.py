"""Makes DDL statements that Hive and Spark both accept; every name and text is escaped.

Comes in: ``Table`` and ``Partition`` structs. Goes out: one statement per call, without a semicolon; nothing is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from hudi_hive.errors import SchemaSyncError
from hudi_hive.metastore import FieldSchema, Partition, StorageDescriptor, Table

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b"}
# Control characters, and a dollar sign in front of a brace: servers put variables in for ``${name}`` before they parse.
_ESCAPED = re.compile(r"[\\'\x00-\x1f\x7f]|\$(?=\{)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NESTED = re.compile(r"(array|map|struct|uniontype)<", re.IGNORECASE)


def string_literal(text: str | None) -> str:
    """Quote a text as a literal, with the escapes that Hive and Spark share; None is the empty text."""
    return "'" + _ESCAPED.sub(lambda match: _ESCAPES.get(match[0], f"\\u{ord(match[0]):04x}"), text or "") + "'"


def identifier(name: str) -> str:
    """A name in back-ticks.

    Raises:
        SchemaSyncError: a name that no quoting protects: with ``${``, which servers take for a variable, with control
            characters (Hive 3 takes out lines that look like comments, whatever they stand in), or empty.
    """
    if not name or "${" in name or _CONTROL.search(name):
        raise SchemaSyncError(
            f"the name {name!r} cannot be written in a statement", remedy="use hoodie.datasource.hive_sync.mode=hms"
        )
    return "`" + name.replace("`", "``") + "`"


def table_name(database: str, table: str) -> str:
    """``database.table``, both in back-ticks."""
    return f"{identifier(database)}.{identifier(table)}"


def column_type(text: str) -> str:
    """A type text of the metastore with field names in back-ticks.

    Raises:
        SchemaSyncError: a text that is no type.
    """
    rendered, rest = _type(text, text)
    if rest:
        raise _bad_type(text)
    return rendered


def _type(text: str, whole: str) -> tuple[str, str]:
    """One type at the start of ``text``, and what follows it."""
    nested = _NESTED.match(text)
    if nested is None:
        simple = re.match(r"[A-Za-z_0-9 ]+(?:\([0-9 ,]+\))?", text)
        if simple is None:
            raise _bad_type(whole)
        return simple[0], text[simple.end() :]
    kind, rest, parts = nested[1].lower(), text[nested.end() :], []
    while True:
        name = ""
        if kind == "struct":
            name, colon, rest = rest.partition(":")
            if not colon or not name:
                raise _bad_type(whole)
            name = f"{identifier(name)}:"
        part, rest = _type(rest, whole)
        parts.append(name + part)
        if rest.startswith(">"):
            return f"{kind}<{','.join(parts)}>", rest[1:]
        if not rest.startswith(","):
            raise _bad_type(whole)
        rest = rest[1:]


def _bad_type(text: str) -> SchemaSyncError:
    return SchemaSyncError(
        f"the type {text!r} cannot be written in a statement", remedy="use hoodie.datasource.hive_sync.mode=hms"
    )


def create_database(name: str, description: str) -> str:
    """``CREATE DATABASE IF NOT EXISTS``."""
    return f"CREATE DATABASE IF NOT EXISTS {identifier(name)} COMMENT {string_literal(description)}"


def use_database(name: str) -> str:
    """``USE``."""
    return f"USE {identifier(name)}"


def create_table(table: Table, parameters: Mapping[str, str]) -> str:
    """``CREATE TABLE`` with everything of a table that DDL can express.

    Args:
        table: the table as it is to be.
        parameters: those of its parameters that the server takes in ``TBLPROPERTIES``.
    """
    descriptor = table.sd
    external = "EXTERNAL " if table.tableType == "EXTERNAL_TABLE" else ""
    parts = [f"CREATE {external}TABLE {table_name(table.dbName, table.tableName)} ({_columns(descriptor.cols)})"]
    if table.partitionKeys:
        parts.append(f"PARTITIONED BY ({_columns(table.partitionKeys)})")
    parts += _buckets(descriptor)
    parts.append(f"ROW FORMAT SERDE {string_literal(descriptor.serdeInfo.serializationLib)}")
    if descriptor.serdeInfo.parameters:
        parts.append(f"WITH SERDEPROPERTIES ({_pairs(descriptor.serdeInfo.parameters)})")
    parts.append(
        f"STORED AS INPUTFORMAT {string_literal(descriptor.inputFormat)} "
        f"OUTPUTFORMAT {string_literal(descriptor.outputFormat)}"
    )
    parts.append(f"LOCATION {string_literal(descriptor.location)}")
    if parameters:
        parts.append(f"TBLPROPERTIES ({_pairs(parameters)})")
    return " ".join(parts)


def replace_columns(table: Table, *, cascade: bool) -> str:
    """``ALTER TABLE … REPLACE COLUMNS``, for all partitions too with ``cascade``."""
    suffix = " CASCADE" if cascade else ""
    return f"{_alter(table.dbName, table.tableName)} REPLACE COLUMNS ({_columns(table.sd.cols)}){suffix}"


def add_partitions(database: str, table: str, keys: Sequence[str], partitions: Sequence[Partition]) -> str:
    """``ALTER TABLE … ADD IF NOT EXISTS PARTITION … LOCATION …``."""
    items = " ".join(
        f"{partition_spec(keys, item.values)} LOCATION {string_literal(item.sd.location)}" for item in partitions
    )
    return f"{_alter(database, table)} ADD IF NOT EXISTS {items}"


def set_location(table: str, keys: Sequence[str], partition: Partition) -> str:
    """``ALTER TABLE … PARTITION … SET LOCATION``, in the session's database: Hive 2.3 looks nowhere else."""
    spec = partition_spec(keys, partition.values)
    return f"ALTER TABLE {identifier(table)} {spec} SET LOCATION {string_literal(partition.sd.location)}"


def touch_partitions(table: str, keys: Sequence[str], partitions: Sequence[Partition]) -> str:
    """``ALTER TABLE … TOUCH PARTITION …``, in the session's database (Hive alone knows it)."""
    items = " ".join(partition_spec(keys, item.values) for item in partitions)
    return f"ALTER TABLE {identifier(table)} TOUCH {items}"


def partition_spec(keys: Sequence[str], values: Sequence[str]) -> str:
    """``PARTITION (key='value', …)``.

    Raises:
        ValueError: the counts differ.
    """
    items = (f"{identifier(key)}={string_literal(value)}" for key, value in zip(keys, values, strict=True))
    return f"PARTITION ({','.join(items)})"


def _alter(database: str, table: str) -> str:
    return f"ALTER TABLE {table_name(database, table)}"


def _columns(fields: Sequence[FieldSchema]) -> str:
    return ", ".join(_column(field) for field in fields)


def _column(field: FieldSchema) -> str:
    comment = "" if field.comment is None else f" COMMENT {string_literal(field.comment)}"
    return f"{identifier(field.name)} {column_type(field.type)}{comment}"


def _buckets(descriptor: StorageDescriptor) -> Iterator[str]:
    if not descriptor.bucketCols or not (descriptor.numBuckets or 0) > 0:
        return
    sort = ""
    if descriptor.sortCols:
        orders = (f"{identifier(item.col)} {'ASC' if item.order else 'DESC'}" for item in descriptor.sortCols)
        sort = f" SORTED BY ({', '.join(orders)})"
    names = ", ".join(identifier(name) for name in descriptor.bucketCols)
    yield f"CLUSTERED BY ({names}){sort} INTO {descriptor.numBuckets} BUCKETS"


def _pairs(parameters: Mapping[str, str]) -> str:
    return ", ".join(f"{string_literal(name)}={string_literal(value)}" for name, value in parameters.items())
