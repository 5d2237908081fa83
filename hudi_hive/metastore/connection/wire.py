"""The socket and the protocol of a Thrift connection: each answer has one deadline and a bound, and must be its own.

Thrift's own socket counts its time-out anew for each packet and reads on as long as bytes come; its protocol takes an
answer to another call for the answer to this one.
"""

from __future__ import annotations

import time
from typing import Any, Final, NamedTuple

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TMessageType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TTransportException

MOST_BYTES: Final = 1 << 30
"""Bytes that one answer may have."""

MOST_TEXT: Final = 64 << 20
"""Bytes of a single text in an answer: a view's text or a table's property."""

MOST_ITEMS: Final = 1_000_000
"""Items of one list or map in an answer."""

MOST_NAMES: Final = 16_000_000
"""The same of an answer that is a list of names."""

_PIECE: Final = 1 << 20
"""Bytes asked for at once: room is made for as many before any has come."""


class BoundedExchange:
    """Deadline and bytes left of the exchange under way; mixed into one of Thrift's sockets."""

    handle: Any
    _deadline: float | None = None
    _bytes_left: int = MOST_BYTES

    def begin(self, seconds: float) -> None:
        """Begin an exchange of one request and its answer.

        Args:
            seconds: until the answer has to be there as a whole.
        """
        self._deadline = time.monotonic() + seconds
        self._bytes_left = MOST_BYTES

    def _wait_at_most(self) -> None:
        """Set the time-out of the next packet to what is left of the whole."""
        if self.handle is None:
            raise TTransportException(TTransportException.NOT_OPEN, "the connection is closed")
        if self._deadline is not None:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise TTransportException(TTransportException.TIMED_OUT, "the answer is not whole in time")
            self.handle.settimeout(left)

    def read(self, sz: int) -> bytes:
        """Up to ``sz`` bytes, at least one."""
        self._wait_at_most()
        data: bytes = super().read(min(sz, _PIECE))  # type: ignore[misc]
        self._bytes_left -= len(data)
        if self._bytes_left < 0:
            raise TTransportException(TTransportException.SIZE_LIMIT, f"an answer of more than {MOST_BYTES:,} bytes")
        return data

    def readAll(self, sz: int) -> bytes:
        """Exactly ``sz`` bytes."""
        data = bytearray()
        while len(data) < sz:
            data += self.read(sz - len(data))
        return bytes(data)

    def write(self, buff: bytes) -> None:
        """Send all bytes."""
        view = memoryview(buff)
        while view:
            self._wait_at_most()
            try:
                view = view[self.handle.send(view[:_PIECE]) :]
            except TimeoutError as error:
                raise TTransportException(TTransportException.TIMED_OUT, "write timeout", inner=error) from error
            except OSError as error:
                raise TTransportException(message="unexpected exception", inner=error) from error


class BoundedSocket(BoundedExchange, TSocket):  # type: ignore[misc]
    """A socket whose exchanges have one deadline and a largest size."""


class MessageBegin(NamedTuple):
    """The beginning of a Thrift message: name of the method, type of the message, number of the call."""

    name: str
    kind: int
    number: int


class AnswerProtocol(TBinaryProtocolAccelerated):  # type: ignore[misc]
    """Thrift's binary protocol, which takes no answer but that to the call it sent.

    Args:
        transport: a C-readable transport.
    """

    def __init__(self, transport: Any) -> None:  # noqa: ANN401
        # strictRead: an answer that does not start with the protocol's version is refused, not taken for a length.
        super().__init__(
            transport,
            strictRead=True,
            fallback=False,
            string_length_limit=MOST_TEXT,
            container_length_limit=MOST_ITEMS,
        )
        self._call = ("", 0)

    def expect(self, method: str, number: int, items: int) -> None:
        """Set what the next answer has to be the answer to, and how many items its lists may have."""
        self._call = (method, number)
        self.container_length_limit = items

    def readMessageBegin(self) -> MessageBegin:
        """Name, type and number of a message.

        Raises:
            TProtocolException: it is no answer to the call.
        """
        name, kind, number = super().readMessageBegin()
        if kind not in (TMessageType.REPLY, TMessageType.EXCEPTION) or (name, number) != self._call:
            raise TProtocolException(
                TProtocolException.INVALID_DATA, f"message {str(name)[:60]!r} number {number} is no answer to the call"
            )
        return MessageBegin(name, kind, number)
