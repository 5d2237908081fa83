"""Reads pickled splits in another process."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pyarrow as pa
import pytest


@pytest.fixture(scope="module")
def elsewhere():
    """A process that holds nothing of this one; ``read(pages, splits)`` gives the rows that it reads."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield lambda pages, splits: _table(pool.submit(_read, pickle.dumps((pages, splits))).result())


def _read(data: bytes) -> bytes:
    pages, splits = pickle.loads(data)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pages.schema) as writer:
        for split in splits:
            for batch in pages.read(split):
                writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _table(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()


def two_rows(insert: bytes, first: int) -> bytes:
    """A task of an insert: the pickled fragment of a sink with two rows."""
    from hudi_hive.connector import PageSink

    sink = PageSink(pickle.loads(insert))
    for number in (first, first + 1):
        sink.append(pa.record_batch({"ID": pa.array([number]), "city": ["kyiv"]}))
    return pickle.dumps(sink.finish())
