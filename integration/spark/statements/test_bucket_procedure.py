"""``partition_bucket_index_manager``: what it answers, and the buckets that partitions have behind it."""

from __future__ import annotations

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError

pytestmark = pytest.mark.jvm

DAYS = ("2024-06-01", "2024-06-02", "2025-01-01")
NAME = "partition_bucket_index_manager"


def call(session, arguments):
    (row,) = session.sql(f"CALL {NAME}(table => 'ruled', {arguments})").collect()
    return tuple(row)


def buckets(path):
    slices = HudiTable.open(path).scan().plan().slices.select(["partition", "file_id"]).to_pylist()
    return {day: len([one for one in slices if one["partition"] == day]) for day in DAYS}


def test_partitions_are_rescaled_by_calls(new_session, tmp_path):
    session, path = new_session(), tmp_path / "ruled"
    session.sql(
        f"CREATE TABLE ruled (id STRING, ts BIGINT, day STRING) USING hudi PARTITIONED BY (day) LOCATION '{path}' "
        "TBLPROPERTIES (primaryKey = 'id', type = 'mor', preCombineField = 'ts', 'hoodie.index.type' = 'BUCKET', "
        "'hoodie.bucket.index.num.buckets' = '2', 'hoodie.datasource.write.hive_style_partitioning' = 'false')"
    )
    try:
        rows = ", ".join(f"('k{number}', 1, '{day}')" for day in DAYS for number in range(40))
        session.sql(f"INSERT INTO ruled VALUES {rows}")
        rules = "overwrite => '2024-06-01,5;2024,3', bucket_number => 2"
        assert call(session, "show_config => true") == ("SUCCESS", "SHOW_CONFIG", "")
        assert call(session, "dry_run => true") == ("ERROR", "INVALID_OPERATION", "No valid operation specified")
        details = "\n2024-06-01 => 5\n;\n2024-06-02 => 3\n"
        assert call(session, rules) == ("SUCCESS", "DRY_RUN_OVERWRITE", details)
        assert buckets(path) == dict.fromkeys(DAYS, 2)
        details = "Expression: 2024-06-01,5;2024,3, Bucket Number: 2, Dry Run: false"
        assert call(session, f"{rules}, dry_run => false") == ("SUCCESS", "OVERWRITE", details)
        assert buckets(path) == {"2024-06-01": 5, "2024-06-02": 3, "2025-01-01": 2}
        assert call(session, "add => '2025,4', dry_run => false")[1] == "OVERWRITE"
        session.sql("UPDATE ruled SET ts = 2")
        assert session.sql("SELECT count(*), min(ts) FROM ruled").first() == (120, 2)
        assert buckets(path) == {"2024-06-01": 5, "2024-06-02": 3, "2025-01-01": 4}
        shown = call(session, "show_config => true")[2].split(";Partition")
        assert len(shown) == 2
        assert call(session, "overwrite => '2030,2', dry_run => false, bucket_number => 3")[0] == "SUCCESS"
        last = HudiTable.open(path).client.timeline.write_instants()[-1].requested
        assert call(session, f"rollback => '{last}'") == ("SUCCESS", "ROLLBACK", f"true to rollback {last}")
        assert buckets(path) == {"2024-06-01": 5, "2024-06-02": 3, "2025-01-01": 4}
        assert session.sql("SELECT count(*), min(ts) FROM ruled").first() == (120, 2)
        with pytest.raises(InvalidOptionError, match="no rules of buckets"):
            call(session, "rollback => '20200101000000000'")
    finally:
        session.sql("DROP TABLE IF EXISTS ruled")
