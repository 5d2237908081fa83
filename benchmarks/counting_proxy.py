"""A loopback proxy, a process of its own: counts the calls of a Thrift binary connection by name, and may delay them.

A connection carries one call at a time: bytes from the client after bytes from the server begin the next call, and a
call begins with its version, the length of its name and the name.
"""

from __future__ import annotations

import collections
import contextlib
import json
import socket
import struct
import subprocess
import sys
import threading
import time
from types import TracebackType
from typing import Self


class CountingProxy:
    """Forwards to a port of this machine and counts.

    Args:
        port: where to forward to.
        delay: seconds by which each call comes later, as over a long way.
    """

    def __init__(self, port: int, delay: float = 0.0) -> None:
        command = [sys.executable, __file__, str(port), str(delay)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.uri = f"thrift://127.0.0.1:{int(self._process.stdout.readline())}"

    def take(self) -> dict[str, int]:
        """The calls since the last time, by name."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        counts: dict[str, int] = json.loads(process.stdout.readline())
        return counts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def serve(target: int, delay: float) -> None:
    counts: collections.Counter[str] = collections.Counter()
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=accept, args=(listener, target, delay, counts), daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    for _ in sys.stdin:
        print(json.dumps(counts), flush=True)
        counts.clear()


def accept(listener: socket.socket, target: int, delay: float, counts: collections.Counter[str]) -> None:
    while True:
        client, _ = listener.accept()
        server = socket.create_connection(("127.0.0.1", target))
        for item in (client, server):
            item.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answered = threading.Event()
        answered.set()
        for job, arguments in ((back, ()), (forth, (counts, delay))):
            threading.Thread(target=job, args=(client, server, answered, *arguments), daemon=True).start()


def forth(
    client: socket.socket, server: socket.socket, answered: threading.Event, counts: dict[str, int], delay: float
) -> None:
    with contextlib.suppress(OSError):
        head: bytes | None = None  # of a call whose name has not come in full yet
        while data := client.recv(1 << 18):
            if answered.is_set():
                answered.clear()
                head = b""
                time.sleep(delay)
            if head is not None:
                head += data[:256]
                name = call_name(head)
                if name is not None:
                    counts[name] += 1
                    head = None
            server.sendall(data)
    hang_up(server)


def call_name(head: bytes) -> str | None:
    if len(head) < 8:
        return None
    version, length = struct.unpack_from(">Ii", head)
    if version >> 16 != 0x8001 or not 0 < length < 200:
        return f"not understood: {head[:16]!r}"
    return head[8 : 8 + length].decode() if len(head) >= 8 + length else None


def back(client: socket.socket, server: socket.socket, answered: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while data := server.recv(1 << 18):
            answered.set()
            client.sendall(data)
    hang_up(client)


def hang_up(item: socket.socket) -> None:
    with contextlib.suppress(OSError):
        item.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(int(sys.argv[1]), float(sys.argv[2]))
