"""Cases of the options of reads, streams and Hive jobs, over one small table of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable, register_merger, unregister_merger
from hudi_hive.input_format import (
    BlockLocation,
    FileStatus,
    HoodieCombineHiveInputFormat,
    HoodieParquetInputFormat,
    HoodieParquetRealtimeInputFormat,
    JobConf,
    cut_files,
)
from hudi_hive.options import Face, Option, jobs, locks, options_of, read, table, write
from hudi_hive.plan import Query, ReadOptions
from hudi_hive.spark.source import StreamOptions
from hudi_hive.timeline import TimelineWriter
from tests.support.hive_filters import fixture_filters
from tests.support.mergers import SUM, total
from tests.support.options.cases import Case, Scenario
from tests.support.options.made_tables import new_folder
from tests.support.options.write_cases import LEAN, make, put, rows, without_mergers

FUTURE, PAST = "20990101000000000", "20000101000000000"


def _folder() -> Path:
    return new_folder() / "t"


@cache
def merge_on_read() -> Path:
    """A merge-on-read table of four commits, the last one in log files, with all kinds of statistics."""
    path = _folder()
    make(path, table_type="MERGE_ON_READ", database="d")
    indexed = {write.RECORD_INDEX.name: "true"}
    put(path, indexed, rows(), rows(40, 20), rows(60, 20, p=["c"] * 20), rows(0, 10, ts=[5] * 10))
    return path


@cache
def in_two_partitions() -> Path:
    """A merge-on-read table with a record index of each partition, whose keys are in two of them."""
    path = _folder()
    make(path, table_type="MERGE_ON_READ", version=9)
    indexed = {write.RECORD_LEVEL_INDEX.name: "true", write.INDEX_TYPE.name: "RECORD_LEVEL_INDEX"}
    put(path, indexed, rows(40, 20), rows(40, 20, p=["c"] * 20), rows(60, 20, p=["c"] * 20), rows(0, 10, ts=[5] * 10))
    return path


@cache
def merged_by_function() -> Path:
    """A merge-on-read table whose payload class is a user's."""
    path = _folder()
    register_merger(SUM, total)
    make(path, table_type="MERGE_ON_READ", payload_class=SUM)
    numbers = rows(0, 4, n=[1] * 4)
    put(path, LEAN, numbers, numbers)
    unregister_merger(SUM)
    return path


@cache
def with_column_indexes() -> Path:
    """A table with a secondary and an expression index."""
    path = _folder()
    make(path)
    put(path, {}, rows())
    metadata = HudiTable.open(path).metadata
    metadata.create_index("by_name", "name")
    metadata.create_index("long", "name", "column_stats", {"expr": "length"})
    return path


@cache
def copy_on_write(version: int = 8) -> Path:
    """A copy-on-write table of three commits with change data."""
    path = _folder()
    make(path, version=version, cdc=True, database="d")
    put(path, {}, rows(), rows(0, 10, ts=[5] * 10), rows(40, 10))
    return path


@cache
def renamed() -> Path:
    """A table with a renamed column."""
    path = _folder()
    make(path)
    put(path, {}, rows())
    HudiTable.open(path).update_schema().rename("name", "title").commit()
    put(path, {write.SMALL_FILE_LIMIT.name: "0"}, rows(40, 5).rename_columns(["id", "title", "p", "ts"]))
    return path


@cache
def hollow() -> Path:
    """A table of version 6 with a pending commit older than its last one."""
    path = _folder()
    make(path, version=6)
    put(path, {}, rows())
    client = HudiTable.open(path).client
    instant = str(int(client.timeline.write_instants()[-1].requested) + 1)
    writer = TimelineWriter(client.storage, client.config)
    writer.create_requested("commit", instant)
    writer.transition_inflight("commit", instant)
    beat = path / ".hoodie" / ".heartbeat" / instant
    beat.parent.mkdir(exist_ok=True)
    beat.write_bytes(b"")
    put(path, {locks.HEARTBEAT_MISSES.name: "9999"}, rows(40, 5))
    return path


@cache
def cleaned() -> Path:
    """A table whose first commits' files were cleaned."""
    path = _folder()
    make(path)
    put(path, {"hoodie.cleaner.commits.retained": "1"}, rows(), *(rows(0, 40, ts=[n] * 40) for n in range(2, 5)))
    return path


