"""Hash codes of texts are those that Java gives."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.formats.hash import java_hash
from hudi_hive.formats.hash.java_hash import string_hashes


def naive(text: str | None) -> int:
    value = 0
    units = b"" if text is None else text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def test_hashes_are_those_of_java() -> None:
    texts = ["", "a", "polygenelubricants", "Aa", "BB", "😀", None]
    assert string_hashes(pa.array(texts)).tolist() == [0, 97, -(2**31), 2112, 2112, 1772899, 0]


@given(st.lists(st.none() | st.text(max_size=40)), st.integers(0, 3), st.sampled_from([1, 3, 17, 1 << 22]))
def test_hashes_follow_the_definition(texts: list[str | None], cut: int, most: int) -> None:
    values = pa.array(texts, pa.string()).slice(cut)
    before, java_hash._MOST_BYTES = java_hash._MOST_BYTES, most  # type: ignore[misc]
    try:
        assert string_hashes(values).tolist() == [naive(text) for text in texts[cut:]]
    finally:
        java_hash._MOST_BYTES = before  # type: ignore[misc]
