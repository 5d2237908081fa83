"""``writeStream.toTable`` of a Hudi table that is not there: ``CREATE TABLE`` makes it, of the query's options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from hudi_hive.options import Option
from hudi_hive.options import table as table_options
from hudi_hive.spark.bridge import Jvm, option, quoted, scala_items
from hudi_hive.spark.catalog import FORMATS, SessionHook

_PROPERTIES: Final[tuple[tuple[str, Option[Any]], ...]] = (
    ("primaryKey", table_options.RECORD_KEY_FIELDS),
    ("preCombineField", table_options.ORDERING_FIELDS),
)
_OTHERS: Final[tuple[Option[Any], ...]] = (
    table_options.VERSION,
    table_options.HIVE_STYLE_PARTITIONING,
    table_options.URL_ENCODE_PARTITIONING,
)


def make_stream_tables(hook_of: Callable[[SparkSession], SessionHook | None]) -> None:
    """Have ``toTable`` make Hudi tables. Idempotent; sessions that are not enabled are not affected.

    Args:
        hook_of: gives the hook of an enabled session, or None.
    """
    original = DataStreamWriter.toTable
    if getattr(original, "_hudi_hive", False):
        return

    @functools.wraps(original)
    def call(self: DataStreamWriter, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        arguments = inspect.signature(original).bind(self, *args, **kwargs).arguments
        hook, name = hook_of(self._spark), arguments["tableName"]
        if hook is not None and isinstance(name, str):
            _make(hook.environment.jvm, self, name, arguments)
        return original(self, *args, **kwargs)

    call._hudi_hive = True  # type: ignore[attr-defined]
    setattr(DataStreamWriter, "toTable", call)  # noqa: B010


def _make(jvm: Jvm, writer: DataStreamWriter, name: str, arguments: Mapping[str, Any]) -> None:
    """Make the table, if the query writes Hudi tables and there is none."""
    java = writer._jwrite
    source = arguments.get("format") or jvm.field(java, "source").get()
    if str(source).lower() not in FORMATS or writer._spark.catalog.tableExists(name):
        return
    set_before = jvm.field(java, "extraOptions").get()
    options = {str(one._1()).lower(): str(one._2()) for one in scala_items(set_before)}
    options |= {key.lower(): str(text) for key, text in arguments.get("options", {}).items()}
    columns = arguments.get("partitionBy")
    if columns is None:
        before = option(jvm.field(java, "partitioningColumns").get())
        columns = [] if before is None else [str(one) for one in scala_items(before)]
    columns = [columns] if isinstance(columns, str) else list(columns)
    if not columns:
        columns = [field.partition(":")[0] for field in table_options.PARTITION_FIELDS.of(options)]
    writer._spark.sql(_statement(name, writer._df.schema, columns, options))


def _statement(name: str, schema: StructType, partitions: Sequence[str], options: Mapping[str, str]) -> str:
    columns = ", ".join(f"{quoted(field.name)} {field.dataType.simpleString()}" for field in schema.fields)
    properties = {key: ",".join(one.of(options)) for key, one in _PROPERTIES if one.present_in(options)}
    properties["type"] = "mor" if table_options.TYPE.of(options) == "MERGE_ON_READ" else "cow"
    properties |= {one.name: options[name] for one in _OTHERS for name in one.present_in(options)}
    parts = [f"CREATE TABLE {name} ({columns}) USING hudi"]
    if partitions:
        parts.append(f"PARTITIONED BY ({', '.join(quoted(one) for one in partitions)})")
    if options.get("path"):
        parts.append(f"LOCATION {_literal(options['path'])}")
    parts.append(
        f"TBLPROPERTIES ({', '.join(f'{_literal(key)} = {_literal(text)}' for key, text in properties.items())})"
    )
    return " ".join(parts)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


__all__ = ["make_stream_tables"]
