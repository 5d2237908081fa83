"""All that Spark does to tables, done on local disk and on S3: what is seen must be the same after each step.

    python -m integration.long.spark_store_matrix [--part streams] [--version 6] [--type MERGE_ON_READ]

Spark reads ``s3a://`` by ``hadoop-aws``, we by our own client. Parts: queries by path; tables by name, in a real
metastore; table services; ``ALTER TABLE``; streams and their checkpoints; mutations of Hudi's and of Hive's ACID
tables; Hive's input formats; the command line; the Thrift server; credentials of each origin; encryption.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import hudi_hive.spark as hudi_spark
from hudi_hive.errors import SparkError
from hudi_hive.input_format import HoodieParquetInputFormat, HoodieParquetRealtimeInputFormat
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from integration.long.store_matrix import Place
from integration.support.matrix import MatrixCase, Seen, all_cases, case_parser, compare_steps, run_cases
from integration.support.stores.s3 import S3Server
from integration.support.stores.spark_s3 import S3aMetastore, s3a_session

KIND: Final = "id string, ts long, p string, v string"
Row = tuple[str, int, str, str | None]


@dataclass(frozen=True)
class World:
    """What a case runs in.

    Attributes:
        spark: an enabled session.
        s3: the server.
        metastore: the session's metastore.
        folder: for local files.
    """

    spark: SparkSession
    s3: S3Server
    metastore: S3aMetastore
    folder: Path


@dataclass(frozen=True)
class Case(MatrixCase):
    """One kind of table in one part of the matrix."""

    def options(self, **more: str) -> dict[str, str]:
        """Hudi's options of a write."""
        return {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.partitionpath.field": "p",
            "hoodie.datasource.write.table.type": self.table_type,
            "hoodie.write.table.version": str(self.version),
            "hoodie.metadata.record.index.min.filegroup.count": "1",
            **{f"hoodie.{name.replace('__', '.')}": text for name, text in more.items()},
        }


def rows(first: int, count: int, ts: int) -> list[Row]:
    """Rows in three partitions, which the key says."""
    numbers = range(first, first + count)
    return [(f"k{n:03d}", ts, f"p {n % 3}", f"{n} at {ts}" if n % 4 else None) for n in numbers]


def save(world: World, case: Case, place: Place, data: Sequence[Row], mode: str = "append", **options: str) -> None:
    """``df.write.format("hudi").save(path)``."""
    frame = world.spark.createDataFrame(data, KIND).coalesce(1)
    frame.write.format("hudi").options(**case.options(**options)).mode(mode).save(place.uri)


def shown(frame: DataFrame) -> list[str]:
    """Rows of a frame without Hudi's columns, which hold times, in any order."""
    columns = [name for name in frame.columns if not name.startswith("_hoodie")]
    return sorted(str(row.asDict(True)) for row in frame.select(*columns).collect())


def load(world: World, place: Place, **options: str) -> DataFrame:
    """``spark.read.format("hudi").load(path)``; two underscores stand for a dot in a name."""
    named = {name.replace("__", "."): text for name, text in options.items()}
    return world.spark.read.format("hudi").options(**named).load(place.uri)


def check_native(frame: DataFrame, place: Place) -> None:
    """A scan without log files is read by Spark's own reader, by the paths that our planner listed."""
    plan = str(frame._jdf.queryExecution().executedPlan().toString())
    assert "FileScan parquet" in plan and "MapInArrow" not in plan, plan
    scheme = "s3a://" if "://" in place.uri else "file:/"
    files = frame.inputFiles()
    assert files and all(file.startswith(scheme) for file in files), files


def instants(place: Place) -> list[Any]:
    """Completed instants of writes."""
    return list(place.open().client.timeline.write_instants())


# -- parts, on both stores ---------------------------------------------------------------------------------------------


