"""A storage that dies or fails at its n-th call, and what must hold of a table afterwards.

Every call of :class:`Storage` that reaches the file system counts. ``before`` ends the process ahead of the call,
``torn`` in the middle of it: half the bytes are there, the temporary file is not yet linked, part of a folder is gone.
The processes come from a fork server, so that one is a matter of milliseconds; ``SIGKILL`` ends them.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive import HudiTable
from hudi_hive.errors import StorageError, WriteError
from hudi_hive.metadata import MetadataListing
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import COMPLETED_WRITE_ACTIONS, RESTORE, ROLLBACK, SAVEPOINT
from hudi_hive.timeline.payloads import Fields, RollbackMetadata, decode_rollback_metadata
from hudi_hive.write.files import marked_files
from hudi_hive.write.rollback import keeps_plan
from hudi_hive.write.service_base import ServiceContext
from tests.support.faults.remote_path import copy_tree

CHANGES = (
    "write_bytes",
    "replace_bytes",
    "open_output",
    "create_if_absent",
    "create_dir",
    "delete",
    "delete_files",
    "delete_own",
    "delete_tree",
    "write_version",
    "copy",
)
"""Those that change something: a death ahead of another one leaves what a death ahead of the next of these leaves."""

CALLS = ("list", "status", "open_input", "read_version", *CHANGES)

_TORN = ("write_bytes", "open_output", "delete_tree")
_TORN_TOO = ("create_if_absent", "replace_bytes")
"""Half-way these leave nothing, or where files need a name at once a temporary file that nobody looks at."""

Act = Callable[[Path], Any]
"""What is done to the table at a path."""


class Calls:
    """Counts calls and does something at one of them."""

    def __init__(
        self, at: int | None = None, do: Callable[[str, Storage, tuple[Any, ...]], None] | None = None
    ) -> None:
        self.at, self.do = at, do
        self.names: list[str] = []
        self._lock = threading.Lock()

    def met(self, name: str, storage: Storage, arguments: tuple[Any, ...]) -> None:
        with self._lock:  # a writer calls from several threads
            number = len(self.names)
            self.names.append(name)
        if self.do is not None and number == self.at:
            self.do(name, storage, arguments)


@contextmanager
def watched(calls: Calls) -> Iterator[Calls]:
    """All storages of the process report their calls, not those that these make themselves."""
    originals = {name: getattr(Storage, name) for name in CALLS}
    within = threading.local()

    def wrap(name: str) -> Callable[..., Any]:
        original = originals[name]

        def call(self: Storage, *arguments: Any, **options: Any) -> Any:
            if getattr(within, "call", False):
                return original(self, *arguments, **options)
            calls.met(name, self, arguments)
            within.call = True
            try:
                return original(self, *arguments, **options)
            finally:
                within.call = False

        return call

    for name in CALLS:
        setattr(Storage, name, wrap(name))
    try:
        yield calls
    finally:
        for name, original in originals.items():
            setattr(Storage, name, original)


def _die(name: str, storage: Storage, arguments: tuple[Any, ...]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _tear(name: str, storage: Storage, arguments: tuple[Any, ...]) -> None:
    """Do half of a call that changes something, and end."""
    full = storage.full_path(arguments[0]) if arguments else storage.root
    if name in ("write_bytes", *_TORN_TOO):
        # A finished file is linked or moved into place: half of one never bears the final name.
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full if name == "write_bytes" else f"{os.path.dirname(full)}/.tmp-1-torn", "wb") as stream:
            stream.write(arguments[1][: len(arguments[1]) // 2])
    elif name == "open_output":
        os.makedirs(os.path.dirname(full), exist_ok=True)
        Path(full).write_bytes(b"PAR1")
    elif name == "delete_tree":
        first = next((path for path in sorted(Path(full).rglob("*")) if path.is_file()), None)
        if first is not None:
            first.unlink()
    os.kill(os.getpid(), signal.SIGKILL)


def _run(act: Act, path: Path, at: int | None, torn: bool, environment: dict[str, str]) -> None:
    os.environ |= environment  # the fork server may be older than a store's keys
    with watched(Calls(at, _tear if torn else _die)):
        act(path)
    os._exit(0)


def _server() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["hudi_hive.write.writers.local", "tests.support.faults.write_faults", "tests.support.faults.write_scenarios"]
    )
    return context


def killed(act: Act, path: Path, at: int, *, torn: bool = False) -> bool:
    """Do something in a process that ends at a call.

    Returns:
        Whether it was killed; false if it came to its end before.
    """
    environment = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    process = _server().Process(target=_run, args=(act, path, at, torn, environment))
    process.start()
    process.join()
    if process.exitcode not in (0, -signal.SIGKILL):
        raise AssertionError(f"the process failed by itself at call {at}: {process.exitcode}")
    return bool(process.exitcode == -signal.SIGKILL)


def kill_points(names: Sequence[str], *, reads: bool = False) -> list[tuple[int, bool]]:
    """Calls to die at, and whether half-way: every state of the disk that a death can leave.

    Args:
        names: the calls.
        reads: also where a death leaves no other state: calls that change nothing, but for the last one.
    """
    points = []
    for at, name in enumerate(names):
        if reads or name in CHANGES or at == len(names) - 1:
            points.append((at, False))
        if name in _TORN or (reads and name in _TORN_TOO):
            points.append((at, True))
    return points


def count_calls(act: Act, path: Path) -> list[str]:
    """Names of the calls that something makes."""
    with watched(Calls()) as calls:
        act(path)
    return calls.names


@contextmanager
def failing(at: int) -> Iterator[Calls]:
    """One call fails, by errors of several types in turn; all others work."""

    def fail(name: str, storage: Storage, arguments: tuple[Any, ...]) -> None:
        foreign = (KeyError("injected"), MemoryError("injected"), pa.ArrowInvalid("injected"), OSError(5, "injected"))
        if at % 5:
            raise foreign[at % 5 - 1]
        raise StorageError("injected fault", path=storage.uri(arguments[0] if arguments else ""))

    with watched(Calls(at, fail)) as calls:
        yield calls


# -- what must hold --------------------------------------------------------------------------------------------------


def client_of(path: Path, *, metadata: bool = True) -> MetaClient:
    return MetaClient.load(path, listing=MetadataListing() if metadata else None)


def rows_of(path: Path, *, metadata: bool = True) -> Rows:
    """Rows of a snapshot, sorted by key, without meta columns."""
    return _rows(HudiTable(client_of(path, metadata=metadata)).scan().to_arrow())


def _rows(table: pa.Table) -> Rows:
    names = [name for name in table.column_names if not name.startswith("_hoodie")]
    return sorted(table.select(names).to_pylist(), key=lambda row: str(row["id"]))


Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Scenario:
    """Something that is killed.

    Args:
        name: for people.
        prepare: makes the table.
        act: what is killed.
        probe: the next write, which repairs; of one new row.
        done: whether a table service has done its work; None: the act is none.
        again_first: the act is taken up again before anything else is written: what was killed is a command that
            people run, or no write is let in before it has ended.
        version: of the table.
        doubles: rows of the act come in again when it is done again.
        replaces_all: no other rows are left when it is done again.
        probe_more: columns that the row of the next write has in this scenario alone.
    """

    name: str
    prepare: Act
    act: Act
    probe: Act
    done: Callable[[Path], bool] | None = None
    again_first: bool = False
    version: int = 8
    doubles: bool = False
    replaces_all: bool = False
    probe_more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_service(self) -> bool:
        """Whether it is a table service."""
        return self.done is not None

    def is_done(self, path: Path) -> bool:
        """Whether the act has done its work; its rows tell of one that changes them."""
        return self.done is None or self.done(path)

    def states(self, folder: Path) -> States:
        """The prepared table, its rows before and after, and the calls between."""
        table, copy = folder / "table", folder / "after"
        self.prepare(table)
        before = rows_of(table)
        copy_tree(table, copy)
        calls = count_calls(self.act, copy)
        assert self.is_done(copy), "the act does not do what it is for"
        check_tidy(copy, services=True)
        return States(table, before, _earlier(table) if self.again_first else [], rows_of(copy), calls)


@dataclass(frozen=True)
class States:
    """What a scenario goes through.

    Args:
        table: the prepared table.
        before, after: its rows before the act and after it.
        between: rows that may show while the act is at work.
        calls: names of the act's calls.
    """

    table: Path
    before: Rows
    between: list[Rows]
    after: Rows
    calls: list[str]

    def name_of(self, rows: Rows) -> str:
        """``before``, ``between`` or ``after``."""
        if rows == self.after:
            return "after"
        if rows == self.before:
            return "before"
        assert rows in self.between, f"{len(rows)} rows, neither {len(self.before)} nor {len(self.after)} as they were"
        return "between"


def _earlier(table: Path) -> list[Rows]:
    """Rows at each commit: an act that undoes several of them goes back one by one."""
    client = client_of(table, metadata=False)
    times = [instant.requested for instant in client.timeline.write_instants()]
    return [_rows(HudiTable(client).scan(as_of=time).to_arrow()) for time in times]


def with_row(rows: Rows, *more: dict[str, Any]) -> Rows:
    """Rows and one more, sorted."""
    return sorted([*rows, *more], key=lambda row: str(row["id"]))


def check_after_kill(
    scenario: Scenario, path: Path, states: States, probe: dict[str, Any], *, again: bool = True
) -> str:
    """Readers see the last completed state; the next write repairs the rest; what was killed can be done again.

    Args:
        scenario: what was killed.
        path: the table.
        states: of the scenario.
        probe: the row of the next write.
        again: do again what was killed, and look at that too.

    Returns:
        ``before``, ``between`` or ``after``: which state the kill left.
    """
    probe = {**probe, **scenario.probe_more}
    found = rows_of(path, metadata=False)
    left = states.name_of(found)
    assert rows_of(path) == found, "the metadata table gives other rows than the folders"
    if scenario.again_first:
        _check_refused(scenario, path, found)
        scenario.act(path)
        check_rows(path, states.after, "done again")
        assert scenario.is_done(path), "what was killed has not been done"
    scenario.probe(path)
    expected = with_row(states.after if scenario.again_first else found, probe)
    check_rows(path, expected, "after the next write")
    check_tidy(path, services=scenario.again_first)
    if scenario.again_first or not again:
        return left
    scenario.act(path)
    more = [row for row in states.after if row not in states.before] if scenario.doubles and left == "after" else []
    check_rows(path, with_row(states.after, *([] if scenario.replaces_all else [probe]), *more), "done again")
    assert scenario.is_done(path), "what was killed has not been done"
    check_tidy(path, services=True)
    return left


def _check_refused(scenario: Scenario, path: Path, rows: Rows) -> None:
    """As long as a restore has not ended nothing is written."""
    if not client_of(path, metadata=False).timeline.pending({RESTORE}):
        return
    try:
        scenario.probe(path)
    except WriteError as error:
        assert "restore" in str(error), error
    else:
        raise AssertionError("a write was let in while a restore is pending")
    check_rows(path, rows, "after the refusal")


def check_rows(path: Path, expected: Rows, when: str) -> None:
    """Rows as expected, by indexes too; that both ways to list files give the same is of :func:`check_metadata`."""
    assert rows_of(path) == expected, when
    indexes = client_of(path).config.metadata_partitions
    if any(name.startswith(("secondary_index_", "expr_index_")) for name in indexes):
        for row in expected:
            value = pc.field("value")
            _check_index(path, row, pc.equal(value, row["value"]))
            has_length = pc.equal(pc.utf8_length(value), len(row["value"]))
            _check_index(path, row, has_length & pc.equal(pc.field("id"), row["id"]))
    for row in expected:
        if "place" in row:
            _check_index(path, row, pc.equal(pc.field("place", "inner", "name"), row["place"]["inner"]["name"]))


def _check_index(path: Path, row: dict[str, Any], row_filter: pc.Expression) -> None:
    """A filter that an index answers finds a row."""
    found = _rows(HudiTable(client_of(path)).scan(row_filter=row_filter).to_arrow())
    assert found == [row], f"{row_filter} finds {found}"


def check_tidy(path: Path, *, services: bool = False) -> None:
    """No write is pending, no marker or heartbeat is left, and every file has a commit.

    Args:
        path: the table.
        services: no table service is pending either; one that died keeps what it has until it is taken up again.
    """
    client = client_of(path, metadata=False)
    pending = client.timeline.pending(None if services else COMPLETED_WRITE_ACTIONS | {ROLLBACK})
    pending = tuple(instant for instant in pending if services or not keeps_plan(ServiceContext(client), instant))
    assert not pending, f"pending: {pending}"
    for folder in (".hoodie/.temp", ".hoodie/.heartbeat"):
        left = client.storage.list(folder, recursive=True, missing_ok=True)
        paths = left.filter(pc.invert(left["is_dir"]))["path"].to_pylist()
        waiting = {instant.requested for instant in client.timeline.pending()}
        paths = [path for path in paths if path.split("/")[2] not in waiting]
        assert not paths, f"left: {paths}"
    assert not (path / ".hoodie/lock").exists(), "the lock is left"
    orphans = files_without_commit(client)
    assert not orphans, f"files of no commit: {orphans}"
    check_metadata(path)


def files_without_commit(client: MetaClient) -> list[str]:
    """Data files that no commit or rollback names and no pending service has made."""
    timeline = client.timeline
    archived = timeline.archived()
    known: set[str] = set()
    commits = [timeline.commit_metadata(instant) for instant in timeline.write_instants()]
    writes = [i for i in archived.instants if i.is_completed and i.action in COMPLETED_WRITE_ACTIONS]
    for metadata in [*commits, *map(archived.commit_metadata, writes)]:
        for row in metadata.write_stats.select(["partition", "path", "log_files", "cdc_stats"]).to_pylist():
            known.add(row["path"])
            known |= {f"{row['partition']}/{name}".lstrip("/") for name in row["log_files"] or ()}
            known |= {name for name, _ in row["cdc_stats"] or ()}
    for undone in _undone(client):
        for partition, part in undone.partitions.items():
            # Log files of version 6 stay, with a command behind them.
            known |= {f"{partition}/{name}".lstrip("/") for name in (*part.command_logs, *part.failed_commit_logs)}
    files = client.list_files()
    # Where the file system has no files without a name, a death leaves a temporary one that nobody looks at.
    hidden = pc.or_(pc.starts_with(files["name"], ".hoodie_partition_metadata"), pc.starts_with(files["name"], ".tmp-"))
    files = files.filter(pc.invert(hidden))
    paths = pc.binary_join_element_wise(files["partition"], files["name"], "/")
    found = {path.lstrip("/") for path in paths.to_pylist()}
    return sorted(found - known - _pending_files(client, found))


def _pending_files(client: MetaClient, paths: Iterable[str]) -> set[str]:
    """Those of some data files that a service which died has made: they wait for it to be taken up again."""
    waiting = [instant.requested for instant in client.timeline.pending() if instant.action != SAVEPOINT]
    # Log files of version 6 name the instant of their slice, which may be a compaction's that others write behind;
    # markers tell who made them.
    if client.config.version == 6:
        paths = [path for path in paths if not path.rpartition("/")[2].startswith(".")]
    marked = [row for time in waiting for row in marked_files(client.storage, time).to_pylist()]
    found = {f"{row['partition']}/{row['name']}".lstrip("/") for row in marked}
    return found | {path for path in paths if any(f"_{time}." in path for time in waiting)}


def _undone(client: MetaClient) -> list[RollbackMetadata]:
    timeline = client.timeline
    found = [timeline.rollback_metadata(instant) for instant in timeline.completed({ROLLBACK})]
    archived = timeline.archived()
    for instant in archived.instants:
        if instant.action == ROLLBACK and instant.is_completed:
            record = archived.payload(instant)
            assert record is not None
            found.append(decode_rollback_metadata(Fields(record, instant.path, instant.requested), instant))
    for instant in timeline.completed({RESTORE}):
        found += [one for several in timeline.restore_metadata(instant).rollbacks.values() for one in several]
    return found


def check_metadata(path: Path) -> None:
    """The metadata table, if there is one, names the files that are there."""
    client = client_of(path)
    if "files" not in client.config.metadata_partitions:
        return
    listed = _names(client.list_files())
    there = _names(client_of(path, metadata=False).list_files())
    pending = _pending_files(client, [f"{partition}/{name}".lstrip("/") for partition, name, _ in there])
    there = {file for file in there if f"{file[0]}/{file[1]}".lstrip("/") not in pending}
    assert listed == there, f"metadata only: {sorted(listed - there)}, folders only: {sorted(there - listed)}"


def _names(files: pa.Table) -> set[tuple[str, str, int]]:
    rows = files.select(["partition", "name", "size"]).to_pylist()
    return {
        (row["partition"], row["name"], row["size"])
        for row in rows
        if not row["name"].startswith((".hoodie_partition_metadata", ".tmp-"))
    }
