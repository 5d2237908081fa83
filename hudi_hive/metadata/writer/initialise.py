"""Initialises the metadata table and its partitions, and deletes them.

Source: docs/format.md#metadata-table, docs/format.md#metadata-file-groups, docs/format.md#metadata-timeline.
"""

from __future__ import annotations

import logging
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

import pyarrow as pa

from hudi_hive.errors import PathExistsError
from hudi_hive.formats import format_properties
from hudi_hive.formats.log import delete_block
from hudi_hive.metadata.reader import (
    COLUMN_STATS,
    EXPRESSION_PREFIX,
    METADATA_FOLDER,
    RECORD_INDEX,
    SECONDARY_PREFIX,
    IndexDefinition,
    index_definitions,
)
from hudi_hive.metadata.writer.index_definitions import define_column_index, define_index, forget_indexes
from hudi_hive.metadata.writer.initial import IndexShares
from hudi_hive.metadata.writer.records import Records, join_records, split_by_group
from hudi_hive.metadata.writer.slice_keys import ExchangingRunner
from hudi_hive.metadata.writer.store import (
    BaseWriter,
    MetadataStore,
    deleted_keys,
    group_prefix,
    in_threads,
    write_stat,
)
from hudi_hive.names import (
    HOODIE_ARCHIVELOG_FOLDER,
    HOODIE_COMPACTION_PAYLOAD_CLASS,
    HOODIE_COMPACTION_RECORD_MERGER_STRATEGY,
    HOODIE_DATASOURCE_WRITE_DROP_PARTITION_COLUMNS,
    HOODIE_POPULATE_META_FIELDS,
    HOODIE_RECORD_MERGE_MODE,
    HOODIE_RECORD_MERGE_STRATEGY_ID,
    HOODIE_TABLE_BASE_FILE_FORMAT,
    HOODIE_TABLE_INITIAL_VERSION,
    HOODIE_TABLE_KEYGENERATOR_CLASS,
    HOODIE_TABLE_KEYGENERATOR_TYPE,
    HOODIE_TABLE_METADATA_PARTITIONS,
    HOODIE_TABLE_METADATA_PARTITIONS_INFLIGHT,
    HOODIE_TABLE_NAME,
    HOODIE_TABLE_RECORDKEY_FIELDS,
    HOODIE_TABLE_TIMELINE_TIMEZONE,
    HOODIE_TABLE_TYPE,
    HOODIE_TABLE_VERSION,
    HOODIE_TIMELINE_HISTORY_PATH,
    HOODIE_TIMELINE_LAYOUT_VERSION,
    HOODIE_TIMELINE_PATH,
)
from hudi_hive.storage import Storage
from hudi_hive.table import FILES_SCHEMA, MetaClient, TableConfig
from hudi_hive.table.keys import PARTITION_METAFILE
from hudi_hive.table.properties import PROPERTIES_PATH, properties_bytes, update_properties
from hudi_hive.timeline import Instant
from hudi_hive.timeline.instants import DELTA_COMMIT

COMPLETE_PARTITIONS: Final = HOODIE_TABLE_METADATA_PARTITIONS
INFLIGHT_PARTITIONS: Final = HOODIE_TABLE_METADATA_PARTITIONS_INFLIGHT

INITIAL_INSTANTS: Final = "00000000000000"
"""What the instants begin with by which partitions are made, from version 8 on."""

_CLASSES: Final = "org.apache.hudi.metadata"
_FIRST_SUFFIX: Final = 10

_log = logging.getLogger(__name__)


