"""Logins by Kerberos: SASL's mechanism GSSAPI (RFC 4752), with a keytab or a ticket cache, by the ``gssapi`` package.

Each login asks for a credential anew: one of a keytab is renewed when half of its ticket's life has passed, a ticket
cache is read as it is now. So connections that are opened in the course of a long sync need no old ticket.
"""

from __future__ import annotations

import hashlib
import os
import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hudi_hive.errors import MetastoreSecurityError, MissingDependencyError
from hudi_hive.metastore.connection.security import KERBEROS, Sasl

if TYPE_CHECKING:
    import gssapi

_LARGEST: Final = 0xFFFFFF
"""Bytes of an encoded message that we take (the field has three bytes)."""

_LAYERS: Final = struct.Struct(">I")


class _Layer:
    """The security layers of RFC 4752: bits of the server's offer, one of them in our answer."""

    NONE: Final = 1
    INTEGRITY: Final = 2
    CONFIDENTIALITY: Final = 4


class _Reason(NamedTuple):
    message: str
    remedy: str


_NO_TICKET: Final = _Reason("there is no Kerberos ticket", "run kinit, or name a keytab (hive.metastore.client.keytab)")
_EXPIRED: Final = _Reason(
    "the Kerberos ticket has expired", "run kinit again, or name a keytab (hive.metastore.client.keytab)"
)
_NO_KDC: Final = _Reason("the KDC cannot be reached", "check the KDC, and the realm's kdc in krb5.conf (KRB5_CONFIG)")
_WRONG_SERVICE: Final = _Reason(
    "the KDC does not know the principal {service}", "check hive.metastore.kerberos.principal"
)
_WRONG_CLIENT: Final = _Reason("the KDC does not know {client}", "check hive.metastore.client.principal")
_WRONG_KEY: Final = _Reason("the KDC refuses the key of {client}", "get a new keytab: its key was changed")
_NOT_IN_KEYTAB: Final = _Reason(
    "the keytab has no key of {client}", "check hive.metastore.client.principal, and the keytab (klist -k)"
)
_OTHER_CACHE: Final = _Reason(
    "the ticket cache has no ticket of {client}", "check hive.metastore.client.principal, and the cache (klist)"
)
_LOCKED: Final = _Reason("the KDC has locked {client}, or its key has expired", "ask who administers the realm")
_SKEW: Final = _Reason("the clocks of this machine and of the KDC differ too much", "set the clock")

# Numbers of MIT's Kerberos: krb5_err.et.
_REASONS: Final = {
    -1765328189: _NO_TICKET,  # KRB5_FCC_NOFILE
    -1765328243: _NO_TICKET,  # KRB5_CC_NOTFOUND
    -1765328352: _EXPIRED,  # KRB5KRB_AP_ERR_TKT_EXPIRED
    -1765328228: _NO_KDC,  # KRB5_KDC_UNREACH
    -1765328230: _NO_KDC,  # KRB5_REALM_UNKNOWN
    -1765328164: _NO_KDC,  # KRB5_REALM_CANT_RESOLVE
    -1765328377: _WRONG_SERVICE,  # KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN
    -1765328378: _WRONG_CLIENT,  # KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN
    -1765328360: _WRONG_KEY,  # KRB5KDC_ERR_PREAUTH_FAILED
    -1765328353: _WRONG_KEY,  # KRB5KRB_AP_ERR_BAD_INTEGRITY
    -1765328203: _NOT_IN_KEYTAB,  # KRB5_KT_NOTFOUND
    -1765328347: _SKEW,  # KRB5KRB_AP_ERR_SKEW
    -1765328361: _LOCKED,  # KRB5KDC_ERR_KEY_EXP
    -1765328366: _LOCKED,  # KRB5KDC_ERR_CLIENT_REVOKED
    39756032: _OTHER_CACHE,  # KG_CCACHE_NOMATCH
}


