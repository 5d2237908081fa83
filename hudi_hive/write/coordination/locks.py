"""Table locks, under which one writer at a time draws and completes instants (RFC-22).

Providers bear the names of Hudi's classes and keep their locks where Hudi keeps them, so that real Hudi's writers and
ours exclude each other: a file ``.hoodie/lock``, this process, or a lock of the Hive metastore. On a local disk our own
processes exclude each other beyond that, whatever is configured: they lock the folder ``.hoodie`` too.

Source: docs/format.md#heartbeats-and-locks.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, ClassVar, Final, Protocol, Self

from hudi_hive.errors import (
    InvalidOptionError,
    LockError,
    LockLostError,
    LockTimeoutError,
    PathExistsError,
    PathNotFoundError,
)
from hudi_hive.options import as_texts
from hudi_hive.options import locks as lock_options
from hudi_hive.storage import Storage
from hudi_hive.write.coordination.folder_lock import TableFolderLock
from hudi_hive.write.coordination.owner import Owner
from hudi_hive.write.coordination.store_checks import check_store

_FILE_NAME: Final = "lock"
_FIRST_WAIT_MS: Final = 20
_PROVIDERS: Final = {
    "FileSystemBasedLockProvider": "filesystem",
    "InProcessLockProvider": "process",
    "LocalProcessLockProvider": "process",
    "HiveMetastoreBasedLockProvider": "metastore",
}


class LockProvider(Protocol):
    """The interface of a lock, which one holder has at a time."""

    def try_acquire(self) -> bool:
        """Take the lock if it is free; False if it is held."""

    def verify(self) -> None:
        """Verify that the lock is still held.

        Raises:
            LockLostError: it is not.
        """

    def release(self) -> None:
        """Release the lock; a lock that another holder has taken since is left alone."""

    def holder(self) -> str:
        """The holder and how to remove a stale lock, for error messages."""


class InProcessLock:
    """A lock for the threads of this process, one for each table.

    Args:
        name: what is locked: the table's base path.
    """

    _holders: ClassVar[dict[str, tuple[InProcessLock, int]]] = {}
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, name: str) -> None:
        self._name = name.rstrip("/")

    def try_acquire(self) -> bool:
        """Take the lock if it is free.

        Raises:
            LockError: the thread that asks has it, and would wait for itself.
        """
        thread = threading.get_ident()
        with self._guard:
            holder = self._holders.get(self._name)
            if holder is None:
                self._holders[self._name] = (self, thread)
                return True
        if holder[1] == thread:
            raise LockError("the lock is held already by the one who asks", path=self._name)
        return False

    def verify(self) -> None:
        """Verify that the lock is held."""
        holder = self._holders.get(self._name)
        if holder is None or holder[0] is not self:
            raise LockLostError("the lock is not held", path=self._name)

    def release(self) -> None:
        """Release the lock."""
        with self._guard:
            holder = self._holders.get(self._name)
            if holder is not None and holder[0] is self:
                del self._holders[self._name]

    def holder(self) -> str:
        """The holder of the lock, for messages."""
        return "another thread of this process holds it"

    @classmethod
    def forget_holders(cls) -> None:
        """Forget the holders of the parent process in a forked child."""
        cls._holders, cls._guard = {}, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=InProcessLock.forget_holders)


class FileSystemLock:
    """The lock file of Hudi's ``FileSystemBasedLockProvider``, which only its holder creates.

    It holds JSON with Hudi's three fields and, beyond them, the owner and a token: the holder lets go only of its own,
    and the file of a process of this machine that has ended is taken over at once. Another writer's file is taken over
    when it is older than ``expire_minutes``; 0, Hudi's default, is never.

    Args:
        storage: rooted at the folder that holds the file.
        name: path of the file below it.
        expire_minutes: age in minutes from which the lock of a silent holder is void.
        clock: seconds since the epoch.

    Raises:
        LockError: the storage cannot create files atomically, so that two holders were possible.
    """

    _released: Final[set[bytes]] = set()
    """What files say that holders of this process have let go of and could not delete."""

    def __init__(
        self, storage: Storage, name: str, *, expire_minutes: int = 0, clock: Callable[[], float] = time.time
    ) -> None:
        if not storage.is_local:
            raise LockError(
                "a lock file needs a file system that creates files atomically",
                path=storage.uri(name),
                remedy=f"use the metastore's lock: {lock_options.LOCK_PROVIDER}=org.apache.hudi.hive.transaction.lock."
                "HiveMetastoreBasedLockProvider",
            )
        self._storage = storage
        self._name = name
        self._expire_ms = expire_minutes * 60_000
        self._clock = clock
        self._mine: bytes | None = None

    def try_acquire(self) -> bool:
        """Take the lock if it is free, expired, or that of an ended process."""
        if self._mine is not None:
            raise LockError("the lock is held already by the one who asks", path=self._storage.uri(self._name))
        mine = self._text()
        if not self._create(mine):
            lock_text = self._lock_text()
            if lock_text is not None and not self._take_away(lock_text):
                return False
            if not self._create(mine):
                return False
        self._mine = mine
        return True

    def _create(self, data: bytes) -> bool:
        try:
            self._storage.create_if_absent(self._name, data, lasting=False)
        except PathExistsError:
            return False
        except BaseException:  # the file may be there: it is nobody's
            self._released.add(data)
            raise
        return True

    def _text(self) -> bytes:
        return json.dumps(
            {
                "lockCreateTime": datetime.fromtimestamp(self._clock()).isoformat(" ", "milliseconds"),
                "lockThreadName": threading.current_thread().name,
                "lockStacksInfo": [],
                "owner": Owner.this_process().fields(),
                "token": uuid.uuid4().hex,
            }
        ).encode()

    def _lock_text(self) -> bytes | None:
        try:
            return self._storage.read_bytes(self._name)
        except PathNotFoundError:
            return None

    def _take_away(self, lock_text: bytes) -> bool:
        """Delete a void lock. Only one of those who find it so may: the others would delete its successor's."""
        if not self._is_void(lock_text, self._name):
            return False
        guard = f"{self._name}.takeover"
        try:
            self._storage.create_if_absent(guard, self._text(), lasting=False)
        except PathExistsError:
            left = self._read(guard)
            if left is not None and self._is_void(left, guard):
                self._storage.delete(guard)
            return False
        try:
            if self._lock_text() != lock_text:
                return False
            self._storage.delete(self._name)
            # Hadoop's checksum of another writer's file would make Hudi call ours corrupt.
            folder, _, name = self._name.rpartition("/")
            self._storage.delete(f"{folder}/.{name}.crc".lstrip("/"))
        finally:
            self._storage.delete(guard)
        return True

    def _read(self, name: str) -> bytes | None:
        try:
            return self._storage.read_bytes(name)
        except PathNotFoundError:
            return None

    def _is_void(self, lock_text: bytes, name: str) -> bool:
        owner = Owner.parse(lock_text)
        if lock_text in self._released or (owner is not None and owner.is_dead()):
            return True
        if not self._expire_ms:
            return False
        folder, _, _ = name.rpartition("/")
        listing = self._storage.list(folder, missing_ok=True)
        times = dict(zip(listing["path"].to_pylist(), listing["mtime_ms"].to_pylist(), strict=True))
        written = times.get(name)
        return written is not None and self._clock() * 1000 - written > self._expire_ms

    def verify(self) -> None:
        """Verify that the lock file is still that of this holder."""
        if self._mine is None or self._lock_text() != self._mine:
            raise LockLostError(
                "the table's lock was lost",
                path=self._storage.uri(self._name),
                remedy=f"it expired: raise {lock_options.LOCK_EXPIRE}, or somebody removed the file; write again",
            )

    def release(self) -> None:
        """Delete the lock file if it is that of this holder; one that cannot be deleted is ignored by this process."""
        mine, self._mine = self._mine, None
        if mine is None:
            return
        try:
            if self._lock_text() == mine:
                self._storage.delete(self._name)
        except BaseException:
            self._released.add(mine)
            raise

    def holder(self) -> str:
        """The holder of the lock, for messages."""
        lock_text = self._lock_text()
        owner = Owner.parse(lock_text) if lock_text else None
        who = str(owner) if owner is not None else "another writer"
        return f"{who} holds it; if that one will never let go, delete {self._storage.uri(self._name)}"


