"""Expression indexes of texts beside real Hudi 1.1.1: the same entries, and each goes on where the other is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from integration.support.hudi_peer import HudiPeer
from tests.support.column_indexes import refuse_differences
from tests.support.running.long import long_case

pytestmark = pytest.mark.jvm

_DDL = "id string, ts long, born string, epoch string, day string"
_BORN = {
    "d1": ("2019-03-01", "2019-12-31 23:59:59", "nothing", "2019-6"),
    "d2": ("2021-01-01T00:00:00Z", "2021-01-01 01:30:00+02:00", " 2021 ", "2021-02-30"),
    "d3": ("", "x", "2024-13-01", "24-01-01"),
    "d4": ("2023-05-06 07:08:09.123456789 UTC", "2023-05-06 24:00:00", "2023-05-06x", "2023-05-06 x"),
}
_INDEXES = {
    "y": ("born", {"expr": "year"}),
    "h": ("born", {"expr": "hour"}),
    "ym": ("born", {"expr": "date_format", "format": "yyyy-MM"}),
    "later": ("born", {"expr": "date_add", "days": "3"}),
    "at": ("born", {"expr": "to_timestamp"}),
    "on": ("born", {"expr": "to_date"}),
    "u": ("epoch", {"expr": "from_unixtime", "format": "yyyy-MM-dd"}),
}
_BESIDE_YEAR = ("h", "ym", "later", "at", "on")
"""Indexes of the same column as that of years, whose results Hudi's own data skipping takes for years, and fails."""

_CONDITIONS = {
    "year(born) = 2019": "d1",
    "year(born) > 2022": "d4",
    "hour(born) = 7": "d1 d2 d4",
    "date_format(born, 'yyyy-MM') = '2020-12'": "d2",
    "date_add(born, 3) < DATE '2020-01-01'": "d1",
    "from_unixtime(epoch, 'yyyy-MM-dd') = '1970-01-03'": "d3",
}
"""Conditions, and the partitions of the only files that they leave."""


def _rows(ts: int, born: dict[str, tuple[str, ...]] = _BORN) -> list[dict[str, Any]]:
    return [
        {"id": f"{day}-{at}", "ts": ts, "born": text, "epoch": str(86_400 * int(day[1:]) - 86_400), "day": day}
        for day, texts in born.items()
        for at, text in enumerate(texts)
    ]


def _values(rows: list[dict[str, Any]]) -> str:
    return ", ".join("('{id}', {ts}, '{born}', '{epoch}', '{day}')".format(**row) for row in rows)


def _entries(path: Path) -> dict[str, list[dict[str, Any]]]:
    """What stands in each index of statistics, but for sizes."""
    table = HudiTable.open(path)
    reader = table.metadata.reader
    made = {}
    for name, (column, _) in _INDEXES.items():
        stats = reader.expression_stats(f"expr_index_{name}", column, list(_BORN))
        columns = ("file_name", "min", "max", "value_count", "null_count")
        made[name] = sorted(stats.select(columns).to_pylist(), key=lambda row: str(row["file_name"]))
    return made


def _check_queries(path: Path, peer: HudiPeer) -> None:
    """Conditions give the rows that Hudi gives without any index, from the files that can hold them."""
    table = HudiTable.open(path)
    peer.sql("SET hoodie.enable.data.skipping = false")
    for condition, days in _CONDITIONS.items():
        wanted = peer.sql(f"SELECT id FROM born WHERE {condition} ORDER BY id")
        scan = table.scan(row_filter=condition)
        assert sorted(scan.to_arrow().column("id").to_pylist()) == [row["id"] for row in wanted], condition
        assert set(scan.plan().slices.column("partition").to_pylist()) == set(days.split()), condition
    peer.sql("RESET hoodie.enable.data.skipping")


@pytest.mark.parametrize("kind", [long_case("cow"), "mor"])
def test_hudi_and_we_keep_indexes_of_texts(kind: str, hudi_peer: Callable[[int], HudiPeer], tmp_path: Path) -> None:
    peer, path = hudi_peer(9), tmp_path / "born"
    peer.sql(
        f"CREATE TABLE born ({_DDL}) USING hudi TBLPROPERTIES (primaryKey = 'id', type = '{kind}', "
        "preCombineField = 'ts', 'hoodie.datasource.write.hive_style_partitioning' = 'false', "
        "'hoodie.clean.automatic' = 'false') "
        f"PARTITIONED BY (day) LOCATION '{path}'"
    )
    try:
        peer.sql(f"INSERT INTO born VALUES {_values(_rows(1))}")
        peer.sql("SET hoodie.write.lock.provider = org.apache.hudi.client.transaction.lock.InProcessLockProvider")
        for name, (column, options) in _INDEXES.items():
            listed = ", ".join(f"{key} = '{value}'" for key, value in options.items())
            peer.sql(f"CREATE INDEX {name} ON born USING column_stats ({column}) OPTIONS ({listed})")
        refuse_differences(path)
        _check_queries(path, peer)
        _compare_entries(path, tmp_path / "ours")
        for name in _BESIDE_YEAR:
            HudiTable.open(path).metadata.delete([f"expr_index_{name}"])

        moved = {"d1": ("2018-01-01", "2018-02-02T03:04:05Z"), "d4": ("2023", "none")}
        HudiTable.open(path).upsert(pa.Table.from_pylist(_rows(2, moved)), {"hoodie.clean.automatic": "false"})
        refuse_differences(path)
        peer.sql("REFRESH TABLE born")
        rows = peer.sql("SELECT id, born FROM born WHERE year(born) IN (2018, 2023) ORDER BY id")
        assert [row["id"] for row in rows] == ["d1-0", "d1-1", "d4-0", "d4-3"]

        peer.sql("UPDATE born SET born = '2030-01-01 05:06:07', ts = 3 WHERE id = 'd3-1'")
        refuse_differences(path)
        for side in (peer.sql("SELECT id FROM born WHERE year(born) = 2030"), _ids(path, "year(born) = 2030")):
            assert side == [{"id": "d3-1"}]
        HudiTable.open(path).upsert(pa.Table.from_pylist(_rows(4, {"d3": ("2031-01-01",)})))
        refuse_differences(path)
        assert _ids(path, "year(born) > 2030") == [{"id": "d3-0"}]
        peer.sql(f"INSERT INTO born VALUES {_values(_rows(5, {'d2': ('2040-01-01 00:00:00', '')}))}")
        rows = peer.sql("SELECT id FROM born WHERE year(born) > 2030 ORDER BY id")
        assert rows == [{"id": "d2-0"}, {"id": "d3-0"}]
    finally:
        peer.sql("RESET hoodie.write.lock.provider")
        peer.sql("DROP TABLE born")


def _ids(path: Path, condition: str) -> list[dict[str, Any]]:
    return HudiTable.open(path).scan(row_filter=condition, selected_fields=["id"]).to_arrow().to_pylist()


def _compare_entries(path: Path, copy: Path) -> None:
    """The indexes that we make of the same files hold what Hudi's do."""
    shutil.copytree(path, copy)
    table = HudiTable.open(copy)
    for name in _INDEXES:
        table.metadata.delete([f"expr_index_{name}"])
    for name, (column, options) in _INDEXES.items():
        table.metadata.create_index(name, column, "column_stats", options)
    assert _entries(copy) == _entries(path)
