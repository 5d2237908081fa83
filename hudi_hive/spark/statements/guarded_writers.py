"""Refuses methods of PySpark that would change synced tables without a statement.

Spark has no hook for them that sees the name and the intention. Some fail later with an error that names neither table
nor remedy, and ``saveAsTable`` with mode ``overwrite`` would replace the table's entry in the metastore by another's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.catalog import Catalog
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2

from hudi_hive.errors import SparkError
from hudi_hive.spark.catalog import FORMATS
from hudi_hive.spark.statements.statements import SYNC_REMEDY, WRITE_REMEDY, check_name

Check = Callable[[SparkSession, str, str, str], None]
"""Refuses a call: session, name of the table, what would be done, remedy."""

_NEW_TABLE_REMEDY = (
    "hudi_hive.spark.write(df, path, options) makes a table at a path and syncs it where options ask for it"
)

_GUARDED: tuple[tuple[type, str, str, str, str], ...] = (
    (DataFrameWriter, "insertInto", "_spark", "insertInto", WRITE_REMEDY),
    (DataFrame, "writeTo", "sparkSession", "writeTo", WRITE_REMEDY),
    (DataFrame, "mergeInto", "sparkSession", "mergeInto", WRITE_REMEDY),
    (Catalog, "recoverPartitions", "_sparkSession", "recoverPartitions", SYNC_REMEDY),
    (Catalog, "truncateTable", "_sparkSession", "truncateTable", WRITE_REMEDY),
    (Catalog, "analyzeTable", "_sparkSession", "analyzeTable", "`hudi-hive stats` shows a table's statistics"),
    (Catalog, "listPartitions", "_sparkSession", "listPartitions", "use SHOW PARTITIONS"),
)
"""Class, method whose first argument is a table's name, attribute with the session, what it is called, remedy."""


def guard_writers(is_enabled: Callable[[SparkSession], Any]) -> None:
    """Guard these methods. Idempotent; sessions that are not enabled are not affected.

    Args:
        is_enabled: gives the hook of a session's enabled context, or None.
    """
    for owner, method, attribute, what, remedy in _GUARDED:
        original = getattr(owner, method, None)
        if original is None or getattr(original, "_hudi_hive", False):
            continue  # a method of later versions, or guarded
        setattr(owner, method, _guarded(original, attribute, what, remedy, is_enabled))
    if not getattr(DataFrameWriter.saveAsTable, "_hudi_hive", False):
        setattr(DataFrameWriter, "saveAsTable", _guarded_save(DataFrameWriter.saveAsTable, is_enabled))  # noqa: B010
    if not getattr(DataFrameWriterV2.using, "_hudi_hive", False):
        setattr(DataFrameWriterV2, "using", _guarded_using(DataFrameWriterV2.using, is_enabled))  # noqa: B010
    if not getattr(Catalog.createTable, "_hudi_hive", False):
        setattr(Catalog, "createTable", _guarded_create(Catalog.createTable, is_enabled))  # noqa: B010


def _guarded(
    original: Callable[..., Any], attribute: str, what: str, remedy: str, is_enabled: Callable[[SparkSession], Any]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        hook = is_enabled(getattr(self, attribute))
        name = args[0] if args else next(iter(kwargs.values()), None)
        if hook is not None and isinstance(name, str):
            check_name(hook, name, what, remedy)
        return original(self, *args, **kwargs)

    call._hudi_hive = True  # type: ignore[attr-defined]
    return call


def _guarded_save(original: Callable[..., Any], is_enabled: Callable[[SparkSession], Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: DataFrameWriter, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        arguments = inspect.signature(original).bind(self, *args, **kwargs).arguments
        hook, name = is_enabled(self._spark), arguments["name"]
        if hook is not None and isinstance(name, str):
            check_name(hook, name, "saveAsTable", WRITE_REMEDY)
            # The table would come to be below Spark's warehouse, in Spark's own form, before a row is written.
            if str(arguments.get("format") or self._jwrite.source()).lower() in FORMATS:
                raise SparkError(f"saveAsTable makes no Hudi table {name}", remedy=_NEW_TABLE_REMEDY)
        return original(self, *args, **kwargs)

    call._hudi_hive = True  # type: ignore[attr-defined]
    return call


def _guarded_using(original: Callable[..., Any], is_enabled: Callable[[SparkSession], Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: DataFrameWriterV2, provider: str) -> DataFrameWriterV2:
        if provider.lower() in FORMATS and is_enabled(self._spark) is not None:
            raise SparkError("writeTo makes no Hudi table", remedy=_NEW_TABLE_REMEDY)
        made: DataFrameWriterV2 = original(self, provider)
        return made

    call._hudi_hive = True  # type: ignore[attr-defined]
    return call


def _guarded_create(original: Callable[..., Any], is_enabled: Callable[[SparkSession], Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Catalog, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        arguments = inspect.signature(original).bind(self, *args, **kwargs).arguments
        is_hudi = str(arguments.get("source")).lower() in FORMATS
        if is_hudi and is_enabled(self._sparkSession) is not None:
            name = arguments["tableName"]
            raise SparkError(f"createTable of the Hudi table {name}", path=arguments.get("path"), remedy=SYNC_REMEDY)
        return original(self, *args, **kwargs)

    call._hudi_hive = True  # type: ignore[attr-defined]
    return call
