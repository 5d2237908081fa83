"""An HTTP proxy in front of an object store: counts requests on the wire, delays them, and breaks them.

It runs in a thread of the test, so that a test sees every request as an object and decides by a function which is to
fail. Addresses are plain HTTP on loopback; bodies are held in memory.
"""

from __future__ import annotations

import asyncio
import enum
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self
from urllib.parse import unquote

_LIMIT: Final = 1 << 20
_HEAD_END: Final = b"\r\n\r\n"


class Fault(enum.Enum):
    """What becomes of a request."""

    THROTTLED = "503"
    SERVER_ERROR = "500"
    EXPIRED = "expired token"
    FORBIDDEN = "access denied"
    RESET = "reset before the server has it"
    CUT = "answer ends in the middle"
    ANSWER_LOST = "done, and reset before the answer"
    ANSWER_LATE = "done, and answered when the client has given up"
    HELD = "reset, and done when the proxy lets it go"


_ANSWERS: Final = {
    Fault.THROTTLED: (503, "SlowDown", "Please reduce your request rate."),
    Fault.SERVER_ERROR: (500, "InternalError", "We encountered an internal error. Please try again."),
    Fault.EXPIRED: (400, "ExpiredToken", "The provided token has expired."),
    Fault.FORBIDDEN: (403, "AccessDenied", "Access Denied"),
}


@dataclass(eq=False)
class Request:
    """A request that came to the proxy.

    Attributes:
        method: HTTP's method.
        path: what follows the host, unquoted, without the query.
        query: the query as it came.
        headers: by names in small letters.
        kind: what it asks of an S3 server: ``GET``, ``RANGE``, ``LIST``, ``HEAD``, ``PUT``, ``CREATE`` (a put under a
            condition), ``COPY``, ``DELETE``, ``DELETE MANY``, ``BEGIN UPLOAD``, ``PART``, ``END UPLOAD``, ``BUCKET``.
        sent: bytes of its body.
        began: when it came, seconds of a clock that never goes back.
        ended: when its answer was sent; 0 until then.
        answered: bytes of the answer's body.
        status: of the answer; 0 if there was none.
        in_flight: requests that were being served when it came, itself among them.
        fault: what was done to it.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    kind: str = ""
    sent: int = 0
    began: float = 0.0
    ended: float = 0.0
    answered: int = 0
    status: int = 0
    in_flight: int = 0
    fault: Fault | None = None

    def __str__(self) -> str:
        return f"{self.kind:12} {self.status} {self.path}{'?' + self.query if self.query else ''}"


Decide = Callable[[Request], Fault | None]
"""Which fault a request is to have."""


RewriteRequest = Callable[[Request, bytes], bytes]
"""What goes on to the server in place of a request: its head and body as they came."""

RewriteAnswer = Callable[[Request, bytes, bytes], tuple[bytes, bytes]]
"""Head and body of an answer in place of the server's."""


def without_header(name: str) -> RewriteRequest:
    """A server that does not know a header of requests."""

    def rewrite(_: Request, data: bytes) -> bytes:
        head, end, body = data.partition(_HEAD_END)
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(name.encode() + b":")]
        return b"\r\n".join(lines) + end + body

    return rewrite


def pages_of(count: int) -> RewriteRequest:
    """A server whose listings have so many objects in a page."""

    def rewrite(request: Request, data: bytes) -> bytes:
        return data.replace(b"list-type=2", b"list-type=2&max-keys=%d" % count, 1) if request.kind == "LIST" else data

    return rewrite


@dataclass
class Recording:
    """Requests of a while, in the order in which they came."""

    requests: list[Request] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.requests)

    @property
    def kinds(self) -> Counter[str]:
        """Requests of each kind."""
        return Counter(request.kind for request in self.requests)

    @property
    def in_flight(self) -> int:
        """Most requests at one time."""
        return max((request.in_flight for request in self.requests), default=0)

    @property
    def rounds(self) -> int:
        """Most requests of which each came when the one before was answered.

        To be trusted with a delay that is long beside what a client does between two requests side by side.
        """
        rounds, end = 0, float("-inf")
        for request in sorted(self.requests, key=lambda item: item.ended):
            if request.began >= end:
                rounds, end = rounds + 1, request.ended
        return rounds

    @property
    def alone(self) -> int:
        """Requests beside which there was no other at any time."""
        latest = float("-inf")
        alone = 0
        for request, following in zip(self.requests, [*self.requests[1:], None], strict=True):
            alone += latest <= request.began and (following is None or following.began >= request.ended)
            latest = max(latest, request.ended)
        return alone

    def paths(self, kind: str) -> list[str]:
        """Paths of the requests of a kind."""
        return [request.path for request in self.requests if request.kind == kind]

    def __str__(self) -> str:
        return "\n".join(str(request) for request in self.requests)


