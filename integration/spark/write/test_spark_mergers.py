"""Mergers of users on Spark: tasks of reads, writes and services get the function with their work."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudi_hive
import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable, MergedRecords
from hudi_hive.errors import MergerError, UnsupportedTableError

pytestmark = pytest.mark.jvm

SUM = "com.acme.SumOnSpark"
KEYS = {"record_keys": ["id"], "ordering_fields": ["ts"], "payload_class": SUM}
DDL = "id long, ts long, n long"
REFERENCE = {"hudi_hive.record.mergers": f"{SUM}=tests.support.mergers:total"}


@pytest.fixture
def merger():
    """A merger that no module has: its code goes to the tasks."""
    column = "n"

    def total(older, newer):
        at = newer.rows.schema.get_field_index(column)
        values = pc.add(pc.if_else(older.deletes, 0, older.rows.column(at)), newer.rows.column(at))
        return MergedRecords(newer.rows.set_column(at, newer.rows.schema.field(at), values), newer.deletes)

    hudi_hive.register_merger(SUM, total)
    yield
    hudi_hive.unregister_merger(SUM)


def written(spark, path, *rows, **options):
    return hudi_spark.write(spark.createDataFrame(rows, DDL), path, options)


def numbers(frame):
    return sorted((row.id, row.n) for row in frame.select("id", "n").collect())


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_reads_writes_and_compactions_merge_by_it(spark, tmp_path, merger, kind):
    path = str(tmp_path / "t")
    HudiTable.create(path, name="t", table_type=kind, **KEYS)
    for ts in range(3):
        # Rows of one key in one write are merged, too.
        written(spark, path, (1, ts, 1), (1, ts, 10), (2, ts, 5))
    assert numbers(hudi_spark.load(spark, path)) == [(1, 33), (2, 15)]
    assert numbers(hudi_spark.load(spark, path).where("n > 20")) == [(1, 33)]
    assert hudi_spark.load(spark, path).count() == 2
    if kind == "MERGE_ON_READ":
        assert "a registered merger merges records" in hudi_spark.explain(hudi_spark.load(spark, path))
        due = "hoodie.compact.inline.max.delta.commits=1"
        spark.sql(f"CALL run_compaction(op => 'scheduleandexecute', path => '{path}', options => '{due}')").collect()
        of_bases = {"hoodie.datasource.query.type": "read_optimized"}
        assert numbers(hudi_spark.load(spark, path, of_bases)) == [(1, 33), (2, 15)]
    HudiTable.open(path).delete(pa.table({"id": [1]}))
    assert numbers(hudi_spark.load(spark, path)) == [(2, 15)]


def test_an_option_names_it(spark, tmp_path):
    path = str(tmp_path / "t")
    hudi_hive.register_merger(SUM, "tests.support.mergers:total")
    HudiTable.create(path, name="t", table_type="MERGE_ON_READ", **KEYS)
    hudi_hive.unregister_merger(SUM)
    with pytest.raises(UnsupportedTableError, match=r"hudi_hive\.register_merger"):
        written(spark, path, (1, 0, 1))
    for ts in range(2):
        written(spark, path, (1, ts, 1), **REFERENCE)
    hudi_hive.unregister_merger(SUM)
    assert numbers(hudi_spark.load(spark, path, REFERENCE)) == [(1, 2)]
    hudi_hive.unregister_merger(SUM)


def test_a_failure_in_a_task_names_class_and_table(spark, tmp_path, merger):
    path = str(tmp_path / "t")
    HudiTable.create(path, name="t", **KEYS)
    written(spark, path, (1, 0, 1))

    def fails(older, newer):
        raise KeyError("rates")

    hudi_hive.register_merger(SUM, fails)
    with pytest.raises(MergerError, match=r"merger com\.acme\.SumOnSpark of table t raised KeyError"):
        written(spark, path, (1, 1, 1))
    assert HudiTable.open(path).scan().to_arrow().column("n").to_pylist() == [1]


def streamed(spark, folder, path, *batches, **options):
    """Run a stream of batches into a table by ``writeStream.format("hudi")``."""
    source = folder / "source"
    source.mkdir(exist_ok=True)
    for rows in batches:
        lines = (json.dumps(dict(zip(("id", "ts", "n"), row, strict=True))) for row in rows)
        (source / f"{len(list(source.iterdir()))}.json").write_text("\n".join(lines))
    frame = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).json(str(source))
    writer = frame.writeStream.format("hudi").options(**{"hoodie.table.name": "t", **options})
    writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start(
        path
    ).awaitTermination()


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_streams_merge_by_it(spark, tmp_path, merger, kind):
    """Into a table and from it, by the source, the sink and ``foreachBatch``."""
    path, copy = str(tmp_path / "t"), str(tmp_path / "copy")
    hudi_spark.enable(spark)
    HudiTable.create(path, name="t", table_type=kind, **KEYS)
    batches = [[(1, ts, 1), (1, ts, 10), (2, ts, 5)] for ts in range(4)]
    more = {"hoodie.compact.inline.max.delta.commits": "2", "hoodie.parquet.small.file.limit": "0"}
    streamed(spark, tmp_path, path, *batches, **more)
    assert numbers(hudi_spark.load(spark, path)) == [(1, 44), (2, 20)]
    if kind == "MERGE_ON_READ":
        due = "hoodie.compact.inline.max.delta.commits=1"
        spark.sql(f"CALL run_compaction(op => 'scheduleandexecute', path => '{path}', options => '{due}')").collect()
        of_bases = {"hoodie.datasource.query.type": "read_optimized"}
        assert numbers(hudi_spark.load(spark, path, of_bases)) == [(1, 44), (2, 20)]
    seen = []

    def keep(frame, number):
        seen.append((number, numbers(frame)))
        hudi_spark.write(frame.select("id", "ts", "n"), copy)

    HudiTable.create(copy, name="copy", table_type=kind, **KEYS)
    query = spark.readStream.format("hudi").load(path).writeStream.foreachBatch(keep)
    query.option("checkpointLocation", str(tmp_path / "read")).trigger(availableNow=True).start().awaitTermination()
    assert seen == [(0, [(1, 44), (2, 20)])]
    streamed(spark, tmp_path, path, [(2, 9, 100)])
    query.start().awaitTermination()
    assert seen[1:] == [(1, [(2, 120)])]
    assert numbers(hudi_spark.load(spark, copy)) == [(1, 44), (2, 140)]
