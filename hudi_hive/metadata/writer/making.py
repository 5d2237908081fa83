"""``MetadataMaker``: makes the metadata table and its partitions from what the table holds.

Source: docs/format.md#metadata-timeline, RFC-15.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from hudi_hive.errors import MetadataTableError
from hudi_hive.metadata.reader import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    EXPRESSION_PREFIX,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_PREFIX,
    IndexDefinition,
    is_partitioned_index,
    last_write_time,
)
from hudi_hive.metadata.writer import initialise as init
from hudi_hive.metadata.writer.column_indexes import ColumnIndexRecords, RowSource, is_written
from hudi_hive.metadata.writer.initial import (
    index_records_of_partitions,
    index_shares,
    initial_records,
    record_index_groups,
)
from hudi_hive.metadata.writer.records import Records
from hudi_hive.metadata.writer.slice_keys import ExchangingRunner, MetadataTaskRunner
from hudi_hive.metadata.writer.state import listed_partitions, partitions_being_built
from hudi_hive.metadata.writer.stats_columns import IndexedColumn, indexed_columns
from hudi_hive.metadata.writer.store import MetadataStore
from hudi_hive.metrics import METADATA_METRICS
from hudi_hive.options import write
from hudi_hive.schema import InternalSchema, avro_to_arrow, with_meta_fields
from hudi_hive.table import MetaClient

WRITTEN_PARTITIONS: Final = (FILES, COLUMN_STATS, PARTITION_STATS, BLOOM_FILTERS, RECORD_INDEX)
"""Partitions of the metadata table that are made and kept in step, in the order of making."""

STATS: Final = frozenset({COLUMN_STATS, PARTITION_STATS})

_BOUNDS: Final = (0, 1 << 60)
"""Fewer and more records than tables have."""

_log = logging.getLogger(__name__)


class MetadataMaker:
    """Makes the metadata table of a table; the part of ``MetadataWriter`` that begins it."""

    def __init__(
        self,
        client: MetaClient,
        options: Mapping[str, str],
        executor: MetadataTaskRunner | None = None,
        source: RowSource | None = None,
    ) -> None:
        self._client = client
        self.executor = executor
        self.source = source
        self.options = dict(options)
        self._schema: Mapping[str, object] | None = None
        self._versions: Sequence[InternalSchema] = ()
        self.behind: Callable[[MetaClient], MetaClient] | None = None
        self.store: MetadataStore | None = None
        self._partitioned: bool | None = None
        self._indexed: tuple[Mapping[str, object], tuple[IndexedColumn, ...]] | None = None

    @property
    def client(self) -> MetaClient:
        """The table, as of the last change of its properties by this writer."""
        return self._client

    # -- making --------------------------------------------------------------------------------------------------

    @property
    def configured_partitions(self) -> tuple[str, ...]:
        """Partitions that the metadata table has or is to have by the options, in the order of initialisation."""
        chosen = self._chosen()
        return tuple(name for name in WRITTEN_PARTITIONS if name in chosen)

    @property
    def made_by_writes(self) -> tuple[str, ...]:
        """Those of them that writes make: with ``hoodie.metadata.index.async`` the listing alone."""
        return (FILES,) if write.METADATA_INDEX_ASYNC.of(self.options) else self.configured_partitions

    def schema_versions(self) -> tuple[InternalSchema, ...]:
        """Versions of the id-based schema, the newest first; none for a table without ids."""
        if self._versions:
            return tuple(self._versions)
        evolved = self._client.evolved_schema()
        if evolved is None:
            return ()
        versions = {version.version_id: version for version in (*evolved.history, evolved.query)}
        return tuple(versions[version_id] for version_id in sorted(versions, reverse=True))

    def _chosen(self) -> set[str]:
        config, options = self._client.config, self.options
        modern = config.version >= 8
        stats = write.COLUMN_STATS.of(options, modern)
        chosen = {FILES} | listed_partitions(self._client)
        if stats:
            chosen.add(COLUMN_STATS)
        if stats and modern and config.is_partitioned and write.PARTITION_STATS.of(options, True):
            chosen.add(PARTITION_STATS)
        if write.METADATA_BLOOM_FILTERS.of(options):
            chosen.add(BLOOM_FILTERS)
        if write.RECORD_INDEX.of(options) or write.RECORD_LEVEL_INDEX.of(options):
            chosen.add(RECORD_INDEX)
        return chosen

    @property
    def partitions_index(self) -> bool:
        """Whether the record index is, or is to be, one of each partition of the table."""
        if self._partitioned is not None:  # it was, before the metadata table was deleted to be made anew
            return self._partitioned
        if RECORD_INDEX in listed_partitions(self._client):
            return is_partitioned_index(self._client)
        return write.RECORD_LEVEL_INDEX.of(self.options)

    def initialise(
        self,
        partitions: Sequence[str] | None = None,
        executor: MetadataTaskRunner | None = None,
        *,
        current: bool = False,
    ) -> tuple[str, ...]:
        """Initialise the metadata table, or its missing partitions, from all committed files.

        On a local disk one partition after the other: each is there for readers and writers once it is whole. A death
        on the way leaves those that are, and the next call goes on. On a store, where every step is waited for, all of
        them at once.

        Args:
            partitions: the partitions that shall be there; what the options say that writes make without it.
            executor: runs the reading of files' footers and keys.
            current: as of :meth:`apply`.

        Returns:
            The partitions that were made. ``partition_stats`` is left out where a file's ranges are not known.

        Raises:
            MetadataTableError: a partition that is not written.
        """
        selected = self.made_by_writes if partitions is None else tuple(dict.fromkeys((FILES, *partitions)))
        self.refuse_unwritten(selected)
        if not current:
            self._client = self._client.reload()
        missing = [name for name in WRITTEN_PARTITIONS if name in selected and self.lacks(name)]
        if FILES not in missing:
            return self._made(missing, executor)
        with METADATA_METRICS.timed("initialize"):
            return self._made(missing, executor)

    def refuse_unwritten(self, names: Sequence[str]) -> None:
        """Refuse partitions that are not there and that are not made by their name.

        Raises:
            MetadataTableError: one of them is such.
        """
        unknown = sorted(set(names) - set(WRITTEN_PARTITIONS) - set(self._client.config.metadata_partitions))
        if unknown:
            raise MetadataTableError(
                f"the metadata table's partition {unknown[0]!r} is not written",
                path=self._client.base_path,
                remedy=f"one of {', '.join(WRITTEN_PARTITIONS)}",
            )

    def to_build(self, names: Sequence[str] | None = None, without: Collection[str] = ()) -> tuple[str, ...]:
        """Partitions that one build makes next: statistics together, others one at a time, the listing none.

        Args:
            names: the partitions that shall be there; what the options say without it.
            without: partitions to pass over.

        Raises:
            MetadataTableError: a partition that is not written.
        """
        self.refuse_unwritten(names or ())
        wanted = self.configured_partitions if names is None else names
        missing = [name for name in WRITTEN_PARTITIONS[1:] if name in wanted and name not in without]
        missing = [name for name in missing if self.lacks(name) and (name not in STATS or self.statistics_columns())]
        return tuple(name for name in missing if name == missing[0] or STATS.issuperset((name, missing[0])))

    def _made(self, missing: Sequence[str], executor: MetadataTaskRunner | None) -> tuple[str, ...]:
        """Make partitions that are not there; those that were made."""
        one_by_one = self._client.storage.is_local or len(missing) < 2
        made_partitions: list[str] = []
        for names in [[name] for name in missing] if one_by_one else [missing]:
            is_new = FILES in names
            store = init.make_own_table(self._client) if is_new else MetadataStore(self._client)
            columns = self.statistics_columns() if STATS.intersection(names) else ()
            with init.NewPartitions(store, is_new=is_new) as new:
                for name in names:
                    self._add_partition(new, name, columns if name in STATS else (), executor)
            self._client, self.store = new.client, store
            made_partitions += new.names
        return tuple(made_partitions)

    def _add_partition(
        self,
        new: init.NewPartitions,
        name: str,
        columns: Sequence[IndexedColumn],
        executor: MetadataTaskRunner | None,
    ) -> None:
        if name in STATS and not columns:
            return  # a table without schema; made once it has one
        partitioned = name == RECORD_INDEX and self.partitions_index
        if name == RECORD_INDEX and not partitioned and isinstance(executor, ExchangingRunner):
            shares = index_shares(self._client, executor)
            new.define_index(name, ())
            new.add_exchanged(name, self.groups(name, shares.count), shares, executor)
            return
        made = self.records_of(name, columns, executor)
        if made is None:
            return
        if partitioned:
            counts = {path: self.groups_of_partition(len(part)) for path, part in made.items()}
            named = {new.indexed_prefix(at): init.NewGroups(counts[at], made[at]) for at in made}
            new.define_index(name, (), partitioned=True)
            new.add_named(name, named)
        else:
            new.define_index(name, [column.name for column in columns])
            new.add(name, self.groups(name, len(made[""])), made[""])

    def records_of(
        self, name: str, columns: Sequence[IndexedColumn], executor: MetadataTaskRunner | None
    ) -> dict[str, Records] | None:
        """All records of a partition of the metadata table, as of the table that this writer is at.

        Args:
            name: one of :data:`WRITTEN_PARTITIONS`.
            columns: columns that statistics are of.
            executor: runs the reading of files' footers and keys.

        Returns:
            Under ``""``, but under the paths of the table's partitions for a record index of each of them; None for
            partition statistics where a file's ranges are not known.
        """
        if name == RECORD_INDEX and self.partitions_index:
            return index_records_of_partitions(self._client, executor)
        made = initial_records(self._client, name, columns, executor, self.schema_versions())
        if made is None:
            _log.info("partition statistics of %s are left out: not all ranges are known", self._client.base_path)
            return None
        return {"": made}

    def column_indexes(
        self, definitions: tuple[IndexDefinition, ...], client: MetaClient | None = None
    ) -> ColumnIndexRecords:
        """The secondary and expression indexes of some definitions, with the rows that they are made of.

        Args:
            definitions: of the indexes.
            client: the table; the one that this writer is at without it.
        """
        assert self.source is not None  # whoever writes rows can read them
        now = self._client if client is None else client
        return ColumnIndexRecords(now, now if self.behind is None else self.behind(now), self.source, definitions)

    def add_index(self, definition: IndexDefinition) -> bool:
        """Make a secondary or expression index of all rows, under the table's lock; false if it is there.

        A secondary index goes by the record index, which is made where it is missing.

        Raises:
            MetadataTableError: the table has no metadata table, or the index is of a column or function that is not
                understood.
        """
        if self.client_has(definition.name):
            return False
        self.refuse_index(definition)
        needed = (FILES, RECORD_INDEX) if definition.name.startswith(SECONDARY_PREFIX) else (FILES,)
        self.initialise([*self._client.config.metadata_partitions, *needed], self.executor, current=True)
        store = MetadataStore(self._client)
        made = self.column_indexes((definition,)).initial(definition, last_write_time(self._client.timeline))
        with init.NewPartitions(store, is_new=False) as new:
            new.define_column_index(definition)
            new.add(definition.name, self.groups(definition.name, len(made)), made)
        self._client, self.store = new.client, store
        return True

    def refuse_index(self, definition: IndexDefinition) -> None:
        """Refuse a secondary or expression index that is not written.

        Raises:
            MetadataTableError: see :meth:`add_index`.
        """
        if not is_written(self._client, definition) or self.source is None:
            raise MetadataTableError(f"the index {definition.name} is not understood", path=self._client.base_path)
        if definition.name.startswith(SECONDARY_PREFIX) and self.partitions_index:
            raise MetadataTableError(
                f"the index {definition.name} would go by a record index of each partition, in which a key has several "
                "places",
                path=self._client.base_path,
                remedy=f"`hudi-hive metadata delete --partition {RECORD_INDEX}`, and make one of the whole table",
            )

    def groups(self, partition: str, count: int) -> int:
        """File groups of a partition that begins with so many records; their number stays."""
        if partition == RECORD_INDEX or partition.startswith(SECONDARY_PREFIX):
            return record_index_groups(count, self.options)
        if partition == BLOOM_FILTERS:
            return write.METADATA_BLOOM_GROUPS.of(self.options)
        return 2 if partition == COLUMN_STATS or partition.startswith(EXPRESSION_PREFIX) else 1

    def groups_of_partition(self, count: int) -> int:
        """File groups of the record index of one partition of the table that begins with so many records."""
        return record_index_groups(count, self.options, partitioned=True)

    @property
    def sizes_groups(self) -> bool:
        """Whether the options let the number of records say how many file groups a record index has."""
        least, most = (record_index_groups(count, self.options, partitioned=self.partitions_index) for count in _BOUNDS)
        return least != most

    def go_on_from(self, client: MetaClient) -> None:
        """Take over a table whose properties were just changed, under the table's lock."""
        self._client = client

    def client_has(self, partition: str) -> bool:
        """Whether a partition of the metadata table is complete."""
        return partition in self._client.config.metadata_partitions

    def lacks(self, partition: str) -> bool:
        """Whether a partition of the metadata table is to be made: it is neither complete nor being built."""
        return not self.client_has(partition) and partition not in self.being_built

    @property
    def being_built(self) -> frozenset[str]:
        """Partitions of the metadata table that an indexing builds beside this writer."""
        return partitions_being_built(self._client)

    def statistics_columns(self) -> tuple[IndexedColumn, ...]:
        """The columns that have statistics; once for each schema."""
        avro = self._schema if self._schema is not None else self._client.avro_schema()
        if avro is None:
            return ()
        if self._indexed is None or self._indexed[0] != avro:
            schema = with_meta_fields(avro_to_arrow(dict(avro)))
            self._indexed = avro, indexed_columns(self._client, schema, self.options, self.schema_versions())
        return self._indexed[1]
