"""The folder of a merge in parts, or the like: it is gone with its process, or with the next one if that was killed.

A folder is held by the kernel's lock on a file in it, which ends with the process. Whoever makes a folder removes those
of this machine that nobody holds. Where the file system has no such locks, or the system none, folders stay.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from hudi_hive.errors import PathNotFoundError
from hudi_hive.storage import mapped_errors, try_flock

_log = logging.getLogger(__name__)

_PREFIX: Final = "hudi-hive-merge-"
_HOLDER: Final = "holder"
"""The file that is locked; it holds the name of the machine."""


@contextmanager
def part_folder(place: str) -> Iterator[str]:
    """Context manager that makes a folder for a merge, or what else goes on in parts, and removes it at its end.

    Args:
        place: where, as of :func:`~hudi_hive.storage.spill_folder`; what killed merges left there is removed.

    Raises:
        StorageError: the folder cannot be made.
    """
    import tempfile  # not at the start of every command: it loads much

    _remove_unheld(place)
    holder = None
    while holder is None:
        with mapped_errors(place):
            folder = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place)
        with folder:
            holder = _held(folder.name)
            if holder is None:  # another process took the empty folder for one that was left
                continue
            try:
                yield folder.name
            finally:
                os.close(holder)


def _held(folder: str) -> int | None:
    """The open file by which this process holds a new folder; None if the folder is gone."""
    try:
        with mapped_errors(folder):
            holder = os.open(os.path.join(folder, _HOLDER), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except PathNotFoundError:
        return None
    try_flock(holder)
    os.write(holder, _machine())  # until here nothing says whose it is, so that others leave it alone
    return holder


def _remove_unheld(place: str) -> None:
    """Remove the folders of killed processes of this machine; what cannot be removed stays."""
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    _remove_if_unheld(entry.path)


def _remove_if_unheld(folder: str) -> None:
    path = os.path.join(folder, _HOLDER)
    try:
        holder = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        os.rmdir(folder)  # of one that was killed before it began; not if it holds anything
        return
    try:
        if os.read(holder, len(_machine()) + 1) == _machine() and try_flock(holder):
            _log.info("%s is left of a merge whose process was killed, and is removed", folder)
            shutil.rmtree(folder)
    finally:
        os.close(holder)


def _machine() -> bytes:
    return socket.gethostname().encode()


__all__ = ["part_folder"]
