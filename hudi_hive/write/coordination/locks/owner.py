"""Identifies the process that holds a lock or sends a heartbeat, also after its process id was used again.

A lock or heartbeat names its process, so that another one on the same machine sees at once that it has died and need
not wait for an expiry. Of processes elsewhere nothing is known, and nothing is assumed.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Final

_MACHINE_FILES: Final = ("/proc/sys/kernel/random/boot_id", "/etc/machine-id")


@dataclass(frozen=True)
class Owner:
    """A process that owns a lock or heartbeat.

    Args:
        host: name of its machine, for people.
        machine: what tells the machine, its boot and its process numbers apart from others; empty if unknown.
        pid: process number.
        started: when it started, in the kernel's ticks; empty if unknown.
    """

    host: str
    machine: str
    pid: int
    started: str

    @classmethod
    def this_process(cls) -> Owner:
        """The owner of the current process."""
        pid = os.getpid()
        return cls(socket.gethostname(), _machine(), pid, _started(pid))

    @classmethod
    def parse(cls, data: bytes) -> Owner | None:
        """Parse the owner in the JSON of a lock or heartbeat; None if there is none, as in those of other writers."""
        try:
            fields = json.loads(data)["owner"]
            owner = cls(str(fields["host"]), str(fields["machine"]), int(fields["pid"]), str(fields["started"]))
        except (ValueError, KeyError, TypeError):
            return None
        return owner

    def fields(self) -> dict[str, str | int]:
        """The owner as fields of a JSON object."""
        return asdict(self)

    def is_dead(self) -> bool:
        """Whether the process has certainly ended: it was one of this machine and does not exist any more."""
        if not self.machine or self.machine != _machine():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False  # it runs under another user
        started = _started(self.pid)
        return bool(self.started and started and started != self.started)

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


@cache
def _machine() -> str:
    """Boot and space of process numbers of this machine; two containers of one host must not be taken for one."""
    parts = []
    for path in _MACHINE_FILES:
        try:
            parts.append(Path(path).read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            continue
    try:
        parts.append(os.readlink("/proc/self/ns/pid"))
    except OSError:
        return ""  # without it a process of the same number may be a stranger's
    return "/".join([socket.gethostname(), *parts])


def _started(pid: int) -> str:
    try:
        # The name, in parentheses, may hold anything; the start is the 20th field behind it.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        state, ticks = fields[0], fields[19]
    except (OSError, IndexError):
        return ""
    return "ended" if state in "ZX" else ticks
