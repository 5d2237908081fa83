"""Statements of ours and of real Hudi in turns on one table: after each, both read what there should be.

    python -m integration.long.spark_continued [--life partial] [--version 9] [--type MERGE_ON_READ]

Each table has a metadata table with column statistics and a record index. After each statement, whose rows a model of
the table says, are compared: the rows of real Hudi with its data skipping and ours; rows that real Hudi looks up by
their keys; the files and their bytes in real Hudi's listing by the metadata table, and on disk; and our own validation.

- ``services``: each kind of statement, compaction, clustering, clean, savepoint and restore, and real Hudi going on.
- ``partial``: log blocks with a part of the columns, written, compacted and clustered by either.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hudi_hive.metadata import validate
from hudi_hive.metadata.reader import committed_files
from hudi_hive.table import MetaClient
from hudi_hive.table.view import DirectoryLister
from integration.long.spark_writes import our_session
from integration.support.hudi_peer import RELEASES, HudiPeer

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")

Row = dict[str, Any]
Rows = dict[int, Row]
"""Rows by their keys."""

_COLUMNS = "id INT, name STRING, v DOUBLE, ts BIGINT, s STRUCT<a: INT, b: STRING>, note STRING, p STRING"
_SETTINGS = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
}
_THEIRS = {"hoodie.enable.data.skipping": "true", "hoodie.parquet.small.file.limit": "0"}
_AT_ONCE = "options => 'hoodie.compact.inline.max.delta.commits=1'"
_COMPACT = "CALL run_compaction(op => '{}', table => '{{t}}', " + _AT_ONCE + ")"


class DifferenceError(AssertionError):
    """A reader sees something else than there should be."""


class Step(NamedTuple):
    """A statement, with ``{t}`` for the table.

    Attributes:
        by: ``ours`` or ``hudi``.
        text: the statement.
        change: what becomes of the rows; nothing without it.
    """

    by: str
    text: str
    change: Callable[[Rows], Rows] = lambda rows: rows


# -- what becomes of rows ----------------------------------------------------------------------------------------------


def put(*new: Row) -> Callable[[Rows], Rows]:
    """Rows that come, or take the place of others."""
    return lambda rows: {**rows, **{row["id"]: row for row in new}}


def change(keys: tuple[int, ...], **values: Any) -> Callable[[Rows], Rows]:
    """Rows that get other values; a function takes the row."""

    def changed(row: Row) -> Row:
        return {**row, **{name: value(row) if callable(value) else value for name, value in values.items()}}

    return lambda rows: {key: changed(row) if key in keys else row for key, row in rows.items()}


def gone(*keys: int) -> Callable[[Rows], Rows]:
    """Rows that go."""
    return lambda rows: {key: row for key, row in rows.items() if key not in keys}


def without(*parts: str) -> Callable[[Rows], Rows]:
    """Partitions that go."""
    return lambda rows: {key: row for key, row in rows.items() if row["p"] not in parts}


def then(*changes: Callable[[Rows], Rows]) -> Callable[[Rows], Rows]:
    """Several changes, one after the other."""

    def all_of(rows: Rows) -> Rows:
        for one in changes:
            rows = one(rows)
        return rows

    return all_of


def row(key: int, part: str, ts: int = 10, v: float = 1.0) -> Row:
    """A row as :func:`values` writes it."""
    s = {"a": key, "b": f"b{key}"} if key % 3 else None
    return {"id": key, "name": f"n{key}", "v": v, "ts": ts, "s": s, "note": f"note {key}", "p": part}


def values(*rows: Row, part: bool = True) -> str:
    """Rows as SQL, with or without the partition column."""

    def one(item: Row) -> str:
        s = f"named_struct('a', {item['s']['a']}, 'b', '{item['s']['b']}')" if item["s"] else "NULL"
        head = f"{item['id']}, '{item['name']}', CAST({item['v']} AS DOUBLE), CAST({item['ts']} AS BIGINT)"
        return f"SELECT {head}, {s}, '{item['note']}'" + (f", '{item['p']}'" if part else "")

    return " UNION ALL ".join(one(item) for item in rows)


def _insert(*rows: Row) -> str:
    return f"INSERT INTO {{t}} {values(*rows)}"


# -- lives -----------------------------------------------------------------------------------------------------------


def services(mor: bool) -> Iterator[Step]:
    """Each kind of statement by ours, and real Hudi behind a restore."""
    first = [row(key, part) for key, part in enumerate("xxxyyzz", 1)]
    yield Step("ours", _insert(*first), put(*first))
    yield Step("ours", "UPDATE {t} SET v = 2.5, ts = 11 WHERE id = 1", change((1,), v=2.5, ts=11))
    yield Step("ours", "DELETE FROM {t} WHERE id = 2", gone(2))
    yield Step(
        "ours",
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (3, 7.5D, 12L, 'x'), (4, 0D, 12L, 'y'), (8, 8D, 12L, 'z') "
        "AS w (id, v, ts, p)) u ON t.id = u.id WHEN MATCHED AND u.id = 4 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET v = u.v, ts = u.ts WHEN NOT MATCHED THEN INSERT (id, v, ts, p) "
        "VALUES (u.id, u.v, u.ts, u.p)",
        then(
            change((3,), v=7.5, ts=12),
            gone(4),
            put({"id": 8, "name": None, "v": 8.0, "ts": 12, "s": None, "note": None, "p": "z"}),
        ),
    )
    yield from _restore(mor)
    yield from _replacements()


def _restore(mor: bool) -> Iterator[Step]:
    """A restore, and what both do behind it."""
    yield Step("ours", "CALL create_savepoint(table => '{t}')")
    # What follows is undone: the model stays as it is, so that none of these is looked at.
    yield Step("undone", "UPDATE {t} SET v = v + 1, ts = ts + 1")
    if mor:
        yield Step("undone", _COMPACT.format("run"))
    yield Step("undone", _insert(row(9, "x")))
    yield Step("undone", "CALL run_clustering(table => '{t}')")
    yield Step("undone", "UPDATE {t} SET v = v + 1, ts = ts + 1")
    yield Step("undone", "CALL run_clustering(table => '{t}', op => 'schedule')")
    yield Step("ours", "CALL rollback_to_savepoint(table => '{t}')")
    yield Step("hudi", "UPDATE {t} SET v = 20.5, ts = 20 WHERE id = 1", change((1,), v=20.5, ts=20))
    yield Step("hudi", "CALL run_clustering(table => '{t}')")
    yield Step("hudi", "UPDATE {t} SET v = 21.5, ts = 21 WHERE id IN (1, 3, 5)", change((1, 3, 5), v=21.5, ts=21))
    yield Step(
        "ours", "UPDATE {t} SET note = 'behind', ts = 22 WHERE id IN (3, 6)", change((3, 6), note="behind", ts=22)
    )
    if mor:
        yield Step("hudi", _COMPACT.format("scheduleAndExecute"))
        yield Step("hudi", "UPDATE {t} SET v = 23.5, ts = 23 WHERE id = 3", change((3,), v=23.5, ts=23))
        yield Step("ours", _COMPACT.format("run"))
    yield Step("ours", "CALL delete_savepoint(table => '{t}')")


def _replacements() -> Iterator[Step]:
    """Statements that replace whole partitions."""
    over = [row(10, "x", 30), row(11, "x", 30)]
    yield Step(
        "ours",
        f"INSERT OVERWRITE {{t}} PARTITION (p = 'x') {values(*over, part=False)}",
        then(without("x"), put(*over)),
    )
    yield Step("ours", "ALTER TABLE {t} DROP PARTITION (p = 'y')", without("y"))
    yield Step("ours", "CALL run_clean(table => '{t}', retain_commits => 1)")
    again = [row(5, "y", 31), row(12, "y", 31)]
    yield Step("ours", _insert(*again), put(*again))
    yield Step("hudi", "DELETE FROM {t} WHERE id IN (10, 12)", gone(10, 12))
    yield Step("ours", "CALL run_clustering(table => '{t}')")
    yield Step("hudi", "UPDATE {t} SET v = 32.5, ts = 32 WHERE p = 'z'", change((6, 7, 8), v=32.5, ts=32))
    yield Step("ours", "TRUNCATE TABLE {t} PARTITION (p = 'z')", without("z"))
    back = [row(6, "z", 33), row(13, "x", 33)]
    yield Step("hudi", _insert(*back), put(*back))
    yield Step("ours", "TRUNCATE TABLE {t}", without("x", "y", "z"))
    yield Step("ours", _insert(*back), put(*back))
    yield Step("hudi", "UPDATE {t} SET v = 34.5, ts = 34 WHERE id = 13", change((13,), v=34.5, ts=34))


def _merge(source: str, clauses: str) -> str:
    return f"MERGE INTO {{t}} t USING ({source}) u ON t.id = u.id AND t.p = u.p {clauses}"


_KEYS = "id = u.id, ts = u.ts, p = u.p"
_UPDATE = f"WHEN MATCHED THEN UPDATE SET v = u.v, {_KEYS}"


def partial(mor: bool) -> Iterator[Step]:
    """Log blocks with a part of the columns."""
    if not mor:
        return
    first = [row(key, part) for key, part in enumerate("xxxyyyzz", 1)]
    yield Step("ours", _insert(*first), put(*first))
    # 4 comes too late.
    yield Step(
        "ours",
        _merge(
            "SELECT * FROM VALUES (1, 2.5D, 11L, 'x'), (2, 3.5D, 12L, 'x'), (4, 9D, 3L, 'y') AS w (id, v, ts, p)",
            _UPDATE,
        ),
        then(change((1,), v=2.5, ts=11), change((2,), v=3.5, ts=12)),
    )
    yield Step(
        "ours",
        _merge(
            "SELECT 1 AS id, CAST(NULL AS STRING) AS note, 13L AS ts, 'x' AS p UNION ALL SELECT 5, 'five', 13L, 'y'",
            "WHEN MATCHED THEN UPDATE SET note = u.note, ts = u.ts, t.s.a = t.s.a + 10",
        ),
        then(
            change((1,), note=None, ts=13, s={"a": 11, "b": "b1"}),
            change((5,), note="five", ts=13, s={"a": 15, "b": "b5"}),
        ),
    )
    yield Step(
        "ours",
        _merge(
            "SELECT * FROM VALUES (2, 'd', 14L, 'x'), (3, 'm', 14L, 'x'), (9, 'i', 14L, 'z') AS w (id, name, ts, p)",
            "WHEN MATCHED AND u.name = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET name = u.name, ts = u.ts "
            "WHEN NOT MATCHED THEN INSERT (id, name, ts, p) VALUES (u.id, u.name, u.ts, u.p)",
        ),
        then(
            gone(2),
            change((3,), name="m", ts=14),
            put({"id": 9, "name": "i", "v": None, "ts": 14, "s": None, "note": None, "p": "z"}),
        ),
    )
    yield from _both_compact()
    yield from _both_cluster()


def _both_compact() -> Iterator[Step]:
    """Blocks of both in one file group, before and behind the columns have ids."""
    yield Step("hudi", "UPDATE {t} SET note = 'full', ts = 15 WHERE id IN (1, 9)", change((1, 9), note="full", ts=15))
    yield Step(
        "hudi",
        _merge("SELECT * FROM VALUES (1, 16.5D, 16L, 'x'), (5, 16.5D, 2L, 'y') AS w (id, v, ts, p)", _UPDATE),
        # Records of the log are merged with one another first: that of 5 has its later ts from a block without v.
        then(change((1,), v=16.5, ts=16), change((5,), v=16.5)),
    )
    yield Step("hudi", _COMPACT.format("scheduleAndExecute"))
    yield Step(
        "ours",
        _merge("SELECT * FROM VALUES (1, 17.5D, 17L, 'x'), (7, 17.5D, 17L, 'z') AS w (id, v, ts, p)", _UPDATE),
        change((1, 7), v=17.5, ts=17),
    )
    # Real Hudi's compaction loses the other columns of log blocks from before the columns had ids.
    yield Step("ours", _COMPACT.format("run"))
    yield Step("ours", "ALTER TABLE {t} ADD COLUMNS (extra STRING)", change(tuple(range(99)), extra=None))
    yield Step(
        "ours",
        _merge(
            "SELECT 1 AS id, 'more' AS extra, 18L AS ts, 'x' AS p UNION ALL SELECT 6, 'six', 18L, 'y'",
            f"WHEN MATCHED THEN UPDATE SET extra = u.extra, {_KEYS}",
        ),
        then(change((1,), extra="more", ts=18), change((6,), extra="six", ts=18)),
    )
    yield Step(
        "ours",
        _merge("SELECT * FROM VALUES (1, 19.5D, 19L, 'x'), (8, 19.5D, 19L, 'z') AS w (id, v, ts, p)", _UPDATE),
        change((1, 8), v=19.5, ts=19),
    )
    yield Step("hudi", _COMPACT.format("scheduleAndExecute"))
    yield Step(
        "hudi",
        _merge(
            "SELECT 1 AS id, 'theirs' AS extra, 20L AS ts, 'x' AS p UNION ALL SELECT 4, 'four', 20L, 'y'",
            f"WHEN MATCHED THEN UPDATE SET extra = u.extra, {_KEYS}",
        ),
        then(change((1,), extra="theirs", ts=20), change((4,), extra="four", ts=20)),
    )


def _both_cluster() -> Iterator[Step]:
    """More of such blocks, and clusterings behind them."""
    yield Step(
        "hudi",
        _merge(
            "SELECT * FROM VALUES (4, CAST(NULL AS DOUBLE), 21L, 'y'), (8, 21.5D, 21L, 'z') AS w (id, v, ts, p)",
            _UPDATE,
        ),
        then(change((4,), v=None, ts=21), change((8,), v=21.5, ts=21)),
    )
    yield Step("hudi", "DELETE FROM {t} WHERE id = 7", gone(7))
    yield Step("ours", "UPDATE {t} SET s.a = 0, ts = 22 WHERE id = 4", change((4,), s={"a": 0, "b": "b4"}, ts=22))
    yield Step("ours", _COMPACT.format("run"))
    yield Step(
        "hudi",
        _merge("SELECT * FROM VALUES (1, 23.5D, 23L, 'x'), (6, 23.5D, 23L, 'y') AS w (id, v, ts, p)", _UPDATE),
        change((1, 6), v=23.5, ts=23),
    )
    yield Step("ours", _COMPACT.format("run"))
    yield Step(
        "ours",
        _merge("SELECT * FROM VALUES (3, 24.5D, 24L, 'x'), (9, 24.5D, 24L, 'z') AS w (id, v, ts, p)", _UPDATE),
        change((3, 9), v=24.5, ts=24),
    )
    yield Step("hudi", "CALL run_clustering(table => '{t}')")
    yield Step(
        "ours",
        _merge("SELECT * FROM VALUES (3, 25.5D, 25L, 'x'), (9, 25.5D, 25L, 'z') AS w (id, v, ts, p)", _UPDATE),
        change((3, 9), v=25.5, ts=25),
    )
    yield Step("ours", "CALL run_clustering(table => '{t}')")
    yield Step("hudi", "UPDATE {t} SET v = 26.5, ts = 26 WHERE id = 3", change((3,), v=26.5, ts=26))


LIVES: dict[str, Callable[[bool], Iterator[Step]]] = {"services": services, "partial": partial}


# -- one table -------------------------------------------------------------------------------------------------------


@dataclass
class Table:
    """One table, statement by statement.

    Args:
        name: its name in both sessions.
        path: base path, not there yet.
        spark: our session.
        peer: real Hudi of the version's release.
    """

    name: str
    path: Path
    spark: Any
    peer: HudiPeer
    rows: Rows = field(default_factory=dict)
    checks: int = 0

    def create(self, kind: str, life: str) -> None:
        # Hudi 1.0.2 keeps no record index behind log blocks with other columns than those that it writes.
        indexed = "false" if (life, self.peer.version) == ("partial", 8) else "true"
        settings = {**_SETTINGS, "hoodie.metadata.record.index.enable": indexed}
        for key, text in {**settings, "hoodie.write.table.version": str(self.peer.version)}.items():
            self.spark.sql(f"SET {key}={text}")
        for key, text in {**settings, **_THEIRS}.items():
            self.peer.sql(f"set {key}={text}")
        short = {"COPY_ON_WRITE": "cow", "MERGE_ON_READ": "mor"}[kind]
        self.spark.sql(
            f"CREATE TABLE {self.name} ({_COLUMNS}) USING hudi PARTITIONED BY (p) TBLPROPERTIES "
            f"(type = '{short}', primaryKey = 'id', preCombineField = 'ts') LOCATION '{self.path}'"
        )

    def run(self, step: Step) -> None:
        text = step.text.replace("{t}", self.name)
        if step.by == "hudi":
            self.introduce()
            done = self.peer.sql(text)
        else:
            done = self.spark.sql(text).collect()
        if text.startswith(("CALL run_compaction", "CALL run_clustering")) and not done:
            raise DifferenceError("the service did nothing")
        self.rows = step.change(self.rows)

    def introduce(self) -> None:
        """Have real Hudi's session forget its listing, which it keeps over clusterings."""
        self.peer.sql(f"drop table if exists {self.name}")
        self.peer.sql(f"create table {self.name} using hudi location '{self.path}'")

    def check(self) -> None:
        """What the module's first lines say; each comparison is counted."""
        expected = [self.rows[key] for key in sorted(self.rows)]
        names = ", ".join(expected[0]) if expected else "id"
        self.introduce()
        self.same("rows of Hudi", self.sorted(self.peer.sql(f"select {names} from {self.name}")), expected)
        ours = [row.asDict(recursive=True) for row in self.spark.sql(f"SELECT {names} FROM {self.name}").collect()]
        self.same("our rows", self.sorted(ours), expected)
        keys = [*sorted(self.rows)[::2], 999]
        found = self.peer.sql(f"select {names} from {self.name} where id in ({', '.join(map(str, keys))})")
        self.same("look-ups of Hudi", self.sorted(found), [self.rows[key] for key in keys[:-1]])
        report = validate(MetaClient.load(self.path))
        self.same("our validation", str(report) if report.errors else "", "")
        listed = self.peer.sql(f"call validate_metadata_table_files(table => '{self.name}', verbose => true)")
        shown = {
            (item["partition"], item["file_name"]): item["metadata_size"]
            for item in listed
            if item["is_present_in_metadata"]
        }
        client = MetaClient.load(self.path)
        lister = DirectoryLister(client.storage)
        files = committed_files(client, lister.files(lister.partitions())).to_pylist()
        there = {(item["partition"], item["name"]): item["size"] for item in files}
        if self.peer.version == 6:  # blocks of what was rolled back stay in log files, which grow
            there = {key: shown.get(key, size) if key[1].startswith(".") else size for key, size in there.items()}
        self.same("files of Hudi's listing", shown, there)

    @staticmethod
    def sorted(rows: list[Row]) -> list[Row]:
        return sorted(rows, key=lambda item: int(item["id"]))

    def same(self, what: str, actual: object, expected: object) -> None:
        self.checks += 1
        if actual != expected:
            raise DifferenceError(f"{what}:\n    {str(actual)[:1500]}\n  for\n    {str(expected)[:1500]}")


