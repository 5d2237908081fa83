"""Hive's own properties of a client: where the metastore is, TLS, and the login."""

from __future__ import annotations

from typing import Any, Final

from hudi_hive.options.declaration import Face, Option
from hudi_hive.options.parsers import Parser, any_text, boolean, choice, items

METASTORE, SYNC = Face.METASTORE, Face.SYNC

URIS: Final = Option[tuple[str, ...]](
    "hive.metastore.uris",
    items,
    (),
    "Addresses of the metastore.",
    honoured_by=(METASTORE, SYNC),
    aliases=("metastore.thrift.uris",),
)


def _hive(name: str, parser: Parser[Any], default: Any, summary: str, **outcomes: Any) -> Option[Any]:  # noqa: ANN401
    """A property that Hive 2 spells with ``hive.`` in front, and newer ones also without."""
    return Option(
        f"hive.metastore.{name}",
        parser,
        default,
        summary,
        aliases=(f"metastore.{name}",),
        **(outcomes or {"honoured_by": (METASTORE, SYNC)}),
    )


USE_TLS: Final = _hive("use.SSL", boolean, False, "Encrypt connections, and check the server's certificate.")
TRUST_STORE: Final = _hive(
    "truststore.path", any_text, "", "PEM file of the authorities to trust; with use.SSL. Java's stores are refused."
)
_PEM: Final = "a PEM file of authorities needs none; Java's stores are refused by truststore.path"
_PLAIN: Final = (
    "only a login by password uses it, which a sync refuses: an address names the file with the password itself"
)
TRUST_STORE_PASSWORD: Final = _hive(
    "truststore.password", any_text, "", "Password of a Java trust store.", harmless={METASTORE: _PEM, SYNC: _PEM}
)
TRUST_STORE_TYPE: Final = _hive(
    "truststore.type", any_text, "", "Type of a Java trust store.", harmless={METASTORE: _PEM, SYNC: _PEM}
)
USE_SASL: Final = _hive("sasl.enabled", boolean, False, "Log in by Kerberos.")
KERBEROS_PRINCIPAL: Final = _hive(
    "kerberos.principal", any_text, None, "The metastore's principal, service/_HOST@REALM; with a Kerberos login."
)
CLIENT_KEYTAB: Final = _hive(
    "client.keytab", any_text, None, "Keytab that a Kerberos login gets its tickets with; without it, kinit's ticket."
)
CLIENT_PRINCIPAL: Final = _hive(
    "client.principal", any_text, None, "The client's own principal, user@REALM; with a Kerberos login."
)
TICKET_CACHE: Final = _hive(
    "client.credential-cache.location", any_text, None, "File with the client's ticket; else that of KRB5CCNAME."
)
TOKEN_SIGNATURE: Final = _hive(
    "token.signature",
    any_text,
    None,
    "Service of the delegation token in HADOOP_TOKEN_FILE_LOCATION that goes before a Kerberos login.",
)
AUTH_MODE: Final = _hive(
    "client.auth.mode",
    choice("NOSASL", "KERBEROS", "PLAIN", "JWT"),
    "NOSASL",
    "How the client logs in; JWT (of the environment variable HMS_JWT) by HTTP only.",
)
TRANSPORT_MODE: Final = _hive(
    "client.thrift.transport.mode", choice("binary", "http"), "binary", "Thrift over a socket, or over HTTP (Hive 4)."
)
HTTP_PATH: Final = _hive(
    "client.thrift.http.path", any_text, "metastore", "Path of the metastore's servlet; with the transport http."
)
HTTP_HEADERS: Final = _hive(
    "client.http.additional.headers", any_text, "", "More headers, NAME=VALUE with commas; with the transport http."
)
PLAIN_USER: Final = _hive(
    "client.plain.username",
    any_text,
    None,
    "User of a PLAIN login.",
    honoured_by=(METASTORE,),
    harmless={SYNC: _PLAIN},
)
PLAIN_PASSWORD: Final = _hive(
    "client.plain.password",
    any_text,
    None,
    "Password of a PLAIN login.",
    honoured_by=(METASTORE,),
    harmless={SYNC: _PLAIN},
)

SECURITY_OPTIONS: Final = (
    USE_TLS,
    TRUST_STORE,
    TRUST_STORE_PASSWORD,
    TRUST_STORE_TYPE,
    USE_SASL,
    KERBEROS_PRINCIPAL,
    CLIENT_KEYTAB,
    CLIENT_PRINCIPAL,
    TICKET_CACHE,
    TOKEN_SIGNATURE,
    AUTH_MODE,
    TRANSPORT_MODE,
    HTTP_PATH,
    HTTP_HEADERS,
    PLAIN_USER,
    PLAIN_PASSWORD,
)
METASTORE_OPTIONS: Final = (URIS, *SECURITY_OPTIONS)