def queries(world: World, case: Case, place: Place) -> Iterator[Seen]:
    """Writes by the data source, and all queries by path."""
    cdc = {} if case.is_mor else {"table__cdc__enabled": "true"}
    save(world, case, place, rows(0, 9, 1), datasource__write__operation="bulk_insert", **cdc)
    if not case.is_mor:
        check_native(load(world, place), place)
    yield "bulk_insert", shown(load(world, place))
    save(world, case, place, rows(6, 6, 2), datasource__write__operation="upsert", **cdc)
    yield "upsert", shown(load(world, place))
    save(world, case, place, rows(2, 3, 3), datasource__write__operation="delete", **cdc)
    yield "delete", shown(load(world, place))
    save(world, case, place, rows(30, 1, 4), datasource__write__operation="insert_overwrite", **cdc)
    yield "insert_overwrite", shown(load(world, place))
    if case.is_mor:
        frame = load(world, place, hoodie__datasource__query__type="read_optimized")
        check_native(frame, place)
        yield "read optimized", shown(frame)
    times = instants(place)
    yield "time travel", shown(load(world, place, as__of__instant=times[1].requested))
    begin = times[0].requested if case.version == 6 else times[0].completed
    changed = {"hoodie__datasource__query__type": "incremental", "hoodie__datasource__read__begin__instanttime": begin}
    yield "incremental", shown(load(world, place, **changed))
    function = f"hudi_table_changes('{place.uri}', 'latest_state', '{begin}')"
    yield "hudi_table_changes", shown(world.spark.sql(f"SELECT * FROM {function}"))
    if not case.is_mor:
        changes = world.spark.sql(f"SELECT op FROM hudi_table_changes('{place.uri}', 'cdc', 'earliest')")
        yield "change data", shown(changes)
    world.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW seen USING hudi OPTIONS (path '{place.uri}')")
    yield "view", shown(world.spark.sql("SELECT p, count(*) AS n, max(v) AS v FROM seen WHERE ts > 1 GROUP BY p"))
    save(world, case, place, rows(40, 3, 5), "overwrite")
    yield "overwrite", shown(load(world, place))


def names(world: World, case: Case, place: Place) -> Iterator[Seen]:
    """Tables by name in a real metastore, and functions over them."""
    save(world, case, place, rows(0, 9, 1))
    save(world, case, place, rows(3, 9, 2))
    name = _synced(world, case, place)
    spark = world.spark
    yield "by name", shown(spark.sql(f"SELECT * FROM {name}"))
    moment = instants(place)[0].requested
    yield "time travel", shown(spark.sql(f"SELECT * FROM {name} TIMESTAMP AS OF '{moment}'"))
    if not case.is_mor:
        check_native(spark.table(name), place)
    yield "partitions", shown(spark.sql(f"SHOW PARTITIONS {name}"))
    kind = "read_optimized" if case.is_mor else "snapshot"
    yield "hudi_query", shown(spark.sql(f"SELECT * FROM hudi_query('{name}', '{kind}')"))
    yield "timeline", spark.sql(f"SELECT * FROM hudi_query_timeline('{name}')").count()
    yield "file system", spark.sql(f"SELECT * FROM hudi_filesystem_view('{name}')").count() > 2
    yield "metadata", spark.sql(f"SELECT * FROM hudi_metadata('{name}')").count() > 2
    save(world, case, place, [("new", 3, "q", "of q")])
    _synced(world, case, place)
    yield "one partition more", shown(spark.sql(f"SELECT * FROM {name} WHERE p = 'q'"))


def _synced(world: World, case: Case, place: Place) -> str:
    name = f"t{abs(hash((str(case), place.uri)))}"
    with HiveMetastore(world.metastore.uri) as client:
        config = HiveSyncConfig(
            base_path=place.uri, database="default", table=name, partition_fields=("p",), storage_options=place.options
        )
        HiveSyncTool(config, metastore=client).sync()
        for table in [name] if not case.is_mor else [f"{name}_ro", f"{name}_rt"]:
            entry = client.find_table("default", table)
            assert entry is not None
            prefix = place.uri if "://" in place.uri else f"file:{place.uri}"
            assert entry.sd.location == prefix, entry.sd.location
            assert all(one.sd.location.startswith(f"{prefix}/") for one in client.partitions("default", table))
    return f"default.{name}_rt" if case.is_mor else f"default.{name}"


