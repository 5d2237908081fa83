"""The active timeline: instants of real tables, the committed test, completion times, pending services, errors."""

from __future__ import annotations

import os
import pickle
import shutil

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import (
    CorruptInstantError,
    InstantNotFoundError,
    TableNotFoundError,
    UnsafePathError,
    UnsupportedTableError,
)
from hudi_hive.storage import Storage
from hudi_hive.timeline import State, Timeline
from hudi_hive.timeline.core.timeline import (
    PENDING_CLUSTERING_SCHEMA,
    PENDING_COMPACTION_SCHEMA,
    REPLACED_GROUPS_SCHEMA,
    TIMELINE_SCHEMA,
)
from tests.support.fixture_tables import GOLDEN, expected, fixture_names, unzip_fixture

LAYOUT = {6: 1, 8: 2, 9: 2}


def load(base, **options):
    layout = options.pop("layout", None) or (2 if (base / ".hoodie/timeline").exists() else 1)
    return Timeline.load(Storage(base), layout=layout, **{"timezone": "UTC", **options})


def fixture(name):
    return load(unzip_fixture(name), layout=LAYOUT[expected(name)["table_version"]])


def as_expected(instants):
    return [
        {"requested": i.requested, "completed": i.completed, "action": i.action, "state": i.state.name}
        for i in instants
    ]


def by_text(rows):
    return sorted(rows, key=str)


def make(base, names, layout=1, data=b""):
    """A timeline folder with files of these names."""
    folder = base / (".hoodie" if layout == 1 else ".hoodie/timeline")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(data)
    return load(base, layout=layout)


# -- real tables -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", fixture_names())
def test_active_and_archived_instants_are_what_hudi_lists(name):
    timeline = fixture(name)
    assert by_text(as_expected(timeline.instants)) == by_text(expected(name)["commits"])
    assert as_expected(timeline.archived().entries) == expected(name)["archived_commits"]
    assert list(timeline.instants) == sorted(timeline.instants, key=lambda i: i.sort_key)


@pytest.mark.parametrize("name", [n for n in fixture_names() if "mdt_commits" in expected(n)])
def test_instants_of_the_metadata_table(name):
    timeline = load(unzip_fixture(name) / ".hoodie/metadata", layout=LAYOUT[expected(name)["table_version"]])
    writes = [i for i in timeline.instants if i.is_write]
    expected_rows = [row for row in expected(name)["mdt_commits"] if row["action"] in ("commit", "deltacommit")]
    assert by_text(as_expected(writes)) == by_text(expected_rows)


@pytest.mark.parametrize("name", fixture_names())
def test_write_stats_name_the_files_that_are_there(name):
    base, timeline = unzip_fixture(name), fixture(name)
    sizes = {}
    for instant in [*timeline.archived().instants, *timeline.write_instants()]:
        metadata = timeline.commit_metadata(instant)
        stats = metadata.write_stats
        assert metadata.operation != "UNKNOWN"
        assert metadata.schema is None or metadata.schema["type"] == "record"
        assert set(stats["partition"].to_pylist()) <= set(metadata.partitions_written())
        assert set(metadata.partitions_written()) <= set(metadata.partitions_touched())
        for partition, path in zip(stats["partition"].to_pylist(), stats["path"].to_pylist(), strict=True):
            assert os.path.dirname(path) == partition
        sizes.update(zip(stats["path"].to_pylist(), stats["file_size"].to_pylist(), strict=True))
    there = {path: (base / path).stat().st_size for path in sizes if (base / path).exists()}
    assert there == {path: sizes[path] for path in there}
    slices = [row for row in expected(name)["file_slices"] if row["base_file"]]
    assert {os.path.join(row["partition"], row["base_file"]) for row in slices} <= set(there)


@pytest.mark.parametrize("name", fixture_names())
def test_base_instants_of_slices_are_committed(name):
    timeline = fixture(name)
    bases = [row["base_instant"] for row in expected(name)["file_slices"]]
    assert timeline.committed_mask(pa.array(bases, pa.string())).to_pylist() == [True] * len(bases)
    assert timeline.completion_times(pa.array(bases, pa.string())).null_count == 0


@pytest.mark.parametrize("name", fixture_names("cow_crash_leftover") + fixture_names("mor_crash_mdt"))
def test_a_commit_without_its_completed_file_is_pending(name):
    timeline = fixture(name)
    (removed,) = expected(name)["removed_instant_files"]
    time = removed.split(".")[0].split("_")[0]
    (pending,) = timeline.pending()
    assert (pending.requested, pending.state) == (time, State.INFLIGHT)
    times = pa.array([time])
    assert timeline.committed_mask(times).to_pylist() == [False]
    assert timeline.completion_times(times).to_pylist() == [None]


