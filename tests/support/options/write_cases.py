"""Cases of the options of a write: rows, files, index, metadata table, and what a new table is."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.orc as orc

from hudi_hive import HudiTable, unregister_merger
from hudi_hive.errors import InvalidOptionError
from hudi_hive.formats.hfile import HFileReader
from hudi_hive.metrics import IoCounters
from hudi_hive.options import Face, Option, base_files, buckets, metrics, read, services, sync, table, write
from hudi_hive.table import TableDefinition
from hudi_hive.table.core import create_table
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.writers import LocalWriter
from tests.support.mergers import STRATEGY, SUM
from tests.support.options.cases import Case, Scenario
from tests.support.options.made_tables import made_once
from tests.support.options.observed import data_files, observed

LEAN = {write.METADATA_ENABLE.name: "false"}  # a metadata table costs most of a small write


def rows(first: int = 0, count: int = 40, **columns: Any) -> pa.Table:
    """Rows of the keys from the first on; the last of them come first."""
    ids = list(range(first + count - 1, first - 1, -1))
    made = {"id": ids, "name": [f"n{one % 7}" for one in ids], "p": ["ab"[one % 2] for one in ids], "ts": [1] * count}
    return pa.table({**made, **columns})


def make(path: Path, **settings: Any) -> None:
    """An empty table ``t`` with the key ``id`` and the partition ``p``."""
    definition = {"name": "t", "record_keys": ("id",), "partition_fields": ("p",), "ordering_fields": ("ts",)}
    create_table(path, TableDefinition(**{**definition, **settings}))


def put(path: Path, options: Mapping[str, str], *batches: pa.Table, operation: str | None = None) -> None:
    """One write of each batch."""
    given = dict(options) if operation is None else {**options, write.OPERATION.name: operation}
    for batch in batches:
        LocalWriter(HudiTable.open(path).client, given).write(batch)


@made_once
def make_with_rows(path: Path) -> None:
    """A table with rows and without a metadata table."""
    make(path)
    put(path, LEAN, rows())


@made_once
def _make_with_metadata(path: Path) -> None:
    make(path)
    put(path, {}, rows())


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def reported(path: Path, options: Mapping[str, str]) -> Any:
    """What a write reports of its metrics: lines on standard error, names in a JSON file, whether its port answers."""
    _make_with_metadata(path)
    given = {name: text.replace("{folder}", str(path.parent)) for name, text in options.items()}
    lines = StringIO()
    with redirect_stderr(lines):
        put(path, given, rows(0, 2))
    files = {file.name: sorted(json.loads(file.read_bytes())) for file in path.parent.glob("*.json")}
    port = given.get(metrics.PROMETHEUS_PORT.name)
    text = "" if port is None else urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    printed = sorted({line.split()[0] for line in lines.getvalue().splitlines() if line.startswith("HoodieMetadata.")})
    return bool(printed), files, 'hudi_metadata_operations_total{action="sync"}' in text


def compared(path: Path, options: Mapping[str, str]) -> Any:
    """A write to a table whose metadata table names a file that is gone."""
    _make_with_metadata(path)
    next(path.glob("*/*.parquet")).unlink()
    put(path, options, rows(40, 2), operation="insert")


def two_batches(path: Path, options: Mapping[str, str]) -> Any:
    """Two batches with half of their keys in both, into a copy-on-write table."""
    make(path)
    put(path, options, rows(), rows(20))
    return observed(path)


def index_added(path: Path, options: Mapping[str, str]) -> Any:
    """A write that adds what the metadata table did not have to a table with rows."""
    _make_with_metadata(path)
    put(path, options, rows(20))
    return observed(path)


def newest_version(path: Path, options: Mapping[str, str]) -> Any:
    """A write into a table of the newest version, which makes its partitions."""
    make(path, version=9)
    put(path, options, rows())
    return observed(path)


def indexed_later(path: Path, options: Mapping[str, str]) -> Any:
    """Two writes into a table of the newest version, of which the second makes the metadata table."""
    make(path, version=9)
    put(path, LEAN, rows())
    put(path, options, rows(20))
    return observed(path)


def counted(path: Path, options: Mapping[str, str]) -> Any:
    """How many files two batches make."""
    make(path)
    put(path, options, rows(), rows(20))
    return len(data_files(path))


def merge_on_read(path: Path, options: Mapping[str, str]) -> Any:
    """The same into a merge-on-read table."""
    make(path, table_type="MERGE_ON_READ")
    put(path, options, rows(), rows(0, 40, ts=[2] * 40))
    return observed(path)


def padded(path: Path, options: Mapping[str, str]) -> Any:
    """Two batches of new rows into a merge-on-read table."""
    make(path, table_type="MERGE_ON_READ")
    put(path, options, rows(), rows(40, 5))
    return observed(path)


def one_batch(path: Path, options: Mapping[str, str]) -> Any:
    """A few rows in one write."""
    make(path, partition_fields=())
    put(path, options, rows(0, 6))
    return observed(path)


def many_rows(path: Path, options: Mapping[str, str]) -> Any:
    """One larger batch, and one that small files may take in."""
    make(path)
    put(path, options, rows(0, 3000), rows(3000, 600))
    return observed(path)


def orc_files(path: Path, options: Mapping[str, str]) -> Any:
    """One larger batch into a table of ORC files: rows, stripes and compression of each."""
    make(path, base_file_format="ORC")
    put(path, options, pa.concat_tables([rows(0, 3000, word=[f"word {one}" for one in range(3000)])] * 12))
    files = [orc.ORCFile(file) for file in path.glob("*/*.orc")]
    return sorted((file.nrows, file.nstripes, file.compression) for file in files)


def hfiles(path: Path, options: Mapping[str, str]) -> Any:
    """One larger batch into a table of HFiles: rows and compression of each."""
    make(path, base_file_format="HFILE")
    put(path, options, rows(0, 3000))
    files = [HFileReader(pa.memory_map(str(file)), file.name) for file in path.glob("*/*.hfile")]
    return sorted((file.num_entries, repr(file).split()[-1]) for file in files)


def twice_in_a_batch(path: Path, options: Mapping[str, str]) -> Any:
    """A batch that has each key twice."""
    make(path)
    put(path, options, pa.concat_tables([rows(), rows(0, 40, ts=[2] * 40)]))
    return observed(path)


def deleted_twice(path: Path, options: Mapping[str, str]) -> Any:
    """A delete that names each key twice."""
    make_with_rows(path)
    put(path, options, pa.concat_tables([rows(0, 10), rows(0, 10)]), operation="delete")
    return observed(path)


def without_a_column(path: Path, options: Mapping[str, str]) -> Any:
    """A second batch that lacks a column."""
    make_with_rows(path)
    put(path, options, rows().drop_columns(["name"]))
    return observed(path)


def partitions_deleted(path: Path, options: Mapping[str, str]) -> Any:
    """The deletion of the partitions that the options name."""
    make_with_rows(path)
    writer = LocalWriter(HudiTable.open(path).client, {**options, write.OPERATION.name: "delete_partition"})
    writer.delete_partitions(writer.config.rows.partitions_to_delete)
    return observed(path)


def overwritten(path: Path, options: Mapping[str, str]) -> Any:
    """A second batch of one partition that overwrites."""
    make_with_rows(path)
    put(path, options, rows(0, 3, p=["a"] * 3), operation="insert_overwrite")
    return observed(path)


def moved(path: Path, options: Mapping[str, str]) -> Any:
    """Rows that name another partition than before."""
    make(path)
    put(path, options, rows(), rows(0, 40, p=["c"] * 40))
    return observed(path)


def evolved(path: Path, options: Mapping[str, str]) -> Any:
    """A write to a table whose columns have ids."""
    make_with_rows(path)
    HudiTable.open(path).update_schema().rename("name", "title").commit()
    put(path, options, rows(0, 5).rename_columns(["id", "title", "p", "ts"]))
    return observed(path)


def retyped(path: Path, options: Mapping[str, str]) -> Any:
    """A change of a column's type that a value of it does not allow."""
    make_with_rows(path)
    HudiTable.open(path).update_schema(options).change_type("name", "date").commit()
    return [str(item.type) for item in HudiTable.open(path).schema()]


