"""Real Hudi reads and writes tables whose columns changed, with the statistics that we carry on: no row is left out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from integration.support.hudi_peer import NOT_THERE, HudiPeer, may_start

pytestmark = [pytest.mark.jvm, pytest.mark.long, pytest.mark.skipif(not may_start(6, 8, 9), reason=NOT_THERE)]

OURS = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.clean.automatic": "false",
    "hoodie.parquet.small.file.limit": "0",
}
READ = {
    "hoodie.schema.on.read.enable": "true",
    "hoodie.enable.data.skipping": "true",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
}
WRITE = {
    **OURS,
    "hoodie.table.name": "t",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.schema.on.read.enable": "true",
    "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.compact.inline": "false",
    "hoodie.upsert.shuffle.parallelism": "1",
}
FILTERS = (
    "d = 10",
    "a >= 1 and d = 10",
    "a >= 1 and d >= 110",
    "a >= 1 and s = '7'",
    "s > '6'",
    "s is null",
    "x is null",
    "a >= 1 and x is null",
    "x = 1",
    "x is not null",
    "a >= 1 and n > 11",
    "f < 1.5",
    "day = '2020-01-04'",
    "u = 12",
    "w = 12",
)


def rows(part: str, first: int, renamed: bool = False) -> pa.Table:
    """Three rows of a partition: as before the changes, or as after them."""
    ids = range(first, first + 3)
    columns = {
        "id": pa.array(ids, pa.int64()),
        "ts": pa.array([1] * 3, pa.int64()),
        "part": pa.array([part] * 3),
        "a": pa.array(ids, pa.int32()),
        "c": pa.array([10 * one for one in ids], pa.int32()),
        "s": pa.array([7 * one for one in ids], pa.int32()),
        "x": pa.array(ids, pa.int32()),
        "n": pa.array(ids, pa.int32()),
        "f": pa.array([one / 8 for one in ids], pa.float32()),
        "day": pa.array([dt.date(2020, 1, 1) + dt.timedelta(one) for one in ids]),
        "u": pa.array(ids, pa.int32()),
        "w": pa.array([one + 1 for one in ids], pa.int32()),
    }
    return pa.table(columns)


def after(first: int, part: str) -> dict[str, object]:
    """A row as it is after the changes, for real Hudi."""
    day = str(dt.date(2020, 1, 1) + dt.timedelta(first))
    row: dict[str, object] = {"id": first, "ts": 2, "part": part, "a": first, "d": 10 * first, "s": str(7 * first)}
    return {**row, "n": first, "f": first / 8, "day": day, "w": first, "u": first + 1, "x": first}


SCHEMA = (
    "id bigint, ts bigint, part string, a int, d int, s string, n bigint, f double, day string, w int, u int, x int"
)


def expected(path: Path) -> dict[str, list[int]]:
    """Keys of the rows that pass each filter, without any index."""
    options = {"hoodie.enable.data.skipping": "false", "hoodie.metadata.enable": "false"}
    result = {}
    for text in FILTERS:
        scan = HudiTable.open(path).scan(row_filter=text, options=options)
        result[text] = sorted(scan.to_arrow().column("id").to_pylist())
    return result


def ours(path: Path) -> dict[str, list[int]]:
    """Keys by our plan, with all indexes."""
    table = HudiTable.open(path)
    return {text: sorted(table.scan(row_filter=text).to_arrow().column("id").to_pylist()) for text in FILTERS}


def theirs(peer: HudiPeer, path: Path) -> dict[str, list[int]]:
    """Keys by real Hudi, which leaves out files by the same statistics."""
    options = ", ".join(f"`{name}` '{value}'" for name, value in READ.items())
    peer.sql(f"CREATE OR REPLACE TEMPORARY VIEW evolved USING hudi OPTIONS (path '{path}', {options})")
    return {text: sorted(row["id"] for row in peer.sql(f"SELECT id FROM evolved WHERE {text}")) for text in FILTERS}


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", (8, 9))
def test_real_hudi_finds_all_rows_behind_changes(
    version: int, kind: str, hudi_peer: Callable[[int], HudiPeer], tmp_path: Path
) -> None:
    path = tmp_path / "t"
    HudiTable.create(
        path,
        name="t",
        version=version,
        table_type=kind,
        record_keys=["id"],
        partition_fields=["part"],
        ordering_fields=["ts"],
    )
    for part, first in (("p1", 1), ("p2", 11), ("p1", 21)):
        HudiTable.open(path).insert(rows(part, first), OURS)
    with HudiTable.open(path).update_schema(OURS) as update:
        update.rename("c", "d").drop("x").change_type("s", "string").change_type("n", "bigint")
        update.change_type("f", "double").change_type("day", "string")
    with HudiTable.open(path).update_schema(OURS) as update:
        update.rename("u", "v").rename("w", "u").rename("v", "w").add("x", "int")
    assert "column_stats" in HudiTable.open(path).client.config.metadata_partitions
    peer = hudi_peer(version)
    want = expected(path)
    assert ours(path) == want
    assert theirs(peer, path) == want
    peer.write(path, [after(2, "p1"), after(101, "p1"), after(102, "p3")], SCHEMA, WRITE)
    want = expected(path)
    assert want["x is not null"] == [2, 101, 102]
    assert ours(path) == want
    assert theirs(peer, path) == want
    HudiTable.open(path).update_schema(OURS).rename("d", "e").commit()
    table = HudiTable.open(path)
    assert table.scan(row_filter="e = 1010").to_arrow().column("id").to_pylist() == [101]
    assert len(table.scan(row_filter="e = 1010").plan().slices) < len(table.scan().plan().slices)
    assert table.metadata.validate().is_valid
