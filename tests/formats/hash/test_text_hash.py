"""The hash that spreads rows over parts: the same for equal texts wherever they lie, and even."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive.formats.hash import text_hashes

TEXTS = [
    "",
    "a",
    "b",
    "1234567",
    "12345678",
    "123456789",
    "é",
    "x" * 300,
    "x" * 299 + "y",
    "key-0000001",
    "key-0000002",
]


def test_equal_texts_have_equal_hashes_and_others_have_others():
    hashes = text_hashes(pa.array(TEXTS))
    assert len(set(hashes.tolist())) == len(TEXTS)
    for start in range(len(TEXTS)):
        part = pa.array(["before", *TEXTS, "behind"]).slice(1 + start, len(TEXTS) - start)
        assert text_hashes(part).tolist() == hashes[start:].tolist()
        assert text_hashes(pa.array([TEXTS[start]])).tolist() == [hashes[start]]
    assert len(text_hashes(pa.array([], pa.string()))) == 0


@pytest.mark.parametrize("parts", [2, 7, 10, 128])
@pytest.mark.parametrize(
    ("before", "behind"), [("", ""), ("8c4f2a1e-", ""), ("", "-8c4f2a1e-8c4f2a1e"), ("id:", ",city:x")]
)
def test_parts_are_about_equal(parts, before, behind):
    numbers = pc.cast(pa.array(np.arange(100_000)), pa.string())
    keys = pc.binary_join_element_wise(before, numbers, behind, "")
    sizes = np.bincount((text_hashes(keys) % np.uint64(parts)).astype(np.int64), minlength=parts)
    assert sizes.min() > 0.8 * 100_000 / parts and sizes.max() < 1.2 * 100_000 / parts
