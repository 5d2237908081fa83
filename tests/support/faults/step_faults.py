"""Errors of any type in any step of a write: before the commit the table is as it was, behind it the write stands.

The steps are functions of the writer that is at work, wrapped where its modules look them up. At one call of one of
them an exception is raised, ahead of the call or when it has done its work. Whether that was behind the commit is seen
on the disk: by the completed file of a write that was not there before.
"""

from __future__ import annotations

import errno
import importlib
import os
import random
import shutil
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError
from hudi_hive.table.core import TableDefinition, create_table
from hudi_hive.timeline.instants import COMPLETED_WRITE_ACTIONS, parse_instant_name
from tests.support.faults.write_acts import PROBE, SEVERAL_WRITERS, rows
from tests.support.faults.write_faults import CALLS, Rows, check_tidy, rows_of, with_row
from tests.support.faults.write_scenarios import ALL_SERVICES


class CallersError(Exception):
    """An exception of a caller's class, which cannot even be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


KINDS: dict[str, Callable[[], BaseException]] = {
    "OSError": lambda: OSError(errno.EIO, "injected"),
    "KeyError": lambda: KeyError("injected"),
    "RuntimeError": lambda: RuntimeError("injected"),
    "ArrowInvalid": lambda: pa.ArrowInvalid("injected"),
    "MemoryError": lambda: MemoryError("injected"),
    "CallersError": CallersError,
}
INTERRUPTS: dict[str, Callable[[], BaseException]] = {
    "KeyboardInterrupt": lambda: KeyboardInterrupt("injected"),
    "SystemExit": lambda: SystemExit(3),
    "GeneratorExit": GeneratorExit,
}

_NAMES_OF_MODULES: dict[str, str] = {
    "hudi_hive.write.commit.transaction": "rollback_failed_writes rollback check_conflicts encode_commit write_stats"
    " metadata_changes remove_unclaimed remove_markers next_versions"
    " WriteTransaction._announce WriteTransaction.commit WriteTransaction._tidy WriteTransaction._operation_of",
    "hudi_hive.write.writers.base": "write_context_of run_write_task joined run_inline_services"
    " TableCommitter.run_services",
    "hudi_hive.write.writers.local": "prepare_records newest_slices refuse_clustered_groups",
    "hudi_hive.write.writers.file_groups": "assign_inserts",
    "hudi_hive.write.writers.report": "WriteReport.of",
    "hudi_hive.write.coordination.locks.table_lock": "TableLock.acquire TableLock.verify TableLock.release",
    "hudi_hive.write.coordination.heartbeat": "WriterHeartbeat.start WriterHeartbeat.verify WriterHeartbeat.stop",
    "hudi_hive.write.coordination.executor": "LocalExecutor.map",
    "hudi_hive.write.files.context": "ensure_partition create_marker",
    "hudi_hive.timeline.core.writer": "TimelineWriter.create_requested TimelineWriter.transition_inflight"
    " TimelineWriter.complete TimelineWriter.delete TimelineWriter._create",
    "hudi_hive.timeline.core.instant_times": "InstantClock.new_instant InstantClock.completion_time",
    "hudi_hive.metadata.writer.writer": "MetadataWriter.check MetadataWriter.open MetadataWriter.apply"
    " MetadataWriter._repaired run_services",
    "hudi_hive.metadata.writer.making": "MetadataMaker.initialise",
    "hudi_hive.metadata.writer.store": "MetadataStore.delta_commit write_hfile",
    "hudi_hive.table.core.meta_client": "MetaClient.reload",
    "hudi_hive.timeline.core.timeline": "Timeline.load",
    "hudi_hive.write.services.table_services": "TableServices.clean TableServices.compact TableServices.cluster",
    "hudi_hive.write.services.inline": "archive_instants compaction_is_due _clean _archive _compaction _clustering",
    "hudi_hive.write.services.cleaning": "plan_clean execute_clean _cleaned _delete_files _drop_partitions"
    " encode_clean_metadata",
    "hudi_hive.write.services.compaction": "schedule_compaction execute_compaction _run _compact_slice",
    "hudi_hive.write.services.clustering": "schedule_clustering execute_clustering _run _cluster_group",
    "hudi_hive.write.service_base.context": "ServiceContext.reload ServiceContext.complete",
    "hudi_hive.write.rollback.rollback_action": "undo forget",
    "hudi_hive.timeline.archival.archive_writer": "select_instants _archive_writer _first_showing",
    "hudi_hive.storage.storage": " ".join(f"Storage.{name}" for name in CALLS),
}
STEPS: tuple[str, ...] = tuple(
    f"{module}:{name}" for module, names in _NAMES_OF_MODULES.items() for name in names.split()
)
"""Module, and the function or method in it that is wrapped."""


@dataclass(frozen=True)
class Fault:
    """Which call fails, and how.

    Args:
        at: number of the call among all calls of all steps.
        kind: name of the exception.
        behind: when the call has done its work, not ahead of it.
    """

    at: int
    kind: str
    behind: bool


class Injected:
    """Calls of the steps, and the fault among them.

    Attributes:
        names: the calls so far.
        stands: at the time of the fault: the write was complete.
        where: the stack at the fault.
    """

    def __init__(self, path: Path, fault: Fault | None = None) -> None:
        self.names: list[str] = []
        self.stands: bool | None = None
        self.where = ""
        self._path = path
        self._fault = fault
        self._before = completed_writes(path)
        self._lock = threading.Lock()

    def begun(self, name: str) -> int:
        """Count a call; its number among all calls of all steps."""
        with self._lock:  # steps are called from several threads
            self.names.append(name)
            return len(self.names) - 1

    def met(self, name: str, *, behind: bool, at: int) -> None:
        fault = self._fault
        if fault is None or (at, behind) != (fault.at, fault.behind) or self.stands is not None:
            return
        self.stands = bool(completed_writes(self._path) - self._before)
        self.where = "".join(traceback.format_stack(limit=14)[:-2])
        raise (KINDS | INTERRUPTS)[fault.kind]()


def completed_writes(path: Path) -> set[str]:
    """Requested times of the table's own writes that are complete, compactions and clusterings among them."""
    found = set()
    for folder, layout in ((path / ".hoodie", 1), (path / ".hoodie/timeline", 2)):
        for name in os.listdir(folder) if folder.is_dir() else ():
            instant = parse_instant_name(name, layout)
            if instant is not None and instant.is_completed and instant.action in COMPLETED_WRITE_ACTIONS:
                found.add(instant.requested)
    return found


