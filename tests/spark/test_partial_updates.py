"""Which tables may have log blocks of some columns alone: those whose readers of real Hudi put them together."""

from __future__ import annotations

import pytest

from hudi_hive.spark.write.row_changes import takes_partial_updates
from hudi_hive.table import TableConfig


@pytest.mark.parametrize(
    ("version", "mode", "further", "takes"),
    [
        ("6", "EVENT_TIME_ORDERING", {}, False),
        ("8", "event_time_ordering", {}, True),
        ("8", "COMMIT_TIME_ORDERING", {}, False),  # which real Hudi 1.0.2 writes, and cannot read
        ("9", "COMMIT_TIME_ORDERING", {}, True),
        ("9", "EVENT_TIME_ORDERING", {"hoodie.table.type": "COPY_ON_WRITE"}, False),
        ("9", "EVENT_TIME_ORDERING", {"hoodie.populate.meta.fields": "false"}, False),
        ("9", "EVENT_TIME_ORDERING", {"hoodie.table.cdc.enabled": "true"}, False),
    ],
)
def test_tables_with_partial_updates_in_logs(version, mode, further, takes):
    properties = {
        "hoodie.table.name": "t",
        "hoodie.table.version": version,
        "hoodie.timeline.layout.version": "1" if version == "6" else "2",
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.record.merge.mode": mode,
    }
    assert takes_partial_updates(TableConfig.from_properties(properties | further)) is takes
