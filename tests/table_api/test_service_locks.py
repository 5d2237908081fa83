"""Every table service takes the table's lock: while another process holds it, the service waits, then is refused."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive import HudiTable
from hudi_hive.cli import cli
from hudi_hive.errors import LockTimeoutError
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.table import MetaClient
from hudi_hive.testing import FakeMetastore
from hudi_hive.timeline.core import InstantClock, TimelineWriter
from hudi_hive.write.coordination import table_lock
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import TableServices, run_inline_services
from tests.support.running.lock_holder import LockHolder
from tests.support.running.long import with_long_cases

QUIET = {
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
IMPATIENT = {
    "hoodie.write.lock.wait_time_ms": "0",
    "hoodie.write.lock.client.num_retries": "1",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "1",
}
PATIENT = {**IMPATIENT, "hoodie.write.lock.client.num_retries": "100000"}
PROVIDERS = {
    "folder": {},
    "file": {
        "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    },
    "metastore": {
        "hoodie.write.lock.provider": "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider",
        "hoodie.write.lock.hivemetastore.database": "db",
        "hoodie.write.lock.hivemetastore.table": "t",
    },
}
RETAIN_ONE = (("hoodie.clean.commits.retained", "1"),)


class Case(NamedTuple):
    """One service: as a method of the table, as the code that all callers share, and as a command.

    ``table`` names the table that has something to do for it; ``points`` are the instants of that table's savepoint
    and of its last commit.
    """

    table: str
    method: Callable[[HudiTable, dict[str, str], Points], object]
    service: Callable[[TableServices, Points], object]
    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()


class Points(NamedTuple):
    savepoint: str
    last: str


CASES = {
    "compact": Case("plain", lambda t, o, p: t.compact(o), lambda s, p: s.compact(), ("table", "compact")),
    "plan a compaction": Case(
        "plain",
        lambda t, o, p: t.compact(o, schedule=True),
        lambda s, p: s.compact(schedule=True),
        ("table", "compact", "--schedule"),
    ),
    "run a compaction": Case(
        "compaction planned",
        lambda t, o, p: t.compact(o, execute=True),
        lambda s, p: s.compact(execute=True),
        ("table", "compact", "--execute"),
    ),
    "cluster": Case("plain", lambda t, o, p: t.cluster(o), lambda s, p: s.cluster(), ("table", "cluster")),
    "plan a clustering": Case(
        "plain",
        lambda t, o, p: t.cluster(o, sort_columns=["n"], schedule=True),
        lambda s, p: s.cluster(sort_columns=["n"], schedule=True),
        ("table", "cluster", "--schedule", "--sort-columns", "n"),
    ),
    "run a clustering": Case(
        "clustering planned",
        lambda t, o, p: t.cluster(o, execute=True),
        lambda s, p: s.cluster(execute=True),
        ("table", "cluster", "--execute"),
    ),
    "clean": Case("compacted", lambda t, o, p: t.clean(o), lambda s, p: s.clean(), ("table", "clean"), RETAIN_ONE),
    "archive": Case("plain", lambda t, o, p: t.archive(o), lambda s, p: s.archive(), ("table", "archive")),
    "roll a write back": Case(
        "plain",
        lambda t, o, p: t.rollback(p.last, o),
        lambda s, p: s.rollback(p.last),
        ("table", "rollback", "--yes", "--instant", "LAST"),
    ),
    "roll dead writes back": Case(
        "write died",
        lambda t, o, p: t.rollback(None, o),
        lambda s, p: s.rollback(),
        ("table", "rollback", "--failed"),
    ),
    "create a savepoint": Case(
        "plain",
        lambda t, o, p: t.savepoint(None, o),
        lambda s, p: s.create_savepoint(),
        ("table", "savepoint"),
    ),
    "delete a savepoint": Case(
        "plain",
        lambda t, o, p: t.delete_savepoint(p.savepoint, o),
        lambda s, p: s.delete_savepoint(p.savepoint),
        ("table", "savepoint", "--delete", "--instant", "SAVEPOINT"),
    ),
    "restore": Case(
        "plain",
        lambda t, o, p: t.restore(p.savepoint, o),
        lambda s, p: s.restore(p.savepoint),
        ("table", "restore", "--yes", "--savepoint", "SAVEPOINT"),
    ),
    "create the metadata table": Case(
        "plain",
        lambda t, o, p: t.metadata.create(None, o),
        lambda s, p: s.metadata.create(),
        ("metadata", "create"),
    ),
    "add to the metadata table": Case(
        "plain",
        lambda t, o, p: t.metadata.init(["record_index"], o),
        lambda s, p: s.metadata.init(["record_index"]),
        ("metadata", "init", "--partition", "record_index"),
    ),
    "delete the metadata table": Case(
        "with metadata table",
        lambda t, o, p: t.metadata.delete(["column_stats"], o),
        lambda s, p: s.metadata.delete(["column_stats"]),
        ("metadata", "delete", "--partition", "column_stats"),
    ),
    "switch the metadata table on": Case(
        "plain",
        lambda t, o, p: t.metadata.set(True, o),
        lambda s, p: s.metadata.set(True),
        ("metadata", "set", "--on"),
    ),
    "switch the metadata table off": Case(
        "with metadata table",
        lambda t, o, p: t.metadata.set(False, o),
        lambda s, p: s.metadata.set(False),
        ("metadata", "set", "--off"),
    ),
}


def rows(*ids: str, n: int = 1) -> pa.Table:
    return pa.table({"id": list(ids), "n": [n] * len(ids)})


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tables in which each service has something to do, by name."""
    folder = tmp_path_factory.mktemp("services")
    paths = {name: folder / name for name in sorted({case.table for case in CASES.values()})}
    table = HudiTable.create(paths["plain"], name="t", table_type="MERGE_ON_READ", record_keys=["id"])
    table.bulk_insert(rows("a", "b"), QUIET)
    table.savepoint()
    table.upsert(rows("a", n=2), QUIET)
    table.bulk_insert(rows("c"), QUIET)
    table.bulk_insert(rows("d"), QUIET)
    for name, path in paths.items():
        if name != "plain":
            shutil.copytree(paths["plain"], path)
    compacted = HudiTable.open(paths["compacted"])
    compacted.compact()
    compacted.upsert(rows("a", n=3), QUIET)
    compacted.compact()
    HudiTable.open(paths["compaction planned"]).compact(schedule=True)
    HudiTable.open(paths["clustering planned"]).cluster(schedule=True)
    HudiTable.open(paths["with metadata table"]).metadata.create()
    client = MetaClient.load(paths["write died"])
    instant = InstantClock().new_instant(client.timeline, client.config.timezone)
    writer = TimelineWriter(client.storage, client.config)
    writer.create_requested("deltacommit", instant)
    writer.transition_inflight("deltacommit", instant)
    return paths


