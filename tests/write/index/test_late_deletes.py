"""Deletes that are older than their record leave it where it is, and the record index knows it still."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable

_INDEXED = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"}
_PAYLOAD = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
_HISTORY = [
    ("upsert", 10, [("a", 10)]),
    ("delete", 5, [("a", 10)]),
    ("upsert", 20, [("a", 20)]),
    ("delete", 15, [("a", 20)]),
    ("upsert", 18, [("a", 20)]),
    ("delete", 25, []),
    ("upsert", 30, [("a", 30)]),
    ("delete", 30, []),
]
"""What is done to the key, with which ordering value, and the rows that it then has; ``b`` has one throughout."""


@pytest.mark.parametrize("kind", ["RECORD_INDEX", "SIMPLE", "BLOOM"])
@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_delete_that_comes_late_changes_nothing(version: int, kind: str, tmp_path: Path) -> None:
    mode = {"payload_class": _PAYLOAD} if version == 6 else {"merge_mode": "EVENT_TIME_ORDERING"}
    path = tmp_path / "t"
    HudiTable.create(
        path,
        name="t",
        record_keys=["id"],
        ordering_fields=["ts"],
        table_type="MERGE_ON_READ",
        version=version,
        **mode,
    ).upsert(_rows("b", 1, deleted=False), options=_INDEXED)
    if version == 6:  # there a delete takes a row of a base file whatever its ordering value is
        HudiTable.open(path).upsert(_rows("a", 0, deleted=False), options=_INDEXED)
    for what, ts, expected in _HISTORY:
        options = {**_INDEXED, "hoodie.index.type": kind}
        HudiTable.open(path).upsert(_rows("a", ts, deleted=what == "delete"), options=options)
        rows = HudiTable.open(path).scan().to_arrow().select(["id", "ts"]).to_pylist()
        assert sorted((row["id"], row["ts"]) for row in rows) == [*expected, ("b", 1)]


def test_one_of_several_ordering_values_may_be_zero(tmp_path: Path) -> None:
    path = tmp_path / "t"
    HudiTable.create(
        path,
        name="t",
        record_keys=["id"],
        ordering_fields=["ts", "step"],
        table_type="MERGE_ON_READ",
        version=9,
        merge_mode="EVENT_TIME_ORDERING",
    )
    for ts, step, deleted in ((10, 1, False), (5, 0, True), (20, 0, False)):
        rows = _rows("a", ts, deleted=deleted).append_column("step", pa.array([step], pa.int32()))
        HudiTable.open(path).upsert(rows, options={**_INDEXED, "hoodie.index.type": "RECORD_INDEX"})
    assert HudiTable.open(path).scan().to_arrow()["ts"].to_pylist() == [20]


def _rows(key: str, ts: int, *, deleted: bool) -> pa.Table:
    return pa.table({"id": [key], "ts": pa.array([ts], pa.int64()), "_hoodie_is_deleted": [deleted]})
