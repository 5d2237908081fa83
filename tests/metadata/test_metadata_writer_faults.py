"""Writers of the metadata table that die at any storage call: what readers see, and what the next writer repairs.

The cases of RFC-15: death before, during and after the metadata table's commit, during its making, its compaction and
a rollback.
"""

from __future__ import annotations

import json
import threading

import pyarrow as pa
import pytest

from hudi_hive.formats.log import iter_blocks
from hudi_hive.metadata import MetadataListing, MetadataTable, validate
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.view import parse_file_names
from hudi_hive.timeline import State
from tests.support.running.long import VERSION_CASES
from tests.support.tables.metadata_writing import HandMade

_CHANGING = ("write_bytes", "replace_bytes", "create_if_absent", "delete", "delete_tree", "create_dir")


_BOTH_LAYOUTS = (6, 9)


class Died(BaseException):
    """The process is gone: not an error that anybody handles."""


class Deadly:
    """Lets some storage calls that change something through, and none after that.

    Args:
        step: one of so many numbers of calls is tried.
    """

    def __init__(self, monkeypatch, step):
        self.lock = threading.Lock()
        self.left = None
        self.step = step
        self.calls = 0
        for name in _CHANGING:
            monkeypatch.setattr(Storage, name, self._wrapped(getattr(Storage, name)))

    def _wrapped(self, call):
        def guarded(storage, *args, **kwargs):
            with self.lock:  # a writer calls from several threads
                if self.left is not None:
                    if self.left == 0:
                        raise Died
                    self.left -= 1
                self.calls += 1
            return call(storage, *args, **kwargs)

        return guarded

    def count(self, function):
        before = self.calls
        function()
        return self.calls - before

    def dies(self, after, function):
        """Whether the function dies when only so many calls are let through."""
        self.left = after
        try:
            function()
        except Died:
            return True
        finally:
            self.left = None
        return False


@pytest.fixture
def deadly(monkeypatch, thorough):
    return Deadly(monkeypatch, 1 if thorough else 9)


def _seen(table):
    """Files that readers see, by the metadata table where it can be used, and whether it was."""
    client = MetaClient.load(table.client.storage.root, listing=MetadataListing())
    view = client.file_system_view()
    return set(view.latest_base_files().column("name").to_pylist()), client.lister.source == "metadata table"


def _names(*changes):
    return {name for change in changes for name in change.files_added.column("name").to_pylist()}


def _roll_back(table, dead, changes):
    """What a rollback does: the metadata table first, then files, then the instant."""
    instant = table.begin("rollback")
    writer = table.writer()
    writer.rollback(instant, dead)
    for row in changes.files_added.to_pylist():
        table.client.storage.delete(f"{row['partition']}/{row['name']}")
    for found in table.fresh().timeline.instants:
        if found.requested == dead:
            table.instants.delete(found)
    for state in (State.INFLIGHT, State.REQUESTED):
        table.client.storage.delete(table.instants.path("rollback", instant, state))


def _goes_on(table, dead, changes, retained, **options):
    """The next writer rolls the dead write back and commits; everything agrees then."""
    _roll_back(table, dead, changes)
    assert _seen(table)[0] == retained
    _, new = table.commit({"a": [("again", 9)]}, **options)
    seen, by_metadata = _seen(table)
    assert seen == retained | _names(new) and by_metadata
    report = validate(table.fresh())
    assert report.is_valid, str(report)
    return MetadataTable.open(table.fresh())


def _points(total, version, step):
    """Numbers of storage calls to die after: a part of them, another one for each version, or all where step is 1."""
    return sorted({*range(version % step, total + 1, step), total})


def _kill_points(tmp_path, deadly, version, prepare, options=None):
    """Every number of storage calls after which an apply may die: the table, its dead write and what it had before."""
    model, instant, changes, kept = _dead_table(tmp_path / "model", version, prepare, options)
    counted = model.copied(tmp_path / "count")
    total = deadly.count(lambda: counted.apply(instant, changes, **(options or {})))
    assert total
    for after in _points(total, version, deadly.step):
        table = model.copied(tmp_path / str(after))
        died = deadly.dies(after, lambda: table.apply(instant, changes, **(options or {})))  # noqa: B023
        assert died == (after < total)
        yield table, instant, changes, kept


