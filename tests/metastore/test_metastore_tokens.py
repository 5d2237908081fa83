"""Delegation tokens as text and in Hadoop's token files of both formats."""

from __future__ import annotations

import os

import pytest

from hudi_hive.errors import MetastoreSecurityError
from hudi_hive.metastore import DelegationToken, Sasl, read_token_file, write_token_file
from hudi_hive.metastore.connection.sasl import make_mechanism

TOKEN = DelegationToken(bytes(range(200)), b"\xff" * 20, service="lake")
SMALL = DelegationToken(b"id", b"pw", service="a host:1")
OTHER = DelegationToken(b"of HDFS", b"pw", kind="HDFS_DELEGATION_TOKEN", service="lake")


def varint(number: int) -> bytes:
    data = b""
    while number > 127:
        data, number = data + bytes([number & 127 | 128]), number >> 7
    return data + bytes([number])


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def protobuf_file(*tokens: DelegationToken) -> bytes:
    """A token file of format 1: CredentialsProto, with its length before it."""
    message = b""
    for token in tokens:
        parts = (token.identifier, token.password, token.kind.encode(), token.service.encode())
        body = b"".join(field(place, part) for place, part in enumerate(parts, 1))
        message += field(1, field(1, b"alias") + field(2, body))
    message += field(2, field(1, b"alias") + field(3, b"a secret of another kind"))
    return b"HDTS\x01" + varint(len(message)) + message


def test_tokens_have_hadoop_s_text():
    # Hadoop's Token.encodeToUrlString of a token with identifier "id", password "pw" and no service.
    token = DelegationToken.from_text("AmlkAnB3FUhJVkVfREVMRUdBVElPTl9UT0tFTgA")
    assert token == DelegationToken(b"id", b"pw")
    for one in (TOKEN, SMALL, token):
        assert DelegationToken.from_text(one.text) == one
    assert "=" not in TOKEN.text and "pw" not in repr(SMALL) and "id" not in repr(SMALL).replace("identifier", "")


@pytest.mark.parametrize("text", ["", "!!!!", "AmlkAnB3", "iAAA", "AmlkAnB3FUhJVkVfREVMRUdBVElPTl9UT0tF"])
def test_text_that_is_none(text):
    with pytest.raises(MetastoreSecurityError, match="not valid") as found:
        DelegationToken.from_text(text)
    assert not text or text not in str(found.value)


def test_files_of_tokens_are_private_and_read_back(tmp_path):
    path = tmp_path / "tokens"
    write_token_file(path, [TOKEN, SMALL])
    assert path.stat().st_mode & 0o777 == 0o600 and os.listdir(tmp_path) == ["tokens"]
    assert read_token_file(path) == [TOKEN, SMALL]
    write_token_file(path, [])
    assert read_token_file(path) == []
    path.write_bytes(protobuf_file(TOKEN, OTHER))
    assert read_token_file(path) == [TOKEN, OTHER]


@pytest.mark.parametrize(
    "data", [b"", b"HDTS", b"HDTS\x02", b"JUNKJUNK secret", b"HDTS\x00\x05", b"HDTS\x01\x05\x08", b"HDTS\x00\x88secret"]
)
def test_files_that_are_none(tmp_path, data):
    path = tmp_path / "tokens"
    path.write_bytes(data)
    with pytest.raises(MetastoreSecurityError, match="not a Hadoop token file") as found:
        read_token_file(path)
    assert "secret" not in str(found.value) and found.value.path == str(path)


def test_choice_of_a_token(tmp_path, monkeypatch):
    pytest.importorskip("puresasl")
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "tokens"))
    with pytest.raises(MetastoreSecurityError, match="cannot be read"):
        make_mechanism(Sasl("DIGEST-MD5", token_signature="lake"), "h")
    write_token_file(tmp_path / "tokens", [OTHER, SMALL, TOKEN])
    assert make_mechanism(Sasl("DIGEST-MD5", token_signature="lake"), "h").name == "DIGEST-MD5"
    for mechanism in (
        Sasl("GSSAPI", principal="hive/_HOST@R", token_signature="lake"),
        Sasl("GSSAPI", principal="hive/_HOST@R", keytab="/k", client_principal="me@R", token_signature="lake"),
    ):
        assert make_mechanism(mechanism, "h").name == "DIGEST-MD5"
    with pytest.raises(MetastoreSecurityError, match="no delegation token of Hive with the service 'sea'"):
        make_mechanism(Sasl("DIGEST-MD5", token_signature="sea"), "h")
