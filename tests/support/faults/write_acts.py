"""What is killed: writes and table services, and what makes their tables.

Functions of a module, because another process runs them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_hive import HudiTable, register_merger
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.table import MetaClient
from hudi_hive.table.core import TableDefinition, create_table
from hudi_hive.timeline.instants import (
    CLEAN,
    COMMIT,
    COMPLETED_WRITE_ACTIONS,
    DELTA_COMMIT,
    REPLACE_COMMIT,
    RESTORE,
    SAVEPOINT,
)
from hudi_hive.write.alter import alter_schema
from hudi_hive.write.bootstrap import bootstrap
from hudi_hive.write.coordination import LocalExecutor, table_lock
from hudi_hive.write.rollback import create_savepoint, restore, rollback, rollback_failed_writes
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import (
    MetadataServices,
    archive_instants,
    clean,
    cluster,
    compact,
    expire_partitions,
    log_compact,
    rescaling_rules,
)
from hudi_hive.write.services.rescaling import rescale_partitions
from hudi_hive.write.writers import LocalWriter
from tests.support.index_builds import die, in_a_process_that_dies, in_the_middle
from tests.support.mergers import event_time

_SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64()), ("value", pa.string())])
_PLACE = pa.struct([("ts", pa.int64()), ("inner", pa.struct([("name", pa.string())]))])
PROBE: dict[str, Any] = {"id": "probe", "part": "x", "ts": 9, "value": "probe"}

SEVERAL_WRITERS = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.write.lock.client.num_retries": "2",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "1",
}

RECORD_INDEX = {"hoodie.metadata.record.index.enable": "true", "hoodie.index.type": "RECORD_INDEX"}
PARTITIONED_INDEX = {
    "hoodie.metadata.record.level.index.enable": "true",
    "hoodie.metadata.record.level.index.min.filegroup.count": "2",
    "hoodie.index.type": "RECORD_LEVEL_INDEX",
}
FIELDS_OF_STRUCTS = {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.column.stats.column.list": "value,place.ts,place.inner.name",
}
"""Rows have the column ``place``, and its fields statistics."""
PROBE_PLACE = {"place": {"ts": PROBE["ts"], "inner": {"name": PROBE["value"]}}}

MERGER = "com.acme.EventTimeOfKilledWrites"
register_merger(MERGER, event_time)  # in each process that is killed, too


def rows(step: int, *keys: str) -> pa.Table:
    """Rows of keys; the partition follows from the key."""
    found = [{"id": key, "part": "xy"[len(key) % 2], "ts": step, "value": f"{key} {step}"} for key in keys]
    return pa.Table.from_pylist(found, schema=_SCHEMA)


def write(path: Path, options: dict[str, str], table: pa.Table, operation: str = "upsert") -> None:
    given = {"hoodie.datasource.write.operation": operation, "hoodie.index.bloom.num_entries": "100", **options}
    if FIELDS_OF_STRUCTS.items() <= options.items():
        table = _with_places(table)
    report = LocalWriter(MetaClient.load(path), given, executor=LocalExecutor(1)).write(table)
    assert report.services is None or not report.services.failed, report.services


def _with_places(table: pa.Table) -> pa.Table:
    inner = pa.StructArray.from_arrays([table.column("value").combine_chunks()], ["name"])
    places = pa.StructArray.from_arrays([table.column("ts").combine_chunks(), inner], fields=list(_PLACE))
    return table.append_column("place", places)


def prepare(
    path: Path,
    *,
    kind: str,
    version: int,
    options: dict[str, str],
    upserts: int = 1,
    then: Sequence[Callable[[Path, dict[str, str]], None]] = (),
    **definition: Any,
) -> None:
    """A table and its first commits; ``definition`` are further fields of :class:`TableDefinition`."""
    create_table(
        path,
        TableDefinition(
            name="t",
            table_type=kind,
            version=version,
            record_keys=["id"],
            partition_fields=["part"],
            ordering_fields=["ts"],
            **definition,
        ),
    )
    write(path, options, rows(1, "a", "b", "cc", "dd"), "insert")
    for step in range(upserts):
        write(path, options, rows(2 + step, "a", "cc"))
    for more in then:
        more(path, options)


def prepare_bootstrapped(
    path: Path,
    *,
    kind: str,
    version: int,
    options: dict[str, str],
    upserts: int = 1,
    then: Sequence[Callable[[Path, dict[str, str]], None]] = (),
) -> None:
    """A table of whole copies of the rows of files that were there before it (``FULL_RECORD``)."""
    source, first = path.with_name(f"{path.name}_source"), rows(1, "a", "b", "cc", "dd")
    for part in ("x", "y"):
        (source / part).mkdir(parents=True)
        chosen = first.filter(pc.equal(first.column("part"), part))
        pq.write_table(chosen.drop_columns(["part"]), source / part / "rows.parquet")
    definition = {
        "hoodie.table.name": "t",
        "hoodie.write.table.version": str(version),
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.bootstrap.mode.selector": f"{_SELECTORS}.FullRecordBootstrapModeSelector",
    }
    bootstrap(source, path, definition)
    for step in range(upserts):
        write(path, options, rows(2 + step, "a", "cc"))
    for more in then:
        more(path, options)


_SELECTORS = "org.apache.hudi.client.bootstrap.selector"


def renew_value(path: Path, options: dict[str, str]) -> None:
    """Columns get ids, and `value` is from now on another column than that of the rows that are there."""
    client = MetaClient.load(path)
    alter_schema(client, lambda update: update.drop("value").add("value", "string", after="ts"), options)


# -- writes ----------------------------------------------------------------------------------------------------------


def upsert(path: Path, options: dict[str, str]) -> None:
    """Two changed rows, one new."""
    write(path, options, rows(5, "a", "dd", "e"))


def delete(path: Path, options: dict[str, str]) -> None:
    write(path, options, rows(5, "a", "dd"), "delete")


def overwrite(path: Path, options: dict[str, str]) -> None:
    write(path, options, rows(5, "n"), "insert_overwrite")


def overwrite_table(path: Path, options: dict[str, str]) -> None:
    write(path, options, rows(5, "n"), "insert_overwrite_table")


def bulk_insert(path: Path, options: dict[str, str]) -> None:
    """One new row for each partition, in file groups of their own."""
    write(path, options, rows(6, "o", "pp"), "bulk_insert")


def delete_partition(path: Path, options: dict[str, str]) -> None:
    LocalWriter(MetaClient.load(path), options, executor=LocalExecutor(1)).delete_partitions(["y"])


def expire_partition(path: Path, options: dict[str, str]) -> None:
    """One of two partitions, whose lifetime is over in some days."""
    lifetime = {
        "hoodie.partition.ttl.strategy.days.retain": "1",
        "hoodie.partition.ttl.strategy.partition.selected": "y",
    }
    expire_partitions(_context(path, {**options, **lifetime}), now_ms=time.time_ns() // 1_000_000 + 10 * _DAY_MS)


_DAY_MS = 86_400_000


# -- services --------------------------------------------------------------------------------------------------------


def compact_slices(path: Path, options: dict[str, str]) -> None:
    """A compaction, planned and carried out, or taken up again."""
    compact(_context(path, {**options, "hoodie.compact.inline.max.delta.commits": "1"}))


def is_compacted(path: Path) -> bool:
    timeline = MetaClient.load(path).timeline
    return any(timeline.commit_metadata(instant).operation == "COMPACT" for instant in timeline.completed({COMMIT}))


def merge_log_blocks(path: Path, options: dict[str, str]) -> None:
    log_compact(_context(path, {**options, "hoodie.log.compaction.blocks.threshold": "2"}))


def has_merged_blocks(path: Path) -> bool:
    timeline = MetaClient.load(path).timeline
    commits = timeline.completed({DELTA_COMMIT})
    return any(timeline.commit_metadata(one).operation == "LOG_COMPACT" for one in commits)


def cluster_groups(path: Path, options: dict[str, str]) -> None:
    cluster(_context(path, options))


def rescale(path: Path, options: dict[str, str]) -> None:
    """Three buckets in place of two in one partition."""
    rescale_partitions(_context(path, options), "x,3", int(options["hoodie.bucket.index.num.buckets"]))


def is_rescaled(path: Path) -> bool:
    return bool(rescaling_rules(MetaClient.load(path)))


def is_clustered(path: Path) -> bool:
    timeline = MetaClient.load(path).timeline
    return any(timeline.commit_metadata(one).operation == "CLUSTER" for one in timeline.completed({REPLACE_COMMIT}))


def clean_slices(path: Path, options: dict[str, str]) -> None:
    clean(_context(path, {**options, "hoodie.cleaner.commits.retained": "1"}))


def is_cleaned_again(path: Path) -> bool:
    return len(MetaClient.load(path).timeline.completed({CLEAN})) > 1


def is_clean(path: Path) -> bool:
    return bool(MetaClient.load(path).timeline.completed({CLEAN}))


SHORT_HISTORY = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}


def archive_history(path: Path, options: dict[str, str]) -> None:
    archive_instants(_context(path, {**options, **SHORT_HISTORY}))


def is_archived(path: Path) -> bool:
    """Whether there is an archive; no write of the table's history is missing."""
    timeline = MetaClient.load(path).timeline
    archived = [i for i in timeline.archived().instants if i.action in COMPLETED_WRITE_ACTIONS]
    both = {i.requested for i in [*archived, *timeline.write_instants()]}
    operations = (path / "writes").read_text().split()
    assert both >= set(operations), "history is lost"
    return bool(archived)


