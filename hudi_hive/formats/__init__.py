"""Readers and writers of the formats of single files: blocks, records, Arrow batches.

Nothing here knows of timelines or tables; import from the modules (``properties``, ``log_block``, ``log_writer`` …).
Bytes that do not follow their format raise ``CorruptFileError``, formats that we refuse ``UnsupportedFormatError``.

Source: docs/format.md#contents.
"""

from __future__ import annotations

from hudi_hive.formats.properties import format_properties, parse_properties
from hudi_hive.formats.varints import signed_varint, varint

__all__ = [
    "format_properties",
    "parse_properties",
    "signed_varint",
    "varint",
]
