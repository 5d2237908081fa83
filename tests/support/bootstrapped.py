"""Bootstrapped fixture tables (``tests/data/fixtures/bootstrapped``), each unpacked beside its source.

Their index names the source's files by absolute paths that are nowhere any more; the property of the table says where
the source is now, as it would after a move.
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
import zipfile
from pathlib import Path

from tests.support.fixture_tables import FIXTURES

FOLDER = "bootstrapped"
"""Names of these fixtures begin with it: ``expected``, ``queries`` and ``assert_same_rows`` take them."""


def bootstrapped_names(version: int | None = None) -> tuple[str, ...]:
    """Names of the fixtures, sorted; of one table version, or of all."""
    names = sorted(path.name.removesuffix(".zip") for path in (FIXTURES / FOLDER).glob("*.zip"))
    return tuple(f"{FOLDER}/{name}" for name in names if version is None or name.startswith(f"v{version}_"))


def unzip_bootstrapped(name: str, folder: str | os.PathLike[str] | None = None) -> Path:
    """Base path of a table, whose source is beside it as ``…_source``; without a folder shared, not to be changed."""
    return _unzip_once(name) if folder is None else _unzip(name, Path(folder))


@functools.cache
def _session_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="hudi_hive_bootstrapped_")


@functools.cache
def _unzip_once(name: str) -> Path:
    return _unzip(name, Path(_session_folder().name))


def _unzip(name: str, folder: Path) -> Path:
    with zipfile.ZipFile(FIXTURES / f"{name}.zip") as file:
        file.extractall(folder)
    table = folder / name.rpartition("/")[2]
    set_property(table, "hoodie.bootstrap.base.path", f"{table}_source")
    return table


def set_property(table: Path, key: str, value: str) -> None:
    """Write a property of a table by hand."""
    path = table / ".hoodie" / "hoodie.properties"
    text, count = re.subn(rf"(?m)^{re.escape(key)}=.*$", lambda _: f"{key}={value}", path.read_text())
    path.write_text(text if count else f"{text}{key}={value}\n")
