"""Files as views of copies on the local disk, whose bytes are in memory while they are looked at only."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from typing import Final

from hudi_hive.storage.errors import mapped_errors
from hudi_hive.storage.storage import Storage

_PART: Final = 8 << 20
"""Bytes that are copied at a time."""


def spill_folder(folder: str | None) -> str:
    """The folder for files that do not outlive a read; it is made if it is not there.

    Args:
        folder: a local path; None for the one that the system has for such files.

    Raises:
        StorageError: it cannot be made.
    """
    import tempfile  # not at the start of every command: it loads much

    place = folder or tempfile.gettempdir()
    with mapped_errors(place):
        os.makedirs(place, exist_ok=True)
    return place


def map_file(storage: Storage, path: str, folder: str | None = None) -> memoryview:
    """A view of a file's bytes, by a copy on the local disk that has no name and ends with the view.

    A copy, on local disks too: a file that is cut while it is mapped ends the process that looks at it.

    Args:
        storage: where the file is.
        path: the file.
        folder: where copies go, as of :func:`spill_folder`.

    Raises:
        PathNotFoundError: the file does not exist.
        StorageError: it cannot be read, or not be copied.
    """
    import tempfile

    place = spill_folder(folder)
    with mapped_errors(place), tempfile.TemporaryFile(dir=place) as copy:
        # All that is there now: a log file may have grown since it was listed.
        with storage.open_input(path) as stream:
            while True:
                with mapped_errors(storage.uri(path)):
                    part = stream.read(_PART)
                if not part:
                    break
                copy.write(part)
                storage.counters.add("reads")
                storage.counters.add("bytes_read", len(part))
        copy.flush()
        length = copy.tell()
        return memoryview(mmap.mmap(copy.fileno(), length, access=mmap.ACCESS_READ) if length else b"")


def release_pages(view: memoryview) -> None:
    """Give back the memory of a mapped file's bytes; they are read again where they are looked at again."""
    held = view.obj
    if isinstance(held, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        held.madvise(mmap.MADV_DONTNEED)


def read_through(view: memoryview) -> Iterator[memoryview]:
    """The bytes of a view from first to last; those of a mapped file part by part, of which one is in memory."""
    if not isinstance(view.obj, mmap.mmap):
        yield view
        return
    for start in range(0, len(view), _PART):
        yield view[start : start + _PART]
        release_pages(view)


__all__ = ["map_file", "read_through", "release_pages", "spill_folder"]