def services(world: World, case: Case, place: Place) -> Iterator[Seen]:
    """Table services from Spark, and reads after each."""
    few = case.options(
        clean__automatic="false", keep__max__commits="4", keep__min__commits="3", clean__commits__retained="2"
    )
    del few["hoodie.table.name"]
    for number in range(3):
        save(world, case, place, rows(number * 3, 6, number), clean__automatic="false")
    if case.is_mor:
        yield "compactions", len(hudi_spark.compact(world.spark, place.uri))
        check_native(load(world, place), place)
        yield "compacted", shown(load(world, place))
    yield "clusterings", len(hudi_spark.cluster(world.spark, place.uri, sort_columns=["v"]))
    yield "clustered", shown(load(world, place))
    for number in range(3):
        save(world, case, place, rows(number, 3, 20 + number), clean__automatic="false")
    place.open().savepoint()
    point = place.open().savepoints()[-1].instant.requested
    save(world, case, place, rows(0, 9, 40), clean__automatic="false")
    hudi_spark.restore(world.spark, place.uri, point)
    yield "restored", shown(load(world, place))
    place.open().delete_savepoint(point)
    yield "cleaned", hudi_spark.clean(world.spark, place.uri, {"hoodie.clean.commits.retained": "1"}) is not None
    yield "rows behind the cleaning", shown(load(world, place))
    keep = {name: few[name] for name in few if ".keep." in name or "retained" in name}
    hudi_spark.archive(world.spark, place.uri, keep)
    yield "rows behind the archiving", shown(load(world, place))
    save(world, case, place, rows(0, 3, 50))
    last = instants(place)[-1].requested
    yield "rollbacks", len(hudi_spark.rollback(world.spark, place.uri, instant=last))
    yield "rolled back", shown(load(world, place))


def alters(world: World, case: Case, place: Place) -> Iterator[Seen]:
    """``ALTER TABLE`` of a synced table, and writes with the new columns."""
    save(world, case, place, rows(0, 6, 1))
    name = _synced(world, case, place)
    spark = world.spark
    spark.sql("SET hoodie.schema.on.read.enable=true")
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (w BIGINT)")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN v TO text")
    yield "altered", shown(spark.sql(f"SELECT * FROM {name}"))
    kind = "id string, ts long, p string, text string, w long"
    frame = spark.createDataFrame([(f"k{n:03d}", 5, f"p {n % 3}", f"t{n}", n) for n in range(3)], kind)
    frame.coalesce(1).write.format("hudi").options(**case.options()).mode("append").save(place.uri)
    yield "written", shown(load(world, place))


def streams(world: World, case: Case, place: Place) -> Iterator[Seen]:
    """A streaming source with its checkpoint on the store, again after more commits; and writes of each batch."""
    save(world, case, place, rows(0, 6, 1))
    target = Place(f"{place.uri}_target", place.options)
    for step in range(3):
        stream = world.spark.readStream.format("hudi").option("maxCommitsPerTrigger", "1").load(place.uri)
        seen: list[list[str]] = []

        def take(batch: DataFrame, number: int, seen: list[list[str]] = seen) -> None:
            seen.append(shown(batch))
            data = batch.select("id", "ts", "p", "v").coalesce(1)
            data.write.format("hudi").options(**case.options()).mode("append").save(target.uri)

        query = stream.writeStream.option("checkpointLocation", f"{place.uri}_checkpoint").foreachBatch(take)
        query.trigger(availableNow=True).start().awaitTermination()
        yield f"batches {step}", seen
        yield f"target {step}", shown(load(world, target))
        if step < 2:
            save(world, case, place, rows(3 * step, 5, 10 + step))
            save(world, case, place, rows(20 + step, 2, 12 + step))
    try:
        rows_of = world.spark.readStream.format("hudi").load(place.uri)
        sink = rows_of.writeStream.format("hudi").option("checkpointLocation", f"{place.uri}_other")
        sink.start(f"{place.uri}_sink").stop()
        yield "sink", "written"
    except SparkError as error:
        yield "sink", str(error).partition("\n")[0][:40]