@contextmanager
def injected(faults: Injected) -> Iterator[Injected]:
    """All steps report their calls."""
    undo = []
    for step in STEPS:
        owner, name = _place(step)
        plain = owner.__dict__[name] if isinstance(owner, type) else getattr(owner, name)
        undo.append((owner, name, plain))
        setattr(owner, name, _wrapped(step, plain, faults))
    try:
        yield faults
    finally:
        for owner, name, plain in undo:
            setattr(owner, name, plain)


def _place(step: str) -> tuple[Any, str]:
    module, _, attribute = step.partition(":")
    owner: Any = importlib.import_module(module)
    *classes, name = attribute.split(".")
    for part in classes:
        owner = getattr(owner, part)
    return owner, name


def _wrapped(step: str, plain: Any, faults: Injected) -> Any:
    kind = type(plain) if isinstance(plain, (classmethod, staticmethod)) else None
    function = plain.__func__ if kind is not None else plain

    def call(*arguments: Any, **options: Any) -> Any:
        at = faults.begun(step)
        faults.met(step, behind=False, at=at)
        result = function(*arguments, **options)
        faults.met(step, behind=True, at=at)
        return result

    return call if kind is None else kind(call)


# -- what is done ----------------------------------------------------------------------------------------------------


Act = Callable[[Path, Mapping[str, str]], Any]


def _changed(method: str, table: pa.Table | None, path: Path, options: Mapping[str, str]) -> Any:
    return getattr(HudiTable.open(path), method)(table, dict(options))


def _dropped(path: Path, options: Mapping[str, str]) -> Any:
    return HudiTable.open(path).delete_partitions(["y"], dict(options))


def _altered(path: Path, options: Mapping[str, str]) -> Any:
    kept = {key: value for key, value in options.items() if "inline" not in key}
    return HudiTable.open(path).update_schema(kept).add("more", "string").commit()


def _mutated(path: Path, options: Mapping[str, str]) -> Any:
    with HudiTable.open(path).mutator(dict(options)) as client, client.new_transaction() as transaction:
        coordinator = transaction.coordinator()
        coordinator.update(["y"], rows(5, "a").to_pylist()[0])
        coordinator.insert(["y"], rows(5, "e").to_pylist()[0])
    return transaction.report


ACTS: dict[str, Act] = {
    "upsert": partial(_changed, "upsert", rows(5, "a", "dd", "e")),
    "insert": partial(_changed, "insert", rows(6, "n", "pp")),
    "bulk_insert": partial(_changed, "bulk_insert", rows(6, "o", "pp")),
    "delete": partial(_changed, "delete", rows(5, "a", "dd")),
    "insert_overwrite": partial(_changed, "insert_overwrite", rows(5, "n")),
    "insert_overwrite_table": partial(_changed, "insert_overwrite_table", rows(5, "n")),
    "delete_partitions": _dropped,
    "alter": _altered,
    "mutation": _mutated,
}
OPTIONS: dict[str, dict[str, str]] = {
    "services": ALL_SERVICES,
    "several": {**SEVERAL_WRITERS, **ALL_SERVICES},
    "plain": {"hoodie.metadata.enable": "false"},
}


