"""A writer in a process of its own that is stopped before or after it makes sure of its lock, by ``SIGSTOP``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

_WRITE: Final = """
import json, os, signal, sys
import pyarrow as pa
from hudi_hive import HudiTable
from hudi_hive.write.coordination.locks import StoreLock, TableLock

path, storage_options, options, key, lease_s, behind = json.loads(sys.stdin.readline())
if lease_s:
    StoreLock.__init__.__kwdefaults__["lease_s"] = lease_s
verify = TableLock.verify

def stopped(lock):
    TableLock.verify = verify
    if behind:
        lock.verify()
    os.kill(os.getpid(), signal.SIGSTOP)
    if not behind:
        lock.verify()

TableLock.verify = stopped
try:
    HudiTable.open(path, storage_options).insert(pa.table({"id": [key]}), options)
except Exception as error:
    print(type(error).__name__, flush=True)
else:
    print("committed", flush=True)
"""


class PausedWriter:
    """Inserts one row, and stands still with the lock, before it commits; a context manager that ends it.

    Args:
        path: base path of the table.
        storage_options: of the table.
        options: of the write.
        key: of the row, in the column ``id``.
        lease_s: seconds of a :class:`StoreLock`'s lease; its own if not given.
        behind: stop behind making sure of the lock, when nothing but the request that completes the commit is left.
    """

    def __init__(
        self,
        path: str,
        storage_options: Mapping[str, str],
        options: Mapping[str, str],
        key: str,
        *,
        lease_s: float | None = None,
        behind: bool = False,
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WRITE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None
        given = [path, dict(storage_options), dict(options), key, lease_s, behind]
        self._process.stdin.write(json.dumps(given) + "\n")
        self._process.stdin.close()

    def __enter__(self) -> Self:
        _, status = os.waitpid(self._process.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            raise RuntimeError(f"the writer did not come to its commit: {self._output()}")
        return self

    def go_on(self) -> str:
        """Let the writer go on; gives ``committed``, or the name of the error that it got."""
        self._process.send_signal(signal.SIGCONT)
        outcome = self._output()
        self._process.wait()
        return outcome

    def _output(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.read().strip()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
