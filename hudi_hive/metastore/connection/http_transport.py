"""Thrift over HTTP/1.1, as Hive 4's metastores speak it in their transport mode ``http``: a POST for each call.

Who calls is said in each request: by a header with the user's name, or by a JSON Web Token that the server checks.
"""

from __future__ import annotations

import getpass
import os
from http.client import HTTPException, HTTPResponse
from io import BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from thrift.transport.TTransport import CReadableTransport, TTransportBase, TTransportException

from hudi_hive.errors import MetastoreSecurityError, MetastoreServerError
from hudi_hive.metastore.connection.wire import MOST_BYTES

if TYPE_CHECKING:
    from hudi_hive.metastore.connection.address import Address
    from hudi_hive.metastore.connection.security import Http
    from hudi_hive.metastore.connection.wire import BoundedSocket

TOKEN_VARIABLE: Final = "HMS_JWT"
"""The environment variable with a JSON Web Token, as in Hive's client."""

_USER_HEADER: Final = "x-actor-username"
_LONGEST_TEXT: Final = 300


class HttpTransport(TTransportBase, CReadableTransport):  # type: ignore[misc]
    """Requests and answers of one connection, which stays open from one to the next where the server lets it.

    Args:
        socket: opened by the caller, with TLS or without.
        address: of the metastore.
        user: whom the metastore takes us for, where the address names nobody.
    """

    def __init__(self, socket: BoundedSocket, address: Address, user: str | None) -> None:
        assert address.http is not None
        self._socket = socket
        self._address = address
        self._http = address.http
        self._user = self._http.user or user
        self._outgoing = BytesIO()
        self._incoming = BytesIO()

    def isOpen(self) -> bool:
        """Whether the connection is open."""
        return bool(self._socket.isOpen())

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def write(self, data: bytes) -> None:
        """Keep data for the next request."""
        self._outgoing.write(data)

    def flush(self) -> None:
        """Send what was written as one request, and read its answer as a whole.

        Raises:
            MetastoreSecurityError: the server refuses the user or the token.
            MetastoreServerError: it answers with another error of HTTP.
            TTransportException: the connection broke.
        """
        body = self._outgoing.getvalue()
        self._outgoing = BytesIO()
        self._socket.write(self._head(len(body)) + body)
        response = HTTPResponse(_Readable(self._socket), method="POST")  # type: ignore[arg-type]
        try:
            response.begin()
            answer = response.read(MOST_BYTES)
        except HTTPException as error:
            if isinstance(error, ConnectionError):
                raise TTransportException(
                    TTransportException.END_OF_FILE, "the server closed the connection"
                ) from error
            raise MetastoreServerError(
                "the answer is not one of HTTP", path=str(self._address), remedy="check that the port speaks HTTP"
            ) from error
        finally:
            response.close()
        if response.status != 200:
            raise self._refused(response.status, response.reason, answer)
        if response.will_close:
            self._socket.close()
        self._incoming = BytesIO(answer)

    def _head(self, length: int) -> bytes:
        host = f"[{self._address.host}]" if ":" in self._address.host else self._address.host
        lines = [
            f"POST {self._http.path} HTTP/1.1",
            f"Host: {host}:{self._address.port}",
            "Content-Type: application/x-thrift",
            "Accept: application/x-thrift",
            f"Content-Length: {length}",
            *(f"{name}: {value}" for name, value in self._http.headers),
            f"Authorization: Bearer {read_token(self._http)}" if self._http.jwt else f"{_USER_HEADER}: {self._name()}",
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8")

    def _name(self) -> str:
        name = self._user or os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
        if not name.isprintable():
            raise MetastoreSecurityError("the user's name does not fit into a header", path=str(self._address))
        return name

    def _refused(self, status: int, reason: str, body: bytes) -> MetastoreSecurityError | MetastoreServerError:
        lines = body[:4096].decode("utf-8", "replace").split("\n", 1)[0].strip()
        text = f"HTTP {status} {reason}{'' if lines.startswith('<') or not lines else f': {lines[:_LONGEST_TEXT]}'}"
        if status in (401, 403):
            return MetastoreSecurityError(
                f"the metastore refused the login: {text}",
                path=str(self._address),
                remedy=f"give a JSON Web Token that is valid now ({TOKEN_VARIABLE} or jwt_file), or a user",
            )
        remedy = (
            "check the path (hive.metastore.client.thrift.http.path)"
            if status in (404, 405)
            else "see the server's log"
        )
        return MetastoreServerError(f"the metastore answered {text}", path=str(self._address), remedy=remedy)

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes of the answer.

        Raises:
            TTransportException: there are no more.
        """
        data = self._incoming.read(size)
        if not data and size:
            raise TTransportException(TTransportException.END_OF_FILE, "the answer is cut off")
        return data

    @property
    def cstringio_buf(self) -> BytesIO:
        """The buffer that Thrift's C decoder reads from."""
        return self._incoming

    def cstringio_refill(self, prefix: bytes, size: int) -> BytesIO:
        """A buffer with more of the answer, of which there is none: it was read as a whole.

        Raises:
            TTransportException: always.
        """
        del prefix, size
        raise TTransportException(TTransportException.END_OF_FILE, "the answer is cut off")


def read_token(settings: Http) -> str:
    """The JSON Web Token of the file or of the environment, as it is now.

    Raises:
        MetastoreSecurityError: there is none.
    """
    remedy = f"write it to {TOKEN_VARIABLE}, or to a file that jwt_file names"
    if settings.jwt_file is None:
        token = os.environ.get(TOKEN_VARIABLE, "").strip()
    else:
        try:
            token = Path(settings.jwt_file).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            # Without its cause: a wrong file's contents may be in it.
            raise MetastoreSecurityError(
                "cannot read the JSON Web Token's file", path=settings.jwt_file, remedy="check jwt_file"
            ) from None
    if not token or not token.isascii() or any(character.isspace() for character in token):
        raise MetastoreSecurityError("there is no JSON Web Token", path=settings.jwt_file, remedy=remedy)
    return token


class _Readable(RawIOBase):
    """The socket as what Python's HTTP takes for one; deadline and bound are those of the exchange."""

    def __init__(self, socket: BoundedSocket) -> None:
        super().__init__()
        self._socket = socket

    def makefile(self, mode: str) -> BufferedReader:
        del mode
        return BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any writable buffer
        try:
            data = self._socket.read(len(buffer))
        except TTransportException as error:
            if error.type == TTransportException.END_OF_FILE:
                return 0
            raise
        buffer[: len(data)] = data
        return len(data)
