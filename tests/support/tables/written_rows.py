"""A table's rows by every way there is to learn its files, and texts that a stranger or an attacker would write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.metadata import MetadataListing
from hudi_hive.table import MetaClient

HOODIE_NAMES: Final = (
    ".hoodie",
    ".hoodie_x",
    ".hoodiex",
    ".hoodie.d",
    ".hoodie ",
    ".hoodie_partition_metadata",
    ".hoodie_partition_metadata.parquet",
    ".hoodie_partition_metadata_x",
    ".hoodie/x",
    "x/.hoodie",
    "x/.hoodie_y",
    "x/.hoodie_partition_metadata",
    ".Hoodie",
    "hoodie.properties",
)
"""Names that begin like those of a table's own."""

OWN_NAMES: Final = (
    "x_1-0-1_20260101000000000.parquet",
    ".x_20260101000000000.log.1_1-0-1",
    ".x_2026.log.1",
    "20260101000000000.commit",
    ".tmp-1-ab",
    "_SUCCESS",
    "__HIVE_DEFAULT_PARTITION__",
    "__all_partitions__",
    "__null__",
    "__empty__",
    "default",
    "archived",
    "files",
    "column_stats",
)
"""Names that mean something as those of files, folders or records."""

ODD_TEXTS: Final = (
    " ",
    ".",
    "..",
    "/",
    "//",
    "a/",
    "/a",
    "a//b",
    "a/./b",
    "a/../b",
    "../../b",
    "a/b/c",
    "%",
    "%2F",
    "%2e%2e",
    "100%",
    "%zz",
    "a%00b",
    "a\0b",
    "\0",
    "a\nb",
    "a\r\nb",
    "a\tb",
    "\x7f",
    "p=x",
    "p=",
    "=",
    "a:b",
    "a?b#c",
    "a*b",
    "[a]{b}",
    "a\\b",
    "\\",
    '"',
    "'",
    "a,b",
    "a|b",
    "~",
    "$x",
    "-1",
    "\u202etxt.exe",
    "\u2066a\u2069",
    "\ufeffbom",
    "\u00e9",
    "e\u0301",
    "\U0001f600",
    "\uffff",
    "\ud7ff\ue000",
    "\u2028",
    "A",
    "a",
    "n" * 255,
    "n" * 256,
    "\u00e9" * 128,
    "/".join("d" * 200),
    "/".join(["d" * 200] * 30),
    "k" * (1 << 20),
)
"""Texts that some layer may take for something else."""


def rows_by_listing(path: Path | str, columns: Sequence[str]) -> list[tuple[object, ...]]:
    """Rows whose files folder listings gave."""
    return _sorted(HudiTable(MetaClient.load(path, listing=MetadataListing(enable=False))).scan().to_arrow(), columns)


def rows_by_metadata(path: Path | str, columns: Sequence[str]) -> list[tuple[object, ...]]:
    """Rows whose files the metadata table gave, or listings where there is none."""
    return _sorted(HudiTable.open(path).scan().to_arrow(), columns)


def rows_by_peer(path: Path | str, columns: Sequence[str]) -> list[tuple[object, ...]]:
    """Rows that the package ``hudi`` reads.

    Raises:
        Exception: whatever it raises for tables that it does not read.
    """
    import hudi

    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(hudi.HudiReadOptions())
    return _sorted(pa.Table.from_batches(batches), columns) if batches else []


def tree(path: Path | str) -> dict[str, bytes]:
    """Every file below a folder and what is in it."""
    root = Path(path)
    return {str(one.relative_to(root)): one.read_bytes() for one in sorted(root.rglob("*")) if one.is_file()}


def _sorted(table: pa.Table, columns: Sequence[str]) -> list[tuple[object, ...]]:
    return sorted(zip(*(table.column(name).to_pylist() for name in columns), strict=True), key=repr)
