"""Rows of file slices for secondary and expression indexes, and the table that an action leaves."""

from hudi_hive.write.column_indexes.new_index import KINDS, SECONDARY_INDEX, new_index
from hudi_hive.write.column_indexes.slice_columns import SliceColumns, left_by

__all__ = ["KINDS", "SECONDARY_INDEX", "SliceColumns", "left_by", "new_index"]
