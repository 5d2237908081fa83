"""A TCP proxy that dies at the n-th call: what a client sees of a server that is killed or a network that breaks.

Works for protocols in which a connection carries one call at a time (Thrift does): bytes from the client after bytes
from the server are the next call. Calls of all connections are counted together.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self


class FlakyProxy:
    """Forwards to a port of this machine until call ``die_at`` (from 1).

    Args:
        port: where to forward to.
        die_at: the call to die at; None never dies.
        answer_lost: the call reaches the server and its answer is lost; otherwise the call itself is lost.
    """

    def __init__(self, port: int, die_at: int | None = None, *, answer_lost: bool = False) -> None:
        self._target = port
        self._die_at = die_at
        self._answer_lost = answer_lost
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.calls = 0
        self.dead = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def uri(self) -> str:
        """Address for a metastore client."""
        return f"thrift://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Cut all connections and accept no more."""
        with self._lock:
            self.dead = True
            sockets, self._sockets = self._sockets, []
        for item in [self._listener, *sockets]:
            with contextlib.suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
            item.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                with self._lock:
                    self._sockets += [client, server]
                threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        """One connection: a call to the server, its answer back, until someone hangs up."""
        answered = threading.Event()
        answered.set()
        losing = threading.Event()

        def back() -> None:
            with contextlib.suppress(OSError):
                while data := server.recv(65536):
                    if losing.is_set():
                        self.close()
                        return
                    answered.set()
                    client.sendall(data)

        threading.Thread(target=back, daemon=True).start()
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if answered.is_set():
                    answered.clear()
                    with self._lock:
                        self.calls += 1
                        mine = self.calls == self._die_at
                    if mine and not self._answer_lost:
                        self.close()
                        return
                    if mine:
                        losing.set()
                server.sendall(data)
