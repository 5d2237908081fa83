"""``MetadataTable``: look-ups of partitions, files, statistics and indexes of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import HudiHiveError, MetadataTableError
from hudi_hive.metadata.reader import keys as names
from hudi_hive.metadata.reader import records
from hudi_hive.metadata.reader.column_indexes import LOCATION_SCHEMA, ColumnIndexes, understood
from hudi_hive.metadata.reader.definitions import IndexDefinition, index_definitions, is_partitioned_index
from hudi_hive.metadata.reader.file_group import FileGroup, GroupRecords
from hudi_hive.metadata.reader.instants import ValidInstants, holds_last_compaction, missing_write, newest_write_time
from hudi_hive.metadata.reader.merge import merge_entries, newest_records
from hudi_hive.metadata.reader.opening import FILES, SIZES_SCHEMA, inflight_partitions, open_own, slice_sizes
from hudi_hive.metadata.reader.ranges import Columns, column_type, merge_stats, typed_ranges
from hudi_hive.metrics import METADATA_METRICS, MetadataMetrics
from hudi_hive.storage import run_together
from hudi_hive.table import FILES_SCHEMA, MetaClient
from hudi_hive.table.view import list_folders
from hudi_hive.timeline.instants import DELTA_COMMIT, millis_to_instant

COLUMN_STATS: Final = "column_stats"
PARTITION_STATS: Final = "partition_stats"
RECORD_INDEX: Final = "record_index"

_GROUP: Final = re.compile(r"(?P<prefix>.+)-(?P<index>\d{4,})(?:-\d+)?")


@dataclass(frozen=True, slots=True)
class FileLookup:
    """Looks files of partitions up, in a process of its own: can be pickled.

    Attributes:
        group: the file group with the file lists.
    """

    group: FileGroup = field(repr=False)

    def files(self, partitions: Sequence[str]) -> pa.Table:
        """Files of partitions, a table of ``FILES_SCHEMA``."""
        identifiers = [names.partition_identifier(path) for path in partitions]
        return _file_rows(merge_entries([self.group.lookup("filesystemMetadata", identifiers)]))


class MetadataTable(ColumnIndexes):
    """The metadata table of a table at the moment of its client; made by :meth:`open`.

    Its timeline is read once, each of its partitions is listed once, each log file is read once: further look-ups cost
    at most the blocks of base files that hold the sought keys.
    """

    def __init__(
        self, client: MetaClient, own: MetaClient, metrics: MetadataMetrics, files: pa.Table | None = None
    ) -> None:
        self._client = client
        self._own = own
        self._metrics = metrics
        self._valid = ValidInstants(client.timeline, own.timeline)
        self._groups: dict[str, dict[str, tuple[FileGroup, ...]]] = {}
        self._listed_files = files
        self._files: pa.Table | None = None
        self._partitions: list[str] | None = None

    @classmethod
    def open(cls, client: MetaClient, *, metrics: MetadataMetrics = METADATA_METRICS) -> MetadataTable:
        """Open the metadata table of a client's table, once for each client.

        Args:
            client: the table.
            metrics: where look-ups are counted.

        Raises:
            MetadataTableError: it is off, being built, missing, not readable, or lacks a completed commit.
        """

        def make() -> MetadataTable | HudiHiveError:
            try:
                return cls._open(client, metrics)
            except HudiHiveError as error:
                return error

        opened = client.memoize("metadata_table", make)
        if isinstance(opened, MetadataTable):
            return opened
        if isinstance(opened, MetadataTableError):
            raise opened.with_traceback(None)
        raise MetadataTableError(f"the metadata table cannot be read: {opened}", path=client.base_path) from opened

    @classmethod
    def open_outdated(cls, client: MetaClient, *, metrics: MetadataMetrics = METADATA_METRICS) -> MetadataTable:
        """Open a metadata table that lacks completed commits, to look at its own files and timeline alone.

        Raises:
            MetadataTableError: it is off, being built, missing or not readable.
        """
        try:
            return cls._open(client, metrics, outdated=True)
        except MetadataTableError:
            raise
        except HudiHiveError as error:
            raise MetadataTableError(f"the metadata table cannot be read: {error}", path=client.base_path) from error

    @classmethod
    def _open(cls, client: MetaClient, metrics: MetadataMetrics, *, outdated: bool = False) -> MetadataTable:
        config = client.config
        if FILES not in config.metadata_partitions:
            inflight = inflight_partitions(config)
            state = "is being built" if FILES in inflight else "is off"
            raise MetadataTableError(f"the metadata table {state}", path=client.base_path)
        _ = client.timeline  # first: the metadata table must know all that this moment shows
        own, files = open_own(client)
        missing = missing_write(client.timeline, own.timeline)
        if missing is not None and not outdated:
            raise MetadataTableError(
                f"the metadata table lacks the completed {missing.action}",
                path=own.base_path,
                instant=missing.requested,
                remedy="a writer did not keep it up to date; rebuild it",
            )
        return cls(client, own, metrics, files)

    @property
    def index_partitions(self) -> tuple[str, ...]:
        """Partitions of the metadata table that are complete, such as ``files`` and ``column_stats``."""
        return self._client.config.metadata_partitions

    @property
    def index_definitions(self) -> tuple[IndexDefinition, ...]:
        """Definitions of the indexes, secondary and expression indexes included; empty before table version 8.

        Raises:
            CorruptFileError: the definitions cannot be read.
        """
        return index_definitions(self._client)

    def has(self, partition: str) -> bool:
        """Whether a partition of the metadata table is complete and can be read."""
        return partition in self.index_partitions

    @property
    def is_ahead(self) -> bool:
        """Whether it holds a write that began behind all that the table's timeline shows.

        A client that was loaded before such a write sees files whose partition's statistics may tell of them no more.
        """
        last = max((instant.requested for instant in self._client.timeline.instants), default="")
        return any(instant.requested[: len(last)] > last for instant in self._own.timeline.completed({DELTA_COMMIT}))

    # -- partitions and files ------------------------------------------------------------------------------------

    @understood
    def partitions(self, below: Sequence[str] = ()) -> list[str]:
        """Paths of all partitions, sorted; ``[""]`` for a table without partition columns.

        Args:
            below: only partitions at or below one of these paths; all without it.

        Raises:
            MetadataTableError: the record that names them is not there.
        """
        if self._partitions is None:
            with self._metrics.timed("lookup_partitions"):
                groups = self._lookup(FILES, "filesystemMetadata", [names.ALL_PARTITIONS])
                if not any(part.payloads for part in groups):
                    raise MetadataTableError("the metadata table does not name its partitions", path=self._uri)
                identifiers = merge_entries(groups).column("name").to_pylist()
            self._partitions = sorted(names.partition_path(identifier) for identifier in identifiers)
        return names.paths_below(self._partitions, below)

    def files(self, partition: str) -> pa.Table:
        """Files of one partition, a table of ``FILES_SCHEMA``."""
        return self.files_table([partition])

    @understood
    def files_table(self, partitions: Sequence[str] | None = None) -> pa.Table:
        """Files of partitions, a table of ``FILES_SCHEMA``; of all in one scan when not given.

        A partition that the metadata table does not know gives no rows.
        """
        if partitions is None:
            if self._files is None:
                with self._metrics.timed("lookup_files"):
                    self._files = _file_rows(merge_entries(self._scan(FILES, "filesystemMetadata")))
            return self._files
        selected = list(dict.fromkeys(partitions))
        if self._files is not None:
            return self._files.filter(
                pc.is_in(self._files.column("partition"), value_set=pa.array(selected, pa.string()))
            )
        with self._metrics.timed("lookup_files"):
            identifiers = [names.partition_identifier(path) for path in selected]
            return _file_rows(merge_entries(self._lookup(FILES, "filesystemMetadata", identifiers)))

    def file_lookup(self) -> FileLookup | None:
        """What looks files up in other processes; None where the file lists are in several file groups."""
        groups = self._file_groups(FILES)
        return FileLookup(groups[0]) if len(groups) == 1 else None

    # -- statistics ----------------------------------------------------------------------------------------------

    def column_ranges(
        self, columns: Columns, file_names: Sequence[str] | None = None, partitions: Sequence[str] | None = None
    ) -> dict[str, pa.Table]:
        """Column statistics of base and log files, one table for each column.

        Args:
            columns: columns of the table, nested fields by dotted names; or those of files, with types to give them.
            file_names: bare names of the files that are wanted; all without it.
            partitions: partition paths to look into; all without it.

        Returns:
            Per column ``file_name``, ``min``, ``max`` (of the column's type; null where not known for sure),
            ``null_count``, ``value_count`` (rows), ``total_size`` (bytes), ``is_tight``. A file without statistics has
            no row.

        Raises:
            MetadataTableError: there is no complete ``column_stats`` partition.
            UnknownColumnError: the table has no such column.
        """
        with self._metrics.timed("lookup_column_stats"):
            return self._ranges(COLUMN_STATS, columns, file_names, partitions, "file_name")

    def partition_ranges(self, columns: Columns, partitions: Sequence[str] | None = None) -> dict[str, pa.Table]:
        """Partition statistics of columns, one table for each column, with the column ``partition``.

        Raises:
            MetadataTableError: there is no complete ``partition_stats`` partition.
            UnknownColumnError: the table has no such column.
        """
        with self._metrics.timed("lookup_partition_stats"):
            return self._ranges(PARTITION_STATS, columns, None, partitions, "partition")

    @understood
    def _ranges(
        self,
        index: str,
        columns: Columns,
        file_names: Sequence[str] | None,
        partitions: Sequence[str] | None,
        name_column: str,
    ) -> dict[str, pa.Table]:
        schema = self._client.schema()
        kinds = dict(columns) if isinstance(columns, Mapping) else {c: column_type(schema, c) for c in columns}
        if not kinds:
            return {}
        heads = [names.column_key(column) for column in kinds]
        if partitions is not None:
            tails = [names.partition_key(path) for path in dict.fromkeys(partitions)]
            heads = [head + tail for head in heads for tail in tails]
        merged = merge_stats(self._prefixes(index, "ColumnStatsMetadata", heads)) if heads else None
        result: dict[str, pa.Table] = {}
        for column, kind in kinds.items():
            if merged is None:
                result[column] = typed_ranges(records.STATS_SCHEMA.empty_table(), kind, name_column)
                continue
            mask = pc.and_(pc.equal(merged.column("column"), column), pc.invert(merged.column("is_deleted")))
            if file_names is not None:
                selected = pa.array(list(file_names), pa.string())
                mask = pc.and_(mask, pc.is_in(merged.column("file_name"), value_set=selected))
            result[column] = typed_ranges(merged.filter(mask), kind, name_column)
        if name_column == "partition":
            result = {column: _root_as_path(table) for column, table in result.items()}
        return result

    @understood
    def records_of_partitions(self, index: str, columns: Sequence[str], partitions: Sequence[str]) -> pa.Table:
        """Statistics of columns in partitions of the table as they stand in the metadata table, deleted ones left out.

        Args:
            index: ``column_stats`` or ``partition_stats``.
            columns: columns of files, nested fields by dotted names.
            partitions: partition paths to look into.

        Returns:
            ``key`` and the columns of ``STATS_SCHEMA``.

        Raises:
            MetadataTableError: the index is not complete.
        """
        with self._metrics.timed("lookup_column_stats"):
            tails = [names.partition_key(path) for path in dict.fromkeys(partitions)]
            heads = [names.column_key(column) + tail for column in columns for tail in tails]
            merged = merge_stats(self._prefixes(index, "ColumnStatsMetadata", heads) if heads else [])
            return merged.filter(pc.invert(merged.column("is_deleted")))

    @understood
    def raw_stats(self, index: str = COLUMN_STATS) -> pa.Table:
        """All records of ``column_stats`` or ``partition_stats``, merged, deleted ones included (``STATS_SCHEMA``)."""
        return merge_stats(self._scan(index, "ColumnStatsMetadata"))

    # -- indexes -------------------------------------------------------------------------------------------------

    @understood
    def record_locations(self, keys: Sequence[str] | None = None, partitions: Sequence[str] | None = None) -> pa.Table:
        """Look up the locations of record keys in the record index, of the whole table or of each partition.

        Args:
            keys: record keys; all records without it.
            partitions: paths of the partitions whose records are wanted; all without it.

        Returns:
            A table of :data:`LOCATION_SCHEMA`, sorted by key and partition; a key that is in no file has no row. A
            key may have a row in each partition where the index is kept for each partition.

        Raises:
            MetadataTableError: there is no complete ``record_index`` partition, or a partition with files is not in it.
        """
        with self._metrics.timed("lookup_record_index"):
            selected = None if keys is None else list(dict.fromkeys(keys))
            parts = [
                newest_records(self._ask(groups, "recordIndexMetadata", selected), records.locations)
                for groups in self._record_index_groups(partitions)
            ]
            empty = newest_records([], records.locations)
            table = pa.concat_tables([empty, *parts]).sort_by([("key", "ascending"), ("partition", "ascending")])
            table = table.combine_chunks()
            if partitions is not None:
                mask = pc.is_in(table.column("partition"), value_set=pa.array(list(partitions), pa.string()))
                table = table.filter(mask).combine_chunks()
        zone = self._client.config.timezone
        times = table.column("instant_ms").combine_chunks().dictionary_encode()
        texts = [None if value is None else millis_to_instant(value, zone) for value in times.dictionary.to_pylist()]
        instants = pa.array(texts, pa.string()).take(times.indices)
        columns = [table.column("key"), table.column("partition"), table.column("file_id"), instants]
        return pa.table(columns, schema=LOCATION_SCHEMA)

    # -- slices --------------------------------------------------------------------------------------------------

    def stats(self) -> pa.Table:
        """Numbers of files and bytes of each complete partition of the metadata table.

        Returns:
            ``partition``, ``file_groups``, ``base_files``, ``base_bytes``, ``log_files``, ``log_bytes``.
        """
        rows = [{"partition": name, **slice_sizes(self._slices(name))} for name in sorted(self.index_partitions)]
        return pa.Table.from_pylist(rows, SIZES_SCHEMA)

    @property
    def client(self) -> MetaClient:
        """The client of the metadata table itself: its properties and timeline."""
        return self._own

    @property
    def metrics(self) -> MetadataMetrics:
        """The counters of look-ups."""
        return self._metrics

    @property
    def _uri(self) -> str:
        return self._own.base_path

    def _scan(self, partition: str, field: str) -> list[GroupRecords]:
        return self._each(self._file_groups(partition), lambda group: group.scan(field))

    def _prefixes(self, partition: str, field: str, prefixes: Sequence[str]) -> list[GroupRecords]:
        return self._each(self._file_groups(partition), lambda group: group.scan_prefixes(field, prefixes))

    def _lookup(self, partition: str, field: str, keys: Sequence[str]) -> list[GroupRecords]:
        return self._ask(self._file_groups(partition), field, keys)

    def _ask(self, groups: tuple[FileGroup, ...], field: str, keys: Sequence[str] | None) -> list[GroupRecords]:
        """Records of keys, or all, in file groups over which keys are spread by their hash."""
        if keys is None:
            return self._each(groups, lambda group: group.scan(field))
        if len(groups) == 1:
            return self._each(groups, lambda group: group.lookup(field, keys)) if keys else []
        parts = {
            groups[number]: [keys[row] for row in rows.tolist()]
            for number, rows in names.rows_of_groups(keys, len(groups))
        }
        return self._each(tuple(parts), lambda group: group.lookup(field, parts[group]))

    def _each(self, groups: Sequence[FileGroup], read: Callable[[FileGroup], GroupRecords]) -> list[GroupRecords]:
        with self._metrics.timed("scan"):
            storage = self._own.storage
            if not storage.is_local:
                run_together(storage, [fetch for group in groups for fetch in (group.fetch_base, group.fetch_logs)])
            return run_together(storage, [partial(read, group) for group in groups])

    def _file_groups(self, partition: str) -> tuple[FileGroup, ...]:
        """File groups of a partition that is one index, in the order of their numbers."""
        groups = self.prefixed_groups(partition)
        if len(groups) != 1:
            raise MetadataTableError(
                f"the file groups of {partition!r} do not go by one name", path=f"{self._uri}/{partition}"
            )
        return next(iter(groups.values()))

    def prefixed_groups(self, partition: str) -> dict[str, tuple[FileGroup, ...]]:
        """File groups of a partition by the prefix of their ids, in the order of their numbers; listed once."""
        if partition not in self._groups:
            if not self.has(partition):
                raise MetadataTableError(f"the metadata table has no complete partition {partition!r}", path=self._uri)
            numbered: dict[str, dict[int, FileGroup]] = {}
            rows = self._slices(partition).to_pylist()
            for row in rows:
                match = _GROUP.fullmatch(row["file_id"])
                if match is not None:
                    group = FileGroup(self._own.storage, partition, row, self._valid)
                    numbered.setdefault(match["prefix"], {})[int(match["index"])] = group
            whole = all(sorted(groups) == list(range(len(groups))) for groups in numbered.values())
            # A record index of each partition of a table without rows.
            may_be_empty = not rows and partition == RECORD_INDEX and is_partitioned_index(self._client)
            if not (rows or may_be_empty) or not whole or sum(map(len, numbered.values())) != len(rows):
                raise MetadataTableError(
                    f"the file groups of {partition!r} are not numbered from 0 on: one is missing",
                    path=f"{self._uri}/{partition}",
                )
            self._groups[partition] = {
                prefix: tuple(groups[index] for index in sorted(groups)) for prefix, groups in numbered.items()
            }
        return self._groups[partition]

    def record_index_groups(self) -> dict[str, tuple[FileGroup, ...]]:
        """File groups of the record index of each partition of the table, by its path.

        Raises:
            MetadataTableError: there is no complete record index, or it is one for the whole table.
        """
        by_path: dict[str, tuple[FileGroup, ...]] = {}
        for prefix, groups in self.prefixed_groups(RECORD_INDEX).items():
            path = names.indexed_path(prefix)
            if path is None:
                raise MetadataTableError(
                    f"file groups of the record index by the name {prefix!r}", path=f"{self._uri}/{RECORD_INDEX}"
                )
            by_path[names.partition_path(path)] = groups
        return by_path

    def _record_index_groups(self, partitions: Sequence[str] | None) -> list[tuple[FileGroup, ...]]:
        """The file groups of each record index over some partitions, or all (docs/format.md#metadata-file-groups).

        There is one index for the table, or one for each partition, which stands in the names of its file groups.
        """
        prefixed = self.prefixed_groups(RECORD_INDEX)
        if tuple(prefixed) == (names.RECORD_INDEX_PREFIX,):
            return list(prefixed.values())
        by_path = self.record_index_groups()
        selected = list(dict.fromkeys(self.partitions() if partitions is None else partitions))
        unknown = [path for path in selected if path not in by_path]
        if unknown and (files := self.files_table(unknown)).num_rows:
            raise MetadataTableError(
                f"the record index lacks the partition {files.column('partition')[0].as_py()!r}",
                path=f"{self._uri}/{RECORD_INDEX}",
            )
        return [by_path[path] for path in selected if path in by_path]

    def _slices(self, partition: str) -> pa.Table:
        timeline = self._own.timeline
        files = self._listed_files if partition == FILES else None
        if files is None or not holds_last_compaction(files, timeline):
            files = list_folders(self._own.storage, [partition])
        return self._own.file_system_view(files=files).latest_merged_file_slices(newest_write_time(timeline))


def _file_rows(entries: pa.Table) -> pa.Table:
    """Entries of file lists as a table of ``FILES_SCHEMA``."""
    entries = entries.filter(pc.not_equal(entries.column("key"), names.ALL_PARTITIONS))
    key = entries.column("key")
    partition = pc.if_else(pc.equal(key, names.ROOT_PARTITION), "", key)
    return pa.table([partition, entries.column("name"), entries.column("size")], schema=FILES_SCHEMA)


def _root_as_path(table: pa.Table) -> pa.Table:
    column = table.column("partition")
    return table.set_column(0, "partition", pc.if_else(pc.equal(column, names.ROOT_PARTITION), "", column))
