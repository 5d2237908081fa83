"""A Java process that reports its progress and ends when its input ends, for all servers that we start.

It prints ``stage TEXT``, then ``ready PORT`` or ``failed TEXT`` on standard output; the end of its standard input is
the order to leave.
"""

from __future__ import annotations

import queue
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO

_STOP_SECONDS = 15.0


def wait_for_port(
    process: subprocess.Popen[bytes],
    timeout: float,
    *,
    progress: Callable[[str], None],
    failure: Callable[[str], Exception],
) -> int:
    """Wait until the process is ready.

    Args:
        process: its standard output is a pipe that nobody else reads.
        timeout: seconds.
        progress: told each stage.
        failure: makes the error of what went wrong (``failed: …``, ``was not ready within …``).

    Returns:
        The TCP port that it listens at.

    Raises:
        Exception: what ``failure`` made.
    """
    assert process.stdout is not None
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_read_lines, args=(process.stdout, lines), name="java-output", daemon=True).start()
    deadline = time.monotonic() + timeout
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise failure(f"was not ready within {timeout:g} s") from None
        if line is None:
            raise failure(f"ended with code {process.wait()} before it was ready")
        word, _, rest = line.partition(" ")
        if word == "stage":
            progress(rest)
        elif word == "failed":
            raise failure(f"failed: {rest}")
        elif word == "ready":
            return int(rest)


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Stop a process and wait for its end; one that does not react is terminated, then killed."""
    try:
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        for urge in (None, process.terminate, process.kill):
            if urge is not None:
                urge()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_SECONDS)
                return
    except BaseException:
        # A second Ctrl-C while waiting: no more patience, but no server left behind either.
        process.kill()
        process.wait()
        raise


def _read_lines(stream: IO[bytes], lines: queue.SimpleQueue[str | None]) -> None:
    with suppress(OSError, ValueError):
        for line in stream:
            lines.put(line.decode("utf-8", "replace").strip())
    lines.put(None)
