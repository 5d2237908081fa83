"""Expression indexes of regular expressions beside real Hudi: the same entries, and each goes on where the other is."""

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
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm

_TEXTS = {
    "a": ("ab-1", "ab-2\n", "cab-3\r\n"),
    "c": ("cd-4x", "😀cd-5", "-"),
    "e": ("ef", "éf-60", "ef-7 ef-8"),
}
_INDEXES = {
    "word": ("column_stats", {"expr": "regexp_extract", "pattern": "([a-z]+)-", "idx": "1"}),
    "number": ("column_stats", {"expr": "regexp_extract", "pattern": "-([0-9]+)$", "idx": "1"}),
    "bare": ("column_stats", {"expr": "regexp_replace", "pattern": "[^0-9]+", "replacement": "<$0>"}),
    "letters": ("bloom_filters", {"expr": "regexp_replace", "pattern": "([^a-z])", "replacement": "$1."}),
}
_CONDITIONS = {
    "regexp_extract(s, '([a-z]+)-', 1) = 'ef'": "e",
    "regexp_extract(s, '-([0-9]+)$', 1) > '5'": "e",
    "regexp_replace(s, '[^0-9]+', '<$0>') = '<-'": "",
    "regexp_replace(s, '([^a-z])', '$1.') = 'ab-.1.'": "a",
}
"""Conditions, and the partitions that alone have a row that passes."""


def _rows(ts: int, texts: dict[str, tuple[str, ...]] = _TEXTS) -> list[dict[str, Any]]:
    return [
        {"id": f"{part}{at}", "ts": ts, "s": text, "part": part}
        for part, each in texts.items()
        for at, text in enumerate(each)
    ]


def _values(rows: list[dict[str, Any]]) -> str:
    escaped = [{**row, "s": row["s"].replace("\n", "\\n").replace("\r", "\\r")} for row in rows]
    return ", ".join("('{id}', {ts}, '{s}', '{part}')".format(**row) for row in escaped)


def _create_index(peer: HudiPeer, name: str) -> None:
    kind, options = _INDEXES[name]
    listed = ", ".join(f"{key} = '{value}'" for key, value in options.items())
    peer.sql(f"CREATE INDEX {name} ON matched USING {kind} (s) OPTIONS ({listed})")


def _entries(path: Path, name: str) -> list[dict[str, Any]]:
    """What stands in an index, but for sizes and when it was written."""
    reader = HudiTable.open(path).metadata.reader
    if _INDEXES[name][0] == "column_stats":
        table = reader.expression_stats(f"expr_index_{name}", "s", list(_TEXTS))
        table = table.select(["file_name", "min", "max", "value_count", "null_count"])
    else:
        names = HudiTable.open(path).scan().plan().slices.select(["partition", "base_file"]).to_pylist()
        filters = [reader.bloom_filters(row["partition"], [row["base_file"]], f"expr_index_{name}") for row in names]
        table = pa.concat_tables(filters).select(["file_name", "type", "filter"])
    return sorted(table.to_pylist(), key=lambda row: str(row["file_name"]))


def _check_queries(path: Path, peer: HudiPeer) -> None:
    """Conditions give the rows that Hudi gives without any index, from no file that cannot hold them."""
    peer.sql("SET hoodie.enable.data.skipping = false")
    for condition, parts in _CONDITIONS.items():
        expected = peer.sql(f"SELECT id FROM matched WHERE {condition} ORDER BY id")
        scan = HudiTable.open(path).scan(row_filter=condition)
        assert sorted(scan.to_arrow().column("id").to_pylist()) == [row["id"] for row in expected], condition
        assert {row["id"][0] for row in expected} == set(parts), condition
        assert scan.plan().slices.num_rows < len(_TEXTS), condition
    peer.sql("RESET hoodie.enable.data.skipping")


@pytest.mark.parametrize("version", with_long_cases((9,), (8,)))
def test_hudi_and_we_keep_indexes_of_regular_expressions(
    version: int, hudi_peer: Callable[[int], HudiPeer], tmp_path: Path
) -> None:
    peer, path = hudi_peer(version), tmp_path / "matched"
    peer.sql(
        "CREATE TABLE matched (id string, ts long, s string, part string) USING hudi "
        "TBLPROPERTIES (primaryKey = 'id', type = 'cow', preCombineField = 'ts', 'hoodie.clean.automatic' = 'false', "
        f"'hoodie.datasource.write.hive_style_partitioning' = 'false') PARTITIONED BY (part) LOCATION '{path}'"
    )
    try:
        peer.sql(f"INSERT INTO matched VALUES {_values(_rows(1))}")
        peer.sql("SET hoodie.write.lock.provider = org.apache.hudi.client.transaction.lock.InProcessLockProvider")
        for name in _INDEXES:
            _create_index(peer, name)
        assert len(refuse_differences(path)) == len(_INDEXES)
        _check_queries(path, peer)

        # What we make of the same files is what Hudi made.
        shutil.copytree(path, tmp_path / "ours")
        for name, (kind, options) in _INDEXES.items():
            HudiTable.open(tmp_path / "ours").metadata.delete([f"expr_index_{name}"])
            HudiTable.open(tmp_path / "ours").metadata.create_index(name, "s", kind, options)
            assert _entries(tmp_path / "ours", name) == _entries(path, name), name

        moved = {"a": ("zz-9", "no"), "e": ("ab-1",)}
        HudiTable.open(path).upsert(pa.Table.from_pylist(_rows(2, moved)), {"hoodie.clean.automatic": "false"})
        assert len(refuse_differences(path)) == len(_INDEXES)
        peer.sql("REFRESH TABLE matched")
        for condition, ids in {
            "regexp_extract(s, '([a-z]+)-', 1) = 'zz'": ["a0"],
            "regexp_extract(s, '-([0-9]+)$', 1) IN ('1', '60')": ["e0", "e1"],
        }.items():
            assert [row["id"] for row in peer.sql(f"SELECT id FROM matched WHERE {condition} ORDER BY id")] == ids

        peer.sql("UPDATE matched SET s = 'yy-77', ts = 3 WHERE id = 'c1'")
        assert len(refuse_differences(path)) == len(_INDEXES)
        condition = "regexp_extract(s, '([a-z]+)-', 1) = 'yy'"
        rows = HudiTable.open(path).scan(row_filter=condition, selected_fields=["id"]).to_arrow().to_pylist()
        assert rows == peer.sql(f"SELECT id FROM matched WHERE {condition}") == [{"id": "c1"}]
        HudiTable.open(path).upsert(pa.Table.from_pylist(_rows(4, {"c": ("xx-8",)})))
        assert len(refuse_differences(path)) == len(_INDEXES)
        peer.sql(f"INSERT INTO matched VALUES {_values(_rows(5, {'w': ('ww-10',)}))}")
        assert peer.sql("SELECT count(*) AS n FROM matched") == [{"n": 10}]
    finally:
        peer.sql("RESET hoodie.write.lock.provider")
        peer.sql("DROP TABLE matched")
