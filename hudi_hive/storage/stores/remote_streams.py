"""Arrow streams over files of stores that are read by ranges: what was fetched is kept, ranges are fetched together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import pyarrow as pa

READ_AHEAD_BYTES: Final = 1 << 20
"""Bytes that a read of fewer fetches."""

_CACHED_BYTES: Final = 64 << 20
"""Fetched bytes of a file that are kept."""

_GAP_BYTES: Final = 256 << 10
"""Bytes between two ranges up to which fetching them too costs less than another request."""

_REQUEST_BYTES: Final = 16 << 20
"""Bytes from which on a request is not made longer: several are answered at the same time."""

FetchRanges = Callable[[Sequence[tuple[int, int]]], Sequence[bytes]]
"""Gives the bytes of ranges (start, end) of one file, fetched at the same time."""


class RangeFile:
    """A read-only file object over ranges of a file; not thread-safe, as Arrow asks for one read after the other.

    Args:
        size: bytes of the file.
        fetch: fetches ranges.
    """

    def __init__(self, size: int, fetch: FetchRanges) -> None:
        self._size = size
        self._fetch = fetch
        self._starts: list[int] = []
        self._parts: list[memoryview] = []
        self._bytes = 0
        self._position = 0
        self.closed = False

    def add(self, start: int, data: bytes) -> None:
        """Keep bytes that were fetched."""
        self._make_room()
        self._keep(start, data)

    def _make_room(self) -> None:
        if self._bytes > _CACHED_BYTES:
            self._starts, self._parts, self._bytes = [], [], 0

    def _keep(self, start: int, data: bytes) -> None:
        place = bisect_right(self._starts, start)
        self._starts.insert(place, start)
        self._parts.insert(place, memoryview(data))
        self._bytes += len(data)

    def prefetch(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Fetch ranges (start, end), those that are not kept yet, at the same time; neighbours in one request.

        All of them are kept until others are fetched.
        """
        missing = [(start, min(end, self._size)) for start, end in sorted(ranges) if self._is_missing(start, end)]
        if not missing:
            return
        joined = join_neighbours(missing)
        fetched = self._fetch(joined)
        self._make_room()
        for (start, _), data in zip(joined, fetched, strict=True):
            self._keep(start, data)

    def _is_missing(self, start: int, end: int) -> bool:
        return start < min(end, self._size) and self._cached(start, min(end, self._size)) is None

    def _cached(self, start: int, end: int) -> memoryview | None:
        place = bisect_right(self._starts, start) - 1
        while place >= 0:
            offset = start - self._starts[place]
            part = self._parts[place]
            if end - self._starts[place] <= len(part):
                return part[offset : offset + end - start]
            place -= 1
        return None

    def read(self, length: int = -1) -> bytes | memoryview:
        """Read bytes from the position on."""
        start = self._position
        end = self._size if length < 0 else min(start + length, self._size)
        if end <= start:
            return b""
        part = self._cached(start, end)
        if part is None:
            fetched_end = min(max(end, start + READ_AHEAD_BYTES), self._size)
            self.add(start, self._fetch([(start, fetched_end)])[0])
            part = self._cached(start, end)
            assert part is not None
        self._position = end
        return part

    def seek(self, offset: int, whence: int = 0) -> int:
        """Set the position."""
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def tell(self) -> int:
        """The position."""
        return self._position

    def size(self) -> int:
        """Bytes of the file."""
        return self._size

    def flush(self) -> None:
        """Nothing."""

    def close(self) -> None:
        """Forget what was fetched."""
        self.closed = True
        self._starts, self._parts = [], []


def join_neighbours(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join sorted ranges between which there is little; none is cut, so that each is found in one."""
    joined: list[tuple[int, int]] = []
    for start, end in ranges:
        if joined and start <= joined[-1][1] + _GAP_BYTES and joined[-1][1] - joined[-1][0] < _REQUEST_BYTES:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


class RangeStream(pa.PythonFile):
    """An Arrow stream over a :class:`RangeFile`, which is its handle."""

    def __init__(self, file: RangeFile, mode: str) -> None:
        self._ranges = file

    def prefetch(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Fetch ranges (start, end) at the same time, before they are read."""
        self._ranges.prefetch(ranges)


class PartWriter(Protocol):
    """What :class:`UploadFile` needs of a writer in parts."""

    def write(self, data: bytes, /) -> object:
        """Append bytes."""

    def close(self) -> None:
        """Complete the file."""


class UploadFile:
    """A write-only file object that keeps a small file to put it in one request, and streams a large one.

    Args:
        put: writes a whole file.
        open_parts: opens a writer of a file in parts.
        part_bytes: bytes from which on a file is written in parts.
    """

    def __init__(self, put: Callable[[bytes], None], open_parts: Callable[[], PartWriter], part_bytes: int) -> None:
        self._put = put
        self._open_parts = open_parts
        self._part_bytes = part_bytes
        self._buffer = bytearray()
        self._parts: PartWriter | None = None
        self._position = 0
        self.closed = False

    def write(self, data: bytes | pa.Buffer) -> int:
        """Append bytes."""
        view = memoryview(data)
        self._position += view.nbytes
        if self._parts is None:
            self._buffer += view
            if len(self._buffer) >= self._part_bytes:
                self._parts = self._open_parts()
                self._parts.write(bytes(self._buffer))
                self._buffer = bytearray()
        else:
            self._parts.write(bytes(view))
        return view.nbytes

    def tell(self) -> int:
        """Bytes written so far."""
        return self._position

    def flush(self) -> None:
        """Nothing: the file appears when it is closed."""

    def close(self) -> None:
        """Write the rest; the file is there then."""
        if self.closed:
            return
        self.closed = True
        if self._parts is not None:
            self._parts.close()
        else:
            self._put(bytes(self._buffer))