def note_writes(path: Path, options: dict[str, str]) -> None:
    """Keep the times of all writes so far beside the table's folders."""
    (path / "writes").write_text(" ".join(i.requested for i in MetaClient.load(path).timeline.write_instants()))


def make_metadata(path: Path, options: dict[str, str]) -> None:
    """The metadata table of a table that was written without."""
    writer = MetadataWriter.open(MetaClient.load(path))
    assert writer is not None
    writer.initialise(executor=LocalExecutor(1))


def has_metadata(path: Path) -> bool:
    return "files" in MetaClient.load(path).config.metadata_partitions


def index_values(path: Path, options: dict[str, str]) -> None:
    """A secondary index."""
    if not has_index_of_values(path):
        MetadataServices(_context(path, options)).create_index("by_value", "secondary_index", ["value"])


def has_index_of_values(path: Path) -> bool:
    return "secondary_index_by_value" in MetaClient.load(path).config.metadata_partitions


def build_indexes(path: Path, options: dict[str, str]) -> None:
    """A record index, built beside a write that commits in the middle, as the first build that there is."""
    services = MetadataServices(_context(path, {**options, **RECORD_INDEX}))
    with in_the_middle(lambda: write(path, options, rows(5, "a", "dd", "e"))):
        services.build()


def build_index_of_values(path: Path, options: dict[str, str]) -> None:
    """A secondary index, built beside a write; of one that is there already the indexing is completed."""
    services = MetadataServices(_context(path, {**options, "hoodie.metadata.index.async": "true"}))
    if has_index_of_values(path):
        services.build(())
    else:
        with in_the_middle(lambda: write(path, options, rows(5, "a", "dd", "e"))):
            services.create_index("by_value", "secondary_index", ["value"])


