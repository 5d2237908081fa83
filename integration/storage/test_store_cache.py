"""The cache of remote files: a second read asks the store for no data, whatever becomes of the cache rows are right."""

from __future__ import annotations

import io
import logging
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError, StorageError
from hudi_hive.formats.base import open_base_file
from hudi_hive.metrics import IoCounters
from hudi_hive.storage import Storage
from integration.support.stores.proxy import Recording, StoreProxy
from integration.support.stores.running import RunningStore, running_store
from integration.support.stores.s3 import S3Server
from tests.support.running.long import long_case

FIELDS = {"name": "t", "record_keys": ["id"], "partition_fields": ["p"], "ordering_fields": ["ts"]}
LARGE = "f-0_0-1-0_20240101000000000.parquet"


def rows(ts: int) -> pa.Table:
    numbers = list(range(0, 30, ts))
    return pa.table(
        {
            "id": [f"k{number}" for number in numbers],
            "p": [f"p{number % 2}" for number in numbers],
            "ts": pa.array([ts] * len(numbers), pa.int64()),
        }
    )


def make_table(uri: str, options: dict[str, str], version: int) -> HudiTable:
    """A merge-on-read table with base and log files."""
    table = HudiTable.create(uri, table_type="MERGE_ON_READ", version=version, storage_options=options, **FIELDS)
    table.upsert(rows(1))
    table.upsert(rows(3))
    return table


def cached(options: dict[str, str], folder: Path, most_bytes: int = 1 << 30) -> dict[str, str]:
    return {**options, "cache_folder": str(folder / "cache"), "cache_bytes": str(most_bytes)}


def read(uri: str, options: dict[str, str]) -> tuple[list[dict[str, object]], dict[str, int]]:
    """Rows, and what the cache counted."""
    counters = IoCounters()
    result = HudiTable.open(uri, options, counters=counters).scan().to_arrow().sort_by("id").to_pylist()
    return result, {name: count for name, count in counters.snapshot().items() if name.startswith("cache")}


def of_data(recording: Recording) -> list[str]:
    """Paths of requests for data files."""
    return [one.path for one in recording.requests if one.kind in ("GET", "RANGE") and "/.hoodie/" not in one.path]


