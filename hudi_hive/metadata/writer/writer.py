"""Writes the metadata table: one delta commit for every action of its table.

Source: docs/format.md#metadata-timeline, RFC-15.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import MetadataTableError, TableNotFoundError
from hudi_hive.metadata.reader import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    INDEX_REMOVED_SCHEMA,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_PREFIX,
    MetadataChanges,
    MetadataTable,
    is_partitioned_index,
    missing_write,
    partition_identifier,
)
from hudi_hive.metadata.writer import initialise as init
from hudi_hive.metadata.writer import records
from hudi_hive.metadata.writer.blooms import filter_records
from hudi_hive.metadata.writer.changed_files import (
    as_array,
    changed_partitions,
    exact_partitions,
    file_records,
    key_records,
    key_records_of_partitions,
)
from hudi_hive.metadata.writer.column_indexes import RowSource, written_definitions
from hudi_hive.metadata.writer.column_stats import Statistics, statistics
from hudi_hive.metadata.writer.evolved_stats import EvolvedStatistics
from hudi_hive.metadata.writer.index_definitions import rename_columns
from hudi_hive.metadata.writer.making import STATS, WRITTEN_PARTITIONS, MetadataMaker
from hudi_hive.metadata.writer.records import PartitionedChanges, RecordChanges
from hudi_hive.metadata.writer.services import run_services
from hudi_hive.metadata.writer.slice_keys import MetadataTaskRunner, keys_of_groups
from hudi_hive.metadata.writer.state import free_instant, is_made_behind, is_merged, listed_partitions
from hudi_hive.metadata.writer.stats_columns import current_names
from hudi_hive.metadata.writer.store import MetadataStore, in_threads
from hudi_hive.metrics import METADATA_METRICS
from hudi_hive.options import locks, write
from hudi_hive.schema import InternalSchema
from hudi_hive.table import MetaClient
from hudi_hive.table.merge import CUSTOM
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.instants import COMMIT, DELTA_COMMIT, REPLACE_COMMIT, instant_to_millis

_INSTANT_LENGTH: Final = 17

_WRITES: Final = frozenset({COMMIT, DELTA_COMMIT, REPLACE_COMMIT})
"""Pending actions that bring rows; services have actions of their own until they complete."""

_log = logging.getLogger(__name__)


class MetadataWriter(MetadataMaker):
    """Writes the metadata table of a table; made by :meth:`open`.

    Every change is one delta commit of the metadata table, with the requested time of the data table's instant and
    completed before that is: readers take no notice of it until then. All methods that write are to be called under
    the table's lock, if it has one: pending delta commits that they find are those of dead writers, or of living ones
    that do not have the lock yet (:meth:`MetadataStore.abandoned`).
    """

    @classmethod
    def open(
        cls,
        client: MetaClient,
        options: Mapping[str, str] | None = None,
        executor: MetadataTaskRunner | None = None,
        source: RowSource | None = None,
    ) -> MetadataWriter | None:
        """Open the writer of a table's metadata table; None when ``hoodie.metadata.enable`` is false.

        A metadata table that exists while the option is false is deleted, since it would hide what is written next.
        Otherwise one that does not exist is made by the first :meth:`apply`, or by :meth:`initialise`.

        Args:
            client: the table.
            options: Hudi's write options.
            executor: lists and reads the table's files where the metadata table has to be made.
            source: reads rows, of which secondary and expression indexes are made.

        Raises:
            MetadataTableError: it has partitions that are not kept in step; nothing was written.
        """
        options = dict(options or {})
        if not write.METADATA_ENABLE.of(options):
            if listed_partitions(client):
                init.drop_table(client)
            return None
        writer = cls(client, options, executor, source)
        writer._refuse_unknown()
        return writer

    @classmethod
    def check(cls, client: MetaClient, options: Mapping[str, str]) -> None:
        """Refuse a table whose metadata table :meth:`open` would refuse, without changing anything.

        Raises:
            MetadataTableError: it has partitions that are not kept in step.
        """
        if write.METADATA_ENABLE.of(options):
            cls(client, options)._refuse_unknown()

    def _refuse_unknown(self) -> None:
        have = listed_partitions(self._client)
        indexes = written_definitions(self._client, sorted(have))
        unknown = sorted(have - set(WRITTEN_PARTITIONS) - {one.name for one in indexes})
        what = f"the partition {unknown[0]!r}" if unknown else ""
        secondary = [one.name for one in indexes if one.name.startswith(SECONDARY_PREFIX)]
        if not unknown and secondary and self.partitions_index:
            unknown, what = secondary, f"{secondary[0]!r} beside a record index of each partition"
        if unknown:
            raise MetadataTableError(
                f"the metadata table has {what}, which is not written",
                path=self._client.base_path,
                remedy=f"`hudi-hive metadata delete --partition {unknown[0]}`, or set hoodie.metadata.enable=false",
            )
        self._refuse_other_index(RECORD_INDEX in have)
        if BLOOM_FILTERS in self.configured_partitions and not self._client.config.populate_meta_fields:
            raise MetadataTableError(
                "bloom filters need record keys in the table's files",
                path=self._client.base_path,
                remedy=f"set {write.METADATA_BLOOM_FILTERS}=false: the table has hoodie.populate.meta.fields=false",
            )

    def _refuse_other_index(self, is_there: bool) -> None:
        """Refuse options that ask for another kind of record index than there is, or for both kinds."""
        of_table, of_each = write.RECORD_INDEX, write.RECORD_LEVEL_INDEX
        asks = [option for option in (of_table, of_each) if option.of(self.options)]
        if len(asks) > 1:
            message, remedy = f"{of_table} and {of_each} exclude each other", "set one of them"
        elif is_there and asks and (of_each in asks) is not self.partitions_index:
            there = "each partition" if self.partitions_index else "the whole table"
            message = f"the table has a record index of {there}, where {asks[0]} asks for another"
            remedy = f"leave the option out, or `hudi-hive metadata delete --partition {RECORD_INDEX}` first"
        elif not is_there and of_each in asks and self._client.config.version < of_each.since:
            message = f"{of_each}: tables before version {of_each.since} have a record index of the whole table alone"
            remedy = f"set {of_table}, or upgrade the table"
        else:
            return
        raise MetadataTableError(message, path=self._client.base_path, remedy=remedy)

    # -- keeping in step -----------------------------------------------------------------------------------------

    def apply(
        self,
        instant: str,
        action: str,
        changes: MetadataChanges,
        *,
        schema: Mapping[str, object] | None = None,
        versions: Sequence[InternalSchema] = (),
        current: bool = False,
        behind: Callable[[MetaClient], MetaClient] | None = None,
    ) -> None:
        """Commit the changes of an action, with its requested time, before the action itself is completed.

        What dead writers left here is taken back first; the metadata table is made or made anew where that is needed.
        An error leaves the metadata table without the change.

        Args:
            instant: requested time of the data table's instant.
            action: its action.
            changes: what it changes.
            schema: the table's Avro schema as of the action, for a table that has none yet.
            versions: of the id-based schema, as of the action; those that the table has without it.
            current: the client was read under the table's lock, and nothing was done since.
            behind: gives of the table the one that the action leaves, for one that writes files.
        """
        if not current:
            self._client = self._client.reload()
        self.behind = behind
        self._schema, self._indexed = schema if schema is not None else self._schema, None
        self._versions = versions
        store = self._repaired()
        # Partition statistics were given up, or could not be made: trying again would read all files at each commit.
        before = {name for name in STATS if store is not None and self.client_has(name)}
        if store is None or any(self.lacks(name) for name in self.made_by_writes if name != PARTITION_STATS):
            self.initialise(executor=self.executor, current=True)
            store = self.store if self.store is not None else MetadataStore(self._client)
        with METADATA_METRICS.timed("sync"):
            run_services(store, self.options, self.executor)
            for done in store.client.timeline.instants:
                if done.requested == instant and done.action == DELTA_COMMIT:
                    store.remove(done)  # an earlier attempt of the same instant
            self._give_up_builds_of_statistics(instant)
            self._follow_names()
            self._append(store, instant, changes, before)
        _log.debug("%s %s is in the metadata table", action, instant)

    def _give_up_builds_of_statistics(self, instant: str) -> None:
        """Drop statistics that are being built where an action changes columns: the build would not follow that."""
        if self._changes_columns(instant):
            self._give_up_builds(STATS, f"{instant} changes columns")

    def _give_up_builds(self, names: Collection[str], why: str) -> None:
        """Drop partitions that are being built; whoever builds them begins again."""
        if lost := sorted(self.being_built.intersection(names)):
            _log.warning("%s: the builds of %s are given up", why, ", ".join(lost))
            self._client = init.drop_partitions(self._client, lost)

    def _follow_names(self) -> None:
        """Add the names of now to the definition of the statistics."""
        versions = self.schema_versions() if STATS & listed_partitions(self._client) else ()
        if versions:
            rename_columns(self._client, lambda names: current_names(names, versions))

    def repaired(self) -> MetadataStore | None:
        """Open the metadata table and take back what dead writers left in it, under the table's lock.

        Returns:
            The metadata table; None where it has to be made (anew).

        Raises:
            MetadataTableError: it has partitions that are not kept in step.
        """
        return self._repaired()

    def _repaired(self) -> MetadataStore | None:
        """The metadata table without what dead writers left; None when it has to be made (anew)."""
        self._refuse_unknown()
        if not self.client_has(FILES):
            return None
        try:
            store = MetadataStore(self._client)
        except TableNotFoundError:
            self._client = init.drop_table(self._client)
            return None
        silence_ms = locks.HEARTBEAT_INTERVAL.of(self.options) * locks.HEARTBEAT_MISSES.of(self.options)
        for dead in store.abandoned(silence_ms):
            _log.warning("taking back the dead delta commit %s of %s", dead.requested, store.storage.uri())
            store.remove(dead)
        missing = missing_write(self._client.timeline, store.client.timeline)
        if missing is not None:
            _log.warning("%s lacks the commit %s: it is made anew", store.storage.uri(), missing.requested)
            self._client = init.drop_table(self._client)
            return None
        return store

    def _append(
        self, store: MetadataStore, instant: str, changes: MetadataChanges, before: Collection[str] = ()
    ) -> None:
        store.delta_commit(instant, self._changes(instant[:_INSTANT_LENGTH], changes, before))

    def _statistics(self, instant: str, changes: MetadataChanges, before: Collection[str]) -> Statistics:
        """Statistics of an action; ``before`` names the partitions of statistics that were there before it."""
        versions = self.schema_versions()
        if not versions:
            return statistics(changes, self.statistics_columns())
        evolved = EvolvedStatistics(self._client, self.statistics_columns(), versions)
        made = evolved.of_action(changes, None if self._versions else instant)
        return evolved.with_change(made, changes, before) if self._changes_columns(instant) and before else made

    def _changes_columns(self, instant: str) -> bool:
        """Whether the action that is written makes the newest version of the id-based schema."""
        versions = self._versions
        return len(versions) > 1 and versions[0].version_id == int(instant[:_INSTANT_LENGTH])

    def _partition_statistics(self, instant: str, changes: MetadataChanges, stats: Statistics) -> pa.Table | None:
        """Records of partitions: exact ones where all their files have statistics, else what the action widens.

        Returns:
            ``KEYED_STATS_SCHEMA``; None where files count again of which the statistics there may not tell.
        """
        paths = changed_partitions(changes)
        columns = self.statistics_columns()
        exact = None
        if paths and columns and self._may_replace(instant, changes):
            now = self._client.at(self._client.timeline)  # one that has read nothing of the metadata table yet
            behind = now if self.behind is None else self.behind(now)
            exact = exact_partitions(now if changes.taken_back is None else behind, behind, columns, stats, changes)
        if changes.taken_back is not None and (exact is None or exact[1]):
            return None
        if exact is None:
            return stats.partitions
        rows, wider = exact
        identifiers = pa.array([partition_identifier(path) for path in paths if path not in wider], pa.string())
        others = stats.partitions.filter(pc.invert(pc.is_in(stats.partitions.column("file_name"), identifiers)))
        return pa.concat_tables([others, rows])

    def _may_replace(self, instant: str, changes: MetadataChanges) -> bool:
        """Whether records of an action may take the place of what is there, instead of adding to it.

        Records count in the order of requested times. One of a write that began earlier and is not complete yet would
        be hidden by one that takes the place of all before it; those of services tell nothing that is not there, unless
        a merger makes values of its own.
        """
        if not self.client_has(COLUMN_STATS) or self._changes_columns(instant):
            return False
        if self.behind is None and (changes.files_added.num_rows or changes.groups_replaced.num_rows):
            return False
        config = self._client.config
        makes_values = (config.merge_mode or "").upper() == CUSTOM
        pending = self._client.timeline.pending(None if makes_values else _WRITES)
        return not any(one.requested < instant and one.requested != changes.taken_back for one in pending)

    def _changes(
        self, instant: str, changes: MetadataChanges, before: Collection[str] = ()
    ) -> dict[str, RecordChanges | PartitionedChanges]:
        version, have = self._client.config.version, {*self._client.config.metadata_partitions, *self.being_built}
        result: dict[str, RecordChanges | PartitionedChanges] = {FILES: file_records(changes, version)}
        if have & {COLUMN_STATS, PARTITION_STATS}:
            stats = self._statistics(instant, changes, before)
            if COLUMN_STATS in have:
                result[COLUMN_STATS] = RecordChanges(
                    records.column_stats(stats.files, records.COLUMN_STATS_TYPE, version)
                )
            wide = self._partition_statistics(instant, changes, stats) if PARTITION_STATS in have else None
            if PARTITION_STATS in have and (wide is None or not stats.complete):
                _log.warning("a file of %s has no ranges: partition statistics are given up", instant)
                self._client = init.drop_partitions(self._client, [PARTITION_STATS])
            elif wide is not None:
                result[PARTITION_STATS] = RecordChanges(
                    records.column_stats(wide, records.PARTITION_STATS_TYPE, version)
                )
        if BLOOM_FILTERS in have:
            added, gone = changes.files_added, changes.files_deleted
            storage = self._client.storage
            result[BLOOM_FILTERS] = RecordChanges(filter_records(storage, added, gone, instant, version, in_threads))
        if RECORD_INDEX in have:
            result[RECORD_INDEX] = self._record_index(instant, changes)
        definitions = written_definitions(self._client, sorted(have))
        if definitions:
            result |= self.column_indexes(definitions).changes(instant, changes)
        return {name: change for name, change in result.items() if change.is_some}

    def _record_index(self, instant: str, changes: MetadataChanges) -> RecordChanges | PartitionedChanges:
        replaced = self._keys_in(changes.groups_replaced)
        config = self._client.config
        millis = instant_to_millis(instant, config.timezone)
        if not is_partitioned_index(self._client):
            return key_records(changes, replaced, millis, config.version)
        least = write.RECORD_LEVEL_INDEX_MIN_GROUPS.of(self.options)
        return key_records_of_partitions(changes, replaced, millis, config.version, least)

    def _keys_in(self, groups: pa.Table) -> pa.Table:
        """Records that the index finds in file groups (``INDEX_REMOVED_SCHEMA``)."""
        if not groups.num_rows:
            return INDEX_REMOVED_SCHEMA.empty_table()
        if not self.client_has(RECORD_INDEX):
            return keys_of_groups(self._client, groups, self.executor)
        locations = MetadataTable.open(self._client.reload()).record_locations(
            partitions=as_array(groups.column("partition")).unique().to_pylist()
        )
        pairs = [
            pc.binary_join_element_wise(as_array(table.column("partition")), as_array(table.column("file_id")), "\n")
            for table in (locations, groups)
        ]
        return locations.select(INDEX_REMOVED_SCHEMA.names).filter(pc.is_in(pairs[0], value_set=pairs[1]))

    # -- taking back ---------------------------------------------------------------------------------------------

    def rollback(
        self, instant: str, target: str, changes: MetadataChanges | None = None, *, current: bool = False
    ) -> None:
        """Undo the delta commit of the instant ``target``, for the rollback ``instant`` of the data table.

        To be called before the files of ``target`` leave the data table's timeline. Where the metadata table has
        merged the commit already (Hudi refuses such a rollback) a delta commit says which files are gone. Which records
        the commit put where is not known any more: the record index alone is given up, and the next :meth:`apply` makes
        it anew.

        Args:
            instant: requested time of the rollback (or restore).
            target: requested time of what is rolled back.
            changes: files that the rollback added (version 6: log files with command blocks) and deleted.
            current: as of :meth:`apply`.
        """
        if not current:
            self._client = self._client.reload()
        store = self._repaired()
        if store is not None:
            with METADATA_METRICS.timed("sync"):
                self._take_back(store, instant, target, changes)

    def _take_back(self, store: MetadataStore, instant: str, target: str, changes: MetadataChanges | None) -> None:
        matching = [i for i in store.client.timeline.instants if i.requested == target and i.action == DELTA_COMMIT]
        if matching and matching[0].is_completed:
            # A build reads the table's files as they were, and nothing tells it that some are taken back.
            self._give_up_builds(self.being_built, f"{instant} takes {target} back")
            if self._has_merged(store, matching[0]):
                self._take_out_of_merged(store, instant, target, changes)
                return
        for done in matching:
            store.remove(done, instant)
        if changes is not None and changes.files_added.num_rows:
            self._append(store, free_instant(store, instant), MetadataChanges(files_added=changes.files_added))

    def _has_merged(self, store: MetadataStore, done: Instant) -> bool:
        """Whether more than its own log files may hold a delta commit: a compaction, or an index made behind it.

        That the write never was complete does not show any more.
        """
        if is_merged(store, done.completed or done.requested):
            return True
        return any(is_made_behind(store, name, done) for name in self._record_indexes if self.client_has(name))

    @property
    def _record_indexes(self) -> list[str]:
        """The indexes of records and columns that are there or being built."""
        there = listed_partitions(self._client)
        return [name for name in (RECORD_INDEX,) if name in there] + [
            one.name for one in written_definitions(self._client, sorted(there))
        ]

    def _take_out_of_merged(
        self, store: MetadataStore, instant: str, target: str, changes: MetadataChanges | None
    ) -> None:
        """Take a commit back that a compaction of the metadata table has merged, or the making of an index."""
        if changes is None:
            _log.warning("%s has merged %s already: it is made anew", store.storage.uri(), target)
            self._client = init.drop_table(self._client)
            return
        indexes = self._record_indexes
        if indexes:
            _log.warning("%s has merged %s already: the record index is made anew", store.storage.uri(), target)
            if others := [name for name in indexes if name != RECORD_INDEX]:
                _log.warning("the indexes %s are dropped with it: make them anew", ", ".join(others))
            self._client = init.drop_partitions(self._client, [RECORD_INDEX, *others])
            store = MetadataStore(self._client)
        self.behind = partial(_without, target)
        lost = MetadataChanges(files_added=changes.files_added, files_deleted=changes.files_deleted, taken_back=target)
        self._append(store, free_instant(store, instant), lost)
        self.behind = None

    def restore(self, instant: str) -> None:
        """Initialise the metadata table anew at the end of a restore of the data table, before that is completed.

        What was merged here since the savepoint cannot be taken back by instants; one listing is sure.
        """
        self._client = self._client.reload()
        kept = self._client.config.metadata_partitions
        self._partitioned = self.partitions_index if RECORD_INDEX in kept else None
        definitions = written_definitions(self._client, kept)
        self._client = init.drop_table(self._client)
        self.initialise([name for name in WRITTEN_PARTITIONS if name in kept], current=True)
        for definition in definitions:
            self.add_index(definition)
        _log.info("the metadata table was made anew for the restore %s", instant)

    # -- giving up -----------------------------------------------------------------------------------------------

    @staticmethod
    def drop(client: MetaClient, partitions: Sequence[str] | None = None) -> None:
        """Delete the metadata table or some of its partitions; readers then list folders or prune less."""
        if partitions is None or FILES in partitions:
            init.drop_table(client)
        else:
            init.drop_partitions(client, partitions)


def _without(target: str, client: MetaClient) -> MetaClient:
    """The table as it is once a commit is rolled back."""
    timeline = client.timeline
    for done in timeline.completed():
        if done.requested == target and done.is_write:
            timeline = timeline.with_pending(replace(done, state=State.INFLIGHT, completed=None))
    return client.at(timeline)
