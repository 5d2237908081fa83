"""Log compaction: the rows stay, whatever is done before and after, and one block is read in place of many.

Real Hudi reads what is made here and goes on, and the other way round, in ``integration.long.log_compaction``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive.cli import cli
from hudi_hive.errors import HudiHiveError, InvalidOptionError, UnsupportedTableError, WriteConflictError
from hudi_hive.formats.log import BlockType, HeaderKey, iter_blocks
from hudi_hive.metadata import validate
from hudi_hive.table import MetaClient
from hudi_hive.table.logs import BlockRange, open_logs
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline.core import TimelineWriter
from hudi_hive.timeline.instants import DELTA_COMMIT, LOG_COMPACTION
from hudi_hive.write.coordination.executor import LocalExecutor
from hudi_hive.write.files import write_tasks
from hudi_hive.write.rollback.rollback_action import rollback
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services import archival, log_compaction, runs
from hudi_hive.write.services.compaction import compact, schedule_compaction
from hudi_hive.write.services.log_compaction import execute_log_compaction, log_compact, schedule_log_compaction
from tests.support.fixture_tables import VERSIONS
from tests.support.running.long import with_long_cases
from tests.write.shared.services_compaction_helpers import all_rows
from tests.write.shared.services_random_helpers import Killed, Life
from tests.write.shared.services_rollback_helpers import context_of, copy_of, files, version

__all__ = ["version"]

TWO = {"hoodie.log.compaction.blocks.threshold": "2"}
OFF = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false", "hoodie.metadata.enable": "false"}


EACH_LAYOUT = pytest.mark.parametrize("version", [6, 9])


def make(path: Path, version: int) -> None:
    """A merge-on-read table with ordering values, one base file and four log files, the last one of deletes."""
    names: dict[str, Any] = {"record_keys": ["id"], "ordering_fields": ["ts"], "merge_mode": "EVENT_TIME_ORDERING"}
    HudiTable.create(path, name="t", version=version, table_type="MERGE_ON_READ", **names)
    put(path, range(10), 5)
    put(path, range(4), 6)
    put(path, range(2, 6), 4)
    put(path, range(1), 7)
    put(path, range(8, 10), 8, gone=True)


def put(path: Path, ids: range, ts: int, options: dict[str, str] = OFF, *, gone: bool = False) -> Any:
    rows = {"id": [*ids], "ts": [ts] * len(ids), "_hoodie_is_deleted": [gone] * len(ids)}
    return HudiTable.open(path).upsert(pa.table(rows), options)


EXPECTED = {0: 7, **dict.fromkeys(range(1, 4), 6), **dict.fromkeys(range(4, 8), 5)}
"""Ordering values by key of the table that :func:`make` makes."""


def values(path: Path) -> dict[int, int]:
    rows = HudiTable.open(path).scan().to_arrow().select(["id", "ts"]).to_pylist()
    assert len(rows) == len({row["id"] for row in rows})
    return {row["id"]: row["ts"] for row in rows}


def blocks_read(path: Path) -> int:
    """Log blocks of records and deletes that a query takes."""
    client = MetaClient.load(path)
    rows = client.file_system_view().latest_file_slices().to_pylist()
    opened = [
        open_logs(client.storage, row["partition"], row["log_files"], blocks=BlockRange(client.timeline))
        for row in rows
    ]
    return sum(len(logs.blocks) for logs in opened)


def test_one_block_of_each_kind_stands_for_all(version: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    make(path, version)
    before, written = all_rows(path), [i.requested for i in MetaClient.load(path).timeline.write_instants()]
    assert blocks_read(path) == 4
    planned = schedule_log_compaction(context_of(path, **TWO))
    assert planned is not None and schedule_log_compaction(context_of(path, **TWO)) is None
    assert all_rows(path) == before
    done = execute_log_compaction(context_of(path), planned)
    assert done is not None and done.action == DELTA_COMMIT
    client = MetaClient.load(path)
    metadata = client.timeline.commit_metadata(done)
    assert (metadata.operation, metadata.compacted) == ("LOG_COMPACT", True)
    (stat,) = metadata.write_stats.to_pylist()
    assert (stat["num_writes"], stat["num_deletes"], stat["log_files_compacted"]) == (6, 2, 4)
    blocks = list(iter_blocks((path / stat["path"]).read_bytes(), stat["path"]))
    assert [block.type for block in blocks] == [BlockType.AVRO_DATA, BlockType.DELETE]
    for block in blocks:
        assert block.headers[HeaderKey.COMPACTED_BLOCK_TIMES] == ",".join(reversed(written[1:]))
    assert all_rows(path) == before and blocks_read(path) == 2
    assert log_compact(context_of(path, **TWO)) == []  # nothing is left to merge
    put(path, range(3, 5), 9)
    put(path, range(8, 9), 7)  # older than the delete, which holds but in version 6
    put(path, range(9, 10), 9)
    expected = {**EXPECTED, 3: 9, 4: 9, 9: 9} | ({8: 7} if version == 6 else {})
    assert values(path) == expected
    assert len(log_compact(context_of(path, **TWO))) == 1
    assert values(path) == expected and blocks_read(path) == (1 if version == 6 else 2)
    assert len(compact(context_of(path))) == 1
    assert values(path) == expected and blocks_read(path) == 0


CASES = [
    (case, VERSIONS[at % len(VERSIONS)])
    for at, case in enumerate(("mor_commit_time", "mor_rollback", "mor_event_time", "mor_bucket", "mor_log_compaction"))
]


@pytest.mark.parametrize(
    ("case", "number"), with_long_cases(CASES, [(case, number) for case, _ in CASES for number in VERSIONS])
)
def test_rows_of_hudis_tables_stay(case: str, number: int, tmp_path: Path) -> None:
    path = copy_of(f"v{number}_{case}", tmp_path)
    before, read = all_rows(path), blocks_read(path)
    assert len(log_compact(context_of(path, **TWO))) == 1
    assert all_rows(path) == before and blocks_read(path) < read
    assert len(compact(context_of(path))) == 1
    assert all_rows(path) == before


def test_log_compaction_and_its_rollback_update_the_metadata_table(tmp_path: Path) -> None:
    path = copy_of("v9_mor_part_rli", tmp_path)
    before = all_rows(path)
    on = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
    (done,) = log_compact(context_of(path, **TWO, **on))
    client = MetaClient.load(path)
    assert "files" in client.config.metadata_partitions and validate(client).errors == 0
    assert all_rows(path) == before
    rollback(context_of(path, **on), done.requested)
    assert validate(MetaClient.load(path)).errors == 0 and all_rows(path) == before


@EACH_LAYOUT
def test_one_that_is_rolled_back_lets_the_others_count_again(version: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    make(path, version)
    (done,) = log_compact(context_of(path, **TWO))
    rollback(context_of(path), done.requested)
    assert values(path) == EXPECTED and blocks_read(path) == 4
    put(path, range(2), 9)
    assert len(log_compact(context_of(path, **TWO))) == 1
    assert values(path) == {**EXPECTED, 0: 9, 1: 9} and blocks_read(path) == 2


def killed(*_: object, **__: object) -> None:
    raise Killed


@EACH_LAYOUT
def test_a_run_that_died_is_undone_and_planned_anew(version: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    make(path, version)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(TimelineWriter, "complete", killed)
        log_compact(context_of(path, **TWO))
    (left,) = MetaClient.load(path).timeline.pending({LOG_COMPACTION})
    assert values(path) == EXPECTED and left.state.name == "INFLIGHT"
    (done,) = log_compact(context_of(path, **TWO))
    assert done.requested > left.requested and not MetaClient.load(path).timeline.pending()
    assert values(path) == EXPECTED and blocks_read(path) == 2


@EACH_LAYOUT
def test_a_run_that_fails_leaves_nothing(version: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    make(path, version)
    seen = files(path)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(HudiHiveError):
        patch.setattr(runs, "write_stats", lambda *_, **__: refuse())
        log_compact(context_of(path, **TWO))
    assert not MetaClient.load(path).timeline.pending({LOG_COMPACTION})
    assert values(path) == EXPECTED and blocks_read(path) == 4
    left = files(path) - seen
    # In version 6 blocks of an instant that is gone are made void, and stay.
    assert all(".log." in name for name in left) if version == 6 else not left


def refuse() -> None:
    raise UnsupportedTableError("this is not written")


def test_a_log_compaction_plan_is_dropped_after_a_compaction_of_its_slice(tmp_path: Path) -> None:
    path = tmp_path / "t"
    make(path, 9)
    planned = schedule_log_compaction(context_of(path, **TWO))
    assert planned is not None and schedule_compaction(context_of(path)) is None  # the file group is taken
    request = path / planned.path
    plan = request.read_bytes()
    request.unlink()
    assert len(compact(context_of(path))) == 1
    request.write_bytes(plan)
    assert execute_log_compaction(context_of(path), planned) is None
    assert not MetaClient.load(path).timeline.pending() and values(path) == EXPECTED


class Meanwhile(LocalExecutor):
    """An executor that does something before it starts the tasks of a log compaction."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__(1)
        self.act = act

    def map(self, function: Any, items: Any) -> Any:
        if function is log_compaction._merge_blocks:
            self.act()
        return super().map(function, items)