class StoreProxy:
    """Forwards HTTP requests to a port of this machine; a context manager.

    Args:
        port: where to forward to.

    Attributes:
        port: its own port on 127.0.0.1.
        delay_s: seconds that each request waits before it goes on.
        decide: says of each request which fault it has; None breaks none.
        rewrite: changes what goes on to the server.
        answer: changes what the server answered.
        requests: all that came so far.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._held: list[tuple[Request, bytes]] = []
        self._in_flight = 0
        self.port = 0
        self.delay_s = 0.0
        self.decide: Decide | None = None
        self.rewrite: RewriteRequest | None = None
        self.answer: RewriteAnswer | None = None
        self.requests: list[Request] = []

    def __enter__(self) -> Self:
        self._thread.start()
        listening = asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_LIMIT, backlog=512)
        server = asyncio.run_coroutine_threadsafe(listening, self._loop).result()
        self.port = server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async def end() -> None:
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for _, writer in self._free:
                writer.close()

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @contextmanager
    def recording(self, delay_s: float | None = None) -> Iterator[Recording]:
        """Record the requests of a block.

        Args:
            delay_s: what each waits in this block; as before if not given.
        """
        before, begin = self.delay_s, len(self.requests)
        if delay_s is not None:
            self.delay_s = delay_s
        recording = Recording()
        try:
            yield recording
        finally:
            self.delay_s = before
            recording.requests += self.requests[begin:]

    @contextmanager
    def breaking(self, decide: Decide) -> Iterator[Recording]:
        """Break requests of a block, and record them all."""
        before, self.decide = self.decide, decide
        try:
            with self.recording() as recording:
                yield recording
        finally:
            self.decide = before

    def let_go(self) -> list[Request]:
        """Have the server carry out what was held, in the order in which it came; gives the requests, with status."""
        held, self._held = self._held, []

        async def forward() -> None:
            for request, data in held:
                request.status, _, body, _ = await self._forward(request, data)
                request.answered = len(body)

        asyncio.run_coroutine_threadsafe(forward(), self._loop).result()
        return [request for request, _ in held]

    # -- one connection ------------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve the next request; whether another one may follow."""
        head = await reader.readuntil(_HEAD_END)
        first, headers = _parsed(head)
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            lines = head.split(b"\r\n")
            head = b"\r\n".join(line for line in lines if not line.lower().startswith(b"expect:"))
        body = await _body(reader, headers)
        method, target, _ = first.split(" ", 2)
        path, _, query = target.partition("?")
        request = Request(method, unquote(path), query, headers, _kind(method, path, query, headers), len(body))
        request.began = time.monotonic()
        self._in_flight += 1
        request.in_flight = self._in_flight
        self.requests.append(request)
        try:
            answer, lasting = await self._answer(request, head + body)
            if request.fault is Fault.ANSWER_LATE:
                await reader.read(1)  # nothing: the client goes away when it has waited long enough
                answer = b""
        finally:
            self._in_flight -= 1
            request.ended = time.monotonic()
        if answer:
            writer.write(answer)
            await writer.drain()
        else:
            writer.transport.abort()
        return lasting and bool(answer)

    async def _answer(self, request: Request, data: bytes) -> tuple[bytes, bool]:
        """What is sent back, nothing for a reset, and whether the connection lasts."""
        fault = request.fault = self.decide(request) if self.decide is not None else None
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        if fault in _ANSWERS:
            request.status = _ANSWERS[fault][0]
            return _refusal(fault, request.method), True
        if fault is Fault.HELD:
            self._held.append((request, data))
        if fault in (Fault.RESET, Fault.HELD):
            return b"", False
        if self.rewrite is not None:
            data = self.rewrite(request, data)
        status, head, body, lasting = await self._forward(request, data)
        if self.answer is not None:
            head, body = self.answer(request, head, body)
        request.status, request.answered = status, len(body)
        if fault is Fault.ANSWER_LOST:
            return b"", False
        if fault is Fault.CUT:
            return (head + body[: len(body) // 2] if body else head[: len(head) // 2]), False
        return head + body, lasting

    async def _forward(self, request: Request, data: bytes) -> tuple[int, bytes, bytes, bool]:
        """Status, head and body of the server's answer, and whether the connection lasts."""
        while True:
            used = bool(self._free)
            reader, writer = (
                self._free.pop() if used else await asyncio.open_connection("127.0.0.1", self._target, limit=_LIMIT)
            )
            try:
                writer.write(data)
                while True:
                    head = await reader.readuntil(_HEAD_END)
                    first, headers = _parsed(head)
                    status = int(first.split(" ", 2)[1])
                    if status != 100:
                        break
                bodiless = request.method == "HEAD" or status in (204, 304)
                to_end = not bodiless and not {"content-length", "transfer-encoding"} & set(headers)
                body = b"" if bodiless else await (reader.read() if to_end else _body(reader, headers))
            except (OSError, asyncio.IncompleteReadError):
                writer.close()
                if used:
                    continue  # the server had closed it meanwhile
                raise
            lasting = not to_end and headers.get("connection", "").lower() != "close" and first.startswith("HTTP/1.1")
            if lasting:
                self._free.append((reader, writer))
            else:
                writer.close()
            return status, head, body, lasting


def random_faults(
    rate: float, faults: Sequence[Fault], seed: int, *, kinds: Collection[str] | None = None, most: int | None = None
) -> Decide:
    """Break a part of all requests, the same of the same order of requests.

    Args:
        rate: which part.
        faults: one of which each has.
        seed: of the choice.
        kinds: break requests of these kinds alone.
        most: break no more than so many.
    """
    choice = random.Random(seed)
    broken = 0

    def decide(request: Request) -> Fault | None:
        nonlocal broken
        if kinds is not None and request.kind not in kinds:
            return None
        if choice.random() >= rate or (most is not None and broken >= most):
            return None
        broken += 1
        return choice.choice(faults)

    return decide


def nth_fault(number: int, fault: Fault, matches: Callable[[Request], bool] = lambda _: True) -> Decide:
    """Break one request: that with a number, from 1, of those that match."""
    seen = 0

    def decide(request: Request) -> Fault | None:
        nonlocal seen
        if not matches(request):
            return None
        seen += 1
        return fault if seen == number else None

    return decide


def _parsed(head: bytes) -> tuple[str, dict[str, str]]:
    """The first line of a message, and its headers."""
    first, *lines = head[: -len(_HEAD_END)].decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return first, {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    """The body of a message as it comes, with the sizes of its chunks if it has some."""
    if "chunked" not in headers.get("transfer-encoding", "").lower():
        return await reader.readexactly(int(headers.get("content-length") or 0))
    parts = []
    while True:
        line = await reader.readline()
        size = int(line.split(b";")[0], 16)
        parts.append(line)
        if size == 0:
            break
        parts.append(await reader.readexactly(size + 2))
    while (line := await reader.readline()) not in (b"\r\n", b""):
        parts.append(line)
    return b"".join([*parts, line])


def _kind(method: str, path: str, query: str, headers: Mapping[str, str]) -> str:
    names = {pair.partition("=")[0] for pair in query.split("&")}
    key = path.strip("/").partition("/")[2]
    if method == "GET" and "list-type" in names:
        return "LIST"
    if method == "POST":
        uploads = {"uploads": "BEGIN UPLOAD", "uploadId": "END UPLOAD", "delete": "DELETE MANY"}
        return next((kind for name, kind in uploads.items() if name in names), "POST")
    if not key:
        return "BUCKET"
    if method == "GET":
        return "RANGE" if "range" in headers else "GET"
    if method == "PUT":
        if "partNumber" in names:
            return "PART"
        if "x-amz-copy-source" in headers:
            return "COPY"
        return "CREATE" if "if-none-match" in headers or "if-match" in headers else "PUT"
    return method


def _refusal(fault: Fault, method: str) -> bytes:
    status, code, message = _ANSWERS[fault]
    text = f"<Error><Code>{code}</Code><Message>{message}</Message><RequestId>1</RequestId></Error>"
    body = b"" if method == "HEAD" else f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode()
    return (
        f"HTTP/1.1 {status} X\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    )
