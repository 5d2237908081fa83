"""Hive itself reads the tables that we write and sync: HiveServer2 with the input formats of a release of Hudi.

    python -m integration.long.hive_reads [--release 1.0.2] [--version 8] [--table evolved] [--type MERGE_ON_READ]

Each table gets its commits from us and is synced by us; then Hive selects from all names it is synced under: snapshots,
read-optimised views, filters and aggregates (MapReduce jobs in the server), ``consume.*`` incremental pulls and time
travel. Each answer is compared with ``scan()``. What a release of Hudi is known to answer differently stands in
:data:`GAPS`, with the reason.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.metastore import EmbeddedMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from integration.support.hive_server import HiveServer2

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
READERS = ((6, "0.15.0"), (8, "1.0.2"), (8, "1.1.1"))
"""Versions of tables, and the releases of Hudi that read them in Hive."""

_OPTIONS = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
    "hoodie.parquet.small.file.limit": "0",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OLD = range(20, 24)
"""Rows of the first commit, whose files stay as they are."""

_START = datetime(2024, 2, 29, 12, 30, 15, 123000)  # Hudi's reader gives Hive milliseconds


def _plain(step: int, numbers: Sequence[int]) -> pa.Table:
    return pa.table(
        {
            "id": [f"k{number:03d}" for number in numbers],
            "ts": pa.array([step] * len(numbers), pa.int64()),
            "v": pa.array([number * step for number in numbers], pa.int32()),
            "name": [f"n{number}-{step}" if number % 5 else None for number in numbers],
            "p": ["old" if number in _OLD else ("a", "b=1", "é")[number % 3] for number in numbers],
            "q": pa.array([2 if number in _OLD else number % 2 for number in numbers], pa.int32()),
        }
    )


def _typed(step: int, numbers: Sequence[int]) -> pa.Table:
    times = [_START + timedelta(days=number, seconds=step) for number in numbers]
    columns = {
        "price": pa.array([Decimal(number * step) / 100 for number in numbers], pa.decimal128(20, 2)),
        "small": pa.array([Decimal(number) / 10 for number in numbers], pa.decimal128(5, 1)),
        "d": pa.array([time.date() for time in times]),
        "at": pa.array([time.replace(tzinfo=UTC) for time in times], pa.timestamp("us", "UTC")),
        "f": pa.array([number / 3 for number in numbers], pa.float32()),
        "g": pa.array([number / 3 if number % 4 else None for number in numbers], pa.float64()),
        "yes": pa.array([number % 2 == 0 for number in numbers]),
        "raw": pa.array([bytes([number, 0x41, 0x20]) for number in numbers]),
        "tags": pa.array([[f"t{number}", "é"] if number % 3 else [] for number in numbers], pa.list_(pa.string())),
        "place": pa.array([{"x": number, "y": {"z": f"z{step}"}} for number in numbers]),
        "counts": pa.array([[("a", number), ("b", step)] for number in numbers], pa.map_(pa.string(), pa.int64())),
    }
    table = _plain(step, numbers)
    for name, column in columns.items():
        table = table.add_column(table.num_columns - 1, name, column)
    return table


def _widened(step: int, numbers: Sequence[int]) -> pa.Table:
    """From the third step on with one more column, and another that is wider."""
    table = _plain(step, numbers)
    if step < 3:
        return table
    table = table.set_column(2, "v", pa.array([number * step + (1 << 40) for number in numbers], pa.int64()))
    return table.append_column("extra", pa.array([number / 4 for number in numbers], pa.float64()))


def _renamed(step: int, numbers: Sequence[int]) -> pa.Table:
    """From the third step on as an ALTER has it: with one more column, another that is wider, and one renamed."""
    table = _widened(step, numbers)
    return (
        table
        if step < 3
        else table.rename_columns(["title" if name == "name" else name for name in table.column_names])
    )


def _alter(table: HudiTable) -> None:
    changes = table.update_schema()
    changes.add("extra", pa.float64()).rename("name", "title").change_type("v", pa.int64()).commit()


@dataclass(frozen=True)
class Shape:
    """What a table is like, and how it comes by its commits.

    Attributes:
        name: the table's.
        fields: of its definition.
        rows: makes the rows of a step.
        alter: what is done to its schema before the third step.
        settings: what Hive's sessions need to read it.
        timestamps: sync timestamps as such, and not as numbers.
    """

    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    rows: Callable[[int, Sequence[int]], pa.Table] = _plain
    alter: Callable[[HudiTable], None] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    timestamps: bool = False


_LISTS = {"parquet.avro.add-list-element-records": "false", "parquet.avro.write-old-list-structure": "false"}
"""What Hudi needs to read lists of three levels by Avro, as it does if one of the columns is a timestamp."""

SHAPES = {
    shape.name: shape
    for shape in (
        Shape("whole"),
        Shape("parted", {"partition_fields": ["p"], "url_encode_partitioning": True}),
        Shape(
            "styled",
            {"partition_fields": ["p", "q"], "hive_style_partitioning": True, "url_encode_partitioning": True},
        ),
        Shape("typed", {"partition_fields": ["q"]}, _typed),
        Shape("timed", {"partition_fields": ["q"]}, _typed, settings=_LISTS, timestamps=True),
        Shape("widened", {"partition_fields": ["q"]}, _widened),
        Shape("renamed", {}, _renamed, _alter, {"hoodie.schema.on.read.enable": "true"}),
        Shape("split", {"partition_fields": ["q"]}, _renamed, _alter, {"hoodie.schema.on.read.enable": "true"}),
    )
}
"""Kinds of tables by name."""


@dataclass(frozen=True)
class Case:
    """A table, and the release that reads it."""

    shape: Shape
    table_type: str
    version: int
    release: str

    @property
    def table(self) -> str:
        """Its name in the metastore."""
        return f"{self.shape.name}_{'mor' if self.is_merged else 'cow'}_v{self.version}"

    @property
    def is_merged(self) -> bool:
        """Whether it is merged on read."""
        return self.table_type == "MERGE_ON_READ"

    def __str__(self) -> str:
        return f"{self.table} by {self.release}"


@dataclass
class Tally:
    """What was asked, and what came out otherwise than expected."""

    questions: int = 0
    gaps: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Gap:
    """What a release of Hudi answers otherwise than its own Spark reader, or not at all.

    Attributes:
        pattern: of "TABLE by RELEASE, QUESTION".
        reason: why, as far as it is known.
    """

    pattern: str
    reason: str

    def covers(self, what: str) -> bool:
        """Whether it is about a question."""
        return re.match(self.pattern, what) is not None


_COMBINED = "HoodieCombineHiveInputFormat loses columns behind a partition column that is not the last one of the file"
_UNEVOLVED = (
    "SchemaEvolutionContext counts partition columns among the columns to read, but not among those of the table"
)
_TRAVEL = "the realtime reader adds log files of later commits to the slice of the time asked for"

_TIMESTAMPS = "HiveHoodieReaderContext makes timestamps of those in log files, also where the column is a bigint"

GAPS: Sequence[Gap] = (
    Gap(r"typed_mor_\w+ by 1\.0\.2, (table|_rt) (all|filter)", _TIMESTAMPS),
    Gap(r".*_mor_\w+ by \S+, (table|_rt) as of ", _TRAVEL),
    Gap(r"(parted|styled)_mor_\w+ by \S+, table since ", "names of folders with a % are encoded once more"),
    Gap(r"(parted|widened|split)_\w+ by \S+, \S+ combined ", _COMBINED),
    Gap(r"split_\w+ by (0\.15\.0|1\.0\.2), ", _UNEVOLVED),
    Gap(r"split_mor_\w+ by 1\.1\.1, ", _UNEVOLVED),
    Gap(r"renamed_mor_\w+ by (0\.15\.0|1\.0\.2), (table|_rt) (?!all)", _UNEVOLVED),
    Gap(r"renamed_mor_\w+ by \S+, (table|_rt) (combined )?count", "no column to read: 'cannot prune col:'"),
    Gap(
        r"(renamed|split)_\w+ by \S+, \S+ (combined )?groups",
        "jobs read a column that was renamed as null in older files",
    ),
)
"""What is known to differ. A question that a gap covers may also be answered right."""


# -- tables ------------------------------------------------------------------------------------------------------------


def make_table(case: Case, path: Path) -> HudiTable:
    """A table with inserts, updates, deletes and, merging on read, a compaction before the last updates."""
    shape = case.shape
    fields = {"name": case.table, "record_keys": ["id"], "ordering_fields": ["ts"], **shape.fields}
    table = HudiTable.create(str(path), table_type=case.table_type, version=case.version, **fields)
    table.insert(shape.rows(1, _OLD), _OPTIONS)
    table.insert(shape.rows(1, range(12)), _OPTIONS)
    table.upsert(shape.rows(2, range(0, 8, 2)), _OPTIONS)
    if shape.alter is not None:
        shape.alter(table)
    table.upsert(shape.rows(3, [1, 4, 12, 13]), _OPTIONS)
    table.delete(shape.rows(3, [5, 6]), _OPTIONS)
    if case.is_merged:
        table.compact(_OPTIONS)
    table.upsert(shape.rows(4, [0, 7, 13, 14]), _OPTIONS)
    return HudiTable.open(str(path))


# -- values ------------------------------------------------------------------------------------------------------------


def _as_hive(value: Any, kind: pa.DataType, case: Case | None) -> Any:
    """A value as PyHive has it: dates as texts, nested values as JSON."""
    if value is None:
        return None
    if pa.types.is_timestamp(kind):
        is_number = case is not None and not case.shape.timestamps
        return (value - _EPOCH) // timedelta(microseconds=1) if is_number else value.replace(tzinfo=None)
    if pa.types.is_date(kind):
        return value.isoformat()
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return round(float(value), 5)
    if pa.types.is_nested(kind):
        return _as_json(value, kind)
    return value


def _as_json(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {item.name: _as_json(value[item.name], item.type) for item in kind}
    if pa.types.is_map(kind):
        return {str(key): _as_json(one, kind.item_type) for key, one in value}
    if pa.types.is_list(kind):
        return [_as_json(one, kind.value_type) for one in value]
    return value


def _of_hive(value: Any, kind: pa.DataType) -> Any:
    """The same of a value of PyHive's."""
    if value is None:
        return None
    if pa.types.is_nested(kind):
        return json.loads(value)
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return round(float(value), 5)
    if pa.types.is_binary(kind):
        return value.encode("latin-1") if isinstance(value, str) else value
    return value