def own_properties(config: TableConfig) -> dict[str, str]:
    """Make the properties of a metadata table, as the release of the table version writes them.

    Args:
        config: the data table's properties.
    """
    properties = {
        HOODIE_TABLE_NAME: f"{config.name}_metadata",
        HOODIE_TABLE_TYPE: "MERGE_ON_READ",
        HOODIE_TABLE_VERSION: str(config.version),
        HOODIE_TIMELINE_LAYOUT_VERSION: str(config.layout),
        HOODIE_TABLE_BASE_FILE_FORMAT: "HFILE",
        HOODIE_TABLE_RECORDKEY_FIELDS: "key",
        HOODIE_POPULATE_META_FIELDS: "false",
        HOODIE_DATASOURCE_WRITE_DROP_PARTITION_COLUMNS: "false",
        HOODIE_COMPACTION_PAYLOAD_CLASS: f"{_CLASSES}.HoodieMetadataPayload",
    }
    if HOODIE_TABLE_TIMELINE_TIMEZONE in config.properties:
        properties[HOODIE_TABLE_TIMELINE_TIMEZONE] = config.properties[HOODIE_TABLE_TIMELINE_TIMEZONE]
    if config.version < 8:
        properties[HOODIE_ARCHIVELOG_FOLDER] = "archived"
        properties[HOODIE_TABLE_KEYGENERATOR_CLASS] = f"{_CLASSES}.HoodieTableMetadataKeyGenerator"
        properties[HOODIE_COMPACTION_RECORD_MERGER_STRATEGY] = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
        return properties
    properties.update(
        {
            HOODIE_ARCHIVELOG_FOLDER: "history",
            HOODIE_TABLE_INITIAL_VERSION: str(config.version),
            HOODIE_TIMELINE_PATH: "timeline",
            HOODIE_TIMELINE_HISTORY_PATH: "history",
            HOODIE_TABLE_KEYGENERATOR_TYPE: "HOODIE_TABLE_METADATA",
            HOODIE_RECORD_MERGE_MODE: "CUSTOM",
            HOODIE_RECORD_MERGE_STRATEGY_ID: "00000000-0000-0000-0000-000000000000",
        }
    )
    return properties


def make_own_table(client: MetaClient) -> MetadataStore:
    """Create an empty metadata table; anything in its folder is deleted. Readers do not use it yet."""
    client.storage.delete_tree(METADATA_FOLDER)
    storage = client.storage.child(METADATA_FOLDER)
    folders = [".hoodie/.aux", ".hoodie/.temp"]
    folders += [".hoodie/archived"] if client.config.layout == 1 else [".hoodie/timeline/history"]
    for folder in folders:
        storage.create_dir(folder)
    data = properties_bytes(own_properties(client.config), "Properties saved on")
    storage.create_if_absent(PROPERTIES_PATH, data)
    return MetadataStore(client, TableConfig.from_bytes(data, storage.uri(PROPERTIES_PATH), metadata_table=True))


@dataclass(frozen=True, slots=True)
class NewGroups:
    """File groups of a new index.

    Attributes:
        count: their number, which stays.
        records: what they hold now.
    """

    count: int
    records: Records


