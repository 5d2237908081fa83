"""Logins by Kerberos: Debian's KDC, real metastores that want SASL, keytabs, ticket caches, delegation tokens."""

# ruff: noqa: SIM117 - the client is made outside of what fails

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from urllib.parse import quote

import pytest
from TCLIService import ttypes

from hudi_hive.errors import (
    MetastoreSecurityError,
    MetastoreServerError,
    MetastoreTransportError,
)
from hudi_hive.metastore import (
    DelegationToken,
    HiveMetastore,
    Retries,
    Sasl,
    Timeouts,
    read_token_file,
    write_token_file,
)
from hudi_hive.spark import ThriftServer
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.sync.apply.sql import SqlServer, parse_jdbc_url
from integration.support.hive_server import HiveServer2
from integration.support.spark_options import SERVER_SETTINGS, START_SECONDS
from integration.support.stores import kerberos
from integration.support.stores.kerberos import REALM, SERVICE, KerberosRealm, kerberized
from tests.support.fixture_tables import unzip_fixture
from tests.support.metastore.metastore_behaviour import add_numbered, table_of
from tests.support.running.long import long_case
from tests.support.running.waiting import wait_until

pytestmark = pytest.mark.jvm

ALICE = f"alice@{REALM}"
SHORT = f"short@{REALM}"
LIFE_S = 5
"""Life of a ticket of ``SHORT``."""

PRIVACY = {"hadoop.rpc.protection": "privacy"}
"""Of a metastore that encrypts what goes over the wire."""


_numbers = itertools.count()


@pytest.fixture(scope="module")
def realm(tmp_path_factory):
    reason = kerberos.why_not()
    if reason is not None:
        pytest.skip(reason)
    with KerberosRealm(tmp_path_factory.mktemp("realm"), clock_skew_s=1) as running:
        running.add("alice")
        running.add("short", life_s=LIFE_S)
        running.add("bob")
        yield running


@pytest.fixture
def here(realm, tmp_path, monkeypatch):
    """This process in the realm, without a ticket."""
    for name, value in realm.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/tickets")
    monkeypatch.delenv("HADOOP_TOKEN_FILE_LOCATION", raising=False)
    return realm


@pytest.fixture(
    scope="module", params=["4.0.1", long_case("3.1.3"), long_case("4.0.1 encrypted")], ids=lambda param: param
)
def server(realm, tmp_path_factory, request):
    version, _, encrypted = request.param.partition(" ")
    folder = tmp_path_factory.mktemp("metastore")
    with kerberized(version, folder, realm, hadoop=PRIVACY if encrypted else {}) as running:
        yield running


def uri_of(server, **fields):
    place = server.uri.replace("127.0.0.1", "localhost")
    return f"{place}?{'&'.join(f'{name}={quote(str(value))}' for name, value in fields.items())}" if fields else place


def client_of(server, realm=None, principal="hive/_HOST@" + REALM, **fields):
    """A client by Kerberos; with the realm, one with the keytab of Alice."""
    if realm is not None:
        fields = {"keytab": realm.keytab("alice"), "client_principal": ALICE, **fields}
    return HiveMetastore(uri_of(server, principal=principal, **fields), retries=Retries(attempts=1))


def fresh_name():
    return f"user{next(_numbers)}"


def is_encrypted(server):
    return "privacy" in (server.directory / "core-site.xml").read_text()


# -- keytab and ticket cache ---------------------------------------------------------------------------------------


def test_a_keytab_logs_in(server, here, tmp_path):
    with client_of(server, here) as client:
        client.create_database("by_keytab")
        table = table_of("by_keytab", "t", tmp_path / "t")
        client.create_table(table)
        names = add_numbered(client, table, 70, tmp_path)
        assert [f"p={p.values[0]}" for p in client.partitions("by_keytab", "t")] == names
        client.drop_database("by_keytab", cascade=True)
    assert f"{ALICE} for {SERVICE}" in here.log


def test_a_ticket_cache_logs_in(server, here, tmp_path):
    with client_of(server) as client:
        with pytest.raises(MetastoreSecurityError, match=r"there is no Kerberos ticket.*run kinit"):
            client.databases()
        here.log_in("alice", here.keytab("alice"), tmp_path / "tickets")
        assert "default" in client.databases()  # the same client
    here.log_in("bob", here.keytab("bob"), tmp_path / "other tickets")
    with client_of(server, ticket_cache=tmp_path / "other tickets", client_principal=f"bob@{REALM}") as client:
        assert "default" in client.databases()