def searched(path: Path, options: Mapping[str, str]) -> Any:
    """How often files are opened by an upsert of a few keys into files of disjoint ranges."""
    make(path)
    put(path, options, *(rows(first, 20) for first in range(0, 80, 20)), operation="bulk_insert")
    counters = IoCounters()
    client = HudiTable.open(path, counters=counters).client
    LocalWriter(client, options).write(rows(0, 4))
    return {name: count for name, count in counters.snapshot().items() if "open" in name}


def new_table(path: Path, options: Mapping[str, str]) -> Any:
    """A table that the options describe, two writes into it, and change data if it has any."""
    config = WriteConfig.of({table.NAME.name: "t", **options})
    create_table(path / "made", config.table_definition())
    days = pa.array([86_400_000 * (one % 3) + 3_600_000 for one in range(40)])
    extra = {"day": days, "word": [f"2024-01-0{one % 3 + 1}T05:00:00" for one in range(40)], "gone": ["no"] * 40}
    extra["at"] = pa.array([one * 1000 for one in range(40)], pa.timestamp("us", "UTC"))
    older = {**extra, "ts": [0] * 40, "gone": ["D"] * 20 + ["no"] * 20}
    put(path / "made", options, rows(0, 40, **extra), rows(0, 40, **older))
    return observed(path / "made")


