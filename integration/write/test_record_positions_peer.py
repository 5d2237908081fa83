"""Real Hudi beside ours on log blocks with record positions: each reads what the other wrote to the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from integration.support.hudi_peer import HudiPeer
from tests.support.running.long import long_case
from tests.support.tables.record_positions import BY_KEY, blocks_of, effects

pytestmark = pytest.mark.jvm

COLUMNS = ["id", "ts", "v", "p"]
DDL = "id string, ts int, v string, p string"
SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int32()), ("v", pa.string()), ("p", pa.string())])
ORDERS = {
    "event": {
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING",
    },
    "commit": {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"},
}
Rows = list[dict[str, Any]]
CASES = pytest.mark.parametrize(
    ("version", "index", "order", "partitioned"),
    [
        (8, "SIMPLE", "event", True),
        (9, "BLOOM", "event", True),
        long_case(8, "BLOOM", "commit", False),
        long_case(9, "SIMPLE", "commit", True),
        long_case(8, "BLOOM", "event", False),
        long_case(9, "SIMPLE", "event", False),
    ],
)


def rows(numbers: Iterable[int], word: str, ts: int | None = None) -> Rows:
    def row(number: int) -> dict[str, Any]:
        return {"id": f"k{number:03}", "ts": number % 10 if ts is None else ts, "v": word, "p": "ab"[number % 2]}

    return [row(number) for number in numbers]


WRITES: list[tuple[str, Rows]] = [
    ("bulk_insert", rows(range(200), "first", 5)),
    ("upsert", rows(range(20, 120, 3), "second")),
    ("delete", rows(range(30, 150, 7), "gone")),
    ("upsert", rows(range(150, 130, -2), "third", 9)),
]


def shown(read: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in COLUMNS) for row in read)


def options_of(index: str, order: str, partitioned: bool) -> dict[str, str]:
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.index.type": index,
        "hoodie.metadata.enable": "false",
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.bulkinsert.shuffle.parallelism": "1",
        "hoodie.upsert.shuffle.parallelism": "1",
        "hoodie.compact.inline": "false",
        **ORDERS[order],
    }
    if partitioned:
        return options | {"hoodie.datasource.write.partitionpath.field": "p"}
    return options | {"hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator"}


def check_short_cut(table: HudiTable, *, partitioned: bool) -> None:
    """Every block has true positions, by which the same rows are replaced as by keys."""
    blocks = blocks_of(table)
    assert len(blocks) == (5 if partitioned else 3) and all(block.rows for block in blocks)
    assert effects(table) == effects(table, BY_KEY)


@CASES
def test_what_real_hudi_writes(
    version: int, index: str, order: str, partitioned: bool, hudi_peer: Callable[[int], HudiPeer], tmp_path: Path
) -> None:
    peer, path, options = hudi_peer(version), tmp_path / "t", options_of(index, order, partitioned)
    for number, (operation, written) in enumerate(WRITES):
        own = {**options, "hoodie.datasource.write.operation": operation, "hoodie.write.table.version": str(version)}
        peer.write(path, written, DDL, own, "append" if number else "overwrite")
    table = HudiTable.open(path)
    check_short_cut(table, partitioned=partitioned)
    assert shown(table.scan(selected_fields=COLUMNS).to_arrow().to_pylist()) == shown(peer.read(path, COLUMNS))


@CASES
def test_what_real_hudi_reads(
    version: int, index: str, order: str, partitioned: bool, hudi_peer: Callable[[int], HudiPeer], tmp_path: Path
) -> None:
    peer, path, options = hudi_peer(version), tmp_path / "t", options_of(index, order, partitioned)
    table = HudiTable.create(
        path,
        name="t",
        table_type="MERGE_ON_READ",
        record_keys=["id"],
        partition_fields=["p"] if partitioned else [],
        ordering_fields=["ts"] if order == "event" else [],
        version=version,
    )
    own = {
        key: options[key] for key in ("hoodie.index.type", "hoodie.metadata.enable", "hoodie.parquet.small.file.limit")
    }
    for operation, written in WRITES:
        write = {"bulk_insert": table.bulk_insert, "upsert": table.upsert, "delete": table.delete}[operation]
        write(pa.Table.from_pylist(written, SCHEMA), options=own)
    check_short_cut(table, partitioned=partitioned)
    wanted = shown(table.scan(selected_fields=COLUMNS).to_arrow().to_pylist())
    assert len(wanted) == 200 - len(WRITES[2][1]) + len(
        {r["id"] for r in WRITES[3][1]} & {r["id"] for r in WRITES[2][1]}
    )
    for how in ({}, BY_KEY, {"hoodie.merge.use.record.positions": "true"}):
        assert shown(peer.read(path, COLUMNS, how)) == wanted
    compacts = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    last = {**options, **compacts, "hoodie.datasource.write.operation": "upsert"}
    more = rows([0, 77], "fourth", 9)
    peer.write(path, more, DDL, {**last, "hoodie.write.table.version": str(version)})
    compacted = HudiTable.open(path)
    assert any(instant.action == "commit" for instant in compacted.timeline.write_instants())
    changed = [row for row in wanted if row[0] not in ("k000", "k077")] + shown(more)
    assert shown(compacted.scan(selected_fields=COLUMNS).to_arrow().to_pylist()) == sorted(changed)
    assert shown(peer.read(path, COLUMNS)) == sorted(changed)
