"""Thrift's SASL transport: a login of status-and-length messages, then frames of up to 2 GiB with a length each.

Source: Thrift's ``TSaslTransport``. Lengths are checked before anything is read for them, because who sends them has
not proved yet who they are. ``PLAIN`` is done here; delegation tokens need the package ``pure-sasl``, Kerberos the
package ``gssapi``.
"""

from __future__ import annotations

import re
import struct
from enum import IntEnum
from io import BytesIO
from typing import Any, Final, Protocol

from thrift.transport.TTransport import CReadableTransport, TTransportBase, TTransportException

from hudi_hive.errors import HudiHiveError, MetastoreSecurityError, MissingDependencyError
from hudi_hive.metastore.connection.security import DIGEST, KERBEROS, PLAIN, Sasl

_HEADER = struct.Struct(">BI")
_LENGTH = struct.Struct(">i")
_LARGEST_MESSAGE = 1 << 20
_LONGEST_LOGIN = 16  # messages


_PROTECTED: Final = re.compile(rb'qop="(?!(?:[^"]*,)?auth[",])')
"""A challenge of DIGEST-MD5 that does not offer the quality of protection ``auth``."""

_REFUSED: Final = {
    PLAIN: "check user and password, and which mechanism the metastore takes",
    DIGEST: "get a new delegation token: it has expired, was cancelled, or is another metastore's",
    KERBEROS: "check the metastore's principal and keytab, and which mechanism it takes",
}


class Status(IntEnum):
    """The first byte of each message of a login."""

    START = 1
    OK = 2
    BAD = 3
    ERROR = 4
    COMPLETE = 5


class Mechanism(Protocol):
    """The interface of a SASL mechanism, which is that of pure-sasl's client."""

    @property
    def name(self) -> str:
        """Its name, as it is announced."""

    @property
    def complete(self) -> bool:
        """Whether both sides have proved who they are."""

    def process(self, challenge: bytes | None = None) -> bytes | None:
        """Answer a challenge; None for the first message."""

    def wrap(self, outgoing: bytes) -> bytes:
        """Encode data for the wire."""

    def unwrap(self, incoming: bytes) -> bytes:
        """Decode data from the wire."""


class Plain:
    """User and password in one message (RFC 4616)."""

    name = PLAIN

    def __init__(self, user: str, password: str) -> None:
        self._message = f"\0{user}\0{password}".encode()
        self.complete = False

    def process(self, challenge: bytes | None = None) -> bytes:
        """Answer a challenge of the server; PLAIN sends one message and is done."""
        self.complete = True
        return self._message if challenge is None else b""

    def wrap(self, outgoing: bytes) -> bytes:
        """Protect a message that goes out: PLAIN has no layer of its own."""
        return outgoing

    def unwrap(self, incoming: bytes) -> bytes:
        """Unprotect a message that came in: PLAIN has no layer of its own."""
        return incoming


class Digest:
    """Identifier and password of a delegation token, by DIGEST-MD5 (RFC 2831) of the package pure-sasl.

    Raises:
        MissingDependencyError: pure-sasl is not installed.
    """

    name = DIGEST

    def __init__(self, user: str, password: str) -> None:
        try:
            from puresasl.client import SASLClient  # type: ignore[import-untyped]
        except ImportError as error:
            raise MissingDependencyError(
                f"SASL mechanism {DIGEST} needs the package pure-sasl", remedy="pip install 'hudi_hive[hive]'"
            ) from error
        # Hive's server has no protocol name, which Java writes as "null", and no host but "default".
        self._client: Any = SASLClient("default", "null", DIGEST, username=user, password=password)

    @property
    def complete(self) -> bool:
        """Whether the server has proved that it has the password too."""
        return bool(self._client.complete)

    def process(self, challenge: bytes | None = None) -> bytes | None:
        """Answer a challenge of the server.

        Raises:
            MetastoreSecurityError: the server wants encrypted or signed messages, which pure-sasl does not have.
        """
        if challenge is not None and _PROTECTED.search(challenge):
            raise MetastoreSecurityError(
                "the metastore wants its messages protected (hadoop.rpc.protection), which a login by token cannot",
                remedy="log in by Kerberos, or let the metastore take hadoop.rpc.protection=authentication too",
            )
        answer: bytes | None = self._client.process(challenge)
        return answer

    def wrap(self, outgoing: bytes) -> bytes:
        """Protect a message that goes out."""
        return bytes(self._client.wrap(outgoing))

    def unwrap(self, incoming: bytes) -> bytes:
        """Unprotect a message that came in."""
        return bytes(self._client.unwrap(incoming))


