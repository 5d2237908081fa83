"""One embedded metastore per folder: a file lock that lives exactly as long as the Java process does.

The lock belongs to an open file that the Java process inherits. Whoever dies first, the kernel frees it when the last
of the two is gone; a lock file that a crash left behind locks nothing.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hudi_hive.errors import MetastoreError
from hudi_hive.metastore.embedded.private_files import make_private_folder

_NAME = "metastore.lock"
_WAIT_SECONDS = 20.0


class WarehouseLock:
    """The lock of one folder; made without touching anything."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int:
        """The open file to hand to the process that holds the lock too."""
        assert self._descriptor is not None
        return self._descriptor

    def acquire(self) -> None:
        """Take the lock; waits while a server whose starter is gone is on its way out.

        Raises:
            MetastoreError: another one runs on the folder, or the folder cannot be written.
        """
        if self._descriptor is not None:
            return
        try:
            make_private_folder(self._directory)
            descriptor = os.open(self._directory / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise MetastoreError(
                f"cannot use the embedded metastore's folder: {error.strerror}",
                path=str(self._directory),
                remedy="choose another folder",
            ) from error
        try:
            self._wait(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        self._write(f"{os.getpid()}\n")

    def _wait(self, descriptor: int) -> None:
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            starter, *rest = [*os.pread(descriptor, 4096, 0).decode("utf-8", "replace").split(), ""]
            if _alive(starter) or time.monotonic() > deadline:
                who = f"process {starter}" + (f", {rest[1]}" if len(rest) > 2 else "")
                raise MetastoreError(
                    f"another embedded metastore runs on this folder ({who})",
                    path=str(self._directory),
                    remedy="use that one, stop it, or choose another folder",
                )
            time.sleep(0.05)

    def note(self, server: int, uri: str) -> None:
        """Write down who runs, for the message that the next one gets."""
        self._write(f"{os.getpid()}\n{server}\n{uri}\n")

    def _write(self, text: str) -> None:
        descriptor = self.descriptor
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)

    def release(self) -> None:
        """Let go; the file stays, it means nothing without its lock."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class RunningMetastore:
    """A running embedded metastore: process ids of its starter and of its server, and its URI."""

    starter: int
    server: int
    uri: str


def find_running(directory: Path) -> RunningMetastore | None:
    """Find the embedded metastore that runs on a folder; None if none runs, or it is not ready yet."""
    try:
        descriptor = os.open(directory / _NAME, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return None  # nobody holds it; closing the file lets go of it again
        words = os.pread(descriptor, 4096, 0).decode("utf-8", "replace").split()
    finally:
        os.close(descriptor)
    return RunningMetastore(int(words[0]), int(words[1]), words[2]) if len(words) == 3 else None


def _alive(text: str) -> bool:
    try:
        os.kill(int(text), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
