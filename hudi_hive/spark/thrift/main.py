"""The process of a Thrift server: an enabled PySpark session with Spark's server on it.

Spark calls Python back to plan a statement, so the server lives beside a Python process, and this is that process; the
Java one is its child. It is made and spoken to by :class:`hudi_hive.spark.ThriftServer`:

* argument: process id of the parent;
* standard input: one line of JSON (:class:`LaunchCommand`), since a command line and a file may be seen by others; the
  end of the input is the order to leave;
* standard output: lines ``stage TEXT``, then ``ready PORT`` or ``failed TEXT``; all else goes to standard error.

However the parent ends, this process and Java do too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

_LEAVE_SECONDS = 10.0
_LOOK_SECONDS = 0.5
_MAX_CAUSES = 16
_LONGEST_REASON = 600


@dataclass(frozen=True)
class LaunchCommand:
    """The settings that the server process gets on its standard input when it starts.

    Attributes:
        launch: settings that Spark needs on Java's command line: memory, class path, folders.
        settings: all other settings of Spark.
        storage_options: for this package's own file access.
        enables: whether synced Hudi tables are answered for; without it this is Spark's server as others run it.
    """

    launch: dict[str, str]
    settings: dict[str, str]
    storage_options: dict[str, Any]
    enables: bool = True

    def to_line(self) -> bytes:
        """One line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> LaunchCommand:
        """Parse a line of :meth:`to_line`."""
        return cls(**json.loads(line))


class _Process:
    """This process, its Java child and its way out."""

    def __init__(self, parent: int, output: int) -> None:
        self._parent = parent
        self._output = os.fdopen(output, "w", encoding="utf-8")
        self._leaving = threading.Lock()
        self.java: subprocess.Popen[bytes] | None = None

    def say(self, line: str) -> None:
        """A line for the parent; one that is gone does not hear it."""
        with suppress(OSError):
            print(" ".join(line.split()), file=self._output, flush=True)

    def watch(self) -> None:
        """Leave when the input ends, or when somebody else holds it open and the parent is gone."""
        for task in (self._read, self._look):
            threading.Thread(target=task, name=task.__name__, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError):
            while os.read(0, 1024):
                continue
        self.leave(0)

    def _look(self) -> None:
        while os.getppid() == self._parent:
            time.sleep(_LOOK_SECONDS)
        self.leave(0)

    def leave(self, code: int) -> None:
        """End Java in peace if it likes, and then this process and whatever Java left."""
        self._leaving.acquire()  # Never given back: one way out is enough.
        java = self.java
        if java is not None and java.stdin is not None:
            # Java's order to leave, too.
            with suppress(OSError, subprocess.TimeoutExpired):
                java.stdin.close()
                java.wait(_LEAVE_SECONDS)
        if os.getpgrp() == os.getpid() and (java is None or java.poll() is None):
            # What hangs, or has hardly begun; this process as well.
            os.killpg(0, signal.SIGKILL)
        os._exit(code)


def main() -> None:
    """Start the server and wait until it ends."""
    output = os.dup(1)
    # Whatever prints, Java too, prints to the log.
    os.dup2(2, 1)
    process = _Process(int(sys.argv[1]), output)
    command = LaunchCommand.of_line(_first_line())
    process.watch()
    try:
        port = _serve(process, command)
    except BaseException as error:
        import traceback

        traceback.print_exc()
        process.say(f"failed {_reason(error)[:_LONGEST_REASON]}")
        process.leave(1)
    process.say(f"ready {port}")
    assert process.java is not None
    process.java.wait()
    process.leave(1)


def _first_line() -> bytes:
    """The first line of standard input; unbuffered, since what follows is looked at elsewhere."""
    line = b""
    while not line.endswith(b"\n"):
        read = os.read(0, 65536)
        if not read:
            os._exit(0)
        line += read
    return line


def _serve(process: _Process, command: LaunchCommand) -> int:
    """Make the session and the server on it; gives the server's port."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    from hudi_hive.spark.bridge import REDACTED_NAMES, REDACTION, class_name
    from hudi_hive.spark.session import enable
    from hudi_hive.spark.versions import SPARK

    launch = SparkConf(loadDefaults=False).setAll(list(command.launch.items()))
    gateway = launch_gateway(launch, {"stdout": sys.stderr})  # type: ignore[no-untyped-call]
    process.java = gateway.proc
    process.say("stage starting Spark")
    given = {REDACTION: REDACTED_NAMES, **command.launch, **command.settings}
    settings = SparkConf(loadDefaults=False).setAll(list(given.items()))
    context = SparkContext(conf=settings, gateway=gateway)
    spark = SparkSession(context)
    if command.enables:
        enable(spark, storage_options=command.storage_options)
    process.say("stage opening the port")
    server = SPARK.start_thrift_server(context, spark._jsparkSession)
    # Beside it there is the one that carries statements out.
    (port,) = [item.getPortNumber() for item in server.getServices() if class_name(item).startswith("Thrift")]
    return int(port)


def _reason(error: BaseException) -> str:
    """The innermost cause in Java of an error, or the error itself."""
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if cause is None:
        return f"{type(error).__name__}: {error}"
    for _ in range(_MAX_CAUSES):
        if cause.getCause() is None:
            break
        cause = cause.getCause()
    return f"{cause.getClass().getSimpleName()}: {cause.getMessage()}"
