"""Scan of a slice's log files: which blocks count and what they hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import (
    CorruptFileError,
    UnsupportedFormatError,
)
from hudi_hive.formats.log import BlockType, HeaderKey, encode_block
from hudi_hive.metadata.reader import FileGroup
from hudi_hive.schema import avro_to_arrow
from hudi_hive.storage import Storage
from hudi_hive.table.core.meta_client import MetaClient
from hudi_hive.table.logs import BlockRange, LogRecords, scan_logs
from hudi_hive.table.logs.log_data import LogData, LogDeletes
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture
from tests.support.running.long import examples
from tests.support.tables.log_files import (
    ROW_SCHEMA,
    Committed,
    delete_block,
    rollback_block,
)
from tests.table.shared.log_scanner_helpers import T1, T2, T3, T4, T5, T6, keys, rows, scan

# -- real tables ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", fixture_names("mor"))
def test_logs_of_every_slice_of_real_tables(name):
    client = MetaClient.load(str(unzip_fixture(name)))
    committed = {instant.requested for instant in client.timeline.write_instants()}
    for entry in expected(name)["file_slices"]:
        records = scan_logs(client.storage, entry["partition"], entry["log_files"], blocks=BlockRange(client.timeline))
        assert records.corrupt == 0
        assert records.files == len(entry["log_files"])
        for block in records.blocks:
            assert block.instant in committed
            if isinstance(block, LogData):
                assert block.batch.num_rows > 0
                assert block.batch.schema.types == avro_to_arrow(block.schema).types
                assert block.batch.schema.names == [field["name"] for field in block.schema["fields"]]
                assert not block.is_partial
            else:
                assert block.table.num_rows > 0


@pytest.mark.parametrize("name", [*fixture_names("cow_cdc"), *fixture_names("cow_cdc_key_only")])
def test_change_data_files_of_real_tables(name):
    root = unzip_fixture(name)
    client = MetaClient.load(str(root))
    modes = {
        "op_key_only": ["op", "record_key"],
        "data_before_after": ["op", "ts_ms", "before", "after"],
    }
    wanted = modes[expected(name)["table_config"]["hoodie.table.cdc.supplemental.logging.mode"].lower()]
    files = sorted(root.rglob(".*.cdc"))
    assert files
    for file in files:
        partition = file.parent.relative_to(root).as_posix()
        records = scan_logs(client.storage, partition, [file.name], blocks=BlockRange(client.timeline))
        for block in records.data:
            assert block.batch.schema.names == wanted
            assert set(block.batch.column("op").to_pylist()) <= {"i", "u", "d"}


@pytest.mark.parametrize("version", [6, 8, 9])
def test_log_compaction_stands_for_the_blocks_it_compacted(version):
    name = f"v{version}_mor_log_compaction"
    client = MetaClient.load(str(unzip_fixture(name)))
    (entry,) = expected(name)["file_slices"]
    records = scan_logs(client.storage, entry["partition"], entry["log_files"], blocks=BlockRange(client.timeline))
    compacted, later = records.blocks
    assert records.blocks_seen == 6
    assert records.skipped == 4
    assert compacted.instant < later.instant
    # Before the compaction's instant the original blocks are what counts.
    before = scan_logs(
        client.storage, entry["partition"], entry["log_files"], blocks=BlockRange(client.timeline, later.instant[:8])
    )
    assert before.blocks == ()
    originals = [i.requested for i in client.timeline.write_instants() if i.requested < compacted.instant]
    past = scan_logs(
        client.storage, entry["partition"], entry["log_files"], blocks=BlockRange(client.timeline, originals[-1])
    )
    assert len(past.blocks) == 4
    assert {block.instant for block in past.blocks} <= set(originals)


def test_rolled_back_blocks_of_table_version_6():
    name = "v6_mor_rollback"
    client = MetaClient.load(str(unzip_fixture(name)))
    gone = expected(name)["rolled_back"]["requested"]
    for entry in expected(name)["file_slices"]:
        everything = scan_logs(client.storage, entry["partition"], entry["log_files"], blocks=BlockRange())
        assert everything.skipped == 1  # by the command block alone: no commit test
        assert gone not in {block.instant for block in everything.blocks}


# -- which blocks count --------------------------------------------------------------------------------------------


def test_blocks_of_several_files_in_order(tmp_path):
    records = scan(
        tmp_path, rows(T1, "a", "b") + delete_block(T1, [("c", "", None)]), rows(T2, "d") + rows(T2, "e"), b""
    )
    assert keys(records) == ["a", "b", "-c", "d", "e"]
    assert [type(block) for block in records.blocks] == [LogData, LogDeletes, LogData, LogData]
    assert [block.instant for block in records.blocks] == [T1, T1, T2, T2]
    assert (records.files, records.blocks_seen, records.corrupt, records.skipped) == (3, 4, 0, 0)
    assert len(records.data) == 3 and len(records.deletes) == 1
    assert records.blocks[0].schema == ROW_SCHEMA


def test_no_log_files(tmp_path):
    assert scan(tmp_path) == LogRecords()


def test_blocks_of_instants_that_are_not_committed(tmp_path):
    files = (rows(T1, "a"), rows(T2, "b") + delete_block(T2, [("a", "", None)]), rows(T3, "c"))
    assert keys(scan(tmp_path, *files, timeline=Committed(T1, T3))) == ["a", "c"]
    assert keys(scan(tmp_path, *files, timeline=Committed())) == []
    assert keys(scan(tmp_path, *files, timeline=None)) == ["a", "b", "-a", "c"]


def test_blocks_after_the_requested_instant_are_left_out(tmp_path):
    files = (rows(T1, "a"), delete_block(T2, [("a", "", None)]), rows(T3, "c"))
    assert keys(scan(tmp_path, *files, max_instant=T2)) == ["a", "-a"]
    # Instants of different lengths are compared as text.
    assert keys(scan(tmp_path, *files, max_instant=T2[:14])) == ["a"]
    assert keys(scan(tmp_path, *files, max_instant=T2 + "001")) == ["a", "-a"]


def test_only_blocks_of_the_requested_instants_are_read(tmp_path):
    files = (rows(T1, "a"), rows(T2, "b"), rows(T3, "c"))
    records = scan(tmp_path, *files, instants={T2, T3}, max_instant=T2)
    assert keys(records) == ["b"]
    assert records.skipped == 2


def test_rollback_makes_earlier_blocks_void(tmp_path):
    files = (
        rows(T1, "a"),
        rows(T2, "b") + delete_block(T2, [("a", "", None)]),
        rollback_block(T3, T2),
        rows(T4, "c"),
    )
    records = scan(tmp_path, *files)
    assert keys(records) == ["a", "c"]
    assert records.skipped == 2


@pytest.mark.parametrize("timeline", [Committed(T1, T2), None])
def test_a_rollback_block_counts_for_every_requested_instant(tmp_path, timeline):
    # A rollback is no write instant, so the commit test does not see it, nor does it belong to a range.
    files = (rows(T1, "a"), rows(T2, "b"), rollback_block(T5, T2))
    assert keys(scan(tmp_path, *files, timeline=timeline, max_instant=T2)) == ["a"]
    assert keys(scan(tmp_path, *files, timeline=timeline, instants={T2})) == []


def test_rollback_does_not_reach_later_blocks(tmp_path):
    assert keys(scan(tmp_path, rows(T2, "b") + rollback_block(T3, T2) + rows(T2, "b2"))) == ["b2"]


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({HeaderKey.INSTANT_TIME: T2, HeaderKey.TARGET_INSTANT_TIME: T1}, UnsupportedFormatError),
        ({HeaderKey.INSTANT_TIME: T2, HeaderKey.COMMAND_BLOCK_TYPE: "1"}, UnsupportedFormatError),
        ({HeaderKey.INSTANT_TIME: T2, HeaderKey.COMMAND_BLOCK_TYPE: "0"}, CorruptFileError),
    ],
)
def test_commands_that_we_do_not_know(tmp_path, headers, error):
    with pytest.raises(error, match=r"command.*\.log\."):
        scan(tmp_path, rows(T1, "a") + encode_block(BlockType.COMMAND, headers, b""))


def test_log_compaction_goes_where_the_newest_original_was(tmp_path):
    files = (
        rows(T1, "a"),
        rows(T2, "b"),
        rows(T4, "d"),  # written between, not compacted
        rows(T3, "b+", COMPACTED_BLOCK_TIMES=f"{T2},{T1}") + delete_block(T3, [("a", "", None)]),
        rows(T5, "e"),
    )
    assert keys(scan(tmp_path, *files)) == ["b+", "-a", "d", "e"]
    assert keys(scan(tmp_path, *files, timeline=Committed(T1, T2, T4, T5))) == ["a", "b", "d", "e"]
    assert keys(scan(tmp_path, *files, max_instant=T2)) == ["a", "b"]
    assert keys(scan(tmp_path, *files, instants={T2, T3})) == ["b+", "-a"]
    # The compaction holds nothing but what lies outside of the range.
    assert keys(scan(tmp_path, *files, instants={T3, T4})) == ["d"]


def test_a_metadata_table_with_a_log_compaction_lacks_nothing(tmp_path):
    """The blocks that it replaced are in their files, be it that they do not count."""

    class Valid(frozenset):
        def writes_after(self, time):
            return {instant for instant in self if instant > time}

    files = rows(T2, "a"), rows(T3, "b"), rows(T4, "c", COMPACTED_BLOCK_TIMES=f"{T2},{T3}")
    (tmp_path / "files").mkdir()
    names = [f".g-0_{time}.log.1_0-0-0" for time in (T2, T3, T4)]
    for name, data in zip(names, files, strict=True):
        (tmp_path / "files" / name).write_bytes(data)
    row = {"file_id": "g-0", "base_instant": T1, "base_file": None, "base_size": None, "log_files": names}
    storage = Storage(str(tmp_path))
    found = scan_logs(storage, "files", names, blocks=BlockRange())
    assert keys(found) == ["c"] and {instant for _, instant in found.seen} == {T2, T3, T4}
    for partition in ("files", "column_stats"):
        group = FileGroup(storage, partition, row, Valid({T2, T3, T4}))
        group._refuse_foreign_blocks(replace(found, blocks=()))
        with pytest.raises(CorruptFileError, match="no block of"):
            group._refuse_foreign_blocks(replace(found, blocks=(), seen=frozenset({(names[0], T2)})))


def test_log_compaction_of_a_log_compaction(tmp_path):
    files = (
        rows(T1, "a"),
        rows(T2, "b"),
        rows(T3, "ab", COMPACTED_BLOCK_TIMES=f"{T2},{T1}"),
        rows(T4, "c"),
        rows(T5, "abc", COMPACTED_BLOCK_TIMES=f"{T4},{T3}"),
        rows(T6, "d"),
    )
    assert keys(scan(tmp_path, *files)) == ["abc", "d"]
    assert keys(scan(tmp_path, *files, max_instant=T4)) == ["ab", "c"]
    assert keys(scan(tmp_path, *files, timeline=Committed(T1, T2, T4, T5, T6))) == ["a", "b", "abc", "d"]


def test_log_compaction_without_its_originals_stays_in_its_place(tmp_path):
    files = (rows(T2, "x"), rows(T3, "ab", COMPACTED_BLOCK_TIMES=T1), rows(T4, "c"))
    assert keys(scan(tmp_path, *files)) == ["x", "ab", "c"]


def test_rolled_back_log_compaction_leaves_the_originals(tmp_path):
    files = (rows(T1, "a"), rows(T2, "b", COMPACTED_BLOCK_TIMES=T1), rollback_block(T3, T2))
    assert keys(scan(tmp_path, *files)) == ["a"]


def test_log_compaction_that_names_itself(tmp_path):
    assert keys(scan(tmp_path, rows(T1, "a"), rows(T2, "b", COMPACTED_BLOCK_TIMES=f"{T2},{T1}"))) == ["b"]


def test_blocks_that_a_retried_task_wrote_again_count_once(tmp_path):
    first = rows(T1, "a", BLOCK_IDENTIFIER="0,1") + rows(T1, "b", BLOCK_IDENTIFIER="0,2")
    again = rows(T1, "a", BLOCK_IDENTIFIER="1,1") + rows(T1, "b", BLOCK_IDENTIFIER="1,2")
    records = scan(tmp_path, first, again, rows(T2, "c", BLOCK_IDENTIFIER="0,1"))
    assert keys(records) == ["a", "b", "c"]
    assert records.skipped == 2
    # An attempt that died after its first block.
    assert keys(scan(tmp_path, rows(T1, "a", BLOCK_IDENTIFIER="0,1"), again)) == ["a", "b"]


def test_blocks_of_different_attempts_are_both_read(tmp_path):
    # Two tasks of one instant, one of them in its second attempt: neither repeats the other.
    one, other = rows(T1, "a", BLOCK_IDENTIFIER="0,1"), rows(T1, "b", BLOCK_IDENTIFIER="1,1")
    assert keys(scan(tmp_path, one, other)) == ["a", "b"]
    assert keys(scan(tmp_path, rows(T1, "a"), rows(T1, "a"))) == ["a", "a"]  # nothing says that it is a repetition
    assert keys(scan(tmp_path, one, rows(T2, "a", BLOCK_IDENTIFIER="0,1"))) == ["a", "a"]


@st.composite
def histories(draw):
    """What writers did to one slice: ("write", t), ("roll back", t, target) or ("compact", t, originals)."""
    done: list[tuple] = []
    live: list[str] = []  # instants that may still be rolled back or compacted
    for number in range(draw(st.integers(1, 12))):
        t = f"{20250101000000000 + number}"
        kind = draw(st.sampled_from(["write", "write", "write", "roll back", "compact"]))
        if kind == "roll back" and live:
            target = draw(st.sampled_from(live))
            live.remove(target)
            done.append((kind, t, target))
        elif kind == "compact" and live:
            originals = live[: draw(st.integers(1, len(live)))]
            live = [*live[len(originals) :], t]
            done.append((kind, t, originals))
            if draw(st.booleans()):
                continue  # no rollback of this one: its originals are gone for good
            if draw(st.booleans()):
                live = [*originals, *[one for one in live if one not in (t, *originals)]]
                done.append(("roll back", f"{t}5", t))
        else:
            live.append(t)
            done.append(("write", t))
    return done


def replay(history: list[tuple], until: str) -> list[str]:
    """Instants whose blocks a reader sees, step by step: the definition, without a thought for cost."""
    void = {entry[2] for entry in history if entry[0] == "roll back"}
    state: list[str] = []
    for kind, t, *more in history:
        if t > until or t in void or kind == "roll back":
            continue
        if kind == "write":
            state.append(t)
        else:
            here = [one for one in state if one in more[0]]
            if here:
                state[state.index(here[-1])] = t
                state = [one for one in state if one not in here]
    return state


@given(histories(), st.integers(0, 12))
@settings(max_examples=examples(400), deadline=None)
def test_any_history_is_seen_as_it_was_written(tmp_path_factory, history, last):
    files = []
    for kind, t, *more in history:
        if kind == "roll back":
            files.append(rollback_block(t, more[0]))
        elif kind == "compact":
            files.append(rows(t, t, COMPACTED_BLOCK_TIMES=",".join(reversed(more[0]))))
        else:
            files.append(rows(t, t))
    until = f"{20250101000000000 + last}"
    assert keys(scan(tmp_path_factory.getbasetemp(), *files, timeline=None, max_instant=until)) == replay(
        history, until
    )
