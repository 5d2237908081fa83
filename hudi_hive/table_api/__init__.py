"""The Python API: ``HudiTable`` opens or creates a table, reads, writes and maintains it; ``Scan`` is one query of it.

In come paths, Arrow tables and Hudi's own option names; out come Arrow tables, plans, and reports of commits.
"""

from __future__ import annotations

from hudi_hive.table_api.metadata import MetadataStatus, TableMetadata
from hudi_hive.table_api.puller import IncrementalPuller, PullQuery, PullReport
from hudi_hive.table_api.report import ServiceReport
from hudi_hive.table_api.scan import Scan
from hudi_hive.table_api.table import HudiTable

__all__ = [
    "HudiTable",
    "IncrementalPuller",
    "MetadataStatus",
    "PullQuery",
    "PullReport",
    "Scan",
    "ServiceReport",
    "TableMetadata",
]