def test_options_of_a_sync_name_principal_and_keytab(server, here):
    names = (
        {"sasl.enabled": "true", "kerberos.principal": f"hive/_HOST@{REALM}"},
        {"client.keytab": str(here.keytab("alice")), "client.principal": ALICE},
    )
    options = {f"hive.metastore.{name}": value for group in names for name, value in group.items()}
    config = HiveSyncConfig.from_options(
        {
            "hoodie.datasource.meta.sync.base.path": str(unzip_fixture("v8_cow_part_mdt")),
            "hoodie.datasource.hive_sync.database": "by_options",
            "hoodie.datasource.hive_sync.table": "t",
            "hive.metastore.uris": uri_of(server),
            **options,
        }
    )
    HiveSyncTool(config).sync()
    with client_of(server, here) as client:
        assert client.partition_names("by_options", "t")
        client.drop_database("by_options", cascade=True)


# -- tickets that expire -------------------------------------------------------------------------------------------


def until_expired(cache):
    """Wait until nobody can log in with the ticket of a cache any more."""
    import gssapi

    def expired():
        try:
            ticket = gssapi.Credentials(usage="initiate", store={"ccache": f"FILE:{cache}"})
            name = gssapi.Name(SERVICE, gssapi.NameType.kerberos_principal)
            gssapi.SecurityContext(name=name, creds=ticket, mech=gssapi.MechType.kerberos, usage="initiate").step()
        except gssapi.exceptions.GSSError as error:
            assert "expired" in str(error), error
            return True

    wait_until(expired, "the ticket expires")


class SlowMetastore(HiveMetastore):
    """A client between whose calls that change partitions all tickets expire and all connections break."""

    def __init__(self, uri, realm, cache):
        super().__init__(uri, retries=Retries(attempts=1))
        self._realm, self._cache = realm, cache
        self._pausing = threading.Lock()
        self.pauses = 0

    def call(self, method, *arguments, about, repeatable=True):
        if "partitions" in method and not method.startswith("get"):
            with self._pausing:
                if self.pauses < 2:
                    self._pause()
        return super().call(method, *arguments, about=about, repeatable=repeatable)

    def _pause(self):
        # A ticket that is got now outlives those that this client has.
        self._realm.log_in("short", self._realm.keytab("short"), self._cache)
        until_expired(self._cache)
        if self.pauses:  # the first time, the connection that is open already goes on
            break_connections(self)
        self.pauses += 1


def break_connections(client):
    """As a metastore does that was not called for a while."""
    for connection in client._pool._idle:
        connection.close()


def test_sync_longer_than_a_ticket(server, here, tmp_path):
    config = HiveSyncConfig(base_path=str(unzip_fixture("v8_cow_part_mdt")), database="slow", table="t", batch_size=1)
    uri = uri_of(server, principal=SERVICE, keytab=here.keytab("short"), client_principal=SHORT)
    given = here.log.count(f"{SHORT} for krbtgt/")
    with SlowMetastore(uri, here, tmp_path / "watched") as client:
        HiveSyncTool(config, metastore=client).sync()
        assert client.pauses == 2
        assert len(client.partition_names("slow", "t")) > 2
        # Two for the cache that is looked at, the others for the client: it got another one by itself.
        assert here.log.count(f"{SHORT} for krbtgt/") - given >= 2 + 2
        client.drop_database("slow", cascade=True)


def test_expired_ticket_of_a_cache(server, here, tmp_path):
    cache = tmp_path / "tickets"
    with client_of(server) as client:

        def is_answered():
            here.log_in("short", here.keytab("short"), cache)  # as a cron job does
            try:
                return bool(client.databases())
            except MetastoreSecurityError:  # of a machine that is slower than the ticket
                return False

        wait_until(is_answered, "a call within the life of a ticket")
        until_expired(cache)
        break_connections(client)
        with pytest.raises(MetastoreSecurityError, match=r"the Kerberos ticket has expired.*run kinit again"):
            client.databases()
        wait_until(is_answered, "a call with a new ticket")


# -- what goes wrong -----------------------------------------------------------------------------------------------


def test_wrong_principals_and_keytabs(server, here, tmp_path):
    (tmp_path / "junk").write_text("secret junk")
    changed = fresh_name()
    keytab = here.add(changed)
    here.administrate(f"cpw -randkey {changed}")
    for realm, fields, message in (
        (here, {"principal": f"hive/elsewhere@{REALM}"}, f"does not know the principal hive/elsewhere@{REALM}"),
        (here, {"client_principal": f"bob@{REALM}"}, f"the keytab has no key of bob@{REALM}"),
        (here, {"keytab": tmp_path / "missing"}, "missing cannot be read: No such file"),
        (here, {"keytab": tmp_path / "junk"}, "keytab"),
        (here, {"keytab": keytab, "client_principal": f"{changed}@{REALM}"}, "get a new keytab"),
        (None, {"ticket_cache": tmp_path / "missing"}, "missing cannot be read: No such file"),
        (None, {"ticket_cache": tmp_path / "junk"}, "cache"),
    ):
        with (
            client_of(server, realm, **fields) as client,
            pytest.raises(MetastoreSecurityError, match=message) as found,
        ):
            client.databases()
        assert found.value.path is not None and found.value.remedy and "secret" not in str(found.value)


