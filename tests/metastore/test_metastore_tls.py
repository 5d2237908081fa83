"""TLS and SASL connections to a metastore, against loopback servers that want them."""

# ruff: noqa: SIM117 - the server outlives the client that is looked at

from __future__ import annotations

import ssl
import threading

import pytest

from hudi_hive.errors import (
    InvalidOptionError,
    MetastoreSecurityError,
    MetastoreServerError,
    MetastoreTransportError,
)
from hudi_hive.metastore import HiveMetastore, Retries, Sasl, Timeouts, Tls, from_hive_properties
from tests.metastore.shared.security_helpers import certificates, client_of, fake, front, use
from tests.support.metastore import secure_metastore as secure

__all__ = ["certificates", "fake"]


# -- TLS -----------------------------------------------------------------------------------------------------------


def test_a_client_connects_by_tls(fake, certificates, tmp_path):
    with front(fake, secure.tls_relay(certificates)) as server:
        for uri, tls in (
            (f"thrift://127.0.0.1:{server.port}", Tls(ca_file=certificates.ca)),
            (f"thrift+tls://localhost:{server.port}?ca={certificates.ca}", None),
        ):
            with client_of(uri, tls=tls) as client:
                use(client, tmp_path)
                client.drop_database("db", cascade=True)


def test_an_idle_connection_is_used_again_until_the_server_ends_it(fake, certificates):
    with front(fake, secure.tls_relay(certificates)) as server:
        with client_of(f"thrift://127.0.0.1:{server.port}", tls=Tls(ca_file=certificates.ca)) as client:
            for _ in range(3):
                client.databases()
            assert server.accepted == 1
            fake.stop()
            fake.start()
            client.databases()
            assert server.accepted == 2


@pytest.mark.parametrize(
    ("name", "tls", "message"),
    [
        ("server", {"ca_file": "stranger.pem"}, "certificate is refused"),
        ("server", {}, "certificate is refused"),
        ("elsewhere", {"ca_file": "ca.pem"}, "certificate is refused.*not valid for '127.0.0.1'"),
        ("server", {"ca_file": "ca.pem", "server_name": "elsewhere"}, "certificate is refused.*elsewhere"),
    ],
    ids=["another authority", "authorities of the system", "another host", "another name"],
)
def test_a_server_that_is_not_trusted_is_refused(fake, certificates, name, tls, message):
    tls = {key: certificates.path(value) if key == "ca_file" else value for key, value in tls.items()}
    with front(fake, secure.tls_relay(certificates, name=name)) as server:
        uri = f"thrift://127.0.0.1:{server.port}"
        with client_of([uri, fake.uri], tls=Tls(**tls)) as client, pytest.raises(MetastoreSecurityError, match=message):
            client.databases()
        assert server.accepted == 1
        assert fake.calls == []


@pytest.mark.parametrize("tls", [{"check_host": False}, {"server_name": "elsewhere"}], ids=str)
def test_server_of_another_name_on_demand(fake, certificates, tls):
    with front(fake, secure.tls_relay(certificates, name="elsewhere")) as server:
        tls = Tls(ca_file=certificates.ca, **tls)
        with client_of(f"thrift://127.0.0.1:{server.port}", tls=tls) as client:
            assert client.databases() == ["default"]


@pytest.mark.parametrize("key", ["client.key", "locked.key"])
def test_a_client_s_certificate_is_presented(fake, certificates, key):
    password = "secret" if key == "locked.key" else None
    tls = Tls(certificates.ca, certificates.path("client.pem"), certificates.path(key), password)
    assert "secret" not in repr(tls)
    with front(fake, secure.tls_relay(certificates, ask_client=True)) as server:
        with client_of(f"thrift://127.0.0.1:{server.port}", tls=tls) as client:
            assert client.databases() == ["default"]


def test_client_certificate_in_a_uri(fake, certificates, tmp_path):
    (tmp_path / "password").write_text("secret\n")
    own = f"certificate={certificates.path('client.pem')}&key={certificates.path('locked.key')}"
    with front(fake, secure.tls_relay(certificates, ask_client=True)) as server:
        uri = f"thrift+tls://127.0.0.1:{server.port}?ca={certificates.ca}&{own}&key_password_file={tmp_path}/password"
        with client_of(uri) as client:
            assert client.databases() == ["default"]


def test_client_certificate_missing(fake, certificates):
    with front(fake, secure.tls_relay(certificates, ask_client=True)) as server:
        with client_of(f"thrift://127.0.0.1:{server.port}", tls=Tls(certificates.ca)) as client:
            with pytest.raises(MetastoreTransportError) as raised:
                client.databases()
    assert isinstance(raised.value, MetastoreSecurityError) or "broke" in str(raised.value)
    assert fake.calls == []


def test_tls_against_a_plain_metastore(fake, certificates):
    with (
        HiveMetastore(fake.uri, timeouts=Timeouts(connect=1, read=1), tls=Tls(certificates.ca)) as client,
        pytest.raises(MetastoreSecurityError, match="no TLS connection"),
    ):
        client.databases()


def test_plain_client_against_tls(fake, certificates):
    with front(fake, secure.tls_relay(certificates)) as server:
        with client_of(f"thrift://127.0.0.1:{server.port}") as client:
            with pytest.raises((MetastoreTransportError, MetastoreServerError), match="TLS"):
                client.databases()


def test_closing_breaks_an_encrypted_call(fake, certificates):
    fake.inject("delay", method="get_all_databases", seconds=120)
    failures = []
    with front(fake, secure.tls_relay(certificates)) as server:
        client = client_of(f"thrift://127.0.0.1:{server.port}", tls=Tls(certificates.ca), retries=Retries(attempts=1))

        def call():
            try:
                client.databases()
            except MetastoreTransportError as error:
                failures.append(error)

        thread = threading.Thread(target=call)
        thread.start()
        while not fake.calls and thread.is_alive():
            thread.join(0.01)
        client.close()
        thread.join(300)
    assert len(failures) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ca_file": "missing.pem"}, "No such file"),
        ({"ca_file": "ca.key"}, "cannot use this TLS file"),
        ({"certificate": "client.pem", "key": "server.key"}, "mismatch|MISMATCH"),
        ({"certificate": "client.pem", "key": "locked.key"}, "cannot use this TLS file"),
    ],
    ids=str,
)
def test_files_that_cannot_be_used_are_refused(certificates, settings, message):
    with pytest.raises(InvalidOptionError, match=message):
        Tls(**{key: certificates.path(name) for key, name in settings.items()}).context()


def test_settings_that_make_no_sense():
    for make in (
        lambda: Tls(key="k"),
        lambda: Tls(ca_file=""),
        lambda: from_hive_properties({"hive.metastore.use.SSL": "yes"}),
        lambda: Tls(server_name="n", check_host=False),
        lambda: Sasl("NTLM"),
        lambda: Sasl("PLAIN", user="u"),
        lambda: Sasl("PLAIN", user="u", password="p", principal="hive/_HOST@R"),
        lambda: Sasl("PLAIN", user="u\0", password="p"),
        lambda: Sasl("GSSAPI"),
        lambda: Sasl("GSSAPI", principal="hive@R"),
        lambda: Sasl("GSSAPI", principal="hive/_HOST@R", user="u"),
        lambda: Sasl("GSSAPI", principal="hive/a/b@R"),
    ):
        with pytest.raises(InvalidOptionError):
            make()
    assert Tls().context().minimum_version is ssl.TLSVersion.TLSv1_2
