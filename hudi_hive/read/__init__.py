"""Reading: in come planned base files and a table schema, out come Arrow batches of exactly that schema.

Projection, row filters and incremental row selection happen on the way; files of older schemas are brought up to date.
"""

from hudi_hive.read.reconcile import ColumnMapping, Reconciler
from hudi_hive.read.scan_files import read_base_files

__all__ = ["ColumnMapping", "Reconciler", "read_base_files"]
