"""A real metastore 4.0.1 that speaks HTTP: users by name, JSON Web Tokens, TLS."""

# ruff: noqa: SIM117 - the client is made outside of what fails

from __future__ import annotations

import base64
import json
import subprocess
import time

import pytest

from hudi_hive.errors import MetastoreError, MetastoreSecurityError, MetastoreServerError
from hudi_hive.metastore import HiveMetastore, Retries
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from integration.support.metastores import ReleasedMetastore
from tests.support.fixture_tables import unzip_fixture
from tests.support.metastore.metastore_behaviour import add_numbered, table_of
from tests.support.metastore.secure_metastore import Certificates

pytestmark = pytest.mark.jvm

HTTP = {"metastore.server.thrift.transport.mode": "http", "metastore.execute.setugi": "false"}


def place_of(server):
    return server.uri.partition("://")[2]


def use(client, database, folder):
    """Make partitions and read them, with answers larger than a packet."""
    client.create_database(database)
    table = table_of(database, "t", folder / "t")
    client.create_table(table)
    names = add_numbered(client, table, 120, folder)
    assert [f"p={p.values[0]}" for p in client.partitions(database, "t")] == names
    client.drop_database(database, cascade=True)


# -- the caller's name in a header ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    properties = HTTP | {"metastore.server.thrift.http.path": "metastore"}
    with ReleasedMetastore("4.0.1", tmp_path_factory.mktemp("metastore"), properties=properties) as running:
        yield running


def test_calls_carry_the_name_and_the_headers_of_the_address(server, tmp_path):
    with HiveMetastore(f"http://{place_of(server)}?user=ann&headers=X-Reason=test", ugi="ben") as client:
        use(client, "by_http", tmp_path)
        assert client.calls["set_ugi"] == 0 and client.uri == f"http://{place_of(server)}/metastore"
        with pytest.raises(MetastoreServerError, match="database none"):
            client.database("none")
        assert "default" in client.databases()


def test_owner_is_the_caller(server, monkeypatch):
    for who, settings, environment in (
        ("ann", "?user=ann", {}),
        ("ben", "", {"ugi": "ben"}),
        ("cleo", "", {}),
    ):
        monkeypatch.setenv("HADOOP_USER_NAME", "cleo")
        with HiveMetastore(f"http://{place_of(server)}{settings}", **environment) as client:
            client.create_database(f"of_{who}")
            assert client.database(f"of_{who}").ownerName in (who, None)
            client.drop_database(f"of_{who}")
    log = server.log_path.read_text(errors="replace")
    assert "Authentication error" not in log


def test_sync_by_options(server):
    names = {
        "hoodie.datasource.meta.sync.base.path": str(unzip_fixture("v8_cow_part_mdt")),
        "hoodie.datasource.hive_sync.database": "synced_by_http",
        "hoodie.datasource.hive_sync.table": "t",
        "hive.metastore.uris": server.uri,
        "hive.metastore.client.thrift.transport.mode": "http",
    }
    HiveSyncTool(HiveSyncConfig.from_options(names)).sync()
    assert HiveSyncTool(HiveSyncConfig.from_options(names)).sync() is not None
    with HiveMetastore(f"http://{place_of(server)}") as client:
        assert client.partition_names("synced_by_http", "t")
        client.drop_database("synced_by_http", cascade=True)


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("http://{place}/elsewhere", "HTTP 405.*thrift.http.path"),
        ("thrift://{place}", "protocol|broke|SASL"),
        ("https://{place}", "no TLS connection"),
    ],
    ids=["path", "binary", "TLS"],
)
def test_another_path_or_transport_is_an_error_that_says_so(server, uri, message):
    with HiveMetastore(uri.format(place=place_of(server)), retries=Retries(attempts=1)) as client:
        with pytest.raises(MetastoreError, match=message):
            client.databases()


# -- JSON Web Tokens -----------------------------------------------------------------------------------------------


