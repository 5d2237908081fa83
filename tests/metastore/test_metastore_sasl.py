"""Logins to a metastore by SASL: PLAIN, tokens and Kerberos, alone and over TLS."""

# ruff: noqa: SIM117 - the server outlives the client that is looked at

from __future__ import annotations

import builtins

import pytest

from hudi_hive.errors import (
    MetastoreSecurityError,
    MetastoreServerError,
    MetastoreTransportError,
    MissingDependencyError,
)
from hudi_hive.metastore import HiveMetastore, Sasl, Timeouts, Tls
from hudi_hive.metastore.connection.sasl import SaslTransport, make_mechanism
from tests.metastore.shared.security_helpers import certificates, client_of, fake, front, use
from tests.support.metastore import secure_metastore as secure

__all__ = ["certificates", "fake"]

USERS = {"étienne": "pass wörd", "ann": ""}


# -- SASL ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("frame", [7, 1 << 20], ids=["many frames an answer", "one frame"])
def test_a_user_logs_in_by_sasl_plain(fake, tmp_path, user, frame):
    with front(fake, secure.sasl_relay(USERS, frame=frame)) as server:
        with client_of(f"thrift://127.0.0.1:{server.port}", sasl=Sasl("PLAIN", user, USERS[user]), ugi=user) as client:
            use(client, tmp_path)
        assert "set_ugi" in fake.counts


def test_sasl_in_a_uri(fake, tmp_path):
    (tmp_path / "password").write_text("pass wörd\n")
    with front(fake, secure.sasl_relay(USERS)) as server:
        uri = f"thrift://127.0.0.1:{server.port}?sasl=plain&user=%C3%A9tienne&password_file={tmp_path}/password"
        with client_of(uri) as client:
            assert client.databases() == ["default"]
            assert "pass" not in client.uri + repr(client)


def test_sasl_over_tls(fake, certificates):
    plain = secure.sasl_relay(USERS)
    with (
        front(fake, plain) as inner,
        secure.Front(inner.port, secure.tls_relay(certificates)) as server,
        client_of(
            f"thrift+tls://127.0.0.1:{server.port}?ca={certificates.ca}", sasl=Sasl("PLAIN", "ann", "")
        ) as client,
    ):
        assert client.databases() == ["default"]


def test_login_refused_once(fake):
    with front(fake, secure.sasl_relay(USERS)) as server:
        uri = f"thrift://127.0.0.1:{server.port}"
        with (
            client_of([uri, fake.uri], sasl=Sasl("PLAIN", "ann", "wrong")) as client,
            pytest.raises(MetastoreSecurityError, match=r"refused the PLAIN login: Error validating.* of ann") as error,
        ):
            client.create_database("db")
        assert error.value.path == uri and "wrong" not in str(error.value)
        assert "unknown" not in str(error.value)  # nothing was asked for
        assert server.accepted == 1
    assert fake.calls == []


def cut(times, relay):
    """A relay that cuts so many connections off before it lets one through."""
    left = [times]

    def serve(client, backend):
        if left[0]:
            left[0] -= 1
            client.recv(1)
        else:
            relay(client, backend)

    return serve


@pytest.mark.parametrize("kind", ["TLS", "SASL"])
def test_cut_off_is_not_refused(fake, certificates, kind):
    relay = secure.tls_relay(certificates) if kind == "TLS" else secure.sasl_relay(USERS)
    settings = {"tls": Tls(certificates.ca)} if kind == "TLS" else {"sasl": Sasl("PLAIN", "ann", "")}
    with front(fake, cut(2, relay)) as server:
        with client_of(f"thrift://127.0.0.1:{server.port}", **settings) as client:
            client.create_database("db")  # of which nothing was sent before
        assert (server.accepted, fake.counts["create_database"]) == (3, 1)
    with front(fake, cut(-1, relay)) as server, front(fake, relay) as second:
        uris = [f"thrift://127.0.0.1:{one.port}" for one in (server, second)]
        with client_of(uris, **settings) as client:
            client.create_database("db2")
            assert client.uri == uris[1]
        assert (server.accepted, second.accepted) == (1, 1)
        with client_of(uris[0], **settings) as client, pytest.raises(MetastoreSecurityError, match=kind) as raised:
            client.create_database("db3")
        assert "unknown" not in str(raised.value) and server.accepted == 4
    assert fake.counts["create_database"] == 2


def test_a_mechanism_that_the_server_lacks_is_an_error(fake):
    with front(fake, secure.sasl_relay(USERS)) as server:
        with client_of(f"thrift://127.0.0.1:{server.port}", sasl=Sasl("DIGEST-MD5", "id", "pw")) as client:
            with pytest.raises(MetastoreSecurityError, match="Unsupported mechanism type DIGEST-MD5"):
                client.databases()


def test_sasl_against_a_plain_metastore(fake):
    with (
        HiveMetastore(fake.uri, timeouts=Timeouts(connect=0.5, read=60), sasl=Sasl("PLAIN", "ann", "")) as client,
        pytest.raises(MetastoreSecurityError, match="SASL"),
    ):
        client.databases()  # it waits for more of what it takes for a long name


def test_a_login_leaves_the_read_time_out(fake):
    with front(fake, secure.sasl_relay(USERS)) as server:
        settings = {"timeouts": Timeouts(connect=60, read=300), "sasl": Sasl("PLAIN", "ann", "")}
        with HiveMetastore(f"thrift://127.0.0.1:{server.port}", **settings) as client:
            client.databases()
            assert 60 < client._pool._idle[0]._socket.handle.gettimeout() <= 300


