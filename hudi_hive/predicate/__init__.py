"""Row filters: binds SQL text, DNF tuples or Arrow expressions to a schema, as a typed :class:`RowFilter`.

A filter becomes an Arrow expression, a three-valued mask over rows or partition values, or a verdict over value ranges.
It knows nothing of tables or files.
"""

from hudi_hive.predicate.arrow_expression import bind_as_sql
from hudi_hive.predicate.binding import bind
from hudi_hive.predicate.nodes import (
    And,
    ColumnComparison,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNaN,
    IsNull,
    IsTrue,
    Like,
    Node,
    Not,
    Opaque,
    Operator,
    Or,
    Unknown,
    WhenValid,
    conjunction,
    disjunction,
    own_columns,
    top_level_names,
    walk_outlines,
)
from hudi_hive.predicate.outcomes import ColumnRange
from hudi_hive.predicate.row_filter import Dnf, FilterTerm, RowFilter, parse_filter
from hudi_hive.predicate.sql import parse_sql
from hudi_hive.predicate.syntax import (
    AllOf,
    AnyOf,
    Compare,
    ComparisonOperator,
    InList,
    LiteralValue,
    Name,
    Negation,
    NullTest,
    Syntax,
    Value,
)

__all__ = [
    "AllOf",
    "And",
    "AnyOf",
    "ColumnComparison",
    "ColumnRange",
    "ColumnRef",
    "Compare",
    "Comparison",
    "ComparisonOperator",
    "Constant",
    "Dnf",
    "FilterTerm",
    "In",
    "InList",
    "IsNaN",
    "IsNull",
    "IsTrue",
    "Like",
    "LiteralValue",
    "Name",
    "Negation",
    "Node",
    "Not",
    "NullTest",
    "Opaque",
    "Operator",
    "Or",
    "RowFilter",
    "Syntax",
    "Unknown",
    "Value",
    "WhenValid",
    "bind",
    "bind_as_sql",
    "conjunction",
    "disjunction",
    "own_columns",
    "parse_filter",
    "parse_sql",
    "top_level_names",
    "walk_outlines",
]
