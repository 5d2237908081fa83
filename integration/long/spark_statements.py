"""One SQL script on the same synced tables, run by real Hudi on Spark 3.5 and by us on Spark 4: the same rows?

``python -m integration.long.spark_statements [--only PATTERN] [--version v9] [--record | --recorded]``

The script is ``integration/data/spark_statements/statements.sql``; its tables are the fixtures, synced by us to one
embedded metastore. Each table version is read by the release that wrote it: 6 by 0.15.0, 8 by 1.0.2, 9 by 1.1.1. With
``--record`` real Hudi's answers become the expected ones of the integration tests; with ``--recorded`` they are taken
from there and real Hudi is not run. What differs for a reason stands in ``differences.json`` with it; anything else
that differs is printed and ends the run with status 1.
"""

from __future__ import annotations

import argparse
import base64
import datetime as dt
import decimal
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "integration" / "data" / "spark_statements"
FIXTURES = ROOT / "tests" / "data" / "fixtures"
DATABASE = "statements"
RELEASES = {"v6": "0.15.0", "v8": "1.0.2", "v9": "1.1.1"}

_JAVA = "-Duser.timezone=UTC -Djol.skipHotspotSAAttach=true -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
_WRITES = {"commit", "deltacommit", "replacecommit"}
_MOMENT = re.compile(r"'(\w+)@(\d+)([+=]?)'")


# -- the script ----------------------------------------------------------------------------------------------------


def statements(version: str) -> dict[str, str]:
    """Name to SQL text, for one table version."""
    found: dict[str, str] = {}
    for part in (DATA / "statements.sql").read_text().split("-- name: ")[1:]:
        name, _, text = part.partition("\n")
        text = re.sub(r"^--.*\n?", "", text, flags=re.MULTILINE).strip().removesuffix(";")
        assert name not in found, name
        text = text.replace("vN_", f"{version}_")
        found[name] = _MOMENT.sub(lambda match: f"'{_moment(version, *match.groups())}'", text)
    return found


def tables(version: str) -> list[str]:
    """Fixtures that the script reads in one table version."""
    known = {path.stem for path in FIXTURES.glob("*.zip")}
    used = re.findall(r"\bv\d_\w+", "\n".join(statements(version).values()).lower())
    return sorted({name for word in used for name in (word, re.sub("_r[ot]$", "", word)) if name in known})


def _moment(version: str, case: str, number: str, kind: str) -> str:
    answers = json.loads((FIXTURES / f"{version}_{case}.expected.json").read_text())
    written = [item for item in answers["commits"] if item["action"] in _WRITES]
    item = written[int(number) - 1]
    text = item["requested"] if kind == "=" or version == "v6" else item["completed"]
    if kind != "+":
        return text
    later = dt.datetime.strptime(text + "000", "%Y%m%d%H%M%S%f") + dt.timedelta(milliseconds=1)
    return later.strftime("%Y%m%d%H%M%S%f")[:17]


def in_order(name: str) -> bool:
    """Whether the order of a statement's rows counts."""
    return name.endswith("in order")


# -- answers -------------------------------------------------------------------------------------------------------


def answer(frame: Any, ordered: bool) -> dict[str, Any]:
    """A DataFrame's columns and rows as plain data."""
    fields = frame.schema.fields
    rows = [[_plain(row[index], field.dataType) for index, field in enumerate(fields)] for row in frame.collect()]
    if not ordered:
        rows.sort(key=lambda row: json.dumps(row, sort_keys=True))
    return {"columns": [f"{field.name} {field.dataType.simpleString()}" for field in fields], "rows": rows}


