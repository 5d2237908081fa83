"""Cached properties are computed once, also when several threads read them at once."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hudi_hive.caching import cached_property


class Reader:
    """Reads slowly."""

    def __init__(self, fails: int = 0) -> None:
        self.fails, self.reads = fails, 0

    @cached_property
    def content(self) -> object:
        """What it reads."""
        self.reads += 1
        if self.reads <= self.fails:
            raise ValueError(self.reads)
        threading.Event().wait(0.05)
        return object()


def test_one_thread_computes_a_property_and_all_get_its_value():
    reader = Reader()
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda _: reader.content, range(8)))
    assert (reader.reads, len(set(map(id, values)))) == (1, 1)
    assert Reader.content.__doc__ == "What it reads."


def test_errors_are_not_cached_and_cached_values_pickle():
    reader = Reader(fails=1)
    with pytest.raises(ValueError, match="1"):
        _ = reader.content
    assert reader.content is reader.content
    assert pickle.loads(pickle.dumps(reader)).reads == 2
