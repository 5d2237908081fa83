"""Reads addresses, TLS and SASL settings of ``hive-site.xml``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from hudi_hive.errors import InvalidOptionError
from hudi_hive.metastore.connection.address import (
    HTTP_SCHEME,
    HTTPS_SCHEME,
    PLAIN_SCHEME,
    TLS_SCHEME,
    Address,
    parse_addresses,
)
from hudi_hive.metastore.connection.security import (
    PLAIN,
    Http,
    Sasl,
    Tls,
    from_hive_properties,
    http_of_hive_properties,
)
from hudi_hive.options import metastore

URIS = metastore.URIS.names
"""Where the addresses are, of Hive 2 and of newer ones."""

SECURITY = frozenset(name for option in metastore.SECURITY_OPTIONS for name in option.names)
"""Properties that say how to talk to a metastore."""


def read_hive_site(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the addresses and security settings of a ``hive-site.xml``.

    Raises:
        InvalidOptionError: it cannot be read, is no such file, or a setting names a variable (``${…}``).
    """
    # Loaded only now: few runs need it.
    from xml.etree import ElementTree

    remedy = "give a client's hive-site.xml"
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidOptionError(f"cannot read Hive's settings: {reason}", path=str(path), remedy=remedy) from error
    if root.tag != "configuration":
        raise InvalidOptionError(f"<{root.tag}> is not <configuration>", path=str(path), remedy=remedy)
    settings = {}
    for entry in root.iter("property"):
        name, value = ((entry.findtext(tag) or "").strip() for tag in ("name", "value"))
        if name not in SECURITY and name not in URIS:
            continue
        if "${" in value:
            raise InvalidOptionError(f"{name} names a variable", path=str(path), remedy="write its value")
        settings[name] = value
    return settings


def secured_uris(properties: Mapping[str, str], uris: Iterable[str] = ()) -> tuple[str, ...]:
    """Add the TLS and SASL settings of Hive's properties to addresses.

    Args:
        properties: as ``from_hive_properties`` takes them, and the addresses under Hive's name.
        uris: the addresses in place of those in ``properties``; what one says itself about TLS or the login stays.

    Raises:
        InvalidOptionError: as ``from_hive_properties``, or a login by a password in clear.
    """
    given = list(uris) or [properties[name] for name in URIS if properties.get(name, "").strip()][:1]
    texts = [part.strip() for uri in given for part in uri.split(",") if part.strip()]
    tls, sasl = from_hive_properties(properties)
    if sasl is not None and sasl.mechanism == PLAIN:
        raise InvalidOptionError(
            "a password cannot be taken from Hive's properties",
            remedy="write it to a file: thrift://host:port?sasl=PLAIN&user=…&password_file=…",
        )
    http = http_of_hive_properties(properties)
    return tuple(_secured(text, tls, sasl, http) for text in texts)


def _secured(text: str, tls: Tls | None, sasl: Sasl | None, http: Http | None) -> str:
    (address,) = parse_addresses(text)
    fields = [query] if (query := text.partition("?")[2]) else []
    encrypted = address.tls is not None or tls is not None
    if address.tls is None and tls is not None and tls.ca_file is not None:
        fields.append(f"ca={quote(tls.ca_file)}")
    scheme, path = (TLS_SCHEME if encrypted else PLAIN_SCHEME), ""
    if address.http is not None or http is not None:
        scheme, path = (HTTPS_SCHEME if encrypted else HTTP_SCHEME), (address.http or http or Http()).path
        if address.http is None and http is not None:
            fields += _http_fields(http)
    elif address.sasl is None and sasl is not None:
        fields += _login_fields(sasl)
    place = f"{scheme}://{_place(address)}{path}"
    return f"{place}?{'&'.join(fields)}" if fields else place


def _place(address: Address) -> str:
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{host}:{address.port}"


def _http_fields(http: Http) -> list[str]:
    headers = ",".join(f"{name}={value}" for name, value in http.headers)
    return [*(["auth=JWT"] if http.jwt else []), *([f"headers={quote(headers)}"] if headers else [])]


def _login_fields(sasl: Sasl) -> list[str]:
    fields = {
        "principal": sasl.principal,
        "keytab": sasl.keytab,
        "client_principal": sasl.client_principal,
        "ticket_cache": sasl.ticket_cache,
        "token_signature": sasl.token_signature,
    }
    return [f"{name}={quote(value, safe='/@')}" for name, value in fields.items() if value is not None]
