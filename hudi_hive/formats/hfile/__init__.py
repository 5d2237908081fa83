"""Reads and writes HFiles, the files of the metadata table, as Arrow tables of keys and values.

Full scans, look-ups of keys and scans of prefixes; look-ups read the blocks they need and no others.
Bytes that do not follow the format raise ``CorruptFileError``, codecs and features that we refuse
``UnsupportedFormatError``.

Source: docs/format.md#hfile.
"""

from hudi_hive.formats.hfile.entries import ENTRY_SCHEMA
from hudi_hive.formats.hfile.reader import HFileReader
from hudi_hive.formats.hfile.writer import LONGEST_KEY, write_hfile

__all__ = [
    "ENTRY_SCHEMA",
    "LONGEST_KEY",
    "HFileReader",
    "write_hfile",
]