@pytest.mark.parametrize("name", fixture_names("cow_part_mdt"))
def test_replaced_file_groups(name):
    timeline = fixture(name)
    replaced = timeline.replaced_file_groups()
    assert replaced.schema == REPLACED_GROUPS_SCHEMA
    assert replaced.num_rows > 0
    for row in replaced.to_pylist():
        instant = timeline.get(row["instant"])
        assert (instant.action, instant.completed) == ("replacecommit", row["completed"])
        metadata = timeline.commit_metadata(instant)
        assert metadata.operation in ("INSERT_OVERWRITE", "DELETE_PARTITION")
        assert row["partition"] in metadata.partitions_touched()
    live = {row["file_id"] for row in expected(name)["file_slices"]}
    assert not live & set(replaced["file_id"].to_pylist())


@pytest.mark.parametrize("name", fixture_names("cow_nonpart"))
def test_nothing_replaced_and_nothing_pending(name):
    timeline = fixture(name)
    assert timeline.replaced_file_groups().equals(REPLACED_GROUPS_SCHEMA.empty_table())
    assert timeline.pending_compactions().equals(PENDING_COMPACTION_SCHEMA.empty_table())
    assert timeline.pending_clustering().equals(PENDING_CLUSTERING_SCHEMA.empty_table())


@pytest.mark.parametrize("name", fixture_names("mor_event_time"))
def test_a_compaction_that_is_not_done_is_pending(name, tmp_path):
    base = unzip_fixture(name, tmp_path)
    done = load(base).completed({"commit"})[0]
    os.remove(base / done.path)
    timeline = load(base)
    (pending,) = timeline.pending()
    assert (pending.action, pending.comparable_action, pending.state) == ("compaction", "commit", State.INFLIGHT)
    plan = timeline.pending_compactions()
    assert plan.schema == PENDING_COMPACTION_SCHEMA
    (row,) = plan.to_pylist()
    assert row["compaction_instant"] == done.requested
    assert row["base_instant"] < done.requested
    operation = timeline.compaction_plan(pending).operations.to_pylist()[0]
    assert operation["base_file"].startswith(row["file_id"])
    assert operation["log_files"] and all(row["file_id"] in name for name in operation["log_files"])
    assert load(base).last_completed_write().action == "deltacommit"


@pytest.mark.parametrize("name", fixture_names("mor_parquet_log_rollback"))
def test_a_clustering_that_is_not_done_is_pending(name, tmp_path):
    base = unzip_fixture(name, tmp_path)
    (done,) = load(base).completed({"replacecommit"})
    replaced = load(base).replaced_file_groups()
    os.remove(base / done.path)
    timeline = load(base)
    (pending,) = timeline.pending()
    assert pending.action == ("clustering" if timeline.layout == 2 else "replacecommit")
    groups = timeline.pending_clustering()
    assert groups.schema == PENDING_CLUSTERING_SCHEMA
    assert set(groups["instant"].to_pylist()) == {done.requested}
    assert sorted(groups["file_id"].to_pylist()) == sorted(replaced["file_id"].to_pylist())
    plan = timeline.requested_replace_metadata(pending)
    assert plan.is_clustering and plan.operation == "CLUSTER"
    assert all("/" not in file for file in plan.slices["base_file"].to_pylist())
    assert timeline.replaced_file_groups().num_rows == 0


def test_pending_compaction_of_the_golden_table(tmp_path):
    shutil.unpack_archive(GOLDEN / "inputs-if.zip", tmp_path)
    timeline = load(tmp_path / "if_pend")
    assert [i.action for i in timeline.pending()] == ["compaction"]
    assert timeline.pending_compactions().num_rows > 0
    hollow = load(tmp_path / "if_hollow")
    (pending,) = hollow.pending()
    assert pending.requested < hollow.last_completed_write().requested


