"""A real metastore 4.0.1 that wants TLS and a login with user and password."""

from __future__ import annotations

import subprocess

import pytest

from hudi_hive.errors import MetastoreSecurityError, MetastoreServerError, MetastoreTransportError
from hudi_hive.metastore import HiveMetastore, Retries, Sasl, Timeouts, Tls
from integration.support.metastores import ReleasedMetastore
from tests.support.metastore.metastore_behaviour import add_numbered, table_of
from tests.support.metastore.secure_metastore import Certificates

pytestmark = pytest.mark.jvm

LOGIN = Sasl("PLAIN", user="somebody", password="pass word")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def server(certificates, tmp_path_factory):
    store = ("-inkey", "server.key", "-in", "server.pem", "-passout", "pass:secret", "-out", "server.p12")
    subprocess.run(("openssl", "pkcs12", "-export", *store), cwd=certificates.folder, check=True, timeout=300)
    properties = {
        "metastore.use.SSL": "true",
        "metastore.keystore.path": certificates.path("server.p12"),
        "metastore.keystore.password": "secret",
        "metastore.keystore.type": "PKCS12",
        "metastore.execute.setugi": "false",
        "metastore.authentication": "CONFIG",
        "metastore.authentication.config.username": LOGIN.user,
        "metastore.authentication.config.password": LOGIN.password,
    }
    with ReleasedMetastore("4.0.1", tmp_path_factory.mktemp("metastore"), properties=properties) as running:
        yield running


def test_tls_and_login(server, certificates, tmp_path):
    with HiveMetastore(server.uri, tls=Tls(certificates.ca), sasl=LOGIN) as client:
        client.create_database("db")
        table = table_of("db", "t", tmp_path / "t")
        client.create_table(table)
        names = add_numbered(client, table, 70, tmp_path)
        assert [f"p={p.values[0]}" for p in client.partitions("db", "t")] == names


@pytest.mark.parametrize(
    ("tls", "login", "message"),
    [
        (True, Sasl("PLAIN", user="somebody", password="wrong"), "refused the PLAIN login"),
        (True, Sasl("DIGEST-MD5", user="dA==", password="dA=="), "DIGEST-MD5"),
        (True, None, "SASL"),
        (False, LOGIN, "TLS|SASL"),
        (False, None, "TLS"),
    ],
    ids=["wrong password", "another mechanism", "no login", "no TLS", "neither"],
)
def test_a_client_without_the_server_s_security_is_refused(server, certificates, tls, login, message):
    settings = {"tls": Tls(certificates.ca) if tls else None, "sasl": login}
    errors = (MetastoreSecurityError, MetastoreTransportError, MetastoreServerError)
    client = HiveMetastore(
        server.uri, timeouts=Timeouts(read=120 if tls else 5), retries=Retries(attempts=1), **settings
    )
    with client, pytest.raises(errors, match=message):
        client.databases()