def test_plain_client_against_sasl(fake):
    with front(fake, secure.sasl_relay(USERS)) as server, client_of(f"thrift://127.0.0.1:{server.port}") as client:
        with pytest.raises((MetastoreTransportError, MetastoreServerError), match="SASL"):
            client.databases()


class Scripted:
    """A transport that answers with given bytes."""

    def __init__(self, answer: bytes) -> None:
        self.answer, self.sent = answer, b""

    def write(self, data: bytes) -> None:
        self.sent += data

    def flush(self) -> None:
        pass

    def readAll(self, size: int) -> bytes:
        found, self.answer = self.answer[:size], self.answer[size:]
        if len(found) < size:
            raise EOFError
        return found


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"HTTP/1.1 400 Bad Request", "no SASL message"),
        (b"\x02\x7f\xff\xff\xff", "no SASL message"),
        (b"\x03\x00\x00\x00\x00", "BAD"),
        (b"\x02\x00\x00\x00\x00" * 30, "does not end"),
    ],
    ids=["another protocol", "endless message", "no reason", "endless login"],
)
def test_a_damaged_login_is_an_error(answer, message):
    mechanism = make_mechanism(Sasl("PLAIN", "u", "p"), "h")
    with pytest.raises(MetastoreSecurityError, match=message):
        SaslTransport(Scripted(answer), mechanism).log_in()


class Wrapping:
    """A mechanism of two steps that protects data, as Kerberos does with ``auth-conf``."""

    name = "GSSAPI"

    def __init__(self) -> None:
        self.complete = False
        self.challenges: list[bytes | None] = []

    def process(self, challenge: bytes | None = None) -> bytes | None:
        self.challenges.append(challenge)
        self.complete = challenge == b"last"
        return b"first" if challenge is None else None

    def wrap(self, outgoing: bytes) -> bytes:
        return outgoing[::-1]

    def unwrap(self, incoming: bytes) -> bytes:
        return incoming[::-1]


def test_mechanism_of_several_steps_that_protects_data():
    data = b"\x00\x00\x00\x03cba" + b"\x00\x00\x00\x00" + b"\x00\x00\x00\x02ed"
    transport = Scripted(b"\x02\x00\x00\x00\x04next\x05\x00\x00\x00\x04last" + data)
    mechanism = Wrapping()
    sasl = SaslTransport(transport, mechanism)
    sasl.log_in()
    assert mechanism.challenges == [None, b"next", b"last"]
    assert transport.sent == b"\x01\x00\x00\x00\x06GSSAPI\x02\x00\x00\x00\x05first\x02\x00\x00\x00\x00"
    assert sasl.read(2) == b"ab"
    assert sasl.cstringio_refill(b"c", 3).getvalue() == b"cde"
    transport.sent = b""
    sasl.write(b"12")
    sasl.write(b"3")
    sasl.flush()
    assert transport.sent == b"\x00\x00\x00\x03321"


def test_a_server_that_ends_the_login_too_early_is_not_believed():
    with pytest.raises(MetastoreSecurityError, match="before it was done"):
        SaslTransport(Scripted(b"\x05\x00\x00\x00\x00"), Wrapping()).log_in()


def test_token_login_answers_as_java_servers_want():
    """Java's server of Hive has the protocol null and the name default; it compares both."""
    pytest.importorskip("puresasl")
    mechanism = make_mechanism(Sasl("DIGEST-MD5", "dG9rZW4=", "cHc="), "host")
    assert not mechanism.process(None)
    challenge = b'realm="default",nonce="n",qop="auth",charset=utf-8,algorithm=md5-sess'
    answer = mechanism.process(challenge)
    assert b'digest-uri="null/default"' in answer and b'username="dG9rZW4="' in answer
    assert not mechanism.complete  # the server still has to prove that it knows the password


@pytest.mark.parametrize(
    ("login", "package", "extra"),
    [
        (Sasl("GSSAPI", principal="hive/_HOST@REALM"), "gssapi", "kerberos"),
        (Sasl("DIGEST-MD5", "dG9rZW4=", "cHc="), "puresasl", "hive"),
    ],
)
def test_mechanisms_without_their_packages(monkeypatch, login, package, extra):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=rf"hudi_hive\[{extra}\]"):
        make_mechanism(login, "Host")


@pytest.mark.parametrize("offer", ["auth-conf", "auth-int,auth-conf"])
def test_token_login_where_messages_must_be_protected(offer):
    pytest.importorskip("puresasl")
    mechanism = make_mechanism(Sasl("DIGEST-MD5", "dG9rZW4=", "cHc="), "host")
    mechanism.process(None)
    with pytest.raises(MetastoreSecurityError, match="messages protected"):
        mechanism.process(f'realm="default",nonce="n",qop="{offer}",charset=utf-8,algorithm=md5-sess'.encode())


def test_kerberos_service_of_the_principal():
    assert Sasl("GSSAPI", principal="hive/_HOST@REALM").service_principal("HMS.example") == "hive/hms.example@REALM"
    assert Sasl("GSSAPI", principal="hive/_HOST@REALM").service("HMS.example") == ("hive", "hms.example")
    assert Sasl("GSSAPI", principal="meta/fixed@REALM").service("other") == ("meta", "fixed")
