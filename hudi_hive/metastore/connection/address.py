"""Parses addresses of metastores: ``thrift://host:port``, comma-separated, with TLS and SASL after a ``?``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, urlsplit

from hudi_hive.errors import InvalidOptionError
from hudi_hive.metastore.connection.security import KERBEROS, PLAIN, Sasl, Tls

DEFAULT_PORT = 9083
PLAIN_SCHEME = "thrift"
TLS_SCHEME = "thrift+tls"
_TLS_FIELDS = ("ca", "certificate", "key", "key_password_file", "server_name")
_PLACE = re.compile(r"([^:]+|\[.*])(:[0-9]*)?/?")
_SASL_FIELDS = ("sasl", "principal", "user", "password_file")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of one metastore: host, port, and how to log in."""

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
    addresses = tuple(_parse(text.strip()) for text in texts if text.strip())
    if not addresses:
        raise InvalidOptionError("no metastore URI given", remedy="give thrift://host:port, commas between several")
    return addresses


def _parse(text: str) -> Address:
    remedy = "write thrift://host:port"
    try:
        parts = urlsplit(text if "://" in text else f"thrift://{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        # Without its cause: that one may quote a password.
        raise InvalidOptionError(f"not a metastore URI: {_shown(text)!r}", remedy=remedy) from None
    schemes = (PLAIN_SCHEME, TLS_SCHEME)
    odd = parts.path not in ("", "/") or parts.username is not None or "#" in text
    if parts.scheme not in schemes or not host or odd:
        raise InvalidOptionError(f"not a metastore URI: {_shown(text)!r}", remedy=remedy)
    return Address(host, DEFAULT_PORT if port is None else port, *_security(parts, _shown(text)))


def _security(parts: SplitResult, shown: str) -> tuple[Tls | None, Sasl | None]:
    # A plus sign is one: these are file names and principals, not the fields of a form.
    pairs = parse_qsl(parts.query.replace("+", "%2B"), keep_blank_values=True)
    fields = dict(pairs)
    encrypted = parts.scheme == TLS_SCHEME
    allowed = (*_SASL_FIELDS, *(_TLS_FIELDS if encrypted else ()))
    for name, value in pairs:
        if name not in allowed:
            remedy = "write password_file=FILE" if name == "password" else f"known: {', '.join(allowed)}"
            raise InvalidOptionError(f"{name!r} has no place in the metastore URI {shown!r}", remedy=remedy)
        if not value:
            # An empty ``ca``, of a variable that is not set most often, must not mean the authorities of the system.
            raise InvalidOptionError(f"{name!r} is empty in the metastore URI {shown!r}", remedy="fill it or drop it")
    if len(fields) < len(pairs):
        raise InvalidOptionError(f"a field is given twice in the metastore URI {shown!r}")
    tls = None
    if encrypted:
        tls = Tls(
            ca_file=fields.get("ca"),
            certificate=fields.get("certificate"),
            key=fields.get("key"),
            key_password=_secret(fields, "key_password_file"),
            server_name=fields.get("server_name"),
        )
    return tls, _login(fields) if any(name in fields for name in _SASL_FIELDS) else None


def _login(fields: Mapping[str, str]) -> Sasl:
    mechanism = fields.get("sasl", KERBEROS if "principal" in fields else PLAIN)
    password = _secret(fields, "password_file")
    return Sasl(mechanism.upper(), user=fields.get("user"), password=password, principal=fields.get("principal"))


def _secret(fields: Mapping[str, str], name: str) -> str | None:
    """The one line of the file that a field names."""
    if name not in fields:
        return None
    try:
        return Path(fields[name]).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError):
        # Without its cause: a wrong file's contents may be in it.
        raise InvalidOptionError("cannot read a password's file", path=fields[name], remedy=f"check {name}") from None


def _shown(text: str) -> str:
    """The text without user name and password, and without the fields, where somebody may have written one too."""
    scheme, separator, rest = text.partition("://") if "://" in text else ("", "", text)
    where, *fields = re.split("[?#]", rest, maxsplit=1)
    if "@" in where:
        where = f"…@{where.rpartition('@')[2]}"
    elif fields and "@" in fields[0] and not _PLACE.fullmatch(where):
        where = ""  # the first half of a password with a question mark
    return f"{scheme}{separator}{where}{'?…' if fields else ''}"
