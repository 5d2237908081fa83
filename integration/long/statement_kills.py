"""SQL statements that are killed at each change of the disk: the table is as before or as after, and can be written.

    python -m integration.long.statement_kills [--only RE] [--most 20] [--kind mor] [--metadata true]

Each statement runs once in a Spark session under a library that has an image taken of its database's folder before each
call that changes something there, of the JVM and of all Python processes: what SIGKILL would leave. Then, when those
processes have ended, each image (``--most`` of each statement) is opened, and the next write is made on it.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore, Table
from hudi_hive.table import is_hudi_table
from integration.support.crash_images import CrashImage, CrashImages
from integration.support.session_process import DONE, ROOT, SessionProcess, session_environment
from tests.support.faults.write_faults import check_tidy, rows_of, with_row

KINDS = ("cow", "mor")
_COLUMNS = "id INT, name STRING, ts BIGINT, dt STRING"
_ROWS = "(1, 'a', 1, 'x'), (2, 'b', 1, 'x'), (3, 'c', 1, 'y'), (4, 'd', 1, 'z')"


@dataclass(frozen=True)
class Statement:
    """Something that is killed.

    Attributes:
        name: for people, and of its database.
        act: the statement, or a name of ``killed_statements.ACTS``.
        more: statements before it, behind those that make the table.
        settings: of the session.
        kinds: types of the table.
    """

    name: str
    act: str
    more: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    kinds: tuple[str, ...] = KINDS
    metadata: tuple[str, ...] = ("true", "false")


_EVOLVES = (("hoodie.schema.on.read.enable", "true"),)
_MERGE = (
    "MERGE INTO t USING (SELECT 1 AS id, 'm' AS name, 5L AS ts, 'x' AS dt UNION ALL SELECT 3, 'gone', 5L, 'y' "
    "UNION ALL SELECT 9, 'new', 5L, 'z') s ON t.id = s.id WHEN MATCHED AND s.name = 'gone' THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET name = s.name, ts = s.ts WHEN NOT MATCHED THEN INSERT *"
)
STATEMENTS = (
    Statement("insert", "INSERT INTO t VALUES (1, 'A', 3, 'x'), (7, 'g', 1, 'y'), (8, 'h', 1, 'new')"),
    Statement("insert_self", "INSERT INTO t SELECT id + 100, name, ts, dt FROM t"),
    Statement("overwrite_table", "INSERT OVERWRITE t SELECT id + 5, name, ts, dt FROM t WHERE dt = 'x'"),
    Statement("overwrite_part", "INSERT OVERWRITE t PARTITION (dt = 'x') SELECT 11, 'o', 9L"),
    Statement("update", "UPDATE t SET name = concat(name, '!'), ts = ts + 1 WHERE id < 4"),
    Statement("delete", "DELETE FROM t WHERE id IN (1, 3)"),
    Statement("merge", _MERGE),
    Statement("merge_self", "MERGE INTO t USING t s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = upper(s.name)"),
    Statement("truncate", "TRUNCATE TABLE t"),
    Statement("truncate_part", "TRUNCATE TABLE t PARTITION (dt = 'x')"),
    Statement("drop_partition", "ALTER TABLE t DROP PARTITION (dt = 'x')"),
    Statement("add_columns", "ALTER TABLE t ADD COLUMNS (extra STRING)"),
    Statement("rename_column", "ALTER TABLE t RENAME COLUMN name TO called", settings=_EVOLVES),
    Statement(
        "replace_columns",
        "ALTER TABLE t REPLACE COLUMNS (more STRING, id INT, ts BIGINT, dt STRING)",
        settings=_EVOLVES,
    ),
    Statement("create_index", "CREATE INDEX record_index ON t (id)", metadata=("true",)),
    Statement(
        "drop_index", "DROP INDEX record_index ON t", more=("CREATE INDEX record_index ON t (id)",), metadata=("true",)
    ),
    Statement(
        "compaction",
        "CALL run_compaction(op => 'run', table => 't', options => 'hoodie.compact.inline.max.delta.commits=1')",
        kinds=("mor",),
    ),
    Statement("clustering", "CALL run_clustering(table => 't', order => 'name')"),
    Statement(
        "clean",
        "CALL run_clean(table => 't', retain_commits => 1)",
        more=("UPDATE t SET ts = 7", "UPDATE t SET ts = 8"),
    ),
    Statement("savepoint", "CALL create_savepoint(table => 't')"),
    Statement("rollback", "rollback_to_instant"),
)


def cases(options: argparse.Namespace) -> list[dict[str, Any]]:
    """What the session is to run."""
    found = []
    for one in STATEMENTS:
        for kind in one.kinds:
            for metadata in one.metadata:
                name = f"{one.name}__{kind}__{'metadata' if metadata == 'true' else 'listing'}"
                if (
                    re.search(options.only, one.name)
                    and options.kind in ("", kind)
                    and options.metadata in ("", metadata)
                ):
                    made = (
                        f"CREATE TABLE t ({_COLUMNS}) USING hudi PARTITIONED BY (dt) "
                        f"TBLPROPERTIES (type = '{kind}', primaryKey = 'id', preCombineField = 'ts')"
                    )
                    prepare = [made, f"INSERT INTO t VALUES {_ROWS}", "UPDATE t SET name = 'B', ts = 2 WHERE id = 2"]
                    settings = {"hoodie.metadata.enable": metadata, "hoodie.index.bloom.num_entries": "100"}
                    found.append(
                        {
                            "name": name,
                            "settings": settings | dict(one.settings),
                            "prepare": [*prepare, *one.more],
                            "act": one.act,
                        }
                    )
    return found


_PROPERTIES = "primaryKey = 'id', preCombineField = 'ts'"
_QUERY = "SELECT 1 AS id, 'a' AS name, 1L AS ts, 'x' AS dt UNION ALL SELECT 2, 'b', 1L, 'y'"
_TABLE = f"CREATE TABLE t ({_COLUMNS}) USING hudi PARTITIONED BY (dt) TBLPROPERTIES ({_PROPERTIES})"
_AS = f"CREATE TABLE t USING hudi PARTITIONED BY (dt) {{}} TBLPROPERTIES ({_PROPERTIES}, type = '{{}}') AS {_QUERY}"
_SOURCE = f"CREATE TABLE s USING hudi TBLPROPERTIES (primaryKey = 'id') AS {_QUERY}"
_EXTERNAL = "LOCATION '${folder}/external'"
CATALOG_STATEMENTS = (
    Statement("create", _TABLE),
    Statement("create_if", _TABLE.replace("TABLE t", "TABLE IF NOT EXISTS t")),
    Statement("create_external", _TABLE.replace("TBLPROPERTIES", f"{_EXTERNAL} TBLPROPERTIES")),
    Statement("ctas_cow", _AS.format("", "cow")),
    Statement("ctas_mor", _AS.format("", "mor")),
    Statement("ctas_external", _AS.format(_EXTERNAL, "cow")),
    Statement("save_new", "saveAsTable"),
    Statement("save_overwrite", "saveAsTable overwrite", more=(_SOURCE, _AS.format("", "mor"))),
    Statement("save_overwrite_type", "saveAsTable overwrite", more=(_SOURCE, _AS.format("", "cow"))),
    Statement("drop", "DROP TABLE IF EXISTS t", more=(_AS.format("", "cow"),)),
    Statement("drop_purge", "DROP TABLE IF EXISTS t PURGE", more=(_AS.format(_EXTERNAL, "mor"),)),
    Statement("add_columns", "ALTER TABLE t ADD COLUMNS (extra STRING)", more=(_AS.format("", "cow"),)),
    Statement("drop_partition", "ALTER TABLE t DROP PARTITION (dt = 'x')", more=(_AS.format("", "cow"),)),
    Statement("truncate", "TRUNCATE TABLE t", more=(_AS.format("", "mor"),)),
)
"""Those that change the catalog too: run again on what a kill left, they end as they should have."""


def catalog_cases(options: argparse.Namespace, root: Path) -> list[dict[str, Any]]:
    """What the session is to run of these."""
    settings = {"hoodie.index.bloom.num_entries": "100"}
    return [
        {
            "name": one.name,
            "settings": settings,
            "prepare": [text.replace("${folder}", str(root / one.name)) for text in one.more],
            "act": one.act.replace("${folder}", str(root / one.name)),
        }
        for one in CATALOG_STATEMENTS
        if re.search(options.only, one.name)
    ]


class Entries:
    """The entries of a metastore's database, at a moment and again later.

    Args:
        metastore: a client.
    """

    def __init__(self, metastore: HiveMetastore) -> None:
        self._metastore = metastore
        self._lock = threading.Lock()

    def of(self, folder: Path) -> dict[str, Table]:
        """Entries of the database of a folder."""
        with self._lock:
            names = self._metastore.tables(folder.name)
            return {one.tableName: one for one in self._metastore.table_objects(folder.name, names)}

    def restore(self, database: str, entries: Mapping[str, Table]) -> None:
        """Make the database's entries those of a moment."""
        for name in self._metastore.tables(database):
            self._metastore.drop_table(database, name)
        for table in entries.values():
            self._metastore.create_table(copy.deepcopy(table))


