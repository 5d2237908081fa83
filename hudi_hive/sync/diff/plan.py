"""Sync plans, as values that can be printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hudi_hive.metastore import Table
from hudi_hive.sync.diff.changes import LastSync
from hudi_hive.sync.diff.partition_diff import PartitionDiff, no_partitions
from hudi_hive.sync.diff.schema_diff import ColumnChange, normal_type
from hudi_hive.sync.table import TableSpec, join, same_location

ROW_COLUMNS = ("table", "step", "object", "detail")

CREATE = "create"
RECREATE = "recreate"
ALTER = "alter"
KEEP = "keep"


@dataclass(frozen=True)
class TablePlan:
    """The plan of a sync for one metastore table.

    Attributes:
        spec: the table as it is to be.
        existing: the table as the metastore has it, None when there is none.
        action: ``create``, ``recreate`` (drop it, data stays, and create it), ``alter`` or ``keep``.
        create_database: whether the database has to be created first.
        columns: columns that change; a renamed one is dropped and added.
        renames: new names of renamed columns -> those that the metastore has.
        parameters, comments: table parameters and column comments that change.
        outdated: table parameters that go.
        serde: whether SerDe parameters or class names change.
        buckets: whether bucket columns or their number change.
        moved_from: the location that the table has now, when it is another one.
        comparison: ``full``, ``incremental`` or ``none``: how partitions were compared, and ``reason`` why.
        partitions: what to add, move and drop.
        stamp_before, stamp: what the last sync stamped, what this one will; None: nothing was ever committed.
        move_stamp: whether the stamp is to be written.
        warnings: what the user should know, one line each.
    """

    spec: TableSpec
    existing: Table | None = field(repr=False)
    action: str
    create_database: bool = False
    columns: tuple[ColumnChange, ...] = ()
    renames: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    comments: Mapping[str, str] = field(default_factory=dict, repr=False)
    outdated: tuple[str, ...] = ()
    serde: bool = False
    buckets: bool = False
    moved_from: str | None = None
    comparison: str = "none"
    reason: str = ""
    partitions: PartitionDiff = field(default_factory=no_partitions, repr=False)
    stamp_before: LastSync | None = None
    stamp: LastSync | None = None
    move_stamp: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def changes_table(self) -> bool:
        """Whether the definition of an existing table changes, the stamp apart."""
        return bool(
            self.columns
            or self.parameters
            or self.comments
            or self.outdated
            or self.serde
            or self.buckets
            or self.moved_from is not None
        )

    @property
    def is_noop(self) -> bool:
        """Whether the plan changes nothing."""
        return self.action == KEEP and self.partitions.is_empty

    def rows(self) -> Iterator[dict[str, str]]:
        """One row per step, in the order of their doing: ``table``, ``step``, ``object``, ``detail``."""
        for step, name, detail in self._steps():
            yield dict(zip(ROW_COLUMNS, (self.spec.full_name, step, name, detail), strict=True))

    def _steps(self) -> Iterator[tuple[str, str, str]]:
        spec = self.spec
        if self.create_database:
            yield "create database", spec.database, ""
        if self.action == RECREATE:
            yield "drop table", spec.name, "its data stays"
        if self.action in (CREATE, RECREATE):
            kind = "managed" if spec.managed else "external"
            detail = f"{kind}, {len(spec.columns)} columns, {spec.view.value}, at {spec.base_path}"
            yield "create table", spec.name, detail
        if self.moved_from is not None:
            yield "move table", spec.base_path, f"from {self.moved_from}"
        yield from self._column_steps()
        for name, value in self.parameters.items():
            yield "set parameter", name, value if len(value) <= 60 else f"{value[:57]}..."
        for name in self.outdated:
            yield "remove parameter", name, ""
        for name, text in self.comments.items():
            yield "set comment", name, text
        if self.serde:
            yield "set SerDe", spec.classes.serde, spec.classes.input_format
        if self.buckets and spec.buckets is not None:
            yield "set buckets", ", ".join(spec.buckets.columns), f"{spec.buckets.count} buckets"
        yield from self._partition_steps()
        if self.move_stamp and self.stamp is not None:
            before = self.stamp_before.requested if self.stamp_before is not None else None
            yield "stamp", "last_commit_time_sync", _from_to(before, self.stamp.requested)

    def _column_steps(self) -> Iterator[tuple[str, str, str]]:
        old = {name: new for new, name in self.renames.items()}
        types = {change.name: change.before for change in self.columns}
        for change in self.columns:
            if change.name in old:
                continue
            before = self.renames.get(change.name)
            if before is None:
                yield f"{change.kind} column", change.name, _from_to(change.before, change.after)
            elif normal_type(types[before] or "") == normal_type(change.after or ""):
                yield "rename column", change.name, f"from {before}"
            else:
                yield "rename column", change.name, f"from {before}, {_from_to(types[before], change.after)}"

    def _partition_steps(self) -> Iterator[tuple[str, str, str]]:
        partitions = self.partitions
        for row in partitions.add.select(["name", "path"]).to_pylist():
            yield "add partition", row["name"], row["path"]
        for row in partitions.move.to_pylist():
            stays = same_location(row["location"] or "", join(self.spec.base_path, row["path"]))
            yield ("set partition" if stays else "move partition"), row["name"], row["path"]
        for row in partitions.touch.select(["name", "path"]).to_pylist():
            yield "touch partition", row["name"], row["path"]
        for row in partitions.drop.to_pylist():
            yield "drop partition", row["name"], f"{row['location']}, its data stays"


def _from_to(before: str | None, after: str | None) -> str:
    if before is None or after is None:
        return before or after or ""
    return f"{before} -> {after}"


@dataclass(frozen=True)
class SyncPlan:
    """The plan of a sync, table by table."""

    tables: tuple[TablePlan, ...]

    @property
    def is_noop(self) -> bool:
        """Whether there is nothing to do."""
        return all(table.is_noop for table in self.tables)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the user, one line each."""
        return tuple(dict.fromkeys(line for table in self.tables for line in table.warnings))

    def rows(self) -> list[dict[str, str]]:
        """One row per step: ``table``, ``step``, ``object``, ``detail`` (see ``ROW_COLUMNS``)."""
        return [row for table in self.tables for row in table.rows()]
