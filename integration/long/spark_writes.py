"""The corpus of SQL statements that write, run by real Hudi 1.0.2 on Spark 3.5 and by us: the same answers?

``python -m integration.long.spark_writes [--topic NAME] [--only PATTERN] [--record | --live] [--version 6] …``

The corpus is ``integration/data/spark_writes`` (``integration/support/statement_corpus.py`` says how it is written).
Compared are rows and columns of queries, whether a statement fails, and of each table the actions of its writes and its
properties. What real Hudi does was recorded; ``--record`` does so anew, ``--live`` runs it beside us. What differs for
a reason stands in ``differences.json`` with it; anything else that differs is printed and ends the run with status 1.

With ``--version`` our tables are of another version than real Hudi's of the recorded answers, and only answers are
compared; with ``--live`` too real Hudi's tables are of that version. With ``--continue`` real Hudi reads each table
that our statements left, writes a row of it again, and both read it once more. ``--release`` names real Hudi's release:
it is 1.1.1 for version 9.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

from integration.support.statement_corpus import (
    Answer,
    differences,
    groups,
    has_reason,
    left_in,
    reasons,
    record,
    recorded,
    run_group,
    same,
    slug,
    table_differences,
    tables_in,
    topics,
)

ROOT = Path(__file__).resolve().parents[2]
RELEASE = "1.0.2"

_MARK = "answer: "

_JAVA = "-Duser.timezone=UTC -Djol.skipHotspotSAAttach=true -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.level=OFF"


# -- real Hudi -----------------------------------------------------------------------------------------------------


def ask_real_hudi(
    folder: Path, names: list[str], release: str = RELEASE, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[str, Answer]]:
    """What real Hudi does with groups, one after the other; it runs in a process of its own on Spark 3.5."""
    work = {"do": "run", "groups": names, "settings": dict(settings or {})}
    for name, answers in _in_real_hudi(folder, release, work):
        yield name, {"answers": answers, "tables": left_in(folder / "real" / slug(name))}


def _in_real_hudi(folder: Path, release: str, work: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    from tools.real_hudi import spark_process

    bundle, environment = spark_process(release, [ROOT])
    environment["TZ"] = "UTC"
    command = [sys.executable, "-m", "integration.long.spark_writes", "--real"]
    work = {**work, "bundle": bundle, "folder": str(folder)}
    (folder / "work.json").write_text(json.dumps(work))
    with (
        (folder / "work.json").open() as given,
        subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, env=environment, text=True, cwd=ROOT) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(_MARK):
                name, answer = json.loads(line.removeprefix(_MARK))
                yield name, answer
    if process.returncode:
        raise RuntimeError(f"real Hudi ended with {process.returncode}")


def real_hudi(work: dict[str, Any]) -> None:
    """The process that runs real Hudi."""
    settings = {
        "spark.jars": work["bundle"],
        "spark.driver.extraClassPath": work["bundle"],
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    }
    folder = Path(work["folder"])
    spark = session(folder / ("real" if work["do"] == "run" else "continued"), settings)
    if work["do"] == "run":
        script = groups()
        for name in work["groups"]:
            _tell(name, run_group(spark, name, script[name], folder / "real", work["settings"]))
    else:
        for path in work["tables"]:
            _tell(path, _continued(spark, path))
    spark.stop()


def _tell(name: str, answer: Any) -> None:
    print(_MARK + json.dumps([name, answer]), flush=True)


def _continued(spark: Any, path: str) -> Answer:
    """The rows of a table, before and after a row of it was written again."""
    try:
        before = _rows(spark, path)
        rows = spark.read.format("hudi").load(path)
        own = [name for name in rows.columns if not name.startswith("_hoodie_")]
        row = spark.createDataFrame(rows.select(*own).limit(1).collect(), rows.select(*own).schema)
        if before:
            lines = (Path(path) / ".hoodie" / "hoodie.properties").read_text().splitlines()
            texts = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
            keyed = bool(texts.get("hoodie.table.recordkey.fields"))
            options = {"hoodie.table.name": texts["hoodie.table.name"]}
            options["hoodie.datasource.write.operation"] = "upsert" if keyed else "insert"
            if not any(texts.get(f"hoodie.table.{name}") for name in ("precombine.field", "ordering.fields")):
                options["hoodie.combine.before.upsert"] = "false"  # by a column ts, in releases before 1.0
            row.write.format("hudi").options(**options).mode("append").save(path)
        return {"before": before, "after": _rows(spark, path)}
    except Exception as error:
        lines = str(error).strip().splitlines()
        causes = [line for line in lines if line.startswith("Caused by: ")]
        return {"fails": " ".join([*lines[:2], *causes[-1:]])[:600]}


def _rows(spark: Any, path: str) -> list[str]:
    rows = spark.read.format("hudi").load(path)
    return sorted(repr(tuple(row)) for row in rows.select(*_own(rows.columns)).collect())


def _own(columns: list[str]) -> list[str]:
    return [f"`{name}`" for name in sorted(columns) if not name.startswith("_hoodie_")]


# -- both ------------------------------------------------------------------------------------------------------------


def session(folder: Path, settings: dict[str, str]) -> Any:
    """A small local session with a catalog in memory."""
    from pyspark.sql import SparkSession

    folder.mkdir(parents=True)
    common = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1200m",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": _JAVA,
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in {**common, **settings}.items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""For a few rows the code that Spark generates costs more than it saves."""


