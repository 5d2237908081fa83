"""``IndexBuild``: builds partitions of the metadata table while writers add to them what their commits change.

Under the table's lock they get empty file groups and are listed as inflight, from which moment on every commit writes
its records to them as to complete ones. Their first records, of the files as of that moment, become the base files of
the same slices without the lock: what the commits logged since comes behind them.

Source: RFC-45, docs/format.md#metadata-timeline.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.metadata.reader import (
    COLUMN_STATS,
    EXPRESSION_PREFIX,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_PREFIX,
    IndexDefinition,
    MetadataChanges,
    MetadataTable,
    last_write_time,
)
from hudi_hive.metadata.writer import initialise as init
from hudi_hive.metadata.writer.changed_files import as_array, exact_statistics, files_behind
from hudi_hive.metadata.writer.making import STATS, MetadataMaker
from hudi_hive.metadata.writer.records import (
    PARTITION_STATS_TYPE,
    RecordChanges,
    Records,
    column_stats,
    split_by_group,
)
from hudi_hive.metadata.writer.slice_keys import row_counts
from hudi_hive.metadata.writer.state import listed_partitions
from hudi_hive.metadata.writer.store import FILE_COLUMNS, MetadataFileGroup, MetadataStore, group_prefix, in_threads
from hudi_hive.metadata.writer.writer import MetadataWriter
from hudi_hive.table import MetaClient

_log = logging.getLogger(__name__)

_SIZED_BY_RECORDS: Final = (RECORD_INDEX, SECONDARY_PREFIX)


class BuildOvertakenError(Exception):
    """What was built is of no use: others have dropped the partitions, or rewritten their file groups."""


class _Base(NamedTuple):
    """A file group of a partition that is being built, and its base file, of one with records."""

    base_instant: str
    base_file: str | None


@dataclass
class IndexBuild:
    """One build, of partitions that are asked for by name or of one secondary or expression index.

    Attributes:
        names: the partitions.
        definition: of the index.
        counts: about how many records each partition of the table has, by which file groups are numbered.
    """

    names: tuple[str, ...]
    definition: IndexDefinition | None
    counts: Mapping[str, int]

    def __post_init__(self) -> None:
        self._writer: MetadataWriter | None = None
        self._bases: dict[str, dict[str, _Base]] = {}
        self._files: pa.Table | None = None
        self._left_out: set[str] = set()

    @staticmethod
    def counts_for(names: Sequence[str], maker: MetadataMaker) -> dict[str, int]:
        """Count the records of a table as far as the file groups of partitions go by their number; needs no lock.

        Args:
            names: the partitions.
            maker: of the metadata table.
        """
        if not any(name.startswith(_SIZED_BY_RECORDS) for name in names) or not maker.sizes_groups:
            return {}
        return row_counts(maker.client, maker.executor)

    @property
    def built(self) -> tuple[str, ...]:
        """The partitions that :meth:`finish` completes."""
        return tuple(name for name in self.names if name not in self._left_out)

    # -- under the lock ------------------------------------------------------------------------------------------

    def begin(self, writer: MetadataWriter) -> None:
        """Give the partitions empty file groups, list them as inflight, and take the table as it is for the base.

        Called under the table's lock, for a build that begins or that begins anew.

        Args:
            writer: of the metadata table, which was repaired.
        """
        with init.NewPartitions(MetadataStore(writer.client), is_new=False, being_built=True) as new:
            for name in self.names:
                self._add(new, writer, name)
        writer.go_on_from(new.client)
        self._left_out = set()
        self._take(writer)

    def renew(self, writer: MetadataWriter) -> None:
        """Take the table as it is for the base; called as :meth:`begin`, which it is where no writer is in the middle.

        A writer that has begun its delta commit already has log files in the file groups: these stay then. Records that
        it logs count ahead of the base, which so may hold them too; sums of partition statistics may not.

        Raises:
            BuildOvertakenError: a partition is no longer listed as inflight, or the metadata table is to be made anew.
        """
        store = writer.repaired()
        self._refuse_dropped(writer.client)
        if store is None:
            raise BuildOvertakenError("the metadata table has to be made anew")
        if not store.pending_commits():
            self.begin(writer)
            return
        self._left_out.add(PARTITION_STATS)
        for partition, bases in self._bases.items():
            for base in bases.values():
                if base.base_file is not None:
                    store.storage.delete(f"{partition}/{base.base_file}")
        self._take(writer)

    def finish(self, writer: MetadataWriter) -> MetaClient:
        """List the partitions as complete, under the table's lock; gives the table behind it.

        Raises:
            BuildOvertakenError: others have dropped a partition, or rewritten file groups without their base.
        """
        store = writer.repaired()
        self._refuse_dropped(writer.client)
        if store is None:
            raise BuildOvertakenError("the metadata table has to be made anew")
        for partition in self.built:
            groups = {group.file_id: group for group in store.groups(partition)}
            for file_id, base in self._bases[partition].items():
                group = groups.get(file_id)
                if group is None or base != (group.base_instant, group.base_file):
                    raise BuildOvertakenError(f"the file group {file_id} was rewritten")
        self._add_partition_rows(writer, store)
        self._tighten_statistics(writer, store)
        if lost := sorted(self._left_out.intersection(self.names)):
            writer.go_on_from(init.drop_partitions(writer.client, lost))
        return init.list_complete(writer.client, self.built)

    def _add(self, new: init.NewPartitions, writer: MetadataWriter, name: str) -> None:
        nothing = Records.none()
        if self.definition is not None:
            new.define_column_index(self.definition)
            new.add(name, writer.groups(name, sum(self.counts.values())), nothing)
        elif name == RECORD_INDEX and writer.partitions_index:
            paths = MetadataTable.open(writer.client).partitions() if writer.client.timeline.write_instants() else []
            groups = {path: writer.groups_of_partition(self.counts.get(path, 0)) for path in paths}
            named = {new.indexed_prefix(at): init.NewGroups(count, nothing) for at, count in groups.items()}
            new.define_index(name, (), partitioned=True)
            new.add_named(name, named)
        else:
            columns = writer.statistics_columns() if name in STATS else ()
            new.define_index(name, [column.name for column in columns])
            new.add(name, writer.groups(name, sum(self.counts.values())), nothing)

    def _take(self, writer: MetadataWriter) -> None:
        """Keep the table of now, with its files as the metadata table lists them: folders would show later ones."""
        client = writer.client
        table = MetadataTable.open(client)
        is_written = bool(client.timeline.write_instants())
        listed = (table.partitions() if is_written else []), table.files_table()
        client.memoize("committed_files", lambda: listed)
        self._writer, self._bases, self._files = writer, {}, listed[1]

    def _refuse_dropped(self, client: MetaClient) -> None:
        lost = set(self.built) - listed_partitions(client)
        if lost or any(name in client.config.metadata_partitions for name in self.names):
            raise BuildOvertakenError(f"others have dropped or made {', '.join(sorted(lost) or self.names)}")

    def _add_partition_rows(self, writer: MetadataWriter, store: MetadataStore) -> None:
        """Add what an expression index has of whole partitions: commits could not tell it without the other files."""
        definition, now = self.definition, writer.client
        if definition is None or definition.kind != COLUMN_STATS or not definition.name.startswith(EXPRESSION_PREFIX):
            return
        partitions = (*now.config.metadata_partitions, definition.name)
        readable = now.with_config(replace(now.config, metadata_partitions=partitions))
        files = MetadataTable.open(readable).files_table()
        rows = writer.column_indexes((definition,), readable).of_partitions(definition, files)
        if len(rows):
            self._commit(writer, store, self.names[0], rows)

    def _tighten_statistics(self, writer: MetadataWriter, store: MetadataStore) -> None:
        """Make the statistics of partitions exact that commits have changed meanwhile: those could only widen them.

        Not while a write is pending, whose record would be hidden by one that takes the place of all before it.
        """
        now = writer.client
        partitions = tuple(dict.fromkeys([*now.config.metadata_partitions, *self.built]))
        pending = any(one.is_write for one in now.timeline.pending())
        if PARTITION_STATS not in self.built or COLUMN_STATS not in partitions or pending or self._files is None:
            return
        readable = now.with_config(replace(now.config, metadata_partitions=partitions))
        files = MetadataTable.open(readable).files_table()
        before, after = (pc.binary_join_element_wise(*_places(table), "/") for table in (self._files, files))
        others = [
            table.filter(pc.invert(pc.is_in(own, value_set=of_others)))
            for table, own, of_others in ((files, after, before), (self._files, before, after))
        ]
        changed = pa.concat_tables(others).column("partition").unique().to_pylist()
        if not changed:
            return
        listed = files.filter(pc.is_in(files.column("partition"), value_set=pa.array(changed, pa.string())))
        newest = files_behind(readable, listed, MetadataChanges())
        rows, _ = exact_statistics(readable, changed, newest, writer.statistics_columns())
        if rows.num_rows:
            stats = column_stats(rows, PARTITION_STATS_TYPE, now.config.version)
            self._commit(writer, store, PARTITION_STATS, stats)

    @staticmethod
    def _commit(writer: MetadataWriter, store: MetadataStore, partition: str, rows: Records) -> None:
        """Add records under an instant of their own."""
        now = writer.client
        instant = store.clock.new_instant(now.timeline, now.config.timezone)
        store.delta_commit(instant, {partition: RecordChanges(rows)})

    # -- without the lock ----------------------------------------------------------------------------------------

    def make(self) -> None:
        """Read the files that the table had, and write the base files.

        Raises:
            PathNotFoundError, FileVanishedError, InstantNotFoundError: files of the table were cleaned meanwhile:
                :meth:`renew` the build.
        """
        writer = self._writer
        assert writer is not None  # it has begun
        store = MetadataStore(writer.client)
        for name in self.built:
            made = self._records(writer, name)
            if made is None:
                self._left_out.add(name)
                continue
            self._bases[name] = {}
            named = store.named_groups(name)
            of_partitions = name == RECORD_INDEX and writer.partitions_index
            for path, records in made.items():
                prefix = store.indexed_prefix(path) if of_partitions else group_prefix(name)
                self._write_bases(store, name, named[prefix], records)

    def _write_bases(
        self, store: MetadataStore, name: str, groups: Sequence[MetadataFileGroup], records: Records
    ) -> None:
        def write(job: tuple[int, Records]) -> dict[str, Any]:
            group = groups[job[0]]
            return init.write_base(store.writer, name, group.file_id, group.base_instant, job[1])

        self._bases[name] |= {group.file_id: _Base(group.base_instant, None) for group in groups}
        jobs = split_by_group(records, len(groups), store.hashed(name))
        for stat in in_threads(write, list(jobs)):
            base = self._bases[name][stat["fileId"]]
            self._bases[name][stat["fileId"]] = base._replace(base_file=str(stat["path"]).rpartition("/")[2])

    def _records(self, writer: MetadataWriter, name: str) -> dict[str, Records] | None:
        if self.definition is None:
            columns = writer.statistics_columns() if name in STATS else ()
            return writer.records_of(name, columns, writer.executor)
        last = last_write_time(writer.client.timeline)
        return {"": writer.column_indexes((self.definition,)).initial(self.definition, last, self._files)}


def _places(files: pa.Table) -> list[pa.Array]:
    """Partitions and names of files."""
    return [as_array(files.column(name)) for name in FILE_COLUMNS]
