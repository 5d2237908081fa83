"""Real Hudi goes on where we made a table and archived its instants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudi_hive.table import MetaClient, TableDefinition, create_table
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline.archival import archive
from integration.support.hudi_peer import HudiPeer
from tests.support.fixture_tables import VERSIONS
from tests.support.running.long import long_case

pytestmark = pytest.mark.jvm

KEEP = {
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "4",
    "hoodie.clean.commits.retained": "2",
    "hoodie.cleaner.commits.retained": "2",
    "hoodie.commits.archival.batch": "1",
}
NEVER = {"hoodie.archive.automatic": "false", "hoodie.clean.automatic": "false"}


def options(name: str, version: int, **more: str) -> dict[str, str]:
    return {
        "hoodie.table.name": name,
        "hoodie.write.table.version": str(version),
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.metadata.enable": "false",
        **more,
    }


@pytest.mark.parametrize("version", [long_case(version) for version in VERSIONS])
def test_hudi_writes_into_our_table_and_archives_behind_us(
    version: int, hudi_peer: Callable[[int], HudiPeer], tmp_path: Path
) -> None:
    peer = hudi_peer(version)
    path = tmp_path / "t"
    create_table(
        path,
        TableDefinition(
            name="t",
            version=version,
            record_keys=["id"],
            partition_fields=["p"],
            ordering_fields=["ts"],
            hive_style_partitioning=True,
        ),
    )

    def write(number: int, more: dict[str, str]) -> None:
        rows = [{"id": f"k{number % 3}", "v": number, "ts": number, "p": "x"}]
        peer.write(path, rows, "id string, v long, ts long, p string", options("t", version, **more))

    def expected(count: int) -> list[dict[str, object]]:
        newest = {f"k{number % 3}": number for number in range(count)}
        return [{"id": key, "v": value} for key, value in sorted(newest.items())]

    for number in range(4):
        write(number, NEVER)
    before = {i.requested for i in MetaClient.load(path).timeline.completed()}
    report = archive(MetaClient.load(path), min_commits=2, max_commits=3)
    assert len(report.archived) == 2
    assert sorted(peer.read(path, ["id", "v"]), key=lambda row: row["id"]) == expected(4)
    for number in range(4, 8):
        write(number, KEEP)
    assert sorted(peer.read(path, ["id", "v"]), key=lambda row: row["id"]) == expected(8)
    timeline = MetaClient.load(path).timeline
    archived = {i.requested for i in timeline.archived().instants if i.is_completed}
    assert len(archived) > len(report.archived), "Hudi archived nothing of its own"
    assert {i.requested for i in report.archived} <= archived
    assert before <= archived | {i.requested for i in timeline.completed()}
    rows = HudiTable.open(path).scan().to_arrow().select(["id", "v"]).to_pylist()
    assert sorted(rows, key=lambda row: row["id"]) == expected(8)
    archive(MetaClient.load(path), min_commits=1, max_commits=2)
    rows = HudiTable.open(path).scan().to_arrow().select(["id", "v"]).to_pylist()
    assert sorted(rows, key=lambda row: row["id"]) == expected(8)
