"""Spark and a real metastore on tables at ``hdfs://``: Spark's Hadoop client reads the files that our planner names.

    python -m integration.long.spark_hdfs [--part streams] [--version 6] [--type MERGE_ON_READ] [--trace]

Parts: ``reads`` syncs fixtures to the metastore and selects from them by name, compared with the reader that needs no
Spark; ``writes`` are DataFrames with the format ``hudi``, each operation, compared with a model; ``services`` run as
Spark tasks; ``streams`` go on from their checkpoints, which are on HDFS, too; ``statements`` are SQL's on a table whose
locations the sync wrote.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore
from hudi_hive.schema import META_FIELDS
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from integration.long.store_fixtures import upload
from integration.support.matrix import MatrixCase, all_cases, case_parser, run_cases
from integration.support.spark_options import JAVA_OPTIONS
from integration.support.stores.hdfs import HdfsServer
from tests.support.fixture_tables import encode_rows, rows_sha256, unzip_fixture

FIXTURES: Final[Mapping[str, tuple[str, ...]]] = {
    "COPY_ON_WRITE": ("cow_part_mdt", "cow_types"),
    "MERGE_ON_READ": ("mor_part_rli", "mor_types"),
}
DATABASE: Final = "on_hdfs"
Model = dict[str, float]


@dataclass
class Bench:
    """What runs while the cases do.

    Attributes:
        spark: an enabled session on the metastore.
        metastore: a client of it.
        folder: gives a URI that nobody has used.
        compared: how many things were compared.
    """

    spark: SparkSession
    metastore: HiveMetastore
    folder: Callable[[], str]
    compared: int = field(default=0)

    def check(self, seen: object, expected: object, what: str) -> None:
        """Compare."""
        assert seen == expected, f"{what}: {str(seen)[:500]} for {str(expected)[:500]}"
        self.compared += 1

    def sync(self, uri: str, name: str, **more: Any) -> None:
        """Sync a table, and look at its locations."""
        config = HiveSyncConfig(base_path=uri, database=DATABASE, table=name, **more)
        HiveSyncTool(config, metastore=self.metastore).sync()
        for registered in self.metastore.tables(DATABASE):
            if registered not in (name, f"{name}_ro", f"{name}_rt"):
                continue
            entry = self.metastore.find_table(DATABASE, registered)
            assert entry is not None
            self.check(entry.sd.location, uri, f"location of {registered}")
            partitions = self.metastore.partitions(DATABASE, registered)
            outside = [one.sd.location for one in partitions if not one.sd.location.startswith(f"{uri}/")]
            self.check(outside, [], f"locations of partitions of {registered}")


@dataclass(frozen=True)
class Case(MatrixCase):
    """One kind of table in one part."""

    def options(self, **more: str) -> dict[str, str]:
        """Options of a write."""
        return {
            "hoodie.table.name": "trips",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "city",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.table.type": self.table_type,
            "hoodie.write.table.version": str(self.version),
            **{f"hoodie.datasource.write.{name}": value for name, value in more.items()},
        }


def trips(spark: SparkSession, first: int, last: int, fare: float = 1.0, ts: int = 1) -> DataFrame:
    """Rows in two partitions."""
    key = sql.concat(sql.lit("k"), "id").alias("id")
    city = sql.concat(sql.lit("c"), sql.col("id") % 2).alias("city")
    return spark.range(first, last).select(key, city, sql.lit(fare).alias("fare"), sql.lit(ts).alias("ts"))


def _fares(rows: pa.Table) -> Model:
    keys = rows.column("id").to_pylist()
    assert len(set(keys)) == len(keys), "a record is there twice"
    return dict(zip(keys, rows.column("fare").to_pylist(), strict=True))


def _compare(bench: Bench, uri: str, model: Model, what: str) -> None:
    """By the reader that needs no Spark, by Spark's, and by where Spark reads."""
    columns = ("id", "fare")
    bench.check(_fares(HudiTable.open(uri).scan(selected_fields=columns).to_arrow()), model, f"{what}, read here")
    bench.check(_fares(hudi_spark.load(bench.spark, uri).select(*columns).toArrow()), model, f"{what}, read by Spark")