def _dead_table(path, version, prepare, options):
    table = HandMade(path, version)
    kept = set()
    for number in range(prepare):
        kept |= _names(table.commit({"a": [(f"k{number}", number)]}, **(options or {}))[1])
    instant = table.begin()
    return table, instant, table.write(instant, {"a": [("dead", 1)], "z": [("dead2", 2)]}), kept


def test_inflight_files_of_dead_delta_commits_name_their_log_files(tmp_path, deadly):
    """Of version 6: real Hudi finds the log files of a dead delta commit by what its inflight file says."""
    dead = 0
    for table, instant, _, _ in _kill_points(tmp_path, deadly, 6, 2):
        storage = table.client.storage.child(".hoodie/metadata")
        path = f".hoodie/{instant}.deltacommit.inflight"
        if not storage.exists(path):
            continue
        stats = json.loads(storage.read_bytes(path))["partitionToWriteStats"]
        told = {(partition, one["fileId"], one["prevCommit"]) for partition, found in stats.items() for one in found}
        blocks = set()
        for partition in ("files", "column_stats", "record_index"):
            for name in storage.list(partition)["path"].to_pylist():
                data = storage.read_bytes(name) if ".log." in name else b""
                if any(block.instant == instant for block in iter_blocks(data, name)):
                    parsed = parse_file_names(pa.chunked_array([[name.rpartition("/")[2]]])).to_pylist()[0]
                    blocks.add((partition, parsed["file_id"], parsed["instant"]))
        assert blocks <= told
        dead += bool(blocks)
    assert dead


@pytest.mark.parametrize("version", _BOTH_LAYOUTS)
def test_death_in_a_delta_commit(tmp_path, deadly, version):
    for table, instant, changes, kept in _kill_points(tmp_path, deadly, version, 2):
        assert _seen(table)[0] == kept  # the commit is not complete: nothing of it shows
        known = _goes_on(table, instant, changes, kept)
        keys = known.record_locations().column("key").to_pylist()
        assert keys == ["again", "k0", "k1"]
        assert "z" not in known.files_table().column("partition").to_pylist()


@pytest.mark.parametrize("version", _BOTH_LAYOUTS)
def test_death_in_the_making(tmp_path, deadly, version):
    for table, instant, changes, kept in _kill_points(tmp_path, deadly, version, 0):
        assert _seen(table)[0] == kept
        known = _goes_on(table, instant, changes, kept)
        assert known.record_locations().column("key").to_pylist() == ["again"]
        wanted = {"files", "column_stats", "record_index"} | ({"partition_stats"} if version >= 8 else set())
        assert set(known.index_partitions) == wanted


@pytest.mark.parametrize("version", _BOTH_LAYOUTS)
def test_death_in_a_compaction(tmp_path, deadly, version):
    options = {"hoodie.metadata.compact.max.delta.commits": "3"}
    compacted = 0
    for table, instant, changes, kept in _kill_points(tmp_path, deadly, version, 3, options):
        assert _seen(table)[0] == kept
        known = _goes_on(table, instant, changes, kept, **options)
        timeline = known.client.timeline
        assert not [i for i in timeline.pending() if i.action == "compaction"]
        compacted += any(i.action == "commit" for i in timeline.instants)
        assert known.record_locations().column("key").to_pylist() == ["again", "k0", "k1", "k2"]
    assert compacted


@pytest.mark.parametrize("version", _BOTH_LAYOUTS)
def test_death_in_a_rollback(tmp_path, deadly, version):
    model, instant, changes, kept = _dead_table(tmp_path / "model", version, 2, None)
    model.apply(instant, changes)
    counted = model.copied(tmp_path / "count")
    total = deadly.count(lambda: counted.writer().rollback("99990101000000000", instant))
    for after in _points(total, version, deadly.step):
        table = model.copied(tmp_path / str(after))
        died = deadly.dies(after, lambda: table.writer().rollback("99990101000000000", instant))  # noqa: B023
        assert died == (after < total)
        assert _seen(table)[0] == kept
        known = _goes_on(table, instant, changes, kept)
        assert known.record_locations().column("key").to_pylist() == ["again", "k0", "k1"]


