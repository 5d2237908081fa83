"""Addresses of metastores: ``thrift://host:port``, several with commas between, with TLS and SASL after a ``?``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, urlsplit

from hudi_hive.errors import InvalidOptionError
from hudi_hive.metastore.security import KERBEROS, PLAIN, Sasl, Tls

DEFAULT_PORT = 9083
PLAIN_SCHEME = "thrift"
TLS_SCHEME = "thrift+tls"
_TLS_FIELDS = ("ca", "certificate", "key", "server_name")
_SASL_FIELDS = ("sasl", "principal", "user", "password_file")


@dataclass(frozen=True, slots=True)
class Address:
    """Where one metastore listens."""

    host: str
    port: int
    tls: Tls | None = None
    sasl: Sasl | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{PLAIN_SCHEME if self.tls is None else TLS_SCHEME}://{host}:{self.port}"


def parse_addresses(uris: str | Iterable[str]) -> tuple[Address, ...]:
    """The addresses in ``uris``: one text, with commas between several, or one text each.

    ``thrift+tls://host:port?ca=ca.pem&certificate=me.pem&key=me.key&server_name=hms`` encrypts; ``sasl=PLAIN`` with
    ``user`` and ``password_file``, or ``sasl=GSSAPI`` with ``principal``, logs in. All of it may be left out.

    Raises:
        InvalidOptionError: none given, another scheme, no host, a port that is none, or a wrong field after the ``?``.
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
    schemes = (PLAIN_SCHEME, TLS_SCHEME)
    if parts.scheme not in schemes or not host or parts.path not in ("", "/") or parts.username is not None:
        raise InvalidOptionError(f"not a metastore URI: {_shown(text)!r}", remedy=remedy)
    return Address(host, DEFAULT_PORT if port is None else port, *_security(parts, _shown(text)))


def _security(parts: SplitResult, shown: str) -> tuple[Tls | None, Sasl | None]:
    fields = dict(parse_qsl(parts.query, keep_blank_values=True))
    encrypted = parts.scheme == TLS_SCHEME
    known = (*_SASL_FIELDS, *(_TLS_FIELDS if encrypted else ()))
    for name in fields:
        if name not in known:
            raise InvalidOptionError(f"{name!r} has no place in the metastore URI {shown!r}", remedy=f"known: {known}")
    tls = None
    if encrypted:
        tls = Tls(
            ca_file=fields.get("ca"),
            certificate=fields.get("certificate"),
            key=fields.get("key"),
            server_name=fields.get("server_name"),
        )
    return tls, _login(fields) if any(name in fields for name in _SASL_FIELDS) else None


def _login(fields: Mapping[str, str]) -> Sasl:
    mechanism = fields.get("sasl", KERBEROS if "principal" in fields else PLAIN)
    password = None
    if "password_file" in fields:
        try:
            password = Path(fields["password_file"]).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, ValueError) as error:
            raise InvalidOptionError(
                "cannot read the metastore's password", path=fields["password_file"], remedy="check password_file"
            ) from error
    return Sasl(mechanism.upper(), user=fields.get("user"), password=password, principal=fields.get("principal"))


def _shown(text: str) -> str:
    """The text without user name and password."""
    scheme, separator, rest = text.rpartition("://")
    return f"{scheme}{separator}…@{rest.rpartition('@')[2]}" if "@" in rest else text
