"""Writes the metadata table (RFC-15): initialises its partitions and adds the records of each commit."""

from __future__ import annotations

from hudi_hive.metadata.writer.writer import MetadataWriter

__all__ = [
    "MetadataWriter",
]