def cache_entries(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*-*") if path.is_file()]


@pytest.mark.parametrize("version", [long_case(6), long_case(8), 9])
def test_a_second_read_asks_for_no_data(version: int, s3: S3Server, s3_proxy: StoreProxy, tmp_path: Path) -> None:
    uri = s3.folder()
    make_table(uri, s3.options(), version)
    expected, counted = read(uri, s3.options())
    assert len(expected) == 30 and counted == {}
    options = cached(s3.options(s3_proxy.port), tmp_path)
    with s3_proxy.recording() as first:
        assert read(uri, options)[0] == expected
    assert len(of_data(first)) >= 4
    with s3_proxy.recording() as second:
        result, counted = read(uri, options)
    assert result == expected and of_data(second) == []
    assert counted == {"cache_hits": len(of_data(first)), "cache_bytes": sum(r.answered for r in _data(first))}
    names = "\n".join(path.read_bytes()[30:].split(b"\n")[1].decode() for path in cache_entries(tmp_path))
    assert ".parquet" in names and ".log." in names and ".hoodie" not in names
    table = HudiTable.open(uri, options)
    table.upsert(rows(5))
    assert read(uri, options)[0] == read(uri, s3.options())[0] != expected


def _data(recording: Recording) -> list:
    return [one for one in recording.requests if one.kind in ("GET", "RANGE") and "/.hoodie/" not in one.path]


@pytest.fixture(scope="module")
def large() -> bytes:
    """A Parquet file of two row groups, larger than what is read as a whole."""
    values = np.random.default_rng(7)
    buffer = io.BytesIO()
    pq.write_table(pa.table({name: values.random(150_000) for name in "abcdef"}), buffer, row_group_size=75_000)
    return buffer.getvalue()


def columns(storage: Storage, names: str, content: bytes) -> pa.Table:
    with open_base_file(storage, LARGE, size=len(content)) as file:
        return pa.Table.from_batches(list(file.batches(list(names))))


def test_only_missing_ranges_of_a_large_file_are_asked_for(
    s3: S3Server, s3_proxy: StoreProxy, tmp_path: Path, large: bytes
) -> None:
    uri = s3.folder()
    Storage(uri, s3.options()).write_bytes(LARGE, large)
    expected = pq.read_table(io.BytesIO(large))
    options = cached(s3.options(s3_proxy.port), tmp_path)
    for names, requests in (("ab", 3), ("ab", 0), ("abf", 2), ("abf", 0), ("abcdef", 2), ("abcdef", 0), ("ce", 0)):
        with s3_proxy.recording() as recording:
            assert columns(Storage(uri, options), names, large).equals(expected.select(list(names)))
        assert recording.kinds == ({"RANGE": requests} if requests else {}), (names, recording)
    damaged = cache_entries(tmp_path)[0]
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\0\0")
    storage = Storage(uri, options)
    with s3_proxy.recording() as recording:
        assert columns(storage, "abcdef", large).equals(expected)
    assert recording.kinds == {"RANGE": 1} and storage.counters["cache_damaged"] == 1


@pytest.mark.parametrize("most_bytes", [1 << 30, 1_500_000])
def test_any_ranges_have_the_bytes_of_the_file(most_bytes: int, s3: S3Server, tmp_path: Path, large: bytes) -> None:
    uri = s3.folder()
    Storage(uri, s3.options()).write_bytes(LARGE, large)
    options, numbers = cached(s3.options(), tmp_path, most_bytes), random.Random(7)
    for _ in range(8):
        with Storage(uri, options).open_input(LARGE, len(large)) as stream:
            for _ in range(6):
                start, length = numbers.randrange(len(large)), numbers.choice((1, 1000, 300_000, 2_000_000))
                ranges = [(at, at + 50_000) for at in (numbers.randrange(len(large)) for _ in range(3))]
                stream.prefetch(ranges)
                assert stream.read_at(length, start) == large[start : start + length]
                assert all(stream.read_at(end - at, at) == large[at:end] for at, end in ranges)
        files = cache_entries(tmp_path)
        assert sum(path.stat().st_size for path in files) <= most_bytes
        numbers.choice(files).write_bytes(b"damaged")


def test_a_file_that_was_overwritten_is_never_mixed(s3: S3Server, tmp_path: Path, large: bytes) -> None:
    uri = s3.folder()
    store, options = Storage(uri, s3.options()), cached(s3.options(), tmp_path)
    store.write_bytes(LARGE, large)
    columns(Storage(uri, options), "a", large)
    other = bytes(len(large) - 1_000_000) + large[-1_000_000:]
    store.write_bytes(LARGE, other)
    with (
        Storage(uri, options).open_input(LARGE, len(large)) as stream,
        pytest.raises(StorageError, match="overwritten"),
    ):
        stream.read_at(len(large), 0)
    for _ in range(2):
        with Storage(uri, options).open_input(LARGE, len(large)) as stream:
            assert stream.read() == other
    shorter = large[:-7]
    store.write_bytes(LARGE, shorter)
    assert Storage(uri, cached(s3.options(), tmp_path / "2")).open_input(LARGE, len(large)).read() == shorter


def test_damage_of_all_pieces_is_read_again(s3: S3Server, s3_proxy: StoreProxy, tmp_path: Path) -> None:
    uri = s3.folder()
    make_table(uri, s3.options(), 8)
    options = cached(s3.options(s3_proxy.port), tmp_path)
    expected, _ = read(uri, options)
    files = cache_entries(tmp_path)
    for path in files:
        path.write_bytes(path.read_bytes()[:-1])
    assert read(uri, options) == (expected, {"cache_damaged": len(files), "cache_misses": len(files)})
    with s3_proxy.recording() as recording:
        assert read(uri, options)[0] == expected
    assert of_data(recording) == []


def test_reads_go_on_without_a_cache_that_cannot_be_written(
    s3: S3Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    uri = s3.folder()
    make_table(uri, s3.options(), 8)
    (tmp_path / "cache").write_bytes(b"")
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert len(read(uri, cached(s3.options(), tmp_path))[0]) == 30
    assert len([record for record in caplog.records if "cache" in record.message]) == 1


@pytest.mark.parametrize(
    ("uri", "options", "said"),
    [
        ("s3://lake/t", {"cache_bytes": "1g"}, "cache_bytes without cache_folder"),
        ("s3://lake/t", {"cache_folder": "cache"}, "no absolute path"),
        ("s3://lake/t", {"cache_folder": "s3://lake/cache"}, "no absolute path"),
        ("s3://lake/t", {"cache_folder": "/c", "cache_bytes": "0"}, "greater than 0"),
        ("memory://t", {"cache_folder": "/c"}, "S3, GCS, Azure and HDFS"),
        ("s3://lake/t", {"cache_folder": "/c", "use_fsspec": "true"}, "S3, GCS, Azure and HDFS"),
    ],
)
def test_what_cannot_be_cached_is_refused(uri: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidOptionError, match=said):
        Storage(uri, options)


READ = """
import sys
from hudi_hive import HudiTable
options = dict(one.split("=", 1) for one in sys.argv[2:])
for _ in range(5):
    print(HudiTable.open(sys.argv[1], options).scan().to_arrow().num_rows)
"""


@pytest.mark.long
def test_two_processes_read_one_table_by_one_cache(s3: S3Server, tmp_path: Path) -> None:
    uri = s3.folder()
    make_table(uri, s3.options(), 9)
    texts = [f"{name}={value}" for name, value in cached(s3.options(), tmp_path, 20_000).items()]
    command = [sys.executable, "-c", READ, uri, *texts]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=os.getcwd()) for _ in range(2)]
    assert [process.communicate()[0].split() for process in running] == [["30"] * 5] * 2
    assert sum(path.stat().st_size for path in cache_entries(tmp_path)) <= 20_000


@pytest.fixture(scope="module", params=[long_case(name) for name in ("hdfs", "gcs", "azure")])
def store(request: pytest.FixtureRequest) -> Iterator[RunningStore]:
    with running_store(request.param) as running:
        yield running


def test_other_stores(store: RunningStore, tmp_path: Path, large: bytes) -> None:
    uri = store.folder()
    plain = dict(store.options)
    options = cached(plain, tmp_path)
    make_table(f"{uri}/t", plain, 9)
    storage = Storage(uri, plain)
    storage.write_bytes(LARGE, large)
    expected, _ = read(f"{uri}/t", options)
    columns(Storage(uri, options), "ab", large)
    listing = storage.list(recursive=True)
    for path, is_dir in zip(listing["path"].to_pylist(), listing["is_dir"].to_pylist(), strict=True):
        if not is_dir and "/.hoodie" not in path:
            storage.delete(path)
    result, counted = read(f"{uri}/t", options)
    assert result == expected and "cache_misses" not in counted
    assert columns(Storage(uri, options), "ab", large).equals(pq.read_table(io.BytesIO(large), columns=["a", "b"]))
