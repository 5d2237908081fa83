"""Settings of secure connections: by URI, by Hive's own names, by hive-site.xml."""

from __future__ import annotations

import pytest

from hudi_hive.errors import (
    InvalidOptionError,
)
from hudi_hive.metastore import Sasl, Tls, from_hive_properties
from hudi_hive.metastore.connection.address import parse_addresses
from hudi_hive.metastore.connection.hive_site import read_hive_site, secured_uris

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
def test_uris_carry_the_settings_of_the_properties(properties, uris, expected):
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


def test_a_password_in_hive_properties_is_refused_and_not_shown():
    login = {"metastore.client.auth.mode": "PLAIN", "metastore.client.plain.username": "u"}
    for more in ({}, {"metastore.client.plain.password": "hunter2"}):
        with pytest.raises(InvalidOptionError) as caught:
            secured_uris(login | more, ["thrift://a:1"])
        assert "hunter2" not in str(caught.value)
