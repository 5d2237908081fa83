"""Converts read options of Spark to queries, for reads by path and by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameReader

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options import read as read_options
from hudi_hive.plan import Query
from hudi_hive.spark.bridge import JavaValue, Jvm, class_name, option, scala_items
from hudi_hive.spark.catalog.table_lookup import HudiTableEntry, find_table
from hudi_hive.spark.scan import HudiFileIndex, refuse_globs

SOURCE = "hudi"

_OF_CATALOG = "serialization.format"
"""What Spark takes from a catalog's table into the options of a read."""


def path_question(
    jvm: Jvm, session: JavaValue, parameters: Mapping[str, str], *, as_of: str | None = None
) -> tuple[str, Query]:
    """Base path and query of the options of a read by path.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        parameters: ``path``, and Hudi's read options under their own names.
        as_of: time travel that was asked for in another way.

    Raises:
        InvalidOptionError: no path, or an option that is unknown or does not fit.
    """
    options = {name: value for name, value in parameters.items() if name != _OF_CATALOG}
    path = options.pop("path", None)
    if not path:
        raise InvalidOptionError(
            "one path of a Hudi table is needed",
            remedy="give it: spark.read.format(\"hudi\").load(path), or USING hudi OPTIONS (path '…')",
        )
    refuse_globs(path)
    folder = jvm.view.org.apache.hadoop.fs.Path(path)
    if folder.toUri().getScheme() is None:
        folder = folder.getFileSystem(session.sparkContext().hadoopConfiguration()).makeQualified(folder)
    return str(folder.toString()), Query.of(as_of=as_of, options=options)


def path_of_view(jvm: Jvm, session: JavaValue, parts: Sequence[str]) -> str | None:
    """Base path of the table that a temporary view made with ``USING hudi`` shows; None for all other names."""
    database = jvm.some(parts[-2]) if len(parts) > 1 else jvm.none()
    identifier = jvm.package("catalyst").TableIdentifier(parts[-1], database)
    view = option(session.sessionState().catalog().getLocalOrGlobalTempView(identifier))
    for leaf in [] if view is None else scala_items(view.collectLeaves()):
        if class_name(leaf) == "LogicalRelation" and class_name(leaf.relation()) == "HadoopFsRelation":
            index = leaf.relation().location()
            if str(index.toString()).startswith(f"{HudiFileIndex.__name__}("):
                return str(index.rootPaths().head().toString())
    return None


def entry_query(entry: HudiTableEntry, options: Mapping[str, str], *, as_of: str | None = None) -> Query:
    """The query of a synced table's name with options; without a type among them it is that of the name.

    Raises:
        InvalidOptionError: an option is unknown or does not fit.
    """
    told = any(option.present_in(options) for option in (read_options.QUERY_TYPE, read_options.BEGIN))
    return Query.of(None if told else entry.query_type(), as_of=as_of, options=options)


def hook_table_reads(
    read: Callable[[SparkSession, HudiTableEntry, Query], DataFrame], enabled: Callable[[SparkSession], Jvm | None]
) -> None:
    """Make ``spark.read.option(…).table(name)`` apply its options to synced tables. Idempotent.

    Args:
        read: makes the DataFrame.
        enabled: the JVM of an enabled session; None for others, which are left alone.
    """
    original = DataFrameReader.table
    if getattr(original, "_hudi_hive", False):
        return

    @functools.wraps(original)
    def table(self: DataFrameReader, tableName: str) -> DataFrame:
        jvm = enabled(self._spark)
        options = {} if jvm is None else _options(jvm, self._jreader)
        entry = _entry(jvm, self._spark._jsparkSession, tableName) if jvm is not None and options else None
        if entry is None:
            return original(self, tableName)
        return read(self._spark, entry, entry_query(entry, options))

    table._hudi_hive = True  # type: ignore[attr-defined]
    setattr(DataFrameReader, "table", table)  # noqa: B010


def _options(jvm: Jvm, reader: JavaValue) -> dict[str, str]:
    pairs = scala_items(jvm.field(reader, "extraOptions").get())
    return {str(pair._1()): str(pair._2()) for pair in pairs}


def _entry(jvm: Jvm, session: JavaValue, name: str) -> HudiTableEntry | None:
    parts = [str(part) for part in scala_items(session.sessionState().sqlParser().parseMultipartIdentifier(name))]
    if len(parts) == 3 and parts[0].lower() == "spark_catalog":
        parts = parts[1:]
    if len(parts) > 2 or (len(parts) == 1 and session.sessionState().catalog().isTempView(jvm.seq(parts))):
        return None
    return find_table(jvm, session, parts[0] if len(parts) == 2 else None, parts[-1])
