"""The folder of a cache: pieces of files with checksums, never more bytes than its bound, for many processes at once.

``hudi-hive-cache-1/ab/ab12…/0-4096`` holds the bytes 0 to 4096 of the file whose key has the hash ``ab12…``. A piece
appears complete by a rename, under a lock (``usage``) whose file has the bytes in use. Bytes are counted before they
are there, and until after they are gone: a process that is killed leaves a number that is too high, which the next
eviction mends.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Final, NamedTuple

_log = logging.getLogger(__name__)

_VERSION: Final = "hudi-hive-cache-1"
_USAGE: Final = "usage"
_MAGIC: Final = b"hudiPIECE\n"
_DIGEST_BYTES: Final = 16
_HEADER_BYTES: Final = len(_MAGIC) + _DIGEST_BYTES
_LENGTH_BYTES: Final = 4
_MOST_ABOUT: Final = 16 << 10
"""Bytes that a piece has beside its data at most."""

_NAME: Final = re.compile(r"(\d{1,18})-(\d{1,18})")
_USAGE_BYTES: Final = 20
_LOCK_WAIT_S: Final = 2.0
"""How long a piece waits for other processes before it is not cached: the read must not hang on one that is stopped."""

_PAUSE_S: Final = 0.005

_threads: Final[dict[str, threading.Lock]] = {}
_refused: Final[set[str]] = set()
"""Folders that could not be written, for which this process has warned."""


class FileKey(NamedTuple):
    """What tells a file from all others: its store, path and size."""

    store: str
    path: str
    size: int

    @property
    def text(self) -> str:
        """All of it, a line each."""
        return f"{self.store}\n{self.path}\n{self.size}"

    @property
    def folder(self) -> str:
        """Where its pieces are."""
        digest = blake2b(self.text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
        return os.path.join(digest[:2], digest)


class Piece(NamedTuple):
    """Bytes of a file: where they begin and end, and the store's name of the content that they belong to."""

    start: int
    end: int
    data: memoryview
    e_tag: str | None


