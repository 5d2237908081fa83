"""Roaring bitmaps of row numbers in headers of log blocks: golden ones of another library, round trips, damage."""

from __future__ import annotations

import base64
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.formats.log import BlockType, HeaderKey, LogBlock, RecordPositions

GOLDEN = {  # by the C library of Roaring bitmaps, through pyroaring 1.0
    "none": ([], "AAAAAAAAAAA="),
    "listed": ([1, 5, 70000], "AQAAAAAAAAAAAAAAOjAAAAIAAAAAAAEAAQAAABgAAAAcAAAAAQAFAHAR"),
    "one run": (range(10, 5000), "AQAAAAAAAAAAAAAAOzAAAAEAAH0TAQAKAH0T"),
    "runs with offsets": (
        [i * 65536 + j for i in range(5) for j in range(100)],
        "AQAAAAAAAAAAAAAAOzAEAB8AAGMAAQBjAAIAYwADAGMABABjAC0AAAAzAAAAOQAAAD8AAABFAAAAAQAAAGMAAQAAAGMAAQAAAGMAAQAAAGMAAQAAAGMA",
    ),
    "beyond 32 bits": (
        [3, (1 << 32) + 9, (5 << 32) + 65536],
        "AwAAAAAAAAAAAAAAOjAAAAEAAAAAAAAAEAAAAAMAAQAAADowAAABAAAAAAAAABAAAAAJAAUAAAA6MAAAAQAAAAEAAAAQAAAAAAA=",
    ),
}
REAL = {  # of log blocks that real Hudi wrote
    "1.0.2, updates": (
        range(10, 59, 3),
        "AQAAAAAAAAAAAAAAOjAAAAEAAAAAABAAEAAAAAoADQAQABMAFgAZABwAHwAiACUAKAArAC4AMQA0ADcAOgA=",
    ),
    "1.0.2, side by side": (range(66, 76), "AQAAAAAAAAAAAAAAOzAAAAEAAAkAAQBCAAkA"),
    "1.1.1, updates": (range(132, 151, 2), "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAkAEAAAAIQAhgCIAIoAjACOAJAAkgCUAJYA"),
    "1.1.1, deletes": (
        range(30, 150, 7),
        "AQAAAAAAAAAAAAAAOjAAAAEAAAAAABEAEAAAAB4AJQAsADMAOgBBAEgATwBWAF0AZABrAHIAeQCAAIcAjgCVAA==",
    ),
}
NO_RUNS, RUNS = 12346, 12347


def rows_of(data: bytes, count: int) -> list[int] | None:
    rows = RecordPositions("1", base64.b64encode(data).decode()).rows(count)
    return None if rows is None else rows.tolist()


def bitmap(*buckets: tuple[int, bytes]) -> bytes:
    return struct.pack("<Q", len(buckets)) + b"".join(struct.pack("<I", high) + data for high, data in buckets)


@pytest.mark.parametrize("name", [*GOLDEN, *REAL])
def test_bitmaps_of_others_are_read_and_ours_are_the_same(name):
    rows, text = list((GOLDEN | REAL)[name][0]), (GOLDEN | REAL)[name][1]
    positions = RecordPositions("1", text)
    assert positions.rows(len(rows)).tolist() == rows
    assert RecordPositions.encoded("1", np.array(rows, np.int64)) == positions
    assert positions.rows(len(rows) + 1) is None and (not rows or positions.rows(len(rows) - 1) is None)


PARTS = st.one_of(
    st.sets(st.integers(0, 1 << 20), max_size=50),
    st.sets(st.integers(0, (1 << 62)), max_size=10),
    st.builds(
        lambda start, size, step: set(range(start, start + size * step, step)),
        st.integers(0, 1 << 20),
        st.integers(0, 20_000),
        st.integers(1, 4),
    ),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(PARTS, max_size=4))
def test_what_is_encoded_comes_back(parts):
    rows = sorted(set().union(*parts))
    assert RecordPositions.encoded("1", np.array(rows, np.int64)).rows(len(rows)).tolist() == rows


@pytest.mark.parametrize("name", ["listed", "one run", "runs with offsets", "beyond 32 bits"])
def test_changed_bytes_never_give_other_than_ascending_rows(name):
    rows, text = list(GOLDEN[name][0]), GOLDEN[name][1]
    data = base64.b64decode(text)
    refused = 0
    for place in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            got = rows_of(bytes(changed), len(rows))
            refused += got is None
            assert got is None or (len(got) == len(rows) and got == sorted(set(got)) and got[0] >= 0)
    assert refused > len(data)
    assert all(rows_of(data[:size], len(rows)) is None for size in range(len(data)))
    assert rows_of(data + b"\0", len(rows)) is None and RecordPositions("1", text[1:]).rows(len(rows)) is None


CLAIMS = {
    "buckets": struct.pack("<Q", 1 << 63),
    "containers": bitmap((0, struct.pack("<II", NO_RUNS, 0xFFFFFFFF))),
    "numbers of a run": bitmap((0, struct.pack("<IBHHHHH", RUNS, 1, 0, 0xFFFF, 1, 0, 0xFFFF))),
    "numbers of many runs": bitmap(
        *((high, struct.pack("<IBHHHHH", RUNS, 1, 0, 0xFFFF, 1, 0, 0xFFFF)) for high in range(5_000))
    ),
    "runs": bitmap((0, struct.pack("<IBHHH", RUNS, 1, 0, 4, 0xFFFF))),
    "a run beyond its container": bitmap((0, struct.pack("<IBHHHHH", RUNS, 1, 0, 4, 1, 0xFFFE, 4))),
    "bits": bitmap((0, struct.pack("<IIHHI", NO_RUNS, 1, 0, 4999, 16) + b"\xff" * 8192)),
    "negative": bitmap((1 << 31, struct.pack("<IIHHIHHHHH", NO_RUNS, 1, 0, 4, 16, 1, 2, 3, 4, 5))),
    "no bitmap": bitmap((0, struct.pack("<II", 99, 1))),
    "descending": bitmap((0, struct.pack("<IIHHIHHHHH", NO_RUNS, 1, 0, 4, 16, 5, 4, 3, 2, 1))),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_a_bitmap_claims_is_not_expanded(claim):
    tracemalloc.start()
    try:
        assert rows_of(CLAIMS[claim], 5) is rows_of(CLAIMS[claim], 5000 if claim == "bits" else 5) is None
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("kind", "missing", "has"),
    [
        (BlockType.AVRO_DATA, None, True),
        (BlockType.PARQUET_DATA, None, True),
        (BlockType.DELETE, None, True),
        (BlockType.HFILE_DATA, None, False),
        (BlockType.AVRO_DATA, HeaderKey.RECORD_POSITIONS, False),
        (BlockType.AVRO_DATA, HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS, False),
    ],
)
def test_blocks_have_positions_by_both_headers_and_records_in_their_order(kind, missing, has):
    positions = RecordPositions("7", GOLDEN["listed"][1])
    headers = {key: text for key, text in positions.headers.items() if key is not missing}
    block = LogBlock(kind, headers, memoryview(b""), 0, 0, 0, "p")
    assert RecordPositions.of(block) == (positions if has else None)