class Gssapi:
    """The client's side of one login by Kerberos, which proves the server's identity too.

    Args:
        settings: of the login; its mechanism is GSSAPI.
        host: of the metastore.

    Raises:
        MissingDependencyError: the package ``gssapi`` is not installed.
        MetastoreSecurityError: there is no ticket and none can be got.
    """

    name = KERBEROS

    def __init__(self, settings: Sasl, host: str) -> None:
        try:
            import gssapi
        except ImportError as error:
            raise MissingDependencyError(
                "a login by Kerberos needs the package gssapi",
                remedy="pip install 'hudi_hive[kerberos]' (needs a C compiler and Debian's libkrb5-dev)",
            ) from error
        self.complete = False
        self._client = settings.client_principal or "the client"
        self._has_keytab = settings.keytab is not None
        self._service = settings.service_principal(host)
        self._protects = self._encrypts = False
        self._errors = gssapi.exceptions.GSSError
        flags = gssapi.RequirementFlag
        try:
            self._context = gssapi.SecurityContext(
                name=gssapi.Name(self._service, gssapi.NameType.kerberos_principal),
                creds=_credentials(settings),
                flags=flags.mutual_authentication
                | flags.integrity
                | flags.confidentiality
                | flags.out_of_sequence_detection,
                mech=gssapi.MechType.kerberos,
                usage="initiate",
            )
        except self._errors as error:
            raise self._refused(error) from error

    def process(self, challenge: bytes | None = None) -> bytes:
        """Answer a challenge of the server; None for the first message."""
        try:
            if not self._context.complete:
                return bytes(self._context.step(challenge) or b"")
            return self._choose_layer(self._context.unwrap(challenge or b"").message)
        except self._errors as error:
            raise self._refused(error) from error

    def _choose_layer(self, offer: bytes) -> bytes:
        if len(offer) != _LAYERS.size:
            raise MetastoreSecurityError("the metastore's offer of security layers is not valid")
        (number,) = _LAYERS.unpack(offer)
        offered, largest = number >> 24, number & _LARGEST
        layers = (_Layer.CONFIDENTIALITY, _Layer.INTEGRITY, _Layer.NONE)
        layer = next((layer for layer in layers if offered & layer), 0)
        if not layer:
            raise MetastoreSecurityError("the metastore offers no security layer that is known")
        self._encrypts = layer == _Layer.CONFIDENTIALITY
        self._protects = layer != _Layer.NONE
        answer = _LAYERS.pack(layer << 24 | (min(largest, _LARGEST) if self._protects else 0))
        self.complete = True
        return bytes(self._context.wrap(answer, False).message)

    def wrap(self, outgoing: bytes) -> bytes:
        """Encode data for the wire: as it is, signed or encrypted, as the server wants."""
        return bytes(self._context.wrap(outgoing, self._encrypts).message) if self._protects else outgoing

    def unwrap(self, incoming: bytes) -> bytes:
        """Decode data from the wire."""
        return bytes(self._context.unwrap(incoming).message) if self._protects else incoming

    def _refused(self, error: gssapi.exceptions.GSSError) -> MetastoreSecurityError:
        from gssapi import exceptions

        # The library counts without a sign.
        number = error.min_code - (1 << 32) if error.min_code >= 1 << 31 else error.min_code
        reason = _REASONS.get(number)
        if reason is _NO_TICKET and self._has_keytab:
            reason = _NOT_IN_KEYTAB  # with which a ticket would have been got
        if reason is None and isinstance(error, exceptions.ExpiredCredentialsError | exceptions.ExpiredContextError):
            reason = _EXPIRED
        if reason is None:
            text = " ".join(str(error).split())
            return MetastoreSecurityError(
                f"no login by Kerberos at {self._service}: {text}", remedy="KRB5_TRACE=/dev/stderr shows each step"
            )
        message = reason.message.format(service=self._service, client=self._client)
        return MetastoreSecurityError(f"no login by Kerberos at {self._service}: {message}", remedy=reason.remedy)


def _credentials(settings: Sasl) -> gssapi.Credentials:
    """A credential of the keytab, of the ticket cache, or of what Kerberos takes by itself."""
    import gssapi

    name = None
    if settings.client_principal is not None:
        name = gssapi.Name(settings.client_principal, gssapi.NameType.kerberos_principal)
    store: dict[str, str] = {}
    if settings.keytab is not None:
        _check_readable(settings.keytab, "the keytab", "hive.metastore.client.keytab")
        # Tickets stay in this process, one set for each principal and keytab.
        key = f"{os.path.abspath(settings.keytab)}\0{settings.client_principal}"
        store = {
            "client_keytab": f"FILE:{settings.keytab}",
            "ccache": f"MEMORY:hudi_hive_{hashlib.sha256(key.encode()).hexdigest()[:16]}",
        }
    elif settings.ticket_cache is not None:
        if ":" not in settings.ticket_cache:
            _check_readable(
                settings.ticket_cache, "the ticket cache", "hive.metastore.client.credential-cache.location"
            )
        store = {"ccache": settings.ticket_cache}
    arguments: dict[str, Any] = {"store": store} if store else {}
    return gssapi.Credentials(name=name, usage="initiate", **arguments)


def _check_readable(path: str, what: str, option: str) -> None:
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise MetastoreSecurityError(
            f"{what} {path} cannot be read: {error.strerror}", remedy=f"check {option}"
        ) from error