class TableLock:
    """A table's lock with waiting; a context manager that holds it inside the block.

    Args:
        provider: the lock.
        name: the table, for errors.
        retries: tries after the first.
        wait_ms: milliseconds between two tries, at most; the first waits are shorter.
        try_ms: milliseconds that each try waits for the lock; with 0 a try is a look.
        sleep: waits a number of seconds.
        folder: the lock of the table's folder, which is taken behind the other and given back before it.
    """

    def __init__(
        self,
        provider: LockProvider,
        name: str,
        *,
        retries: int = 50,
        wait_ms: int = 5000,
        try_ms: int = 0,
        sleep: Callable[[float], None] = time.sleep,
        folder: LockProvider | None = None,
    ) -> None:
        self._provider = provider
        self._folder = folder
        self._name = name
        # While one waits the lock is looked at again and again, so that waiting in a try and between two are one thing.
        self._patience_ms = float(retries * wait_ms + (retries + 1) * try_ms)
        self._longest_wait_ms = float(max(wait_ms, _FIRST_WAIT_MS) if try_ms else wait_ms)
        self._sleep = sleep

    @property
    def provider(self) -> LockProvider:
        """The provider of the lock."""
        return self._provider

    def acquire(self) -> None:
        """Wait until the lock is free and take it.

        Raises:
            LockTimeoutError: somebody held it all the time.
        """
        self._wait_for(self._provider)
        if self._folder is not None:
            try:
                self._wait_for(self._folder)
            except BaseException:
                self._provider.release()
                raise

    def _wait_for(self, provider: LockProvider) -> None:
        budget = self._patience_ms
        wait = min(_FIRST_WAIT_MS, self._longest_wait_ms)
        while not provider.try_acquire():
            if budget <= 0:
                provider.release()  # a provider with a queue would get the lock later, for nobody
                raise LockTimeoutError(
                    f"the table is locked: {provider.holder()}",
                    path=self._name,
                    remedy="write again later, or wait longer: "
                    f"{lock_options.LOCK_WAIT}, {lock_options.LOCK_CLIENT_RETRIES}",
                )
            self._sleep(min(wait, budget) / 1000)
            budget -= max(min(wait, budget), 1.0)
            wait = min(wait * 2, self._longest_wait_ms)

    def verify(self) -> None:
        """Verify that the lock is still held, right before the step that it protects.

        Raises:
            LockLostError: it is not.
        """
        self._provider.verify()
        if self._folder is not None:
            self._folder.verify()

    def release(self) -> None:
        """Release the lock."""
        try:
            if self._folder is not None:
                self._folder.release()
        finally:
            self._provider.release()

    def __enter__(self) -> Self:
        try:
            self.acquire()
        except LockError:
            raise
        except BaseException:  # an interrupt that came when the lock was taken
            self.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.release()
        except Exception:
            self.release()  # once more: a lock that stays bars all writers


