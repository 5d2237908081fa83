"""File formats: bytes or streams of single files to blocks, records and Arrow batches, and Arrow rows to such bytes.

Nothing here knows of timelines or tables; import from the modules (``properties``, ``log_block``, ``log_writer`` …).
Bytes that do not follow their format raise ``CorruptFileError``, formats that we refuse ``UnsupportedFormatError``.
"""

from __future__ import annotations

from hudi_hive.formats.properties import format_properties, parse_properties

__all__ = [
    "format_properties",
    "parse_properties",
]
