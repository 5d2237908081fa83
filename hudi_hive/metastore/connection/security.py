"""TLS and SASL settings, as checked frozen values that print no secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options import metastore

if TYPE_CHECKING:
    import ssl

PLAIN, DIGEST, KERBEROS = MECHANISMS = ("PLAIN", "DIGEST-MD5", "GSSAPI")


@dataclass(frozen=True, slots=True)
class Tls:
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
class Sasl:
    """Log in to the metastore.

    Args:
        mechanism: ``PLAIN`` (user and password; in clear text unless TLS is on), ``GSSAPI`` (Kerberos, with the ticket
            of ``kinit``) or ``DIGEST-MD5`` (a delegation token: its identifier and password in Base64).
        user: for ``PLAIN`` and ``DIGEST-MD5``.
        password: for ``PLAIN`` and ``DIGEST-MD5``.
        principal: the metastore's, ``hive/_HOST@REALM``, for ``GSSAPI``; ``_HOST`` stands for the host of the URI.

    Raises:
        InvalidOptionError: another mechanism, or a field missing or out of place.
    """

    mechanism: str = PLAIN
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    principal: str | None = None

    def __post_init__(self) -> None:
        if self.mechanism not in MECHANISMS:
            raise InvalidOptionError(
                f"SASL mechanism {self.mechanism!r} is not known", remedy=f"use one of {', '.join(MECHANISMS)}"
            )
        named = self.user is not None and self.password is not None
        if self.mechanism == KERBEROS:
            if self.principal is None or self.user is not None or self.password is not None:
                raise InvalidOptionError(
                    "Kerberos takes the metastore's principal and nothing else",
                    remedy="give principal='hive/_HOST@REALM'; the own ticket comes from kinit",
                )
            _split_principal(self.principal)
        elif not named or self.principal is not None:
            raise InvalidOptionError(f"{self.mechanism} takes a user and a password", remedy="give user= and password=")
        if "\0" in f"{self.user}{self.password}":
            raise InvalidOptionError("user and password must not hold zero bytes")

    def service(self, host: str) -> tuple[str, str]:
        """Service name and host of the metastore, which listens on ``host``."""
        if self.principal is None:
            return "hive", host
        service, instance = _split_principal(self.principal)
        return service, host.lower() if instance == "_HOST" else instance


def _split_principal(principal: str) -> tuple[str, str]:
    """Service and host of ``service/host@REALM``; Hive asks for all three, the realm is Kerberos's own matter."""
    service, _, rest = principal.partition("/")
    instance, _, realm = rest.partition("@")
    if not (service and instance and realm) or "/" in rest or "@" in realm:
        raise InvalidOptionError(f"not a service principal: {principal!r}", remedy="write hive/_HOST@REALM")
    return service, instance


def _unusable(path: str | None, error: Exception) -> InvalidOptionError:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    remedy = "give PEM files that exist, and the password of a locked key"
    return InvalidOptionError(f"cannot use this TLS file: {reason}", path=path, remedy=remedy)


def from_hive_properties(properties: Mapping[str, str]) -> tuple[Tls | None, Sasl | None]:
    """Read TLS and SASL settings from properties of a ``hive-site.xml``.

    Args:
        properties: ``hive.metastore.use.SSL``, ``hive.metastore.sasl.enabled``, ``hive.metastore.kerberos.principal``,
            ``metastore.client.auth.mode`` with ``metastore.client.plain.username`` (Hive 3 and later spell all of them
            with ``metastore.`` in front too). Others are passed over.

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
    if mode == PLAIN:
        return tls, Sasl(PLAIN, user=metastore.PLAIN_USER.of(texts), password=metastore.PLAIN_PASSWORD.of(texts))
    if metastore.USE_SASL.of(texts) or mode == "KERBEROS":
        return tls, Sasl(KERBEROS, principal=metastore.KERBEROS_PRINCIPAL.of(texts))
    return tls, None