def our_session(folder: Path) -> Any:
    """A session of ours, which interprets expressions."""
    import hudi_hive.spark as hudi_spark

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return hudi_spark.enable(session(folder, _INTERPRETED))


def check_continued(folder: Path, names: list[str], release: str, version: str | None) -> list[str]:
    """What differs when real Hudi goes on with the tables that our statements left, and how many by type."""
    from pyspark.sql import SparkSession

    from hudi_hive.table import MetaClient

    spark = SparkSession.getActiveSession()
    tables = [str(path) for name in names for path in tables_in(folder / "ours" / slug(name))]
    ours = {path: _rows(spark, path) for path in tables}
    theirs = dict(_in_real_hudi(folder, release, {"do": "continue", "tables": tables}))
    known, found = reasons(), []
    total, equal, explained = Counter[str](), Counter[str](), Counter[str]()
    for path in tables:
        other = theirs[path]
        place = str(Path(path).relative_to(folder / "ours"))
        kind = "mor" if MetaClient.load(path).config.is_merge_on_read else "cow"
        total[kind] += 1
        label, differs = f"continued: {place}", ""
        if "fails" in other:
            differs = f"real Hudi fails: {other['fails']}"
        elif other["before"] != ours[path]:
            differs = _shown(ours[path], other["before"])
        elif other["after"] != (again := _rows(spark, path)):
            differs = "after real Hudi wrote" + _shown(again, other["after"])
        if differs and (label in known or f"version {version}: {label}" in known):
            explained[kind] += 1
        elif differs:
            found.append(f"{label}: {differs}")
        else:
            equal[kind] += 1
    for kind in total:
        line = f"{equal[kind]} of {total[kind]}, {explained[kind]} differ for a reason"
        print(f"tables of ours that real Hudi {release} reads and goes on with, {kind}: {line}")
    return found


def _shown(ours: list[str], theirs: list[str]) -> str:
    """Some of the rows that one side alone has."""
    alone = [list((one - other).elements())[:4] for one, other in permutations((Counter(ours), Counter(theirs)))]
    return f"\n  ours   {alone[0]}\n  theirs {alone[1]}"


