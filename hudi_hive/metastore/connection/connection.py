"""A Thrift connection to a metastore, whose failures become errors of this package.

In goes a method name with its arguments; out comes the answer or an error of ours that names the address and the
object. Nothing is retried here. Decoding uses Thrift's C module: it is five to eight times as fast as the Python one.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from thrift.Thrift import TApplicationException, TException
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from hudi_hive.errors import (
    AlreadyExistsError,
    InvalidOperationError,
    MetastoreConnectError,
    MetastoreError,
    MetastoreLostError,
    MetastoreSecurityError,
    MetastoreServerError,
    MetastoreTimeoutError,
    MethodNotSupportedError,
    MissingDependencyError,
    NoSuchObjectError,
)
from hudi_hive.metastore._thrift import ttypes
from hudi_hive.metastore.connection.address import Address
from hudi_hive.metastore.connection.answers import NAME_LISTS, WrongAnswerError, check_answer
from hudi_hive.metastore.connection.calls import CallCounter
from hudi_hive.metastore.connection.security import Sasl, Tls
from hudi_hive.metastore.connection.settings import Timeouts
from hudi_hive.metastore.connection.wire import MOST_ITEMS, MOST_NAMES, AnswerProtocol, BoundedSocket

_BUFFER = 1 << 16

_SERVER_ERRORS: tuple[tuple[type[TException], type[MetastoreServerError]], ...] = (
    (ttypes.NoSuchObjectException, NoSuchObjectError),
    (ttypes.UnknownDBException, NoSuchObjectError),
    (ttypes.UnknownTableException, NoSuchObjectError),
    (ttypes.NoSuchLockException, NoSuchObjectError),
    (ttypes.NoSuchTxnException, NoSuchObjectError),
    (ttypes.AlreadyExistsException, AlreadyExistsError),
    (ttypes.InvalidOperationException, InvalidOperationError),
    (ttypes.InvalidObjectException, InvalidOperationError),
    (ttypes.ConfigValSecurityException, InvalidOperationError),
    (ttypes.TxnAbortedException, InvalidOperationError),
    (ttypes.TxnOpenException, InvalidOperationError),
)


class Connection:
    """An open connection; for one thread at a time.

    Args:
        address: whom to talk to.
        timeouts: seconds to open it and to wait for each answer.
        calls: counts every request sent.
        tls: encrypt, and check whom we talk to; what the address says counts first.
        sasl: log in; what the address says counts first.
        user: announced with ``set_ugi`` before anything else, by HTTP in each request; None announces nobody.

    Raises:
        MetastoreConnectError: refused, unknown host, or not open within the time-out.
        MetastoreSecurityError: the certificate is not trusted, the login was refused, or the port wants neither.
        MissingDependencyError: the ``thrift`` package was installed without its C module.
    """

    def __init__(
        self,
        address: Address,
        timeouts: Timeouts,
        calls: CallCounter,
        *,
        tls: Tls | None = None,
        sasl: Sasl | None = None,
        user: str | None = None,
    ) -> None:
        self.address = address
        self._timeouts = timeouts
        self._calls = calls
        self._tls = address.tls or tls
        self._socket = BoundedSocket(address.host, address.port)
        login = None if address.http is not None else address.sasl or sasl
        transport = self._transport(login, user)
        try:
            self._protocol = AnswerProtocol(transport)
        except ImportError as error:
            raise MissingDependencyError(
                "the thrift package lacks its C module fastbinary",
                remedy="install a C compiler and run: pip install --force-reinstall --no-cache-dir thrift",
            ) from error
        # Loaded only now: its hundreds of small classes are half the cost of importing the client.
        from hudi_hive.metastore._thrift.ThriftHiveMetastore import Client

        self._client: Any = Client(self._protocol)  # type: ignore[no-untyped-call]
        self._open()
        try:
            if login is not None:
                # Still under the connect time-out: a port that does not speak SASL may just wait for more.
                self._socket.begin(self._timeouts.connect)
                self._log_in(transport)
            if user is not None and address.http is None:
                self.call("set_ugi", user, [], about=f"user {user}")
        except BaseException:
            self.close()
            raise

    def _transport(self, login: Sasl | None, user: str | None) -> Any:  # noqa: ANN401 - Thrift has no types
        if self.address.http is not None:
            from hudi_hive.metastore.connection.http_transport import HttpTransport

            return HttpTransport(self._socket, self.address, user)
        transport = TBufferedTransport(self._socket, _BUFFER)
        if login is None:
            return transport
        from hudi_hive.metastore.connection.sasl import SaslTransport, make_mechanism

        try:
            return SaslTransport(transport, make_mechanism(login, self.address.host))
        except MetastoreSecurityError as error:
            raise MetastoreSecurityError(
                error.message, path=error.path or str(self.address), remedy=error.remedy
            ) from error

    def _log_in(self, transport: Any) -> None:  # noqa: ANN401 - only loaded when used
        try:
            transport.log_in()
        except MetastoreSecurityError as error:
            raise MetastoreSecurityError(error.message, path=str(self.address), remedy=error.remedy) from error
        except (TTransportException, OSError) as error:
            cause = getattr(error, "inner", None) or error
            raise MetastoreSecurityError(
                f"the connection broke in the SASL login: {_plain(cause)}",
                path=str(self.address),
                remedy="check that the metastore wants SASL, and whether it wants TLS",
            ) from error

    def _open(self) -> None:
        # The socket is opened here because the runtime's own way logs each refusal and cannot tell the time-outs apart.
        address = (self.address.host, self.address.port)
        remedy = "check that the metastore runs and that the URI is right"
        try:
            opened = socket.create_connection(address, self._timeouts.connect)
        except TimeoutError as error:
            raise MetastoreConnectError(
                f"no connection to the metastore within {self._timeouts.connect:g} s",
                path=str(self.address),
                remedy=remedy,
            ) from error
        except (OSError, UnicodeError) as error:
            raise MetastoreConnectError(
                f"cannot connect to the metastore: {_plain(error)}", path=str(self.address), remedy=remedy
            ) from error
        # Requests are small: waiting to fill a packet would only add delay.
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if self._tls is not None:
            opened = self._encrypted(opened, self._tls)
        self._socket.setHandle(opened)

    def _encrypted(self, opened: socket.socket, tls: Tls) -> socket.socket:
        import ssl

        try:
            # Still under the connect time-out: a port that does not speak TLS may just wait for more.
            return tls.context().wrap_socket(opened, server_hostname=tls.server_name or self.address.host)
        except ssl.SSLCertVerificationError as error:
            message = f"the metastore's certificate is refused: {error.verify_message}"
            remedy = "name its authority with ca_file, or the name in it with server_name"
            cause: Exception = error
        except (OSError, ValueError) as error:
            message = f"no TLS connection to the metastore: {_plain(error)}"
            remedy = "check that its port speaks TLS and takes our certificate"
            cause = error
        except BaseException:
            opened.close()
            raise
        opened.close()
        raise MetastoreSecurityError(message, path=str(self.address), remedy=remedy) from cause

    def call(self, method: str, *arguments: object, about: str) -> Any:  # noqa: ANN401 - as many types as methods
        """Send one request and wait for its answer.

        Args:
            method: Thrift method.
            arguments: its arguments.
            about: the object the call is about (``table db.t``), for messages.

        Raises:
            MetastoreTransportError: time-out or broken connection; the connection is closed then.
            MetastoreServerError: the metastore's own refusal; the connection stays usable.
        """
        self._calls.add(method)
        self._client._seqid += 1
        self._protocol.expect(method, self._client._seqid, MOST_NAMES if method in NAME_LISTS else MOST_ITEMS)
        self._socket.begin(self._timeouts.read)
        usable = False
        try:
            with self._mapped(method, about):
                try:
                    answer = getattr(self._client, method)(*arguments)
                except (TApplicationException, *_DECLARED):
                    usable = True
                    raise
                check_answer(method, arguments, answer)
            usable = True
            return answer
        finally:
            if not usable:
                self.close()

    @contextmanager
    def _mapped(self, method: str, about: str) -> Iterator[None]:
        try:
            yield
        except MetastoreError:
            raise
        except TTransportException as error:
            raise self._transport_error(error, method, about) from error
        except TApplicationException as error:
            raise self._application_error(error, method, about) from error
        except _DECLARED as error:
            raise self._server_error(error, about) from error
        except WrongAnswerError as error:
            raise MetastoreServerError(
                f"the answer to {method} on {about} has {error}",
                path=str(self.address),
                remedy="check that this is a Hive metastore of version 2.3 or newer",
            ) from error
        except TypeError as error:
            # The C module says TypeError for values of the wrong type in a request as well as for a broken answer.
            raise MetastoreServerError(f"{method} on {about}: {_plain(error)}", path=str(self.address)) from error
        except Exception as error:  # bytes that are no answer make the decoder fail in any place
            raise MetastoreServerError(
                f"the answer to {method} on {about} is not the metastore's protocol: {_plain(error)}",
                path=str(self.address),
                remedy="check that this is a Hive metastore's binary Thrift port, and whether it wants TLS or SASL",
            ) from error

    def _transport_error(self, error: TTransportException, method: str, about: str) -> MetastoreError:
        if error.type == TTransportException.TIMED_OUT or isinstance(getattr(error, "inner", None), TimeoutError):
            return MetastoreTimeoutError(
                f"no answer to {method} on {about} within {self._timeouts.read:g} s",
                path=str(self.address),
                remedy="raise the read time-out or make batches smaller",
            )
        cause = getattr(error, "inner", None) or error
        # Of an SSLError, whose class plain connections do not load.
        reason = str(getattr(cause, "reason", None) or "")
        if self._tls is not None and "ALERT" in reason:
            # TLS 1.3 tells of a certificate that the server misses or refuses only here, before it reads a request.
            return MetastoreSecurityError(
                f"the metastore ended the TLS connection: {reason}",
                path=str(self.address),
                remedy="give a certificate that it takes",
            )
        return MetastoreLostError(
            f"the connection broke in the middle of {method} on {about}: {_plain(cause)}",
            path=str(self.address),
            remedy="check the metastore's log (a port that wants SASL or TLS closes too) and run again",
        )

    def _application_error(self, error: TApplicationException, method: str, about: str) -> MetastoreError:
        if error.type == TApplicationException.UNKNOWN_METHOD:
            return MethodNotSupportedError(
                f"the metastore does not have the call {method}",
                path=str(self.address),
                remedy="use a Hive metastore of version 2.3 or newer",
            )
        return MetastoreServerError(
            f"the metastore failed in {method} on {about}: {_plain(error)}",
            path=str(self.address),
            remedy="the metastore's log has the cause",
        )

    def _server_error(self, error: TException, about: str) -> MetastoreError:
        kind = next((ours for theirs, ours in _SERVER_ERRORS if isinstance(error, theirs)), MetastoreServerError)
        text = str(getattr(error, "message", None) or type(error).__name__)
        return kind(f"{about}: {text}", path=str(self.address), remedy=_REMEDIES.get(kind))

    @property
    def closed(self) -> bool:
        """True once closed here."""
        return self._socket.handle is None

    @property
    def is_open(self) -> bool:
        """False once closed here or by the server (checked without sending anything)."""
        if self._tls is None or self._socket.handle is None:
            return bool(self._socket.isOpen())
        # Nothing can be peeked at in an encrypted connection; between calls nothing but its end should come.
        watch = select.poll()
        watch.register(self._socket.handle, select.POLLIN)
        if watch.poll(0):
            self.close()
            return False
        return True

    def close(self) -> None:
        """Close; may be called twice."""
        self._socket.close()

    def abort(self) -> None:
        """Break a call that another thread waits in, then close."""
        handle = self._socket.handle
        if handle is not None:
            with suppress(OSError):  # already broken, which is what was wanted
                # The plain socket's, because TLS would forget its keys under the other thread's feet.
                socket.socket.shutdown(handle, socket.SHUT_RDWR)


_DECLARED: tuple[type[TException], ...] = (ttypes.MetaException, *(theirs for theirs, _ in _SERVER_ERRORS))
_REMEDIES: dict[type[MetastoreServerError], str] = {
    NoSuchObjectError: "check the name; a Hudi table is there once it was synced (`hudi-hive sync`)",
    AlreadyExistsError: "use another name or drop the old one",
}


def broke_off(error: MetastoreSecurityError) -> bool:
    """Whether TLS or login was interrupted rather than refused, as by a metastore that is stopping."""
    cause = error.__cause__
    if isinstance(cause, TTransportException):
        return cause.type == TTransportException.END_OF_FILE or isinstance(cause.inner, ConnectionError)
    return isinstance(cause, ConnectionError | EOFError) or type(cause).__name__ == "SSLEOFError"


def _plain(error: BaseException) -> str:
    """The shortest useful text of a foreign error."""
    text = getattr(error, "strerror", None) or getattr(error, "message", None) or str(error)
    return str(text) or type(error).__name__
