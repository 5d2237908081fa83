"""Hostile texts: properties, JSON, XML, types, filters and globs."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hudi_hive.formats import parse_properties
from hudi_hive.formats.orc import parse_hive_type
from hudi_hive.metastore.connection import read_hive_site
from hudi_hive.predicate import parse_sql
from hudi_hive.schema import parse_history, parse_type
from hudi_hive.storage import compile_glob, expand_braces
from hudi_hive.sync.diff import is_readable_as
from hudi_hive.timeline.payloads import decode_payload
from tests.support.faults.hostile_cases import SIZE, CaseSet

CASES = CaseSet()
case = CASES.case

# -- properties, JSON, XML -------------------------------------------------------------------------------------------


@case("properties: one line that goes on in every line")
def _():
    return len(parse_properties(b"a=" + b"b\\\n" * 16_000))


@case("properties: backslashes")
def _():
    return len(parse_properties(b"a=" + b"\\" * 64_000))


@case("properties: escapes")
def _():
    return len(parse_properties(b"\\u0041" * 10_000 + b"=\\u0041"))


@case("properties: many keys")
def _():
    return len(parse_properties(b"".join(b"%d\n" % i for i in range(10_000))))


@case("instant: deep JSON")
def _():
    return decode_payload(b'{"a":' * 10_000, "x", "1")


@case("instant: deep JSON lists")
def _():
    return decode_payload(b'{"a":' + b"[" * 60_000, "x", "1")


@case("instant: long numbers")
def _():
    return decode_payload(b'{"a":' + b"9" * 60_000 + b"}", "x", "1")


@case("instant: many small values")
def _():
    return len(str(decode_payload(b'{"a":[' + b"{}," * 21_000 + b"{}]}", "x", "1")))


@case("schema history: deep types")
def _():
    kind: object = "int"
    for _ in range(400):
        kind = {"type": "array", "element_id": 1, "element": kind, "element_optional": True}
    field = {"id": 0, "name": "a", "optional": True, "type": kind}
    text = json.dumps({"schemas": [{"max_column_id": 1, "version_id": 1, "type": "record", "fields": [field]}]})
    assert len(text) <= SIZE
    return parse_history(text.encode())


@case("hive-site.xml: entities of entities")
def _():
    lines = ['<!ENTITY e0 "' + "x" * 1000 + '">']
    lines += [f'<!ENTITY e{i} "{f"&e{i - 1};" * 50}">' for i in range(1, 20)]
    entry = "<property><name>a</name><value>&e19;</value></property>"
    text = f"<!DOCTYPE c [{''.join(lines)}]><configuration>{entry}</configuration>"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hive-site.xml"
        path.write_text(text)
        return read_hive_site(path)


@case("hive-site.xml: deep elements")
def _():
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hive-site.xml"
        path.write_text("<configuration>" + "<a>" * 20_000)
        return read_hive_site(path)


# -- types, filters, globs -------------------------------------------------------------------------------------------


@case("Hive type: deep arrays")
def _():
    return parse_hive_type("array<" * 9_000 + "int" + ">" * 9_000)


@case("column type: deep arrays")
def _():
    return parse_type("array<" * 9_000 + "int" + ">" * 9_000)


@case("column type: long numbers")
def _():
    return parse_type("decimal(" + "9" * 60_000 + ")")


@case("Hive type: long numbers")
def _():
    return parse_hive_type("decimal(" + "9" * 60_000 + ",1)")


@case("Hive type: many spaces")
def _():
    return parse_hive_type(" " * 60_000 + "!")


@case("types of the metastore: deep arrays")
def _():
    return is_readable_as("array<" * 9_000 + "int" + ">" * 9_000, "array<" * 9_000 + "bigint" + ">" * 9_000)


@case("types of the metastore: open arrays")
def _():
    return is_readable_as("struct<a:" * 900, "array<" * 900)


@case("filter: deep parentheses")
def _():
    return parse_sql("(" * 60_000 + "a = 1")


@case("filter: deep parentheses of operands")
def _():
    return parse_sql("a = " + "(" * 30_000 + "1" + ")" * 30_000)


@case("filter: NOT NOT")
def _():
    return parse_sql("NOT " * 15_000 + "a = 1")


@case("filter: IS TRUE IS TRUE")
def _():
    return str(parse_sql("a = 1" + " IS TRUE" * 7_000))[:10]


@case("filter: long numbers")
def _():
    return parse_sql("a = " + "9" * 60_000)


@case("filter: great exponents")
def _():
    return parse_sql("a = 1e" + "9" * 18 + "BD")


@case("glob: alternatives of alternatives")
def _():
    return len(expand_braces("{a,b}" * 1_600))


@case("glob: many stars")
def _():
    return compile_glob("*a" * 30 + "b", "x").fullmatch("a" * 250)


@case("glob: deep alternatives")
def _():
    return len(expand_braces("{a," * 2_000 + "}" * 2_000))
