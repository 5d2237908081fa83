"""TLS and SASL connections to a metastore, against loopback servers that want them."""

# ruff: noqa: SIM117 - the server outlives the client that is looked at

from __future__ import annotations

import builtins
import ssl
import threading

import pytest

from hudi_hive.cli.main import main
from hudi_hive.errors import (
    InvalidOptionError,
    MetastoreSecurityError,
    MetastoreServerError,
    MetastoreTransportError,
    MissingDependencyError,
)
from hudi_hive.metastore import HiveMetastore, Retries, Sasl, Timeouts, Tls, from_hive_properties
from hudi_hive.metastore.connection.address import parse_addresses
from hudi_hive.metastore.connection.hive_site import read_hive_site, secured_uris
from hudi_hive.metastore.connection.sasl import SaslTransport, make_mechanism
from hudi_hive.testing import FakeMetastore
from tests.support.fixture_tables import unzip_fixture
from tests.support.metastore import secure_metastore as secure
from tests.support.metastore.metastore_behaviour import add_numbered, table_of

USERS = {"étienne": "pass wörd", "ann": ""}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return secure.Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def fake(tmp_path):
    with FakeMetastore(tmp_path) as fake:
        yield fake


def front(fake, relay):
    return secure.Front(int(fake.uri.rpartition(":")[2]), relay)


def client_of(uri, **settings):
    return HiveMetastore(uri, timeouts=Timeouts(connect=5, read=5), **settings)


def use(client, folder):
    """Answers and requests of many frames, several connections, one that the pool takes up again."""
    client.create_database("db")
    table = table_of("db", "t", folder / "t")
    client.create_table(table)
    names = add_numbered(client, table, 300, folder)
    assert [f"p={p.values[0]}" for p in client.partitions("db", "t")] == names
    assert client.table("db", "t").tableName == "t"


# -- TLS -----------------------------------------------------------------------------------------------------------


def test_tls(fake, certificates, tmp_path):
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
def test_untrusted_server(fake, certificates, name, tls, message):
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
def test_client_certificate(fake, certificates, key):
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
    fake.inject("delay", method="get_all_databases", seconds=2)
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
        thread.join(10)
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
def test_unusable_files(certificates, settings, message):
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


# -- SASL ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("frame", [7, 1 << 20], ids=["many frames an answer", "one frame"])
def test_sasl_plain(fake, tmp_path, user, frame):
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


def test_mechanism_refused(fake):
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
        settings = {"timeouts": Timeouts(connect=5, read=60), "sasl": Sasl("PLAIN", "ann", "")}
        with HiveMetastore(f"thrift://127.0.0.1:{server.port}", **settings) as client:
            client.databases()
            assert 5 < client._pool._idle[0]._socket.handle.gettimeout() <= 60


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
def test_damaged_login(answer, message):
    mechanism = make_mechanism(Sasl("PLAIN", "u", "p"), "h")
    with pytest.raises(MetastoreSecurityError, match=message):
        SaslTransport(Scripted(answer), "PLAIN", mechanism).log_in()


class Wrapping:
    """A mechanism of two steps that protects data, as Kerberos does with ``auth-conf``."""

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
    sasl = SaslTransport(transport, "GSSAPI", mechanism)
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
        SaslTransport(Scripted(b"\x05\x00\x00\x00\x00"), "GSSAPI", Wrapping()).log_in()


def test_token_login_answers_as_java_servers_want():
    """Java's server of Hive has the protocol null and the name default; it compares both."""
    pytest.importorskip("puresasl")
    mechanism = make_mechanism(Sasl("DIGEST-MD5", "dG9rZW4=", "cHc="), "host")
    assert not mechanism.process(None)
    challenge = b'realm="default",nonce="n",qop="auth",charset=utf-8,algorithm=md5-sess'
    answer = mechanism.process(challenge)
    assert b'digest-uri="null/default"' in answer and b'username="dG9rZW4="' in answer
    assert not mechanism.complete  # the server still has to prove that it knows the password


def test_kerberos_without_its_package(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] == "puresasl":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match="pure-sasl"):
        make_mechanism(Sasl("GSSAPI", principal="hive/_HOST@REALM"), "Host")


def test_kerberos_without_its_library(monkeypatch):
    mechanisms = pytest.importorskip("puresasl.mechanisms")
    monkeypatch.delitem(mechanisms.mechanisms, "GSSAPI", raising=False)
    monkeypatch.setattr(mechanisms, "have_kerberos", False)
    with pytest.raises(MissingDependencyError, match="kerberos"):
        make_mechanism(Sasl("GSSAPI", principal="hive/_HOST@REALM"), "Host")


def test_kerberos_service_of_the_principal():
    assert Sasl("GSSAPI", principal="hive/_HOST@REALM").service("HMS.example") == ("hive", "hms.example")
    assert Sasl("GSSAPI", principal="meta/fixed@REALM").service("other") == ("meta", "fixed")


# -- addresses and Hive's own names ----------------------------------------------------------------------------------


def test_addresses():
    plain, encrypted = parse_addresses("thrift://a:1,thrift+tls://b?ca=/ca.pem&server_name=hms&principal=hive/_HOST@R")
    assert (str(plain), plain.tls, plain.sasl) == ("thrift://a:1", None, None)
    assert str(encrypted) == "thrift+tls://b:9083"
    assert encrypted.tls == Tls(ca_file="/ca.pem", server_name="hms")
    assert encrypted.sasl == Sasl("GSSAPI", principal="hive/_HOST@R")
    (odd,) = parse_addresses("thrift+tls://b?ca=/c++/a%20b%2Cc.pem")
    assert odd.tls == Tls(ca_file="/c++/a b,c.pem")


