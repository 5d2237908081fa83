"""A session with a server of HiveServer2's protocol (HiveServer2, Spark Thrift Server), through PyHive.

Comes in: a JDBC address as in ``hoodie.datasource.hive_sync.jdbcurl``, a user, statements. Goes out: nothing but
errors: a statement that the server did not carry out is never passed over.
"""

from __future__ import annotations

import logging
import re
import ssl
from collections import Counter
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from pyhive import exc, hive  # type: ignore[import-untyped]
from TCLIService import ttypes  # type: ignore[import-untyped]
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportBase, TTransportException

from hudi_hive.errors import (
    InvalidOptionError,
    MetastoreConnectError,
    MetastoreLostError,
    MetastoreSecurityError,
    MetastoreServerError,
    MetastoreTimeoutError,
    MissingDependencyError,
)
from hudi_hive.metastore import Sasl, Timeouts
from hudi_hive.metastore.connection import BoundedExchange, BoundedSocket, SaslTransport, make_mechanism
from hudi_hive.names import HOODIE_DATASOURCE_HIVE_SYNC_JDBCURL
from hudi_hive.options import parse_boolean
from hudi_hive.secret_references import SecretFields

# Errors are raised; without a handler Python would print what the library logs about them too.
logging.getLogger("thrift").addHandler(logging.NullHandler())

_PREFIX = "jdbc:hive2://"
_DEFAULT_PORT = 10000
_KEY = HOODIE_DATASOURCE_HIVE_SYNC_JDBCURL
_KERBEROS = "GSSAPI"
_TOKEN_SERVICE = "hiveserver2ClientToken"
"""Service of HiveServer2's delegation tokens in a token file, by which they are told from the metastore's."""
_SESSION_KEYS = frozenset({"auth", "ssl", "user", "password", "principal"})
_LONGEST_MESSAGE = 600
_REFUSED_LOGIN = re.compile(r"Bad status: [34] \(b?['\"]?(.*?)['\"]?\)$", re.DOTALL)
"""What ``thrift_sasl`` says of the statuses BAD and ERROR, and the server's reason."""
# Servers make folders and connections of their own for a session, which takes longer than to answer a call.
_SESSION_SECONDS = 120.0
_CLOSE_SECONDS = 10.0
# Spark can be set up to take a backslash for what it is, and quotes behind one would lose their meaning.
_SPARK_ESCAPES = "SET spark.sql.parser.escapedStringLiterals=false"


@dataclass(frozen=True)
class JdbcAddress(SecretFields):
    """The parts of a ``jdbc:hive2://`` address that matter here.

    Attributes:
        host, port: where the server listens.
        database: the session's database.
        sasl: False for ``auth=noSasl``; otherwise user and password are sent by SASL PLAIN, which servers with the
            authentication NONE, LDAP or CUSTOM expect alike.
        principal: the server's, for a login by Kerberos; None for PLAIN.
        ssl: whether the connection is encrypted; the server's certificate is checked against the system's authorities.
        user, password: those in the address; None when it has none.
        settings: configuration of the session (behind ``?``) and variables (behind ``#``), as OpenSession takes them.
    """

    host: str
    port: int = _DEFAULT_PORT
    database: str = "default"
    sasl: bool = True
    ssl: bool = False
    principal: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    _secret_fields = ("password", "settings")

    def __str__(self) -> str:
        return f"{_PREFIX}{self.host}:{self.port}"


