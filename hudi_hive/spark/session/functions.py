"""Table-valued functions with the names, arguments and columns of those of Hudi 1.0 and 1.1.

========================  ==============================================================================================
``hudi_table_changes``    table, ``'latest_state'`` or ``'cdc'`` (may be left out), begin[, end]
``hudi_query``            table, ``'snapshot'`` or ``'read_optimized'``
``hudi_query_timeline``   table[, archived]; also called ``hudi_timeline``
``hudi_filesystem_view``  table[, pattern of partition paths]
``hudi_metadata``         table
========================  ==============================================================================================

A table is ``'db.table'`` or a path, which has a slash.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from hudi_hive.errors import InvalidOptionError, SparkError
from hudi_hive.options import parse_boolean, read
from hudi_hive.plan import Query
from hudi_hive.spark.bridge import Function1, JavaValue, RowBuilder, scala_items, session_settings
from hudi_hive.spark.catalog import require_table
from hudi_hive.spark.scan import Declared, Environment, location_of, metadata_plan, relation_plan
from hudi_hive.table import MetaClient
from hudi_hive.table.core import instant_rows, slice_rows

TABLE_CHANGES = "hudi_table_changes"

_POINT = "yyyy-MM-dd HH:mm:ss.SSSXXX"

_TYPES: dict[pa.DataType, DataType] = {pa.string(): StringType(), pa.int64(): LongType()}


@dataclass(frozen=True, slots=True)
class _Call:
    """One call: the table, the arguments behind it, and where it is made."""

    environment: Environment
    session: JavaValue
    function: str
    table: str
    arguments: list[str]

    def place(self) -> tuple[str, Declared | None]:
        """Where the table is, and what the catalog says of it if it is named."""
        if "/" in self.table:
            return location_of(self.table), None
        entry = require_table(self.environment.jvm, self.session, self.table)
        return entry.location, entry.declared

    def client(self) -> tuple[str, MetaClient]:
        """Where the table is, and the table."""
        location, _ = self.place()
        return location, MetaClient.load(location, self.environment.store_options(self.session, location))

    def plan(self, query: Query) -> JavaValue:
        """The plan of a query."""
        location, declared = self.place()
        return relation_plan(self.environment, self.session, location, query, declared)

    def rows(self, table: pa.Table) -> JavaValue:
        """The plan of rows that are known."""
        fields = [StructField(field.name, _TYPES[field.type]) for field in table.schema]
        return RowBuilder(self.environment.jvm, self.session, StructType()).plan(table, StructType(fields))


@dataclass(frozen=True, slots=True)
class _Function:
    """What to do with a call.

    Attributes:
        usage: the arguments, for errors.
        least, most: how many arguments there are, with the table.
        plan: gives the logical plan.
    """

    usage: str
    least: int
    most: int
    plan: Callable[[_Call], JavaValue]


def _changes(call: _Call) -> JavaValue:
    """Rows written after begin (exclusive) up to end (inclusive, default: now), or what happened to them (``cdc``)."""
    arguments = list(call.arguments)
    mode = arguments.pop(0).lower() if arguments[0].lower() in ("latest_state", "cdc") else "latest_state"
    if not 1 <= len(arguments) <= 2:
        raise _misused(TABLE_CHANGES)
    end = arguments[1] if len(arguments) == 2 else None
    kind = "cdc" if mode == "cdc" else "incremental"
    # A function has no options of its own: the session's setting says whose columns the range shows.
    name = read.END_INSTANT_SCHEMA.name
    chosen = session_settings(call.session).get(name)
    options = {} if chosen is None else {name: chosen}
    return call.plan(Query.of(kind, begin=arguments[0], end=end, options=options))


def _query(call: _Call) -> JavaValue:
    """The newest rows, with or without log files."""
    kind = call.arguments[0].lower()
    if kind not in ("snapshot", "read_optimized"):
        raise InvalidOptionError(
            f"hudi_query has no query type {call.arguments[0]!r}", remedy=_FUNCTIONS[call.function].usage
        )
    return call.plan(Query.of(kind))


def _timeline(call: _Call) -> JavaValue:
    """The instants."""
    archived = parse_boolean(call.arguments[0]) if call.arguments else False
    if archived is None:
        raise _misused(call.function)
    return call.rows(instant_rows(call.client()[1], archived=archived))


def _filesystem_view(call: _Call) -> JavaValue:
    """The file slices."""
    location, client = call.client()
    return call.rows(slice_rows(client, location, call.arguments[0] if call.arguments else None))


def _metadata(call: _Call) -> JavaValue:
    """The records of the metadata table."""
    return metadata_plan(call.session, call.client()[1])


_TIMELINE = _Function("hudi_query_timeline(table[, 'true' for archived instants, too])", 1, 2, _timeline)
_FUNCTIONS = {
    TABLE_CHANGES: _Function(
        "hudi_table_changes('db.table' or '/path', ['latest_state' or 'cdc',] begin[, end])", 2, 4, _changes
    ),
    "hudi_query": _Function("hudi_query('db.table' or '/path', 'snapshot' or 'read_optimized')", 2, 2, _query),
    "hudi_query_timeline": _TIMELINE,
    "hudi_timeline": _TIMELINE,
    "hudi_filesystem_view": _Function(
        "hudi_filesystem_view(table[, pattern of partition paths])", 1, 2, _filesystem_view
    ),
    "hudi_metadata": _Function("hudi_metadata(table)", 1, 1, _metadata),
}


def inject_functions(environment: Environment, extensions: JavaValue) -> None:
    """Have the functions in all sessions that are made with an object of extensions later."""
    jvm = environment.jvm
    for name in _FUNCTIONS:
        identifier = jvm.package("catalyst").FunctionIdentifier(name)
        info = jvm.package("catalyst.expressions").ExpressionInfo("hudi_hive", name)
        extensions.injectTableFunction(jvm.view.scala.Tuple3(identifier, info, Function1(_builder(environment, name))))


def register_functions(session: JavaValue) -> None:
    """Have the functions in a session, of whose extensions they are. Idempotent."""
    registry = session.sessionState().tableFunctionRegistry()
    if TABLE_CHANGES not in str(registry.listFunction().mkString(" ")):
        session.extensions().registerTableFunctions(registry)


def drop_functions(session: JavaValue) -> None:
    """Take the functions from a session."""
    registry = session.sessionState().tableFunctionRegistry()
    for identifier in list(scala_items(registry.listFunction())):
        if str(identifier.funcName()) in _FUNCTIONS:
            registry.dropFunction(identifier)


def identity(environment: Environment, value: JavaValue) -> int:
    """Tells objects of Java apart."""
    return int(environment.jvm.view.java.lang.System.identityHashCode(value))


def _builder(environment: Environment, name: str) -> Callable[[JavaValue], JavaValue]:
    def build(arguments: JavaValue) -> JavaValue:
        session = environment.jvm.classic.SparkSession.active()
        if identity(environment, session.extensions()) not in environment.hooking:
            raise SparkError(
                f"{name} is a function of sessions that are enabled", remedy="hudi_hive.spark.enable(spark)"
            )
        return function_plan(environment, session, name, list(scala_items(arguments)))

    return build


def function_plan(environment: Environment, session: JavaValue, name: str, arguments: list[JavaValue]) -> JavaValue:
    """Plan of a call of one of our functions.

    Args:
        environment: of the Spark context.
        session: the JVM's session.
        name: the function.
        arguments: Catalyst expressions.

    Raises:
        InvalidOptionError: the arguments do not fit.
        HudiHiveError: the table cannot be read so.
    """
    function = _FUNCTIONS[name]
    if not function.least <= len(arguments) <= function.most:
        raise _misused(name)
    texts = [_text(environment, session, name, item) for item in arguments]
    return function.plan(_Call(environment, session, name, texts[0], texts[1:]))


def _misused(name: str) -> InvalidOptionError:
    return InvalidOptionError(f"the arguments of {name} do not fit", remedy=_FUNCTIONS[name].usage)


def _text(environment: Environment, session: JavaValue, name: str, expression: JavaValue) -> str:
    """The text of a constant; a point in time keeps its zone, for it may be another than the table's."""
    jvm = environment.jvm
    expressions = jvm.package("catalyst.expressions")
    if not expression.foldable():
        raise InvalidOptionError(f"arguments of {name} must be constants", remedy=_FUNCTIONS[name].usage)
    zone = jvm.some(session.sessionState().conf().sessionLocalTimeZone())
    kind = str(expression.dataType().typeName())
    if kind == "timestamp":
        pattern = jvm.module("org.apache.spark.sql.catalyst.expressions.Literal").apply(_POINT)
        expression = expressions.DateFormatClass(expression, pattern, zone)
    elif kind != "string":
        strict = jvm.module("org.apache.spark.sql.catalyst.expressions.EvalMode").ANSI()
        expression = expressions.Cast(expression, session.parseDataType('"string"'), zone, strict)
    try:
        value = expression.eval(None)
    except (Py4JError, PySparkException) as error:
        raise InvalidOptionError(
            f"an argument of {name} has no value before the query runs", remedy="write it out as a constant"
        ) from error
    if value is None:
        raise InvalidOptionError(f"an argument of {name} is null", remedy=_FUNCTIONS[name].usage)
    return value if isinstance(value, str) else str(value.toString())
