"""Runs the table services of the metadata table: compaction, clean, archival.

They run under the data table's lock, before the next delta commit. Readers cope without any of them.

Source: docs/format.md#metadata-timeline.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.metadata.reader import (
    ALL_PARTITIONS,
    BLOOM_FILTERS,
    COLUMN_STATS,
    EXPRESSION_PREFIX,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_PREFIX,
    FileGroup,
    ValidInstants,
    column_key,
    deletions,
    locations,
    merge_entries,
    merge_stats,
    newest_records,
)
from hudi_hive.metadata.writer import records
from hudi_hive.metadata.writer.blooms import merged_filters
from hudi_hive.metadata.writer.column_indexes import PARTITION_STAT
from hudi_hive.metadata.writer.initialise import write_base
from hudi_hive.metadata.writer.record_schema import record_schema
from hudi_hive.metadata.writer.records import Records
from hudi_hive.metadata.writer.slice_keys import MetadataTaskRunner
from hudi_hive.metadata.writer.store import BaseWriter, MetadataStore, in_threads
from hudi_hive.options import services, write
from hudi_hive.table.view import list_folders
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.archival import MAX_COMMITS, MIN_COMMITS, archive
from hudi_hive.timeline.instants import CLEAN, COMMIT, COMPACTION, DELTA_COMMIT
from hudi_hive.timeline.payloads import (
    OPERATIONS_SCHEMA,
    CleanerPlan,
    CleanMetadata,
    CleanPartition,
    CompactionPlan,
    encode_clean_metadata,
    encode_cleaner_plan,
    encode_compaction_plan,
)

_RETAINED_SLICES: Final = 2
"""Slices that a clean leaves of each file group: the newest, and the one that open readers may be at."""
_SPREAD_BYTES: Final = 64 << 20
"""Bytes of base files from which on their file groups are merged by executors."""
_COMPACTION_SUFFIX: Final = "001"
_CLEAN_SUFFIX: Final = "002"

_log = logging.getLogger(__name__)


def run_services(store: MetadataStore, options: Mapping[str, str], executor: MetadataTaskRunner | None = None) -> None:
    """Complete interrupted compactions, compact after enough delta commits, then clean and archive.

    Args:
        store: the metadata table, without pending delta commits of dead writers. Those of living ones complete behind
            the services, and their log files then belong to the new slices.
        options: Hudi's write options.
        executor: merges large file groups.
    """
    for pending in _pending_compactions(store):
        _log.warning("taking up the compaction %s of %s again", pending.requested, store.storage.uri())
        execute_compaction(store, pending.requested, executor)
    if _due(store, options):
        compact_groups(store, executor)
        clean_old_slices(store)
        archive_old(store, options)


def _pending_compactions(store: MetadataStore) -> list[Instant]:
    return [i for i in store.client.timeline.instants if i.action == COMPACTION and i.state is not State.COMPLETED]


def _due(store: MetadataStore, options: Mapping[str, str]) -> bool:
    """Whether enough delta commits came since the last compaction, and none of them is of a pending data instant.

    A compaction would merge such a one for good, or leave it behind in the slice before.
    """
    instants = store.client.timeline.instants
    last = max((i.requested for i in instants if i.action == COMMIT and i.is_completed), default="")
    done = [i for i in instants if i.action == DELTA_COMMIT and i.is_completed]
    fresh = [i for i in done if (i.completed or i.requested) > last and i.requested > last[:17]]
    pending = {i.requested for i in store.data.timeline.pending()}
    pending -= {i.requested for i in store.data.timeline.completed()}
    if any(i.requested in pending for i in done):
        return False
    return len(fresh) >= write.METADATA_COMPACT_AFTER.of(options)


# -- compaction ----------------------------------------------------------------------------------------------------


def compact_groups(store: MetadataStore, executor: MetadataTaskRunner | None = None) -> str:
    """Compact every file group; returns the instant of the compaction."""
    instant = _service_instant(store, _COMPACTION_SUFFIX)
    rows = [
        {
            "partition": partition,
            "file_id": group.file_id,
            "base_instant": group.base_instant,
            "base_file": group.base_file,
            "log_files": list(group.log_files),
        }
        for partition in store.data.config.metadata_partitions
        for group in store.groups(partition)
    ]
    operations = pa.Table.from_pylist(rows, OPERATIONS_SCHEMA)
    requested = Instant(instant, COMPACTION, State.REQUESTED, None, "", "")
    plan = CompactionPlan(requested, operations, {}, 2)
    store.instants.create_requested(COMPACTION, instant, encode_compaction_plan(plan, store.config.layout))
    store.reload()
    execute_compaction(store, instant, executor)
    return instant


def execute_compaction(store: MetadataStore, instant: str, executor: MetadataTaskRunner | None = None) -> None:
    """Execute a planned compaction; an interrupted one is started again.

    Args:
        store: the metadata table.
        instant: of the compaction.
        executor: merges the file groups where these are large; threads of this process do it without, or else.
    """
    timeline = store.client.timeline
    found = next(i for i in timeline.instants if i.requested == instant and i.action == COMPACTION)
    plan = timeline.compaction_plan(found)
    if found.state is State.REQUESTED:
        store.instants.transition_inflight(COMPACTION, instant)
    operations = plan.operations.to_pylist()
    _delete_outputs(store, instant, {row["partition"] for row in operations})

    def with_size(row: dict[str, Any]) -> dict[str, Any]:
        size = store.storage.size(f"{row['partition']}/{row['base_file']}") if row["base_file"] else 0
        return {**row, "base_size": size}

    operations = in_threads(with_size, operations)
    merge = MergeGroup(store.writer, instant, ValidInstants(store.data.timeline, timeline))
    is_large = sum(row["base_size"] for row in operations) >= _SPREAD_BYTES
    run = executor.map if executor is not None and is_large else in_threads
    stats = run(merge, operations)
    store.complete(COMPACTION, instant, "COMPACT", [stat for stat in stats if stat is not None], compacted=True)
    store.reload()


def _delete_outputs(store: MetadataStore, instant: str, partitions: set[str]) -> None:
    """Delete what an earlier attempt wrote."""
    files = list_folders(store.storage, sorted(partitions))
    for partition, name in zip(files.column("partition").to_pylist(), files.column("name").to_pylist(), strict=True):
        if name.endswith(f"_{instant}.hfile"):
            store.storage.delete(f"{partition}/{name}")


@dataclass(frozen=True, slots=True)
class MergeGroup:
    """Merges the newest slice of a file group to a base file; can be pickled, and may run more than once.

    Attributes:
        writer: of the metadata table.
        instant: of the compaction.
        valid: instants whose log blocks count.
    """

    writer: BaseWriter
    instant: str
    valid: ValidInstants

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """The write stat of an operation's file; None where a slice of no records needs none."""
        partition, file_id = row["partition"], row["file_id"]
        merged = _merged(FileGroup(self.writer.storage, partition, row, self.valid), partition, self.writer.version)
        if not len(merged):
            return None
        before = row["base_instant"]
        stat = write_base(self.writer, partition, file_id, self.instant, merged, before, is_retried=True)
        logs = len(row["log_files"])
        return {**stat, "numInserts": 0, "numUpdateWrites": len(merged), "totalLogFilesCompacted": logs}


