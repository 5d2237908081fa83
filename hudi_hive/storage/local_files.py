"""Writes local files durably: flushes files and folder entries to the disk.

A file that is made lasting has its bytes flushed first and gets its name then; behind that its folder is flushed, and
the folders in which others had to be made on the way. A folder that cannot be flushed (some network file systems) has
its entries kept by the file system alone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from hudi_hive.storage.stores import MISSING, PathKind, PathStatus

_THREADS: Final = 8
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
_NOT_FLUSHED: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})


def status(full: str) -> PathStatus:
    """What a path names, links followed."""
    try:
        entry = os.stat(full)
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    kind = PathKind.FOLDER if stat.S_ISDIR(entry.st_mode) else PathKind.FILE
    return PathStatus(kind, entry.st_size if kind is PathKind.FILE else 0, entry.st_mtime_ns // 1_000_000)


def make_folders(folder: str) -> None:
    """Create a folder and its parents durably, if it does not exist."""
    flush_folders(_made(folder))


def create_new(full: str, data: bytes, *, lasting: bool = True) -> None:
    """Create a file that gets its name only when it is complete, so that a crash leaves nothing.

    Args:
        full: the file; missing parent folders are made.
        data: all of it.
        lasting: its name outlasts a loss of power when this returns, as its bytes do in any case; where that fails the
            file is gone again.

    Raises:
        FileExistsError: it is there.
    """
    folder = os.path.dirname(full)
    grown = _made(folder)
    nameless = _open_nameless(folder)
    if nameless is None:
        _link_temporary(full, data)
    else:
        with open(nameless, "wb") as stream:
            _write(stream.fileno(), data)
            # A folder's descriptor makes it the call that follows the link to the open file.
            os.link(f"/proc/self/fd/{nameless}", full, src_dir_fd=nameless, follow_symlinks=True)
    if lasting:
        try:
            flush_folders([folder, *grown])
        except BaseException:
            with suppress(OSError):
                os.unlink(full)
            raise


def replace_file(full: str, data: bytes) -> None:
    """Replace a file in one step, durably."""
    folder = os.path.dirname(full)
    grown = _made(folder)
    os.replace(_temporary(full, data), full)
    flush_folders([folder, *grown])


def exchange(one: str, other: str) -> bool:
    """Have two files or folders take each other's names, so that at no moment either name is missing.

    Returns:
        False where the system or the file system cannot; nothing was changed.

    Raises:
        OSError: it failed.
    """
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    error = ctypes.get_errno()
    if error in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP):
        return False
    raise OSError(error, os.strerror(error), one, None, other)


def flush_files(paths: Iterable[str]) -> None:
    """Flush files and the folders that contain them to the disk.

    Raises:
        OSError: the disk refused bytes of one of them; whether they are there is not known.
    """
    files = list(paths)
    if len(files) < 2:
        for path in files:
            _flush(path)
    else:
        with ThreadPoolExecutor(min(_THREADS, len(files)), thread_name_prefix="flush") as threads:
            list(threads.map(_flush, files))
    flush_folders(map(os.path.dirname, files))


def flush_folders(folders: Iterable[str]) -> None:
    """Flush the entries of folders to the disk, each once."""
    if os.name != "posix":
        return  # no other system opens folders
    for folder in dict.fromkeys(folders):
        try:
            _flush(folder)
        except OSError as error:
            if error.errno not in _NOT_FLUSHED:
                raise


def _flush(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _made(folder: str) -> list[str]:
    """Make a folder; the folders that have a new one in them."""
    grown = []
    place = folder
    while not os.path.isdir(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
        grown.append(place)
    os.makedirs(folder, exist_ok=True)
    return grown


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    if data:
        os.fsync(descriptor)


def _open_nameless(folder: str) -> int | None:
    """Descriptor of a new file without a name; None where the system or the file system has none."""
    if not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except OSError:
        return None


def _link_temporary(full: str, data: bytes) -> None:
    temporary = _temporary(full, data)
    try:
        os.link(temporary, full)
    finally:
        os.unlink(temporary)


def _temporary(full: str, data: bytes) -> str:
    """A whole file beside another, under a name that no table takes for a log file or an instant."""
    temporary = f"{os.path.dirname(full)}/.tmp-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        with open(temporary, "xb") as stream:
            _write(stream.fileno(), data)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def prepare_file(full: str) -> None:
    """Make the folder of a file that is written, and remove what would contradict it."""
    drop_checksum(full)
    os.makedirs(os.path.dirname(full), exist_ok=True)


def drop_checksum(full: str) -> None:
    """Delete what Hadoop's local file system wrote beside a file, against which it holds what comes next."""
    folder, name = os.path.split(full)
    with suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(os.path.join(folder, f".{name}.crc"))