def _sorted(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in rows), key=repr)


# -- questions ---------------------------------------------------------------------------------------------------------


class Reader:
    """A session of Hive, and what is expected of its answers.

    Args:
        server: a HiveServer2.
        tally: where differences are noted.
    """

    def __init__(self, server: HiveServer2, tally: Tally) -> None:
        from pyhive import hive

        self._connection = hive.connect("127.0.0.1", port=server.port, username="hive")
        self._tally = tally
        self.case: Case | None = None

    def close(self) -> None:
        """Close the session."""
        self._connection.close()

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement; none of one that has no result."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []
        finally:
            cursor.close()

    @contextmanager
    def settings(self, settings: Mapping[str, str]) -> Iterator[None]:
        """Settings of the session, taken back afterwards."""
        before = {name: self.execute(f"SET {name}")[0][0].partition("=")[2] for name in settings}
        for name, value in settings.items():
            self.execute(f"SET {name}={value}")
        try:
            yield
        finally:
            for name, value in before.items():
                self.execute(f"SET {name}={value}")

    def check(self, what: str, statement: str, expected: pa.Table) -> None:
        """Ask, and compare with rows."""
        self._tally.questions += 1
        kinds = expected.schema.types
        values = [row.values() for row in expected.to_pylist()]
        rows = _sorted([[_as_hive(v, k, self.case) for v, k in zip(row, kinds, strict=True)] for row in values])
        try:
            answer = self.execute(statement)
            got = _sorted([[_of_hive(v, k) for v, k in zip(row, kinds, strict=True)] for row in answer])
            said = "" if got == rows else f"{len(got)} rows for {len(rows)}: {_first_difference(got, rows)}"
        except Exception as error:  # whatever Hive answers is a finding
            said = _text(error)
        about = f"{self.case}, {what}"
        if said and any(gap.covers(about) for gap in GAPS):
            self._tally.gaps.append(f"{about}: {said}")
        elif said:
            self._tally.wrong.append(f"{about}: {said}\n    {statement}")


