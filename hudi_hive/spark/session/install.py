"""Installs the hooks of a running Spark session: names of synced tables resolve to plans over our file index.

Private fields of a session are replaced by objects behind the same interfaces, which ask Python:

* the session catalog's cache of table relations, which Spark asks for a plan before it looks for the table's provider
  class (there is none for ``hudi`` in plain Spark);
* the parser, which tells where a statement begins, rewrites time travel and refuses statements that would write; its
  catalog has it once more, for the texts of views.

Sessions made from this one later (``newSession``, streaming, the Thrift server) get theirs through the extensions
object that all of them share.
"""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession

from hudi_hive.errors import SparkError
from hudi_hive.spark.bridge import Function2, JavaValue, PrivateField
from hudi_hive.spark.catalog import MISSING_TABLE_RULE, SessionHook
from hudi_hive.spark.scan import MERGE_RULE, Environment
from hudi_hive.spark.session.functions import identity
from hudi_hive.spark.session.stream_tables import make_stream_tables
from hudi_hive.spark.source import COMMIT_RULE
from hudi_hive.spark.statements import COMMAND_RULES, HudiParser, guard_writers
from hudi_hive.spark.versions import SPARK

_PLANNING: Final = (MERGE_RULE, COMMIT_RULE)
"""Labels of our optimiser rules."""

_enabled: WeakKeyDictionary[SparkContext, Environment] = WeakKeyDictionary()


def install(hook: SessionHook) -> None:
    """Install the hook in a running session. Idempotent.

    Args:
        hook: of the session.

    Raises:
        SparkError: callbacks run in other threads of Java's than those that called.
    """
    if not hook.environment.jvm.pins_threads:
        raise SparkError(
            "without pinned threads it cannot be told which statement a table is asked for",
            remedy="leave PYSPARK_PIN_THREAD as it is by default, true",
        )
    for parser in _parsers(hook):
        current = parser.get()
        if str(current.toString()) != HudiParser.label:
            parser.set(HudiParser(hook, current))
    hook.install_cache()
    context = SparkContext._active_spark_context
    assert context is not None
    _enabled[context] = hook.environment
    guard_writers(hook_of)
    make_stream_tables(hook_of)


def uninstall(hook: SessionHook) -> None:
    """Take the hook out of a running session. Idempotent.

    Args:
        hook: of the session.
    """
    jvm, session = hook.environment.jvm, hook.session
    for field in _parsers(hook):
        parser = field.get()
        if str(parser.toString()) == HudiParser.label:
            field.set(HudiParser.delegate_of(parser))
    hook.remove_cache()
    SPARK.remove_analyzer_rules(jvm, session, (*COMMAND_RULES, MISSING_TABLE_RULE))
    jvm.remove_optimizations(session, _PLANNING)


def _parsers(hook: SessionHook) -> list[PrivateField]:
    """Where a session keeps its parser: for statements, and in its catalog for the texts of views."""
    state = hook.session.sessionState()
    return [hook.environment.jvm.field(state, "sqlParser"), hook.environment.jvm.field(state.catalog(), "parser")]


def hook_of(spark: SparkSession) -> SessionHook | None:
    """The hook of a session that is enabled or derived from an enabled one; None for others."""
    environment = _enabled.get(spark.sparkContext)
    if environment is None:
        return None
    session = spark._jsparkSession
    parser = environment.jvm.field(session.sessionState(), "sqlParser").get()
    return SessionHook(environment, session) if str(parser.toString()) == HudiParser.label else None


def hook_later_sessions(environment: Environment, extensions: JavaValue) -> None:
    """Install the parser in all sessions that are made with an object of extensions later."""

    def build(made: JavaValue, parser: JavaValue) -> JavaValue:
        if identity(environment, made.extensions()) not in environment.hooking:
            return parser
        # The session's state is being built: its catalog is hooked when the first statement begins.
        return HudiParser(SessionHook(environment, made), parser)

    extensions.injectParser(Function2(build))
