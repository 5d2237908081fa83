"""TLS and SASL settings, as checked frozen values that print no secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options import metastore
from hudi_hive.secret_references import SecretFields

if TYPE_CHECKING:
    import ssl

PLAIN, DIGEST, KERBEROS = MECHANISMS = ("PLAIN", "DIGEST-MD5", "GSSAPI")
JWT: Final = "JWT"

_PATH: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@%/-]+")
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SECRET_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie"})


@dataclass(frozen=True, slots=True)
class Tls(SecretFields):
    """Encrypt connections and check the server's certificate.

    Args:
        ca_file: PEM file with the authorities to trust; None for those that the system trusts.
        certificate: PEM file with our own certificate, for servers that ask for one.
        key: PEM file with its private key; None when ``certificate`` holds it.
        key_password: of the private key.
        check_host: the certificate must name the host of the URI.
        server_name: the name that the certificate must have in place of the URI's host.

    Raises:
        InvalidOptionError: a key without a certificate, an empty file name, or a server name that nothing is compared
            with.
    """

    ca_file: str | None = None
    certificate: str | None = None
    key: str | None = None
    key_password: str | None = field(default=None, repr=False)
    check_host: bool = True
    server_name: str | None = None
    _secret_fields = ("key_password",)
    __getstate__ = SecretFields.__getstate__
    __setstate__ = SecretFields.__setstate__

    def __post_init__(self) -> None:
        if self.ca_file == "":
            raise InvalidOptionError("the TLS file of authorities has an empty name", remedy="name it, or give None")
        if self.key is not None and self.certificate is None:
            raise InvalidOptionError("a TLS key needs its certificate", remedy="give certificate= as well")
        if self.server_name is not None and not self.check_host:
            raise InvalidOptionError("server_name is of no use with check_host=False", remedy="leave one of them out")

    def context(self) -> ssl.SSLContext:
        """A context of these settings, TLS 1.2 or newer.

        Raises:
            InvalidOptionError: a file is missing, is not PEM, or the key does not fit.
        """
        # Loaded only now, as plain clients need none of it.
        import ssl

        try:
            made = ssl.create_default_context(cafile=self.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise _unusable(self.ca_file, error) from error
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.check_hostname = self.check_host
        if self.certificate is not None:
            try:
                # A password in hand, if only an empty one: without it the library would ask at the terminal.
                made.load_cert_chain(self.certificate, self.key, self.key_password or "")
            except (OSError, ssl.SSLError, ValueError) as error:
                raise _unusable(self.key or self.certificate, error) from error
        return made


@dataclass(frozen=True, slots=True)
class Sasl(SecretFields):
    """Log in to the metastore.

    Args:
        mechanism: ``PLAIN`` (user and password; in clear text unless TLS is on), ``GSSAPI`` (Kerberos) or
            ``DIGEST-MD5`` (a delegation token).
        user: for ``PLAIN``; for ``DIGEST-MD5`` the identifier of the token in Base64, unless ``token_file`` has it.
        password: for ``PLAIN``; for ``DIGEST-MD5`` the token's password in Base64.
        principal: the metastore's, ``hive/_HOST@REALM``, for ``GSSAPI``; ``_HOST`` stands for the host of the URI.
        keytab: file with the key of ``client_principal``, for ``GSSAPI``: tickets are got and renewed with it. Without
            it the ticket of ``kinit`` is used.
        client_principal: our own principal, ``me@REALM``, for ``GSSAPI``; None for that of the ticket.
        ticket_cache: the file with our ticket, for ``GSSAPI``; None for that of ``KRB5CCNAME`` or of the system.
        token_file: Hadoop's token file, in place of a user and a password; None for that of
            ``HADOOP_TOKEN_FILE_LOCATION``. For ``GSSAPI`` without a keytab, a delegation token in it goes before the
            ticket, as in Hive.
        token_signature: the service of the delegation token in the file; None for one without a service.

    Raises:
        InvalidOptionError: another mechanism, or a field missing or out of place.
    """

    mechanism: str = PLAIN
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    principal: str | None = None
    keytab: str | None = None
    client_principal: str | None = None
    ticket_cache: str | None = None
    token_file: str | None = None
    token_signature: str | None = None
    _secret_fields = ("password",)
    __getstate__ = SecretFields.__getstate__
    __setstate__ = SecretFields.__setstate__

    def __post_init__(self) -> None:
        if self.mechanism not in MECHANISMS:
            raise InvalidOptionError(
                f"SASL mechanism {self.mechanism!r} is not known", remedy=f"use one of {', '.join(MECHANISMS)}"
            )
        if self.mechanism == KERBEROS:
            self._check_kerberos()
        else:
            self._check_user()
        if "\0" in f"{self.user}{self.password}":
            raise InvalidOptionError("user and password must not hold zero bytes")

    def _check_kerberos(self) -> None:
        if self.principal is None or self.user is not None or self.password is not None:
            raise InvalidOptionError(
                "Kerberos takes the metastore's principal, and neither user nor password",
                remedy="give principal='hive/_HOST@REALM'; the own ticket comes from kinit or from a keytab",
            )
        _split_principal(self.principal)
        if self.keytab is not None and self.client_principal is None:
            raise InvalidOptionError("a keytab needs the principal whose key it has", remedy="give client_principal")
        if self.keytab is not None and self.ticket_cache is not None:
            raise InvalidOptionError("there is both a keytab and a ticket cache", remedy="leave one of them out")

    def _check_user(self) -> None:
        of_kerberos = (self.principal, self.keytab, self.client_principal, self.ticket_cache)
        named = self.user is not None and self.password is not None
        token = self.mechanism == DIGEST and self.user is None and self.password is None
        token = token and (self.token_file is not None or self.token_signature is not None)
        if any(part is not None for part in of_kerberos) or not (named or token):
            raise InvalidOptionError(f"{self.mechanism} takes a user and a password", remedy="give user= and password=")
        if not token and (self.token_file is not None or self.token_signature is not None):
            raise InvalidOptionError(f"{self.mechanism} with a user takes no token file", remedy="leave it out")

    def service(self, host: str) -> tuple[str, str]:
        """Service name and host of the metastore, which listens on ``host``."""
        if self.principal is None:
            return "hive", host
        service, instance, _ = _split_principal(self.principal)
        return service, host.lower() if instance == "_HOST" else instance

    def service_principal(self, host: str) -> str:
        """The principal of the metastore that listens on ``host``: ``service/host@REALM``."""
        service, instance = self.service(host)
        return f"{service}/{instance}@{_split_principal(self.principal or '').realm}"


@dataclass(frozen=True, slots=True)
class Http:
    """Talk to a metastore of Hive 4 by HTTP, as its transport mode ``http`` expects.

    Args:
        path: of its servlet.
        user: whom the metastore takes us for; None for ``HADOOP_USER_NAME`` or the user of the process.
        jwt: log in by a JSON Web Token (RFC 7519).
        jwt_file: file with that token; None for the environment variable ``HMS_JWT``, as in Hive.
        headers: more headers of each request.

    Raises:
        InvalidOptionError: a path or header that does not fit into a request, or a secret among the headers.
    """

    path: str = "/metastore"
    user: str | None = None
    jwt: bool = False
    jwt_file: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.path.startswith("/") or not _PATH.fullmatch(self.path):
            raise InvalidOptionError(f"not a path of a URL: {self.path!r}", remedy="write /metastore")
        for name, value in self.headers:
            if not _HEADER_NAME.fullmatch(name) or not value.isprintable() or not value.isascii():
                raise InvalidOptionError(f"not a header of HTTP: {name!r}", remedy="write NAME=VALUE,NAME=VALUE")
            if name.lower() in _SECRET_HEADERS:
                raise InvalidOptionError(
                    f"the header {name} may hold a secret, which has no place in options",
                    remedy="log in by a JSON Web Token: auth=JWT with HMS_JWT, or jwt_file=FILE",
                )


def parse_headers(text: str) -> tuple[tuple[str, str], ...]:
    """Headers of ``NAME=VALUE,NAME=VALUE``, as Hive writes them.

    Raises:
        InvalidOptionError: a part without a name or a value.
    """
    headers = []
    for part in text.split(","):
        name, separator, value = part.partition("=")
        if not separator or not name.strip():
            raise InvalidOptionError("a header of HTTP has no value", remedy="write NAME=VALUE,NAME=VALUE")
        headers.append((name.strip(), value.strip()))
    return tuple(headers)


class _Principal(NamedTuple):
    service: str
    instance: str
    realm: str


def _split_principal(principal: str) -> _Principal:
    """Service and host of ``service/host@REALM``; Hive asks for all three, the realm is Kerberos's own matter."""
    service, _, rest = principal.partition("/")
    instance, _, realm = rest.partition("@")
    if not (service and instance and realm) or "/" in rest or "@" in realm:
        raise InvalidOptionError(f"not a service principal: {principal!r}", remedy="write hive/_HOST@REALM")
    return _Principal(service, instance, realm)