@cache
def partition_from_file() -> Path:
    """A table whose partition column differs from its path."""
    path = _folder()
    make(path, key_generator="TIMESTAMP", partition_fields=("ts",), ordering_fields=(), properties=_DAYS)
    put(path, {}, rows())
    return path


_DAYS = {table.TIME_FORMATS[0].name: "EPOCHMILLISECONDS", table.TIME_FORMATS[5].name: "yyyy"}


def first_commit(path: Path) -> str:
    """Requested time of the first commit of a table."""
    return HudiTable.open(path).timeline.write_instants()[0].requested


def completion(path: Path, number: int) -> str:
    """The time by which ranges count a commit."""
    instant = HudiTable.open(path).timeline.write_instants()[number]
    return instant.completed if instant.completed and HudiTable.open(path).version > 6 else instant.requested


def _plain(data: pa.Table) -> list[str]:
    return sorted(map(repr, data.to_pylist()))


def scanned(path: Path, options: Mapping[str, str], row_filter: str | None = None) -> Any:
    """Columns, rows and the files that are opened for them."""
    scan = HudiTable.open(path).scan(row_filter, options=options)
    steps = [(step.name, step.before, step.after) for step in scan.plan().steps]
    data = scan.to_arrow()
    return data.column_names, _plain(data), steps


def scan(table_of: Any, row_filter: str | None = None) -> Scenario:
    """A scenario that scans a table; a commit's number in braces stands for its time."""

    def scenario(folder: Path, options: Mapping[str, str]) -> Any:
        path = table_of()
        return scanned(path, _timed(path, options), row_filter)

    scenario.__qualname__ = f"scan {table_of.__name__} {row_filter}"
    return scenario


def _timed(path: Path, options: Mapping[str, str]) -> dict[str, str]:
    times = {"{0}": first_commit, "{1}": lambda path: completion(path, 0), "{2}": lambda path: completion(path, 1)}
    return {name: times[text](path) if text in times else text for name, text in options.items()}


_SCANS: dict[Any, Scenario] = {}


def _scan(table_of: Any, row_filter: str | None = None) -> Scenario:
    return _SCANS.setdefault((table_of, row_filter), scan(table_of, row_filter))


def listed(folder: Path, options: Mapping[str, str]) -> Any:
    """What a scan costs."""
    table_ = HudiTable.open(merge_on_read())
    before = table_.client.storage.counters.snapshot()
    table_.scan(options=options).plan()
    after = table_.client.storage.counters.snapshot()
    return {name: after[name] - before.get(name, 0) for name in after}


def streamed(table_of: Any) -> Scenario:
    """A scenario of a stream: where its first batch ends, and the rows of all commits after its start."""

    def scenario(folder: Path, options: Mapping[str, str]) -> Any:
        path = table_of()
        stream = StreamOptions.parse({"path": str(path), **_timed(path, options)})
        client = HudiTable.open(path).client
        start = {"earliest": "000", "latest": FUTURE}.get(stream.start, stream.start)
        end = stream.commits(client, start).end()
        query = stream.query(start, end or FUTURE)
        found = HudiTable(client).scan(**_arguments(query)).to_arrow()
        return end, stream.fail_on_data_loss, found.column_names, _plain(found)

    return scenario


def _arguments(query: Query) -> dict[str, Any]:
    own = query.options
    options = {
        option.name: _text(getattr(own, name))
        for name, option in _OF_READS
        if getattr(own, name) is not None and name not in ("query_type", "begin", "end", "as_of")
    }
    return {"query_type": query.query_type.value, "begin": query.begin, "end": query.end, "options": options}


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


_OF_READS = tuple(options_of(ReadOptions))
_STREAMS: dict[Any, Scenario] = {}


def _stream(table_of: Any) -> Scenario:
    return _STREAMS.setdefault(table_of, streamed(table_of))


def cut_in(store: str) -> Scenario:
    """A scenario of the splits of a file in a store that is not there."""

    def scenario(folder: Path, options: Mapping[str, str]) -> Any:
        files = pa.table({"path": [f"{store}/a.parquet"], "length": [10_000], "splittable": [True]})
        return cut_files(files, JobConf(options), 1).to_pylist()

    return scenario