def report(ours: dict[str, Answer], theirs: dict[str, Answer], version: str | None) -> list[str]:
    """Print by topic how many answers are the same; what differs without a reason."""
    script, known, found = groups(), reasons(), []
    total, equal, explained = Counter[str](), Counter[str](), Counter[str]()
    for topic, names in topics().items():
        for name in (name for name in names if name in ours):
            kind = f"{topic} {'mor' if 'mor' in ' '.join(script[name]).lower() else 'cow'}"
            pairs = zip(ours[name]["answers"], theirs[name]["answers"], strict=True)
            total[kind] += len(script[name])
            for number, (one, other) in enumerate(pairs, 1):
                equal[kind] += same(one, other)
                explained[kind] += not same(one, other) and has_reason(name, number, known, version)
            found += differences(name, ours[name]["answers"], theirs[name]["answers"], version)
            if version is None:
                found += table_differences(name, ours[name]["tables"], theirs[name]["tables"])
    for kind in total:
        print(f"{kind:24} {equal[kind]:4} the same, {explained[kind]:3} differ for a reason, of {total[kind]:4}")
    print(f"{'all':24} {equal.total():4} the same, {explained.total():3} differ for a reason, of {total.total():4}")
    return found


def left_out(names: list[str], theirs: Mapping[str, Answer]) -> str:
    """The groups that were asked for and not run, as real Hudi has no answers to them; empty where all were run."""
    script = groups()
    missing = [f"{name} ({len(script[name])} statements)" for name in names if name not in theirs]
    return f"not run, as real Hudi's answers are not recorded: {', '.join(missing)}" if missing else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topic", choices=topics(), action="append", help="these topics alone")
    parser.add_argument("--only", default="", help="groups whose names match this regular expression")
    parser.add_argument("--record", action="store_true", help="make real Hudi's answers the expected ones")
    parser.add_argument("--new", action="store_true", help="with --record: only groups that have no answers yet")
    parser.add_argument("--live", action="store_true", help="run real Hudi rather than taking what was recorded")
    parser.add_argument("--version", choices=("6", "8", "9"), help="the version of our tables")
    parser.add_argument("--release", help="of real Hudi")
    parser.add_argument("--continue", dest="go_on", action="store_true", help="real Hudi goes on with our tables")
    parser.add_argument("--real", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.real:
        real_hudi(json.load(sys.stdin))
        return 0
    os.environ["TZ"] = "UTC"
    time.tzset()
    script, known = groups(), recorded()
    release = options.release or ("1.1.1" if options.version == "9" else RELEASE)
    settings = {"hoodie.write.table.version": options.version} if options.version else {}
    chosen = [name for topic in options.topic or topics() for name in topics()[topic]]
    names = [name for name in chosen if re.search(options.only, name)]
    with tempfile.TemporaryDirectory(prefix="statements_") as place:
        folder = Path(place)
        if options.record:
            todo = [name for name in names if not (options.new and _is_recorded(name, known))]
            for name, answer in ask_real_hudi(folder, todo):
                record({name: answer})
                print(name, flush=True)
            return 0
        theirs = {name: known[name] for name in names if name in known}
        if options.live:
            theirs = dict(ask_real_hudi(folder, names, release, settings))
        spark = our_session(folder / "ours")
        ours: dict[str, Answer] = {}
        for name in theirs:
            answers = run_group(spark, name, script[name], folder / "ours", settings)
            ours[name] = {"answers": answers, "tables": left_in(folder / "ours" / slug(name))}
        found = report(ours, theirs, options.version)
        if line := left_out(names, theirs):
            print(line)
        if options.go_on:
            found += check_continued(folder, list(theirs), release, options.version)
        spark.stop()
    print("\n".join(found))
    print(f"{len(found)} differ without a reason")
    return 1 if found else 0


def _is_recorded(name: str, answers: dict[str, Answer]) -> bool:
    return name in answers and len(answers[name]["answers"]) == len(groups()[name])


__all__ = ["differences", "groups", "recorded"]


if __name__ == "__main__":
    sys.exit(main())
