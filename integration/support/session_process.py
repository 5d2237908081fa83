"""A process with a Spark session that is asked by lines of JSON, and answers them between what Spark prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

ROOT: Final = Path(__file__).parents[2]
DONE: Final = "done: "
"""What lines of answers begin with; JSON is behind it."""


class SessionProcess:
    """The process; a context manager, at whose end its input ends and it is waited for.

    Args:
        arguments: of Python.
        environment: all variables.
    """

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        command = [sys.executable, *arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True, cwd=ROOT
        )

    def send(self, what: object) -> None:
        """Write one line."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def ask(self, what: object) -> Any:
        """Write one line, and give its answer.

        Raises:
            RuntimeError: the process ended without one.
        """
        self.send(what)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(DONE):
                return json.loads(line.removeprefix(DONE))
        raise RuntimeError("the session has ended")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def session_environment() -> dict[str, str]:
    """The variables of this process, with those by which Spark finds this checkout and its Python."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
