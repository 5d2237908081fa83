"""A server in a folder of its own, which ends with the process that started it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

_START_SECONDS: Final = 300.0
_STOP_SECONDS: Final = 60.0
_SCRIPT: Final = """
"$@" </dev/null & child=$!
{ read -r _ <&3; kill -"$END" "$child"; } & watch=$!
wait "$child"; kill "$watch" 2>/dev/null
cd /; rm -rf "$FOLDER"
"""
"""The shell reads a pipe from us: when we stop, or are gone, the server ends, and then its folder goes."""


class ServerProcess:
    """A folder below the folder of temporary files, and commands and a server in it.

    Args:
        name: what it is, for the folder's name and messages.
        user: system user of server and folder where we are root; None for our own.
        end_signal: ends the server without waiting for its clients.
    """

    def __init__(self, name: str, *, user: str | None = None, end_signal: str = "TERM") -> None:
        self._name = name
        self._user = user if os.getuid() == 0 else None
        self._end_signal = end_signal
        self._process: subprocess.Popen[bytes] | None = None
        self.folder = Path(tempfile.mkdtemp(prefix=f"hudi-hive-{name}-"))
        if self._user is not None:
            owner = pwd.getpwnam(self._user)
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)

    @property
    def log(self) -> str:
        """The end of the server's log."""
        path = self.folder / "server.log"
        return path.read_text(errors="replace")[-3000:] if path.exists() else ""

    def run(self, *command: str | Path, text: str = "") -> str:
        """Run a command as the server's user and give its output.

        Raises:
            RuntimeError: it failed.
        """
        done = subprocess.run(
            [str(word) for word in command],
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            cwd=self.folder,
            **self._identity(),
        )
        if done.returncode != 0:
            raise RuntimeError(f"{self._name}: {Path(command[0]).name} failed: {(done.stdout + done.stderr)[-2000:]}")
        return done.stdout

    def start(self, command: Sequence[str | Path], is_ready: Callable[[], bool]) -> None:
        """Start the server and wait until it is ready.

        Raises:
            RuntimeError: it ended, or was not ready within minutes; the end of its log is quoted.
        """
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", f"exec 3<&0; {_SCRIPT}", "sh", *(str(word) for word in command)],
                cwd=self.folder,
                env={**os.environ, "END": self._end_signal, "FOLDER": str(self.folder)},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._identity(),
            )
        deadline = time.monotonic() + _START_SECONDS
        while not is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                log_text = self.log
                self.stop()
                raise RuntimeError(f"{self._name} did not start: {log_text}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the server, wait until it is gone, and remove its folder."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _identity(self) -> dict[str, object]:
        if self._user is None:
            return {}
        owner = pwd.getpwnam(self._user)
        return {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}


def free_port() -> int:
    """A TCP port on the loopback address that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def accepts(port: int) -> bool:
    """Whether somebody listens at a port of the loopback address."""
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    return False
