"""Timestamps that nanoseconds do not hold, in files of each codec and encoding that Arrow writes."""

from __future__ import annotations

import io
import random

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import orc

from hudi_hive.errors import CorruptFileError, UnsupportedAcidValueError, UnsupportedFormatError
from hudi_hive.formats.orc import is_out_of_range, parse_tail, read_wide_stripe
from hudi_hive.formats.orc.run_lengths import unsigned_numbers

_SECONDS = (-62_135_596_800, 253_402_300_799)
FRACTIONS = {
    "none": lambda _: 0,
    "round ones": lambda chance: chance.choice([0, 0, 5, 120, 500_000, 999_999]),
    "any": lambda chance: chance.randrange(1_000_000),
    "seldom long ones": lambda chance: chance.choice([0] * 60 + [123_456]) * 1,
    "rising": None,
}


def times(name: str, count: int) -> list[int | None]:
    """Microseconds; whole seconds before 1970, since Arrow writes others wrongly."""
    chance = random.Random(name)
    found: list[int | None] = []
    for number in range(count):
        second = chance.randrange(*_SECONDS)
        make = FRACTIONS[name]
        fraction = number if make is None else make(chance)
        found.append(second * 1_000_000 + (fraction if second >= 0 else 0))
    return [None if number % 13 == 5 else time for number, time in enumerate(found)]


def stream_of(table: pa.Table, calendar: bool = True, **how: object) -> pa.BufferReader:
    buffer = io.BytesIO()
    orc.write_table(table, buffer, **how)
    data = buffer.getvalue()
    tail = parse_tail(data, "x")
    return pa.BufferReader(data[: -tail.length] + tail.patched({}) if calendar else data)


@pytest.mark.parametrize("version", ["0.11", "0.12"])
@pytest.mark.parametrize("name", FRACTIONS)
def test_encodings_of_fractions(name: str, version: str) -> None:
    column = pa.array(times(name, 3000), pa.timestamp("us"))
    stream = stream_of(pa.table({"id": pa.array(range(3000)), "t": column}), file_version=version)
    with pytest.raises(pa.ArrowInvalid) as refused:
        orc.ORCFile(stream).read_stripe(0)
    assert is_out_of_range(refused.value)
    batch = read_wide_stripe(stream, 0, ["t"], "x")
    assert batch.schema.names == ["t"] and batch.column(0).equals(column)


@pytest.mark.parametrize("codec", ["uncompressed", "zlib", "snappy", "zstd"])
def test_codecs_and_stripes(codec: str) -> None:
    column = pa.array(times("any", 30_000), pa.timestamp("us"))
    stream = stream_of(pa.table({"t": column}), compression=codec, stripe_size=65_536, batch_size=1024)
    count = orc.ORCFile(stream).nstripes
    assert count > 1
    parts = [read_wide_stripe(stream, stripe, ["t"], "x").column(0) for stripe in range(count)]
    assert pa.concat_arrays(parts).equals(column)


def test_what_cannot_be_told_is_refused() -> None:
    old = pa.table({"t": pa.array([-62_135_596_800_000_000], pa.timestamp("us"))})
    with pytest.raises(UnsupportedAcidValueError, match="does not say its calendar"):
        read_wide_stripe(stream_of(old, calendar=False), 0, ["t"], "x")
    with pytest.raises(UnsupportedFormatError, match="in a compression"):
        read_wide_stripe(stream_of(old, calendar=False, compression="lz4"), 0, ["t"], "x")
    fine = pa.table({"t": pa.array([1], pa.timestamp("ns"))})
    with pytest.raises(UnsupportedAcidValueError, match="finer than microseconds"):
        read_wide_stripe(stream_of(fine), 0, ["t"], "x")


def test_damaged_fractions_are_errors() -> None:
    column = pa.array(times("any", 500), pa.timestamp("us"))
    stream = stream_of(pa.table({"t": column}), compression="uncompressed")
    data = np.frombuffer(stream.read_at(stream.size(), 0), np.uint8)
    chance = random.Random(2)
    refused = 0
    for _ in range(60):
        broken = data.copy()
        broken[chance.randrange(3, len(data) - parse_tail(data.tobytes(), "x").length)] ^= chance.randrange(1, 256)
        try:
            read_wide_stripe(pa.BufferReader(broken.tobytes()), 0, ["t"], "x")
        except (CorruptFileError, UnsupportedAcidValueError, pa.ArrowException, OSError):
            refused += 1
    assert refused


def test_runs_that_are_patched() -> None:
    """The example of the specification."""
    data = bytes([0x8E, 0x13, 0x2B, 0x21, 0x07, 0xD0, 0x1E, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3C, 0x46, 0x50, 0x5A])
    data += bytes([0x64, 0x6E, 0x78, 0x82, 0x8C, 0x96, 0xA0, 0xAA, 0xB4, 0xBE, 0xFC, 0xE8])
    expected = [2030, 2000, 2020, 1_000_000, *range(2040, 2200, 10)]
    assert unsigned_numbers(data, 20, version=2).tolist() == expected
    with pytest.raises((ValueError, IndexError)):
        unsigned_numbers(data, 21, version=2)
