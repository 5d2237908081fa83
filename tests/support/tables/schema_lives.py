"""Lives of tables whose columns change: each step done to a table and to the model, then every kind of query compared.

What is refused must have changed nothing. A life counts what it did and what it compared, so that a run can tell.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive.errors import HudiHiveError, SchemaError
from hudi_hive.table import MetaClient
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline.core import TimelineWriter
from hudi_hive.write.coordination import LocalExecutor
from hudi_hive.write.rollback import create_savepoint, restore, rollback
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import (
    archive_instants,
    clean,
    execute_clustering,
    execute_compaction,
    pending_clusterings,
    schedule_clustering,
    schedule_compaction,
)
from tests.support.tables.schema_calls import call, condition, plain_rows
from tests.support.tables.schema_changes import Change, Inventor, changed
from tests.support.tables.schema_model import (
    PROTECTED,
    SCALARS,
    WIDER,
    Column,
    MapOf,
    Record,
    Row,
    State,
    arrow_schema,
    as_arrow,
    first_columns,
    scalar,
)

MERGE_ON_READ = "MERGE_ON_READ"
META = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
PARTITIONS = ("p", "q")
KEYS = 12


class Killed(BaseException):
    """A writer that died right before its write would have been complete."""


@dataclass(frozen=True)
class Moment:
    """A commit, and the table after it.

    Attributes:
        requested, completed: its times; ``completed`` is the requested one where the version keeps none.
        write: its number, as the rows of it have.
        state: of the model.
    """

    requested: str
    completed: str
    write: int
    state: State


class Life:
    """One table, its model, and what may happen to it.

    Args:
        path: base path, made here.
        seed: of all that is random.
        version: table version.
        kind: table type.
        scalars: types that columns are added of.
        options: of every write, beside those thrown here.
        settled: nothing is thrown but changes of columns and rows: for tables that others are to read too.
        replacing: how likely a change is one of all columns at once.
    """

    def __init__(
        self,
        path: Path,
        seed: int,
        version: int,
        kind: str,
        *,
        scalars: Sequence[str] = SCALARS,
        options: Mapping[str, str] | None = None,
        settled: bool = False,
        replacing: float = 0.2,
    ) -> None:
        self.path, self.version, self.settled, self.replacing = path, version, settled, replacing
        self.mor = kind == MERGE_ON_READ
        self.chance = random.Random(f"{seed} {version} {kind}")
        # Release 1.0.2 shows the last struct of a map for all of them where it makes columns of log records anew;
        # 0.15.0 makes a double of a float by its bits in some places, by its text in others.
        self.inventor = Inventor(self.chance, scalars, plain=settled)
        self.counts: Counter[str] = Counter()
        self.done: list[str] = []
        self.options = self._options(options or {})
        self.state = State(first_columns())
        self.number = 0
        self.past: list[Moment] = []
        self.saved: list[str] = []
        self.merged: set[str] = set()
        HudiTable.create(
            path,
            name="t",
            version=version,
            table_type=kind,
            record_keys=["id"],
            partition_fields=["part"],
            ordering_fields=["ts"],
        )
        self.write("insert", self.fresh(8), self.state.columns)

    def _options(self, more: Mapping[str, str]) -> dict[str, str]:
        with_metadata = self.chance.random() < 0.5
        return {
            "hoodie.schema.on.read.enable": "true",
            "hoodie.write.set.null.for.missing.columns": "true",
            "hoodie.clean.automatic": "false",
            "hoodie.archive.automatic": "false",
            "hoodie.metadata.enable": str(with_metadata).lower(),
            "hoodie.metadata.index.column.stats.enable": str(self.chance.random() < 0.7).lower(),
            "hoodie.parquet.small.file.limit": "0" if self.mor else self.chance.choice(["0", "104857600"]),
            **more,
        }

    # -- what happens ------------------------------------------------------------------------------------------------

    def run_steps(self, steps: int) -> None:
        """So many steps, the table looked at after each."""
        for number in range(steps):
            self.step(number)
            self.check(whole=number == steps - 1)

    def step(self, number: int) -> None:
        """Something happens."""
        acts: dict[Callable[[], object], int] = {self.alter: 30, self.upsert: 26, self.insert: 8, self.delete: 6}
        acts |= {self.evolve: 10, self.overwrite: 3, self.cluster: 6, self.refused: 6}
        if self.mor:
            acts[self.compact] = 12
        if not self.settled:
            acts |= {self.roll_back: 4, self.save: 3, self.restore: 3, self.clean: 4, self.archive: 4, self.die: 3}
        act = self.alter if number == 0 else self.chance.choices([*acts], [*acts.values()])[0]
        name = act.__name__
        self.done.append(name)
        try:
            act()
        except HudiHiveError as error:
            if name not in MAY_REFUSE:
                raise AssertionError(f"refused: {error}\n{self.story()}") from error
            self.done[-1] += f" refused: {error.message}"
            name += " refused"
        self.counts[name] += 1

    def upsert(self) -> None:
        keys = [key for key in self.state.rows if self.chance.random() < 0.4]
        self.write("upsert", sorted({*keys, *self.fresh(2)}), self.writer_columns())

    def insert(self) -> None:
        self.write("insert", self.fresh(5), self.writer_columns())

    def overwrite(self) -> None:
        part = self.chance.choice(PARTITIONS)
        keys = [key for key in self.fresh(6) if key[0] == part] or [f"{part}{KEYS + self.number}"]
        self.write("insert_overwrite", keys, self.writer_columns(), replaced=part)

    def evolve(self) -> None:
        """A writer that has a column more, or a wider one."""
        writer_columns = list(self.state.columns)
        wide = [at for at, column in enumerate(writer_columns) if column.name not in PROTECTED and column.kind in WIDER]
        wide = [at for at in wide if {*WIDER[str(writer_columns[at].kind)]} & {*writer_columns[at].next_kinds()}]
        if wide and self.chance.random() < 0.5:
            at = self.chance.choice(wide)
            kinds = [kind for kind in WIDER[str(writer_columns[at].kind)] if kind in writer_columns[at].next_kinds()]
            writer_columns[at] = replace(writer_columns[at], kind=self.chance.choice(kinds))
            self.done[-1] += f" {writer_columns[at].name} to {writer_columns[at].kind}"
        else:
            free = [name for name in "abcdefgh" if name not in {column.name for column in writer_columns}]
            if not free:
                return
            writer_columns.append(self.inventor.column(free[0]))
            self.done[-1] += f" {writer_columns[-1]}"
        keys = [*list(self.state.rows)[:2], *self.fresh(1)]
        before = self.state
        self.state = replace(before, columns=tuple(writer_columns))
        try:
            self.write("upsert", keys, writer_columns)
        except BaseException:
            self.state = before
            raise

    def delete(self) -> None:
        keys = {key for key in self.state.rows if self.chance.random() < 0.2}
        if keys:
            self.number += 1
            rows = self.inventor.rows(sorted(keys), self.state.columns[:0], self.number)
            writer_columns = [column for column in self.state.columns if column.name in PROTECTED]
            HudiTable.open(self.path).delete(as_arrow(rows, writer_columns), self.options)
            self.remember(self.state.deleted(keys, merge_on_read=self.mor))

    def alter(self) -> None:
        columns, changes = self.state.columns, []
        for _ in range(self.chance.choice([1, 1, 2, 3])):
            at_once = self.replacing and self.chance.random() < self.replacing
            change = self.inventor.replacement(columns) if at_once else self.inventor.change(columns)
            if change is not None:
                changes.append(change)
                columns = changed(columns, change)
        if changes:
            self.do_alter(changes)

    def do_alter(self, changes: Sequence[Change]) -> None:
        """Changes in one commit."""
        self.done[-1] += f" {changes}"
        update = HudiTable.open(self.path).update_schema(self.options)
        columns = self.state.columns
        for change in changes:
            update = call(update, change)
            columns = changed(columns, change)
            self.counts[f"change: {change.method}"] += 1
        if columns == self.state.columns:  # there and back again
            with pytest.raises(SchemaError):
                update.commit()
            return
        update.commit()
        self.number += 1
        self.remember(replace(self.state, columns=columns))

    def refused(self) -> None:
        """A change that no table takes leaves it as it is."""
        columns = self.state.columns
        last = columns[-1].name
        bad = [
            Change("drop", ("id",)),
            Change("rename", ("ts",), "z"),
            Change("drop", ("part",)),
            Change("change_type", ("ts",), "string"),
            Change("add", ("id",), scalar("id", "int")),
            Change("add", (last.upper(),), scalar(last.upper(), "int")),
            Change("rename", (last,), "part"),
            Change("drop", ("nowhere",)),
            Change("change_type", ("ts",), "int"),
            Change("move", ("ts",), None, ("after", "nowhere")),
            Change("add", ("ts", "x"), scalar("x", "int")),
            *(Change("change_type", (c.name,), "string") for c in columns if not isinstance(c.kind, str)),
            *(Change("rename", (c.name, "value"), "x") for c in columns if isinstance(c.kind, MapOf)),
            *(Change("change_type", (c.name,), "int") for c in columns if c.kind in ("long", "double", "string")),
        ]
        change = self.chance.choice(bad)
        with pytest.raises(SchemaError):
            call(HudiTable.open(self.path).update_schema(self.options), change).commit()

    def compact(self) -> None:
        context = self.context()
        instant = schedule_compaction(context)
        if instant is not None:
            execute_compaction(self.context(), instant)
            self.merge()

    def cluster(self) -> None:
        if self.mor:  # clustering leaves file groups alone that a compaction would merge
            self.compact()
        if schedule_clustering(self.context()) is not None:
            for instant in pending_clusterings(MetaClient.load(self.path)):
                execute_clustering(self.context(), instant)
            self.merge()

    def merge(self) -> None:
        """All that log files had is in base files."""
        self.state = self.state.compacted()
        self.merged.add(self.past[-1].requested)

    def roll_back(self) -> None:
        writes = sorted(i.requested for i in MetaClient.load(self.path).timeline.write_instants())
        if len(self.past) > 1 and writes and writes[-1] == self.past[-1].requested:
            rollback(self.context(), writes[-1])
            self.past.pop()
            self.state = self.past[-1].state
            if self.past[-1].requested in self.merged:  # what a service wrote since stays
                self.state = self.state.compacted()

    def save(self) -> None:
        writes = sorted(i.requested for i in MetaClient.load(self.path).timeline.write_instants())
        if writes and writes[-1] == self.past[-1].requested:
            self.saved.append(create_savepoint(self.context()).instant.requested)

    def restore(self) -> None:
        if self.saved:
            restore(self.context(), self.saved[-1])
            self.past = [moment for moment in self.past if moment.requested <= self.saved[-1]]
            self.state = self.past[-1].state
            self.merged = {time for time in self.merged if time < self.saved[-1]}

    def clean(self) -> None:
        clean(self.context({"hoodie.clean.commits.retained": str(self.chance.choice([1, 3]))}))

    def archive(self) -> None:
        numbers = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
        archive_instants(self.context(numbers))

    def die(self) -> None:
        """A writer, or a change of columns, dies before it is complete."""

        def killed(*_: object, **__: object) -> None:
            raise Killed

        change = self.inventor.change(self.state.columns)
        with pytest.MonkeyPatch.context() as patch, pytest.raises((Killed, HudiHiveError)):
            patch.setattr(TimelineWriter, "complete", killed)
            if change is not None and self.chance.random() < 0.5:
                call(HudiTable.open(self.path).update_schema(self.options), change).commit()
            writer_columns = list(self.state.columns)
            rows = self.inventor.rows(self.fresh(2), writer_columns, self.number)
            HudiTable.open(self.path).upsert(as_arrow(rows, writer_columns), self.options)

    # -- how it is done ----------------------------------------------------------------------------------------------

    def fresh(self, most: int) -> list[str]:
        """Keys that the table does not have, nor had in files that a log file deletes from."""
        free = [f"{part}{at}" for part in PARTITIONS for at in range(KEYS)]
        free = [key for key in free if key not in self.state.rows and key not in self.state.base]
        return sorted(self.chance.sample(free, min(most, len(free)))) or [f"p{KEYS + self.number}"]

    def writer_columns(self) -> list[Column]:
        """Columns as a writer may have them: some left out, narrower, in another order."""
        chosen = [c for c in self.state.columns if c.name in PROTECTED or self.chance.random() < 0.85]
        writer_columns = [self.narrowed(column) for column in chosen]
        if self.chance.random() < 0.3:
            self.chance.shuffle(writer_columns)
        return writer_columns

    def narrowed(self, column: Column) -> Column:
        if column.kind == "long" and column.name not in PROTECTED and self.chance.random() < 0.3:
            return replace(column, kind="int")
        return column

    def write(
        self, operation: str, keys: Sequence[str], columns: Sequence[Column], replaced: str | None = None
    ) -> None:
        """Rows of keys, with values at random."""
        self.number += 1
        rows = self.inventor.rows(keys, columns, self.number)
        self.do_write(operation, rows, columns)
        self.remember(self.state.written(rows, columns, self.number, merge_on_read=self.mor, replaced=replaced))

    def do_write(self, operation: str, rows: Sequence[Row], columns: Sequence[Column]) -> None:
        getattr(HudiTable.open(self.path), operation)(as_arrow(rows, columns), self.options)

    def remember(self, state: State) -> None:
        """A commit is there, and the table is now so."""
        self.state = state
        last = max(MetaClient.load(self.path).timeline.write_instants(), key=lambda instant: instant.requested)
        self.past.append(Moment(last.requested, last.completed or last.requested, self.number, state))

    def context(self, options: dict[str, str] | None = None) -> ServiceContext:
        return ServiceContext(MetaClient.load(self.path), {**self.options, **(options or {})}, LocalExecutor(1))

    def story(self) -> str:
        """What happened, for messages."""
        return "\n".join([f"{self.path} {self.options}", *self.done])

    # -- how it is looked at -----------------------------------------------------------------------------------------

    def check(self, *, whole: bool = True) -> None:
        """The rows as they are now and a query of another kind, or one of each kind."""
        table = HudiTable.open(self.path)
        self.same("snapshot", self.state, self.state.snapshot(), table)
        kinds = [self.check_filter, self.check_past, self.check_changes, self.check_range]
        if self.mor:
            kinds.append(self.check_base)
        for check in kinds if whole else [self.chance.choice(kinds)]:
            check(table)

    def check_base(self, table: HudiTable) -> None:
        self.same("read_optimized", self.state, self.state.read_optimized(), table, query_type="read_optimized")

    def check_past(self, table: HudiTable) -> None:
        then = self.chance.choice(self.past)
        self.same("time_travel", then.state, then.state.snapshot(), table, as_of=then.requested)

    def check_changes(self, table: HudiTable) -> None:
        then = self.chance.choice(self.past)
        self.same("incremental", self.state, self.state.since(then.write), table, begin=self.time(then))

    def check_range(self, table: HudiTable) -> None:
        """What changed between two commits, under the newest columns or those of the end."""
        first, last = sorted(self.chance.choices(range(len(self.past)), k=2))
        begin, end = self.past[first], self.past[last]
        if begin is end:
            return
        of_then = self.chance.random() < 0.5
        state = end.state if of_then else replace(end.state, columns=self.state.columns)
        query: dict[str, Any] = {"begin": self.time(begin), "end": self.time(end)}
        if of_then:
            query["options"] = {"hoodie.datasource.read.schema.use.end.instanttime": "true"}
        self.same("range", state, state.since(begin.write), table, **query)

    def time(self, moment: Moment) -> str:
        return moment.requested if self.version == 6 else moment.completed

    def same(self, what: str, state: State, expected: dict[str, Row], table: HudiTable, **query: Any) -> None:
        """A query's rows are those of the model, with their columns in order and of their types."""
        try:
            found = table.scan(**query).to_arrow()
        except HudiHiveError as error:
            if what in MAY_REFUSE and type(error).__name__ in PAST_IS_GONE:
                self.counts[f"{what} refused"] += 1
                return
            raise AssertionError(f"{what} {query}: {error!r}\n{self.story()}") from error
        self.counts[what] += 1
        schema = pa.schema([item for item in found.schema if item.name not in META])
        context_text = f"{what} {query}\n{self.story()}"
        assert schema.equals(arrow_schema(state.columns)), f"{schema}\n{arrow_schema(state.columns)}\n{context_text}"
        rows = plain_rows(found, state.columns)
        assert len(rows) == found.num_rows, context_text
        differ = {key: (rows.get(key), expected.get(key)) for key in rows.keys() | expected.keys()}
        differ = {key: pair for key, pair in differ.items() if pair[0] != pair[1]}
        assert not differ, f"{differ}\n{context_text}"

    def check_filter(self, table: HudiTable) -> None:
        """A filter on a column, or on a field of a struct, that files may know by other names and types."""
        row_test = condition(self.state, self.chance)
        if row_test is None:
            return
        text, test = row_test
        state = self.state
        expected = {key: row for key, row in state.snapshot().items() if test(row)}
        self.same("filter", state, expected, table, row_filter=text)


MAY_REFUSE = ("time_travel", "incremental", "range", "clean", "archive", "roll_back", "save", "restore", "cluster")
PAST_IS_GONE = ("TimeTravelError", "IncrementalRangeError", "QueryError", "InstantNotFoundError", "FileVanishedError")


__all__ = ["Life", "Record"]
