"""Decoders stay in proportion: small hostile inputs end in an error of ours or in a result, in little memory."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import fastavro
import pytest

from hudi_hive.errors import InvalidOptionError
from hudi_hive.formats import parse_properties
from hudi_hive.formats.avro import count_objects, density, parse_record, read_container, write_container
from hudi_hive.storage import compile_glob, expand_braces
from tests.support.faults.hostile_inputs import CASES, MEGABYTES


@pytest.fixture(scope="module")
def outcomes() -> dict[str, list]:
    """Each case in a process of its own: what it came to, and by how many megabytes its memory rose."""
    run = [sys.executable, "-m", "tests.support.faults.hostile_inputs", "--json"]
    folder = Path(__file__).parents[2]
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(run, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name: rest for name, *rest in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", CASES)
def test_a_small_input_takes_little(name, outcomes):
    outcome, megabytes = outcomes[name]
    assert not outcome.startswith("!!!"), outcome
    assert megabytes < MEGABYTES, outcome


@pytest.mark.parametrize("fields", [3, 30])
def test_objects_are_counted_as_the_decoder_makes_them(fields):
    kinds = ["int", "string", ["null", "long"], {"type": "array", "items": "int"}, {"type": "map", "values": "string"}]
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": f"f{i}", "type": kinds[i % len(kinds)]} for i in range(fields)],
    }
    values = [7, "text", None, [1, 2, 3], {"a": "b"}]
    record = {f"f{i}": values[i % len(kinds)] for i in range(fields)}
    data = write_container(schema, [record] * 50)
    assert read_container(data, "x") == [record] * 50
    root = parse_record(schema)
    # by the schema alone never less than what is counted value by value
    binary = _binary(schema, record)
    counted = count_objects(root, binary * 50, 50, int(density(root) * len(binary) * 50))
    estimated = count_objects(root, binary * 50, 50, 10**9)
    assert 50 * fields < counted <= estimated


def _binary(schema: dict, record: dict) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema, record)
    return stream.getvalue()


def test_a_large_container_of_ordinary_records_is_read():
    """What real timelines hold is far below the limits, compressed or not."""
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "paths", "type": {"type": "array", "items": "string"}}, {"name": "n", "type": "long"}],
    }
    record = {"paths": [f"city=sf/{i:032x}-0_1-2-3_20260101000000000.parquet" for i in range(40_000)], "n": 1}
    stream = io.BytesIO()
    fastavro.writer(stream, schema, [record], codec="deflate")
    assert read_container(stream.getvalue(), "x") == [record]


@pytest.mark.parametrize("lines", [1_000, 64_000])
def test_lines_of_properties_that_go_on(lines):
    text = b"a=" + b"b\\\n  " * lines + b"c\nd=e\\\\\nf=\\\n\\\n g\n"
    assert parse_properties(text) == {"a": "b" * lines + "c", "d": "e\\", "f": "g"}


def test_globs_of_many_stars_match_as_globs_do():
    for pattern, name, matches in (
        ("*", "", True),
        ("*a*", "bab", True),
        ("*a*b", "acab", True),
        ("a*a", "a", False),
        ("*ab*ab", "abab", True),
        ("*ab*ab", "ab", False),
        ("**x??", "abxcd", True),
        ("a*[b-c]*d", "axbxbyd", True),
        ("*.parquet", "x.parquet.crc", False),
        ("*a" * 60 + "b", "a" * 5_000, False),
    ):
        assert bool(compile_glob(pattern, pattern).fullmatch(name)) is matches, (pattern, name)


def test_alternatives_of_globs_are_bounded():
    assert expand_braces("{a,b{c,d}}{e,}") == ["ae", "a", "bce", "bc", "bde", "bd"]
    with pytest.raises(InvalidOptionError, match="patterns"):
        expand_braces("{a,b}" * 30)
