"""Histories of tables whose columns change, ours and real Hudi's by turns, each read by the other one.

    python -m integration.long.schema_histories [--version 8] [--type MERGE_ON_READ] [--seed 3] [--histories 24]
    python -m integration.long.schema_histories --replace --histories 6

A history: we make a table and live through changes of columns, writes and services; real Hudi reads it, with
``hoodie.schema.on.read.enable``; then it changes columns by SQL and upserts, and we read; then we go on, and it reads
again. All along a model of plain dictionaries (``tests/support/tables/schema_model.py``) says what the rows are.
"""

from __future__ import annotations

import argparse
import base64
import datetime as dt
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from integration.support.hudi_peer import HudiPeer, HudiPeerError
from tests.support.tables.schema_changes import Change, changed
from tests.support.tables.schema_lives import MERGE_ON_READ, Life, Moment
from tests.support.tables.schema_model import Column, ListOf, MapOf, Row, State, Struct

VERSIONS = (6, 8, 9)
TYPES = ("COPY_ON_WRITE", MERGE_ON_READ)
SCALARS = ("int", "long", "float", "double", "string", "date", "decimal(10, 2)")
READ = {"hoodie.schema.on.read.enable": "true"}

_SPARK = {"long": "bigint"}
_OPTIONS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.schema.on.read.enable": "true",
    "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.index.bloom.num_entries": "1000",
    # Two-level lists, the default, cannot hold what Arrow and Avro can.
    "hoodie.parquet.writelegacyformat.enabled": "false",
    "spark.hadoop.parquet.avro.write-old-list-structure": "false",
}

WRONG_IN_HUDI = {
    "MERGE_ON_READ-8-3": "release 1.0.2 shows null, of its own tables too, for a field below a list or map that was "
    "renamed after a log file was written",
}
"""Histories that real Hudi shows wrongly, and why: it must say so each time."""


class DifferenceError(AssertionError):
    """Rows are not those of the model."""


@dataclass(frozen=True)
class History:
    """One case."""

    version: int
    table_type: str
    seed: int

    def __str__(self) -> str:
        return f"{self.table_type}-{self.version}-{self.seed}"


