"""hudi_hive: plan, read, sync and query Apache Hudi tables next to a Hive metastore, without Hudi's JVM bundles.

In come table paths, metastore URIs and Hudi's own option names; out come Arrow tables, synced metastore tables and
plain SQL on Spark. Public names load on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hudi_hive._version import __version__

if TYPE_CHECKING:
    from hudi_hive.errors import HudiHiveError
    from hudi_hive.storage import use_storage_options
    from hudi_hive.table.merge import MergedRecords, RecordVersions, register_merger, unregister_merger
    from hudi_hive.table_api import HudiTable, IncrementalPuller, Scan

__all__ = [
    "HudiHiveError",
    "HudiTable",
    "IncrementalPuller",
    "MergedRecords",
    "RecordVersions",
    "Scan",
    "__version__",
    "register_merger",
    "unregister_merger",
    "use_storage_options",
]

_HOMES = {
    "HudiTable": "hudi_hive.table_api",
    "IncrementalPuller": "hudi_hive.table_api",
    "Scan": "hudi_hive.table_api",
    "HudiHiveError": "hudi_hive.errors",
    "use_storage_options": "hudi_hive.storage",
    **dict.fromkeys(
        ("MergedRecords", "RecordVersions", "register_merger", "unregister_merger"), "hudi_hive.table.merge"
    ),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562 gives whatever the module holds
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'hudi_hive' has no attribute {name!r}")