def coded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """Issues JSON Web Tokens that are signed by RS256."""

    def __init__(self, folder):
        self.folder = folder
        self._run("genrsa", "-out", "key.pem", "2048")
        text = self._run("rsa", "-in", "key.pem", "-noout", "-modulus").decode().strip()
        modulus = bytes.fromhex(text.partition("=")[2])
        key = {"kty": "RSA", "kid": "k", "use": "sig", "alg": "RS256", "e": "AQAB", "n": coded(modulus)}
        self.keys = folder / "keys.json"
        self.keys.write_text(json.dumps({"keys": [key]}))

    def _run(self, *arguments, data=b""):
        return subprocess.run(
            ("openssl", *arguments), cwd=self.folder, input=data, capture_output=True, check=True, timeout=300
        ).stdout

    def token(self, user, seconds=3600):
        now = int(time.time())
        claims = {"sub": user, "iat": now - 7200, "exp": now + seconds}
        parts = [{"alg": "RS256", "kid": "k", "typ": "JWT"}, claims]
        text = ".".join(coded(json.dumps(part).encode()) for part in parts)
        return f"{text}.{coded(self._run('dgst', '-sha256', '-sign', 'key.pem', data=text.encode()))}"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    made = Certificates(tmp_path_factory.mktemp("certificates"))
    store = ("-inkey", "server.key", "-in", "server.pem", "-passout", "pass:secret", "-out", "server.p12")
    subprocess.run(("openssl", "pkcs12", "-export", *store), cwd=made.folder, check=True, timeout=300)
    return made


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture(scope="module")
def token_server(certificates, issuer, tmp_path_factory):
    properties = HTTP | {
        "metastore.use.SSL": "true",
        "metastore.keystore.path": certificates.path("server.p12"),
        "metastore.keystore.password": "secret",
        "metastore.keystore.type": "PKCS12",
        "metastore.keymanagerfactory.algorithm": "SunX509",  # Jetty is told nothing in place of Java's default
        "metastore.authentication": "JWT",
        "metastore.authentication.jwt.jwks.url": issuer.keys.as_uri(),
    }
    with ReleasedMetastore("4.0.1", tmp_path_factory.mktemp("metastore"), properties=properties) as running:
        yield running


@pytest.mark.long
def test_token_of_the_environment(token_server, certificates, issuer, tmp_path, monkeypatch):
    monkeypatch.setenv("HMS_JWT", issuer.token("ann"))
    with HiveMetastore(f"https://{place_of(token_server)}?ca={certificates.ca}&auth=JWT") as client:
        use(client, "by_token", tmp_path)


@pytest.mark.long
def test_token_of_a_file_is_read_for_each_call(token_server, certificates, issuer, tmp_path):
    path = tmp_path / "jwt"
    with HiveMetastore(f"https://{place_of(token_server)}?ca={certificates.ca}&jwt_file={path}") as client:
        with pytest.raises(MetastoreSecurityError, match="cannot read the JSON Web Token"):
            client.databases()
        path.write_text(issuer.token("ann") + "\n")
        assert "default" in client.databases()
        expired = issuer.token("ann", seconds=-3600)
        path.write_text(expired)
        with pytest.raises(MetastoreSecurityError, match=r"refused the login: HTTP 401.*valid now") as found:
            client.databases()
        assert expired not in str(found.value) + repr(client)
        path.write_text(issuer.token("ann"))
        assert "default" in client.databases()


@pytest.mark.long
def test_name_without_a_token(token_server, certificates):
    with HiveMetastore(f"https://{place_of(token_server)}?ca={certificates.ca}&user=ann") as client:
        with pytest.raises(MetastoreSecurityError, match=r"HTTP 401.*JSON Web Token"):
            client.databases()


@pytest.mark.long
def test_certificate_of_nobody(token_server, monkeypatch):
    monkeypatch.setenv("HMS_JWT", "a.b.c")
    with HiveMetastore(f"https://{place_of(token_server)}?auth=JWT") as client:
        with pytest.raises(MetastoreSecurityError, match="certificate is refused"):
            client.databases()
