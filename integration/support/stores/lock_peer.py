"""Hudi's own lock providers in a process: takes and releases a lock when it is told to."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from hudi_hive.metastore import find_java
from integration.support.metastores import Artifact, fetch
from tools.real_hudi import class_path

_MAIN: Final = Path(__file__).with_name("LockPeer.java")
_S3_CLIENT: Final = Path(__file__).with_name("S3StorageLockClient.java")
_SECONDS: Final = 300.0
_ANSWERS: Final = ("ready", "true", "false")

WAIT_MS: Final = "hoodie.write.lock.wait_time_ms"


class LockPeer:
    """A provider of a release; a context manager that ends its process.

    Args:
        provider: its class.
        properties: Hudi's options, ``hoodie.base.path`` among them.
        release: the release whose bundle has the class.
        jars: what the bundle does not have.
        endpoint: URL of an S3 server without signatures, for the storage lock.
    """

    def __init__(
        self,
        provider: str,
        properties: Mapping[str, str],
        *,
        release: str = "1.1.1",
        jars: Sequence[Artifact] = (),
        endpoint: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        more = {"source": str(_S3_CLIENT), "endpoint": endpoint} if endpoint else {}
        given = {WAIT_MS: "1000", **properties, **more}
        paths = [*(str(fetch(jar)) for jar in jars), class_path(release=release)]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            [
                *(str(find_java().executable), "-Xmx160m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
                *("-cp", os.pathsep.join(paths), "org.codehaus.janino.SimpleCompiler", str(_MAIN), _MAIN.stem),
                *(provider, *(f"{name}={text}" for name, text in given.items())),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            bufsize=1,
            env={**os.environ, **(environment or {})},
        )

    def __enter__(self) -> Self:
        self._answer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def lock(self) -> bool:
        """Take the lock, waiting as long as ``hoodie.write.lock.wait_time_ms`` says."""
        return self._ask("lock")

    def unlock(self) -> None:
        """Release the lock."""
        if not self._ask("unlock"):
            raise RuntimeError(f"Hudi's lock was not released: {self._log()}")

    def _ask(self, what: str) -> bool:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        return self._answer() == "true"

    def _answer(self) -> str:
        assert self._process.stdout is not None
        watch = select.poll()
        watch.register(self._process.stdout, select.POLLIN)
        while watch.poll(_SECONDS * 1000):
            line = self._process.stdout.readline()
            if not line:
                break
            if line.split(maxsplit=1)[0] in _ANSWERS:  # loggers write there too
                return line.split(maxsplit=1)[0]
        raise RuntimeError(f"Hudi's lock gave no answer: {self._log()}")

    def _log(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-3000:]
