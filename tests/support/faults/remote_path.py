"""Folders of an object store with the few methods of ``pathlib.Path`` that scenarios of faults use."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import cast

from hudi_hive.errors import PathNotFoundError
from hudi_hive.storage import Storage


class RemotePath(str):
    """The URI of a folder or file; the environment says how its store is reached."""

    __slots__ = ()

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(f"{self}/{name}")

    @property
    def _place(self) -> tuple[Storage, str]:
        folder, _, name = self.rpartition("/")
        return Storage(folder), name

    def exists(self) -> bool:
        """Whether there is such a file or folder."""
        storage, name = self._place
        return storage.exists(name)

    def read_text(self) -> str:
        """The text of a file."""
        storage, name = self._place
        return storage.read_bytes(name).decode()

    def write_text(self, text: str) -> None:
        """Write a file."""
        storage, name = self._place
        storage.write_bytes(name, text.encode())


def remote(uri: str) -> Path:
    """A folder of a store where a path is expected."""
    return cast(Path, RemotePath(uri))


def copy_tree(source: Path, target: Path) -> None:
    """Copy a table to where there is none."""
    if not isinstance(source, RemotePath):
        shutil.copytree(source, target)
        return
    origin, copy = Storage(source), Storage(target)
    for path in origin.list(recursive=True)["path"].to_pylist():
        copy.write_bytes(path, origin.read_bytes(path))


def remove_tree(path: Path) -> None:
    """Delete a table."""
    if not isinstance(path, RemotePath):
        shutil.rmtree(path, ignore_errors=True)
        return
    storage, name = path._place
    with suppress(PathNotFoundError):
        storage.delete_tree(name)