@EACH_LAYOUT
def test_a_write_that_comes_while_it_runs(version: int, tmp_path: Path) -> None:
    """It stands behind the block by its name; in version 6 names do not say so, and the log compaction gives way."""
    path = tmp_path / "t"
    make(path, version)
    late = Meanwhile(lambda: put(path, range(4, 6), 9))
    context = ServiceContext(MetaClient.load(path), TWO, late)
    if version == 6:
        with pytest.raises(WriteConflictError, match="was at the same file group"):
            log_compact(context)
    else:
        assert len(log_compact(context)) == 1
    assert values(path) == {**EXPECTED, 4: 9, 5: 9}
    assert blocks_read(path) == (5 if version == 6 else 3)
    assert not MetaClient.load(path).timeline.pending()


@EACH_LAYOUT
def test_a_write_that_began_before_gives_way(version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its log file would stand before the block that does not know it."""
    path = tmp_path / "t"
    make(path, version)
    append, done = write_tasks.append_log, []

    def first(*args: Any, **named: Any) -> Any:
        done.extend(log_compact(context_of(path, **TWO)))
        return append(*args, **named)

    monkeypatch.setattr(write_tasks, "append_log", first)
    with pytest.raises(WriteConflictError, match=r"was at the same file group"):
        put(path, range(4, 6), 9)
    assert len(done) == 1 and values(path) == EXPECTED


def test_what_is_refused(tmp_path: Path) -> None:
    cow = copy_of("v9_cow_nonpart", tmp_path)
    with pytest.raises(UnsupportedTableError, match="merge-on-read"):
        log_compact(context_of(cow))
    path = tmp_path / "t"
    payload = "org.apache.hudi.common.model.PartialUpdateAvroPayload"
    names: dict[str, Any] = {"record_keys": ["id"], "ordering_fields": ["ts"], "payload_class": payload}
    HudiTable.create(path, name="t", version=9, table_type="MERGE_ON_READ", **names)
    put(path, range(4), 1)
    put(path, range(4), 2)
    with pytest.raises(UnsupportedTableError, match="partial updates"):
        log_compact(context_of(path, **TWO))
    before = files(path)
    with pytest.raises(InvalidOptionError, match=r"hoodie\.log\.compaction\.inline"):
        put(path, range(4), 3, {**OFF, "hoodie.log.compaction.inline": "true"})
    assert files(path) == before


def test_behind_a_write_and_from_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "t"
    make(path, 9)
    report = put(path, range(2), 9, {**OFF, **TWO, "hoodie.log.compaction.inline": "true"})
    assert list(report.services.done) == ["log compaction"] and blocks_read(path) == 2
    put(path, range(2, 4), 9)
    more = ("--conf", "hoodie.log.compaction.blocks.threshold=2", "--format", "json")
    assert run("table", "log-compact", str(path), "--schedule", *more)
    (row,) = run("table", "log-compact", str(path), "--execute", *more)
    assert (row["operation"], row["files"], row["rows"]) == ("LOG_COMPACT", 1, 6) and blocks_read(path) == 2
    put(path, range(4, 6), 9)
    (row,) = run("table", "service", str(path), "--log-compact", *more)
    assert (row["service"], row["event"], row["detail"]) == ("log-compact", "done", "6 rows in 1 files")
    assert values(path) == {**EXPECTED, **dict.fromkeys(range(6), 9)}


def run(*words: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return rows


class LogLife(Life):
    """A table whose log blocks are merged now and then, by runs of which some die."""

    def make(self, path: Path, version: int, kind: str) -> None:
        self.options["hoodie.log.compaction.blocks.threshold"] = self.chance.choice(["2", "3"])
        super().make(path, version, kind)

    def acts(self) -> dict[Callable[[int], object], int]:
        more = {self.plan_logs: 8, self.log_compact: 14, self.run_logs: 6, self.die_in_logs: 5}
        return {**super().acts(), self.upsert: 40, self.delete: 14, self.compact: 4, self.plan_compaction: 4, **more}

    def archive(self, number: int) -> None:
        """Not past savepoints: restored to a table service alone, a table would not tell its schema."""
        short = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
        archival.archive_instants(self.context(short))

    def plan_logs(self, number: int) -> None:
        schedule_log_compaction(self.context())

    def log_compact(self, number: int) -> None:
        log_compact(self.context())

    def run_logs(self, number: int) -> None:
        log_compaction.run_planned_log_compactions(self.context())

    def die_in_logs(self, number: int) -> None:
        with pytest.MonkeyPatch.context() as patch, pytest.raises((Killed, HudiHiveError)):
            patch.setattr(TimelineWriter, "complete", killed)
            log_compact(self.context())
            raise Killed


LIVES = with_long_cases([(9, 0, 16)], [(number, seed, 40) for number in VERSIONS for seed in range(8)])
"""Versions of tables, seeds of their lives, and how many steps these have."""


@pytest.mark.parametrize(("number", "seed", "steps"), LIVES)
def test_rows_are_those_of_the_model(number: int, seed: int, steps: int, tmp_path: Path) -> None:
    life = LogLife(tmp_path / "t", seed, number, "MERGE_ON_READ")
    for step in range(steps):
        life.step(step)
