"""Spark's SQL parser, wrapped: statement boundaries, time travel, and refusal of statements that would write."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final
from weakref import WeakValueDictionary

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from hudi_hive.spark.bridge import JavaProxy, JavaValue, class_name, to_java
from hudi_hive.spark.catalog import SessionHook, explain_missing_tables
from hudi_hive.spark.statements.frame_commands import install_command_rule
from hudi_hive.spark.statements.procedures import parsable_call, parsed_call
from hudi_hive.spark.statements.rewrite import index_plan, rewrite_statements
from hudi_hive.spark.statements.scripts import is_script, refuse_script
from hudi_hive.spark.statements.statements import check_statement, check_syntax
from hudi_hive.spark.statements.writes import with_arguments
from hudi_hive.spark.versions import SPARK

_AS_OF = re.compile(r"\bAS\s+OF\b|\bWITH\s*\(|\bhudi`?\s*\.\s*`", re.IGNORECASE)

_QUERIES = frozenset({"Aggregate", "Distinct", "Filter", "GlobalLimit", "Project", "Sort", "UnresolvedHaving"})
"""Plans of statements that are queries and nothing else; those with CTEs and unions may hold inserts."""


class HudiParser(JavaProxy):
    """``ParserInterface`` that passes everything on to the session's parser.

    Args:
        hook: of the session.
        delegate: the parser so far.
    """

    label = "hudi_hive.HudiParser"
    _made: Final[WeakValueDictionary[int, HudiParser]] = WeakValueDictionary()

    def __init__(self, hook: SessionHook, delegate: JavaValue) -> None:
        self._hook = hook
        self._delegate = delegate
        self._made[self.hashCode()] = self
        self._sees_commands = self._explains = False

    @classmethod
    def delegate_of(cls, parser: JavaValue) -> JavaValue:
        """The parser around which one of ours is, by what Java has of it."""
        return cls._made[int(parser.hashCode())]._delegate

    @to_java
    def parsePlan(self, text: str) -> JavaValue:
        """A statement."""
        return self._parsed(text, self._delegate.parsePlan)

    @to_java
    def parsePlanWithParameters(self, text: str, parameters: JavaValue) -> JavaValue:
        """A statement with parameters (Spark 4.1 and later)."""
        return self._parsed(text, lambda each: self._delegate.parsePlanWithParameters(each, parameters))

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
                self._begin()
                self._show_commands()
            return method(*args)

        return call

    class Java:
        implements = ("org.apache.spark.sql.catalyst.parser.ParserInterface",)

    # -- statements ------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """A statement begins: by then the session has its analyser."""
        self._hook.begin_statement()
        if not self._explains:
            explain_missing_tables(self._hook)
            self._explains = True

    def _show_commands(self) -> None:
        """Have the session's analyser show the commands that do not come here; it exists when statements begin."""
        if not self._sees_commands:
            install_command_rule(self._hook)
            self._sees_commands = True

    def _parsed(self, text: str, parse: Callable[[str], JavaValue]) -> JavaValue:
        self._begin()
        try:
            plan = parse(text)
        except (PySparkException, Py4JJavaError) as error:
            if isinstance(error, Py4JJavaError):
                refuse_script(error)
            plan = index_plan(self._hook, text)
            if plan is not None:
                return plan
            call = parsable_call(text)
            if not SPARK.has_procedures:
                plan = parsed_call(self._hook, text if call is None else call)
                if plan is not None:
                    return plan
            if call is None:
                check_syntax(self._hook, text)
                raise
            plan = parse(call)
        if class_name(plan) not in _QUERIES:
            self._show_commands()
            if is_script(self._hook.environment.jvm, plan):
                return rewrite_statements(self._hook, plan)  # to statements that come to the analyser when they run
            plan = rewrite_statements(self._hook, plan)
            check_statement(self._hook, plan)
        return self._time_travel(text, plan)

    def _time_travel(self, text: str, plan: JavaValue) -> JavaValue:
        if not _AS_OF.search(text):
            return plan
        from hudi_hive.spark.statements.time_travel import rewrite_time_travel

        if class_name(plan) == "ExplainCommand":  # whose statement is no child of it
            explained = rewrite_time_travel(self._hook, plan.logicalPlan())
            return with_arguments(self._hook.environment.jvm, plan, {"logicalPlan": explained})
        return rewrite_time_travel(self._hook, plan)