def make_mechanism(settings: Sasl, host: str) -> Mechanism:
    """A mechanism for one login at ``host``.

    A delegation token is looked up in its file now, so that a file which was replaced meanwhile counts.

    Raises:
        MissingDependencyError: a Python package that it needs is not installed.
        MetastoreSecurityError: it cannot even begin (no Kerberos ticket, most often).
    """
    if settings.mechanism == PLAIN:
        return Plain(settings.user or "", settings.password or "")
    if settings.user is not None:
        return Digest(settings.user, settings.password or "")
    if settings.keytab is None or settings.token_file is not None or settings.token_signature is not None:
        from hudi_hive.metastore.connection.tokens import find_token

        token = find_token(settings)
        if token is not None:
            login = token.login()
            return Digest(login.user or "", login.password or "")
    if settings.mechanism == DIGEST:
        raise MetastoreSecurityError(
            f"no delegation token of Hive with the service {settings.token_signature or ''!r}",
            path=settings.token_file,
            remedy="check hive.metastore.token.signature and HADOOP_TOKEN_FILE_LOCATION",
        )
    from hudi_hive.metastore.connection.kerberos import Gssapi

    return Gssapi(settings, host)


class SaslTransport(TTransportBase, CReadableTransport):  # type: ignore[misc]
    """A login, then framed data, over another transport.

    Args:
        transport: buffered; open, unless :meth:`open` opens it.
        mechanism: does the login and, where it protects data, wraps it.
        largest_frame: bytes of the largest frame taken.
    """

    def __init__(self, transport: Any, mechanism: Mechanism, largest_frame: int = (1 << 31) - 1) -> None:  # noqa: ANN401
        self._transport = transport
        self._name = mechanism.name
        self._mechanism = mechanism
        self._largest_frame = largest_frame
        self._outgoing = BytesIO()
        self._incoming = BytesIO()

    # -- the login ---------------------------------------------------------------------------------------------------

    def log_in(self) -> None:
        """Log in; nothing else may be sent before.

        Raises:
            MetastoreSecurityError: refused, or the other side does not speak SASL.
            TTransportException: the connection broke.
        """
        first = self._process(None)
        self._send(Status.START, self._name.encode("ascii"))
        self._send(Status.OK, first)
        for _ in range(_LONGEST_LOGIN):
            status, body = self._receive()
            if status is Status.COMPLETE:
                # The last word of a server may still have to be checked (it proves who the server is).
                if body:
                    self._process(body)
                if not self._mechanism.complete:
                    raise MetastoreSecurityError("the server ended the SASL login before it was done")
                return
            if status is not Status.OK:
                said = body[:500].decode("utf-8", "replace") or status.name
                raise MetastoreSecurityError(
                    f"the metastore refused the {self._name} login: {said}",
                    remedy=_REFUSED.get(self._name, _REFUSED[PLAIN]),
                )
            self._send(Status.OK, self._process(body))
        raise MetastoreSecurityError(f"the {self._name} login does not end")

    def _process(self, challenge: bytes | None) -> bytes:
        try:
            return self._mechanism.process(challenge) or b""
        except HudiHiveError:
            raise
        except Exception as error:  # each mechanism has its own hierarchy
            raise MetastoreSecurityError(f"the {self._name} login failed on our side: {error}") from error

    def _send(self, status: Status, body: bytes) -> None:
        self._transport.write(_HEADER.pack(status, len(body)) + body)
        self._transport.flush()

    def _receive(self) -> tuple[Status, bytes]:
        code, length = _HEADER.unpack(self._transport.readAll(_HEADER.size))
        if code not in tuple(Status) or length > _LARGEST_MESSAGE:
            raise MetastoreSecurityError(
                "the answer to the SASL login is no SASL message", remedy="check that the metastore's port wants SASL"
            )
        return Status(code), self._transport.readAll(length) if length else b""

    # -- data --------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the connection and log in."""
        self._transport.open()
        self.log_in()

    def isOpen(self) -> bool:
        """Whether the connection is open."""
        return bool(self._transport.isOpen())

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def write(self, data: bytes) -> None:
        """Keep data for the next frame."""
        self._outgoing.write(data)

    def flush(self) -> None:
        """Send what was written as one frame."""
        data = self._mechanism.wrap(self._outgoing.getvalue())
        self._outgoing = BytesIO()
        self._transport.write(_LENGTH.pack(len(data)) + data)
        self._transport.flush()

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes."""
        data = self._incoming.read(size)
        if not data and size:
            self._incoming = BytesIO(self._frame())
            data = self._incoming.read(size)
        return data

    def _frame(self) -> bytes:
        while True:
            (length,) = _LENGTH.unpack(self._transport.readAll(_LENGTH.size))
            if not 0 <= length <= self._largest_frame:
                raise TTransportException(TTransportException.SIZE_LIMIT, f"a SASL frame of {length} bytes")
            data = self._mechanism.unwrap(self._transport.readAll(length) if length else b"")
            if data:
                return data

    @property
    def cstringio_buf(self) -> BytesIO:
        """The buffer that Thrift's C decoder reads from."""
        return self._incoming

    def cstringio_refill(self, prefix: bytes, size: int) -> BytesIO:
        """A buffer of ``prefix`` and frames after it, of at least ``size`` bytes."""
        parts, length = [prefix], len(prefix)
        while length < size:
            parts.append(self._frame())
            length += len(parts[-1])
        self._incoming = BytesIO(b"".join(parts))
        return self._incoming