def shape(entries: Mapping[str, Table]) -> dict[str, Any]:
    """What must be the same of entries: places, types, columns."""
    return {
        name: (
            one.tableType,
            one.sd.location,
            one.sd.inputFormat,
            [(column.name, column.type) for column in (*one.sd.cols, *one.partitionKeys)],
        )
        for name, one in entries.items()
    }


class SecondSession(SessionProcess):
    """A session that runs statements again on what a kill left."""

    def __init__(self, root: Path, uri: str | None) -> None:
        super().__init__(["-m", "integration.support.killed_statements"], session_environment())
        self.send({"folder": str(root), "uri": uri, "cases": []})

    def run(self, case: dict[str, Any]) -> dict[str, Any]:
        """Run the statement of a case again; what was read before and behind it."""
        answer: dict[str, Any] = self.ask(case)
        return answer


def _differences(answer: dict[str, Any], before: Any, after: Any) -> list[str]:
    """What is wrong with what a statement did that was run again."""
    found = []
    gone = after is None and isinstance(answer["before"], str)  # of a table that is being dropped the entry goes last
    if answer["before"] not in (before, after) and not gone:
        found.append(f"a query shows {answer['before']}")
    done = answer["fails"] and re.search("exists|is a column .* already", answer["fails"]) and answer["after"] == after
    if answer["fails"] and not done:
        found.append(f"run again it fails: {answer['fails']}")
    if answer["after"] != after:
        found.append(f"run again a query shows {answer['after']}, not {after}")
    return found