@pytest.mark.parametrize("name", fixture_names("cow_archived"))
def test_completion_times_look_into_the_archive_only_when_needed(name):
    timeline = fixture(name)
    counters = timeline._storage.counters
    active = [i.requested for i in timeline.write_instants()]
    with counters.measure() as cost:
        times = timeline.completion_times(pa.array(active)).to_pylist()
    assert cost == {}
    assert times == ([i.completed for i in timeline.write_instants()] if timeline.layout == 2 else active)

    archived = timeline.archived().instants
    instant_times = pa.array([archived[0].requested, "20200101000000000", active[-1], "20990101000000000", None])
    with counters.measure() as cost:
        times = timeline.completion_times(instant_times).to_pylist()
    first = archived[0].completed if timeline.layout == 2 else archived[0].requested
    assert times == [first, "20200101000000000", timeline.write_instants()[-1].completed or active[-1], None, None]
    with counters.measure() as cost:
        timeline.completion_times(instant_times)
    assert cost == {}


def test_one_listing_and_each_commit_file_once():
    base = unzip_fixture("v8_cow_nonpart")
    storage = Storage(base)
    timeline = Timeline.load(storage, layout=2)
    assert storage.counters.snapshot() == {"lists": 1}
    for _ in range(3):
        for instant in timeline.write_instants():
            timeline.commit_metadata(instant)
    assert storage.counters["opens"] == len(timeline.write_instants())
    assert storage.counters["lists"] == 1


@pytest.mark.parametrize("name", ["v6_cow_part_mdt", "v8_cow_archived"])
def test_a_timeline_becomes_an_arrow_table(name):
    timeline = fixture(name)
    first = timeline.write_instants()[0]
    assert timeline.to_arrow()["operation"].null_count == len(timeline.instants)
    operation = timeline.commit_metadata(first).operation
    table = timeline.to_arrow()
    assert table.schema == TIMELINE_SCHEMA
    assert table["requested"].to_pylist() == [i.requested for i in timeline.instants]
    assert table["operation"].drop_null().to_pylist() == [operation]
    whole = timeline.to_arrow(archived=True)
    assert whole.num_rows == len(timeline.instants) + len(timeline.archived().instants)
    assert "instants" in repr(timeline) and "layout" in repr(timeline)


def test_a_timeline_survives_pickling():
    timeline = fixture("v8_cow_archived")
    timeline.commit_metadata(timeline.write_instants()[0])
    timeline.archived().instants  # noqa: B018
    copy = pickle.loads(pickle.dumps(timeline))
    assert copy.instants == timeline.instants
    first = copy.write_instants()[0]
    assert copy.commit_metadata(first).write_stats.equals(timeline.commit_metadata(first).write_stats)
    assert copy.archived().instants == timeline.archived().instants


# -- made timelines --------------------------------------------------------------------------------------------------


def t(day, extra=""):
    return f"202501{day:02d}000000000{extra}"


def test_the_highest_state_counts(tmp_path):
    timeline = make(
        tmp_path,
        [
            f"{t(1)}.commit.requested",
            f"{t(1)}.inflight",
            f"{t(1)}.commit",
            f"{t(2)}.compaction.requested",
            f"{t(2)}.compaction.inflight",
            f"{t(2)}.commit",
            f"{t(3)}.logcompaction.requested",
            f"{t(3)}.deltacommit",
            f"{t(4)}.clean.requested",
            f"{t(4)}.clean.inflight",
            f"{t(4)}.deltacommit.requested",
            f"{t(5)}.compaction.requested",
            f"{t(1)}.savepoint.inflight",
            f"{t(1)}.savepoint",
            "hoodie.properties",
            f"{t(9)}.commit.crc",
        ],
    )
    found = [(i.requested, i.action, i.state) for i in timeline.instants]
    assert found == [
        (t(1), "commit", State.COMPLETED),
        (t(1), "savepoint", State.COMPLETED),
        (t(2), "commit", State.COMPLETED),
        (t(3), "deltacommit", State.COMPLETED),
        (t(4), "clean", State.INFLIGHT),
        (t(4), "deltacommit", State.REQUESTED),
        (t(5), "compaction", State.REQUESTED),
    ]
    assert [i.action for i in timeline.pending({"clean"})] == ["clean"]
    assert timeline.get(t(1)).action == "commit"
    assert timeline.last_completed_write().requested == t(3)


def test_clustering_completes_as_replacecommit(tmp_path):
    names = [f"{t(1)}.clustering.requested", f"{t(1)}.clustering.inflight", f"{t(1)}_{t(2)}.replacecommit"]
    (only,) = make(tmp_path, names, layout=2).instants
    assert (only.action, only.state, only.completed) == ("replacecommit", State.COMPLETED, t(2))