def combined(folder: Path, options: Mapping[str, str]) -> Any:
    """The combined splits of a table whose files are on two nodes, each in a rack of its own."""
    conf = {jobs.INPUT_DIR.name: str(copy_on_write()), **options}

    def locations(status: FileStatus) -> list[BlockLocation]:
        node = status.partition or ""
        return [BlockLocation(0, status.length, (node,), (f"/{node}",))]

    splits = HoodieCombineHiveInputFormat(conf, locations=locations).get_splits()
    return [(split.length, split.hosts) for split in splits]


# -- jobs --------------------------------------------------------------------------------------------------------------


def job(table_of: Any, kind: type[HoodieParquetInputFormat] = HoodieParquetInputFormat) -> Scenario:
    """A scenario of a Hive job: files, splits and rows."""

    def scenario(folder: Path, options: Mapping[str, str]) -> Any:
        path = table_of()
        conf = {jobs.INPUT_DIR.name: str(path), **_timed(path, options)}
        made = kind(JobConf({name: text.replace("{path}", str(path)) for name, text in conf.items()}))
        splits = made.get_splits(4)
        batches = [batch for split in splits for batch in made.get_record_reader(split)]
        data = [row for batch in batches for row in batch.to_pylist()]
        counts = {name: count for name, count in made.counters.snapshot().items() if "list" in name}
        names = batches[0].schema.names if batches else []
        sizes = [(split.start, split.length) for split in splits]
        return sorted(map(repr, data)), names, sizes, counts

    return scenario


@cache
def plain_folder() -> Path:
    """A folder without a table that has files in a sub-folder."""
    import pyarrow.parquet as pq

    path = _folder()
    (path / "below").mkdir(parents=True)
    pq.write_table(rows(), path / "a.parquet")
    pq.write_table(rows(40), path / "below" / "b.parquet")
    return path


@cache
def pending() -> Path:
    """A table with the files of a commit that is inflight."""
    path = _folder()
    make(path)
    put(path, {}, rows(), rows(40, 10))
    last = HudiTable.open(path).timeline.write_instants()[-1]
    for file in (path / ".hoodie" / "timeline").glob(f"{last.requested}_*.commit"):
        file.unlink()
    return path


