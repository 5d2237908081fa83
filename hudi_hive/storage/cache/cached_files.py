"""Files of a store, read by way of a cache folder: only what is not there is asked of the store."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from hudi_hive.errors import InvalidOptionError, StorageError
from hudi_hive.metrics import IoCounters
from hudi_hive.options import as_texts
from hudi_hive.options import storage as names
from hudi_hive.storage.cache.cache_folder import CacheFolder, FileKey, Piece
from hudi_hive.storage.stores import CacheableStore, FileStore, RangeFile, RangeStream, join_neighbours

_WHOLE_BYTES: Final = 4 << 20
"""Files of up to these bytes are read, and cached, as a whole."""

_PIECE_BYTES: Final = 4 << 20
"""Bytes of a piece at most: all of it is read to check it."""

_FOOTER_BYTES: Final = 64 << 10
_HITS: Final = "cache_hits"
_MISSES: Final = "cache_misses"
_BYTES: Final = "cache_bytes"
_DAMAGED: Final = "cache_damaged"

_DATA_FILE: Final = re.compile(
    r"[^./][^/]*_\d+-\d+-\d+_\d{14,}\.(?:parquet|orc|hfile|lance)|\.[^._/][^/]*_\d{14,}\.log\.\d+_\d+-\d+-\d+(?:\.cdc)?"
)
"""Base and log files: no writer gives such a name twice, and one that appends to a file changes its size."""

_META_FOLDER: Final = "/.hoodie/"
"""Nothing in it is cached: a metadata table that is made anew has the names of the old one."""


class _OtherSizeError(Exception):
    """The store's file is not of the size that it is said to have."""


def cached_files(store: FileStore | None, options: Mapping[str, Any], counters: IoCounters) -> CachedFiles | None:
    """The cache that storage options ask for; None if they ask for none, or the files are on the local disk.

    Raises:
        InvalidOptionError: the folder is no absolute path, or there is a bound without a folder.
    """
    texts = as_texts({name: value for name, value in options.items() if name in _OPTIONS and value is not None})
    folder = names.CACHE_FOLDER.of(texts)
    most_bytes = names.CACHE_BYTES.of(texts)
    if folder is None:
        if names.CACHE_BYTES.present_in(texts):
            raise InvalidOptionError(
                f"{names.CACHE_BYTES.name} without {names.CACHE_FOLDER.name}", remedy="name the folder of the cache"
            )
        return None
    folder = os.path.expanduser(folder)
    if not os.path.isabs(folder):
        raise InvalidOptionError(
            f"{names.CACHE_FOLDER.name}={folder!r} is no absolute path of this machine", remedy="begin it with a slash"
        )
    if not isinstance(store, CacheableStore):
        return None
    return CachedFiles(store, CacheFolder(os.path.normpath(folder), most_bytes), counters)


_OPTIONS: Final = frozenset({names.CACHE_FOLDER.name, names.CACHE_BYTES.name})