def _first_difference(got: Sequence[Any], rows: Sequence[Any]) -> str:
    more, less = [row for row in got if row not in rows], [row for row in rows if row not in got]
    return f"too many {more[:2]}, missing {less[:2]}"


def _text(error: BaseException) -> str:
    status = getattr(error.args[0], "status", None) if error.args else None
    message = str(getattr(status, "errorMessage", "") or error)
    causes = [line for line in getattr(status, "infoMessages", None) or () if line.startswith("*")]
    return f"{type(error).__name__}: {message[:300]} {' | '.join(cause[:300] for cause in causes[1:4])}"


def check_case(case: Case, path: Path, metastore_uri: str, reader: Reader) -> None:
    """Make a table, sync it, and compare what Hive answers."""
    table = make_table(case, path)
    place = {"metastore_uris": metastore_uri, "database": "default"}
    HiveSyncTool(HiveSyncConfig(base_path=str(path), support_timestamp=case.shape.timestamps, **place)).sync()
    reader.case = case
    name, is_merged = case.table, case.is_merged
    with reader.settings(case.shape.settings):
        for view in (name, f"{name}_rt", f"{name}_ro") if is_merged else (name,):
            kind = "read_optimized" if view.endswith("_ro") else "snapshot"
            _check_view(reader, table, view, kind)
        for view in (name, f"{name}_ro") if is_merged else (name,):
            _check_times(reader, table, view, is_merged)