def _plain(value: Any, kind: Any) -> Any:
    """A value that JSON keeps: times in UTC, decimals and infinities as text, bytes in base 64, maps in order."""
    name = kind.typeName()
    if value is None:
        return None
    if name == "struct":
        return [_plain(value[index], field.dataType) for index, field in enumerate(kind.fields)]
    if name == "array":
        return [_plain(item, kind.elementType) for item in value]
    if name == "map":
        pairs = [[_plain(key, kind.keyType), _plain(item, kind.valueType)] for key, item in value.items()]
        return sorted(pairs, key=json.dumps)
    if name == "timestamp":
        return value.astimezone(dt.UTC).isoformat()
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def run(spark: Any, todo: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each statement's answer; what it is refused with, if so."""
    for name, text in todo.items():
        try:
            yield name, answer(spark.sql(text), in_order(name))
        except Exception as error:
            yield name, {"error": first_line(error)}


def first_line(error: Exception) -> str:
    """What an error says, without paths and traces."""
    text = str(error).strip()
    causes = re.findall(r"^Caused by: (.*)$", text, re.MULTILINE)
    line = causes[-1] if causes else text.splitlines()[0] if text else ""
    return f"{type(error).__name__}: {re.sub(r'(file:)?/[^ ,]*/', '', line)[:200]}"


def recorded(version: str) -> dict[str, dict[str, Any]]:
    """Real Hudi's answers for a table version, as recorded."""
    return json.loads((DATA / f"{version}.json").read_text())["answers"]


def record(version: str, answers: dict[str, dict[str, Any]]) -> None:
    """Keep answers, a row a line; of statements that were not asked the old ones stay."""
    file = DATA / f"{version}.json"
    known = (recorded(version) if file.exists() else {}) | answers
    lines = []
    for name, found in ((name, known[name]) for name in statements(version) if name in known):
        rows = "".join(f"\n   {json.dumps(row, ensure_ascii=False)}," for row in found.get("rows", ())).rstrip(",")
        head = {key: item for key, item in found.items() if key != "rows"}
        text = json.dumps(head, ensure_ascii=False)[:-1] + (f', "rows": [{rows}]}}' if "rows" in found else "}")
        lines.append(f"  {json.dumps(name)}: {text}")
    body = ",\n".join(lines)
    file.write_text(f'{{"hudi": "{RELEASES[version]}", "answers": {{\n{body}\n}}}}\n')


def differences(version: str) -> dict[str, str]:
    """Statement to the reason why our answer is another one in this table version."""
    known = json.loads((DATA / "differences.json").read_text())
    return {name: item["why"] for name, item in known.items() if version in item["versions"]}


# -- real Hudi -----------------------------------------------------------------------------------------------------


def ask_real_hudi(uri: str, release: str, todo: dict[str, str], folder: Path) -> dict[str, dict[str, Any]]:
    """Real Hudi's answer to each statement. It runs in a process of its own on Spark 3.5."""
    from tools.real_hudi import spark_process

    bundle, environment = spark_process(release)
    work = {"uri": uri, "bundle": bundle, "statements": todo, "folder": str(folder), "answers": str(folder / release)}
    command = [sys.executable, str(Path(__file__).resolve()), "--real"]
    subprocess.run(command, input=json.dumps(work), env=environment | {"TZ": "UTC"}, text=True, check=True)
    return json.loads(Path(work["answers"]).read_text())


def real_hudi(work: dict[str, Any]) -> None:
    """The process that runs real Hudi."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.jars": work["bundle"],
        "spark.driver.extraClassPath": work["bundle"],
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": _JAVA,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": work["uri"],
        # Release 1.1.1 cannot read ORC files with generated code (OrcAtomicColumnVector).
        "spark.sql.codegen.wholeStage": "false",
    }
    builder = SparkSession.builder
    for key, value in {**settings, **_small(work["folder"])}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    answers: dict[str, Any] = {}
    for name, text in work["statements"].items():
        # Release 0.15.0 leaves the schema of an evolved table in the session, where other tables then fail.
        session = spark.newSession()
        session.sql(f"USE {DATABASE}")
        answers |= run(session, {name: text})
    Path(work["answers"]).write_text(json.dumps(answers))
    spark.stop()


def _small(folder: str) -> dict[str, str]:
    """Settings of a small local session."""
    return {
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": f"{folder}/local",
    }


# -- us --------------------------------------------------------------------------------------------------------------


def our_session(uri: str, folder: Path) -> Any:
    """A session of ours on the metastore."""
    import hudi_hive.spark as hudi_spark

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = hudi_spark.session_builder(uri).config("spark.driver.memory", "1g").config("spark.log.level", "OFF")
    for key, value in _small(str(folder)).items():
        builder = builder.config(key, value)
    return hudi_spark.enable(builder.getOrCreate())


def sync_all(uri: str, folder: Path, versions: Iterable[str] = tuple(RELEASES)) -> None:
    """Sync every fixture that the script reads."""
    import zipfile

    from hudi_hive.sync import HiveSyncConfig, HiveSyncTool

    for name in (name for version in versions for name in tables(version)):
        with zipfile.ZipFile(FIXTURES / f"{name}.zip") as archive:
            archive.extractall(folder)
        config = HiveSyncConfig(base_path=str(folder / name), database=DATABASE, table=name, metastore_uris=uri)
        HiveSyncTool(config).sync()


# -- both ------------------------------------------------------------------------------------------------------------


def same(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Whether two answers are the same: columns, their types, rows; two refusals are, whatever they say."""
    if "error" in ours or "error" in theirs:
        return "error" in ours and "error" in theirs
    return json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True)


