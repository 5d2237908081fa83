"""What large log files do to base files, told in shares and parts, comes to the rows that merging gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.formats.base import BATCH_ROWS
from hudi_hive.plan import ScanPlan
from hudi_hive.plan.model import MergeMemory
from hudi_hive.read.scan import SliceReader, partition_columns, replaced_share
from tests.support.fixture_tables import (
    assert_same_rows,
    encode_rows,
    fixture_names,
    named_gap,
    one_version_of_each,
    queries,
    query_id,
    rows_sha256,
    unzip_fixture,
)

USUAL = {*one_version_of_each(fixture_names("mor"))}
CASES = [
    pytest.param(name, query, id=f"{name}-{query_id(query)}", marks=() if name in USUAL else pytest.mark.long)
    for name in fixture_names("mor")
    for query in queries(name)
    if query["kind"] == "snapshot" and "error" not in query and named_gap(name, query) is None
]


def in_shares(table: HudiTable, plan: ScanPlan, shares: int) -> Iterator[pa.RecordBatch]:
    """The rows of the slices of a plan: base rows that a share counts, and records of all shares."""
    storage = table.client.storage
    reader = SliceReader.of(storage, plan, None, BATCH_ROWS, schema=plan.schema)
    for number, row in enumerate(plan.slices.to_pylist()):
        values = partition_columns(plan, plan.slices.slice(number, 1))
        parts = [replaced_share(storage, plan, row, values, share=(own, shares)) for own in range(shares)]
        if not row["log_files"] or None in parts:
            yield from reader.rows(row, values)
            continue
        left_out = np.logical_and.reduce([part.left_out for part in parts])
        at = 0
        for batch in reader.base(row, values):
            yield batch.filter(pa.array(~left_out[at : at + batch.num_rows])).select(plan.schema.names)
            at += batch.num_rows
        assert at == len(left_out)
        for part in parts:
            batches = list(part.batches)
            assert sum(batch.num_rows for batch in batches) == part.records
            yield from batches


def little(plan: ScanPlan, folder: str, size: int | None = None) -> ScanPlan:
    """The plan with so little memory that log files are merged in some parts."""
    assert plan.merge is not None
    logs = max(sum(sizes) for sizes in plan.slices.column("log_sizes").to_pylist())
    return replace(plan, merge=replace(plan.merge, memory=MergeMemory(size or max(1, logs), folder)))


@pytest.mark.parametrize("shares", [1, 3])
@pytest.mark.parametrize(("name", "query"), CASES)
def test_the_rows_are_those_of_real_hudi(name, query, shares, tmp_path):
    table = HudiTable.open(unzip_fixture(name))
    plan = table.scan(options=query["options"]).plan()
    if plan.merge is None:
        pytest.skip("no log files")
    rows = pa.Table.from_batches(in_shares(table, little(plan, str(tmp_path / "spilled")), shares), plan.schema)
    assert_same_rows(rows, name, query)
    assert not (tmp_path / "spilled").exists() or not list((tmp_path / "spilled").iterdir())


def rows(ids: list[int], ts: int) -> pa.Table:
    return pa.table({"id": ids, "ts": [ts] * len(ids), "v": [f"{each}-{ts}" for each in ids]})


@pytest.mark.parametrize(("shares", "size"), [(1, 1), (2, 1), (3, 1 << 30)])
def test_keys_that_the_base_file_has_twice_and_records_without_a_base_row(tmp_path, shares, size):
    made = HudiTable.create(
        tmp_path / "t", name="t", table_type="MERGE_ON_READ", record_keys=["id"], ordering_fields=["ts"]
    )
    made.bulk_insert(rows([*range(200), 3, 3, 7], 5))
    made.upsert(rows([3, 4, 5], 9))
    made.upsert(rows([7, 8], 1))
    made.delete(pa.table({"id": [9, 10], "ts": [9, 9]}))
    table = HudiTable.open(tmp_path / "t")
    plan = table.scan().plan()
    wanted = table.scan().to_arrow()
    assert any(plan.slices.column("log_files").to_pylist())
    told = pa.Table.from_batches(in_shares(table, little(plan, str(tmp_path / "s"), size), shares), plan.schema)
    assert (table.client.storage.counters["bytes_spilled"] > 0) == (size == 1)
    assert rows_sha256(encode_rows(told)) == rows_sha256(encode_rows(wanted))