def _merged(group: FileGroup, partition: str, version: int) -> Records:
    """All records of a slice, one for each key (docs/format.md#metadata-records)."""
    if partition == FILES:
        return _merged_lists(group, version)
    if partition in (COLUMN_STATS, PARTITION_STATS):
        table = merge_stats([group.scan("ColumnStatsMetadata")])
        table = table.filter(pc.invert(pc.fill_null(table.column("is_deleted"), False)))
        kind = records.COLUMN_STATS_TYPE if partition == COLUMN_STATS else records.PARTITION_STATS_TYPE
        return records.column_stats(table, kind, version)
    if partition == BLOOM_FILTERS:
        return merged_filters(group, version)
    if partition.startswith(SECONDARY_PREFIX):
        table = newest_records([group.scan("SecondaryIndexMetadata")], deletions)
        table = table.filter(pc.invert(pc.fill_null(table.column("is_deleted"), False))).combine_chunks()
        return records.secondary_keys(table.column("key").combine_chunks(), version)
    if partition.startswith(EXPRESSION_PREFIX):
        stats = _merged_by_kind(merge_stats([group.scan("ColumnStatsMetadata")]), version)
        return records.join_records([stats, merged_filters(group, version)])
    assert partition == RECORD_INDEX, partition
    return _newest(group, version)


