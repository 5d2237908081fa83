"""Reports of syncs: per table and step, with counts and durations.

In come plans and the writer of a sync; out goes a ``SyncReport``. ``MeasuredWriter`` stands before the real writer and
writes down every change, so nothing that changes the metastore can be left out of the report.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from hudi_hive.metastore import Partition, Table
from hudi_hive.notebook_html import rows_html
from hudi_hive.sync.apply import CatalogWriter
from hudi_hive.sync.diff import SyncPlan, TablePlan

READ_TABLE = "read table"
PLAN = "plan"


@dataclass(frozen=True, slots=True)
class StepTime:
    """One kind of step of a sync on one metastore table.

    Attributes:
        table: ``database.table``; empty for reading the Hudi table, which is done once for all of them.
        step: ``read table``, ``plan``, ``create table``, ``alter table``, ``add partitions`` …
        objects: databases, tables or partitions that it was done for.
        calls: calls to the metastore meanwhile.
        seconds: how long it took.
    """

    table: str
    step: str
    objects: int
    calls: int
    seconds: float


class StepLog:
    """Adds up counts and durations, by table and step, in the order in which they first came.

    Args:
        calls: how many calls to the metastore were made so far.
        clock: seconds, for differences.
    """

    def __init__(self, calls: Callable[[], int], clock: Callable[[], float] = time.perf_counter) -> None:
        self._calls = calls
        self._clock = clock
        self._times: dict[tuple[str, str], StepTime] = {}

    @contextmanager
    def step(self, name: str, table: str = "", objects: int = 1) -> Iterator[None]:
        """Measure a block, also when it ends with an error."""
        calls, start = self._calls(), self._clock()
        try:
            yield
        finally:
            old = self._times.get((table, name), StepTime(table, name, 0, 0, 0.0))
            self._times[table, name] = StepTime(
                table,
                name,
                old.objects + objects,
                old.calls + self._calls() - calls,
                old.seconds + self._clock() - start,
            )

    def steps(self) -> tuple[StepTime, ...]:
        """The steps measured so far."""
        return tuple(self._times.values())


class MeasuredWriter:
    """A ``CatalogWriter`` that delegates to another one and measures it."""

    def __init__(self, writer: CatalogWriter, log: StepLog) -> None:
        self._writer = writer
        self._log = log

    def create_database(self, name: str, *, description: str) -> None:
        """As ``CatalogWriter``."""
        with self._log.step("create database", name):
            self._writer.create_database(name, description=description)

    def create_table(self, table: Table) -> None:
        """As ``CatalogWriter``."""
        with self._log.step("create table", f"{table.dbName}.{table.tableName}"):
            self._writer.create_table(table)

    def alter_table(
        self,
        database: str,
        name: str,
        table: Table,
        *,
        cascade: bool = False,
        expected: tuple[str, str] | None = None,
    ) -> None:
        """As ``CatalogWriter``."""
        with self._log.step("alter table", f"{database}.{name}"):
            self._writer.alter_table(database, name, table, cascade=cascade, expected=expected)

    def drop_table(self, database: str, name: str) -> None:
        """As ``CatalogWriter``."""
        with self._log.step("drop table", f"{database}.{name}"):
            self._writer.drop_table(database, name)

    def add_partitions(self, database: str, table: str, partitions: Sequence[Partition], *, batch_size: int) -> None:
        """As ``CatalogWriter``."""
        with self._log.step("add partitions", f"{database}.{table}", len(partitions)):
            self._writer.add_partitions(database, table, partitions, batch_size=batch_size)

    def alter_partitions(self, database: str, table: str, partitions: Sequence[Partition], *, batch_size: int) -> None:
        """As ``CatalogWriter``."""
        with self._log.step("alter partitions", f"{database}.{table}", len(partitions)):
            self._writer.alter_partitions(database, table, partitions, batch_size=batch_size)

    def touch_partitions(self, database: str, table: str, partitions: Sequence[Partition], *, batch_size: int) -> None:
        """As ``CatalogWriter``."""
        with self._log.step("touch partitions", f"{database}.{table}", len(partitions)):
            self._writer.touch_partitions(database, table, partitions, batch_size=batch_size)

    def drop_partitions(self, database: str, table: str, names: Sequence[str], *, batch_size: int) -> None:
        """As ``CatalogWriter``."""
        with self._log.step("drop partitions", f"{database}.{table}", len(names)):
            self._writer.drop_partitions(database, table, names, batch_size=batch_size)


@dataclass(frozen=True)
class SyncReport:
    """The report of a sync, or of a dry run.

    Attributes:
        plan: the steps, all of which were done unless ``dry_run``.
        dry_run: nothing was changed.
        calls: calls to the metastore, by Thrift method.
        steps: counts and durations by table and step.
        seconds: how long it all took.
        attempts: 1, or more where another sync of the table was at work at the same time.
    """

    plan: SyncPlan
    dry_run: bool
    calls: Mapping[str, int]
    steps: tuple[StepTime, ...] = field(default=(), compare=False)
    seconds: float = field(default=0.0, compare=False)
    attempts: int = 1

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the user, one line each."""
        return self.plan.warnings

    @property
    def is_noop(self) -> bool:
        """Whether there was nothing to do."""
        return self.plan.is_noop

    @property
    def total_calls(self) -> int:
        """Calls to the metastore of all kinds."""
        return sum(self.calls.values())

    def _repr_html_(self) -> str:
        rows = self.rows()
        title = f"SyncReport{' (dry run)' if self.dry_run else ''}: {self.total_calls:,} metastore calls"
        return rows_html(title, list(rows[0]) if rows else [], [list(row.values()) for row in rows], len(rows))

    def rows(self) -> list[dict[str, object]]:
        """One row per metastore table: what happened to it, to its partitions, and the stamp."""
        return [_summary(table) for table in self.plan.tables]

    def step_rows(self) -> list[dict[str, object]]:
        """One row per step with its count and duration, as ``table, step, objects, calls, seconds``."""
        return [
            {
                "table": item.table,
                "step": item.step,
                "objects": item.objects,
                "calls": item.calls,
                "seconds": round(item.seconds, 3),
            }
            for item in self.steps
        ]

    def line(self) -> str:
        """The report in a few words: what changed, calls and seconds."""
        rows = self.rows()
        names = ", ".join(str(row["table"]) for row in rows)
        done = [f"{row_sum} {word}" for word in ("added", "moved", "dropped") if (row_sum := _total(rows, word))]
        columns = _total(rows, "columns_changed")
        done += [f"{columns} columns changed"] if columns else []
        done += [
            f"{table.spec.name} {table.action}d" for table in self.plan.tables if table.action in ("create", "recreate")
        ]
        what = ", ".join(done) or ("nothing to do" if self.is_noop else "definition or stamp only")
        return f"{names}: {what} ({self.total_calls} calls, {self.seconds:.2f} s)"


def _total(rows: Sequence[Mapping[str, object]], column: str) -> int:
    return sum(value for row in rows if isinstance(value := row[column], int))


def _summary(table: TablePlan) -> dict[str, object]:
    partitions = table.partitions
    return {
        "table": table.spec.full_name,
        "shows": table.spec.view.value,
        "action": table.action,
        "comparison": table.comparison,
        "reason": table.reason,
        "added": partitions.add.num_rows,
        "moved": partitions.move.num_rows,
        "dropped": partitions.drop.num_rows,
        "touched": partitions.touch.num_rows,
        "unchanged": partitions.unchanged,
        "columns_changed": len(table.columns),
        "last_commit_time_sync": table.stamp.requested if table.stamp is not None else "",
    }