def parse_jdbc_url(url: str) -> JdbcAddress:
    """Read ``jdbc:hive2://host:port/database;key=value?hive.setting=value#variable=value``.

    Raises:
        InvalidOptionError: another kind of address, or one that asks for what is not supported (HTTP, ZooKeeper,
            trust stores).
    """
    rest = url.strip()
    if not rest.lower().startswith(_PREFIX):
        raise InvalidOptionError(f"{_KEY} is not of the form {_PREFIX}host:port/database")
    rest, _, variables = rest[len(_PREFIX) :].partition("#")
    rest, _, configuration = rest.partition("?")
    rest, *session = rest.split(";")
    server, _, database = rest.partition("/")
    if "," in server:
        raise InvalidOptionError(f"{_KEY} names several servers, which is not supported", remedy="name one")
    host, port = _host_and_port(server)
    options = _pairs(";".join(session))
    lowered = {name.lower(): value for name, value in options.items()}
    unknown = sorted(name for name in options if name.lower() not in _SESSION_KEYS)
    if unknown:
        # Behind a password they may be a part of it.
        shown = "a part of it" if "password" in lowered else ", ".join(unknown)
        raise InvalidOptionError(f"{_KEY}: {shown} is not supported", remedy=f"{', '.join(sorted(_SESSION_KEYS))} are")
    auth, encrypted = lowered.get("auth", "").lower(), parse_boolean(lowered.get("ssl", "false"))
    principal = _principal(lowered, auth)
    if auth not in ("", "nosasl", "kerberos"):
        raise InvalidOptionError(f"{_KEY}: auth={lowered['auth']} is not supported", remedy="leave it out, or noSasl")
    if encrypted is None:
        raise InvalidOptionError(f"{_KEY}: ssl={lowered['ssl']} is not true or false")
    settings = {f"set:hiveconf:{name}": value for name, value in _pairs(configuration).items()}
    settings |= {f"set:hivevar:{name}": value for name, value in _pairs(variables).items()}
    return JdbcAddress(
        host=host,
        port=port,
        database=database or "default",
        sasl=auth != "nosasl",
        ssl=encrypted,
        principal=principal,
        user=lowered.get("user"),
        password=lowered.get("password"),
        settings=settings,
    )


def _principal(options: Mapping[str, str], auth: str) -> str | None:
    principal = options.get("principal") or None
    if (auth == "kerberos" and principal is None) or (auth == "nosasl" and principal is not None):
        raise InvalidOptionError(
            f"{_KEY}: auth={auth} {'needs a' if principal is None else 'takes no'} principal",
            remedy="write ;principal=hive/_HOST@REALM for a login by Kerberos",
        )
    if principal is not None:
        try:
            Sasl(_KERBEROS, principal=principal)
        except InvalidOptionError as error:
            raise InvalidOptionError(f"{_KEY}: {error.message}", remedy=error.remedy) from None
    return principal


def _host_and_port(server: str) -> tuple[str, int]:
    if server.startswith("["):
        host, closed, rest = server[1:].partition("]")
        port = rest.removeprefix(":")
        host = host if closed else ""
    else:
        host, _, port = server.partition(":")
    if "@" in server:
        # Not shown: a password may stand in front of the sign.
        raise InvalidOptionError(f"{_KEY}: there is no user in front of the host", remedy="write ;user=…;password=…")
    if not host or (port and not (port.isascii() and port.isdigit() and 0 < int(port) <= 65535)):
        raise InvalidOptionError(f"{_KEY}: {server!r} is not host:port")
    return host, int(port or _DEFAULT_PORT)


def _pairs(text: str) -> dict[str, str]:
    pairs = {}
    for item in text.split(";"):
        if item:
            name, equals, value = item.partition("=")
            if not equals or not name:
                # Not shown: it may be a piece of a password.
                raise InvalidOptionError(
                    f"{_KEY}: a part of it is not of the form name=value",
                    remedy="give a password with ; ? or # in hoodie.datasource.hive_sync.password",
                )
            pairs[name] = value
    return pairs


