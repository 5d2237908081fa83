"""Delegation tokens: Hadoop's tokens as text and in files, with which a process logs in that has no Kerberos ticket.

Source: ``org.apache.hadoop.security.token.Token`` and ``org.apache.hadoop.security.Credentials`` (both file formats).
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hudi_hive.errors import MetastoreSecurityError
from hudi_hive.metastore.connection.security import DIGEST, Sasl
from hudi_hive.secret_references import SecretFields

TOKEN_KIND: Final = "HIVE_DELEGATION_TOKEN"
"""Kind of the tokens of metastores and of HiveServer2."""

TOKEN_FILE_VARIABLE: Final = "HADOOP_TOKEN_FILE_LOCATION"
"""The environment variable in which YARN and Spark name a process's token file."""

_MAGIC: Final = b"HDTS"
_WRITABLE, _PROTOBUF = 0, 1


class _BrokenError(ValueError):
    """Bytes that are no token."""


@dataclass(frozen=True, slots=True)
class DelegationToken(SecretFields):
    """A token that stands for its owner until it expires or is cancelled.

    Args:
        identifier: what it says: owner, renewer, times.
        password: proves that its holder got it.
        kind: ``HIVE_DELEGATION_TOKEN``.
        service: the signature by which a client finds it among others (``hive.metastore.token.signature``).
    """

    identifier: bytes = field(repr=False)
    password: bytes = field(repr=False)
    kind: str = TOKEN_KIND
    service: str = ""
    _secret_fields = ("password",)
    __getstate__ = SecretFields.__getstate__
    __setstate__ = SecretFields.__setstate__

    @classmethod
    def from_text(cls, text: str) -> DelegationToken:
        """The token of a text, as the metastore's call ``get_delegation_token`` gives it.

        Raises:
            MetastoreSecurityError: it is none.
        """
        try:
            reader = _Reader(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
            return reader.token()
        except (_BrokenError, binascii.Error, ValueError):
            # Without its cause, which may quote the token.
            raise MetastoreSecurityError("the metastore's delegation token is not valid") from None

    @property
    def text(self) -> str:
        """The token as text, which the calls that renew and cancel it take. A secret."""
        return base64.urlsafe_b64encode(_encoded(self)).rstrip(b"=").decode("ascii")

    def login(self) -> Sasl:
        """The settings of a login with this token."""
        user, password = (base64.b64encode(part).decode("ascii") for part in (self.identifier, self.password))
        return Sasl(DIGEST, user=user, password=password)


def token_file(settings: Sasl) -> str | None:
    """The token file of a login's settings or of the process; None when neither names one."""
    return settings.token_file or os.environ.get(TOKEN_FILE_VARIABLE) or None


def find_token(settings: Sasl) -> DelegationToken | None:
    """The delegation token of Hive in the token file, with the service that the settings name; None without one.

    Raises:
        MetastoreSecurityError: the file cannot be read or is not a token file.
    """
    path = token_file(settings)
    if path is None:
        return None
    wanted = settings.token_signature or ""
    tokens = read_token_file(path)
    return next((token for token in tokens if token.kind == TOKEN_KIND and token.service == wanted), None)


def read_token_file(path: str | os.PathLike[str]) -> list[DelegationToken]:
    """All tokens of a Hadoop token file, of either format.

    Raises:
        MetastoreSecurityError: it cannot be read or is not a token file.
    """
    remedy = f"check {TOKEN_FILE_VARIABLE} or token_file"
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise MetastoreSecurityError(
            f"the token file cannot be read: {error.strerror}", path=str(path), remedy=remedy
        ) from error
    try:
        if data[:4] != _MAGIC or len(data) < 5:
            raise _BrokenError("no magic number")
        reader = _Reader(data[5:])
        if data[4] == _WRITABLE:
            return [reader.named_token() for _ in range(reader.number())]
        if data[4] == _PROTOBUF:
            return _tokens_of_message(reader)
        raise _BrokenError("another format")
    except ValueError:
        # Without its cause, which may quote a token.
        raise MetastoreSecurityError("not a Hadoop token file", path=str(path), remedy=remedy) from None


def write_token_file(path: str | os.PathLike[str], tokens: Iterable[DelegationToken]) -> None:
    """Write tokens to a Hadoop token file, which only its owner may read; an existing file is replaced.

    Raises:
        OSError: it cannot be written.
    """
    tokens = list(tokens)
    parts = [_MAGIC, bytes([_WRITABLE]), _number(len(tokens))]
    for place, token in enumerate(tokens):
        parts += [_sized(f"{token.kind}.{place}".encode()), _encoded(token)]
    parts.append(_number(0))  # no secrets beside the tokens
    fresh = f"{os.fspath(path)}.{os.getpid()}"
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as target:
            target.write(b"".join(parts))
        os.replace(fresh, path)
    except BaseException:
        os.unlink(fresh)
        raise


def _encoded(token: DelegationToken) -> bytes:
    parts = (token.identifier, token.password, token.kind.encode(), token.service.encode())
    return b"".join(map(_sized, parts))


def _sized(data: bytes) -> bytes:
    return _number(len(data)) + data


def _number(value: int) -> bytes:
    """A whole number from zero on, as ``WritableUtils.writeVInt`` has it."""
    if value <= 127:
        return bytes([value])
    data = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([256 - 112 - len(data)]) + data


class _Reader:
    """Reads the fields of a token one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    @property
    def at_end(self) -> bool:
        return self._place >= len(self._data)

    def take(self, size: int) -> bytes:
        found = self._data[self._place : self._place + size]
        if size < 0 or len(found) < size:
            raise _BrokenError("too short")
        self._place += size
        return found

    def number(self) -> int:
        """A number as ``WritableUtils.readVInt`` reads it; negative ones are refused."""
        (first,) = self.take(1)
        if first <= 127:
            return first
        length = 256 - 112 - first
        if not 1 <= length <= 8:
            raise _BrokenError("a negative size")
        return int.from_bytes(self.take(length), "big")

    def sized(self) -> bytes:
        return self.take(self.number())

    def token(self) -> DelegationToken:
        identifier, password = self.sized(), self.sized()
        return DelegationToken(identifier, password, self.sized().decode(), self.sized().decode())

    def named_token(self) -> DelegationToken:
        self.sized()  # its alias
        return self.token()

    def varint(self) -> int:
        """A number as Protocol Buffers have it."""
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise _BrokenError("a number that does not end")

    def fields(self) -> dict[int, list[bytes]]:
        """The fields of a message; all of those that tokens have are byte strings."""
        values: dict[int, list[bytes]] = {}
        while not self.at_end:
            key = self.varint()
            if key & 7 != 2:
                raise _BrokenError("a field of another type")
            values.setdefault(key >> 3, []).append(self.take(self.varint()))
        return values


def _tokens_of_message(reader: _Reader) -> list[DelegationToken]:
    # CredentialsProto.tokens = 1, CredentialsKVProto.token = 2; TokenProto: identifier, password, kind, service = 1 … 4
    message = _Reader(reader.take(reader.varint())).fields()
    tokens = []
    for entry in message.get(1, []):
        for data in _Reader(entry).fields().get(2, []):
            parts = _Reader(data).fields()
            identifier, password, kind, service = (parts.get(number, [b""])[0] for number in (1, 2, 3, 4))
            tokens.append(DelegationToken(identifier, password, kind.decode(), service.decode()))
    return tokens