def test_a_completed_file_from_before_an_upgrade_takes_its_modification_time(tmp_path):
    make(tmp_path, [f"{t(1)}.commit"], layout=2)
    os.utime(tmp_path / f".hoodie/timeline/{t(1)}.commit", (1735689600.5, 1735689600.5))
    (only,) = load(tmp_path).instants
    assert only.completed == "20250101000000500"
    assert load(tmp_path, timezone="Asia/Kolkata").instants[0].completed == "20250101053000500"


@pytest.mark.parametrize(
    ("names", "first"),
    [
        ([], None),
        ([f"{t(3)}.clean"], None),
        ([f"{t(3)}.clean", f"{t(5)}.commit"], t(5)),
        ([f"{t(5)}.commit", f"{t(6)}.commit"], t(5)),
        ([f"{t(4)}.inflight", f"{t(5)}.commit"], t(4)),
        ([f"{t(1)}.commit", f"{t(1)}.savepoint", f"{t(5)}.commit"], t(5)),
        ([f"{t(1)}.commit", f"{t(1)}.savepoint"], t(1)),
        ([f"{t(1)}.commit", f"{t(1)}.savepoint", f"{t(3)}.commit", f"{t(3)}.savepoint"], t(3)),
    ],
)
def test_where_the_active_timeline_begins(tmp_path, names, first):
    assert make(tmp_path, names).first_active() == first


def test_committed_test_around_savepoints_and_pending_instants(tmp_path):
    timeline = make(
        tmp_path,
        [f"{t(2)}.commit", f"{t(2)}.savepoint", f"{t(5)}.commit", f"{t(6)}.inflight", f"{t(7)}.clean"],
    )
    times = pa.array([t(1), t(2), t(3), t(5), t(6), t(7), t(8), None])
    expected_mask = [True, True, True, True, False, False, False, False]
    assert timeline.committed_mask(times).to_pylist() == expected_mask
    assert timeline.committed_mask(times.dictionary_encode()).to_pylist() == expected_mask
    assert timeline.committed_mask(pa.chunked_array([times[:3], times[3:]])).to_pylist() == expected_mask
    assert timeline.committed_mask(pa.chunked_array([], pa.string())).to_pylist() == []
    assert timeline.committed_mask(times.cast(pa.large_string())).to_pylist() == expected_mask
    assert timeline.completion_times(times.dictionary_encode()).to_pylist() == [
        t(1),
        t(2),
        t(3),
        t(5),
        *[None] * 4,
    ]


def test_committed_test_of_an_empty_timeline(tmp_path):
    timeline = make(tmp_path, [])
    assert timeline.committed_mask(pa.array([t(1)])).to_pylist() == [False]
    assert timeline.completion_times(pa.array([t(1)])).to_pylist() == [None]


INSTANTS = st.lists(
    st.tuples(
        st.integers(1, 9),
        st.sampled_from(["commit", "deltacommit", "replacecommit", "clean", "savepoint", "inflight", "rollback"]),
    ),
    max_size=8,
)


@given(INSTANTS, st.lists(st.integers(0, 10), max_size=12))
@settings(max_examples=60, deadline=None)
def test_committed_test_against_its_words(tmp_path_factory, instants, days):
    names = {f"{t(day)}.{suffix}" for day, suffix in instants}
    timeline = make(tmp_path_factory.mktemp("timeline"), names)
    writes = [(day, s) for day, s in instants if s in ("commit", "deltacommit", "replacecommit", "inflight")]
    saved = {day for day, suffix in instants if suffix == "savepoint"}
    done = {day for day, suffix in writes if suffix != "inflight"}
    unsaved = [day for day, _ in writes if day not in saved]
    start = min(unsaved) if unsaved else max((day for day, _ in writes), default=0)
    mask = timeline.committed_mask(pa.array([t(day) for day in days], pa.string())).to_pylist()
    assert mask == [day in done or day < start for day in days]


def test_missing_instants_are_errors(tmp_path):
    timeline = make(tmp_path, [f"{t(1)}.commit"])
    with pytest.raises(InstantNotFoundError) as raised:
        timeline.get(t(2))
    assert raised.value.instant == t(2) and str(tmp_path) in str(raised.value)
    (commit,) = timeline.instants
    for ask in (timeline.clean_metadata, timeline.savepoint_metadata, timeline.restore_plan, timeline.cleaner_plan):
        with pytest.raises(InstantNotFoundError, match="has no"):
            ask(commit)
    with pytest.raises(InstantNotFoundError, match="missing"):
        timeline.compaction_plan(commit)
    clean = make(tmp_path, [f"{t(3)}.clean"]).get(t(3))
    with pytest.raises(InstantNotFoundError, match="commit metadata"):
        timeline.commit_metadata(clean)