def check_again(
    images: CrashImages,
    case: dict[str, Any],
    taken: Sequence[CrashImage],
    folder: Path,
    entries: Entries | None,
    second: SecondSession,
    most: int,
    chance: random.Random,
) -> tuple[Counter[str], list[str]]:
    """Run a statement again on its images: how many showed what, and what is wrong."""
    seen, wrong = Counter[str](), []
    last = taken[-1]
    asked = {**case, "folder": str(folder), "forgets": entries is None}
    nothing = {**asked, "act": "SELECT 1"}
    # Where the entry changes is looked at in any case.
    edges = {at + step for at in range(len(taken) - 1) if taken[at].beside != taken[at + 1].beside for step in (0, 1)}
    chosen = set(range(len(taken))) if not most else {*edges, *chance.sample(range(len(taken)), min(most, len(taken)))}

    def put(image: CrashImage) -> None:
        if entries is not None:
            entries.restore(folder.name, image.beside)  # the metastore may make folders
        shutil.rmtree(folder, ignore_errors=True)
        images.restore(image, folder)

    put(taken[0])
    before = second.run(nothing)["before"]
    put(last)
    after = second.run(nothing)["before"]
    for at in sorted(chosen):
        put(taken[at])
        answer = second.run(asked)
        found = _differences(answer, before, after)
        now, final = {} if entries is None else shape(entries.of(folder)), shape(last.beside or {})
        if now != final:
            found.append(f"entries {now}, not {final}")
        left = {one.name for one in folder.iterdir()}
        if entries is not None and left != {name for name in last.folders if "/" not in name}:
            found.append(f"folders {sorted(left)}")
        for name in ("t", "external"):
            if is_hudi_table(folder / name):
                try:
                    check_tidy(folder / name)
                except AssertionError as error:
                    found.append(str(error))
        seen["after" if answer["before"] == after else "before"] += 1
        wrong += [f"{at} before {taken[at].call}: {one}" for one in found]
    return seen, wrong


