"""Entries of tables in a metastore, by statements of real Hudi 1.0.2 on Spark 3.5 and of ours: the same?

``python -m integration.long.spark_entries [--record] [--release 3.1.3]``

The statements are ``integration/data/spark_entries/statements.sql``. Real Hudi's entries are compared with ours in one
metastore: the embedded one, or that of a release; so are the entries of tables that streams sync. Each side then reads
the other's tables by name and writes them. With ``--record`` real Hudi's entries become the expected ones of the
integration tests. What differs for a reason stands in ``differences.json`` with it; anything else that differs is
printed and ends the run with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from integration.support.catalog_entries import DATA, differences, entries_of, statements

ROOT = Path(__file__).resolve().parents[2]
RELEASE = "1.0.2"

_JAVA = "-Duser.timezone=UTC -Djol.skipHotspotSAAttach=true -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.level=OFF"
_OTHERS = {
    "cow_pt": ("cow_pt", "INSERT INTO {} VALUES (9, 'more', 9, 'z')"),
    "mor_pt": ("mor_pt", "INSERT INTO {} VALUES (9, 'more', 9, DATE'2024-01-02', 3)"),
    "mor_ctas": ("mor_ctas", "UPDATE {} SET name = 'other' WHERE id = 1"),
    "keyless": ("keyless", "INSERT INTO {} VALUES (9, 'more')"),
}
"""Tables that the other side writes, by a statement."""

_STREAMED = "streamed_"
"""Begins the names of tables that streams write."""


def run_side(who: str, uri: str, folder: Path, todo: list[str], streams: bool = False) -> list[str | None]:
    """Run statements in a process of one side, then streams; each statement's rows, or its error, as texts."""
    environment = {**os.environ, "TZ": "UTC", "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    work: dict[str, Any] = {"who": who, "uri": uri, "folder": str(folder), "statements": todo, "streams": streams}
    if who == "real":
        from tools.real_hudi import spark_process

        work["bundle"], real = spark_process(RELEASE, [ROOT])
        environment |= real | {"TZ": "UTC"}
    command = [sys.executable, "-m", "integration.long.spark_entries", "--side"]
    subprocess.run(command, input=json.dumps(work), env=environment, text=True, check=True, cwd=ROOT)
    answers: list[str | None] = json.loads((folder / "answers.json").read_text())
    return answers


def side(work: dict[str, Any]) -> None:
    """The process of one side."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    settings = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": work["uri"],
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": _JAVA,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": f"{work['folder']}/warehouse",
    }
    if work["who"] == "real":
        settings |= {
            "spark.jars": work["bundle"],
            "spark.driver.extraClassPath": work["bundle"],
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        }
    for key, text in settings.items():
        builder = builder.config(key, text)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    if work["who"] == "ours":
        import hudi_hive.spark as hudi_spark

        hudi_spark.enable(spark)
    database = f"by_{work['who']}"
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {database} LOCATION '{work['folder']}/{database}.db'")
    spark.sql(f"USE {database}")
    answers: list[str] = []
    for text in work["statements"]:
        try:
            rows = spark.sql(text.replace("${folder}", work["folder"])).collect()
            answers.append(repr(sorted(map(tuple, rows), key=repr)))
        except Exception as error:
            answers.append(f"fails: {str(error).strip()[:300]}")
    if work["streams"]:
        for kind in ("COPY_ON_WRITE", "MERGE_ON_READ"):
            for parts in ("", "p"):
                stream(spark, work, database, kind, parts)
    (Path(work["folder"]) / "answers.json").write_text(json.dumps(answers))
    spark.stop()


def stream(spark: Any, work: dict[str, Any], database: str, kind: str, parts: str) -> None:
    """Write a table by a stream of two batches, each of which syncs it."""
    name = f"{_STREAMED}{kind.partition('_')[0].lower()}{parts}"
    folder = Path(work["folder"]) / name
    (folder / "source").mkdir(parents=True)
    for number in (1, 2):
        row = {"id": number, "name": f"n{number}", "ts": number, "p": f"p{number}"}
        (folder / "source" / f"{number}.json").write_text(json.dumps(row))
    source = spark.readStream.schema("id INT, name STRING, ts BIGINT, p STRING").option("maxFilesPerTrigger", 1)
    options = {
        "hoodie.table.name": name,
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": parts,
        "hoodie.datasource.hive_sync.enable": "true",
        "hoodie.datasource.hive_sync.mode": "hms",
        "hoodie.datasource.hive_sync.metastore.uris": work["uri"],
        "hoodie.datasource.hive_sync.database": database,
        "hoodie.datasource.hive_sync.table": name,
        "hoodie.datasource.hive_sync.partition_fields": parts,
        "checkpointLocation": str(folder / "checkpoint"),
    }
    if not parts:
        options["hoodie.datasource.write.keygenerator.class"] = "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
    writer = source.json(str(folder / "source")).writeStream.format("hudi").options(**options)
    writer.trigger(availableNow=True).start(str(folder / "table")).awaitTermination()


def visits(host: str) -> list[str]:
    """Statements that write and read the tables of the other side."""
    found = []
    for name, text in _OTHERS.values():
        found += [text.format(f"by_{host}.{name}"), _select(host, name)]
    return found


def _select(host: str, name: str) -> str:
    columns = {"cow_pt": "id, name, ts, dt", "mor_pt": "id, name, ts, day, h"}.get(name, "id, name")
    return f"SELECT {columns} FROM by_{host}.{name}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="make real Hudi's entries the expected ones")
    parser.add_argument("--release", help="the metastore's release; without it the embedded one")
    parser.add_argument("--side", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        side(json.load(sys.stdin))
        return 0
    from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore
    from integration.support.metastores import ReleasedMetastore

    with tempfile.TemporaryDirectory(prefix="entries_") as name, ExitStack() as stack:
        folder = Path(name)
        server: Any = EmbeddedMetastore(folder / "metastore")
        if options.release:
            server = ReleasedMetastore(options.release, folder / "metastore")
        uri = stack.enter_context(server).uri
        found: list[str] = []
        entries = {}
        for who in ("real", "ours"):
            (folder / who).mkdir()
            answers = run_side(who, uri, folder / who, statements(), streams=True)
            pairs = zip(statements(), answers, strict=True)
            found += [f"{who}: {text}\n  {one}" for text, one in pairs if one and one.startswith("fails")]
            with HiveMetastore(uri) as metastore:
                entries[who] = entries_of(metastore, f"by_{who}", folder / who)
            if options.record and who == "real":
                kept = {key: entry for key, entry in entries[who].items() if not key.startswith(_STREAMED)}
                (DATA / "entries.json").write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
        found += differences(entries["ours"], entries["real"])
        for who, host in (("real", "ours"), ("ours", "real")):
            visitor = run_side(who, uri, folder / who, visits(host))
            owner = run_side(host, uri, folder / host, [_select(host, table) for table, _ in _OTHERS.values()])
            if visitor[1::2] != owner:
                found.append(f"tables of {host} written by {who}:\n  {visitor}\n  {owner}")
        print(f"{len(entries['ours'])} tables of ours, {len(entries['real'])} of real Hudi")
    print("\n".join(found))
    print(f"{len(found)} differ without a reason")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
