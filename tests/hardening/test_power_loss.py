"""A commit that was acknowledged outlasts a loss of power on a local disk, and one that was not is undone whole.

A few losses, the last flush of each write among them, and in a long run at every flush.
"""

from __future__ import annotations

import itertools
import os
import shutil
from contextlib import suppress

import pytest

from hudi_hive import HudiTable
from tests.support.faults.power_loss import Disk, PowerLoss
from tests.support.faults.step_faults import ACTS, OPTIONS
from tests.support.faults.write_acts import PROBE, rows
from tests.support.faults.write_faults import check_tidy, rows_of, with_row
from tests.support.running.long import with_long_cases

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
QUICK = [
    ("upsert", COW, 8, "several"),
    ("insert", MOR, 6, "services"),
    ("mutation", MOR, 9, "services"),
]
CASES = list(itertools.product(ACTS, (COW, MOR), (6, 8, 9), OPTIONS))


def table_at(path, kind, version, options):
    made = {"table_type": kind, "version": version, "record_keys": ["id"], "partition_fields": ["part"]}
    table = HudiTable.create(path, name="t", ordering_fields=["ts"], **made)
    table.upsert(rows(1, "a", "b", "cc", "dd"), options)
    table.upsert(rows(2, "a", "cc"), options)
    return table


@pytest.mark.parametrize(("act", "kind", "version", "name"), with_long_cases(QUICK, CASES))
def test_acknowledged_writes_outlast_a_loss_of_power(act, kind, version, name, thorough, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    options = OPTIONS[name]
    table_at(tmp_path / "t", kind, version, options)
    before = rows_of(tmp_path / "t")
    whole = tmp_path / "whole"
    shutil.copytree(tmp_path / "t", whole)
    disk = Disk(whole)
    monkeypatch.setattr(os, "fsync", disk.fsync)
    assert not ACTS[act](whole, options).failed
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    after = rows_of(whole)
    check(disk, tmp_path / "acknowledged", [after], options)
    points = range(len(disk.flushes)) if thorough else sorted({len(disk.flushes) // 3, len(disk.flushes) - 1})
    for at in points:
        copy = tmp_path / f"copy{at}"
        shutil.copytree(tmp_path / "t", copy)
        broken = Disk(copy, at)
        monkeypatch.setattr(os, "fsync", broken.fsync)
        with suppress(PowerLoss):
            ACTS[act](copy, options)
        monkeypatch.setattr(os, "fsync", lambda descriptor: None)
        try:
            check(broken, tmp_path / f"lost{at}", [before, after], options)
        except Exception as error:
            error.add_note(f"the power failed at flush {at} of {len(disk.flushes)}: {disk.flushes[at]}")
            raise


def check(disk, path, expected, options):
    """Rows are those of one of some states, by folders and by the metadata table, and the next write goes well."""
    disk.after_power_loss(path)
    disk.close()
    for beat in (path / ".hoodie/.heartbeat").glob("*"):
        os.utime(beat, (0, 0))  # a machine that starts again has other processes
    if (path / ".hoodie/lock").exists():
        os.unlink(path / ".hoodie/lock")  # this process lives, and is that of the lock
    found = rows_of(path, metadata=False)
    assert found in expected and rows_of(path) == found
    HudiTable.open(path).upsert(rows(9, "probe").set_column(1, "part", [["x"]]), options)
    state = next(rows_ for rows_ in expected if rows_ == found)
    probe = {**PROBE, "value": "probe 9", "ts": 9}
    assert [r["id"] for r in rows_of(path)] == [r["id"] for r in with_row(state, probe)]
    check_tidy(path)


@pytest.mark.parametrize("version", [6, 8])
def test_what_is_flushed_before_an_acknowledgement(version, tmp_path, monkeypatch):
    """Files, then the completed file, then its name; a new table's folders up to the root."""
    root = tmp_path / "lake"
    root.mkdir()
    disk = Disk(root)
    monkeypatch.setattr(os, "fsync", disk.fsync)
    made = {"version": version, "record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
    table = HudiTable.create(root / "db" / "t", name="t", **made)
    assert disk.flushes[-1] == "db/t/.hoodie" and {".", "db", "db/t"} <= set(disk.flushes)
    assert HudiTable.open(disk.after_power_loss(tmp_path / "made") / "db/t").partitions() == []
    disk.flushes.clear()
    report = table.insert(rows(1, "a", "bb"), {"hoodie.metadata.enable": "false"})
    timeline = "db/t/.hoodie" + ("/timeline" if version == 8 else "")
    paths = [f"db/t/{path}" for path in report.statuses["path"].to_pylist()]
    completed = max(at for at, path in enumerate(disk.flushes) if path == timeline)
    for path in (*paths, *map(os.path.dirname, paths)):
        assert disk.flushes.index(path) < completed
    # Two partitions: metafiles, files and folders; the inflight name; the completed file's bytes and name.
    assert len([path for path in disk.flushes if "heartbeat" not in path]) == 13, disk.flushes


def test_the_cost_of_flushing(tmp_path, monkeypatch):
    """Flushes of an upsert of one row with a metadata table do not grow with the table."""
    counts = []
    table = HudiTable.create(tmp_path / "t", name="t", record_keys=["id"], ordering_fields=["ts"], version=8)
    options = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    for step in range(6):
        disk = Disk(tmp_path / "t")
        monkeypatch.setattr(os, "fsync", disk.fsync)
        table.upsert(rows(step, "a"), options)
        counts.append(len(disk.flushes))
    assert len(set(counts[1:])) == 1 and counts[1] <= 16, counts
