"""Arrow expressions given as row filters.

Their rows are chosen by Arrow itself, with Arrow's own rules for NaN and null.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import PredicateError, UnknownColumnError
from hudi_hive.predicate import nodes
from hudi_hive.predicate.nodes import Node


def bind_expression(expression: pc.Expression, schema: pa.Schema) -> Node:
    """The tree of an Arrow expression.

    Raises:
        UnknownColumnError: it reads a column that the schema does not have.
        PredicateError: it does not fit the types, or is no condition.
    """
    empty = schema.empty_table()
    _check(expression, empty)
    names = tuple(name for name in dict.fromkeys(schema.names) if not _runs(expression, _without(empty, name)))
    return nodes.Opaque(expression, names)


def _without(table: pa.Table, name: str) -> pa.Table:
    return table.select([other for other in table.column_names if other != name])


def _runs(expression: pc.Expression, table: pa.Table) -> bool:
    try:
        table.filter(expression)
    except pa.ArrowException:
        return False
    return True


def _check(expression: pc.Expression, empty: pa.Table) -> None:
    try:
        empty.filter(expression)
    except pa.ArrowException as error:
        message = str(error).splitlines()[0]
        if "No match for" in message:
            raise UnknownColumnError(
                f"row filter: {message}", remedy="the columns are " + ", ".join(empty.column_names[:20])
            ) from error
        raise PredicateError(f"row filter: {message}") from error