def histories(count: int) -> list[History]:
    """So many of them or a few more, those of one version together."""
    seeds = range(-(-count // (len(VERSIONS) * len(TYPES))))
    return [History(version, kind, seed) for version in VERSIONS for kind in TYPES for seed in seeds]


# -- values as real Hudi's JSON has them -------------------------------------------------------------------------------


def plain(value: Any, column: Column) -> Any:
    """A value of the model as Spark tells it; nulls are left out of structs and rows."""
    if value is None:
        return None
    if isinstance(column.kind, Struct):
        return record(value, column.kind.fields)
    if isinstance(column.kind, ListOf):
        return [plain(item, column.kind.element) for item in value]
    if isinstance(column.kind, MapOf):
        return {key: plain(item, column.kind.value) for key, item in value.items()}
    if column.kind == "float":
        return float(str(np.float32(value)))
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, dt.date) else value


def record(row: Mapping[str, Any], columns: Sequence[Column]) -> Row:
    encoded = {column.name: plain(row[column.name], column) for column in columns}
    return {name: value for name, value in encoded.items() if value is not None}


def ddl(column: Column) -> str:
    """Spark's name of a column's type."""
    if isinstance(column.kind, Struct):
        return f"struct<{', '.join(f'{item.name}: {ddl(item)}' for item in column.kind.fields)}>"
    if isinstance(column.kind, ListOf):
        return f"array<{ddl(column.kind.element)}>"
    if isinstance(column.kind, MapOf):
        return f"map<string, {ddl(column.kind.value)}>"
    return _SPARK.get(column.kind, column.kind)


def statement(table: str, change: Change) -> str:
    """A change in Spark's SQL."""
    place = ""
    if change.place is not None:
        place = " FIRST" if change.place[0] == "first" else f" AFTER {change.place[1]}"
    if change.method == "add":
        return f"ALTER TABLE {table} ADD COLUMNS ({change.name} {ddl(change.value)}{place})"
    if change.method == "drop":
        return f"ALTER TABLE {table} DROP COLUMN {change.name}"
    if change.method == "rename":
        return f"ALTER TABLE {table} RENAME COLUMN {change.name} TO {change.value}"
    what = {"move": place.strip(), "comment": f"COMMENT '{change.value}'"}
    kind = _SPARK.get(str(change.value), str(change.value))
    return f"ALTER TABLE {table} ALTER COLUMN {change.name} {what.get(change.method, f'TYPE {kind}')}"


# -- real Hudi's side --------------------------------------------------------------------------------------------------


class Theirs:
    """Real Hudi at the table of a life."""

    def __init__(self, life: Life, history: History, peer: HudiPeer, counts: Counter[str]) -> None:
        self.life, self.history, self.peer, self.counts = life, history, peer, counts
        if history.version == 6:
            # Its vectorised reader refuses nested types that changed, and is handed on as rows without code generation.
            peer.sql("SET spark.sql.parquet.enableVectorizedReader=false")
            peer.sql("SET spark.sql.codegen.wholeStage=true")
        self.table = f"t_{history.version}_{history.table_type[:1].lower()}_{history.seed}"

    def read(self) -> None:
        """The rows as they are now and a query of another kind against the model."""
        life = self.life
        self.same("snapshot", life.state, life.state.snapshot(), {})
        kind = life.chance.choice(["time_travel", "incremental", *(["read_optimized"] if life.mor else [])])
        then = life.chance.choice(life.past)
        if kind == "read_optimized":
            self.same(kind, life.state, life.state.read_optimized(), {"hoodie.datasource.query.type": kind})
        elif kind == "time_travel":
            self.same(kind, then.state, then.state.snapshot(), {"as.of.instant": then.requested})
        else:
            self.same(kind, life.state, life.state.since(then.write), self.since(then))

    def since(self, moment: Moment) -> dict[str, str]:
        begin = self.life.time(moment)
        if self.history.version == 8:  # takes the commit at the begin, too
            begin = str(int(begin) + 1)
        return {
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.read.begin.instanttime": begin,
        }

    def same(self, what: str, state: State, expected: Mapping[str, Row], query: Mapping[str, str]) -> None:
        names = [f"`{column.name}`" for column in state.columns]
        try:
            actual = self.peer.read(self.life.path, names, {**READ, **query})
        except HudiPeerError as error:
            raise DifferenceError(f"real Hudi, {what} {dict(query)}: {error}") from error
        rows = {row["id"]: row for row in actual}
        encoded = {key: record(row, state.columns) for key, row in expected.items()}
        compare(f"real Hudi, {what} {dict(query)}", rows, encoded)
        self.counts[f"read by Hudi: {what}"] += 1

    def alter(self) -> None:
        """Changes by SQL; those that real Hudi's SQL refuses leave the model as it is."""
        for option in ("hoodie.schema.on.read.enable", "hoodie.metadata.enable"):
            self.peer.sql(f"SET {option}={self.life.options[option]}")
        self.peer.sql("SET hoodie.embed.timeline.server=false")
        # Without it 1.1.1 misses the columns that an ALTER drops or renames, and leaves a pending instant behind.
        self.peer.sql("SET hoodie.datasource.write.schema.allow.auto.evolution.column.drop=true")
        self.peer.sql(f"DROP TABLE IF EXISTS {self.table}")
        self.peer.sql(f"CREATE TABLE {self.table} USING hudi LOCATION '{self.life.path}'")
        for _ in range(6):
            change = self.life.inventor.change(self.life.state.columns)
            if change is None or not _sayable(change):
                continue
            text = statement(self.table, change)
            try:
                self.peer.sql(text)
            except HudiPeerError as error:
                self.counts["refused by Hudi's SQL"] += 1
                self.life.done.append(f"real Hudi refuses {text}: {str(error)[:200]}")
                continue
            self.life.done.append(f"real Hudi: {text}")
            self.counts[f"change by Hudi: {change.method}"] += 1
            columns = changed(self.life.state.columns, change)
            self.life.number += 1
            self.life.remember(replace(self.life.state, columns=columns))
            return

    def upsert(self) -> None:
        life = self.life
        life.number += 1
        keys = sorted({*list(life.state.rows)[:3], *life.fresh(2)})
        columns = life.state.columns
        rows = life.inventor.rows(keys, columns, life.number)
        life.done.append(f"real Hudi: upsert of {len(rows)}")
        columns_ddl = ", ".join(f"`{column.name}` {ddl(column)}" for column in columns)
        options = {**_OPTIONS, "hoodie.datasource.write.table.type": self.history.table_type}
        options["hoodie.metadata.enable"] = life.options["hoodie.metadata.enable"]
        self.peer.write(life.path, [record(row, columns) for row in rows], columns_ddl, options)
        life.remember(life.state.written(rows, columns, life.number, merge_on_read=life.mor))
        self.counts["upsert by Hudi"] += 1


def _sayable(change: Change) -> bool:
    """Whether Spark's SQL has words for a change that Hudi takes: nothing goes before the meta columns."""
    place = change.place
    return place is None or not (place[0] == "before" or (place[0] == "first" and len(change.path) == 1))


def compare(what: str, actual: Mapping[str, Row], expected: Mapping[str, Row]) -> None:
    differ = {key: (actual.get(key), expected.get(key)) for key in actual.keys() | expected.keys()}
    differ = {key: pair for key, pair in differ.items() if pair[0] != pair[1]}
    if differ:
        raise DifferenceError(f"{what}: {len(differ)} of {len(expected)} rows differ, as {list(differ.items())[:2]}")


# -- one history -------------------------------------------------------------------------------------------------------


def run(history: History, peer: HudiPeer, path: Path, counts: Counter[str], replacing: float) -> None:
    """One history; raises what went wrong, with the story in a note."""
    # Real Hudi 1.0.2 cannot write nulls into log files of tables with statistics of columns.
    options = {"hoodie.metadata.index.column.stats.enable": "false", "hoodie.parquet.small.file.limit": "0"}
    seed, chosen = 1000 + history.seed, {"scalars": SCALARS, "options": options, "settled": True}
    life = Life(path, seed, history.version, history.table_type, **chosen, replacing=replacing)
    theirs = Theirs(life, history, peer, counts)
    try:
        life.run_steps(6)
        theirs.read()
        theirs.alter()
        theirs.upsert()
        life.check()
        life.run_steps(2)
        theirs.read()
    except Exception as error:
        error.add_note(life.story())
        raise
    counts.update(life.counts)


def main() -> int:
    """Run the histories that the arguments choose; print one line each and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", type=int, action="append", choices=VERSIONS)
    parser.add_argument("--type", action="append", choices=TYPES)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--histories", type=int, default=24)
    parser.add_argument("--replace", action="store_true", help="most changes of ours replace all columns at once")
    parser.add_argument("--trace", action="store_true", help="print tracebacks")
    parser.add_argument("--keep", type=Path, help="leave the tables there")
    chosen = parser.parse_args()
    counts: Counter[str] = Counter()
    passed: Counter[int] = Counter()
    total: Counter[int] = Counter()
    with tempfile.TemporaryDirectory(prefix="schema_histories_") as scratch:
        for version in chosen.version or VERSIONS:
            cases = [case for case in histories(chosen.histories) if case.version == version]
            cases = [case for case in cases if not chosen.type or case.table_type in chosen.type]
            if chosen.seed:
                cases = [History(version, kind, seed) for kind in chosen.type or TYPES for seed in chosen.seed]
            with HudiPeer(version) as peer:
                for case in cases:
                    total[version] += 1
                    passed[version] += report(case, peer, (chosen.keep or Path(scratch)) / str(case), counts, chosen)
    for version in total:
        print(f"version {version}: {passed[version]} of {total[version]} as expected")
    print(f"{passed.total()} of {total.total()} histories as expected; {dict(sorted(counts.items()))}")
    return 0 if passed == total else 1


def report(case: History, peer: HudiPeer, path: Path, counts: Counter[str], chosen: argparse.Namespace) -> bool:
    """One history, and a line about it."""
    begin, outcome = time.perf_counter(), "ok"
    try:
        run(case, peer, path, counts, 0.6 if chosen.replace else 0.0)
    except Exception as error:
        notes = "\n".join(getattr(error, "__notes__", []))
        outcome = f"FAILED {type(error).__name__}: {str(error)[:2500]}\n{notes}"
        if str(case) in WRONG_IN_HUDI and isinstance(error, DifferenceError):
            outcome = f"not as the model: {WRONG_IN_HUDI[str(case)]}"
        elif chosen.trace:
            traceback.print_exc()
    print(f"{case} {time.perf_counter() - begin:.1f} s {outcome}", flush=True)
    return (outcome == "ok") is (str(case) not in WRONG_IN_HUDI) and not outcome.startswith("FAILED")


if __name__ == "__main__":
    sys.exit(main())