class CachedFiles:
    """Reads files of a store, those that never change from the cache where it has them.

    Args:
        store: the store.
        folder: the cache.
        counters: counts ``cache_hits`` and ``cache_misses`` (ranges), ``cache_bytes`` (given from the cache) and
            ``cache_damaged`` (pieces that were damaged).
    """

    def __init__(self, store: CacheableStore, folder: CacheFolder, counters: IoCounters) -> None:
        self._store = store
        self._folder = folder
        self._counters = counters

    def read(self, path: str, size: int) -> bytes:
        """Read a whole file, which is cached if it is a data file of that size."""
        if not size or not _is_immutable(path):
            return self._store.read(path)
        pieces = self._pieces(path, size)
        if (data := pieces.whole(size)) is not None:
            self._counters.add(_HITS)
            self._counters.add(_BYTES, size)
            return data
        self._counters.add(_MISSES)
        data = self._store.read(path)
        if len(data) == size:
            pieces.write(0, data, None)
        return data

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open a file; one whose size is not known is not cached."""
        if not size or not _is_immutable(path):
            return self._store.open_input(path, size)
        if size <= _WHOLE_BYTES:
            return pa.BufferReader(self.read(path, size))
        source = _CachedRanges(self._store, path, size, self._pieces(path, size), self._counters)
        try:
            (footer,) = source.fetch([(size - _FOOTER_BYTES, size)])
        except _OtherSizeError:
            return self._store.open_input(path, None)
        file = RangeFile(size, source.fetch)
        file.add(size - _FOOTER_BYTES, footer)
        return RangeStream(file, "r")

    def _pieces(self, path: str, size: int) -> _Pieces:
        return _Pieces(self._folder, FileKey(self._store.identity, path, size), self._counters)


def _is_immutable(path: str) -> bool:
    return _META_FOLDER not in f"/{path}" and _DATA_FILE.fullmatch(path.rpartition("/")[2]) is not None


class _Pieces:
    """The pieces of one file."""

    def __init__(self, folder: CacheFolder, key: FileKey, counters: IoCounters) -> None:
        self._folder = folder
        self._key = key
        self._counters = counters

    def overlapping(self, start: int, end: int) -> list[Piece]:
        """Undamaged pieces that have bytes of a range, by where they begin."""
        pieces: list[Piece] = []
        covered = start
        for first, last in self._folder.ranges(self._key):
            if first < end and last > covered:
                try:
                    piece = self._folder.read(self._key, first, last)
                except ValueError:
                    self._counters.add(_DAMAGED)
                    continue
                if piece is not None:
                    pieces.append(piece)
                    covered = last if first <= covered else covered
        return pieces

    def whole(self, size: int) -> bytes | None:
        """All bytes of the file; None if some are not there."""
        pieces = self.overlapping(0, size)
        if len({piece.e_tag for piece in pieces}) != 1 or _gaps(0, size, pieces):
            return None
        return _assembled(0, size, pieces)

    def write(self, start: int, data: bytes | memoryview, e_tag: str | None) -> None:
        """Cache bytes."""
        view = memoryview(data)
        for offset in range(0, len(view), _PIECE_BYTES):
            self._folder.write(self._key, start + offset, view[offset : offset + _PIECE_BYTES], e_tag)

    def drop(self) -> None:
        """Delete all of them."""
        self._folder.drop(self._key)


class _Request(NamedTuple):
    """A range that was asked for, and what the cache has of it."""

    start: int
    end: int
    pieces: list[Piece]


class _CachedRanges:
    """Ranges of one open file.

    Args:
        store: where it is.
        path: the file.
        size: its bytes.
        pieces: those that are cached.
        counters: where hits and misses are counted.
    """

    def __init__(self, store: CacheableStore, path: str, size: int, pieces: _Pieces, counters: IoCounters) -> None:
        self._store = store
        self._path = path
        self._size = size
        self._pieces = pieces
        self._counters = counters
        self._e_tag: str | None = None
        self._was_read = False

    def fetch(self, ranges: Sequence[tuple[int, int]]) -> Sequence[bytes]:
        """The bytes of ranges; what the cache lacks is asked of the store at the same time.

        Raises:
            _OtherSizeError: nothing was read yet, and the file is not of the size that it is said to have.
        """
        requests = [_Request(start, end, self._same_content(start, end)) for start, end in ranges]
        try:
            fetched = self._fetch_missing(requests)
        except StorageError as error:
            if type(error) is not StorageError or self._e_tag is None:
                raise
            # Overwritten: what is cached is of a content that the store has no more.
            self._pieces.drop()
            self._e_tag = None
            if self._was_read:
                raise
            requests = [_Request(start, end, []) for start, end in ranges]
            fetched = self._fetch_missing(requests)
        self._was_read = True
        return [self._bytes(request, fetched) for request in requests]

    def _same_content(self, start: int, end: int) -> list[Piece]:
        """The pieces of a range that are of the content that was read first."""
        pieces = self._pieces.overlapping(start, end)
        for piece in pieces:
            self._e_tag = self._e_tag or piece.e_tag
        return [piece for piece in pieces if piece.e_tag == self._e_tag]

    def _fetch_missing(self, requests: Sequence[_Request]) -> list[Piece]:
        """What the cache lacks, which it has then."""
        gaps = sorted({gap for request in requests for gap in _gaps(request.start, request.end, request.pieces)})
        if not gaps:
            return []
        joined = join_neighbours(gaps)
        answer = self._store.read_ranges(self._path, joined, self._e_tag)
        if answer.size != self._size:
            self._pieces.drop()
            if not self._was_read:
                raise _OtherSizeError
            raise StorageError("the file was overwritten while it was read", path=self._path, remedy="read it again")
        self._e_tag = answer.e_tag
        fetched = [
            Piece(start, end, memoryview(data), answer.e_tag)
            for (start, end), data in zip(joined, answer.parts, strict=True)
        ]
        for start, end in gaps:
            source = next(piece for piece in fetched if piece.start <= start and end <= piece.end)
            self._pieces.write(start, source.data[start - source.start : end - source.start], answer.e_tag)
        return fetched

    def _bytes(self, request: _Request, fetched: Sequence[Piece]) -> bytes:
        missing = sum(end - start for start, end in _gaps(request.start, request.end, request.pieces))
        self._counters.add(_MISSES if missing else _HITS)
        self._counters.add(_BYTES, request.end - request.start - missing)
        return _assembled(request.start, request.end, [*request.pieces, *fetched])


def _gaps(start: int, end: int, pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """The parts of a range that pieces, by where they begin, do not have."""
    gaps: list[tuple[int, int]] = []
    for piece in pieces:
        if piece.start > start:
            gaps.append((start, min(piece.start, end)))
        start = max(start, piece.end)
        if start >= end:
            return gaps
    return [*gaps, (start, end)]


def _assembled(start: int, end: int, pieces: Sequence[Piece]) -> bytes:
    """The bytes of a range, all of which pieces have."""
    for piece in pieces:
        if piece.start <= start and end <= piece.end:
            return bytes(piece.data[start - piece.start : end - piece.start])
    buffer = bytearray(end - start)
    for piece in pieces:
        first, last = max(start, piece.start), min(end, piece.end)
        if first < last:
            buffer[first - start : last - start] = piece.data[first - piece.start : last - piece.start]
    return bytes(buffer)
