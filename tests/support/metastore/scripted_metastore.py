"""A server on loopback that reads Thrift requests and answers with whatever bytes a script gives, at any pace."""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TMessageType, TType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TMemoryBuffer, TTransportException

Script = Callable[[str, int], bytes | Iterable[bytes]]
"""Method and number of a request -> the bytes of the answer, in one piece or in several."""


class ScriptedMetastore:
    """The server; a context manager. The connection ends behind each answer.

    Args:
        script: what to answer; may be replaced at any time.
        lasting: the connection ends only behind answers that come in several pieces.
    """

    def __init__(self, script: Script, *, lasting: bool = False) -> None:
        self.script = script
        self._lasting = lasting
        self.requests = 0
        self._ended = threading.Event()

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()

    def _serve(self) -> None:
        while not self._ended.is_set():
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection, suppress(OSError, TTransportException, EOFError):
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        wire = TSocket()
        wire.setHandle(connection)
        protocol = TBinaryProtocol(TBufferedTransport(wire))
        whole = True
        while whole and not self._ended.is_set():
            name, _, number = protocol.readMessageBegin()
            protocol.skip(TType.STRUCT)
            self.requests += 1
            answer = self.script(name, number)
            whole = isinstance(answer, bytes)
            for piece in [answer] if isinstance(answer, bytes) else answer:
                if self._ended.is_set():
                    return
                connection.sendall(piece)
            whole = whole and self._lasting

    def pause(self, seconds: float) -> None:
        """Wait between two pieces, no longer than the server lives."""
        self._ended.wait(seconds)


def reply(name: str, number: int, body: bytes, kind: int = TMessageType.REPLY) -> bytes:
    """A message with any body."""
    text = name.encode()
    return struct.pack(">I", 0x80010000 | kind) + struct.pack(">i", len(text)) + text + struct.pack(">i", number) + body


def encoded(result: Any) -> bytes:
    """The body of an answer, from a generated result struct."""
    buffer = TMemoryBuffer()
    result.write(TBinaryProtocol(buffer))
    data: bytes = buffer.getvalue()
    return data


def field(kind: int, number: int, value: bytes) -> bytes:
    """One field of a struct."""
    return struct.pack(">bh", kind, number) + value


def in_success(kind: int, value: bytes) -> bytes:
    """The body of an answer whose field ``success`` has these bytes."""
    return field(kind, 0, value) + b"\0"


def damaged(rng: random.Random, good: bytes) -> bytes:
    """An answer with a flipped bit, an overwritten integer, cut off, or with bytes put in."""
    data = bytearray(good)
    at = rng.randrange(len(data))
    kind = rng.randrange(4)
    if kind == 0:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        data[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0"])
    elif kind == 2:
        del data[at:]
    else:
        data[at:at] = rng.randbytes(rng.randint(1, 9))
    return bytes(data)