class NewPartitions:
    """Partitions that one delta commit initialises; a context manager that completes it.

    At the end of the block they are added to the properties of the table. An error takes back what was written.

    Args:
        store: the metadata table.
        is_new: it was just made, so that no dead writer has left anything of the partitions.
        being_built: their records come later, and until then they are listed as inflight.

    Attributes:
        names: the partitions that were added.
        client: the data table; behind the block with its new properties.
    """

    def __init__(self, store: MetadataStore, *, is_new: bool, being_built: bool = False) -> None:
        self.names: list[str] = []
        self._store = store
        self._being_built = being_built
        self._is_new = is_new
        self._instant = ""
        self._requested: Instant | None = None
        self._stats: list[Mapping[str, Any]] = []
        self._files: list[dict[str, Any]] = []
        self._properties: dict[str, str] = {}

    @property
    def client(self) -> MetaClient:
        """The data table, as of the last change of its properties."""
        return self._store.data

    def define_index(self, name: str, columns: Sequence[str], *, partitioned: bool = False) -> None:
        """Add a partition to the table's index definitions, if it is an index.

        Args:
            name: of the partition.
            columns: columns that it has statistics of.
            partitioned: it is a record index of each partition of the table.
        """
        self._properties |= define_index(self.client, name, columns, partitioned=partitioned)

    def define_column_index(self, definition: IndexDefinition) -> None:
        """Add a secondary or expression index to the table's index definitions."""
        self._properties |= define_column_index(self.client, definition)

    def add(self, partition: str, groups: int, records: Records) -> None:
        """Write the first records of a partition.

        Args:
            partition: its name.
            groups: number of its file groups, which stays.
            records: what it holds now.
        """
        self.add_named(partition, {group_prefix(partition): NewGroups(groups, records)})

    def indexed_prefix(self, path: str) -> str:
        """As of the metadata table's own."""
        return self._store.indexed_prefix(path)

    def add_named(self, partition: str, named: Mapping[str, NewGroups]) -> None:
        """Write the first records of a partition that may be several indexes.

        Args:
            partition: its name.
            named: file groups and records of each index by what the ids of its file groups begin with.
        """
        if not self._is_new:
            self._store.storage.delete_tree(partition)
        instant = self._begin()
        _write_metafile(self._store.storage, partition, instant)
        for prefix, new in named.items():
            self._write_groups(partition, prefix, new, instant)
        self.names.append(partition)

    def add_exchanged(self, partition: str, groups: int, shares: IndexShares, executor: ExchangingRunner) -> None:
        """Write the first records of a partition by tasks, one for each file group; they do not come here.

        Args:
            partition: its name.
            groups: number of its file groups, which stays.
            shares: what makes its records.
            executor: has the tasks.
        """
        store, prefix = self._store, group_prefix(partition)
        if not self._is_new:
            store.storage.delete_tree(partition)
        instant = self._begin()
        _write_metafile(store.storage, partition, instant)
        gather = GroupFile(store.writer, partition, prefix, instant)
        stats = executor.exchange(partial(shares.keys.spread, groups), gather, shares.shares, groups)
        self._add_files(partition, prefix, instant, groups, stats)
        self.names.append(partition)

    def _write_groups(self, partition: str, prefix: str, new: NewGroups, instant: str) -> None:
        store = self._store
        shares = dict(split_by_group(new.records, new.count, store.hashed(partition)))
        write = GroupFile(store.writer, partition, prefix, instant)
        stats = in_threads(lambda item: write(item[0], [item[1]]), list(shares.items()))
        self._add_files(partition, prefix, instant, new.count, stats)

    def _add_files(
        self, partition: str, prefix: str, instant: str, groups: int, stats: Sequence[Mapping[str, Any]]
    ) -> None:
        """Take base files that were written into the commit, and begin the other file groups."""
        storage = self._store.storage
        begun = {stat["fileId"] for stat in stats}
        first = delete_block(instant, deleted_keys(partition, pa.array([], pa.string())))
        for number in range(groups):
            file_id = f"{prefix}{number:04d}-0"
            # On a store each file is a request: a group that has a base file does without.
            if storage.is_local or file_id not in begun:
                name = f".{file_id}_{instant}.log.1_0-0-0"
                storage.create_if_absent(f"{partition}/{name}", first)
                self._files.append({"partition": partition, "name": name, "size": len(first)})
        self._stats += stats
        for stat in stats:
            name, size = posixpath.basename(stat["path"]), stat["fileSizeInBytes"]
            self._files.append({"partition": partition, "name": name, "size": size})

    def _begin(self) -> str:
        if self._requested is None:
            instants, self._instant = self._store.instants, initial_instant(self._store)
            self._requested = instants.create_requested(DELTA_COMMIT, self._instant)
            instants.transition_inflight(DELTA_COMMIT, self._instant, just_seen=True)
        return self._instant

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._requested is None:
            return
        if error is not None:
            self._take_back(self._requested)
            return
        try:
            behind = self._store.complete(DELTA_COMMIT, self._instant, "BULK_INSERT", self._stats)
        except BaseException:
            self._take_back(self._requested)
            raise
        if self._is_new and behind is not None:
            self._store.move_to_now(behind, pa.Table.from_pylist(self._files, FILES_SCHEMA))
        else:
            self._store.move_to_now()
        change = list_inflight if self._being_built else list_complete
        self._store.data = change(self.client, self.names, self._properties)

    def _take_back(self, requested: Instant) -> None:
        self._store.reload()
        self._store.remove(requested)


@dataclass(frozen=True, slots=True)
class GroupFile:
    """Writes the base file of a new file group by its number; a task that can be pickled and may run more than once.

    The same records give the same file: what another attempt has written is as good.

    Attributes:
        writer: of the metadata table.
        partition: of the metadata table.
        prefix: what the ids of file groups begin with before their number.
        instant: of the write.
    """

    writer: BaseWriter
    partition: str
    prefix: str
    instant: str

    def __call__(self, number: int, parts: list[Records]) -> dict[str, Any]:
        """Write records of which the parts are any order; the write stat."""
        file_id = f"{self.prefix}{number:04d}-0"
        return write_base(self.writer, self.partition, file_id, self.instant, join_records(parts), is_retried=True)


def write_base(
    store: BaseWriter,
    partition: str,
    file_id: str,
    instant: str,
    records: Records,
    previous: str = "null",
    *,
    is_retried: bool = False,
) -> dict[str, Any]:
    """Write a base file of a file group; returns its write stat.

    Args:
        store: writes it.
        partition: of the metadata table.
        file_id: the file group.
        instant: of the write.
        records: what it holds.
        previous: instant of the base file before.
        is_retried: a file that is there is another attempt's.
    """
    keys = records.keys.cast(pa.binary())
    extra = {}
    if len(keys):
        bounds = pa.compute.min_max(keys).as_py()
        extra = {"minRecordKey": bounds["min"], "maxRecordKey": bounds["max"]}
    data = store.hfile(records, extra)
    name = f"{file_id}_0-0-1_{instant}.hfile"
    size = len(data)
    try:
        store.storage.create_if_absent(f"{partition}/{name}", data)
    except PathExistsError:
        if not is_retried:
            raise
        size = store.storage.size(f"{partition}/{name}")
    stat = write_stat(partition, file_id, name, previous, size)
    return {**stat, "numWrites": len(records), "numInserts": len(records)}


