"""The metadata table: partitions, files, column statistics, bloom filters and record locations of a table.

:class:`MetadataListing` puts it behind the client's partitions and files, and lists folders where it cannot serve.
"""

from __future__ import annotations

from hudi_hive.metadata.reader import (
    FileLookup,
    IndexDefinition,
    MetadataListing,
    MetadataTable,
    SubListing,
    ValidationReport,
    list_committed,
    list_partitions,
    validate,
)

__all__ = [
    "FileLookup",
    "IndexDefinition",
    "MetadataListing",
    "MetadataTable",
    "SubListing",
    "ValidationReport",
    "list_committed",
    "list_partitions",
    "validate",
]
