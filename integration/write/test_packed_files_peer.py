"""Real Hudi beside ours on base files whose pages are packed by ISA-L: the same rows, read and changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudi_hive import HudiTable
from integration.support.hudi_peer import HudiPeer
from tests.support.running.long import long_case

pytestmark = pytest.mark.jvm

ROWS = 30_000
DDL = "id string, ts int, fare double, note string, tags array<string>, city string"
SUMS = [
    "count(*) AS n",
    "sum(crc32(id)) AS ids",
    "sum(ts) AS ts",
    "sum(crc32(note)) AS notes",
    "sum(size(tags)) AS tags",
]


def rows() -> pa.Table:
    numbers = np.arange(ROWS)
    texts = pa.array(numbers).cast(pa.string())
    tags = [["x"] * (number % 3) for number in numbers.tolist()]
    return pa.table(
        {
            "id": pc.binary_join_element_wise("key", texts, "-"),
            "ts": pa.array(numbers % 100, pa.int32()),
            "fare": pa.array(np.random.default_rng(1).random(ROWS)),
            "note": pc.if_else(pa.array(numbers % 5 == 0), None, pc.binary_join_element_wise("note", texts, " ")),
            "tags": pa.array(tags, pa.list_(pa.string())),
            "city": pc.binary_join_element_wise("c", pa.array(numbers % 2).cast(pa.string()), ""),
        }
    )


@pytest.mark.parametrize("version", [6, long_case(8), 9])
def test_packed_base_files(version: int, hudi_peer: Callable[[int], HudiPeer], tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = HudiTable.create(
        path, name="t", record_keys=["id"], partition_fields=["city"], ordering_fields=["ts"], version=version
    )
    table.bulk_insert(rows())
    files = sorted(path.glob("c*/*.parquet"))
    chunk = pq.read_metadata(files[0]).row_group(0).column(0)
    assert chunk.compression == "GZIP" and pq.read_metadata(files[0]).num_rows == ROWS // 2
    peer = hudi_peer(version)
    (sums,) = peer.read(path, SUMS)
    assert (sums["n"], sums["ts"], sums["tags"]) == (ROWS, int(np.sum(np.arange(ROWS) % 100)), ROWS)
    # Real Hudi reads each file whole to merge into it, and finds keys by the bloom filters.
    changed = [
        {"id": f"key-{n}", "ts": 1_000, "fare": 0.0, "note": "new", "tags": [], "city": f"c{n % 2}"} for n in (7, 8)
    ]
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.write.table.version": str(version),
    }
    peer.write(path, changed, DDL, options)
    (after,) = peer.read(path, SUMS)
    assert (after["n"], after["ids"], after["ts"]) == (ROWS, sums["ids"], sums["ts"] + 2_000 - 7 - 8)
    ours = HudiTable.open(path).scan(selected_fields=["id", "ts", "note"]).to_arrow()
    assert (ours.num_rows, pc.sum(ours["ts"]).as_py()) == (ROWS, after["ts"])
    assert sorted(ours.filter(pc.equal(ours["note"], "new"))["id"].to_pylist()) == ["key-7", "key-8"]