def test_no_login_and_other_logins(server, here):
    with HiveMetastore(uri_of(server), retries=Retries(attempts=1)) as client:
        with pytest.raises((MetastoreTransportError, MetastoreServerError), match="SASL"):
            client.databases()
    login = Sasl("PLAIN", user="somebody", password="pass word")
    with HiveMetastore(uri_of(server), retries=Retries(attempts=1), sasl=login) as client:
        with pytest.raises(MetastoreSecurityError, match="refused the PLAIN login") as found:
            client.databases()
    assert "pass word" not in str(found.value)


def test_kdc_that_does_not_answer(server, here):
    late = fresh_name()
    fields = {"keytab": here.add(late), "client_principal": f"{late}@{REALM}"}
    here.stop()
    try:
        with client_of(server, **fields) as client:
            with pytest.raises(MetastoreSecurityError, match=r"the KDC cannot be reached.*krb5\.conf"):
                client.databases()
            here.start()
            assert "default" in client.databases()
    finally:
        here.stop()
        here.start()


# -- delegation tokens ---------------------------------------------------------------------------------------------


def test_delegation_tokens_log_in_until_they_are_cancelled(server, here, tmp_path, monkeypatch):
    with client_of(server, here) as client:
        token = client.delegation_token("alice")
        assert token.kind == "HIVE_DELEGATION_TOKEN" and DelegationToken.from_text(token.text) == token
        assert token.text not in repr(token) and repr(token.password) not in repr(token)
        assert client.renew_delegation_token(token) > 0
        with pytest.raises(MetastoreServerError) as refused:
            client.delegation_token("bob")  # whom Alice may not act for
        assert token.text not in str(refused.value)
        if is_encrypted(server):
            with HiveMetastore(uri_of(server), sasl=token.login()) as other:
                with pytest.raises(MetastoreSecurityError, match=r"hadoop\.rpc\.protection"):
                    other.databases()
            return

        # As Spark hands it over to its processes, which have no ticket: in a file that a variable names.
        marked = replace(token, service="of the lake")
        write_token_file(tmp_path / "tokens", [marked])
        assert (tmp_path / "tokens").stat().st_mode & 0o077 == 0
        assert read_token_file(tmp_path / "tokens") == [marked]
        monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "tokens"))
        with client_of(server, token_signature="of the lake") as other:
            assert "default" in other.databases()
        with HiveMetastore(uri_of(server, token_signature="of the lake")) as other:
            assert "default" in other.databases()
        with client_of(server, token_signature="of another") as other:
            with pytest.raises(MetastoreSecurityError, match="no Kerberos ticket"):
                other.databases()
        with HiveMetastore(uri_of(server, sasl="DIGEST-MD5", token_signature="of another")) as other:
            with pytest.raises(
                MetastoreSecurityError, match="no delegation token of Hive with the service 'of another'"
            ):
                other.databases()
        with HiveMetastore(uri_of(server), sasl=token.login()) as other:
            assert "default" in other.databases()

        client.cancel_delegation_token(token)
        with client_of(server, token_signature="of the lake") as other:
            with pytest.raises(
                MetastoreSecurityError, match=r"DIGEST-MD5 login.*get a new delegation token"
            ) as refused:
                other.databases()
        for secret in (token.text, token.login().password):
            assert secret not in str(refused.value)


# -- Spark's Thrift server -----------------------------------------------------------------------------------------


@pytest.mark.long
def test_sparks_thrift_server_logs_in_and_has_clients_log_in(realm, here, tmp_path):
    """It logs in to the metastore with a keytab, and its clients log in to it with their tickets."""
    # Spark's own client of Hive 2.3 makes calls that metastore 4.0 has no more.
    with kerberized("3.1.3", tmp_path / "metastore", realm) as metastore:
        with client_of(metastore, here) as client:
            config = HiveSyncConfig(base_path=str(unzip_fixture("v8_cow_part_mdt")), database="lake", table="t")
            HiveSyncTool(config, metastore=client).sync()
        settings = {
            "spark.kerberos.principal": SERVICE,
            "spark.kerberos.keytab": str(realm.keytab("hive/localhost")),
            "spark.hadoop.hive.metastore.sasl.enabled": "true",
            "spark.hadoop.hive.metastore.kerberos.principal": SERVICE,
            **SERVER_SETTINGS,
        }
        with ThriftServer(
            uri_of(metastore), authentication="KERBEROS", settings=settings, timeout=START_SECONDS
        ) as server:
            address = parse_jdbc_url(server.jdbc_url)
            with pytest.raises(MetastoreSecurityError, match="there is no Kerberos ticket"):
                SqlServer(address)
            here.log_in("alice", here.keytab("alice"), tmp_path / "tickets")
            with SqlServer(address) as session:
                session.execute("CREATE DATABASE by_ticket", "a database")
                with session._session.cursor() as cursor:
                    cursor.execute("SELECT current_user(), count(*) FROM lake.t")
                    ((user, rows),) = cursor.fetchall()
                assert user == "alice" and rows > 0
            plain = parse_jdbc_url(server.jdbc_url.partition(";")[0])
            with pytest.raises(MetastoreSecurityError, match="Unsupported mechanism type PLAIN"):
                SqlServer(plain, timeouts=Timeouts(connect=60))
        with client_of(metastore, here) as client:
            assert "by_ticket" in client.databases()


