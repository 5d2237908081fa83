"""Real Hudi 1.1.1 beside ours on tables with rules for buckets: each goes on where the other is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.write.services import TableServices, added_rules, roll_back_rescaling
from integration.support.hudi_peer import HudiPeer
from tests.support.running.long import long_case

pytestmark = pytest.mark.jvm

_COLUMNS = ("id", "ts", "name", "day")
_DDL = "id string, ts long, name string, day string"
_DAYS = {"2024-06-01": 5, "2024-06-02": 3, "2025-01-01": 2}
_RULES = "2024-06-01,5;2024,3"
_INDEX = {
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.bucket.index.hash.field": "id",
}
_WITH_RULES = {
    **_INDEX,
    "hoodie.bucket.index.partition.expressions": _RULES,
    "hoodie.bucket.index.partition.rule.type": "regex",
}
_QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}


def _rows(ts: int, days: tuple[str, ...] = tuple(_DAYS)) -> list[dict[str, Any]]:
    return [
        {"id": f"k{number}", "ts": ts, "name": f"{ts}-{number}", "day": day} for day in days for number in range(40)
    ]


def _values(rows: list[dict[str, Any]]) -> str:
    return ", ".join("('{id}', {ts}, '{name}', '{day}')".format(**row) for row in rows)


def _check(path: Path, peer: HudiPeer, ts: dict[str, int]) -> None:
    """Both read each record once, as it was written last, from as many buckets as the rules say."""
    expected = sorted((row["day"], row["id"], row["ts"]) for day in ts for row in _rows(ts[day], (day,)))
    table = HudiTable.open(path)
    ours = table.scan(selected_fields=_COLUMNS).to_arrow().to_pylist()
    for rows in (ours, peer.read(path, _COLUMNS)):
        assert sorted((row["day"], row["id"], row["ts"]) for row in rows) == expected
    slices = table.scan().plan().slices.select(["partition", "file_id"]).to_pylist()
    buckets = sorted((one["partition"], int(one["file_id"][:8])) for one in slices)
    assert buckets == sorted((day, number) for day in ts for number in range(_DAYS[day]))


def _upsert(path: Path, rows: list[dict[str, Any]], options: dict[str, str]) -> None:
    HudiTable.open(path).write("upsert", pa.Table.from_pylist(rows), {**options, **_QUIET})


@pytest.mark.parametrize("kind", [long_case("COPY_ON_WRITE"), "MERGE_ON_READ"])
def test_rules_in_options_give_the_same_buckets(
    kind: str, hudi_peer: Callable[[int], HudiPeer], tmp_path: Path
) -> None:
    peer = hudi_peer(9)
    options = {
        "hoodie.table.name": "ruled",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "day",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.operation": "upsert",
        **_WITH_RULES,
        **_QUIET,
    }
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    peer.write(theirs, _rows(1), _DDL, options, "overwrite")
    fields: dict[str, Any] = {"record_keys": ["id"], "partition_fields": ["day"], "ordering_fields": ["ts"]}
    HudiTable.create(ours, name="ruled", table_type=kind, version=9, **fields)
    _upsert(ours, _rows(1), _WITH_RULES)
    every = dict.fromkeys(_DAYS, 1)
    for path in (theirs, ours):
        _check(path, peer, every)
        _upsert(path, _rows(2), _WITH_RULES)
        _check(path, peer, dict.fromkeys(_DAYS, 2))
        peer.write(path, _rows(3), _DDL, options)
        _check(path, peer, dict.fromkeys(_DAYS, 3))


def test_a_table_that_hudi_rescaled_is_written_by_its_own_rules(
    hudi_peer: Callable[[int], HudiPeer], tmp_path: Path
) -> None:
    peer, path = hudi_peer(9), tmp_path / "rescaled"
    properties = {"primaryKey": "id", "type": "mor", "preCombineField": "ts", **_INDEX, **_QUIET}
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    peer.sql(
        f"CREATE TABLE rescaled ({_DDL}) USING hudi TBLPROPERTIES ({listed}, "
        f"'hoodie.datasource.write.hive_style_partitioning' = 'false') PARTITIONED BY (day) LOCATION '{path}'"
    )
    peer.sql(f"INSERT INTO rescaled VALUES {_values(_rows(1))}")
    peer.sql(
        f"CALL partition_bucket_index_manager(table => 'rescaled', overwrite => '{_RULES}', rule => 'regex', "
        "bucket_number => 2, dry_run => false)"
    )
    _check(path, peer, dict.fromkeys(_DAYS, 1))
    _upsert(path, _rows(2, ("2024-06-01", "2025-01-01")), _INDEX)
    _check(path, peer, {"2024-06-01": 2, "2024-06-02": 1, "2025-01-01": 2})
    peer.sql(f"INSERT INTO rescaled VALUES {_values(_rows(3, ('2024-06-01', '2024-06-02')))}")
    _check(path, peer, {"2024-06-01": 3, "2024-06-02": 3, "2025-01-01": 2})
    peer.sql("DROP TABLE rescaled")


_CONFIGS = ".hoodie/.bucket_index/partition_bucket_index_meta/configs"


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_hudi_goes_on_with_a_table_that_was_rescaled_here(
    kind: str, hudi_peer: Callable[[int], HudiPeer], tmp_path: Path
) -> None:
    peer, path = hudi_peer(9), tmp_path / "ours"
    properties = {"primaryKey": "id", "type": kind, "preCombineField": "ts", **_INDEX, **_QUIET}
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    peer.sql(
        f"CREATE TABLE rescaled_here ({_DDL}) USING hudi TBLPROPERTIES ({listed}, "
        f"'hoodie.datasource.write.hive_style_partitioning' = 'false') PARTITIONED BY (day) LOCATION '{path}'"
    )
    peer.sql("SET hoodie.spark.sql.insert.into.operation = upsert")  # inserts to copy-on-write tables double records
    try:
        peer.sql(f"INSERT INTO rescaled_here VALUES {_values(_rows(1))}")
        peer.sql("UPDATE rescaled_here SET ts = 2, name = concat('2-', substring(id, 2)) WHERE day = '2024-06-01'")
        services = TableServices.open(HudiTable.open(path).client, {**_INDEX, **_QUIET})
        done = services.rescale_buckets(_RULES, 2)
        assert dict(done.partitions) == {"2024-06-01": 5, "2024-06-02": 3}
        _check(path, peer, {"2024-06-01": 2, "2024-06-02": 1, "2025-01-01": 1})
        assert HudiTable.open(path).metadata.validate().differences.num_rows == 0
        peer.sql("REFRESH TABLE rescaled_here")
        shown = peer.sql("CALL partition_bucket_index_manager(table => 'rescaled_here', show_config => true)")
        assert f"expressions='{_RULES}', defaultBucketNumber='2'" in shown[0]["details"]
        assert done.instant is not None and done.instant.requested in shown[0]["details"]
        peer.sql(f"INSERT INTO rescaled_here VALUES {_values(_rows(3))}")
        _check(path, peer, dict.fromkeys(_DAYS, 3))
        _upsert(path, _rows(4), _INDEX)
        _check(path, peer, dict.fromkeys(_DAYS, 4))

        peer.sql("CALL partition_bucket_index_manager(table => 'rescaled_here', add => '2025,4', dry_run => false)")
        groups = HudiTable.open(path).scan().plan().slices.select(["partition", "file_id"]).to_pylist()
        assert {int(one["file_id"][:8]) for one in groups if one["partition"] == "2025-01-01"} == {0, 1, 2, 3}
        last = max(file.stem for file in (path / _CONFIGS).glob("*.hashing_config"))
        peer.sql(f"CALL partition_bucket_index_manager(table => 'rescaled_here', rollback => '{last}')")
        _check(path, peer, dict.fromkeys(_DAYS, 4))

        services = TableServices.open(HudiTable.open(path).client, {**_INDEX, **_QUIET})
        done = services.rescale_buckets(*added_rules(services.client, "2025,4"))
        assert done.instant is not None
        roll_back_rescaling(services.context, done.instant.requested)
        peer.sql(f"INSERT INTO rescaled_here VALUES {_values(_rows(5))}")
        _check(path, peer, dict.fromkeys(_DAYS, 5))
    finally:
        peer.sql("RESET hoodie.spark.sql.insert.into.operation")
        peer.sql("DROP TABLE rescaled_here")