class SqlServer:
    """One session. Not safe to use from several threads at once.

    Args:
        address: where; its own user and password go before the arguments.
        user, password: who.
        timeouts: seconds to connect and to wait for the end of a statement.
        login: of the metastore, whose keytab or ticket cache a login by Kerberos takes too; None for the ticket of
            ``kinit``.

    Raises:
        MetastoreConnectError: nobody listens, or the server does not take this kind of authentication.
        MetastoreSecurityError: no login by Kerberos.
        MetastoreServerError: the server refuses the session.
        MissingDependencyError: ``thrift_sasl``, or for Kerberos ``gssapi``, is not installed.
    """

    def __init__(
        self,
        address: JdbcAddress,
        user: str = "hive",
        password: str = "hive",
        timeouts: Timeouts | None = None,
        login: Sasl | None = None,
    ) -> None:
        self.address = address
        self._broken = False
        self.statements: Counter[str] = Counter()
        """Statements carried out so far, by their first two words."""
        timeouts = timeouts or Timeouts(read=3600.0)
        user = address.user if address.user is not None else user
        password = address.password if address.password is not None else password
        self._timeouts = timeouts
        self._wire = wire = _socket(address)
        wire.setTimeout(timeouts.connect * 1000)
        wire.begin(timeouts.connect)
        if address.principal is not None:
            self._transport = _kerberos_transport(wire, address, login)
        else:
            self._transport = _transport(wire, address, user, password)
        try:
            self._session = self._open(wire, user, timeouts)
            self.product = self._product()
            if self.is_spark:
                self._run(_SPARK_ESCAPES, "escapes in texts")
        except BaseException:
            self._transport.close()
            raise

    def _open(self, wire: BoundedExchange, user: str, timeouts: Timeouts) -> hive.Connection:
        connect = self._transport.open

        def connect_and_wait() -> None:
            connect()
            wire.begin(max(timeouts.connect, min(timeouts.read, _SESSION_SECONDS)))

        self._transport.open = connect_and_wait
        try:
            return hive.Connection(
                username=user,
                database=self.address.database,
                configuration=dict(self.address.settings),
                thrift_transport=self._transport,
            )
        except MetastoreSecurityError as error:
            raise MetastoreSecurityError(error.message, path=str(self.address), remedy=error.remedy) from error
        except exc.Error as error:
            raise MetastoreServerError(
                f"the SQL server refuses the session: {_first_lines(error)}", path=str(self.address)
            ) from error
        except Exception as error:
            refusal = _REFUSED_LOGIN.match(str(error))
            if refusal is not None:
                raise MetastoreSecurityError(
                    f"the SQL server refused the login of {user}: {refusal[1]}",
                    path=str(self.address),
                    remedy="check hoodie.datasource.hive_sync.username and password, and the server's authentication",
                ) from None
            # Bytes that are no answer make the library fail in any place. Its own errors say little; the usual
            # cause is a server that expects the other kind of transport.
            raise MetastoreConnectError(
                f"no session with the SQL server: {error}",
                path=str(self.address),
                remedy="check host and port, and auth=noSasl against the server's hive.server2.authentication",
            ) from error

    def _product(self) -> str:
        request = ttypes.TGetInfoReq(self._session.sessionHandle, ttypes.TGetInfoType.CLI_DBMS_NAME)
        self._wire.begin(self._timeouts.read)
        try:
            response = self._session.client.GetInfo(request)
            if response.status.statusCode != ttypes.TStatusCode.SUCCESS_STATUS:
                return ""
            return str(response.infoValue.stringValue or "")
        except Exception as error:
            raise self._unanswered("its name", error) from error

    @property
    def is_spark(self) -> bool:
        """Whether the server is Spark's, which refuses some of Hive's DDL."""
        return "spark" in self.product.lower()

    def execute(self, statement: str, about: str) -> None:
        """Execute a statement and wait for its end.

        Args:
            statement: without a semicolon at its end.
            about: what it is about, for errors.

        Raises:
            MetastoreServerError: the server refuses it or fails.
            MetastoreTimeoutError, MetastoreLostError: nobody knows whether it was carried out.
        """
        self._run(statement, about)
        self.statements[" ".join(statement.split(maxsplit=2)[:2])] += 1

    def number(self, query: str, about: str) -> int:
        """The number that a query gives, in the first column of its first row.

        Args:
            query: without a semicolon at its end.
            about: what it is about, for errors.

        Raises:
            MetastoreError: as of :meth:`execute`; or the query gives no number.
        """
        rows: list[Any] = []
        self._run(query, about, rows)
        if not rows or not isinstance(rows[0][0], int):
            raise MetastoreServerError(f"{about}: the query gave no number", path=str(self.address))
        return rows[0][0]

    def _run(self, statement: str, about: str, rows: list[Any] | None = None) -> None:
        if self._broken:
            raise MetastoreLostError(f"{about}: the session with the SQL server was lost", path=str(self.address))
        self._wire.begin(self._timeouts.read)
        try:
            with closing(self._session.cursor()) as cursor:
                cursor.execute(statement)
                if rows is not None:
                    rows.extend(cursor.fetchall())
        except exc.Error as error:
            raise MetastoreServerError(f"{about}: {_first_lines(error)}", path=str(self.address)) from error
        except Exception as error:
            self._broken = True
            raise self._unanswered(about, error) from error
        except BaseException:
            # Whatever comes from now on may be the answer to this one.
            self._broken = True
            raise

    def _unanswered(self, about: str, error: Exception) -> MetastoreTimeoutError | MetastoreLostError:
        timed_out = isinstance(error, TimeoutError) or (
            isinstance(error, TTransportException) and error.type == TTransportException.TIMED_OUT
        )
        return (MetastoreTimeoutError if timed_out else MetastoreLostError)(
            f"{about}: the SQL server did not answer: {error}",
            path=str(self.address),
            remedy="run the sync again: it carries on where this one stopped",
        )

    def close(self) -> None:
        """Close the session; errors are ignored, and a server that does not answer is not waited for."""
        try:
            if not self._broken:
                self._wire.begin(_CLOSE_SECONDS)
                with suppress(Exception):
                    self._session.close()
        finally:
            self._broken = True
            self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _TlsSocket(BoundedExchange, TSSLSocket):  # type: ignore[misc]
    """A TLS socket whose exchanges have one deadline and a largest size."""


