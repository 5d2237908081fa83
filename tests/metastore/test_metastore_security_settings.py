"""Settings of secure connections: by URI, by Hive's own names, by hive-site.xml."""

from __future__ import annotations

import pytest

from hudi_hive.errors import (
    InvalidOptionError,
)
from hudi_hive.metastore import Http, Sasl, Tls, from_hive_properties
from hudi_hive.metastore.connection.address import parse_addresses
from hudi_hive.metastore.connection.hive_site import read_hive_site, secured_uris

# -- addresses and Hive's own names ----------------------------------------------------------------------------------


def test_addresses_carry_security_settings():
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
        "thrift://a:1?keytab=/k",
        "thrift://a:1?principal=hive/a@R&keytab=/k",
        "thrift://a:1?principal=hive/a@R&client_principal=me@R&keytab=/k&ticket_cache=/t",
        "thrift://a:1?principal=hive/a@R&user=me&password_file=/does/not/exist",
        "thrift://a:1?sasl=PLAIN&token_file=/t",
        "thrift://a:1/path",
        "http://a:1?sasl=GSSAPI&principal=hive/a@R",
        "http://a:1?ca=x",
        "http://a:1?auth=KERBEROS",
        "http://a:1?headers=a",
        "http://a:1?headers=Authorization=Basic%20x",
        "http://a:1?headers=a=b%0Ac",
        "http://a:1/a%20b c",
    ],
)
def test_wrong_security_settings_of_addresses_are_refused(uri):
    with pytest.raises(InvalidOptionError):
        parse_addresses(uri)


def test_addresses_of_kerberos_and_tokens():
    keytab, cache, token, marked = parse_addresses(
        (
            "thrift://a?principal=hive/_HOST@R&keytab=/me.keytab&client_principal=me@R",
            "thrift://a?principal=hive/_HOST@R&ticket_cache=/tmp/krb5cc_0",
            "thrift://a?token_file=/tokens",
            "thrift://a?principal=hive/_HOST@R&token_signature=lake",
        )
    )
    assert keytab.sasl == Sasl("GSSAPI", principal="hive/_HOST@R", keytab="/me.keytab", client_principal="me@R")
    assert cache.sasl == Sasl("GSSAPI", principal="hive/_HOST@R", ticket_cache="/tmp/krb5cc_0")
    assert token.sasl == Sasl("DIGEST-MD5", token_file="/tokens")
    assert marked.sasl == Sasl("GSSAPI", principal="hive/_HOST@R", token_signature="lake")


def test_addresses_of_http():
    plain, other, encrypted = parse_addresses(
        ("http://a", "http://[::1]:1/x/y?user=me&headers=k=v%2Cl=w", "https://b:2/?ca=/ca.pem&jwt_file=/t")
    )
    assert (str(plain), plain.http, plain.tls, plain.sasl) == ("http://a:9083/metastore", Http(), None, None)
    assert str(other) == "http://[::1]:1/x/y"
    assert other.http == Http("/x/y", user="me", headers=(("k", "v"), ("l", "w")))
    assert str(encrypted) == "https://b:2/metastore"
    assert (encrypted.tls, encrypted.http) == (Tls("/ca.pem"), Http(jwt=True, jwt_file="/t"))


def test_security_settings_of_hive_s_properties():
    assert from_hive_properties({}) == (None, None)
    assert from_hive_properties({"hive.metastore.use.SSL": "true"}) == (Tls(), None)
    newer = {
        "metastore.use.SSL": "TRUE",
        "metastore.truststore.path": "/ca.pem",
        "metastore.sasl.enabled": "true",
        "metastore.kerberos.principal": "hive/_HOST@R",
    }
    expected = (Tls(ca_file="/ca.pem"), Sasl("GSSAPI", principal="hive/_HOST@R"))
    assert from_hive_properties(newer) == expected
    with pytest.raises(InvalidOptionError, match="trust store"):
        from_hive_properties(newer | {"metastore.truststore.path": "/store.jks"})
    more = {
        "hive.metastore.client.keytab": "/k",
        "hive.metastore.client.principal": "me@R",
        "hive.metastore.token.signature": "lake",
    }
    login = Sasl("GSSAPI", None, None, "hive/_HOST@R", keytab="/k", client_principal="me@R", token_signature="lake")
    assert from_hive_properties(newer | more) == (expected[0], login)
    with pytest.raises(InvalidOptionError, match="needs HTTP"):
        from_hive_properties({"metastore.client.auth.mode": "JWT"})
    with pytest.raises(InvalidOptionError, match="LDAP"):
        from_hive_properties({"metastore.client.auth.mode": "LDAP"})


# -- where Hive's names lead ---------------------------------------------------------------------------------------

SECURE = {"hive.metastore.use.SSL": "true", "hive.metastore.truststore.path": "/my ca,1.pem"}
KERBEROS = {"metastore.sasl.enabled": "true", "metastore.kerberos.principal": "hive/_HOST@R"}
HTTP = {"metastore.client.thrift.transport.mode": "http"}


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
            KERBEROS,
            ("thrift+tls://a:1", "thrift://b:2"),
            ("thrift+tls://a:1?principal=hive/_HOST@R", "thrift://b:2?principal=hive/_HOST@R"),
        ),
        (
            KERBEROS | {"hive.metastore.client.keytab": "/k", "hive.metastore.client.principal": "me@R"},
            ("thrift://a:1",),
            ("thrift://a:1?principal=hive/_HOST@R&keytab=/k&client_principal=me@R",),
        ),
        (
            KERBEROS | {"metastore.client.credential-cache.location": "/t", "metastore.token.signature": "lake"},
            ("thrift://a:1",),
            ("thrift://a:1?principal=hive/_HOST@R&ticket_cache=/t&token_signature=lake",),
        ),
        (HTTP, ("thrift://a:1", "http://b:2/own"), ("http://a:1/metastore", "http://b:2/own")),
        (
            HTTP
            | SECURE
            | {
                "metastore.client.auth.mode": "jwt",
                "metastore.client.thrift.http.path": "x/y",
                "metastore.client.http.additional.headers": "k=v,l=w",
            },
            ("thrift://a:1",),
            ("https://a:1/x/y?ca=/my%20ca%2C1.pem&auth=JWT&headers=k%3Dv%2Cl%3Dw",),
        ),
    ],
)
def test_uris_carry_the_settings_of_the_properties(properties, uris, expected):
    found = secured_uris(properties, uris)
    assert found == expected
    for text in found:
        (address,) = parse_addresses(text)
        assert (address.tls is not None) == (SECURE.items() <= properties.items() or "+tls" in text)


def test_hive_site_gives_addresses_and_security_but_no_passwords(tmp_path):
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


def test_a_password_in_hive_properties_is_refused_and_not_shown():
    login = {"metastore.client.auth.mode": "PLAIN", "metastore.client.plain.username": "u"}
    for more in ({}, {"metastore.client.plain.password": "hunter2"}):
        with pytest.raises(InvalidOptionError) as caught:
            secured_uris(login | more, ["thrift://a:1"])
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("mode", ["PLAIN", "KERBEROS"])
def test_logins_that_http_does_not_have(mode):
    with pytest.raises(InvalidOptionError, match=f"no {mode} login over HTTP"):
        secured_uris(HTTP | {"metastore.client.auth.mode": mode}, ["thrift://a:1"])
