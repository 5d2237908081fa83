"""Bytes packed by gzip, with ISA-L and with zlib: each unpacks what the other packed, and damage is an error."""

from __future__ import annotations

import gzip
import random
import zlib

import pyarrow as pa
import pytest

from hudi_hive.formats import gzip_codec
from hudi_hive.formats.gzip_codec import GzipError, pack, packs_fast, unpack

DATA = b"".join(b"key-%07d-%s" % (i, random.Random(i).randbytes(3)) for i in range(5_000))


@pytest.fixture(params=[True, False])
def installed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if not request.param:
        monkeypatch.setattr(gzip_codec, "_isal", lambda: None)
    return bool(request.param)


def test_packed_bytes_are_gzip(installed: bool):
    assert packs_fast() == installed
    for data in (b"", b"x", DATA):
        assert gzip.decompress(pack(data)) == gzip.decompress(pack(memoryview(data))) == data
    assert len(pack(DATA)) < len(DATA)


def test_what_any_library_packed_is_unpacked(installed: bool):
    for data in (gzip.compress(DATA), zlib.compress(DATA), pack(DATA)):
        assert unpack(data, len(DATA) + 1) == DATA
        assert unpack(pa.py_buffer(data), 1_000) == DATA[:1_000]
        for end in (len(data) // 2, len(data) - 1):
            with pytest.raises(GzipError):
                unpack(data[:end], len(DATA) + 1)


@pytest.mark.parametrize("seed", range(30))
def test_damage_is_an_error_or_changes_nothing(installed: bool, seed: int):
    rng, data = random.Random(seed), bytearray(gzip.compress(DATA))
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    try:
        content = unpack(bytes(data), len(DATA) + 1)
    except GzipError:
        return
    assert content == DATA or len(content) > len(DATA)


def test_bytes_of_something_else(installed: bool):
    with pytest.raises(GzipError):
        unpack(b"PAR1 is no gzip", 100)