def upgraded(path: Path, options: Mapping[str, str]) -> Any:
    """The version that a table of version 6 is of behind a write that names 8; None where the write is refused."""
    make(path, version=6)
    given = {**LEAN, **options, table.VERSION.name: "8"}
    try:
        HudiTable.open(path).upsert(rows(), given)
    except InvalidOptionError:
        return None
    return HudiTable.open(path).version


def without_mergers(scenario: Scenario) -> Scenario:
    """The scenario in a process that has no merger registered but by its options."""

    def run(path: Path, options: Mapping[str, str]) -> Any:
        try:
            return scenario(path, options)
        finally:
            unregister_merger(SUM)

    return run


def resized(path: Path, options: Mapping[str, str]) -> Any:
    """A write into a merge-on-read table with a clustering behind it, and another write."""
    make(path, table_type="MERGE_ON_READ")
    put(
        path,
        LEAN | options | {services.CLUSTERING_INLINE.name: "true", services.CLUSTERING_AFTER_COMMITS.name: "1"},
        rows(),
    )
    put(path, LEAN | options, rows(0, 10))
    return observed(path)


def sync_follows(path: Path, options: Mapping[str, str]) -> Any:
    """Whether a write is followed by a sync."""
    return WriteConfig.of({table.NAME.name: "t", **options}).sync_enabled


def _case(option: Option[Any], value: str, scenario: Scenario = two_batches, **beside: str) -> Case:
    named = _named(beside)
    of_metadata = {one.name for one in write.METADATA_OPTIONS}
    lean = {} if option.name in of_metadata or of_metadata & named.keys() else LEAN
    return Case(option, Face.WRITE, scenario, value, {**lean, **named})


def _named(beside: Mapping[str, str]) -> dict[str, str]:
    """Options by the names of their constants."""
    constants = {**vars(services), **vars(table), **vars(write), **vars(buckets), **vars(base_files)}
    return {constants[name].name: text for name, text in beside.items()}


_KEYS = {"RECORD_KEY_FIELDS": "id"}
_PARTED = {**_KEYS, "PARTITION_FIELDS": "p", "ORDERING_FIELDS": "ts"}
_TIMED = {**_KEYS, "PARTITION_FIELDS": "day", "KEY_GENERATOR": "TIMESTAMP"}
_EPOCH = {table.TIME_FORMATS[0].name: "EPOCHMILLISECONDS", table.TIME_FORMATS[5].name: "yyyy-MM-dd HH"}
_TEXTS = {table.TIME_FORMATS[0].name: "DATE_STRING", table.TIME_FORMATS[5].name: "yyyy-MM-dd HH"}
_TEXT_FORMAT = {table.TIME_FORMATS[2].name: "yyyy-MM-dd'T'HH:mm:ss"}
_INSERT = {"OPERATION": "insert"}
_SPLIT = {"INSERT_AUTO_SPLIT": "false", **_INSERT}
_BIG = {"OPERATION": "bulk_insert"}
_PLAIN = {"COMPRESSION": "uncompressed", "DICTIONARY": "false"}
_BLOOM = {"INDEX_TYPE": "BLOOM"}
_RECORDS = {"RECORD_INDEX": "true"}
_PARTIAL = "org.apache.hudi.common.model.PartialUpdateAvroPayload"


def _timed(place: int, value: str, beside: Mapping[str, str], field: str = "day") -> Case:
    named = _named({**_TIMED, "PARTITION_FIELDS": field})
    return Case(table.TIME_FORMATS[place], Face.WRITE, new_table, value, {**LEAN, **named, **beside})


