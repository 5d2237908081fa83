"""Bloom filters: those in the footers of real files, and made ones."""

from __future__ import annotations

import base64
import resource
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import CorruptFileError, FormatError, UnsupportedFormatError
from hudi_hive.formats.hash.bloom import BloomBuilder, BloomFilter, BloomSettings, key_hashes
from tests.support.fixture_tables import unzip_fixture

FIXTURES = ["v6_cow_part_mdt", "v8_cow_part_mdt", "v9_cow_part_mdt", "v9_cow_types"]


def footers(name):
    for path in sorted(Path(unzip_fixture(name)).rglob("*.parquet")):
        if ".hoodie" in path.parts:
            continue
        metadata = pq.read_metadata(path).metadata or {}
        text = metadata.get(b"org.apache.hudi.bloomfilter")
        if text is not None:
            kind = metadata.get(b"hoodie_bloom_filter_type_code", b"SIMPLE").decode()
            yield BloomFilter.parse(text, kind, str(path)), pq.read_table(path, columns=["_hoodie_record_key"])


@pytest.mark.parametrize("name", FIXTURES)
def test_real_filters_know_their_keys_and_few_others(name):
    found = 0
    for bloom, table in footers(name):
        keys = table.column(0).to_pylist()
        assert bloom.may_contain(key_hashes(keys, bloom.hashes)).all()
        others = [f"not there {number}ü" for number in range(300)]
        assert bloom.may_contain(key_hashes(others, bloom.hashes + 3)).sum() <= 3
        found += 1
    assert found


def simple(bits=1000, hashes=3, kind=1, version=-1, data=None):
    body = bytes((bits + 7) // 8) if data is None else data
    return base64.b64encode(struct.pack(">iibi", version, hashes, kind, bits) + body)


def test_an_empty_filter_has_no_key_and_a_full_one_all():
    empty = BloomFilter.parse(simple(), "SIMPLE", "f")
    assert not empty.may_contain(key_hashes(["a", "", "ü"], 3)).any()
    full = BloomFilter.parse(simple(data=b"\xff" * 125), "SIMPLE", "f")
    assert full.may_contain(key_hashes(["a", "", "ü"], 5)).all()
    assert empty.may_contain(np.empty((0, 3), np.int64)).shape == (0,)


@pytest.mark.parametrize(
    ("text", "kind", "error"),
    [
        (b"?", "SIMPLE", CorruptFileError),
        (b"", "SIMPLE", CorruptFileError),
        (simple(data=b""), "SIMPLE", CorruptFileError),
        (simple(hashes=0), "SIMPLE", CorruptFileError),
        (simple(hashes=1 << 30), "SIMPLE", CorruptFileError),
        (simple(bits=-8, data=b""), "SIMPLE", CorruptFileError),
        (simple(kind=0), "SIMPLE", UnsupportedFormatError),
        (simple(), "OTHER", UnsupportedFormatError),
        (simple(), "DYNAMIC_V0", CorruptFileError),
    ],
)
def test_a_damaged_filter_is_an_error(text, kind, error):
    with pytest.raises(error) as caught:
        BloomFilter.parse(text, kind, "f")
    assert caught.value.path == "f" and isinstance(caught.value, FormatError)


def murmur2(data, seed):
    """Hadoop's MurmurHash2 of one key, a signed 32-bit number.

    It reads the odd bytes from the end and with their sign.
    """
    length = len(data)
    value = (seed ^ length) & 0xFFFFFFFF
    for word in struct.unpack_from(f"<{length // 4}I", data):
        word = word * 0x5BD1E995 & 0xFFFFFFFF
        word ^= word >> 24
        value = (value * 0x5BD1E995 & 0xFFFFFFFF) ^ (word * 0x5BD1E995 & 0xFFFFFFFF)
    tail = length % 4
    if tail:
        for back in range(tail, 0, -1):
            byte = data[length - back]
            signed = byte - 256 if byte > 127 else byte
            value ^= (signed << (8 * (back - 1))) & 0xFFFFFFFF
        value = value * 0x5BD1E995 & 0xFFFFFFFF
    value ^= value >> 13
    value = value * 0x5BD1E995 & 0xFFFFFFFF
    value ^= value >> 15
    return value - (1 << 32) if value >= 1 << 31 else value


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=9) | st.sampled_from(["a" * 36, "æøå", "x" * 4099]), max_size=12), st.integers(1, 5))
def test_hashes_of_many_keys_are_those_of_one(keys, count):
    expected = []
    for key in keys:
        value, line = 0, []
        for _ in range(count):
            value = murmur2(key.encode(), value)
            line.append(value)
        expected.append(line)
    assert key_hashes(keys, count).tolist() == expected