def recorded(images: CrashImages, root: Path, work: list[dict[str, Any]], uri: str | None) -> dict[str, str | None]:
    """Run the cases in a process of its own; why each failed, or None."""
    environment = {**session_environment(), **images.environment()}
    command = [sys.executable, "-m", "integration.support.killed_statements"]
    given = json.dumps({"folder": str(root), "uri": uri, "cases": work}) + "\n"
    done = subprocess.run(
        command, input=given, stdout=subprocess.PIPE, env=environment, text=True, cwd=ROOT, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the session ended with {done.returncode}")
    lines = [line.removeprefix(DONE) for line in done.stdout.splitlines() if line.startswith(DONE)]
    return dict(json.loads(line) for line in lines)


def probe(path: Path, metadata: bool) -> dict[str, Any]:
    """The next write, which repairs: of one row, with all columns of the table."""
    schema = HudiTable.open(path).scan().to_arrow().schema
    values = {"id": 77, "ts": 77, "dt": "x"}
    fields = [one for one in schema if not one.name.startswith("_hoodie")]
    row = {one.name: values.get(one.name) for one in fields}
    options = {"hoodie.index.bloom.num_entries": "100", "hoodie.metadata.enable": str(metadata).lower()}
    report = HudiTable.open(path).upsert(pa.Table.from_pylist([row], pa.schema(fields)), options)
    assert not report.failed, report.failed
    return row


def check_image(path: Path, before: list[Any], after: list[Any], metadata: bool, rolls_back: bool) -> str:
    """Rows of an image, before and behind the next write.

    Returns:
        ``before`` or ``after``.
    """
    found = rows_of(path, metadata=False)
    assert found in (before, after), f"{found} are neither the rows before nor those after"
    assert rows_of(path) == found, "the metadata table gives other rows"
    row = probe(path, metadata)
    expected = with_row(found, row)
    if rolls_back and rows_of(path) == with_row(after, row):
        expected = with_row(after, row)  # a rollback that was planned is carried out
    assert rows_of(path) == expected, f"after the next write {rows_of(path)}, not {expected}"
    assert rows_of(path, metadata=False) == expected, "after the next write without the metadata table"
    check_tidy(path)
    return "before" if found == before else "after"


def check_case(
    images: CrashImages, case: dict[str, Any], folder: Path, most: int, chance: random.Random
) -> tuple[Counter[str], list[str]]:
    """Look at the images of a statement: how many show which rows, and what is wrong."""
    seen, wrong = Counter[str](), []
    taken = images.cases[case["name"]]
    metadata, rolls_back = case["settings"]["hoodie.metadata.enable"] == "true", case["act"] == "rollback_to_instant"
    ends = []
    for image in (taken[0], taken[-1]):
        images.restore(image, folder)
        ends.append(rows_of(folder / "t"))
        shutil.rmtree(folder)
    chosen = sorted(chance.sample(range(len(taken)), min(most, len(taken))) if most else range(len(taken)))
    for at in chosen:
        images.restore(taken[at], folder)
        try:
            seen[check_image(folder / "t", *ends, metadata, rolls_back)] += 1
        except Exception as error:  # all images are looked at
            wrong.append(f"{at} before {taken[at].call}: {type(error).__name__}: {str(error)[:700]}")
        shutil.rmtree(folder)
    return seen, wrong


def sweep(options: argparse.Namespace, place: Path, chance: random.Random) -> tuple[int, int]:
    """Statements on a table, in a session whose catalog is in memory; number of images, and of wrong ones."""
    root, begun, total, bad = place / "tables", time.monotonic(), 0, 0
    root.mkdir(parents=True)
    work = cases(options)
    with CrashImages(place / "images", root) as images:
        failed = recorded(images, root, work, None)
    print(f"{len(work)} statements run, {time.monotonic() - begun:.0f} s", images.failed[:3], flush=True)
    for case in work:
        taken = images.cases.get(case["name"], [])
        if failed[case["name"]] is not None:
            seen, wrong = Counter[str](), [str(failed[case["name"]])]
        else:
            seen, wrong = check_case(images, case, place / "image", options.most, chance)
        total, bad = total + seen.total() + len(wrong), bad + len(wrong)
        _say(case, taken, seen, wrong)
    return total, bad


def catalog_sweep(options: argparse.Namespace, place: Path, chance: random.Random) -> tuple[int, int]:
    """Statements that change the catalog, a metastore server; number of images, and of wrong ones."""
    root, total, bad = place / "tables", 0, 0
    root.mkdir(parents=True)
    work = catalog_cases(options, root)
    with EmbeddedMetastore(place / "metastore", heap="256m") as server, HiveMetastore(server.uri) as metastore:
        entries = Entries(metastore)
        with CrashImages(place / "images", root, entries.of) as images:
            failed = recorded(images, root, work, server.uri)
        print(f"{len(work)} statements run", images.failed[:3], flush=True)
        with SecondSession(root, server.uri) as second:
            for case in work:
                taken = images.cases.get(case["name"], [])
                if failed[case["name"]] is not None:
                    seen, wrong = Counter[str](), [str(failed[case["name"]])]
                else:
                    folder = root / case["name"]
                    seen, wrong = check_again(images, case, taken, folder, entries, second, options.most, chance)
                total, bad = total + seen.total(), bad + len({line.partition(":")[0] for line in wrong})
                _say(case, taken, seen, wrong)
    return total, bad


def _say(case: dict[str, Any], taken: Sequence[CrashImage], seen: Counter[str], wrong: list[str]) -> None:
    print(f"{case['name']:36} {len(taken):4} images, {dict(seen)}, {len(wrong)} wrong", flush=True)
    for line in wrong:
        print(f"    {line}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="statements whose names match this regular expression")
    parser.add_argument("--part", choices=("", "tables", "catalog"), default="")
    parser.add_argument("--kind", choices=("", *KINDS), default="")
    parser.add_argument("--metadata", choices=("", "true", "false"), default="")
    parser.add_argument("--most", type=int, default=0, help="images of a statement that are looked at; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    os.fsync = lambda descriptor: None  # a killed process loses nothing that it wrote
    begun, total, bad = time.monotonic(), 0, 0
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="statement_kills_") as name:
        for part, run in (("tables", sweep), ("catalog", catalog_sweep)):
            if options.part in ("", part):
                images, wrong = run(options, Path(name) / part, chance)
                total, bad = total + images, bad + wrong
    print(f"{total} images, {bad} wrong, {time.monotonic() - begun:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