TABLE_CASES = (
    _case(table.NAME, "another", new_table, **_KEYS),
    _case(table.DATABASE, "d", new_table, **_KEYS),
    _case(table.TYPE, "MERGE_ON_READ", new_table, **_KEYS),
    _case(table.VERSION, "6", new_table, **_KEYS),
    _case(table.RECORD_KEY_FIELDS, "id", new_table),
    _case(table.PARTITION_FIELDS, "p", new_table, **_KEYS),
    _case(table.ORDERING_FIELDS, "ts", new_table, **_KEYS),
    _case(table.KEY_GENERATOR, "COMPLEX", new_table, **_PARTED),
    _case(table.HIVE_STYLE_PARTITIONING, "true", new_table, **_PARTED),
    _case(table.URL_ENCODE_PARTITIONING, "true", new_table, **{**_PARTED, "PARTITION_FIELDS": "word"}),
    _case(table.DROP_PARTITION_COLUMNS, "true", new_table, **_PARTED, HIVE_STYLE_PARTITIONING="true"),
    _case(table.POPULATE_META_FIELDS, "false", new_table, **_PARTED),
    _case(table.BASE_FILE_FORMAT, "ORC", new_table, **_KEYS),
    _case(table.MERGE_MODE, "COMMIT_TIME_ORDERING", new_table, **_PARTED),
    _case(table.MERGE_STRATEGY_ID, "ce9acb64-bde0-424c-9b91-f6ebba25356d", new_table, **_PARTED),
    _case(
        table.PAYLOAD_CLASS,
        "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
        new_table,
        **_PARTED,
        VERSION="6",
    ),
    _case(
        table.RECORD_MERGERS,
        f"{SUM}=tests.support.mergers:latest",
        without_mergers(new_table),
        **_PARTED,
        PAYLOAD_CLASS=SUM,
    ),
    _case(
        table.MERGER_CLASSES,
        SUM,
        without_mergers(new_table),
        **_PARTED,
        RECORD_MERGERS=f"{SUM}@{STRATEGY}=tests.support.mergers:latest",
    ),
    _case(table.CDC_ENABLED, "true", new_table, **_PARTED),
    _case(table.CDC_LOGGING_MODE, "OP_KEY_ONLY", new_table, **_PARTED, CDC_ENABLED="true"),
    _case(table.TIMEZONE, "UTC", new_table, **_KEYS),
    _timed(0, "EPOCHMILLISECONDS", {table.TIME_FORMATS[5].name: "yyyy"}),
    _timed(1, "HOURS", {**_EPOCH, table.TIME_FORMATS[0].name: "SCALAR"}),
    _timed(2, "yyyy-MM-dd'T'HH:mm:ss", _TEXTS, "word"),
    _timed(3, ";", {**_TEXTS, table.TIME_FORMATS[2].name: "yyyy,MM;yyyy-MM-dd'T'HH:mm:ss"}, "word"),
    _timed(4, "Asia/Tokyo", {**_TEXTS, **_TEXT_FORMAT}, "word"),
    _timed(5, "yyyy", {table.TIME_FORMATS[0].name: "EPOCHMILLISECONDS"}),
    _timed(6, "Asia/Tokyo", _EPOCH),
    _timed(7, "Asia/Tokyo", _EPOCH),
    *(
        Case(option, Face.WRITE, new_table, value, LEAN | _named(_PARTED) | {other.name: text})
        for option, value, other, text in (
            (table.DELETE_FIELD, "gone", table.DELETE_MARKER, "D"),
            (table.DELETE_MARKER, "D", table.DELETE_FIELD, "gone"),
            (table.UNAVAILABLE_VALUE, "n1", table.PAYLOAD_CLASS, _PARTIAL),
        )
    ),
    _case(table.CONSISTENT_TIMESTAMPS, "true", new_table, RECORD_KEY_FIELDS="id,at"),
    _case(table.TIMESTAMP_FOLDERS, "true", new_table, PARTITION_FIELDS="at"),
    _case(table.NEW_COMPLEX_ENCODING, "false", new_table, **_PARTED, KEY_GENERATOR="COMPLEX"),
)

