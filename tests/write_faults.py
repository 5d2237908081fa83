"""A storage that dies or fails at its n-th call, and what must hold of a table afterwards.

Every call of :class:`Storage` that reaches the file system counts. ``before`` ends the process ahead of the call,
``torn`` in the middle of it: half the bytes are there, the temporary file is not yet linked, part of a folder is gone.
The processes come from a fork server, so that one is a matter of milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive import HudiTable
from hudi_hive.errors import StorageError
from hudi_hive.metadata import MetadataListing
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.timeline import State
from hudi_hive.timeline.instant import COMPLETED_WRITE_ACTIONS, ROLLBACK

CALLS = (
    "list",
    "_info",
    "open_input",
    "write_bytes",
    "open_output",
    "create_if_absent",
    "create_dir",
    "delete",
    "delete_tree",
)
_EXIT = 77

Act = Callable[[Path], Any]
"""What is done to the table at a path."""


class Calls:
    """Counts calls and does something at one of them."""

    def __init__(
        self, at: int | None = None, do: Callable[[str, Storage, tuple[Any, ...]], None] | None = None
    ) -> None:
        self.at, self.do = at, do
        self.names: list[str] = []

    def met(self, name: str, storage: Storage, arguments: tuple[Any, ...]) -> None:
        self.names.append(name)
        if self.do is not None and len(self.names) - 1 == self.at:
            self.do(name, storage, arguments)


@contextmanager
def watched(calls: Calls) -> Iterator[Calls]:
    """All storages of the process report their calls; for one thread."""
    originals = {name: getattr(Storage, name) for name in CALLS}
    depth = [0]

    def wrap(name: str) -> Callable[..., Any]:
        original = originals[name]

        def call(self: Storage, *arguments: Any, **options: Any) -> Any:
            if depth[0]:
                return original(self, *arguments, **options)
            calls.met(name, self, arguments)
            depth[0] += 1
            try:
                return original(self, *arguments, **options)
            finally:
                depth[0] -= 1

        return call

    for name in CALLS:
        setattr(Storage, name, wrap(name))
    try:
        yield calls
    finally:
        for name, original in originals.items():
            setattr(Storage, name, original)


def _die(name: str, storage: Storage, arguments: tuple[Any, ...]) -> None:
    os._exit(_EXIT)


def _tear(name: str, storage: Storage, arguments: tuple[Any, ...]) -> None:
    """Do half of a call that changes something, and end."""
    full = storage.full_path(arguments[0]) if arguments else storage.root
    if name in ("write_bytes", "create_if_absent"):
        # A finished file is linked into place: half of one never bears the final name.
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full if name == "write_bytes" else f"{full}.1.torn.tmp", "wb") as stream:
            stream.write(arguments[1][: len(arguments[1]) // 2])
    elif name == "open_output":
        os.makedirs(os.path.dirname(full), exist_ok=True)
        Path(full).write_bytes(b"PAR1")
    elif name == "delete_tree":
        first = next((path for path in sorted(Path(full).rglob("*")) if path.is_file()), None)
        if first is not None:
            first.unlink()
    os._exit(_EXIT)


def _run(act: Act, path: Path, at: int | None, torn: bool) -> None:
    with watched(Calls(at, _tear if torn else _die)):
        act(path)
    os._exit(0)


def _server() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hudi_hive.write.local", "tests.write_faults", "tests.write_scenarios"])
    return context


def killed(act: Act, path: Path, at: int, *, torn: bool = False) -> bool:
    """Do something in a process that ends at a call.

    Returns:
        Whether it was killed; false if it came to its end before.
    """
    process = _server().Process(target=_run, args=(act, path, at, torn))
    process.start()
    process.join()
    if process.exitcode not in (0, _EXIT):
        raise AssertionError(f"the process failed by itself at call {at}: {process.exitcode}")
    return bool(process.exitcode == _EXIT)


def count_calls(act: Act, path: Path) -> list[str]:
    """Names of the calls that something makes."""
    with watched(Calls()) as calls:
        act(path)
    return calls.names


@contextmanager
def failing(at: int) -> Iterator[Calls]:
    """One call fails, all others work."""

    def fail(name: str, storage: Storage, arguments: tuple[Any, ...]) -> None:
        raise StorageError("injected fault", path=storage.uri(arguments[0] if arguments else ""))

    with watched(Calls(at, fail)) as calls:
        yield calls


# -- what must hold --------------------------------------------------------------------------------------------------


def client_of(path: Path, *, metadata: bool = True) -> MetaClient:
    return MetaClient.load(path, listing=MetadataListing() if metadata else None)


def rows_of(path: Path, *, metadata: bool = True) -> list[dict[str, Any]]:
    """Rows of a snapshot, sorted by key, without meta columns."""
    table = HudiTable(client_of(path, metadata=metadata)).scan().to_arrow()
    names = [name for name in table.column_names if not name.startswith("_hoodie")]
    return sorted(table.select(names).to_pylist(), key=lambda row: str(row["id"]))


@dataclass(frozen=True)
class Scenario:
    """Something that is killed.

    Args:
        name: for people.
        prepare: makes the table.
        act: what is killed.
        probe: the next write, which repairs; of one new row.
    """

    name: str
    prepare: Act
    act: Act
    probe: Act

    def states(self, folder: Path) -> tuple[Path, list[dict[str, Any]], list[dict[str, Any]], int]:
        """The prepared table, its rows before and after, and the number of calls between."""
        table, copy = folder / "table", folder / "after"
        self.prepare(table)
        before = rows_of(table)
        shutil.copytree(table, copy)
        calls = count_calls(self.act, copy)
        return table, before, rows_of(copy), len(calls)


def check_after_kill(scenario: Scenario, path: Path, before: list[Any], after: list[Any], probe: dict[str, Any]) -> str:
    """Readers see the last completed state; the next write repairs the rest; what was killed can be done again.

    Returns:
        ``before`` or ``after``: which state the kill left.
    """
    found = rows_of(path, metadata=False)
    assert found in (before, after), f"{len(found)} rows, neither {len(before)} nor {len(after)} as they were"
    assert rows_of(path) == found, "the metadata table gives other rows than the folders"
    scenario.probe(path)
    expected = sorted([*found, probe], key=lambda row: str(row["id"]))
    for metadata in (False, True):
        assert rows_of(path, metadata=metadata) == expected, f"after the next write, metadata {metadata}"
    check_tidy(path)
    scenario.act(path)
    expected = sorted([*after, probe], key=lambda row: str(row["id"]))
    for metadata in (False, True):
        assert rows_of(path, metadata=metadata) == expected, f"done again, metadata {metadata}"
    check_tidy(path)
    return "before" if found == before and before != after else "after"


def check_tidy(path: Path) -> None:
    """No write is pending, no marker or heartbeat is left, and every file has a commit."""
    client = client_of(path, metadata=False)
    pending = client.timeline.pending(COMPLETED_WRITE_ACTIONS | {ROLLBACK})
    assert not pending, f"pending: {pending}"
    for folder in (".hoodie/.temp", ".hoodie/.heartbeat"):
        left = client.storage.list(folder, recursive=True, missing_ok=True)
        paths = left.filter(pc.invert(left["is_dir"]))["path"].to_pylist()
        # A service that died keeps what it has until it is taken up again.
        waiting = {instant.requested for instant in client.timeline.pending()}
        paths = [path for path in paths if path.split("/")[2] not in waiting]
        assert not paths, f"left: {paths}"
    assert not (path / ".hoodie/lock").exists(), "the lock is left"
    orphans = files_without_commit(client)
    assert not orphans, f"files of no commit: {orphans}"
    check_metadata(path)


def files_without_commit(client: MetaClient) -> list[str]:
    """Data files that no commit or rollback of the active timeline names and no pending service has made."""
    timeline = client.timeline
    known: set[str] = set()
    for instant in timeline.write_instants():
        metadata = timeline.commit_metadata(instant)
        for row in metadata.write_stats.select(["partition", "path", "log_files", "cdc_stats"]).to_pylist():
            known.add(row["path"])
            known |= {f"{row['partition']}/{name}".lstrip("/") for name in row["log_files"] or ()}
            known |= {name for name, _ in row["cdc_stats"] or ()}
    for instant in timeline.completed({ROLLBACK}):
        for partition, part in timeline.rollback_metadata(instant).partitions.items():
            # Log files of version 6 stay, with a command behind them.
            known |= {f"{partition}/{name}".lstrip("/") for name in (*part.command_logs, *part.failed_commit_logs)}
    files = client.list_files()
    files = files.filter(pc.invert(pc.starts_with(files["name"], ".hoodie_partition_metadata")))
    paths = pc.binary_join_element_wise(files["partition"], files["name"], "/")
    # What a service that died has made waits for it to be taken up again.
    waiting = tuple(f"_{instant.requested}." for instant in timeline.pending())
    found = {path.lstrip("/") for path in paths.to_pylist() if not any(time in path for time in waiting)}
    return sorted(found - known)


def check_metadata(path: Path) -> None:
    """The metadata table, if there is one, names the files that are there."""
    client = client_of(path)
    if "files" not in client.config.metadata_partitions:
        return
    listed = _names(client.list_files())
    waiting = tuple(f"_{instant.requested}." for instant in client.timeline.pending())
    there = _names(client_of(path, metadata=False).list_files())
    there = {file for file in there if not any(time in file[1] for time in waiting)}
    assert listed == there, f"metadata only: {sorted(listed - there)}, folders only: {sorted(there - listed)}"


def _names(files: pa.Table) -> set[tuple[str, str, int]]:
    rows = files.select(["partition", "name", "size"]).to_pylist()
    return {
        (row["partition"], row["name"], row["size"])
        for row in rows
        if not row["name"].startswith(".hoodie_partition_metadata")
    }


def pending_states(path: Path) -> list[State]:
    """States of what is pending on the timeline."""
    return [instant.state for instant in client_of(path, metadata=False).timeline.pending()]
