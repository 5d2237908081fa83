"""One SQL script of statements that write, run by real Hudi 1.0.2 on Spark 3.5 and by us: the same answers?

``python -m integration.long.spark_writes [--record]``

The script is ``integration/data/spark_writes/statements.sql``, in groups of tables of their own. With ``--record`` real
Hudi's answers become the expected ones of the integration tests. What differs for a reason stands in
``differences.json`` with it; anything else that differs is printed and ends the run with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "integration" / "data" / "spark_writes"
RELEASE = "1.0.2"

_JAVA = "-Duser.timezone=UTC -Djol.skipHotspotSAAttach=true -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def groups() -> dict[str, list[str]]:
    """Name of each group to its statements."""
    parts = (DATA / "statements.sql").read_text().split("-- group: ")[1:]
    named = (part.partition("\n") for part in parts)
    return {name: [text.strip() for text in body.split(";;") if text.strip()] for name, _, body in named}


def answers_of(spark: Any, statements: list[str], folder: Path) -> list[dict[str, Any]]:
    """The answer to each statement of a group: rows in any order, or that it fails."""
    answers = []
    for text in statements:
        try:
            rows = spark.sql(text.replace("${folder}", str(folder))).collect()
        except Exception as error:
            answers.append({"fails": str(error).strip().splitlines()[0][:200]})
            continue
        is_query = text.upper().startswith("SELECT")
        answers.append({"rows": sorted(repr(tuple(row)) for row in rows)} if is_query else {})
    return answers


def recorded() -> dict[str, list[dict[str, Any]]]:
    """Real Hudi's answers by group."""
    answers: dict[str, list[dict[str, Any]]] = json.loads((DATA / "answers.json").read_text())
    return answers


def reasons() -> dict[str, str]:
    """Statements, as ``group: number``, whose answers differ, with the reason."""
    found: dict[str, str] = json.loads((DATA / "differences.json").read_text())
    return found


def differences(group: str, ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> list[str]:
    """What differs without a reason; failures are the same whatever their texts."""
    statements, known = groups()[group], reasons()
    found = []
    for number, (text, one, other) in enumerate(zip(statements, ours, theirs, strict=True), 1):
        same = ("fails" in one) == ("fails" in other) and one.get("rows") == other.get("rows")
        if same == (f"{group}: {number}" in known):
            found.append(f"{group}: {number}: {text}\n  ours   {one}\n  theirs {other}")
    return found


def ask_real_hudi(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Real Hudi's answers; it runs in a process of its own on Spark 3.5."""
    from tools.real_hudi import class_path

    bundle, jars = class_path(release=RELEASE).split(os.pathsep)
    package = Path(jars).parents[1]
    bridge = next((package / "python" / "lib").glob("py4j-*.zip"))
    work = {"bundle": bundle, "folder": str(folder)}
    paths = os.pathsep.join([str(bridge), str(package.parent), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "SPARK_HOME": str(package), "TZ": "UTC"}
    command = [sys.executable, "-m", "integration.long.spark_writes", "--real"]
    subprocess.run(command, input=json.dumps(work), env=environment, text=True, check=True, cwd=ROOT)
    answers: dict[str, list[dict[str, Any]]] = json.loads((folder / "answers.json").read_text())
    return answers


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
    spark = session(folder / "real", settings)
    answers = {name: answers_of(spark, statements, folder / "real") for name, statements in groups().items()}
    (folder / "answers.json").write_text(json.dumps(answers))
    spark.stop()


def session(folder: Path, settings: dict[str, str]) -> Any:
    """A small local session with a catalog in memory."""
    from pyspark.sql import SparkSession

    folder.mkdir(parents=True)
    common = {
        "spark.ui.enabled": "false",
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="make real Hudi's answers the expected ones")
    parser.add_argument("--real", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.real:
        real_hudi(json.load(sys.stdin))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        theirs = ask_real_hudi(folder)
        if options.record:
            (DATA / "answers.json").write_text(json.dumps(theirs, indent=1, ensure_ascii=False) + "\n")
            return 0
        import hudi_hive.spark as hudi_spark

        spark = session(folder / "ours", {})
        hudi_spark.enable(spark)
        found = []
        for group, statements in groups().items():
            found += differences(group, answers_of(spark, statements, folder / "ours"), theirs[group])
        spark.stop()
    print("\n".join(found))
    print(f"{sum(map(len, groups().values()))} statements, {len(found)} differ, {len(reasons())} for a reason")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
