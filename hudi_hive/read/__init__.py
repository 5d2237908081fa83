"""Reading: Arrow batches of a table's schema from planned base and log files.

Merging, projection, row filters and incremental row selection happen on the way; older schemas are brought up to date.
"""

from hudi_hive.read.columns import ColumnMapping, Reconciler
from hudi_hive.read.scan import BaseScan, read_base_files

__all__ = ["BaseScan", "ColumnMapping", "Reconciler", "read_base_files"]