MetastoreLockFactory = Callable[[str, str, str, int], LockProvider]
"""Makes the metastore's lock of URIs, database, table and milliseconds between two heartbeats.

Packages that know the metastore pass ``MetastoreLock.connect``.
"""


def table_lock(
    options: Mapping[str, Any],
    storage: Storage,
    *,
    metastore: MetastoreLockFactory | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> TableLock:
    """Make the lock of a table: that of Hudi's options, and on a local disk the folder lock.

    Args:
        options: write options, ``hoodie.write.lock.*`` among them; see ``docs/options.md``.
        storage: rooted at the table's base path.
        metastore: makes the metastore's lock; this layer knows no metastore.
        sleep: waits a number of seconds.

    Raises:
        InvalidOptionError: a provider that is not supported, or an option that is missing or no number.
        LockError: the provider cannot lock this table; or there is none, and the store creates no files atomically.
    """
    texts = as_texts(options)
    check_store(storage, texts)
    provider, folder = _provider(texts, storage, metastore), TableFolderLock.of(storage)
    return TableLock(
        provider,
        storage.uri(),
        retries=lock_options.LOCK_CLIENT_RETRIES.of(texts),
        wait_ms=lock_options.LOCK_CLIENT_RETRY_WAIT.of(texts),
        try_ms=lock_options.LOCK_WAIT.of(texts),
        sleep=sleep,
        folder=folder,
    )


def _provider(texts: Mapping[str, str], storage: Storage, metastore: MetastoreLockFactory | None) -> LockProvider:
    name = lock_options.LOCK_PROVIDER.of(texts)
    kind = "process" if name is None else _PROVIDERS[name.rpartition(".")[2]]
    if kind == "filesystem":
        expire = lock_options.LOCK_EXPIRE.of(texts)
        folder = lock_options.LOCK_PATH.of(texts)
        if folder:
            return FileSystemLock(Storage(folder, storage.storage_options), _FILE_NAME, expire_minutes=expire)
        return FileSystemLock(storage, f".hoodie/{_FILE_NAME}", expire_minutes=expire)
    if kind == "process":
        return InProcessLock(storage.uri())
    if metastore is None:
        raise InvalidOptionError(
            f"{lock_options.LOCK_PROVIDER}: the metastore's lock is not to be had here", remedy="name its URIs"
        )
    named = (lock_options.LOCK_URIS, lock_options.LOCK_DATABASE, lock_options.LOCK_TABLE)
    uris, database, table = (option.of(texts) for option in named)
    if uris is None or database is None or table is None:
        missing = [option.name for option in named if option.of(texts) is None]
        raise InvalidOptionError(f"the metastore's lock needs {', '.join(missing)}")
    return metastore(uris, database, table, lock_options.LOCK_HEARTBEAT.of(texts))
