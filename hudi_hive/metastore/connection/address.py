"""Parses addresses of metastores: ``thrift://host:port``, comma-separated, with TLS and the login after a ``?``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, urlsplit

from hudi_hive.errors import InvalidOptionError
from hudi_hive.metastore.connection.security import DIGEST, JWT, KERBEROS, PLAIN, Http, Sasl, Tls, parse_headers

DEFAULT_PORT = 9083
PLAIN_SCHEME = "thrift"
TLS_SCHEME = "thrift+tls"
HTTP_SCHEME = "http"
HTTPS_SCHEME = "https"
_TLS_FIELDS = ("ca", "certificate", "key", "key_password_file", "server_name")
_PLACE = re.compile(r"([^:]+|\[.*])(:[0-9]*)?/?")
_SASL_FIELDS = (
    "sasl",
    "principal",
    "user",
    "password_file",
    "keytab",
    "client_principal",
    "ticket_cache",
    "token_file",
    "token_signature",
)
_HTTP_FIELDS = ("user", "auth", "jwt_file", "headers")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of one metastore: host, port, how to log in, and whether by HTTP."""

    host: str
    port: int
    tls: Tls | None = None
    sasl: Sasl | None = None
    http: Http | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        if self.http is not None:
            return f"{HTTP_SCHEME if self.tls is None else HTTPS_SCHEME}://{host}:{self.port}{self.http.path}"
        return f"{PLAIN_SCHEME if self.tls is None else TLS_SCHEME}://{host}:{self.port}"


def parse_addresses(uris: str | Iterable[str]) -> tuple[Address, ...]:
    """The addresses in ``uris``: one text, with commas between several, or one text each.

    ``thrift+tls://host:port?ca=ca.pem&certificate=me.pem&key=me.key&server_name=hms`` encrypts; ``sasl=PLAIN`` with
    ``user`` and ``password_file``, or ``sasl=GSSAPI`` with ``principal`` (and ``keytab`` with ``client_principal``, or
    ``ticket_cache``), or ``sasl=DIGEST-MD5`` with ``token_file`` and ``token_signature``, logs in. All of it may be
    left out. ``http://host:port/metastore`` and ``https://…`` go by HTTP, with ``user``, ``auth=JWT``, ``jwt_file`` and
    ``headers``.

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
    schemes = (PLAIN_SCHEME, TLS_SCHEME, HTTP_SCHEME, HTTPS_SCHEME)
    by_http = parts.scheme in (HTTP_SCHEME, HTTPS_SCHEME)
    odd = (not by_http and parts.path not in ("", "/")) or parts.username is not None or "#" in text
    if parts.scheme not in schemes or not host or odd:
        raise InvalidOptionError(f"not a metastore URI: {_shown(text)!r}", remedy=remedy)
    fields = _fields(parts, _shown(text))
    tls = None
    if parts.scheme in (TLS_SCHEME, HTTPS_SCHEME):
        tls = Tls(
            ca_file=fields.get("ca"),
            certificate=fields.get("certificate"),
            key=fields.get("key"),
            key_password=_secret(fields, "key_password_file"),
            server_name=fields.get("server_name"),
        )
    port = DEFAULT_PORT if port is None else port
    if by_http:
        return Address(host, port, tls, http=_http(parts.path, fields))
    return Address(host, port, tls, _login(fields) if any(name in fields for name in _SASL_FIELDS) else None)


def _fields(parts: SplitResult, shown: str) -> dict[str, str]:
    # A plus sign is one: these are file names and principals, not the fields of a form.
    pairs = parse_qsl(parts.query.replace("+", "%2B"), keep_blank_values=True)
    fields = dict(pairs)
    encrypted = parts.scheme in (TLS_SCHEME, HTTPS_SCHEME)
    by_http = parts.scheme in (HTTP_SCHEME, HTTPS_SCHEME)
    allowed = (*(_HTTP_FIELDS if by_http else _SASL_FIELDS), *(_TLS_FIELDS if encrypted else ()))
    for name, value in pairs:
        if name not in allowed:
            remedy = "write password_file=FILE" if name == "password" else f"known: {', '.join(allowed)}"
            raise InvalidOptionError(f"{name!r} has no place in the metastore URI {shown!r}", remedy=remedy)
        if not value:
            # An empty ``ca``, of a variable that is not set most often, must not mean the authorities of the system.
            raise InvalidOptionError(f"{name!r} is empty in the metastore URI {shown!r}", remedy="fill it or drop it")
    if len(fields) < len(pairs):
        raise InvalidOptionError(f"a field is given twice in the metastore URI {shown!r}")
    return fields


def _http(path: str, fields: Mapping[str, str]) -> Http:
    auth = fields.get("auth", JWT if "jwt_file" in fields else "").upper()
    if auth not in ("", JWT):
        raise InvalidOptionError(f"metastores have no {auth} login over HTTP", remedy=f"write auth={JWT}")
    return Http(
        path=path if path not in ("", "/") else Http().path,
        user=fields.get("user"),
        jwt=auth == JWT,
        jwt_file=fields.get("jwt_file"),
        headers=parse_headers(fields["headers"]) if "headers" in fields else (),
    )


def _login(fields: Mapping[str, str]) -> Sasl:
    implied = KERBEROS if "principal" in fields else PLAIN if "user" in fields else DIGEST
    return Sasl(
        fields.get("sasl", implied).upper(),
        user=fields.get("user"),
        password=_secret(fields, "password_file"),
        principal=fields.get("principal"),
        keytab=fields.get("keytab"),
        client_principal=fields.get("client_principal"),
        ticket_cache=fields.get("ticket_cache"),
        token_file=fields.get("token_file"),
        token_signature=fields.get("token_signature"),
    )


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
