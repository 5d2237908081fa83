"""Another process that holds the lock of a table until it is told to let go."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

_HOLD = """
import json, sys
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.storage import Storage
from hudi_hive.write.coordination import table_lock

options = json.loads(sys.argv[2])
lock = table_lock(options, Storage(sys.argv[1]), metastore=MetastoreLock.connect)
# With a provider this process holds that lock alone, so that the folder's does not stand in for it.
one = lock.provider if options else lock
for line in sys.stdin:
    if line.strip() == "take":
        one.try_acquire() if options else one.acquire()
    else:
        one.release()
    print(line.strip(), flush=True)
"""


class LockHolder:
    """A process that takes and releases a table's lock on command; a context manager that ends it.

    Args:
        path: the table's base path.
        options: ``hoodie.write.lock.*``; without any the process holds the kernel's lock of the folder.
    """

    def __init__(self, path: Path, options: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _HOLD, str(path), json.dumps(dict(options))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def take(self) -> None:
        """Have the process take the lock, which must be free."""
        self._tell("take")

    def release(self) -> None:
        """Have the process release the lock."""
        self._tell("release")

    def _tell(self, word: str) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(f"{word}\n")
        stdin.flush()
        assert stdout.readline().strip() == word

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()
