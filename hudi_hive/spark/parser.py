"""Spark's SQL parser, wrapped: statement boundaries, time travel, and refusal of statements that would write."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from hudi_hive.errors import SparkError
from hudi_hive.spark.failures import JavaValue, to_java
from hudi_hive.spark.jvm import JavaProxy, class_name, scala_items

if TYPE_CHECKING:
    from hudi_hive.spark.session import SessionHook

_AS_OF = re.compile(r"\bAS\s+OF\b", re.IGNORECASE)

_WRITES = {
    "InsertIntoStatement": ("INSERT", "writing is not supported from Spark SQL; write the table with Hudi"),
    "OverwriteByExpression": ("INSERT", "writing is not supported from Spark SQL; write the table with Hudi"),
    "DeleteFromTable": ("DELETE", "writing is not supported from Spark SQL; write the table with Hudi"),
    "UpdateTable": ("UPDATE", "writing is not supported from Spark SQL; write the table with Hudi"),
    "MergeIntoTable": ("MERGE", "writing is not supported from Spark SQL; write the table with Hudi"),
    "TruncateTable": ("TRUNCATE", "delete rows with Hudi"),
    "TruncatePartition": ("TRUNCATE", "delete partitions with Hudi"),
    "LoadData": ("LOAD DATA", "write the table with Hudi"),
    "RepairTable": ("MSCK REPAIR", "sync the table with hudi_hive.sync.HiveSyncTool"),
    "RecoverPartitions": ("RECOVER PARTITIONS", "sync the table with hudi_hive.sync.HiveSyncTool"),
    "AddPartitions": ("ADD PARTITION", "sync the table with hudi_hive.sync.HiveSyncTool"),
    "DropPartitions": ("DROP PARTITION", "delete partitions with Hudi, then sync with hudi_hive.sync.HiveSyncTool"),
    "RenamePartitions": ("RENAME PARTITION", "rewrite the partition with Hudi"),
    "AnalyzeTable": ("ANALYZE", "Spark cannot write to a synced table's metastore entry"),
    "AnalyzeColumn": ("ANALYZE", "Spark cannot write to a synced table's metastore entry"),
    "CreateIndex": ("CREATE INDEX", "create indexes with Hudi"),
}
"""Root node of a parsed statement -> what it is called, what to do instead."""

_ALTER = frozenset(
    {
        "AddColumns",
        "ReplaceColumns",
        "DropColumns",
        "RenameColumn",
        "AlterColumn",
        "AlterColumns",
        "SetTableProperties",
        "UnsetTableProperties",
        "SetTableLocation",
        "SetTableSerDeProperties",
        "RenameTable",
    }
)
_ALTER_REMEDY = "change the table with Hudi and sync it with hudi_hive.sync.HiveSyncTool"


class HudiParser(JavaProxy):
    """``ParserInterface`` that passes everything on to the session's parser.

    Args:
        hook: of the session.
        delegate: the parser so far.
    """

    label = "hudi_hive.HudiParser"

    def __init__(self, hook: SessionHook, delegate: JavaValue) -> None:
        self._hook = hook
        self._delegate = delegate

    @to_java
    def parsePlan(self, text: str) -> JavaValue:
        """A statement."""
        return self._statement(text, self._delegate.parsePlan(text))

    @to_java
    def parsePlanWithParameters(self, text: str, parameters: JavaValue) -> JavaValue:
        """A statement with parameters (Spark 4.1 and later)."""
        return self._statement(text, self._delegate.parsePlanWithParameters(text, parameters))

    @to_java
    def parseQuery(self, text: str) -> JavaValue:
        """The text of a view: part of the statement that uses it."""
        return self._time_travel(text, self._delegate.parseQuery(text))

    def __getattr__(self, name: str) -> Callable[..., JavaValue]:
        if not name.startswith(("parse", "split")):
            raise AttributeError(name)
        method = getattr(self._delegate, name)

        @to_java
        def call(*args: JavaValue) -> JavaValue:
            if name.endswith("Identifier"):
                # How spark.table, insertInto and others begin.
                self._hook.begin_statement()
            return method(*args)

        return call

    class Java:
        implements = ("org.apache.spark.sql.catalyst.parser.ParserInterface",)

    # -- statements ------------------------------------------------------------------------------------------------

    def _statement(self, text: str, plan: JavaValue) -> JavaValue:
        self._hook.begin_statement()
        kind = class_name(plan)
        if kind in _WRITES or kind in _ALTER:
            self._refuse(kind, plan)
        return self._time_travel(text, plan)

    def _refuse(self, kind: str, plan: JavaValue) -> None:
        """Refuse a statement that would change a synced table."""
        parts = _target(plan)
        if not parts:
            return
        entry = self._hook.find(parts[-2] if len(parts) > 1 else None, parts[-1])
        if entry is None:
            return
        what, remedy = _WRITES.get(kind, ("ALTER TABLE", _ALTER_REMEDY))
        raise SparkError(f"{what} on the Hudi table {entry.declared.name}", path=entry.location, remedy=remedy)

    def _time_travel(self, text: str, plan: JavaValue) -> JavaValue:
        if not _AS_OF.search(text):
            return plan
        from hudi_hive.spark.time_travel import rewrite_time_travel

        return rewrite_time_travel(self._hook, plan)


def _target(plan: JavaValue) -> list[str]:
    """Name of the table that a statement is about: the first argument of all these nodes."""
    node = plan.productElement(0)
    while class_name(node) == "SubqueryAlias":
        node = node.child()
    if not class_name(node).startswith("Unresolved"):
        return []
    for method in ("multipartIdentifier", "nameParts"):
        if _has(node, method):
            return [str(part) for part in scala_items(getattr(node, method)())]
    return []


def _has(node: JavaValue, method: str) -> bool:
    return any(item.getName() == method for item in node.getClass().getMethods())
