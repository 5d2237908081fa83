"""The metadata table: in comes a table's client, out come partitions, files, column ranges and places of records.

:class:`MetadataListing` puts it behind the client's partitions and files, and lists folders where it cannot serve.
"""

from __future__ import annotations

from hudi_hive.metadata.reader.definitions import IndexDefinition
from hudi_hive.metadata.reader.lister import MetadataListing, validate
from hudi_hive.metadata.reader.table import MetadataTable
from hudi_hive.metadata.reader.validation import ValidationReport

__all__ = ["IndexDefinition", "MetadataListing", "MetadataTable", "ValidationReport", "validate"]