def _socket(address: JdbcAddress) -> BoundedSocket | _TlsSocket:
    if address.ssl:
        context = ssl.create_default_context()
        return _TlsSocket(
            address.host, address.port, ssl_context=context, server_hostname=address.host, socket_keepalive=True
        )
    # A statement may take its time; that the server is gone is noticed all the same.
    return BoundedSocket(address.host, address.port, socket_keepalive=True)


def _transport(wire: BoundedSocket | _TlsSocket, address: JdbcAddress, user: str, password: str) -> TTransportBase:
    if not address.sasl:
        return TBufferedTransport(wire)
    try:
        from thrift_sasl import TSaslClientTransport  # type: ignore[import-untyped]

        # Fails here when no SASL library is installed, and not in the middle of the handshake.
        client = hive.get_installed_sasl(host=address.host, sasl_auth="PLAIN", username=user, password=password or "x")
    except ImportError as error:
        raise MissingDependencyError(
            f"the SQL server's authentication needs {error.name}", remedy="pip install 'hudi_hive[hive]'"
        ) from error
    return TSaslClientTransport(lambda: client, "PLAIN", wire)


def _kerberos_transport(
    wire: BoundedSocket | _TlsSocket, address: JdbcAddress, of_metastore: Sasl | None
) -> TTransportBase:
    """By the keytab or ticket cache of the metastore's login, a delegation token of the server, or kinit's ticket."""
    own = of_metastore
    if own is None or own.mechanism != _KERBEROS:
        own = Sasl(_KERBEROS, principal=address.principal)
    login = replace(own, principal=address.principal, token_signature=None if own.keytab else _TOKEN_SERVICE)
    try:
        return SaslTransport(TBufferedTransport(wire), make_mechanism(login, address.host))
    except MetastoreSecurityError as error:
        raise MetastoreSecurityError(error.message, path=str(address), remedy=error.remedy) from error


def _first_lines(error: Exception) -> str:
    """What the server says, without its stack."""
    response: Any = error.args[0] if error.args else None
    status = getattr(response, "status", None)
    text = getattr(status, "errorMessage", None) or str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return " ".join(lines)[:_LONGEST_MESSAGE]