def _merged_by_kind(stats: pa.Table, version: int) -> Records:
    """Merged statistics of an expression index as records: those of files, and those of partitions."""
    alive = stats.filter(pc.invert(pc.fill_null(stats.column("is_deleted"), False)))
    of_partition = pc.equal(pc.utf8_slice_codeunits(alive.column("key"), 12, 24), column_key(PARTITION_STAT))
    files, partitions = alive.filter(pc.invert(of_partition)), alive.filter(of_partition)
    made = [
        records.column_stats(files, records.COLUMN_STATS_TYPE, version),
        records.column_stats(partitions, records.PARTITION_STATS_TYPE, version),
    ]
    return records.join_records(made)


def _merged_lists(group: FileGroup, version: int) -> Records:
    found = group.scan("filesystemMetadata")
    entries = merge_entries([found])
    nothing_gone = pa.array(np.zeros(entries.num_rows, np.bool_))
    kinds = pc.equal(entries.column("key"), ALL_PARTITIONS)
    parts = []
    for mask, kind in ((kinds, records.ALL_PARTITIONS_TYPE), (pc.invert(kinds), records.FILES_TYPE)):
        chosen = entries.filter(mask).combine_chunks()
        key, name, size = (chosen.column(column).combine_chunks() for column in ("key", "name", "size"))
        parts.append(records.file_lists(key, name, size, nothing_gone.slice(0, chosen.num_rows), kind, version))
    if not pc.any(kinds, min_count=0).as_py():
        parts.append(records.empty_list(ALL_PARTITIONS, records.ALL_PARTITIONS_TYPE, version))
    return records.join_records(parts)


def _newest(group: FileGroup, version: int) -> Records:
    """The newest record of each key, of those not deleted since: as it is, if the schema is the one to write with."""
    records_of_group = group.undecoded()
    blocks, deletes = records_of_group.payloads, records_of_group.deletes
    if not blocks:
        return Records(pa.array([], pa.string()), pa.array([], pa.binary()))
    own = _shape(json.loads(record_schema(version)))
    if any(_shape(block.schema) != own for block in blocks):
        return _rewritten(group, version)  # what an upgrade of the table left
    keys = pa.concat_arrays([block.keys for block in blocks] + [part[1] for part in deletes])
    values = pa.concat_arrays([block.values.cast(pa.binary()) for block in blocks])
    lengths = [len(block.keys) for block in blocks] + [len(part[1]) for part in deletes]
    orders = np.repeat([block.order for block in blocks] + [part[0] for part in deletes], lengths)
    key_indices = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    order = np.lexsort((orders, key_indices))
    last = np.append(key_indices[order][1:] != key_indices[order][:-1], True)
    rows = np.sort(order[last])
    rows = rows[rows < len(values)]  # the others were deleted last
    return Records(keys.take(pa.array(rows)), values.take(pa.array(rows)))