class CacheFolder:
    """A folder of pieces.

    Args:
        folder: absolute path; made if it is not there, for this user alone.
        most_bytes: bytes of all pieces together, at most.
    """

    def __init__(self, folder: str, most_bytes: int) -> None:
        self.folder = folder
        self._root = os.path.join(folder, _VERSION)
        self._most_bytes = most_bytes
        self._thread_lock = _threads.setdefault(folder, threading.Lock())

    # -- reading -------------------------------------------------------------------------------------------------

    def ranges(self, key: FileKey) -> list[tuple[int, int]]:
        """Where pieces of a file begin and end, in order; they may overlap."""
        try:
            names = os.listdir(os.path.join(self._root, key.folder))
        except FileNotFoundError:
            return []
        except OSError as error:
            self._warn(error)
            return []
        matches = (_NAME.fullmatch(name) for name in names)
        return sorted((int(match[1]), int(match[2])) for match in matches if match is not None)

    def read(self, key: FileKey, start: int, end: int) -> Piece | None:
        """A piece; None if it is not there any more.

        Raises:
            ValueError: it is damaged; it is deleted then.
        """
        path = self._path(key, start, end)
        try:
            with open(path, "rb") as file:
                content = file.read(end - start + _MOST_ABOUT + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(error)
            return None
        piece = _parse(content, key, start, end)
        if piece is None:
            with suppress(OSError):
                os.unlink(path)
            raise ValueError(path)
        with suppress(OSError):
            os.utime(path)  # what was used last goes last
        return piece

    # -- writing -------------------------------------------------------------------------------------------------

    def write(self, key: FileKey, start: int, data: bytes | memoryview, e_tag: str | None) -> None:
        """Cache bytes of a file; if the disk refuses it, nothing happens but a warning, once in a process."""
        content = _content(key, start, start + len(data), data, e_tag)
        if self.folder in _refused or len(content) > self._most_bytes or len(content) - len(data) > _MOST_ABOUT:
            return
        path = self._path(key, start, start + len(data))
        try:
            with self._locked() as usage:
                if usage is None or os.path.exists(path):
                    return
                self._write(usage, path, content)
        except OSError as error:
            self._warn(error)

    def drop(self, key: FileKey) -> None:
        """Delete the pieces of a file."""
        shutil.rmtree(os.path.join(self._root, key.folder), ignore_errors=True)

    def _write(self, usage: int, path: str, content: bytes) -> None:
        used = _read_usage(usage)
        if used is None or used + len(content) > self._most_bytes:
            used = self._evict(len(content))
        _write_usage(usage, used + len(content))
        temporary = os.path.join(self._root, f"tmp-{uuid.uuid4().hex}")
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            _write_usage(usage, used)
            raise

    def _evict(self, needed: int) -> int:
        """Delete what was not used for longest, until there is room; gives the bytes that stay.

        A tenth more than is needed goes, so that not each piece has the folder counted.
        """
        pieces: list[tuple[int, int, str]] = []
        for folder, _, names in os.walk(self._root):
            for name in names:
                path = os.path.join(folder, name)
                if name.startswith("tmp-"):  # of a writer that was killed: the others wait for the lock
                    os.unlink(path)
                elif _NAME.fullmatch(name):
                    with suppress(FileNotFoundError):
                        status = os.stat(path)
                        pieces.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in pieces)
        if total + needed <= self._most_bytes:
            return total
        for _, size, path in sorted(pieces):
            if total <= max(self._most_bytes * 9 // 10 - needed, 0):
                break
            with suppress(FileNotFoundError):
                os.unlink(path)
            total -= size
            with suppress(OSError):
                os.rmdir(os.path.dirname(path))
        return total

    @contextmanager
    def _locked(self) -> Iterator[int | None]:
        """The open file of the bytes in use, under the lock of all processes; None if another does not let it go."""
        deadline = time.monotonic() + _LOCK_WAIT_S
        with self._thread_lock:
            os.makedirs(self._root, mode=0o700, exist_ok=True)
            usage = os.open(os.path.join(self._root, _USAGE), os.O_RDWR | os.O_CREAT, 0o600)
            try:
                while not (mine := _lock(usage)) and time.monotonic() < deadline:
                    time.sleep(_PAUSE_S)
                yield usage if mine else None
            finally:
                os.close(usage)

    def _path(self, key: FileKey, start: int, end: int) -> str:
        return os.path.join(self._root, key.folder, f"{start}-{end}")

    def _warn(self, error: OSError) -> None:
        if self.folder not in _refused:
            _refused.add(self.folder)
            _log.warning(
                "the cache of remote files in %s cannot be used, reads go on without it: %s", self.folder, error
            )


def _lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_usage(file: int) -> int | None:
    text = os.pread(file, _USAGE_BYTES + 1, 0)
    return int(text) if len(text) == _USAGE_BYTES and text.isdigit() else None


def _write_usage(file: int, used: int) -> None:
    os.pwrite(file, b"%0*d" % (_USAGE_BYTES, used), 0)


def _content(key: FileKey, start: int, end: int, data: bytes | memoryview, e_tag: str | None) -> bytes:
    about = "\n".join((key.text, f"{start}-{end}", e_tag or "")).encode("utf-8", "surrogatepass")
    body = b"".join((len(about).to_bytes(_LENGTH_BYTES), about, data))
    return b"".join((_MAGIC, blake2b(body, digest_size=_DIGEST_BYTES).digest(), body))


def _parse(content: bytes, key: FileKey, start: int, end: int) -> Piece | None:
    """The piece that a file holds; None if it is damaged, or that of another file."""
    body = memoryview(content)[_HEADER_BYTES:]
    if not content.startswith(_MAGIC) or len(body) < _LENGTH_BYTES:
        return None
    if blake2b(body, digest_size=_DIGEST_BYTES).digest() != content[len(_MAGIC) : _HEADER_BYTES]:
        return None
    behind = _LENGTH_BYTES + int.from_bytes(body[:_LENGTH_BYTES])
    text, place, e_tag = bytes(body[_LENGTH_BYTES:behind]).decode("utf-8", "surrogatepass").rsplit("\n", 2)
    data = body[behind:]
    if text != key.text or place != f"{start}-{end}" or len(data) != end - start:
        return None
    return Piece(start, end, data, e_tag or None)