def _check_view(reader: Reader, table: HudiTable, view: str, kind: str) -> None:
    columns = table.schema().names
    listed = ", ".join(f"`{column}`" for column in columns)
    title = "title" if "title" in columns else "name"
    what = f"{view.removeprefix(table.name) or 'table'}"

    def rows(row_filter: str | None = None, only: Sequence[str] | None = None) -> pa.Table:
        return table.scan(row_filter, only, query_type=kind).to_arrow()

    reader.check(f"{what} all", f"SELECT {listed} FROM {view}", rows())
    reader.check(f"{what} count", f"SELECT count(*) FROM {view}", pa.table({"n": [rows().num_rows]}))
    if view.endswith("_rt"):  # the same as the table's own name
        return
    reader.check(f"{what} few", f"SELECT id, {title} FROM {view}", rows(None, ["id", title]))
    filters = (f"v > 10 AND {title} IS NOT NULL", "q = 1", "p = 'b=1' AND v < 40", "ts >= 3")
    for number, row_filter in enumerate(filters):
        reader.check(f"{what} filter {number}", f"SELECT {listed} FROM {view} WHERE {row_filter}", rows(row_filter))
    groups = rows().group_by("q").aggregate([("id", "count"), ("v", "sum"), (title, "min"), ("p", "max")])
    groups = groups.select(["q", "id_count", "v_sum", f"{title}_min", "p_max"])
    statement = f"SELECT q, count(id), sum(v), min({title}), max(p) FROM {view} GROUP BY q"
    reader.check(f"{what} groups", statement, groups)
    one = rows("q = 1 AND v > 3")
    statement = f"SELECT count(*), sum(ts) FROM {view} WHERE q = 1 AND v > 3"
    total = pa.table({"n": [one.num_rows], "ts": pa.array([sum(one["ts"].to_pylist())], pa.int64())})
    reader.check(f"{what} filtered count", statement, total)
    with reader.settings({"hive.input.format": "org.apache.hudi.hadoop.hive.HoodieCombineHiveInputFormat"}):
        statement = f"SELECT q, count(id), sum(v), min({title}), max(p) FROM {view} GROUP BY q"
        reader.check(f"{what} combined groups", statement, groups)
        reader.check(f"{what} combined count", f"SELECT count(*) FROM {view}", pa.table({"n": [rows().num_rows]}))


