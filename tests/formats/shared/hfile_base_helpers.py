"""What tests of hfile base share with others."""

from __future__ import annotations

import functools
import zipfile

from tests.support.fixture_tables import DATA, _session_folder


@functools.cache
def folder():
    path = _session_folder() / "hfile"
    with zipfile.ZipFile(DATA / "hfile" / "tables.zip") as archive:
        archive.extractall(path)
    return path
