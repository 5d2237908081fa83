"""Methods of PySpark that would change synced tables and reach the JVM without what they mean.

Most commands of DataFrames are met in the session's analyser. ``saveAsTable`` with mode ``overwrite`` drops a table
before it gets there, ``insertInto`` leaves the writer's options behind, and methods of the catalog act at once: these
are replaced here, or refused with the table's path and a remedy.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.catalog import Catalog
from pyspark.sql.readwriter import DataFrameWriter

from hudi_hive.spark.bridge import JavaValue, option, scala_items
from hudi_hive.spark.catalog import FORMATS, SessionHook
from hudi_hive.spark.statements.frame_commands import create_as, insert_statement, replaced
from hudi_hive.spark.statements.rewrite import rewrite_statements
from hudi_hive.spark.statements.statements import check_name, synced_table
from hudi_hive.spark.statements.writes import left_table
from hudi_hive.spark.versions import SPARK

Enabled = Callable[[SparkSession], SessionHook | None]
"""Gives the hook of a session's enabled context."""

_GUARDED: Final[tuple[tuple[type, str, str, str, str], ...]] = (
    (Catalog, "listPartitions", "_sparkSession", "listPartitions", "use SHOW PARTITIONS"),
)
"""Class, method whose first argument is a table's name, attribute with the session, what it is called, remedy."""


def guard_writers(is_enabled: Enabled) -> None:
    """Guard these methods. Idempotent; sessions that are not enabled are not affected.

    Args:
        is_enabled: gives the hook of a session's enabled context, or None.
    """
    for owner, method, attribute, what, remedy in _GUARDED:
        original = getattr(owner, method, None)
        if original is None or getattr(original, "_hudi_hive", False):
            continue  # a method of later versions, or guarded
        setattr(owner, method, _guarded(original, attribute, what, remedy, is_enabled))
    for owner, method, make in (
        (DataFrameWriter, "saveAsTable", _save_as_table),
        (DataFrameWriter, "insertInto", _insert_into),
        (Catalog, "truncateTable", _statement("TRUNCATE TABLE {}")),
        (Catalog, "recoverPartitions", _statement("ALTER TABLE {} RECOVER PARTITIONS")),
    ):
        original = getattr(owner, method, None)
        if original is not None and not getattr(original, "_hudi_hive", False):
            setattr(owner, method, make(original, is_enabled))


def _guarded(
    original: Callable[..., Any], attribute: str, what: str, remedy: str, is_enabled: Enabled
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


def _save_as_table(original: Callable[..., Any], is_enabled: Enabled) -> Callable[..., Any]:
    """``saveAsTable``, which replaces a Hudi table as a whole where Spark would drop it first."""

    @functools.wraps(original)
    def call(self: DataFrameWriter, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        arguments = inspect.signature(original).bind(self, *args, **kwargs).arguments
        hook, name = is_enabled(self._spark), arguments["name"]
        if hook is None or not isinstance(name, str):
            original(self, *args, **kwargs)
            return
        self.mode(arguments.get("mode")).options(**arguments.get("options", {}))
        if arguments.get("partitionBy") is not None:
            self.partitionBy(arguments["partitionBy"])
        if arguments.get("format") is not None:
            self.format(arguments["format"])
        if not _replaces(self, hook, name):
            original(self, name)

    call._hudi_hive = True  # type: ignore[attr-defined]
    return call


def _replaces(writer: DataFrameWriter, hook: SessionHook, name: str) -> bool:
    """Replace a Hudi table by another, where that is what is asked for; whether it was."""
    parts = _parts(hook, name)
    is_hudi = str(_field(hook, writer, "source")).lower() in FORMATS
    if _mode(hook, writer) != "Overwrite" or (synced_table(hook, parts) is None and not is_hudi):
        return False
    if not is_hudi:
        check_name(hook, name, "saveAsTable", 'name the format: write.format("hudi")')
    columns = option(_field(hook, writer, "partitioningColumns"))
    texts = _options(hook, writer)
    location = texts.pop("path", None)
    names = [] if columns is None else [str(column) for column in scala_items(columns)]
    new = create_as(hook, parts, _rows(writer), texts, names, location)
    if synced_table(hook, parts) is None and left_table(hook, new) is None:
        return False
    if option(_field(hook, writer, "bucketColumnNames")) is not None:
        check_name(hook, name, "bucketBy", "leave it out; hoodie.index.type=BUCKET makes buckets")
    hook.begin_statement()
    _run(hook, replaced(hook, new, creates=True))
    return True


def _insert_into(original: Callable[..., Any], is_enabled: Enabled) -> Callable[..., Any]:
    """``insertInto``, which does not lose the writer's options."""

    @functools.wraps(original)
    def call(self: DataFrameWriter, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        arguments = inspect.signature(original).bind(self, *args, **kwargs).arguments
        hook, name = is_enabled(self._spark), arguments["tableName"]
        texts = {} if hook is None or not isinstance(name, str) else _options(hook, self)
        plain = hook is None or not texts or option(_field(hook, self, "partitioningColumns")) is not None
        if plain or hook is None or synced_table(hook, _parts(hook, name)) is None:
            original(self, *args, **kwargs)
            return
        if arguments.get("overwrite") is not None:
            self.mode("overwrite" if arguments["overwrite"] else "append")
        overwrites = _mode(hook, self) == "Overwrite"
        hook.begin_statement()
        parts = _parts(hook, name)
        plan = insert_statement(hook, parts, _rows(self), texts, overwrites=overwrites, by_name=False)
        _run(hook, rewrite_statements(hook, plan))

    call._hudi_hive = True  # type: ignore[attr-defined]
    return call


def _statement(text: str) -> Callable[[Callable[..., Any], Enabled], Callable[..., Any]]:
    """Makes a method of the catalog, whose only argument is a table's name, of a statement."""

    def make(original: Callable[..., Any], is_enabled: Enabled) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(self: Catalog, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            name = args[0] if args else next(iter(kwargs.values()), None)
            hook = is_enabled(self._sparkSession)
            if hook is None or not isinstance(name, str) or synced_table(hook, _parts(hook, name)) is None:
                return original(self, *args, **kwargs)
            self._sparkSession.sql(text.format(name))
            return None

        call._hudi_hive = True  # type: ignore[attr-defined]
        return call

    return make


def _parts(hook: SessionHook, name: str) -> list[str]:
    parser = hook.environment.jvm.module("org.apache.spark.sql.catalyst.parser.CatalystSqlParser")
    return [str(part) for part in scala_items(parser.parseMultipartIdentifier(name))]


def _field(hook: SessionHook, writer: DataFrameWriter, name: str) -> JavaValue:
    """What was said to a writer, by the name of the field that keeps it."""
    return SPARK.writer_field(hook.environment.jvm, writer._jwrite, name)


def _mode(hook: SessionHook, writer: DataFrameWriter) -> str:
    return str(_field(hook, writer, "mode").name())


def _options(hook: SessionHook, writer: DataFrameWriter) -> dict[str, str]:
    pairs = scala_items(_field(hook, writer, "extraOptions").originalMap())
    return {str(item._1()): str(item._2()) for item in pairs}


def _rows(writer: DataFrameWriter) -> JavaValue:
    frame: Any = getattr(writer, "_df")  # noqa: B009 - PySpark has no other name for it
    return frame._jdf.logicalPlan()


def _run(hook: SessionHook, plan: JavaValue) -> None:
    """Carry out a command."""
    hook.environment.jvm.classic.Dataset.ofRows(hook.session, plan)
