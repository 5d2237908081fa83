"""Upgrades and downgrades of tables that real Hudi wrote: rows stay at each moment, what was killed is repaired."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError, InvalidOptionError, UnsupportedTableError, WriteError
from hudi_hive.formats import parse_properties
from hudi_hive.table import TableConfig
from hudi_hive.table.merge import merge_changes
from tests.support.faults.write_faults import count_calls, kill_points, killed
from tests.support.faults.write_sweep import evenly
from tests.support.fixture_tables import unzip_fixture
from tests.support.running.long import long_case, with_long_cases

CHANGES = with_long_cases(
    [
        ("v6_cow_archived", 9),
        ("v6_mor_event_time", 8),
        ("v6_mor_part_rli", 5),
        ("v8_cow_custom_keygen", 6),
        ("v9_cow_schema_evo", 8),
    ],
    [
        (f"v{version}_{case}", to)
        for version, targets in ((6, (5, 8, 9)), (8, (6, 9)), (9, (6, 8)))
        for to in targets
        for case in (
            *("cow_nonpart", "cow_part_mdt", "cow_archived", "cow_cdc", "cow_custom_keygen", "cow_schema_evo"),
            *("mor_event_time", "mor_commit_time", "mor_part_rli", "mor_rollback", "mor_log_compaction"),
            *("mor_crash_mdt", "cow_crash_leftover", "cow_virtual_keys", "mor_types"),
        )
    ],
)
KILLS = [("v6_mor_event_time", 9), long_case("v6_cow_archived", 8), long_case("v9_cow_part_mdt", 6)]


def rows(path: Path, **query: object) -> list[str]:
    table = HudiTable.open(path).scan(**query).to_arrow()  # type: ignore[arg-type]
    names = [name for name in table.column_names if name != "_hoodie_file_name"]
    return sorted(map(repr, table.select(names).to_pylist()))


def change(path: Path, to: int) -> None:
    table = HudiTable.open(path)
    (table.upgrade if to >= table.version else table.downgrade)(to)


def properties(path: Path) -> dict[str, str]:
    return dict(parse_properties((path / ".hoodie/hoodie.properties").read_bytes()))


def check_tidy(path: Path, version: int) -> None:
    """One timeline is there, and no metadata table that the properties do not name."""
    names = {entry.name for entry in (path / ".hoodie").iterdir()}
    assert ("timeline" in names) == (version >= 8)
    assert not ({"metadata", "hoodie.properties.backup"} & names)
    assert any(name[:1].isdigit() for name in names) == (version < 8)


@pytest.mark.parametrize(("name", "to"), CHANGES)
def test_rows_stay(name: str, to: int, tmp_path: Path) -> None:
    path = unzip_fixture(name, tmp_path)
    before = rows(path)
    change(path, to)
    assert HudiTable.open(path).version == to
    assert rows(path) == before
    check_tidy(path, to)
    change(path, to)  # nothing is left to do
    assert rows(path) == before


def test_savepoints_of_merge_on_read_tables_hold_the_layout(tmp_path: Path) -> None:
    path = unzip_fixture("v9_mor_parquet_log_rollback", tmp_path)
    before = rows(path)
    with pytest.raises(UnsupportedTableError, match="savepoint"):
        change(path, 6)
    assert HudiTable.open(path).version == 9 and rows(path) == before


@pytest.mark.parametrize(("name", "to"), KILLS)
def test_a_change_that_was_killed_is_repaired_by_the_same_call(
    name: str, to: int, tmp_path: Path, thorough: bool
) -> None:
    table = unzip_fixture(name, tmp_path)
    before, counted = rows(table), tmp_path / "counted"
    shutil.copytree(table, counted)
    calls = count_calls(partial(change, to=to), counted)
    points = kill_points(calls)
    # The last ones leave a table of the version that was asked for, and what is to be tidied up.
    chosen = points if thorough else sorted({*evenly(points, 4), *points[-8::3]})
    for at, torn in chosen:
        copy = tmp_path / f"{at}{torn}"
        shutil.copytree(table, copy)
        where = f"call {at} of {len(calls)}, {calls[at]}{' half-way' if torn else ''}"
        assert killed(partial(change, to=to), copy, at, torn=torn), where
        assert rows(copy) == before, where
        change(copy, to)
        assert rows(copy) == before, where
        assert HudiTable.open(copy).version == to, where
        check_tidy(copy, to)
        shutil.rmtree(copy)


def test_ranges_reach_into_the_archive_as_before(tmp_path: Path) -> None:
    path = unzip_fixture("v6_cow_archived", tmp_path)
    due = rows(path, begin="000")
    change(path, 8)
    assert rows(path, begin="000") == due
    change(path, 6)
    assert rows(path, begin="000") == due


def test_the_past_of_merge_on_read_tables_is_refused_in_the_other_layout(tmp_path: Path) -> None:
    for name, to in (("v8_mor_event_time", 6), ("v6_mor_event_time", 8)):
        path = unzip_fixture(name, tmp_path)
        times = [instant.requested for instant in HudiTable.open(path).timeline.write_instants()]
        change(path, to)
        for time in times:
            with pytest.raises(HudiHiveError):
                rows(path, as_of=time)


def test_log_files_of_ours_from_before_a_downgrade_are_those_of_their_commits(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = HudiTable.create(path, name="t", version=8, record_keys=["id"], table_type="MERGE_ON_READ")
    for value in range(3):
        table.upsert(pa.table({"id": ["a"], "value": [value]}))
    before = rows(path)
    change(path, 6)
    assert rows(path) == before
    assert len(rows(path, begin="000")) == 1


def test_properties_go_and_come_back(tmp_path: Path) -> None:
    path = unzip_fixture("v6_mor_event_time", tmp_path)
    first = properties(path)
    change(path, 9)
    ninth = properties(path)
    assert ninth["hoodie.record.merge.mode"] == "EVENT_TIME_ORDERING"
    assert ninth["hoodie.table.ordering.fields"] == first["hoodie.table.precombine.field"]
    assert (ninth["hoodie.table.initial.version"], ninth["hoodie.timeline.path"]) == ("6", "timeline")
    assert ninth["hoodie.table.legacy.payload.class"] == first["hoodie.compaction.payload.class"]
    change(path, 6)
    back = properties(path)
    for key in ("hoodie.table.precombine.field", "hoodie.compaction.payload.class", "hoodie.timeline.layout.version"):
        assert back[key] == first[key]


def test_writes_go_on_and_upgrade_if_asked(tmp_path: Path) -> None:
    path = unzip_fixture("v6_cow_nonpart", tmp_path)
    table = HudiTable.open(path)
    one = table.scan(limit=1).to_arrow()
    one = one.select([name for name in one.column_names if not name.startswith("_hoodie")])
    before = len(rows(path))
    with pytest.raises(InvalidOptionError, match=r"hoodie\.write\.table\.version"):
        table.upsert(one, {"hoodie.write.table.version": "9"})
    table.upsert(one, {"hoodie.write.table.version": "9", "hoodie.write.auto.upgrade": "true"})
    assert HudiTable.open(path).version == 9
    assert len(rows(path)) == before
    more = one.set_column(0, "order_id", pa.array(["new"]))
    HudiTable.open(path).upsert(more)
    assert len(rows(path)) == before + 1


def test_what_is_refused(tmp_path: Path) -> None:
    path = unzip_fixture("v8_cow_nonpart", tmp_path)
    table = HudiTable.open(path)
    for wrong in (lambda: table.upgrade(6), lambda: table.downgrade(9), lambda: table.upgrade(10)):
        with pytest.raises(InvalidOptionError):
            wrong()
    requested = path / ".hoodie/timeline/20990101000000000.commit.requested"
    requested.write_bytes(b"")
    (path / ".hoodie/timeline/20990101000000000.inflight").write_bytes(b"")
    beat = path / ".hoodie/.heartbeat/20990101000000000"
    beat.parent.mkdir(exist_ok=True)
    beat.write_bytes(b"")
    with pytest.raises(WriteError, match="not changed while it is written to"):
        change(path, 9)
    assert HudiTable.open(path).version == 8


def test_ways_of_merging_that_a_version_lacks_are_refused() -> None:
    at_9 = TableConfig.from_bytes((unzip_fixture("v9_cow_nonpart") / ".hoodie/hoodie.properties").read_bytes(), "x")
    at_8 = TableConfig.from_bytes((unzip_fixture("v8_cow_nonpart") / ".hoodie/hoodie.properties").read_bytes(), "x")
    for config, more, target, words in (
        (at_9, {"hoodie.table.ordering.fields": "a,b"}, 8, "2 ordering fields"),
        (at_9, {"hoodie.table.partial.update.mode": "IGNORE_DEFAULTS"}, 8, "partial update mode"),
        (
            at_8,
            {"hoodie.compaction.payload.class": "com.example.Mine", "hoodie.record.merge.mode": "CUSTOM"},
            9,
            "Mine",
        ),
        (at_8, {"hoodie.compaction.payload.class": "", "hoodie.record.merge.mode": "CUSTOM"}, 6, "without a payload"),
        (at_8, {"hoodie.compaction.payload.class": "", "hoodie.record.merge.mode": "DAMAGED"}, 6, "merge.mode=DAMAGED"),
        (at_8, {"hoodie.record.merge.mode": "DAMAGED"}, 9, "merge.mode=DAMAGED"),
        (at_9, {"hoodie.record.merge.mode": "DAMAGED"}, 8, "merge.mode=DAMAGED"),
    ):
        changed = TableConfig.from_properties({**config.properties, **more})
        with pytest.raises(UnsupportedTableError, match=words):
            merge_changes(changed, target)