ROW_CASES = (
    _case(write.OPERATION, "insert", SMALL_FILE_LIMIT="0"),
    _case(write.COMBINE_BEFORE_INSERT, "true", twice_in_a_batch, **_INSERT),
    _case(write.COMBINE_BEFORE_UPSERT, "false", twice_in_a_batch),
    _case(write.COMBINE_BEFORE_DELETE, "false", deleted_twice),
    _case(write.INSERT_DROP_DUPLICATES, "true", **_INSERT),
    _case(write.DUPLICATE_POLICY, "fail", **_INSERT),
    _case(write.MERGE_ALLOW_DUPLICATES, "false", **_INSERT),
    _case(write.PARTITIONS_TO_DELETE, "a", partitions_deleted),
    _case(write.OVERWRITE_MODE, "STATIC", overwritten),
    _case(write.NULL_FOR_MISSING_COLUMNS, "false", without_a_column),
    _case(write.RECONCILE_SCHEMA, "true", without_a_column, NULL_FOR_MISSING_COLUMNS="false"),
    _case(write.SCHEMA_ON_READ, "false", evolved),
    _case(table.ALTER_CHECK_DATA, "true", retyped),
    Case(write.COMMIT_METADATA_PREFIX, Face.WRITE, two_batches, "note.", {**LEAN, "note.a": "b"}),
    Case(table.AUTO_UPGRADE, Face.WRITE, upgraded, "true"),
    Case(sync.ENABLE, Face.WRITE, sync_follows, "true"),
    Case(sync.META_SYNC_ENABLE, Face.WRITE, sync_follows, "true"),
)

_ROUGH = {**_INSERT, "MAX_FILE_SIZE": "600000", "RECORD_SIZE_ESTIMATE": "300000", "BLOOM_ENABLED": "false"}

FILE_CASES = (
    _case(write.MAX_FILE_SIZE, "1000000", many_rows, **_BIG),
    _case(write.SMALL_FILE_LIMIT, "0"),
    _case(write.SMALL_FILE_CANDIDATES, "0", padded),
    _case(write.RECORD_SIZE_ESTIMATE, "100000", many_rows, **_BIG),
    _case(write.INSERT_SPLIT_SIZE, "500", many_rows, **_SPLIT),
    _case(write.INSERT_AUTO_SPLIT, "false", many_rows, **_INSERT, INSERT_SPLIT_SIZE="500"),
    _case(write.RECORD_SIZE_THRESHOLD, "0", counted, **_ROUGH),
    _case(base_files.BLOCK_SIZE, "20000", many_rows),
    _case(base_files.PAGE_SIZE, "1000", many_rows, **_PLAIN),
    _case(base_files.DICTIONARY, "false"),
    _case(base_files.COMPRESSION, "snappy"),
    _case(base_files.ORC_MAX_FILE_SIZE, "1000000", orc_files, **_BIG),
    _case(base_files.ORC_STRIPE_SIZE, "20000", orc_files, **_BIG),
    _case(base_files.ORC_COMPRESSION, "SNAPPY", orc_files, **_BIG),
    _case(base_files.HFILE_MAX_FILE_SIZE, "1000000", hfiles, **_BIG),
    _case(base_files.HFILE_COMPRESSION, "NONE", hfiles, **_BIG),
    _case(write.BLOOM_ENABLED, "false"),
    _case(write.LOG_BLOCK_SIZE, "500", merge_on_read),
    _case(write.LOG_BLOCK_FORMAT, "parquet", merge_on_read),
    _case(write.RECORD_POSITIONS, "false", merge_on_read),
    _case(write.BULK_INSERT_SORT, "GLOBAL_SORT", **_BIG),
    _case(write.BULK_INSERT_SORT_COLUMNS, "name", **_BIG),
)

_HASHED = {"INDEX_TYPE": "BUCKET", "BUCKET_ENGINE": "CONSISTENT_HASHING", "BUCKET_COUNT": "2"}