def _unusable(path: str | None, error: Exception) -> InvalidOptionError:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    remedy = "give PEM files that exist, and the password of a locked key"
    return InvalidOptionError(f"cannot use this TLS file: {reason}", path=path, remedy=remedy)


def from_hive_properties(properties: Mapping[str, str]) -> tuple[Tls | None, Sasl | None]:
    """Read TLS and SASL settings from properties of a ``hive-site.xml``.

    Args:
        properties: ``hive.metastore.use.SSL``, ``hive.metastore.sasl.enabled``, ``hive.metastore.kerberos.principal``,
            ``hive.metastore.client.keytab``, ``hive.metastore.token.signature``, ``metastore.client.auth.mode`` with
            ``metastore.client.plain.username`` and so on (Hive 3 and later spell all of them with ``metastore.`` in
            front too). Others are passed over.

    Raises:
        InvalidOptionError: a Java trust store (convert it to PEM), or a mode that is not known.
    """
    texts = {name: text for name, text in properties.items() if text.strip()}
    tls = None
    if metastore.USE_TLS.of(texts):
        store = metastore.TRUST_STORE.of(texts) or None
        if store is not None and not store.lower().endswith((".pem", ".crt")):
            raise InvalidOptionError(
                "a Java trust store cannot be read",
                path=store,
                remedy="export its certificates as PEM: keytool -exportcert -rfc",
            )
        tls = Tls(ca_file=store)
    mode = metastore.AUTH_MODE.of(texts)
    if metastore.TRANSPORT_MODE.of(texts) == "http":
        return tls, None
    if mode == JWT:
        raise InvalidOptionError(
            "a login by a JSON Web Token needs HTTP", remedy=f"set {metastore.TRANSPORT_MODE.name}=http"
        )
    if mode == PLAIN:
        return tls, Sasl(PLAIN, user=metastore.PLAIN_USER.of(texts), password=metastore.PLAIN_PASSWORD.of(texts))
    if metastore.USE_SASL.of(texts) or mode == "KERBEROS":
        return tls, Sasl(
            KERBEROS,
            principal=metastore.KERBEROS_PRINCIPAL.of(texts),
            keytab=metastore.CLIENT_KEYTAB.of(texts),
            client_principal=metastore.CLIENT_PRINCIPAL.of(texts),
            ticket_cache=metastore.TICKET_CACHE.of(texts),
            token_signature=metastore.TOKEN_SIGNATURE.of(texts),
        )
    return tls, None


def http_of_hive_properties(properties: Mapping[str, str]) -> Http | None:
    """Read the settings of HTTP from properties of a ``hive-site.xml``; None for the binary transport.

    Args:
        properties: ``metastore.client.thrift.transport.mode``, ``…thrift.http.path``, ``…http.additional.headers`` and
            ``…auth.mode``, with ``hive.`` in front or without.

    Raises:
        InvalidOptionError: another mode, a login that HTTP does not have, or what :class:`Http` refuses.
    """
    texts = {name: text for name, text in properties.items() if text.strip()}
    if metastore.TRANSPORT_MODE.of(texts) != "http":
        return None
    mode = metastore.AUTH_MODE.of(texts)
    if mode in (PLAIN, "KERBEROS"):
        raise InvalidOptionError(
            f"metastores have no {mode} login over HTTP", remedy=f"set {metastore.AUTH_MODE.name}=JWT or NOSASL"
        )
    headers = metastore.HTTP_HEADERS.of(texts)
    return Http(
        path=f"/{str(metastore.HTTP_PATH.of(texts)).strip('/')}",
        jwt=mode == JWT,
        headers=parse_headers(headers) if headers else (),
    )