def test_no_table_and_no_such_layout(tmp_path):
    with pytest.raises(TableNotFoundError):
        load(tmp_path / "nowhere", layout=1)
    with pytest.raises(UnsupportedTableError, match="layout 3"):
        load(tmp_path, layout=3)
    with pytest.raises(UnsafePathError):
        load(tmp_path, layout=2, timeline_path="../../elsewhere")
    (tmp_path / ".hoodie").mkdir()
    assert load(tmp_path, layout=2).instants == ()


def test_timeline_folder_of_another_name(tmp_path):
    base = unzip_fixture("v8_cow_archived", tmp_path)
    known = load(base)
    os.rename(base / ".hoodie/timeline", base / ".hoodie/tl")
    os.rename(base / ".hoodie/tl/history", base / ".hoodie/tl/past")
    moved = load(base, layout=2, timeline_path="tl", history_path="/past/")
    assert as_expected(moved.instants) == as_expected(known.instants)
    assert len(moved.archived().instants) == 10
    old = unzip_fixture("v6_cow_archived", tmp_path)
    os.rename(old / ".hoodie/archived", old / ".hoodie/past")
    assert len(load(old, layout=1, archive_folder="past").archived().instants) == 10


# -- files that change or are damaged --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["v6_cow_archived", "v8_cow_archived"])
def test_an_instant_archived_after_loading_is_found_in_the_archive(name, tmp_path):
    base = unzip_fixture(name, tmp_path)
    archived = load(base).archived()
    first = archived.instants[0]
    active = f"{first.requested}_{first.completed}.commit" if first.completed else f"{first.requested}.commit"
    folder = base / (".hoodie" if first.completed is None else ".hoodie/timeline")
    (folder / active).write_bytes(b"")
    timeline = load(base)
    instant = timeline.get(first.requested)
    assert instant.file_name == active
    os.remove(folder / active)
    metadata = timeline.commit_metadata(instant)
    assert metadata.write_stats.equals(archived.commit_metadata(first).write_stats)
    assert metadata.write_stats.num_rows > 0


@pytest.mark.parametrize("name", ["v6_cow_nonpart", "v8_cow_nonpart"])
def test_an_instant_removed_after_loading(name, tmp_path):
    base = unzip_fixture(name, tmp_path)
    timeline = load(base)
    last = timeline.last_completed_write()
    os.remove(base / last.path)
    with pytest.raises(InstantNotFoundError, match="load the table again") as raised:
        timeline.commit_metadata(last)
    assert raised.value.instant == last.requested


@pytest.mark.parametrize("layout", [1, 2])
def test_an_empty_completed_commit_is_refused(tmp_path, layout):
    name = f"{t(1)}.replacecommit" if layout == 1 else f"{t(1)}_{t(2)}.replacecommit"
    timeline = make(tmp_path, [name], layout=layout)
    with pytest.raises(CorruptInstantError, match="partitionToWriteStats") as raised:
        timeline.commit_metadata(timeline.instants[0])
    assert raised.value.instant == t(1) and raised.value.path.endswith(name)
    with pytest.raises(CorruptInstantError):
        timeline.replaced_file_groups()


@pytest.mark.parametrize(
    ("suffix", "ask"),
    [
        ("clean", "clean_metadata"),
        ("rollback", "rollback_metadata"),
        ("restore", "restore_metadata"),
        ("savepoint", "savepoint_metadata"),
        ("clean.requested", "cleaner_plan"),
        ("rollback.requested", "rollback_plan"),
        ("restore.requested", "restore_plan"),
        ("compaction.requested", "compaction_plan"),
    ],
)
def test_other_empty_files_are_corrupt(tmp_path, suffix, ask):
    timeline = make(tmp_path, [f"{t(1)}.{suffix}"])
    with pytest.raises(CorruptInstantError, match="empty") as raised:
        getattr(timeline, ask)(timeline.instants[0])
    assert raised.value.instant == t(1) and raised.value.path.endswith(f"{t(1)}.{suffix}")


def test_a_replacecommit_may_request_nothing(tmp_path):
    timeline = make(tmp_path, [f"{t(1)}.replacecommit.requested"])
    plan = timeline.requested_replace_metadata(timeline.instants[0])
    assert (plan.operation, plan.slices.num_rows, plan.is_clustering) == (None, 0, False)
    assert timeline.pending_clustering().num_rows == 0