def leave_a_build(path: Path, options: dict[str, str]) -> None:
    """What a build leaves that died when it had written its base files."""
    services = MetadataServices(_context(path, {**options, **RECORD_INDEX}))
    with in_the_middle(die, behind=True):
        in_a_process_that_dies(services.build)


def build_after_all(path: Path, options: dict[str, str]) -> None:
    """The build of what a dead one has left."""
    MetadataServices(_context(path, {**options, **RECORD_INDEX})).build()


def has_record_index(path: Path) -> bool:
    config = MetaClient.load(path).config
    listed = config.properties.get("hoodie.table.metadata.partitions.inflight", "")
    if not listed and "record_index" in config.metadata_partitions:
        table = HudiTable.open(path)
        found = table.metadata.reader.record_locations().select(["key", "partition"]).to_pylist()
        keys = table.scan(options={"hoodie.enable.data.skipping": "false"}).to_arrow()
        names = ("_hoodie_record_key", "_hoodie_partition_path")
        there = sorted(zip(*(keys.column(name).to_pylist() for name in names), strict=True))
        assert sorted((row["key"], row["partition"]) for row in found) == there, "the index has other keys than rows"
        return True
    return False


def index_lengths(path: Path, options: dict[str, str]) -> None:
    """Expression indexes of both kinds."""
    services = MetadataServices(_context(path, options))
    services.create_index("by_length", "column_stats", ["value"], {"expr": "length"})
    services.create_index("by_upper", "bloom_filters", ["value"], {"expr": "upper"})


def undo_delete(path: Path, options: dict[str, str]) -> None:
    """Roll back the delete, or go on with that."""
    context = _context(path, options)
    rollback_failed_writes(context)
    timeline = MetaClient.load(path).timeline
    for instant in timeline.write_instants():
        if timeline.commit_metadata(instant).operation == "DELETE":
            rollback(context, instant)


def save(path: Path, options: dict[str, str]) -> None:
    create_savepoint(_context(path, options))


def go_back(path: Path, options: dict[str, str]) -> None:
    """Restore the savepoint."""
    context = _context(path, options)
    (savepoint,) = context.client.timeline.completed({SAVEPOINT})
    restore(context, savepoint.requested)


def is_restored(path: Path) -> bool:
    return bool(MetaClient.load(path).timeline.completed({RESTORE}))


def _context(path: Path, options: dict[str, str]) -> ServiceContext:
    client = MetaClient.load(path)
    return ServiceContext(client, options, LocalExecutor(1), lock=lambda: table_lock(options, client.storage))


def probe(path: Path, options: dict[str, str]) -> None:
    write(path, options, pa.Table.from_pylist([PROBE], schema=_SCHEMA))