def _shape(schema: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Names of the fields, and of those of the record index."""
    shape = []
    for field in schema["fields"]:
        branches = field["type"] if field["name"] == "recordIndexMetadata" else ()
        inner = [branch for branch in branches if isinstance(branch, Mapping)]
        shape.append((field["name"], [part["name"] for branch in inner for part in branch["fields"]]))
    return shape


def _rewritten(group: FileGroup, version: int) -> Records:
    """Places of records, written by another schema, by the one of a version."""
    table = newest_records([group.scan("recordIndexMetadata")], locations).combine_chunks()
    key, partition, file_id, millis = (
        table.column(name).combine_chunks() for name in ("key", "partition", "file_id", "instant_ms")
    )
    return records.record_locations(key, partition, file_id, millis, version)


# -- cleaning ------------------------------------------------------------------------------------------------------


def clean_old_slices(store: MetadataStore) -> int:
    """Delete the files of all but the newest slices; returns the number of deleted files."""
    doomed: dict[str, list[str]] = {}
    for partition in store.data.config.metadata_partitions:
        old = _old_files(store, partition)
        if old:
            doomed[partition] = old
    if not doomed:
        return 0
    instant = _service_instant(store, _CLEAN_SUFFIX)
    pairs = [(partition, name) for partition, some in doomed.items() for name in some]
    files = pa.table({"partition": [pair[0] for pair in pairs], "name": [pair[1] for pair in pairs]})
    last = max((i.requested for i in store.client.timeline.write_instants()), default=None)
    requested = Instant(instant, CLEAN, State.REQUESTED, None, "", "")
    plan = CleanerPlan(requested, "KEEP_LATEST_FILE_VERSIONS", None, last, files, (), {})
    payload = encode_cleaner_plan(plan, store.storage.uri())
    store.instants.create_requested(CLEAN, instant, payload)
    store.instants.transition_inflight(CLEAN, instant, payload if store.config.layout == 1 else b"")
    for partition, name in pairs:
        store.storage.delete(f"{partition}/{name}")
    done = {
        partition: CleanPartition("KEEP_LATEST_FILE_VERSIONS", tuple(some), tuple(some), (), False)
        for partition, some in doomed.items()
    }
    metadata = CleanMetadata(requested, None, last, len(pairs), 0, done, {})
    layout = store.config.layout
    completion = store.clock.completion_time(store.client.timeline, instant) if layout == 2 else None
    store.instants.complete(CLEAN, instant, encode_clean_metadata(metadata), completion)
    store.reload()
    return len(pairs)


def _old_files(store: MetadataStore, partition: str) -> list[str]:
    files = list_folders(store.storage, [partition])
    slices = store.client.file_system_view(files=files).file_slices()
    by_group: dict[str, list[dict[str, Any]]] = {}
    for row in slices.to_pylist():
        by_group.setdefault(row["file_id"], []).append(row)
    old: list[str] = []
    for rows in by_group.values():
        for row in sorted(rows, key=lambda row: row["base_instant"])[:-_RETAINED_SLICES]:
            old += [row["base_file"]] if row["base_file"] else []
            old += row["log_files"]
    return old


# -- archival ------------------------------------------------------------------------------------------------------


def archive_old(store: MetadataStore, options: Mapping[str, str]) -> None:
    """Archive delta commits of instants that the data table has archived, except the newest of them."""
    least = services.KEEP_MIN_COMMITS.of(options, MIN_COMMITS) + 1
    most = services.KEEP_MAX_COMMITS.of(options, MAX_COMMITS) + 1
    bound = store.data.timeline.first_active()
    reason = "the table's own timeline begins there"
    archive(store.client, min_commits=least, max_commits=most, bound=bound, reason=reason)
    store.reload()


# -- instants ------------------------------------------------------------------------------------------------------


def _service_instant(store: MetadataStore, suffix: str) -> str:
    """A free instant after all others: version 6 appends digits to the last delta commit's."""
    timeline = store.client.timeline
    if store.config.layout == 2:
        return store.clock.new_instant(timeline)
    last = max(i.requested for i in timeline.instants if i.action == DELTA_COMMIT)[:17]
    taken = {i.requested for i in timeline.instants}
    numbered = (f"{last}{number:03d}" for number in range(int(suffix), 1000))
    return next(instant for instant in numbered if instant not in taken)