INDEX_CASES = (
    _case(write.INDEX_TYPE, "GLOBAL_SIMPLE", moved),
    _case(write.BLOOM_ENTRIES, "50"),
    _case(write.BLOOM_FPP, "0.1"),
    _case(write.BLOOM_FILTER_TYPE, "SIMPLE"),
    _case(write.BLOOM_MAX_ENTRIES, "20", many_rows, BLOOM_ENTRIES="10"),
    _case(write.BLOOM_PRUNE_BY_RANGES, "false", searched, **_BLOOM),
    _case(write.BLOOM_USE_METADATA, "true", searched, **_BLOOM, METADATA_BLOOM_FILTERS="true"),
    _case(write.BLOOM_UPDATE_PARTITION, "false", moved, INDEX_TYPE="GLOBAL_BLOOM"),
    _case(write.SIMPLE_UPDATE_PARTITION, "false", moved, INDEX_TYPE="GLOBAL_SIMPLE"),
    _case(write.RECORD_INDEX_UPDATE_PARTITION, "true", moved, INDEX_TYPE="RECORD_INDEX", **_RECORDS),
    _case(buckets.BUCKET_COUNT, "2", INDEX_TYPE="BUCKET"),
    _case(buckets.BUCKET_ENGINE, "CONSISTENT_HASHING", resized, INDEX_TYPE="BUCKET", BUCKET_COUNT="2"),
    _case(buckets.BUCKET_MAX, "3", resized, **_HASHED, MAX_FILE_SIZE="100"),
    _case(buckets.BUCKET_MIN, "1", resized, **_HASHED),
    _case(buckets.BUCKET_SPLIT, "0", resized, **_HASHED, BUCKET_MAX="8", BUCKET_MERGE="0"),
    _case(buckets.BUCKET_MERGE, "0", resized, **_HASHED, BUCKET_MIN="1"),
    _case(buckets.BUCKET_RULES, "^,3", INDEX_TYPE="BUCKET", BUCKET_COUNT="2"),
    _case(
        buckets.BUCKET_FIELDS,
        "id",
        new_table,
        **{**_PARTED, "RECORD_KEY_FIELDS": "id,name"},
        INDEX_TYPE="BUCKET",
        BUCKET_COUNT="4",
    ),
)

_OF_EACH = {"RECORD_LEVEL_INDEX": "true"}
_FEW = {**_RECORDS, "RECORD_INDEX_MIN_GROUPS": "1", "RECORD_INDEX_MAX_GROUP_SIZE": "10000"}

METADATA_CASES = (
    _case(write.METADATA_ENABLE, "false"),
    _case(write.COLUMN_STATS, "false"),
    _case(write.COLUMN_STATS_COLUMNS, "ts"),
    _case(write.COLUMN_STATS_MAX_COLUMNS, "1"),
    _case(write.PARTITION_STATS, "false"),
    _case(write.METADATA_BLOOM_FILTERS, "true"),
    _case(write.METADATA_BLOOM_GROUPS, "2", METADATA_BLOOM_FILTERS="true"),
    _case(write.RECORD_INDEX, "true"),
    _case(write.RECORD_INDEX_MIN_GROUPS, "3", index_added, **_RECORDS),
    _case(write.RECORD_INDEX_MAX_GROUPS, "1", index_added, **_FEW, RECORD_INDEX_GROWTH="50"),
    _case(write.RECORD_INDEX_GROWTH, "50", index_added, **_FEW),
    _case(write.RECORD_LEVEL_INDEX, "true", newest_version),
    _case(write.RECORD_LEVEL_INDEX_MIN_GROUPS, "3", newest_version, **_OF_EACH),
    _case(write.RECORD_LEVEL_INDEX_MAX_GROUPS, "2", indexed_later, **_OF_EACH, RECORD_INDEX_MAX_GROUP_SIZE="200"),
    _case(write.RECORD_INDEX_MAX_GROUP_SIZE, "1000", index_added, **_RECORDS, RECORD_INDEX_MIN_GROUPS="1"),
    _case(write.METADATA_COMPACT_AFTER, "1"),
    Case(read.METADATA_VALIDATE, Face.WRITE, compared, "true", {write.SMALL_FILE_LIMIT.name: "0"}),
)

_CONSOLE = {metrics.METRICS_ON.name: "true", metrics.REPORTER_TYPE.name: "console"}
_JSON = {**_CONSOLE, metrics.REPORTER_TYPE.name: "JSON"}
_PROMETHEUS = {**_CONSOLE, metrics.REPORTER_TYPE.name: "PROMETHEUS"}

METRICS_CASES = (
    Case(metrics.METRICS_ON, Face.WRITE, reported, "true", {metrics.REPORTER_TYPE.name: "CONSOLE"}),
    Case(metrics.REPORTER_TYPE, Face.WRITE, reported, "CONSOLE", {metrics.METRICS_ON.name: "true"}),
    Case(metrics.METADATA_METRICS, Face.WRITE, reported, "false", _CONSOLE),
    Case(metrics.JSON_PATH, Face.WRITE, reported, "{folder}/metrics.json", _JSON),
    Case(metrics.PROMETHEUS_PORT, Face.WRITE, reported, str(free_port()), _PROMETHEUS),
)

WRITE_CASES = (*TABLE_CASES, *ROW_CASES, *FILE_CASES, *INDEX_CASES, *METADATA_CASES, *METRICS_CASES)
