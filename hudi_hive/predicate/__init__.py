"""Row filters: in come SQL text, DNF tuples or Arrow expressions and a schema, out comes one typed :class:`RowFilter`.

A filter becomes an Arrow expression, a three-valued mask over rows or partition values, or a verdict over value ranges.
It knows nothing of tables or files.
"""

from hudi_hive.predicate.outcomes import ColumnRange
from hudi_hive.predicate.row_filter import RowFilter, parse_filter

__all__ = ["ColumnRange", "RowFilter", "parse_filter"]
