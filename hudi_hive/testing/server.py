"""The server of the fake metastore: the generated processor on a loopback socket, a thread per connection."""

from __future__ import annotations

import logging
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from hudi_hive.metastore._thrift import ThriftHiveMetastore, ttypes
from hudi_hive.testing.faults import Fault, FaultKind, Faults
from hudi_hive.testing.partitions import FakeCatalog

_BUFFER = 1 << 16


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call that reached the server."""

    method: str
    arguments: tuple[Any, ...]

    @property
    def size(self) -> int:
        """The number of names or partitions in the arguments."""
        for argument in self.arguments:
            for found in (argument, *(getattr(argument, name, None) for name in ("parts", "tblNames"))):
                found = getattr(found, "names", None) or found
                if isinstance(found, list):
                    return len(found)
        return 0


class FakeMetastore:
    """A metastore in memory that any Thrift client can talk to; see ``hudi_hive.testing``.

    Args:
        warehouse: folder for databases and tables without a location; None makes a temporary one.
        check_types: refuse incompatible column changes, as Hive does by default.
        can_compare: whether it can compare a table parameter with the expected value of a guarded change.
        without: Thrift methods that it claims not to have.

    Example:
        >>> from hudi_hive.metastore import HiveMetastore
        >>> with FakeMetastore() as metastore, HiveMetastore(metastore.uri) as client:
        ...     client.databases()
        ['default']
    """

    def __init__(
        self,
        warehouse: str | Path | None = None,
        *,
        check_types: bool = True,
        can_compare: bool = True,
        without: tuple[str, ...] = (),
    ) -> None:
        self._own_warehouse = tempfile.TemporaryDirectory(prefix="metastore-") if warehouse is None else None
        self.warehouse = Path(self._own_warehouse.name if self._own_warehouse else str(warehouse)).absolute()
        self.catalog = FakeCatalog(self.warehouse)
        self.catalog.check_types = check_types
        self.catalog.can_compare = can_compare
        self.faults = Faults()
        self.calls: list[RecordedCall] = []
        self.connections = 0
        self.most_at_once = 0
        self._at_once = 0
        self._without = without
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._port = 0
        self._open: set[socket.socket] = set()

    # -- life -------------------------------------------------------------------------------------------------------

    @property
    def uri(self) -> str:
        """``thrift://127.0.0.1:PORT``; stays the same over a stop and a new start."""
        return f"thrift://127.0.0.1:{self._port}"

    def start(self) -> Self:
        """Listen on a free port of the loopback address (after a stop: on the same port again)."""
        listener = socket.create_server(("127.0.0.1", self._port))
        self._port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), name="fake-metastore", daemon=True).start()
        return self

    def stop(self) -> None:
        """Close the port and all connections, also during calls; the contents stay."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            # A thread waits in accept; only a shutdown wakes it at once.
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._own_warehouse is not None:
            self._own_warehouse.cleanup()

    # -- what the test sees -----------------------------------------------------------------------------------------

    def inject(self, kind: FaultKind | str, **when: Any) -> None:  # noqa: ANN401 - fields of Fault
        """Simulate a fault from now on: ``inject("drop", method="get_table_req", at=2)``; see ``Fault``."""
        self.faults.inject(Fault(FaultKind(kind), **when))

    @property
    def counts(self) -> Counter[str]:
        """Calls that reached it, by method."""
        with self._lock:
            return Counter(call.method for call in self.calls)

    def sizes(self, method: str) -> list[int]:
        """Names or partitions in each call of a method, in order of arrival."""
        with self._lock:
            return [call.size for call in self.calls if call.method == method]

    # -- serving ----------------------------------------------------------------------------------------------------

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                if self._listener is not listener:  # stopped between accept and here: nobody else would close it
                    connection.close()
                    return
                self.connections += 1
                self._open.add(connection)
            serve = threading.Thread(
                target=self._serve, args=(connection, listener), name="fake-metastore-call", daemon=True
            )
            serve.start()

    def _serve(self, connection: socket.socket, listener: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = TSocket()
        stream.setHandle(connection)
        protocol = TBinaryProtocolAccelerated(TBufferedTransport(stream, _BUFFER), fallback=False)
        processor: Any = ThriftHiveMetastore.Processor(_Handler(self, listener))  # type: ignore[no-untyped-call]
        for method in self._without:
            processor._processMap.pop(method)
        try:
            while True:
                processor.process(protocol, protocol)
        except (TException, OSError, EOFError):
            pass  # the client went away, or a fault says that we do
        finally:
            with self._lock:
                self._open.discard(connection)
            # Not only closed: the C module may still hold the descriptor.
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def handle(self, method: str, arguments: tuple[Any, ...], listener: socket.socket) -> Any:  # noqa: ANN401
        """Handle one call on a connection of ``listener``: record it, apply the faults that are due, execute it."""
        call = RecordedCall(method, arguments)
        with self._lock:
            self._check_alive(listener)
            self.calls.append(call)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return self._do(call, listener)
        finally:
            with self._lock:
                self._at_once -= 1

    def _check_alive(self, listener: socket.socket) -> None:
        """Refuse calls that arrive after ``stop``, which closes connections one after another."""
        if self._listener is not listener:
            raise TTransportException(TTransportException.UNKNOWN, "stopped")

    def _do(self, call: RecordedCall, listener: socket.socket) -> Any:  # noqa: ANN401
        faults = self.faults.due(call.method, call.size)
        for fault in faults:
            self._before(fault)
        with self._lock:
            self._check_alive(listener)
            try:
                answer = getattr(self.catalog, call.method)(*call.arguments)
            except RuntimeError as error:
                raise _Internal(str(error)) from error
        for fault in faults:
            if fault.kind in (FaultKind.DROP_AFTER, FaultKind.DIE_AFTER):
                self._leave(fault)
        return answer

    def _before(self, fault: Fault) -> None:
        if fault.kind is FaultKind.DELAY:
            time.sleep(fault.seconds)
        elif fault.kind is FaultKind.REFUSE:
            raise ttypes.MetaException(message=fault.message)
        elif fault.kind is FaultKind.INTERNAL:
            raise _Internal(fault.message)
        elif fault.kind in (FaultKind.DROP, FaultKind.DIE):
            self._leave(fault)

    def _leave(self, fault: Fault) -> None:
        if fault.kind in (FaultKind.DIE, FaultKind.DIE_AFTER):
            self.stop()
        # The generated processor lets this one error through to the loop that serves the connection.
        raise TTransportException(TTransportException.UNKNOWN, "connection dropped on demand")


class _Internal(TApplicationException):  # type: ignore[misc]
    """Thrift's internal error."""

    def __init__(self, message: str) -> None:
        super().__init__(TApplicationException.INTERNAL_ERROR, message)


class _Handler:
    """What the generated processor calls: every method goes to ``FakeMetastore.handle``."""

    def __init__(self, metastore: FakeMetastore, listener: socket.socket) -> None:
        self._metastore = metastore
        self._listener = listener

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return lambda *arguments: self._metastore.handle(method, arguments, self._listener)


# The generated processor logs each error that it answers with; here they are the point of a test.
logging.getLogger("hudi_hive.metastore._thrift").addHandler(logging.NullHandler())