@cache
def compaction_planned() -> Path:
    """A merge-on-read table with a planned compaction between its commits."""
    path = _folder()
    make(path, table_type="MERGE_ON_READ")
    schedule = {"hoodie.compact.schedule.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
    put(path, schedule, rows(), rows(0, 40, ts=[2] * 40), rows(40, 10))
    return path


_JOBS: dict[Any, Scenario] = {}


def _job(table_of: Any, kind: type[HoodieParquetInputFormat] = HoodieParquetInputFormat) -> Scenario:
    return _JOBS.setdefault((table_of, kind), job(table_of, kind))


def _case(face: Face, option: Option[Any], value: str, scenario: Scenario, beside: Mapping[str, str] = {}) -> Case:
    return Case(option, face, scenario, value, beside)


def of_read(option: Option[Any], value: str, scenario: Scenario, **beside: str) -> Case:
    """A case of a read; options beside it by the names of their constants."""
    return _case(Face.READ, option, value, scenario, _named(beside))


def of_stream(option: Option[Any], value: str, scenario: Scenario, **beside: str) -> Case:
    """A case of a stream."""
    return _case(Face.STREAM, option, value, scenario, _named(beside))


def of_job(option: Option[Any], value: str, scenario: Scenario, **beside: str) -> Case:
    """A case of a Hive job."""
    return _case(Face.INPUT_FORMAT, option, value, scenario, _named(beside))


def _named(beside: Mapping[str, str]) -> dict[str, str]:
    constants = {**vars(write), **vars(read), **vars(jobs)}
    return {constants[name].of_table("t"): text for name, text in beside.items()}


_ALL = {"QUERY_TYPE": "incremental", "BEGIN": "000"}
_RANGE = {"CONSUME_MODE": "INCREMENTAL", "CONSUME_START": "0", "CONSUME_MAX_COMMITS": "-1"}
_REALTIME = HoodieParquetRealtimeInputFormat

READ_CASES = (
    of_read(read.QUERY_TYPE, "read_optimized", _scan(merge_on_read)),
    of_read(read.BEGIN, "{1}", _scan(copy_on_write)),
    of_read(read.END, "{1}", _scan(copy_on_write), **_ALL),
    of_read(read.AS_OF, "{0}", _scan(copy_on_write)),
    of_read(read.FULL_SCAN_FALLBACK, "true", _scan(cleaned), **_ALL, END="{1}"),
    of_read(read.HOLLOW_POLICY, "BLOCK", _scan(hollow), **_ALL),
    of_read(read.PARTITION_VALUES_FROM_PATH, "true", _scan(partition_from_file)),
    of_read(read.PATH_GLOB, "/a/*", _scan(copy_on_write), **_ALL),
    of_read(read.END_INSTANT_SCHEMA, "true", _scan(renamed), **_ALL, END="{1}"),
    of_read(write.SCHEMA_ON_READ, "false", _scan(renamed)),
    of_read(write.METADATA_ENABLE, "false", listed),
    of_read(read.METADATA_VALIDATE, "true", listed),
    of_read(read.DATA_SKIPPING, "false", _scan(merge_on_read, "id > 55")),
    of_read(write.RECORD_INDEX, "true", _scan(merge_on_read, "id = 55")),
    of_read(write.RECORD_LEVEL_INDEX, "true", _scan(in_two_partitions, "id = 55")),
    of_read(read.SECONDARY_INDEX, "false", _scan(with_column_indexes, "name = 'n35'")),
    of_read(read.EXPRESSION_INDEX, "false", _scan(with_column_indexes, "length(name) = 99")),
    of_read(read.INCREMENTAL_FORMAT, "cdc", _scan(copy_on_write), **_ALL),
    of_read(read.MERGE_TYPE, "skip_merge", _scan(merge_on_read)),
    of_read(table.RECORD_MERGERS, f"{SUM}=tests.support.mergers:total", without_mergers(_scan(merged_by_function))),
    of_read(read.READ_OPTIMIZED, "true", _scan(merge_on_read)),
)

STREAM_CASES = (
    of_stream(read.QUERY_TYPE, "cdc", _stream(copy_on_write)),
    of_stream(read.FULL_SCAN_FALLBACK, "true", _stream(cleaned), MAX_COMMITS="1"),
    of_stream(read.HOLLOW_POLICY, "BLOCK", _stream(hollow)),
    of_stream(read.PARTITION_VALUES_FROM_PATH, "true", _stream(partition_from_file)),
    of_stream(read.PATH_GLOB, "/a/*", _stream(copy_on_write)),
    of_stream(read.END_INSTANT_SCHEMA, "true", _stream(renamed), MAX_COMMITS="1"),
    of_stream(write.SCHEMA_ON_READ, "false", _stream(renamed)),
    of_stream(read.INCREMENTAL_FORMAT, "cdc", _stream(copy_on_write)),
    of_stream(read.MERGE_TYPE, "skip_merge", _stream(merge_on_read)),
    of_stream(read.START_OFFSET, "latest", _stream(copy_on_write)),
    of_stream(read.MAX_COMMITS, "1", _stream(copy_on_write)),
    of_stream(read.MAX_BYTES, "1", _stream(copy_on_write)),
    of_stream(read.FAIL_ON_DATA_LOSS, "false", _stream(copy_on_write)),
)

_OF_PARTITION = next(one for one in fixture_filters() if one.case == "options")

JOB_CASES = (
    of_job(read.AS_OF, "{0}", _job(copy_on_write)),
    of_job(read.FULL_SCAN_FALLBACK, "true", _job(cleaned), **{**_RANGE, "CONSUME_MAX_COMMITS": "1"}),
    of_job(read.HOLLOW_POLICY, "BLOCK", _job(hollow), **_RANGE),
    of_job(read.PARTITION_VALUES_FROM_PATH, "true", _job(partition_from_file)),
    of_job(write.SCHEMA_ON_READ, "false", _job(renamed)),
    of_job(read.END_INSTANT_SCHEMA, "true", _job(renamed), **{**_RANGE, "CONSUME_MAX_COMMITS": "1"}),
    of_job(write.METADATA_ENABLE, "false", _job(copy_on_write)),
    of_job(read.METADATA_VALIDATE, "true", _job(copy_on_write)),
    of_job(read.MERGE_TYPE, "skip_merge", _job(merge_on_read, _REALTIME)),
    of_job(jobs.CONSUME_MODE, "INCREMENTAL", _job(copy_on_write), CONSUME_START="0"),
    of_job(jobs.CONSUME_START, "{1}", _job(copy_on_write), CONSUME_MODE="INCREMENTAL", CONSUME_MAX_COMMITS="-1"),
    of_job(jobs.CONSUME_END, "{1}", _job(copy_on_write), **_RANGE),
    of_job(jobs.CONSUME_MAX_COMMITS, "2", _job(copy_on_write), CONSUME_MODE="INCREMENTAL", CONSUME_START="0"),
    of_job(jobs.CONSUME_COMMIT, "{0}", _job(copy_on_write)),
    of_job(jobs.CONSUME_SNAPSHOT_TIME, "{0}", _job(copy_on_write)),
    of_job(jobs.CONSUME_PENDING_COMMITS, "true", _job(pending)),
    of_job(jobs.CONSUME_FILTER_ROWS, "false", _job(copy_on_write), **{**_RANGE, "CONSUME_START": "{2}"}),
    of_job(jobs.STOP_AT_COMPACTION, "false", _job(compaction_planned, _REALTIME), **_RANGE),
    of_job(jobs.USE_DATABASE, "true", _job(copy_on_write), **_RANGE),
    of_job(jobs.MERGE_SKIP, "true", _job(merge_on_read, _REALTIME)),
    of_job(jobs.HIVE_EVOLUTION, "false", _job(renamed)),
    of_job(jobs.INPUT_DIR, "{path}/a", _job(copy_on_write)),
    of_job(jobs.INPUT_RECURSIVE, "true", _job(plain_folder)),
    of_job(jobs.SPLIT_MIN_SIZE, "100m", _job(copy_on_write)),
    of_job(jobs.SPLIT_MAX_SIZE, "100k", combined),
    of_job(jobs.SPLIT_MIN_SIZE_NODE, "1", combined),
    of_job(jobs.SPLIT_MIN_SIZE_RACK, "1", combined),
    of_job(jobs.LOCAL_BLOCK_SIZE, "1k", _job(copy_on_write)),
    of_job(jobs.S3_BLOCK_SIZE, "1k", cut_in("s3://bucket")),
    of_job(jobs.GS_BLOCK_SIZE, "1k", cut_in("gs://bucket")),
    of_job(jobs.AZURE_BLOCK_SIZE, "1k", cut_in("abfs://container")),
    of_job(jobs.DFS_BLOCK_SIZE, "1k", cut_in("hdfs://host")),
    of_job(jobs.READ_COLUMN_NAMES, "id", _job(copy_on_write)),
    of_job(jobs.READ_COLUMN_IDS, "0", _job(copy_on_write), COLUMNS="id,name"),
    of_job(jobs.COLUMNS, "name,id", _job(copy_on_write), READ_COLUMN_IDS="0"),
    of_job(jobs.PARTITION_COLUMNS, "p", _job(copy_on_write), READ_COLUMN_NAMES="id"),
    of_job(jobs.READ_ALL_COLUMNS, "true", _job(copy_on_write), READ_COLUMN_NAMES="id"),
    of_job(jobs.FILTER_EXPRESSION, _OF_PARTITION.serialized, _job(copy_on_write)),
    of_job(jobs.FILTER_TEXT, _OF_PARTITION.text, _job(copy_on_write)),
    of_job(jobs.SARG, _OF_PARTITION.sarg, _job(copy_on_write)),
    of_job(jobs.COLUMN_TYPES, "bigint:bigint", _job(copy_on_write), COLUMNS="id,p", FILTER_TEXT="(p = 'a')"),
)

of_any_scan, of_any_stream, of_any_job = _scan(copy_on_write), _stream(copy_on_write), _job(merge_on_read, _REALTIME)