@dataclass(frozen=True)
class Case:
    """A write on a table.

    Args:
        act: name of the write.
        kind, version: of the table.
        options: name of the write options.
    """

    act: str
    kind: str
    version: int
    options: str

    def __str__(self) -> str:
        return f"{self.act}-{self.kind[:4].lower()}-{self.version}-{self.options}"

    def run(self, path: Path) -> Any:
        """Do it."""
        return ACTS[self.act](path, OPTIONS[self.options])

    def states(self, folder: Path) -> States:
        """The table before it and the rows behind it, and the calls of the steps."""
        table, copy = folder / "table", folder / "after"
        create_table(
            table,
            TableDefinition(
                name="t",
                table_type=self.kind,
                version=self.version,
                record_keys=["id"],
                partition_fields=["part"],
                ordering_fields=["ts"],
            ),
        )
        quiet = {**OPTIONS[self.options], "hoodie.compact.inline": "false", "hoodie.clustering.inline": "false"}
        for table_rows in (rows(1, "a", "b", "cc", "dd"), rows(2, "a", "cc"), rows(3, "b")):
            HudiTable.open(table).upsert(table_rows, quiet)
        shutil.copytree(table, copy)
        with injected(Injected(copy)) as faults:
            report = self.run(copy)
        assert not report.failed, report.failed
        return States(table, rows_of(table), rows_of(copy), tuple(faults.names))


@dataclass(frozen=True)
class States:
    """What a case goes through: the prepared table, its rows before and after, the calls between."""

    table: Path
    before: Rows
    after: Rows
    calls: Sequence[str]

    def faults(self, seed: int, most: int | None, kinds: Sequence[str]) -> list[Fault]:
        """Calls to fail at, ahead and behind, each by one of the kinds: all of them, or some that a seed draws."""
        draw = random.Random(seed)
        found = [Fault(at, draw.choice(kinds), behind) for at in range(len(self.calls)) for behind in (False, True)]
        return found if most is None else draw.sample(found, min(most, len(found)))


def check(case: Case, states: States, copy: Path, fault: Fault) -> str:
    """One fault: acknowledged and there, or raised and not there; the next write goes well.

    Returns:
        ``acknowledged``, ``reported``, ``interrupted`` (behind the commit), ``refused``, or ``passed`` where the call
        was not made.
    """
    shutil.copytree(states.table, copy)
    with injected(Injected(copy, fault)) as faults:
        try:
            report, error = case.run(copy), None
        except BaseException as raised:
            report, error = None, raised
    outcome = _outcome(states, faults, fault, report, error, copy)
    expected = states.before if outcome == "refused" else states.after
    for beat in (copy / ".hoodie/.heartbeat").glob("*"):
        os.utime(beat, (0, 0))  # this process lives, so that one that could not be deleted would count as beating
    probe = HudiTable.open(copy).upsert(pa.Table.from_pylist([PROBE], rows(1, "a").schema), OPTIONS[case.options])
    assert not probe.failed, f"the next write: {probe.failed}"
    assert _plain(rows_of(copy)) == _plain(with_row(expected, PROBE)), "after the next write"
    check_tidy(copy)
    return outcome


def _outcome(
    states: States, faults: Injected, fault: Fault, report: Any, error: BaseException | None, copy: Path
) -> str:
    found = rows_of(copy, metadata=False)
    if error is None:
        assert found == states.after, f"acknowledged, and the rows are others\n{faults.where}"
        for why in report.failed.values():
            assert isinstance(why, HudiHiveError) and str(why), "a failure of another tree"
        return "reported" if report.failed else ("passed" if faults.stands is None else "acknowledged")
    if not isinstance(error, Exception) and faults.stands:
        assert found == states.after, f"interrupted behind the commit, and the rows are others\n{faults.where}"
        assert any("is complete" in note for note in error.__notes__), "nothing says that the commit stands"
        return "interrupted"
    assert not faults.stands, f"raised behind the commit: {type(error)}\n{faults.where}"
    assert found == states.before, f"raised {type(error)}, and the rows are others\n{faults.where}"
    assert rows_of(copy) == states.before, "raised, and the metadata table gives other rows"
    return "refused"


def _plain(rows: Rows) -> Rows:
    """Rows without columns that are null: a change of the schema brings one."""
    return [{name: value for name, value in row.items() if value is not None} for row in rows]