@pytest.mark.parametrize(
    "uri",
    [
        "thrift://a:1?ca=x",
        "thrift+tls://a:1?cafile=x",
        "thrift+ssl://a:1",
        "thrift://a:1?sasl=PLAIN&user=u",
        "thrift://a:1?user=u&password_file=/does/not/exist",
        "thrift+tls://a:1?key=x",
        "thrift+tls://a:1?ca=",
        "thrift+tls://a:1?ca=x&ca=y",
        "thrift+tls://a:1?ca=x#y",
        "thrift+tls://a:1#",
    ],
)
def test_addresses_refused(uri):
    with pytest.raises(InvalidOptionError):
        parse_addresses(uri)


def test_hive_properties():
    assert from_hive_properties({}) == (None, None)
    assert from_hive_properties({"hive.metastore.use.SSL": "true"}) == (Tls(), None)
    newer = {
        "metastore.use.SSL": "TRUE",
        "metastore.truststore.path": "/ca.pem",
        "metastore.sasl.enabled": "true",
        "metastore.kerberos.principal": "hive/_HOST@R",
    }
    wanted = (Tls(ca_file="/ca.pem"), Sasl("GSSAPI", principal="hive/_HOST@R"))
    assert from_hive_properties(newer) == wanted
    with pytest.raises(InvalidOptionError, match="trust store"):
        from_hive_properties(newer | {"metastore.truststore.path": "/store.jks"})
    with pytest.raises(InvalidOptionError, match="LDAP"):
        from_hive_properties({"metastore.client.auth.mode": "LDAP"})


# -- where Hive's names lead ---------------------------------------------------------------------------------------

SECURE = {"hive.metastore.use.SSL": "true", "hive.metastore.truststore.path": "/my ca,1.pem"}


@pytest.mark.parametrize(
    ("properties", "uris", "expected"),
    [
        ({"hive.metastore.uris": "thrift://a:1,thrift://b"}, (), ("thrift://a:1", "thrift://b:9083")),
        (SECURE, ("thrift://a:1",), ("thrift+tls://a:1?ca=/my%20ca%2C1.pem",)),
        (SECURE, ("thrift+tls://a:1?ca=/other",), ("thrift+tls://a:1?ca=/other",)),
        (
            SECURE,
            ("thrift://[::1]:1?principal=hive/x@R",),
            ("thrift+tls://[::1]:1?principal=hive/x@R&ca=/my%20ca%2C1.pem",),
        ),
        (
            {"metastore.sasl.enabled": "true", "metastore.kerberos.principal": "hive/_HOST@R"},
            ("thrift+tls://a:1", "thrift://b:2"),
            ("thrift+tls://a:1?principal=hive/_HOST@R", "thrift://b:2?principal=hive/_HOST@R"),
        ),
    ],
)
def test_uris_carry_what_the_properties_say(properties, uris, expected):
    found = secured_uris(properties, uris)
    assert found == expected
    for text in found:
        (address,) = parse_addresses(text)
        assert (address.tls is not None) == (properties is SECURE or "+tls" in text)


def test_hive_site(tmp_path):
    path = tmp_path / "hive-site.xml"
    path.write_text(
        """<?xml version="1.0"?><configuration>
        <property><name>hive.metastore.uris</name><value> thrift://a:1 </value></property>
        <property><name>javax.jdo.option.ConnectionPassword</name><value>hunter2</value></property>
        <property><name>hive.metastore.use.SSL</name><value>true</value><final>true</final></property>
        </configuration>"""
    )
    found = read_hive_site(path)
    assert found == {"hive.metastore.uris": "thrift://a:1", "hive.metastore.use.SSL": "true"}
    for text in ("", "<a/>", "<configuration>"):
        path.write_text(text)
        with pytest.raises(InvalidOptionError, match="hive-site"):
            read_hive_site(path)
    path.write_text(
        "<configuration><property><name>hive.metastore.uris</name><value>${x}</value></property></configuration>"
    )
    with pytest.raises(InvalidOptionError, match="variable"):
        read_hive_site(path)
    with pytest.raises(InvalidOptionError, match="No such file"):
        read_hive_site(tmp_path / "missing.xml")


def test_password_of_hive_properties_is_refused_without_being_said():
    login = {"metastore.client.auth.mode": "PLAIN", "metastore.client.plain.username": "u"}
    for more in ({}, {"metastore.client.plain.password": "hunter2"}):
        with pytest.raises(InvalidOptionError) as caught:
            secured_uris(login | more, ["thrift://a:1"])
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("how", ["uri", "properties", "hive-site"])
def test_sync_over_tls_on_the_command_line(fake, certificates, tmp_path, capsys, how):
    path = unzip_fixture("v8_cow_nonpart")
    with front(fake, secure.tls_relay(certificates)) as server:
        plain, encrypted = (f"thrift{more}://localhost:{server.port}" for more in ("", "+tls"))
        properties = {"hive.metastore.use.SSL": "true", "hive.metastore.truststore.path": certificates.ca}
        if how == "uri":
            words = ["--metastore-uris", f"{encrypted}?ca={certificates.ca}"]
        elif how == "properties":
            words = ["--metastore-uris", plain, *(f"--conf={key}={value}" for key, value in properties.items())]
        else:
            entries = ({"hive.metastore.uris": plain} | properties).items()
            lines = (f"<property><name>{key}</name><value>{value}</value></property>" for key, value in entries)
            (tmp_path / "hive-site.xml").write_text(f"<configuration>{''.join(lines)}</configuration>")
            words = ["--hive-site", str(tmp_path / "hive-site.xml")]
        with pytest.raises(SystemExit) as ended:
            main(["sync", "--base-path", str(path), "--table", "t", "--database", "default", *words])
        assert not ended.value.code, capsys.readouterr()
        assert server.accepted
    assert fake.counts["create_table"] == 1