@pytest.mark.parametrize("name", FIXTURES)
def test_filters_of_the_same_keys_are_those_of_real_hudi(name):
    same = 0
    for bloom, table in footers(name):
        # The fixtures were written with small filters.
        again = BloomFilter.build(table.column(0), entries=bloom.keys_per_row, fpp=0.01, max_entries=1000)
        assert (again.bits, again.hashes, len(again.rows)) == (bloom.bits, bloom.hashes, len(bloom.rows))
        assert (again.rows[0] == bloom.rows[0]).all()
        assert BloomFilter.parse(bloom.encode(), bloom.kind, "f").encode() == bloom.encode()
        same += again.encode() == bloom.encode()
    assert same


def test_full_rows_are_followed_by_new_ones_that_then_take_turns():
    settings = BloomSettings(entries=10, fpp=1e-6, max_entries=15)
    keys = pa.array([f"k{number}" for number in range(25)])
    builder = BloomBuilder(settings)
    for start in (0, 7, 9):
        builder.add(keys.slice(start, {0: 7, 7: 2, 9: 16}[start]))
    bloom = builder.finish()
    assert len(bloom.rows) == 2
    assert (bloom.keys_per_row, bloom.keys_in_last) == (10, 15)
    turns = [0] * 10 + [1] * 10 + [0, 0, 1, 0, 1]
    for key, row in zip(keys.to_pylist(), turns, strict=True):
        alone = BloomFilter(bloom.hashes, bloom.bits, (bloom.rows[row],))
        assert alone.may_contain(key_hashes([key], bloom.hashes)).all()
    assert bloom.encode() == BloomFilter.build(pa.chunked_array([keys]), entries=10, fpp=1e-6, max_entries=15).encode()
    simple_one = BloomFilter.build(keys, entries=10, fpp=1e-6, kind="SIMPLE")
    again = BloomFilter.parse(simple_one.encode(), "SIMPLE", "f")
    assert again.may_contain(key_hashes(keys, again.hashes)).all()
    assert len(again.rows) == 1


def test_sizes_and_refusals():
    empty = BloomFilter.build(pa.array([], pa.string()))
    assert (empty.bits, empty.hashes) == (2587966, 30)
    assert not empty.may_contain(key_hashes(["a"], 30)).any()
    with pytest.raises(UnsupportedFormatError, match="OTHER"):
        BloomFilter.build(pa.array(["a"]), kind="OTHER")
    with pytest.raises(ValueError, match="0 keys"):
        BloomFilter.build(pa.array(["a"]), entries=0)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 7, 8, 1023, 1024, 1500, 1503])
def test_few_keys_of_a_length_hash_like_many_of_it(length):
    """A word of few keys is a step of plain numbers, of many a column: the same hashes."""
    texts = [f"{number:04d}\u00e9" * length for number in range(40)]
    keys = [text.encode()[:length] for text in texts]
    array = pa.array([key.decode(errors="replace")[:length] for key in keys])
    together = key_hashes(array, 7)
    apart = np.concatenate([key_hashes(array.slice(at, 1), 7) for at in range(len(array))])
    assert (together == apart).all()


_LONG_KEYS = """
import pyarrow as pa
from hudi_hive.formats.hash.bloom import BloomFilter, key_hashes
keys = pa.array(["k" * (1 << 20), "k" * ((1 << 20) + 3)])
made = BloomFilter.build(keys)
assert made.may_contain(key_hashes(keys, made.hashes)).all()
"""


def test_keys_of_a_megabyte_are_hashed():
    """Two of them, twice: some three seconds; a call for each word of each hash took minutes."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (40, 40))

    subprocess.run([sys.executable, "-c", _LONG_KEYS], check=True, preexec_fn=limited)