@pytest.mark.parametrize("version", VERSION_CASES)
def test_compaction_waits_for_a_commit_that_only_the_metadata_table_has(tmp_path, version):
    options = {"hoodie.metadata.compact.max.delta.commits": "2"}
    table = HandMade(tmp_path / "t", version)
    first = table.commit({"a": [("k0", 0)]})[1]
    slow = table.begin()
    slow_changes = table.write(slow, {"a": [("slow", 1)]})
    table.apply(slow, slow_changes)  # its writer lives, and completes later
    others = [table.commit({"a": [(f"k{n}", n)]}, **options)[1] for n in (1, 2, 3)]
    known = MetadataTable.open(table.fresh())
    assert not any(i.action == "commit" for i in known.client.timeline.instants)
    table.complete(slow, slow_changes)
    others.append(table.commit({"a": [("k4", 4)]}, **options)[1])
    known = MetadataTable.open(table.fresh())
    assert any(i.action == "commit" for i in known.client.timeline.instants)
    assert set(known.files_table().column("name").to_pylist()) == _names(first, slow_changes, *others)
    assert validate(table.fresh()).is_valid


@pytest.mark.parametrize("version", VERSION_CASES)
def test_slow_commit_lands_behind_a_compaction(tmp_path, version):
    """Its instant was drawn before the metadata table's compaction, its delta commit comes after."""
    options = {"hoodie.metadata.compact.max.delta.commits": "2"}
    table = HandMade(tmp_path / "t", version)
    slow = table.begin()
    changes = table.write(slow, {"a": [("slow", 1)]})
    others = [table.commit({"a": [(f"k{n}", n)]}, **options)[1] for n in range(4)]
    table.apply(slow, changes)
    table.complete(slow, changes)
    known = MetadataTable.open(table.fresh())
    assert set(known.files_table().column("name").to_pylist()) == _names(changes, *others)
    assert "slow" in known.record_locations().column("key").to_pylist()
    assert validate(table.fresh()).is_valid


@pytest.mark.parametrize("version", VERSION_CASES)
def test_rollback_of_a_compacted_commit_makes_it_anew(tmp_path, version):
    options = {"hoodie.metadata.compact.max.delta.commits": "2"}
    table = HandMade(tmp_path / "t", version)
    kept = [table.commit({"a": [(f"k{n}", n)]}, **options) for n in range(4)]
    last, changes = kept.pop()
    table.commit({"a": [("x", 1)]}, **options)
    before = MetadataTable.open(table.fresh())
    compactions = [i.requested for i in before.client.timeline.instants if i.action == "commit"]
    assert compactions
    victim, victim_changes = kept[0]
    _roll_back(table, victim, victim_changes)
    _, new = table.commit({"a": [("again", 2)]}, **options)
    known = MetadataTable.open(table.fresh())
    assert not _names(victim_changes) & set(known.files_table().column("name").to_pylist())
    assert _names(new, changes) <= set(known.files_table().column("name").to_pylist())
    assert "k0" not in known.record_locations().column("key").to_pylist()
    assert validate(table.fresh()).is_valid, last


@pytest.mark.parametrize("version", VERSION_CASES)
def test_metadata_table_that_fell_behind_is_made_anew(tmp_path, version):
    table = HandMade(tmp_path / "t", version)
    first = table.commit({"a": [("k0", 0)]})[1]
    instant = table.begin()
    foreign = table.write(instant, {"a": [("foreign", 1)]})
    table.complete(instant, foreign)  # by a writer that knows nothing of metadata tables
    assert _seen(table) == (_names(first, foreign), False)
    third = table.commit({"b": [("k2", 2)]})[1]
    assert _seen(table) == (_names(first, foreign, third), True)
    known = MetadataTable.open(table.fresh())
    assert known.record_locations().column("key").to_pylist() == ["foreign", "k0", "k2"]


@pytest.mark.parametrize("version", VERSION_CASES)
def test_switched_off_and_on(tmp_path, version):
    table = HandMade(tmp_path / "t", version)
    first = table.commit({"a": [("k0", 0)]})[1]
    off = table.commit({"a": [("k1", 1)]}, **{"hoodie.metadata.enable": "false"})[1]
    assert _seen(table) == (_names(first, off), False)
    assert not table.client.storage.exists(".hoodie/metadata")
    on = table.commit({"a": [("k2", 2)]})[1]
    assert _seen(table) == (_names(first, off, on), True)
    assert validate(table.fresh()).is_valid
