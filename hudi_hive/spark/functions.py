"""Table-valued functions: ``hudi_table_changes(table, begin[, end])``."""

from __future__ import annotations

from hudi_hive.errors import InvalidOptionError, UnsupportedTableError
from hudi_hive.plan import Query
from hudi_hive.spark.catalog import require_table
from hudi_hive.spark.failures import JavaValue
from hudi_hive.spark.jvm import Function1, scala_items
from hudi_hive.spark.relation import Environment, relation_plan
from hudi_hive.spark.snapshot import location_of

TABLE_CHANGES = "hudi_table_changes"

_USAGE = f"{TABLE_CHANGES}('db.table' or '/path', ['latest_state',] begin[, end])"


def inject_functions(environment: Environment, session: JavaValue) -> None:
    """Register the functions in a running session and in all that are made from it later."""
    jvm = environment.jvm
    identifier = jvm.package("catalyst").FunctionIdentifier(TABLE_CHANGES)
    info = jvm.package("catalyst.expressions").ExpressionInfo("hudi_hive", TABLE_CHANGES)

    def build(arguments: JavaValue) -> JavaValue:
        active = jvm.package("classic").SparkSession.active()
        return table_changes(environment, active, [_text(item) for item in scala_items(arguments)])

    extensions = session.extensions()
    extensions.injectTableFunction(jvm.view.scala.Tuple3(identifier, info, Function1(build)))
    extensions.registerTableFunctions(session.sessionState().tableFunctionRegistry())


def table_changes(environment: Environment, session: JavaValue, arguments: list[str | None]) -> JavaValue:
    """Plan of the rows written after ``begin`` (exclusive) up to ``end`` (inclusive, default: now).

    Arguments are those of Hudi's function of this name: table or path, mode, begin, end; the mode may be left out.

    Raises:
        InvalidOptionError: the arguments do not fit.
        UnsupportedTableError: change data capture is asked for.
    """
    given = list(arguments)
    mode = str(given[1]).lower() if len(given) > 1 else ""
    if mode == "cdc":
        raise UnsupportedTableError(
            "change data capture cannot be read by Spark's own reader", path=given[0], remedy="use 'latest_state'"
        )
    if mode == "latest_state":
        del given[1]
    if not 2 <= len(given) <= 3 or given[0] is None or given[1] is None:
        raise InvalidOptionError(f"{TABLE_CHANGES} takes a table, a begin and maybe an end", remedy=_USAGE)
    query = Query.of("incremental", begin=given[1], end=given[2] if len(given) == 3 else None)
    table = given[0]
    if "/" in table:
        return relation_plan(environment, session, location_of(table), query)
    entry = require_table(environment.jvm, session, table)
    return relation_plan(environment, session, entry.location, query, entry.declared)


def _text(expression: JavaValue) -> str | None:
    if not expression.foldable():
        raise InvalidOptionError(f"arguments of {TABLE_CHANGES} must be constants", remedy=_USAGE)
    value = expression.eval(None)
    return None if value is None else str(value.toString()) if hasattr(value, "toString") else str(value)