def initial_instant(store: MetadataStore) -> str:
    """Find an unused instant for the initialisation of a partition, earlier than all later ones.

    Once the first initial instants are archived, it is one after all others: as first active instant an earlier one
    would have all archived ones count as not committed, and the files that they wrote with them.
    """
    taken = {instant.requested for instant in store.client.timeline.instants}
    if store.config.layout == 2:
        first = store.client.timeline.first_active()
        if first is not None and first > f"{0:017d}":
            return store.clock.new_instant(store.client.timeline)
        candidates = (f"{number:017d}" for number in range(len(taken) + 1))
    else:
        last = max((i.requested for i in store.data.timeline.completed()), default=INITIAL_INSTANTS)
        candidates = (f"{last}{number:03d}" for number in range(_FIRST_SUFFIX, _FIRST_SUFFIX + len(taken) + 1))
    return next(instant for instant in candidates if instant not in taken)


def list_complete(client: MetaClient, names: Sequence[str], properties: Mapping[str, str] | None = None) -> MetaClient:
    """List partitions as complete in the table's properties, which makes readers use them; gives the table behind.

    Args:
        client: the table.
        names: of the partitions.
        properties: others to set with them.
    """
    complete = sorted({*_listed(client, COMPLETE_PARTITIONS), *names})
    inflight = [name for name in _listed(client, INFLIGHT_PARTITIONS) if name not in names]
    lists = {COMPLETE_PARTITIONS: ",".join(complete), INFLIGHT_PARTITIONS: ",".join(inflight)}
    return client.with_config(update_properties(client.storage, {**(properties or {}), **lists}))


def list_inflight(client: MetaClient, names: Sequence[str], properties: Mapping[str, str] | None = None) -> MetaClient:
    """List partitions as being built in the table's properties; as :func:`list_complete`."""
    inflight = sorted({*_listed(client, INFLIGHT_PARTITIONS), *names})
    lists = {INFLIGHT_PARTITIONS: ",".join(inflight)}
    return client.with_config(update_properties(client.storage, {**(properties or {}), **lists}))


def drop_partitions(client: MetaClient, partitions: Sequence[str]) -> MetaClient:
    """Delete partitions: first from the properties of the table, then their folders; gives the table behind that."""
    gone = set(partitions)
    changes = {
        key: ",".join(name for name in _listed(client, key) if name not in gone)
        for key in (COMPLETE_PARTITIONS, INFLIGHT_PARTITIONS)
    }
    config = update_properties(client.storage, changes)
    for name in sorted(gone):
        client.storage.delete_tree(f"{METADATA_FOLDER}/{name}")
    forget_indexes(client, gone)
    return client.with_config(config)


def drop_table(client: MetaClient) -> MetaClient:
    """Delete the metadata table: first from the properties of the table, then its folder; gives the table behind."""
    config = client.config
    if any(_listed(client, key) for key in (COMPLETE_PARTITIONS, INFLIGHT_PARTITIONS)):
        config = update_properties(client.storage, {COMPLETE_PARTITIONS: "", INFLIGHT_PARTITIONS: ""})
    client.storage.delete_tree(METADATA_FOLDER)
    lost = [one.name for one in index_definitions(client) if one.name.startswith((SECONDARY_PREFIX, EXPRESSION_PREFIX))]
    forget_indexes(client, (COLUMN_STATS, RECORD_INDEX, *lost))
    return client.with_config(config)


def _write_metafile(storage: Storage, partition: str, instant: str) -> None:
    remarks = ("partition metadata", datetime.now(UTC).strftime("%a %b %d %H:%M:%S UTC %Y"))
    data = format_properties({"commitTime": instant, "partitionDepth": "1"}, remarks)
    storage.create_if_absent(f"{partition}/{PARTITION_METAFILE}", data)


def _listed(client: MetaClient, key: str) -> list[str]:
    return [name.strip() for name in client.config.properties.get(key, "").split(",") if name.strip()]
