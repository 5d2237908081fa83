"""Keeps small base files of a store in memory while a write reads them for its index, and again to merge its rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import pyarrow as pa

_MOST_BYTES: Final = 64 << 20
_ENDINGS: Final = (".parquet", ".orc")
"""Base files: a name stands for the same bytes for ever."""


class Opener(Protocol):
    """What opens files: a store, or a cache in front of it."""

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open a file as a random-access stream."""


class SmallFiles:
    """Whole files by path, while somebody says that they are read again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._bytes = 0
        self._files: dict[str, pa.Buffer] = {}

    @contextmanager
    def cached(self) -> Iterator[None]:
        """Cache files inside the block, of other threads too."""
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._files, self._bytes = {}, 0

    def open(self, store: Opener, path: str, size: int | None) -> pa.NativeFile:
        """Open a file of a store, or of the cache; one that is small is cached while the cache is in use."""
        buffer = self._files.get(path)
        if buffer is not None:
            return pa.BufferReader(buffer)
        stream = store.open_input(path, size)
        if not self._users or not isinstance(stream, pa.BufferReader) or not path.endswith(_ENDINGS):
            return stream
        buffer = pa.py_buffer(stream.read())
        stream.seek(0)
        with self._lock:
            if self._users and self._bytes + buffer.size <= _MOST_BYTES:
                self._files[path] = buffer
                self._bytes += buffer.size
        return stream