def run(table: Table, kind: str, life: str, tell: Callable[[str], object]) -> tuple[int, int]:
    """A table's life up to its end, or to the first difference.

    Returns:
        How many statements there were, and how many of them left what they should.
    """
    table.create(kind, life)
    steps = list(LIVES[life](kind == "MERGE_ON_READ"))
    began = time.monotonic()
    for number, step in enumerate(steps):
        try:
            table.run(step)
            if step.by != "undone":
                table.check()
        except Exception as error:
            tell(f"{table.name} {number}: FAILED {step.by}: {step.text}\n  {type(error).__name__}: {str(error)[:3000]}")
            return len(steps), number
    tell(f"{table.name}: {len(steps)} statements, {table.checks} comparisons, {time.monotonic() - began:.0f} s")
    return len(steps), len(steps)


def main() -> int:
    """Run the chosen tables; print a line for each and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", type=int, action="append", choices=tuple(RELEASES))
    parser.add_argument("--type", action="append", choices=TYPES)
    parser.add_argument("--life", action="append", choices=tuple(LIVES))
    parser.add_argument("--keep", type=Path, help="leave the tables there")
    chosen = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    total = passed = 0
    with tempfile.TemporaryDirectory(prefix="continued_") as scratch:
        folder = chosen.keep or Path(scratch)
        spark = our_session(folder / "session")
        for version in chosen.version or RELEASES:
            with HudiPeer(version) as peer:
                for life in chosen.life or LIVES:
                    for kind in chosen.type or TYPES:
                        if life == "partial" and (version == 6 or kind == "COPY_ON_WRITE"):
                            continue  # no such log blocks
                        name = f"{life}_{version}_{kind}".lower()
                        table = Table(name, folder / name, spark, peer)
                        counted = run(table, kind, life, lambda line: print(line, flush=True))
                        total, passed = total + counted[0], passed + counted[1]
        spark.stop()
    print(f"{passed} of {total} statements passed")
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