# -- HiveServer2 ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hive_and_metastore(realm, tmp_path_factory):
    """HiveServer2 2.3, which calls a metastore 3.1, both behind Kerberos."""
    with kerberized("3.1.3", tmp_path_factory.mktemp("metastore"), realm) as metastore:
        login = {"principal": SERVICE, "keytab": str(realm.keytab("hive/localhost"))}
        properties = {
            "hadoop.security.authentication": "kerberos",
            "hive.metastore.sasl.enabled": "true",
            "hive.metastore.kerberos.principal": SERVICE,
            **{f"hadoop.proxyuser.hive.{what}": "*" for what in ("hosts", "groups")},  # for delegation tokens
            **{f"hive.server2.authentication.kerberos.{name}": text for name, text in login.items()},
        }
        with HiveServer2(
            uri_of(metastore),
            tmp_path_factory.mktemp("hive"),
            authentication="KERBEROS",
            properties=properties,
            java_options=realm.java_options,
            session=f";principal=hive/_HOST@{REALM}",
        ) as hive:
            yield hive.jdbc_url.replace("127.0.0.1", "localhost"), metastore


def sync_by_sql(metastore, url, database, **fields):
    uri = uri_of(metastore, principal=SERVICE, **fields)
    path = str(unzip_fixture("v8_cow_part_mdt"))
    config = HiveSyncConfig(
        base_path=path, database=database, table="t", mode="hiveql", jdbc_url=url, metastore_uris=uri, batch_size=1
    )
    return HiveSyncTool(config).sync()


@pytest.mark.long
def test_sync_by_sql_longer_than_a_ticket(hive_and_metastore, here, tmp_path, monkeypatch):
    """The keytab of the metastore's login is that of HiveServer2's, too; there is no ticket of kinit."""
    url, metastore = hive_and_metastore
    execute, pauses = SqlServer.execute, []

    def slow(self, statement, about):
        if "ADD IF" in statement and len(pauses) < 2:
            pauses.append(statement)
            here.log_in("short", here.keytab("short"), tmp_path / "watched")
            until_expired(tmp_path / "watched")
        execute(self, statement, about)

    monkeypatch.setattr(SqlServer, "execute", slow)
    sync_by_sql(metastore, url, "slow_sql", keytab=here.keytab("short"), client_principal=SHORT)
    assert len(pauses) == 2
    with client_of(metastore, here) as client:
        assert len(client.partition_names("slow_sql", "t")) > 2
        client.drop_database("slow_sql", cascade=True)
    assert f"{SHORT} for {SERVICE}" in here.log


@pytest.mark.long
def test_sync_by_sql_with_delegation_tokens(hive_and_metastore, here, tmp_path, monkeypatch):
    """A process without ticket and keytab, whose token file has a token of each of both."""
    url, metastore = hive_and_metastore
    keytab = {"keytab": here.keytab("alice"), "client_principal": ALICE}
    login = Sasl("GSSAPI", principal=SERVICE, **keytab)
    with client_of(metastore, here) as client, SqlServer(parse_jdbc_url(url), login=login) as server:
        session = server._session
        request = ttypes.TGetDelegationTokenReq(session.sessionHandle, "alice", "alice")
        answer = session.client.GetDelegationToken(request)
        assert answer.delegationToken, answer.status
        of_hive = DelegationToken.from_text(answer.delegationToken)
        write_token_file(tmp_path / "tokens", [client.delegation_token("alice"), of_hive])
    assert of_hive.service == "hiveserver2ClientToken"
    with pytest.raises(MetastoreSecurityError, match="there is no Kerberos ticket"):
        sync_by_sql(metastore, url, "by_token")
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "tokens"))
    sync_by_sql(metastore, url, "by_token")
    with client_of(metastore, here) as client:
        assert client.partition_names("by_token", "t")
        client.drop_database("by_token", cascade=True)
