"""Bloom filters: those in the footers of real files, and made ones."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from hudi_hive.errors import CorruptFileError, FormatError, UnsupportedFormatError
from hudi_hive.formats.bloom import BloomFilter, key_hashes
from tests.support import unzip_fixture

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


def test_made_filters():
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
def test_damaged_filters(text, kind, error):
    with pytest.raises(error) as caught:
        BloomFilter.parse(text, kind, "f")
    assert caught.value.path == "f" and isinstance(caught.value, FormatError)
