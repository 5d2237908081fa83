"""Addresses of metastores: ``thrift://host:port``, several with commas between."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from hudi_hive.errors import InvalidOptionError

DEFAULT_PORT = 9083


@dataclass(frozen=True, slots=True)
class Address:
    """Where one metastore listens."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"thrift://{host}:{self.port}"


def parse_addresses(uris: str | Iterable[str]) -> tuple[Address, ...]:
    """The addresses in ``uris``: one text, with commas between several, or one text each.

    Raises:
        InvalidOptionError: none given, another scheme than ``thrift``, no host, or a port that is no port.
    """
    texts = uris.split(",") if isinstance(uris, str) else [part for uri in uris for part in str(uri).split(",")]
    found = tuple(_parse(text.strip()) for text in texts if text.strip())
    if not found:
        raise InvalidOptionError("no metastore URI given", remedy="give thrift://host:port, commas between several")
    return found


def _parse(text: str) -> Address:
    remedy = "write thrift://host:port"
    try:
        parts = urlsplit(text if "://" in text else f"thrift://{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        # Without its cause: that one may quote a password.
        raise InvalidOptionError(f"not a metastore URI: {_shown(text)!r}", remedy=remedy) from None
    if parts.scheme != "thrift" or not host or parts.path not in ("", "/") or parts.username is not None:
        raise InvalidOptionError(f"not a metastore URI: {_shown(text)!r}", remedy=remedy)
    return Address(host, DEFAULT_PORT if port is None else port)


def _shown(text: str) -> str:
    """The text without user name and password."""
    scheme, separator, rest = text.rpartition("://")
    return f"{scheme}{separator}…@{rest.rpartition('@')[2]}" if "@" in rest else text
