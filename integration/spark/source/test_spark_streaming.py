"""Structured Streaming over commits: the rows of incremental queries, each commit once, across restarts and kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import CheckpointError, IncrementalRangeError, InvalidOptionError, SchemaError
from integration.support.killed_stream import COLUMNS, run
from tests.support.fixture_tables import encode_rows, rows_sha256, unzip_fixture
from tests.support.running.long import long_case
from tests.support.tables.mor_table import MorTable

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

START = "hoodie.datasource.streaming.startOffset"
FALLBACK = "hoodie.datasource.read.incr.fallback.fulltablescan.enable"
ONE = {"maxCommitsPerTrigger": "1"}


class Stream:
    """A stream into memory with a checkpoint, which may be run several times."""

    def __init__(self, spark, path, checkpoint, **options):
        self.spark, self.path, self.checkpoint, self.options = spark, str(path), str(checkpoint), options
        self.batches = []
        self.query = None

    def frame(self):
        return self.spark.readStream.format("hudi").options(**self.options).load(self.path)

    def start(self, frame=None, **trigger):
        writer = (self.frame() if frame is None else frame).writeStream.option("checkpointLocation", self.checkpoint)
        writer = writer.foreachBatch(lambda rows, _: self.batches.append(rows.toArrow()))
        self.query = (writer.trigger(**trigger) if trigger else writer).start()
        return self.query

    def drain(self, frame=None):
        """Everything that is there now; gives the ends of the batches."""
        self.start(frame, availableNow=True).awaitTermination()
        return self.ends()

    def ends(self):
        sources = [progress["sources"][0] for progress in self.query.recentProgress]
        ends = [source["endOffset"] for source in sources if source["startOffset"] != source["endOffset"]]
        # 3.5 and 4.0 have read the text, and write it as Python does.
        return [(json.loads if str(end).startswith('{"') else literal_eval)(str(end))["time"] for end in ends]

    def taken(self):
        """Keys of each batch since the last call."""
        keys = [sorted(rows.column("id").to_pylist()) for rows in self.batches]
        self.batches.clear()
        return keys


@pytest.fixture
def table(tmp_path):
    made = MorTable(tmp_path / "table", 8)
    made.base(1, [{"id": "k1", "ts": 1, "a": "x"}])
    return made


def add(table, number):
    """A commit that updates one row and brings one."""
    table.log(number, [{"id": "k1", "ts": number, "a": "u"}, {"id": f"k{number}", "ts": number, "a": "n"}])


# -- rows of real tables -----------------------------------------------------------------------------------------------

REAL = (
    "v6_cow_part_mdt",  # insert overwrite, deleted partitions
    long_case("v8_cow_archived"),
    long_case("v8_mor_part_rli"),  # compaction
    "v9_mor_parquet_log_rollback",  # clustering, a rollback
)


@pytest.mark.parametrize("name", REAL)
def test_batches_are_incremental_queries(spark, name, tmp_path):
    path = unzip_fixture(name)
    options = {FALLBACK: "true"}
    stream = Stream(spark, path, tmp_path / "checkpoint", **options, maxCommitsPerTrigger="2")
    ends = stream.drain()
    assert len(ends) == len(stream.batches) > 1
    assert ends[-1] in str(stream.query.recentProgress[-1]["sources"][0]["latestOffset"])
    for begin, end, found in zip(["000", *ends], ends, stream.batches, strict=False):
        wanted = HudiTable.open(path).scan(query_type="incremental", begin=begin, end=end, options=options).to_arrow()
        assert found.column_names == wanted.column_names
        assert rows_sha256(encode_rows(found)) == rows_sha256(encode_rows(wanted))


def test_a_stream_reads_change_data(spark, tmp_path):
    path = unzip_fixture("v9_cow_cdc")
    options = {"hoodie.datasource.query.incremental.format": "cdc"}
    stream = Stream(spark, path, tmp_path / "checkpoint", **options, **ONE)
    ends = stream.drain()
    for begin, end, found in zip(["000", *ends], ends, stream.batches, strict=False):
        wanted = HudiTable.open(path).scan(query_type="cdc", begin=begin, end=end).to_arrow()
        assert sorted(found.column("op").to_pylist()) == sorted(wanted.column("op").to_pylist())
        assert sorted(map(str, found.column("after").to_pylist())) == sorted(
            map(str, wanted.column("after").to_pylist())
        )
    assert {"i", "u", "d"} <= {op for rows in stream.batches for op in rows.column("op").to_pylist()}


SHOWS_END = "hoodie.datasource.read.schema.use.end.instanttime"


@pytest.mark.parametrize("name", ["v9_mor_schema_evo", long_case("v9_cow_schema_evo"), long_case("v6_cow_schema_evo")])
def test_batches_show_the_columns_of_their_ends(spark, name, tmp_path):
    """Where asked, as a scan does; at another schema the query ends, and goes on with columns that the error names."""
    path = unzip_fixture(name)
    options = {SHOWS_END: "true", FALLBACK: "true"}
    columns, ends, batches = None, [], []
    while True:
        stream = Stream(spark, path, tmp_path / "checkpoint", **options, **ONE)
        reader = spark.readStream.format("hudi").options(**stream.options)
        frame = (reader if columns is None else reader.schema(columns)).load(str(path))
        try:
            stream.drain(frame)
        except SchemaError as error:
            columns = error.remedy.partition("schema('")[2].rpartition("')")[0]
            batches += stream.batches
            continue
        batches += stream.batches
        break
    offsets = sorted((tmp_path / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
    ends = [json.loads(file.read_text().splitlines()[-1])["time"] for file in offsets]
    assert len(batches) == len(ends) > 2
    for begin, end, found in zip(["000", *ends], ends, batches, strict=False):
        wanted = HudiTable.open(path).scan(query_type="incremental", begin=begin, end=end, options=options).to_arrow()
        assert sorted(found.column_names) == sorted(wanted.column_names)  # one commit moves columns
        assert rows_sha256(encode_rows(found)) == rows_sha256(encode_rows(wanted.select(found.column_names)))
    assert len({tuple(rows.column_names) for rows in batches}) > 1


def test_one_batch_of_all_commits_shows_the_columns_of_the_last(spark, tmp_path):
    path = unzip_fixture("v9_mor_schema_evo")
    stream = Stream(spark, path, tmp_path / "checkpoint", **{SHOWS_END: "true", FALLBACK: "true"})
    stream.drain()
    wanted = HudiTable.open(path).scan(begin="earliest", options={SHOWS_END: "true", FALLBACK: "true"}).to_arrow()
    (rows,) = stream.batches
    assert rows.column_names == wanted.column_names
    assert rows_sha256(encode_rows(rows)) == rows_sha256(encode_rows(wanted))


# -- offsets and restarts ----------------------------------------------------------------------------------------------


def test_new_commits_of_a_running_query(spark, table, tmp_path):
    stream = Stream(spark, table.path, tmp_path / "checkpoint")
    query = stream.start(processingTime="0 seconds")
    try:
        query.processAllAvailable()
        assert stream.taken() == [["k1"]]
        for number in (2, 3):
            add(table, number)
            query.processAllAvailable()
            assert stream.taken() == [["k1", f"k{number}"]]
    finally:
        query.stop()
    add(table, 4)
    add(table, 5)
    assert stream.drain() == [table.completed(5)]
    assert stream.taken() == [["k1", "k4", "k5"]]
    assert stream.drain() == []
    assert stream.taken() == []


def test_a_schema_chooses_and_orders_columns(spark, table, tmp_path):
    stream = Stream(spark, table.path, tmp_path / "checkpoint")
    reader = spark.readStream.format("hudi")
    stream.drain(reader.schema("a string, id string").load(stream.path))
    assert [rows.to_pylist() for rows in stream.batches] == [[{"a": "x", "id": "k1"}]]
    with pytest.raises(SchemaError, match="has another type"):
        stream.drain(reader.schema("a bigint, id string").load(stream.path))


def test_trigger_once_takes_everything(spark, table, tmp_path):
    add(table, 2)
    stream = Stream(spark, table.path, tmp_path / "checkpoint", **ONE)
    stream.start(once=True).awaitTermination()
    assert stream.taken() == [["k1", "k2"]]


def test_latest_stays_where_it_was_when_the_stream_began(spark, table, tmp_path):
    stream = Stream(spark, table.path, tmp_path / "checkpoint", **{START: "latest"}, **ONE)
    assert stream.drain() == []
    add(table, 2)
    add(table, 3)
    assert stream.drain() == [table.completed(2), table.completed(3)]
    assert stream.taken() == [["k1", "k2"], ["k1", "k3"]]


def test_start_after_an_instant(spark, table, tmp_path):
    add(table, 2)
    add(table, 3)
    stream = Stream(spark, table.path, tmp_path / "checkpoint", **{START: table.completed(2)})
    stream.drain()
    assert stream.taken() == [["k1", "k3"]]


@pytest.mark.parametrize("key", ("offsetCommitTime", long_case("commitTime")))
def test_a_checkpoint_of_hudis_own_source(spark, table, tmp_path, key):
    add(table, 2)
    checkpoint = tmp_path / "checkpoint"
    first = Stream(spark, table.path, checkpoint)
    first.drain()
    add(table, 3)
    for file in (checkpoint / "offsets" / "0", checkpoint / "sources" / "0" / "0"):
        lines = file.read_text().splitlines()
        time = "000" if "sources" in file.parts else table.completed(2)
        file.write_text("\n".join([*lines[:-1], json.dumps({key: time}, separators=(",", ":"))]))
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    again = Stream(spark, table.path, checkpoint)
    again.drain()
    assert again.taken() == [["k1", "k3"]]


def test_state_and_joins(spark, table, tmp_path):
    """A stateful aggregation over batches, and a join with a table of this moment."""
    stream = Stream(spark, table.path, tmp_path / "checkpoint", **ONE)
    for number in (2, 3):
        add(table, number)
    now = spark.read.format("hudi").load(str(table.path)).select("id", "ts").withColumnRenamed("ts", "last")
    counts = stream.frame().join(now, "id").groupBy("id", "last").count()
    writer = counts.writeStream.outputMode("complete").option("checkpointLocation", stream.checkpoint)
    writer.foreachBatch(lambda rows, _: stream.batches.append(rows.toArrow())).trigger(
        availableNow=True
    ).start().awaitTermination()
    rows = sorted(tuple(row.values()) for row in stream.batches[-1].to_pylist())
    assert rows == [("k1", 3, 3), ("k2", 2, 1), ("k3", 3, 1)]


# -- synced tables -----------------------------------------------------------------------------------------------------


def drain(frame, checkpoint):
    """All rows of a stream, in one batch."""
    batches = []
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint))
    writer = writer.foreachBatch(lambda rows, _: batches.append(rows.toArrow())).trigger(availableNow=True)
    writer.start().awaitTermination()
    (rows,) = batches
    return rows


@pytest.mark.parametrize(
    ("name", "suffix"), [("v9_cow_types", ""), ("v8_mor_part_rli", "_rt"), long_case("v8_mor_part_rli", "")]
)
def test_a_stream_of_a_name(spark, synced, name, suffix, tmp_path):
    full = synced(name) + suffix
    frame = spark.readStream.option(FALLBACK, "true").table(full)
    assert frame.schema == spark.table(full).schema
    found = drain(frame, tmp_path / "checkpoint")
    wanted = HudiTable.open(unzip_fixture(name)).scan(query_type="incremental", begin="000", options={FALLBACK: "true"})
    rows = wanted.to_arrow().select(found.column_names)
    assert rows_sha256(encode_rows(found)) == rows_sha256(encode_rows(rows))


def test_a_read_optimised_name_is_no_stream(spark, synced):
    with pytest.raises(InvalidOptionError, match="read-optimised"):
        spark.readStream.table(synced("v8_mor_part_rli") + "_ro")


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_new_columns_end_the_query_and_a_restart_shows_them(spark, table, tmp_path):
    stream = Stream(spark, table.path, tmp_path / "checkpoint")
    query = stream.start(processingTime="0 seconds")
    try:
        query.processAllAvailable()
        table.columns["c"] = "long"
        table.schema["fields"].append({"name": "c", "type": ["null", "long"], "default": None})
        table.log(2, [{"id": "k2", "ts": 2, "c": 7}])
        with pytest.raises(SchemaError, match=r"while the stream ran: c \["):
            query.processAllAvailable()
    finally:
        query.stop()
    assert stream.taken() == [["k1"]]
    stream.drain()
    assert [rows.column("c").to_pylist() for rows in stream.batches] == [[7]]


def test_columns_that_changed_between_load_and_start(spark, tmp_path):
    """Spark takes the columns of a batch by their places: one dropped and one added would be taken for each other."""
    path = unzip_fixture("v9_mor_commit_time", tmp_path)
    table = HudiTable.open(path)
    stream = Stream(spark, path, tmp_path / "checkpoint", **{FALLBACK: "true"})
    frame = stream.frame()
    config = table.client.config
    fixed = {*config.record_keys, *config.partition_fields, *config.ordering_fields}
    column = next(field for field in table.schema() if field.name not in fixed and not field.name.startswith("_hoodie"))
    table.update_schema().rename(column.name, f"{column.name}_2").commit()
    with pytest.raises(SchemaError, match="since the stream was loaded"):
        stream.drain(frame)
    stream.drain()
    assert f"{column.name}_2" in stream.batches[0].column_names


def test_a_commit_that_was_restored_away(spark, table, tmp_path):
    add(table, 2)
    checkpoint = tmp_path / "checkpoint"
    Stream(spark, table.path, checkpoint).drain()
    for file in (table.path / ".hoodie" / "timeline").glob(f"{table.t(2)}*"):
        file.unlink()
    add(table, 3)
    with pytest.raises(IncrementalRangeError, match="restored or made anew"):
        Stream(spark, table.path, checkpoint).drain()
    lenient = Stream(spark, table.path, checkpoint, failOnDataLoss="false")
    lenient.drain()
    assert lenient.taken() == [["k1", "k3"]]


def is_cleaned(path, begin, end):
    try:
        HudiTable.open(path).scan(query_type="incremental", begin=begin, end=end).count()
    except IncrementalRangeError:
        return True
    return False


def test_cleaned_files_are_an_error_or_a_full_scan(spark, tmp_path):
    """A batch that was read before its files were cleaned is no obstacle to those after it."""
    path = unzip_fixture("v6_cow_part_mdt")
    with pytest.raises(IncrementalRangeError, match="cleaned"):
        Stream(spark, path, tmp_path / "refused", **ONE).drain()
    checkpoint = tmp_path / "whole"
    ends = Stream(spark, path, checkpoint, **ONE, **{FALLBACK: "true"}).drain()
    cleaned = [number for number, end in enumerate(ends) if is_cleaned(path, ["000", *ends][number], end)]
    assert 0 <= cleaned[-1] < len(ends) - 1
    for number in range(cleaned[-1] + 1, len(ends)):  # as if the stream had stopped there
        for folder in ("offsets", "commits"):
            for file in (checkpoint / folder).glob(f"*{number}*"):
                file.unlink()
    assert Stream(spark, path, checkpoint, **ONE).drain() == ends[cleaned[-1] + 1 :]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"maxCommitsPerTrigger": "0"}, InvalidOptionError),
        ({"hoodie.datasource.read.begin.instanttime": "20260101000000000"}, InvalidOptionError),
        ({"hoodie.nothing.known": "1"}, InvalidOptionError),
    ],
)
def test_options_are_checked_before_the_query_starts(spark, table, tmp_path, options, error):
    with pytest.raises(error):
        Stream(spark, table.path, tmp_path, **options).frame()


def test_an_offset_of_another_release_is_refused(spark, table, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    Stream(spark, table.path, checkpoint).drain()
    file = checkpoint / "offsets" / "0"
    file.write_text(file.read_text().replace('"hudiHiveOffset": 1', '"hudiHiveOffset": 9'))
    file.with_name(".0.crc").unlink(missing_ok=True)
    with pytest.raises(CheckpointError, match="unknown format"):
        Stream(spark, table.path, checkpoint).drain()


# -- kills -------------------------------------------------------------------------------------------------------------


def killed(table: Path, folder: Path, point: str) -> int:
    """Exit code of a process with the streams."""
    script = Path(__file__).parents[2] / "support" / "killed_stream.py"
    root = str(script.parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(script), str(table), str(folder), point]
    done = subprocess.run(command, env=environment, start_new_session=True, capture_output=True, timeout=600)
    return done.returncode


@pytest.mark.parametrize("points", [("written", "none"), long_case(("task", "written", "none"))])
def test_killed_streams_lose_and_double_no_row(spark, table, tmp_path, points):
    """Killed in a task, and between the write and the commit of a batch; commits come between."""
    folder = tmp_path / "stream"
    folder.mkdir()
    wanted = [(table.t(1), "k1", 1, "x")]
    for number, point in enumerate(points, 2):
        add(table, number)
        wanted += [(table.t(number), "k1", number, "u"), (table.t(number), f"k{number}", number, "n")]
        if point == "none":
            run(spark, str(table.path), folder, point)
        else:
            assert killed(table.path, folder, point) == -signal.SIGKILL
            assert (folder / point).exists()
    for sink in ("files", "batches"):
        rows = spark.read.parquet(str(folder / sink)).select(*COLUMNS).toArrow().to_pylist()
        assert sorted(tuple(row.values()) for row in rows) == sorted(wanted), sink
    assert len(list((folder / "batches").glob("batch=*"))) == len(points) + 1