def mutations(world: World, case: Case, place: Place) -> Iterator[Seen]:
    """Mutations by key from Spark: records with operations, and merges."""
    save(world, case, place, rows(0, 9, 1))
    changes = [("n1", 5, "p 1", "new", "insert"), ("k001", 5, "p 1", "changed", "update")]
    changes.append(("k002", 5, "p 2", None, "delete"))
    frame = world.spark.createDataFrame(changes, f"{KIND}, op string")
    report = hudi_spark.mutate(frame, place.uri, operation="op")
    yield "operations", (report.inserted, report.updated, report.deleted)
    yield "mutated", shown(load(world, place))
    merged = world.spark.createDataFrame(rows(5, 6, 7), KIND)
    report = hudi_spark.mutate(merged, place.uri, on=["id"], delete_where="id = 'k005'")
    yield "merge", (report.inserted, report.updated, report.deleted)
    yield "merged", shown(load(world, place))


def input_formats(world: World, case: Case, place: Place) -> Iterator[Seen]:
    """Hive's input formats by a JobConf with the properties of S3A."""
    save(world, case, place, rows(0, 9, 1))
    save(world, case, place, rows(6, 6, 2))
    remote = "://" in place.uri
    partitions = ",".join(f"{place.uri}/p {number}" for number in range(3))
    job = {"mapreduce.input.fileinputformat.inputdir": partitions, **(world.s3.hadoop() if remote else {})}
    begin = instants(place)[0]
    commits = {
        "hoodie.t.consume.mode": "INCREMENTAL",
        "hoodie.t.consume.start.timestamp": begin.requested if case.version == 6 else begin.completed,
        "hoodie.t.consume.max.commits": "-1",
    }
    formats = [HoodieParquetInputFormat, *([HoodieParquetRealtimeInputFormat] if case.is_mor else [])]
    for kind in formats:
        for name, more in (("snapshot", {}), ("incremental", commits)):
            format_ = kind({**job, **more})
            batches = [batch for split in format_.get_splits(2) for batch in format_.get_record_reader(split)]
            table = pa.Table.from_batches(batches) if batches else pa.table({"id": []})
            columns = [column for column in table.column_names if not column.startswith("_hoodie")]
            yield f"{kind.__name__} {name}", sorted(map(str, table.select(columns).to_pylist()))


PARTS: Final[Mapping[str, Callable[[World, Case, Place], Iterator[Seen]]]] = {
    "queries": queries,
    "names": names,
    "services": services,
    "alters": alters,
    "streams": streams,
    "mutations": mutations,
    "input_formats": input_formats,
}


def run(world: World, case: Case) -> int:
    """Take the steps of a case on local disk and on S3.

    Returns:
        how many things were compared.

    Raises:
        DifferenceError: something is not the same.
    """
    part = PARTS[case.part]
    local = Place(str(world.folder / "tables" / str(case)))
    remote = Place(f"{world.s3.folder('s3a')}/{case}", world.s3.options())
    return compare_steps(case, part(world, case, local), part(world, case, remote))


def main() -> int:
    """Run the cases that the arguments choose; print those that fail, and the numbers."""
    chosen = case_parser(__doc__, PARTS).parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spark_store_matrix_")))
        s3 = stack.enter_context(S3Server())
        metastore = stack.enter_context(S3aMetastore(folder / "metastore", properties=s3.hadoop()))
        spark = s3a_session(folder, metastore.uri)
        stack.callback(spark.stop)
        world = World(hudi_spark.enable(spark, storage_options=s3.options()), s3, metastore, folder)
        return run_cases(all_cases(Case, PARTS), chosen, lambda case: run(world, case))


if __name__ == "__main__":
    sys.exit(main())
