"""Requests on the wire of opening, planning, reading and syncing a table on S3, held to budgets.

Rounds are requests that had to wait for another's answer; each is delayed so long that what is asked for at the same
time cannot look like two.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from hudi_hive.formats.base import open_base_file
from hudi_hive.storage import Storage
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.testing import FakeMetastore
from integration.support.stores.proxy import StoreProxy
from integration.support.stores.s3 import S3Server
from integration.support.stores.wide_tables import ROWS, write_named_table, write_wide_table
from tests.support.running.long import long_case

_DELAYS_S: Final = (0.4, 4.0, 15.0, 60.0)
"""Tried one after the other, until requests side by side are seen as such: on a slow machine they begin apart."""
_PATIENCE: Final = {"request_timeout": "600"}
"""Longer than any delay: a client that gives a delayed request up would send it again."""
_LISTED: Final = {"hoodie.metadata.enable": "false"}
_PAGE: Final = 1_000

_OPEN, _PLAN, _PLAN_ROUNDS, _BESIDE_PAGES, _IN_FLIGHT, _SYNC = 2, 12, 5, 6, 32, 3
"""Budgets: requests to open, requests and rounds of a plan, those of a listing beside its pages, requests at the same
time when many files are read, and of a sync that has nothing to do."""


class Wide(NamedTuple):
    """An uploaded table."""

    uri: str
    files: int
    objects: int


def _uploaded(s3: S3Server, path: Path, files: int) -> Wide:
    uri = s3.folder()
    s3.upload(path, uri)
    objects = sum(not name.startswith(".hoodie/") for name in s3.files(uri))
    return Wide(uri, files, objects)


@pytest.fixture(scope="module", params=[(40, 5), long_case((200, 5))], ids=["40x5", "200x5"])
def wide(request: pytest.FixtureRequest, s3: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Wide:
    partitions, files = request.param
    path = tmp_path_factory.mktemp("wide") / "t"
    write_wide_table(path, partitions, files)
    return _uploaded(s3, path, partitions * files)


def _open(table: Wide, s3: S3Server, proxy: StoreProxy) -> HudiTable:
    return HudiTable.open(table.uri, storage_options={**s3.options(proxy.port), **_PATIENCE})


def test_open_and_plan_by_the_metadata_table(wide: Wide, s3: S3Server, s3_proxy: StoreProxy) -> None:
    for delay_s in _DELAYS_S:
        with s3_proxy.recording(delay_s) as opening:
            table = _open(wide, s3, s3_proxy)
        with s3_proxy.recording(delay_s) as planning:
            plan = table.scan().plan()
        if opening.rounds + planning.rounds <= _PLAN_ROUNDS:
            break
    assert len(opening) <= _OPEN, opening
    assert plan.slices.num_rows == wide.files
    assert len(planning) <= _PLAN, planning
    assert opening.rounds + planning.rounds <= _PLAN_ROUNDS, planning
    assert not any(request.kind in ("HEAD", "RANGE") for request in (*opening.requests, *planning.requests))


@pytest.mark.parametrize("row_filter", ["p = 'p00007' and v > 3", long_case("v > 3"), long_case("id = 'k1-70'")])
@pytest.mark.long
def test_filtered_plan_by_the_metadata_table(wide: Wide, s3: S3Server, s3_proxy: StoreProxy, row_filter: str) -> None:
    """The statistics are listed beside the lists of files, and read all at once."""
    for delay_s in _DELAYS_S:
        with s3_proxy.recording(delay_s) as recording:
            plan = _open(wide, s3, s3_proxy).scan(row_filter=row_filter).plan()
        if recording.rounds <= _PLAN_ROUNDS:
            break
    assert 0 < plan.slices.num_rows <= wide.files
    assert recording.rounds <= _PLAN_ROUNDS, recording
    paths = [(request.path, request.query) for request in recording.requests]
    assert len(set(paths)) == len(paths), "nothing is asked twice"


def test_plan_by_listing(wide: Wide, s3: S3Server, s3_proxy: StoreProxy) -> None:
    with s3_proxy.recording() as recording:
        plan = _open(wide, s3, s3_proxy).scan(options=_LISTED).plan()
    assert plan.slices.num_rows == wide.files
    assert len(recording) <= -(-wide.objects // _PAGE) + _BESIDE_PAGES, recording


@pytest.mark.parametrize(("row_filter", "partitions"), [("p = 'p00007'", 1), ("p >= 'p00010' AND p < 'p00020'", 10)])
def test_plan_of_some_partitions_by_listing(
    wide: Wide, s3: S3Server, s3_proxy: StoreProxy, row_filter: str, partitions: int
) -> None:
    """The base path and then the partitions that match, side by side, beside the requests of any plan."""
    for delay_s in _DELAYS_S:
        table = _open(wide, s3, s3_proxy)
        _ = table.timeline
        with s3_proxy.recording(delay_s) as recording:
            plan = table.scan(row_filter=row_filter, options=_LISTED).plan()
        if recording.rounds <= _PLAN_ROUNDS:
            break
    assert plan.partitions_planned == partitions and plan.partitions_total == wide.files // 5
    assert table.client.counters["lists"] == 1 + 1 + partitions  # the timeline's, the base path's, theirs
    assert len(recording) <= _BESIDE_PAGES + 1 + partitions, recording
    assert recording.rounds <= _PLAN_ROUNDS, recording


def test_reading_small_files(wide: Wide, s3: S3Server, s3_proxy: StoreProxy) -> None:
    for delay_s in _DELAYS_S:
        scan = _open(wide, s3, s3_proxy).scan()
        scan.plan()
        with s3_proxy.recording(delay_s) as recording:
            assert scan.to_arrow().num_rows == wide.files * ROWS
        if recording.in_flight >= _IN_FLIGHT:
            break
    assert recording.kinds == {"GET": wide.files}
    assert recording.in_flight >= _IN_FLIGHT


def test_columns_of_a_row_group_are_fetched_together(s3: S3Server, s3_proxy: StoreProxy) -> None:
    values = np.random.default_rng(7)
    rows = pa.table({name: values.random(200_000) for name in "abcdef"})
    buffer = io.BytesIO()
    pq.write_table(rows, buffer, row_group_size=100_000)
    storage = Storage(s3.folder(), s3.options(s3_proxy.port))
    storage.write_bytes("x.parquet", buffer.getvalue())
    for columns, ranges in (("ab", 1), ("abcdef", 1), ("abf", 2)):
        size = len(buffer.getvalue())
        with s3_proxy.recording() as recording, open_base_file(storage, "x.parquet", size=size) as file:
            read = pa.Table.from_batches(list(file.batches(list(columns))))
        assert read.equals(rows.select(list(columns)))
        assert recording.kinds == {"RANGE": 1 + 2 * ranges}, recording  # the end, then those of each row group


def test_an_empty_file_is_read_by_one_request(s3: S3Server, s3_proxy: StoreProxy) -> None:
    storage = Storage(s3.folder(), s3.options(s3_proxy.port))
    storage.write_bytes("x", b"")
    for size in (0, None):
        with s3_proxy.recording() as recording:
            assert storage.open_input("x", size).read() == b""
        assert len(recording) == 1, recording


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_sync_with_nothing_to_do(
    table_type: str, s3: S3Server, s3_proxy: StoreProxy, tmp_path: Path, fake_metastore: FakeMetastore
) -> None:
    write_wide_table(tmp_path / "t", 3, 2, table_type=table_type)
    table = _uploaded(s3, tmp_path / "t", 6)
    config = HiveSyncConfig(
        base_path=table.uri,
        metastore_uris=fake_metastore.uri,
        partition_fields=["p"],
        storage_options=s3.options(s3_proxy.port),
    )
    tool = HiveSyncTool(config)
    tool.sync()
    with s3_proxy.recording() as recording:
        report = tool.sync()
    assert report.is_noop
    assert len(recording) <= _SYNC, recording


@pytest.fixture
def fake_metastore() -> Iterator[FakeMetastore]:
    with FakeMetastore() as running:
        yield running


@pytest.mark.long
def test_plan_of_200_000_files(s3: S3Server, s3_proxy: StoreProxy, tmp_path: Path) -> None:
    write_named_table(tmp_path / "t", 10_000, 20)
    table = _uploaded(s3, tmp_path / "t", 200_001)
    with s3_proxy.recording(_DELAYS_S[1]) as recording:
        plan = _open(table, s3, s3_proxy).scan().plan()
    assert (plan.slices.num_rows, plan.partitions_planned) == (200_001, 10_001)
    assert len(recording) <= _OPEN + _PLAN, recording
    assert recording.rounds <= _PLAN_ROUNDS, recording
    for row_filter, files in (("p = 'p00007'", 20), ("p = 'p00007' and v > 3", 20)):
        with s3_proxy.recording(_DELAYS_S[1]) as filtered:
            plan = _open(table, s3, s3_proxy).scan(row_filter=row_filter).plan()
        assert plan.slices.num_rows == files
        assert len(filtered) <= _OPEN + _PLAN, filtered
        assert filtered.rounds <= _PLAN_ROUNDS, filtered
