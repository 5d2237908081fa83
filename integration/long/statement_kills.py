"""SQL statements that are killed at each change of the disk: the table is as before or as after, and can be written.

    python -m integration.long.statement_kills [--only RE] [--most 20] [--kind mor] [--metadata true]

Each statement runs once in a Spark session under a library that has an image taken of its database's folder before each
call that changes something there, of the JVM and of all Python processes: what SIGKILL would leave. Then, when those
processes have ended, each image (``--most`` of each statement) is opened, and the next write is made on it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from integration.support.crash_images import CrashImage, CrashImages
from tests.support.faults.write_faults import check_tidy, rows_of, with_row

ROOT = Path(__file__).parents[2]
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
                if re.search(options.only, one.name) and options.kind in ("", kind) and options.metadata in ("", metadata):
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


def recorded(images: CrashImages, root: Path, work: list[dict[str, Any]], uri: str | None) -> dict[str, str | None]:
    """Run the cases in a process of its own; why each failed, or None."""
    environment = {**os.environ, **images.environment(), "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-m", "integration.support.killed_statements"]
    given = json.dumps({"folder": str(root), "uri": uri, "cases": work})
    done = subprocess.run(
        command, input=given, stdout=subprocess.PIPE, env=environment, text=True, cwd=ROOT, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the session ended with {done.returncode}")
    lines = [line.removeprefix("done: ") for line in done.stdout.splitlines() if line.startswith("done: ")]
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


def check_image(path: Path, before: list[Any], after: list[Any], metadata: bool) -> str:
    """Rows of an image, before and behind the next write.

    Returns:
        ``before`` or ``after``.
    """
    found = rows_of(path, metadata=False)
    assert found in (before, after), f"{found} are neither the rows before nor those after"
    assert rows_of(path) == found, "the metadata table gives other rows"
    row = probe(path, metadata)
    expected = with_row(found, row)
    assert rows_of(path) == expected, f"after the next write {rows_of(path)}, not {expected}"
    assert rows_of(path, metadata=False) == expected, "after the next write without the metadata table"
    check_tidy(path)
    return "before" if found == before else "after"


def check_case(
    images: CrashImages, taken: Sequence[CrashImage], folder: Path, metadata: bool, most: int, chance: random.Random
) -> tuple[Counter[str], list[str]]:
    """Look at the images of a statement: how many show which rows, and what is wrong."""
    seen, wrong = Counter[str](), []
    ends = []
    for image in (taken[0], taken[-1]):
        images.restore(image, folder)
        ends.append(rows_of(folder / "t"))
        shutil.rmtree(folder)
    chosen = sorted(chance.sample(range(len(taken)), min(most, len(taken))) if most else range(len(taken)))
    for at in chosen:
        images.restore(taken[at], folder)
        try:
            seen[check_image(folder / "t", *ends, metadata)] += 1
        except Exception as error:  # all images are looked at
            wrong.append(f"{at} before {taken[at].call}: {type(error).__name__}: {str(error)[:700]}")
        shutil.rmtree(folder)
    return seen, wrong


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="statements whose names match this regular expression")
    parser.add_argument("--kind", choices=("", *KINDS), default="")
    parser.add_argument("--metadata", choices=("", "true", "false"), default="")
    parser.add_argument("--most", type=int, default=0, help="images of a statement that are looked at; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    os.fsync = lambda descriptor: None  # a killed process loses nothing that it wrote
    begun, total, bad = time.monotonic(), 0, 0
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory(prefix="statement_kills_") as name:
        root = Path(name) / "tables"
        root.mkdir()
        work = cases(given)
        with CrashImages(Path(name) / "images", root) as images:
            failed = recorded(images, root, work, None)
        print(f"{len(work)} statements run, {time.monotonic() - begun:.0f} s", images.failed[:3], flush=True)
        for case in work:
            taken = images.cases.get(case["name"], [])
            metadata = case["settings"]["hoodie.metadata.enable"] == "true"
            if failed[case["name"]] is not None:
                seen, wrong = Counter[str](), [str(failed[case["name"]])]
            else:
                seen, wrong = check_case(images, taken, Path(name) / "image", metadata, given.most, chance)
            total, bad = total + seen.total() + len(wrong), bad + len(wrong)
            print(f"{case['name']:36} {len(taken):4} images, {dict(seen)}, {len(wrong)} wrong", flush=True)
            for line in wrong[:8]:
                print(f"    {line}", flush=True)
    print(f"{total} images, {bad} wrong, {time.monotonic() - begun:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