def _check_times(reader: Reader, table: HudiTable, view: str, is_merged: bool) -> None:
    """Incremental pulls and time travel."""
    name = table.name
    commits = [one for one in table.timeline.instants if one.is_completed and one.action in ("commit", "deltacommit")]
    key, what = f"hoodie.{name}.consume", view.removeprefix(name) or "table"
    kind = "read_optimized" if view.endswith("_ro") else None
    listed = "id, ts, v"
    for number, commit in enumerate(commits):
        if not view.endswith("_ro"):
            begin = commit.completed if table.version >= 8 else commit.requested
            pull = {f"{key}.mode": "INCREMENTAL", f"{key}.start.timestamp": commit.requested}
            pull[f"{key}.max.commits"] = "-1"
            with reader.settings(pull):
                statement = f"SELECT {listed} FROM {view} WHERE `_hoodie_commit_time` > '{commit.requested}'"
                expected = table.scan(None, ["id", "ts", "v"], begin=begin).to_arrow()
                reader.check(f"{what} since {number}", statement, expected)
        with reader.settings({f"{key}.commit": commit.requested}):
            expected = table.scan(None, ["id", "ts", "v"], query_type=kind, as_of=commit.requested).to_arrow()
            reader.check(f"{what} as of {number}", f"SELECT {listed} FROM {view}", expected)


# -- runs --------------------------------------------------------------------------------------------------------------


def cases(
    readers: Sequence[tuple[int, str]] = READERS, types: Sequence[str] = TYPES, shapes: Sequence[str] = tuple(SHAPES)
) -> list[Case]:
    """All cases of some readers, table types and kinds of tables."""
    return [Case(SHAPES[s], t, version, release) for version, release in readers for t in types for s in shapes]


def run(chosen: Sequence[Case], folder: Path) -> Tally:
    """Try cases, those of one release in one server."""
    tally = Tally()
    for release in dict.fromkeys(case.release for case in chosen):
        home = folder / release
        with (
            EmbeddedMetastore(home / "metastore") as metastore,
            HiveServer2(metastore.uri, home / "hive", hudi=release, java_options=("-Duser.timezone=UTC",)) as server,
        ):
            reader = Reader(server, tally)
            for case in chosen:
                if case.release != release:
                    continue
                before = tally.questions, len(tally.gaps), len(tally.wrong)
                try:
                    check_case(case, home / case.table, metastore.uri, reader)
                except Exception:
                    tally.wrong.append(f"{case}: {traceback.format_exc()}")
                counts = (tally.questions - before[0], len(tally.gaps) - before[1], len(tally.wrong) - before[2])
                print("{}: {} questions, {} known gaps, {} wrong".format(case, *counts), flush=True)
                print("".join(f"  {text}\n" for text in tally.wrong[before[2] :]), end="", flush=True)
            reader.close()
    return tally


def main() -> int:
    """Print a line for each case, and what is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", action="append", choices=sorted({release for _, release in READERS}))
    parser.add_argument("--version", action="append", type=int, choices=sorted({version for version, _ in READERS}))
    parser.add_argument("--type", action="append", choices=TYPES)
    parser.add_argument("--table", action="append", choices=sorted(SHAPES))
    parser.add_argument("--folder", help="keep tables and logs there")
    chosen = parser.parse_args()
    readers = [
        (version, release)
        for version, release in READERS
        if release in (chosen.release or [release]) and version in (chosen.version or [version])
    ]
    with tempfile.TemporaryDirectory(prefix="hive_reads_") as temporary:
        folder = Path(chosen.folder or temporary)
        tally = run(cases(readers, chosen.type or TYPES, chosen.table or tuple(SHAPES)), folder)
    print(f"{tally.questions} questions, {len(tally.gaps)} known gaps, {len(tally.wrong)} wrong")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
