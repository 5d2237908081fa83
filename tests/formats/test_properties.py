"""Java properties: the rules of java.util.Properties, and the properties files of real tables."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.errors import InvalidPropertiesError
from hudi_hive.formats.properties import format_properties, parse_properties
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("  a \t=\f b ", {"a": "b "}),
        ("a = = b", {"a": "= b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("=b", {"": "b"}),
        ("# remark\n! remark\n\n   # remark\na=1", {"a": "1"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=one \\\n   two", {"a": "one two"}),
        ("a=one\\\r\n\ttwo", {"a": "onetwo"}),
        ("a=one\\\\\nb=2", {"a": "one\\", "b": "2"}),
        ("a=one\\\\\\\ntwo", {"a": "one\\two"}),
        ("a=\\\n# no remark", {"a": "# no remark"}),
        ("a=\\\n\nb=2", {"a": "", "b": "2"}),
        ("a=end\\", {"a": "end"}),
        ("a\\ b\\=c\\:d=e", {"a b=c:d": "e"}),
        ("a=\\t\\n\\r\\f\\q\\\\", {"a": "\t\n\r\fq\\"}),
        ("a=\\u00e9\\u540D", {"a": "é名"}),
        ("a=\\uD83D\\uDE00", {"a": "😀"}),
        ('s={"type"\\:"record"}', {"s": '{"type":"record"}'}),
    ],
)
def test_properties_are_parsed_by_java_s_rules(text, expected):
    assert parse_properties(text.encode("latin-1")) == expected


def test_bytes_are_latin1():
    assert parse_properties(b"k=\xe9") == {"k": "é"}


@pytest.mark.parametrize("text", ["a=\\u12", "a=\\u12G4", "\\u=1", "a=\\uD83D", "a=\\uDE00\\uD83D"])
def test_malformed_escapes_are_refused(text):
    with pytest.raises(InvalidPropertiesError) as raised:
        parse_properties(text.encode(), path="file:/t/.hoodie/hoodie.properties")
    assert "file:/t/.hoodie/hoodie.properties" in str(raised.value)


def test_format_writes_what_java_writes():
    data = format_properties({"k y": " a b", "s": "x:y=z#!\\", "u": "é名😀\t"}, comments=["one\ntwo", "né"])
    assert data == (b"#one\n#two\n#n\\u00E9\nk\\ y=\\ a b\ns=x\\:y\\=z\\#\\!\\\\\nu=\\u00E9\\u540D\\uD83D\\uDE00\\t\n")


@given(st.dictionaries(TEXT, TEXT, max_size=5), st.lists(TEXT, max_size=2))
def test_properties_are_parsed_as_they_were_formatted(mapping, comments):
    assert parse_properties(format_properties(mapping, comments)) == mapping


@given(st.binary(max_size=200))
def test_any_bytes_give_properties_or_our_error(data):
    try:
        result = parse_properties(data)
    except InvalidPropertiesError:
        return
    assert parse_properties(format_properties(result)) == result


@given(st.data())
def test_damaged_table_properties_give_properties_or_our_error(data):
    whole = bytearray((unzip_fixture("v8_cow_types") / ".hoodie/hoodie.properties").read_bytes())
    position = data.draw(st.integers(0, len(whole) - 1))
    whole[position] ^= 1 << data.draw(st.integers(0, 7))
    cut = data.draw(st.integers(0, len(whole)))
    with contextlib.suppress(InvalidPropertiesError):
        parse_properties(bytes(whole[:cut]))


@pytest.mark.parametrize("name", fixture_names())
def test_properties_of_real_tables(name):
    data = (unzip_fixture(name) / ".hoodie/hoodie.properties").read_bytes()
    found = parse_properties(data)
    assert found == expected(name)["table_config"]
    assert parse_properties(format_properties(found, ["again"])) == found
