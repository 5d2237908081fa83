"""A module of these tests that serves in a process of its own: it prints its port and ends with its standard input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[3]


class ModuleServer:
    """The process of a module.

    Args:
        module: its full name, which is run as a program.
        name: of the server, for messages.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> int:
        """Start the process and give the port where it listens on 127.0.0.1.

        Raises:
            RuntimeError: it ended before.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the {self._name} server ended with {self._process.wait()} before it listened")
        return int(line)

    def stop(self) -> None:
        """Stop the process if it runs; what it held is gone."""
        process, self._process = self._process, None
        if process is not None:
            process.communicate()