def reads(bench: Bench, case: Case) -> None:
    """Fixtures, synced: rows by name, and by Spark's own scan where nothing is merged."""
    for ending in FIXTURES[case.table_type]:
        name = f"v{case.version}_{ending}"
        source, uri = unzip_fixture(name), f"{bench.folder()}/{name}"
        upload(source, uri, {})
        bench.sync(uri, name)
        expected = HudiTable.open(source).scan().to_arrow()
        views = {f"{name}_rt": {}, f"{name}_ro": {"query_type": "read_optimized"}} if case.is_mor else {name: {}}
        for table, query in views.items():
            frame = bench.spark.sql(f"SELECT * FROM {DATABASE}.{table}")
            theirs = HudiTable.open(source).scan(**query).to_arrow() if query else expected
            seen = rows_sha256(encode_rows(frame.toArrow(), theirs.column_names))
            bench.check(seen, rows_sha256(encode_rows(theirs)), f"rows of {table}")
            if not table.endswith("_rt"):
                plan = str(frame._jdf.queryExecution().executedPlan())
                assert "FileScan" in plan, plan
                outside = [path for path in frame.inputFiles() if not path.startswith("hdfs://")]
                bench.check(outside, [], "files that Spark reads")
        _incremental(bench, name, uri, source)


def _incremental(bench: Bench, name: str, uri: str, source: Path) -> None:
    """Pulls of the latest half of the commits."""
    instants = HudiTable.open(source).client.timeline.write_instants()
    middle = instants[len(instants) // 2]
    begin = middle.requested if name.startswith("v6") else middle.completed
    query = {"query_type": "incremental", "begin": begin}
    expected = HudiTable.open(source).scan(**query).to_arrow()
    seen = hudi_spark.table(bench.spark, f"{DATABASE}.{name}", **query).toArrow()
    digest = rows_sha256(encode_rows(seen, expected.column_names))
    bench.check(digest, rows_sha256(encode_rows(expected)), f"increment of {name}")
    here = HudiTable.open(uri).scan(**query).to_arrow()
    bench.check(rows_sha256(encode_rows(here)), rows_sha256(encode_rows(expected)), f"increment of {name}, read here")


def writes(bench: Bench, case: Case) -> None:
    """Operations of ``df.write.format("hudi")``; the other writer goes on between."""
    uri, spark, model = bench.folder(), bench.spark, Model()

    def write(rows: DataFrame, operation: str) -> None:
        options = case.options(operation=operation)
        rows.write.format("hudi").options(**options).mode("append").save(uri)
        _compare(bench, uri, model, operation)

    model |= {f"k{n}": 1.0 for n in range(20)}
    write(trips(spark, 0, 20), "bulk_insert")
    model |= {f"k{n}": 2.0 for n in range(15, 25)}
    write(trips(spark, 15, 25, 2.0, 2), "upsert")
    model |= {f"k{n}": 3.0 for n in range(25, 28)}
    write(trips(spark, 25, 28, 3.0, 3), "insert")
    for n in range(4):
        del model[f"k{n}"]
    write(trips(spark, 0, 4), "delete")
    model |= {"k26": 9.0}
    rows = HudiTable.open(uri).scan().to_arrow().drop_columns(list(META_FIELDS))
    mine = rows.filter(pa.compute.equal(rows["id"], "k26"))
    mine = mine.set_column(mine.column_names.index("fare"), "fare", pa.array([9.0]))
    HudiTable.open(uri).upsert(mine.set_column(mine.column_names.index("ts"), "ts", pa.array([9], rows["ts"].type)))
    _compare(bench, uri, model, "upsert without Spark")
    model = {key: fare for key, fare in model.items() if int(key[1:]) % 2} | {"k40": 4.0, "k42": 4.0}
    write(trips(spark, 40, 44, 4.0, 4).where("city = 'c0'"), "insert_overwrite")
    model = {f"k{n}": 5.0 for n in range(3)}
    trips(spark, 0, 3, 5.0, 5).write.format("hudi").options(**case.options()).mode("overwrite").save(uri)
    _compare(bench, uri, model, "mode overwrite")


def services(bench: Bench, case: Case) -> None:
    """Table services as Spark tasks."""
    uri, spark, model = bench.folder(), bench.spark, Model()
    for step in range(4):
        rows = trips(spark, step * 5, step * 5 + 12, float(step), step)
        hudi_spark.write(rows, uri, case.options(operation="upsert"))
        model |= {f"k{n}": float(step) for n in range(step * 5, step * 5 + 12)}
    if case.is_mor:
        hudi_spark.compact(spark, uri)
        _compare(bench, uri, model, "compacted")
    hudi_spark.cluster(spark, uri)
    _compare(bench, uri, model, "clustered")
    hudi_spark.clean(spark, uri, {"hoodie.clean.commits.retained": "1"})
    _compare(bench, uri, model, "cleaned")
    report = hudi_spark.write(trips(spark, 0, 9, 7.0, 9), uri, case.options(operation="upsert"))
    hudi_spark.rollback(spark, uri, instant=report.instant.requested)
    _compare(bench, uri, model, "rolled back")
    few = {"hoodie.keep.max.commits": "4", "hoodie.keep.min.commits": "3", "hoodie.clean.commits.retained": "2"}
    hudi_spark.archive(spark, uri, few)
    _compare(bench, uri, model, "archived")


def streams(bench: Bench, case: Case) -> None:
    """A stream whose checkpoint and sink are on HDFS, stopped and started again: each commit's rows once."""
    uri, spark, place = bench.folder(), bench.spark, bench.folder()
    write = case.options(operation="upsert")
    model = Model()
    for step in range(3):
        first = step * 10
        hudi_spark.write(trips(spark, first, first + 10, float(step)), uri, write)
        hudi_spark.write(trips(spark, first + 10, first + 12, float(step)), uri, write)
        model |= {f"k{n}": float(step) for n in range(first, first + 12)}
        source = spark.readStream.format("hudi").option("maxCommitsPerTrigger", "1").load(uri)
        sink = source.select("id", "fare").writeStream.format("parquet").option("path", f"{place}/rows")
        query = sink.option("checkpointLocation", f"{place}/checkpoint").trigger(availableNow=True).start()
        query.awaitTermination()
        bench.check(len([p for p in query.recentProgress if p["numInputRows"]]) >= 1, True, "batches")
        seen = Counter((row.id, row.fare) for row in spark.read.parquet(f"{place}/rows").collect())
        expected: Counter[tuple[str, float]] = Counter()
        for past in range(step + 1):
            expected.update((f"k{n}", float(past)) for n in range(past * 10, past * 10 + 12))
        bench.check(seen, expected, f"rows of the stream, start {step + 1}")


def statements(bench: Bench, case: Case) -> None:
    """SQL on a table that was written with a sync, partitions that come and go, and changes of its columns."""
    uri, spark = bench.folder(), bench.spark
    name = f"trips_{case.version}_{case.table_type.lower()}"
    partitions: dict[str, Any] = {"partition_fields": ("city",)}
    hudi_spark.write(trips(spark, 0, 10), uri, case.options(operation="upsert"))
    bench.sync(uri, name, **partitions)
    table = f"{DATABASE}.{name}"
    bench.check(spark.sql(f"SELECT count(*) FROM {table} WHERE city = 'c1'").first()[0], 5, "count of a partition")
    hudi_spark.write(trips(spark, 5, 15, 2.0, 2).withColumn("city", sql.lit("c 7")), uri, case.options())
    bench.sync(uri, name, **partitions)
    shown = sorted(row[0] for row in spark.sql(f"SHOW PARTITIONS {table}").collect())
    bench.check(shown, ["city=c 7", "city=c0", "city=c1"], "partitions")
    sums = spark.sql(f"SELECT city, sum(fare) FROM {table} GROUP BY city ORDER BY city").collect()
    bench.check([tuple(row) for row in sums], [("c 7", 20.0), ("c0", 5.0), ("c1", 5.0)], "sums")
    HudiTable.open(uri).delete_partitions(["c 7"])
    bench.sync(uri, name, **partitions)
    bench.check(spark.sql(f"SELECT max(fare) FROM {table}").first()[0], 1.0, "behind a dropped partition")
    HudiTable.open(uri).update_schema().add("note", "string").commit()
    bench.sync(uri, name, **partitions)
    spark.catalog.refreshTable(table)
    bench.check("note" in spark.table(table).columns, True, "a column more")
    joined = f"SELECT count(*) FROM {table} a JOIN {table} b ON a.id = b.id WHERE a.note IS NULL"
    bench.check(spark.sql(joined).first()[0], 10, "join")


PARTS: Final[Mapping[str, Callable[[Bench, Case], None]]] = {
    "reads": reads,
    "writes": writes,
    "services": services,
    "streams": streams,
    "statements": statements,
}


@contextmanager
def running_bench() -> Iterator[Bench]:
    """HDFS, a metastore and a session while they run."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="spark_hdfs_"))
        hdfs = stack.enter_context(HdfsServer())
        metastore = stack.enter_context(EmbeddedMetastore(Path(folder) / "metastore"))
        client = stack.enter_context(HiveMetastore(metastore.uri))
        spark = _session(metastore.uri, folder)
        stack.callback(spark.stop)
        hudi_spark.enable(spark)
        yield Bench(spark, client, hdfs.folder)


def _session(metastore_uri: str, folder: str) -> SparkSession:
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = hudi_spark.session_builder(metastore_uri).master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run(bench: Bench, case: Case) -> int:
    """Run a case; gives how many things were compared."""
    before = bench.compared
    PARTS[case.part](bench, case)
    return bench.compared - before


def main() -> int:
    """Run the cases that the arguments choose; print those that fail, and the numbers."""
    chosen = case_parser(__doc__, PARTS).parse_args()
    with running_bench() as bench:
        return run_cases(all_cases(Case, PARTS), chosen, lambda case: run(bench, case))


if __name__ == "__main__":
    sys.exit(main())