@pytest.fixture(scope="module", params=list(PROVIDERS))
def options(request: pytest.FixtureRequest) -> Any:
    """The options of each lock."""
    if request.param != "metastore":
        yield PROVIDERS[request.param]
        return
    with FakeMetastore() as metastore:
        yield {**PROVIDERS["metastore"], "hoodie.write.lock.hivemetastore.uris": metastore.uri}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each test puts its copy of a table: the holder of the lock goes by the path."""
    folder = tmp_path_factory.mktemp("locked") / "t"
    (folder / ".hoodie").mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def holder(path: Path, options: dict[str, str]) -> Any:
    with LockHolder(path, options) as process:
        yield process


def put(source: Path, path: Path) -> Points:
    """Copy a table's files into a folder, which stays the same one for who has it open."""
    for child in path.iterdir():
        if child.name != ".hoodie":
            shutil.rmtree(child) if child.is_dir() else child.unlink()
    for child in (path / ".hoodie").iterdir():
        shutil.rmtree(child) if child.is_dir() else child.unlink()
    shutil.copytree(source, path, dirs_exist_ok=True)
    table = HudiTable.open(path)
    last = table.timeline.last_completed_write()
    assert last is not None
    return Points(table.savepoints()[0].instant.requested, last.requested)


def contents(path: Path) -> dict[str, bytes]:
    """The files of a table but for those of locks and heartbeats, which come and go."""
    files = (child for child in path.rglob("*") if child.is_file() and child.parts[-2] != ".heartbeat")
    return {str(file.relative_to(path)): file.read_bytes() for file in files if file.name != "lock"}


@pytest.mark.parametrize(
    ("options", "name"),
    with_long_cases(
        # Cases of one lock behind each other, since they share the process that holds it.
        [(lock, name) for at, lock in enumerate(PROVIDERS) for name in list(CASES)[at :: len(PROVIDERS)]],
        itertools.product(PROVIDERS, CASES),
    ),
    indirect=["options"],
    scope="module",
)
def test_a_service_waits_for_the_lock_of_another_process_and_is_refused(name, tables, options, path, holder):
    case = CASES[name]
    points = put(tables[case.table], path)
    before = contents(path)
    table = HudiTable.open(path)
    moment = table.client
    given = {**options, **dict(case.options), **IMPATIENT}
    holder.take()
    try:
        with pytest.raises(LockTimeoutError, match="lock"):
            case.method(table, given, points)
        command = [{"LAST": points.last, "SAVEPOINT": points.savepoint}.get(word, word) for word in case.command]
        conf = [f"--conf={key}={value}" for key, value in given.items()]
        refused = CliRunner().invoke(cli, [*command, str(path), *conf])
        assert refused.exit_code == 1 and isinstance(refused.exception, LockTimeoutError), refused.output
        assert contents(path) == before
        assert table.client is moment
    finally:
        holder.release()

    waits: list[float] = []

    def sleep(seconds: float) -> None:
        if not waits:
            holder.release()
        waits.append(seconds)

    client = MetaClient.load(path)
    all_options = {**options, **dict(case.options), **PATIENT}
    lock = table_lock(all_options, client.storage, metastore=MetastoreLock.connect, sleep=sleep)
    holder.take()
    case.service(TableServices(ServiceContext(client, all_options, lock=lambda: lock)), points)
    assert waits
    assert contents(path) != before or name == "archive"  # which has too few instants to archive any


def test_inline_services_wait_for_the_lock_and_report_that_they_did_not_get_it(tables, options, path, holder):
    put(tables["plain"], path)
    before = contents(path)
    client = MetaClient.load(path)
    inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    inline |= {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
    given = {**options, **dict(RETAIN_ONE), **inline, **IMPATIENT}
    lock = table_lock(given, client.storage, metastore=MetastoreLock.connect)
    holder.take()
    try:
        report = run_inline_services(ServiceContext(client, given, lock=lambda: lock))
    finally:
        holder.release()
    assert sorted(report.failed) == ["archive", "clean", "clustering", "compaction"]
    assert all(isinstance(error, LockTimeoutError) for error in report.failed.values())
    assert contents(path) == before
