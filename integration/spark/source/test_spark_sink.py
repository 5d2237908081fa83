"""``writeStream.format("hudi")``: each batch is one commit, once, with Hudi's checkpoint in it."""

from __future__ import annotations

import json
import shutil

import pytest
from pyspark.sql import functions as sql

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError
from tests.support.running.waiting import wait_until

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

KEYS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.metadata.enable": "false",
}
MOR = {
    **KEYS,
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.compact.inline.max.delta.commits": "2",
    "hoodie.parquet.small.file.limit": "0",
}


class Files:
    """A folder of JSON files as a source, and a table with a checkpoint of the stream into it."""

    def __init__(self, spark, folder):
        self.spark, self.folder, self.table = spark, folder / "source", folder / "table"
        self.checkpoint = folder / "checkpoint"
        self.folder.mkdir()

    def put(self, *rows):
        number = len(list(self.folder.iterdir()))
        lines = (json.dumps(dict(zip(("id", "ts", "p"), row, strict=True))) for row in rows)
        (self.folder / f"{number}.json").write_text("\n".join(lines))

    def writer(self, options, mode="append", shape=None):
        frame = self.spark.readStream.schema("id long, ts long, p string").option("maxFilesPerTrigger", 1)
        frame = frame.json(str(self.folder))
        writer = (frame if shape is None else shape(frame)).writeStream.format("hudi").outputMode(mode)
        return writer.options(**options).option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True)

    def run(self, options=KEYS, mode="append", shape=None):
        self.writer(options, mode, shape).start(str(self.table)).awaitTermination()

    def rows(self, *names):
        found = HudiTable.open(self.table).scan().to_arrow().select(names or ("id", "ts", "p"))
        return sorted(tuple(row.values()) for row in found.to_pylist())

    def commits(self):
        timeline = HudiTable.open(self.table).timeline
        found = [timeline.commit_metadata(one) for one in timeline.write_instants()]
        return [(one.operation, one.extra.get("_hudi_streaming_sink_checkpoint")) for one in found]

    def forget(self, batch):
        """Have Spark give a batch again, as after a crash between the commit and the end of the batch."""
        for name in (f"{batch}", f".{batch}.crc"):
            (self.checkpoint / "commits" / name).unlink(missing_ok=True)


@pytest.fixture
def files(spark, tmp_path):
    return Files(spark, tmp_path)


def test_each_batch_is_a_commit_once(files):
    files.put((1, 1, "a"), (2, 1, "b"))
    files.put((2, 2, "b"), (3, 1, "a"))
    files.run(MOR)
    files.forget(1)
    files.put((4, 1, "a"))
    files.run(MOR)
    assert files.rows() == [(1, 1, "a"), (2, 2, "b"), (3, 1, "a"), (4, 1, "a")]
    written = [checkpoint for operation, checkpoint in files.commits() if operation == "UPSERT"]
    assert written == [f'{{"default_single_writer":"{batch}"}}' for batch in range(3)]
    # beside the stream
    wait_until(lambda: "COMPACT" in {operation for operation, _ in files.commits()}, "the compaction")
    shutil.rmtree(files.checkpoint)  # another query, whose numbers begin anew
    files.put((5, 1, "a"))
    files.run(MOR)
    assert files.rows()[-1] == (5, 1, "a")


def counts(frame):
    return frame.groupBy("p").agg(sql.count("id").alias("n"), sql.max("ts").alias("ts"))


@pytest.mark.long
def test_output_modes_of_an_aggregation(files):
    options = {**KEYS, "hoodie.datasource.write.recordkey.field": "p"}
    files.put((1, 1, "a"), (2, 1, "b"))
    files.run(options, "update", counts)
    files.put((3, 2, "a"))
    files.run(options, "update", counts)
    assert files.rows("p", "n") == [("a", 2), ("b", 1)]
    assert [operation for operation, _ in files.commits()] == ["UPSERT", "UPSERT"]


def test_options_are_checked_before_the_query_starts(files):
    files.put((1, 1, "a"))
    files.run()
    for options, name in (
        ({"hoodie.datasource.write.recordkey.field": "p"}, "recordkey"),
        ({"hoodie.datasource.write.operaton": "insert"}, "operaton"),
        ({"hoodie.datasource.write.streaming.retry.count": "0"}, "retry.count"),
        ({"hoodie.clustering.async.enabled": "perhaps"}, "async"),
    ):
        with pytest.raises(InvalidOptionError, match=name):
            files.run({**KEYS, **options})
    parted = files.writer({**KEYS, "hoodie.datasource.write.partitionpath.field": "p"}).partitionBy("id")
    with pytest.raises(InvalidOptionError, match="partitionBy"):
        parted.start(str(files.table))
    assert len(files.commits()) == 1


def test_a_table_by_name_is_made_and_goes_on(files):
    files.put((1, 1, "a"), (2, 1, "b"))
    options = {"hoodie.datasource.write.recordkey.field": "id", "hoodie.datasource.write.precombine.field": "ts"}
    options = {**options, "hoodie.metadata.enable": "false", "path": str(files.table)}
    try:
        for row in ((2, 2, "b"), (3, 1, "c")):
            files.put(row)
            files.writer(options).partitionBy("p").toTable("sink_by_name").awaitTermination()
        found = files.spark.table("sink_by_name").select("id", "ts", "p").collect()
        assert sorted(map(tuple, found)) == files.rows() == [(1, 1, "a"), (2, 2, "b"), (3, 1, "c")]
        assert HudiTable.open(files.table).config.partition_fields == ("p",)
    finally:
        files.spark.sql("DROP TABLE IF EXISTS sink_by_name")