def shown(answer: dict[str, Any], other: dict[str, Any]) -> str:
    """One side of a difference."""
    if "error" in answer:
        return answer["error"]
    extra = [row for row in answer["rows"] if row not in other.get("rows", ())]
    columns = [name for name in answer["columns"] if name not in other.get("columns", ())]
    return f"{len(answer['rows'])} rows; only here: {columns} {json.dumps(extra[:2], ensure_ascii=False)[:600]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="statements whose names match this regular expression")
    parser.add_argument("--version", choices=RELEASES, help="one table version alone")
    parser.add_argument("--record", action="store_true", help="keep real Hudi's answers for the integration tests")
    parser.add_argument("--recorded", action="store_true", help="compare with what was recorded: real Hudi is not run")
    parser.add_argument("--real", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.real:
        real_hudi(json.load(sys.stdin))
        return 0
    from hudi_hive.metastore import EmbeddedMetastore

    os.environ["TZ"] = "UTC"
    time.tzset()
    versions = [options.version] if options.version else list(RELEASES)
    todo = {v: {n: text for n, text in statements(v).items() if re.search(options.only, n)} for v in versions}
    with tempfile.TemporaryDirectory(prefix="statements_") as name, EmbeddedMetastore(Path(name) / "ms") as metastore:
        folder = Path(name)
        sync_all(metastore.uri, folder, versions)
        if options.recorded:
            theirs = {version: recorded(version) for version in versions}
        else:
            theirs = {}
            for version in versions:
                theirs[version] = ask_real_hudi(metastore.uri, RELEASES[version], todo[version], folder)
                if options.record:
                    record(version, theirs[version])
        spark = our_session(metastore.uri, folder)
        spark.sql(f"USE {DATABASE}")
        ours = {version: dict(run(spark, todo[version])) for version in versions}
        spark.stop()
    return report(ours, theirs)


def report(ours: dict[str, dict[str, Any]], theirs: dict[str, dict[str, Any]]) -> int:
    """Print what is the same and what is not; 1 when something differs without a reason."""
    total = equal = unknown = 0
    refused: list[str] = []
    for version, answers in ours.items():
        known = differences(version)
        for name, found in answers.items():
            wanted = theirs[version][name]
            total += 1
            if same(found, wanted):
                equal += 1
                if "error" in found:
                    refused.append(f"{version} {name}: {found['error']} | {wanted['error']}")
                continue
            unknown += name not in known
            print(f"{version} {name}: {known.get(name, 'NOT EXPLAINED')}")
            print(f"    ours   {shown(found, wanted)}\n    Hudi's {shown(wanted, found)}")
    print("\n".join(f"refused by both: {line}" for line in refused))
    print(f"{equal} same ({len(refused)} of them refused by both) / {total} total")
    print(f"{total - equal - unknown} differ for a known reason, {unknown} without one")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
