"""The planner: makes a :class:`ScanPlan` of a table, a query and a row filter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError, UnsupportedTableError
from hudi_hive.metadata.reader import METADATA_SOURCE
from hudi_hive.plan.core.cdc import CDC_SCHEMA, changes_of_range, partitions_of, refuse_without_changes
from hudi_hive.plan.core.incremental import (
    CommitRange,
    cleaned_error,
    files_of_range,
    matching_glob,
    missing_files,
    select_commits,
    slices_of_range,
)
from hudi_hive.plan.core.listing import partitions_matching, with_configured_listing
from hudi_hive.plan.core.snapshot import check_time_travel, partitions_cleaned, snapshot_slices
from hudi_hive.plan.model import (
    PLAN_SCHEMA,
    LogMerge,
    MergeMemory,
    MergeType,
    PlanStep,
    Query,
    QueryType,
    ScanPlan,
    base_files_as_slices,
    has_logs,
    prune_partitions,
    with_commit_versions,
)
from hudi_hive.plan.pruning import (
    SkipContext,
    list_statistics,
    prune,
    prune_changes,
    required_record_keys,
    stays,
)
from hudi_hive.predicate import Dnf, RowFilter, parse_filter
from hudi_hive.schema import EvolvedSchema
from hudi_hive.storage import run_together
from hudi_hive.table import MetaClient
from hudi_hive.table.core import refuse_unlisted_files
from hudi_hive.table.logs import with_recorded_sizes
from hudi_hive.table.merge import MergeSpec
from hudi_hive.table.view import FilteredPartitions
from hudi_hive.timeline.instants import REPLACE_COMMIT

Filter: TypeAlias = str | Dnf | pc.Expression | RowFilter | None
"""A row filter in any form that :func:`~hudi_hive.predicate.parse_filter` takes."""


def plan_scan(
    client: MetaClient, query: Query, row_filter: Filter = None, *, partitions: Sequence[str] | None = None
) -> ScanPlan:
    """Plan a query: choose the slices to read, and which of their rows are shown.

    An incremental query is planned from commit metadata alone, without listing a folder.

    Args:
        client: the table, as of the moment its timeline was read.
        query: the question.
        row_filter: SQL text, DNF tuples, an Arrow expression or a filter bound to the query's schema. Planning leaves
            partitions out by it, reading applies it to rows.
        partitions: look into these partitions only (paths relative to the base path), for a snapshot or read-optimised
            query; what names no partition of the table gives no slices.

    Raises:
        InvalidOptionError: ``partitions`` for a query of a range.
        UnsupportedTableError: incremental queries of tables without meta fields; log files of a
            table whose way to merge records is not known; change data of a table that keeps none.
        TimeTravelError: the as-of time cannot be shown in full.
        IncrementalRangeError: files of the range were cleaned and no full scan is allowed.
        HollowCommitError: version 6: a pending commit is older than a completed one.
        PredicateError, UnknownColumnError: the filter cannot be read or does not fit the schema.
    """
    with client.counters.measure() as cost:
        if partitions is not None and query.query_type.has_range:
            raise InvalidOptionError(f"partitions do not go with a {query.query_type} query")
        builder = PlanBuilder(client, query, row_filter, partitions)
        {QueryType.INCREMENTAL: builder.incremental, QueryType.CDC: builder.change_data}.get(
            query.query_type, builder.snapshot
        )()
    return builder.finish(cost)


def plan_of_files(
    client: MetaClient,
    query: Query,
    files: pa.Table,
    *,
    commit_times: pa.Array | None = None,
    checkpoint: str | None = None,
    schema_time: str | None = None,
) -> ScanPlan:
    """Plan given base files: add the schema and how their columns are read.

    Args:
        client: the table.
        query: the question that the files answer.
        files: columns partition, file_id, instant, name, size.
        commit_times, checkpoint: as in :class:`ScanPlan`.
        schema_time: requested time whose schema is shown, in place of the query's.
    """
    slices = base_files_as_slices(files)
    return plan_of_slices(
        client, query, slices, commit_times=commit_times, checkpoint=checkpoint, schema_time=schema_time
    )


def plan_of_slices(
    client: MetaClient,
    query: Query,
    slices: pa.Table,
    *,
    commit_times: pa.Array | None = None,
    checkpoint: str | None = None,
    max_instant: str | None = None,
    range_first: bool = False,
    schema_time: str | None = None,
) -> ScanPlan:
    """Plan given slices: add the schema and how their rows are read.

    Args:
        client: the table.
        query: the question that the slices answer.
        slices: a table of :data:`PLAN_SCHEMA`.
        commit_times, checkpoint: as in :class:`ScanPlan`.
        max_instant, range_first: as in :class:`~hudi_hive.plan.model.scan_plan.LogMerge`.
        schema_time: requested time whose schema is shown, in place of the query's.

    Raises:
        UnsupportedTableError: log files of a table whose way to merge records is not known.
    """
    with client.counters.measure() as cost:
        builder = PlanBuilder(client, query, None)
        builder.max_instant, builder.range_first = max_instant, range_first
        builder.chosen(slices, commit_times, checkpoint, schema_time)
    return builder.finish(cost)


def narrowed_plan(client: MetaClient, plan: ScanPlan, row_filter: RowFilter) -> ScanPlan:
    """Narrow a plan of all rows to slices that may hold rows passing a filter, which reading applies.

    Args:
        client: the table as it was planned with.
        plan: a plan without a filter; one of change data stays as it is.
        row_filter: bound to the plan's schema.
    """
    if plan.changes is not None:
        return plan
    assert plan.row_filter is None
    builder = PlanBuilder(client, plan.query, None)
    builder.schema, builder.row_filter, builder.evolved_schema = plan.schema, row_filter, plan.evolved_schema
    slices = builder.skip_files(plan.slices, in_part=plan.query.query_type is QueryType.INCREMENTAL)
    merge = None if plan.merge is None else replace(plan.merge, keys=builder.required_keys())
    return replace(plan, slices=slices, row_filter=row_filter, merge=merge, steps=(*plan.steps, *builder.steps))


class PlanBuilder:
    """Collects the parts of a plan while it is made; for this package only."""

    def __init__(
        self, client: MetaClient, query: Query, row_filter: Filter, partitions: Sequence[str] | None = None
    ) -> None:
        self.client = with_configured_listing(client, query.options)
        self.query = query
        self.requested_partitions = partitions
        self.requested_filter = row_filter
        self.row_filter: RowFilter | None = None
        self.steps: list[PlanStep] = []
        self.slices: pa.Table | None = None
        self.schema: pa.Schema | None = None
        self.evolved_schema: EvolvedSchema | None = None
        from_path = query.options.partition_values_from_path or client.config.drop_partition_columns
        self.path_columns = client.config.partition_fields if from_path else ()
        self.commit_times: pa.Array | None = None
        self.checkpoint: str | None = None
        self.partitions_total = 0
        self.max_instant: str | None = None
        self.range_first = False
        self.changes: pa.Table | None = None
        self.table_schema: pa.Schema | None = None

    def snapshot(self) -> None:
        """Plan the slices of a snapshot or of time travel."""
        self.begin_snapshot()
        self.slices = PLAN_SCHEMA.empty_table()
        if self.client.timeline.write_instants():
            if self.requested_partitions is not None:
                self.refuse_lost_partitions()
            self.slices_of(self.snapshot_partitions())

    def begin_snapshot(self) -> None:
        """Plan what is the same for all partitions of a snapshot."""
        client, as_of = self.client, self.query.as_of
        self.max_instant = as_of
        refuse_unlisted_files(client)  # which reads the timeline, before any listing: see FileSystemView
        if as_of is not None:
            check_time_travel(client, as_of)
        self._read_together(as_of)
        self._take_schema(as_of)

    def _read_together(self, as_of: str | None) -> None:
        """Ask a remote store for what the schema and the partitions are made of at the same time."""
        client = self.client
        if client.storage.is_local or not client.timeline.write_instants():
            return

        def partitions() -> None:
            # Folders are walked later: a plan of some partitions does without the others.
            if client.lister.lists_at_once and client.config.is_partitioned and self.requested_partitions is None:
                client.partition_paths()

        timeline = client.timeline
        newest = timeline.last_completed_write()  # of which the schema is
        replacing = [instant for instant in timeline.completed({REPLACE_COMMIT}) if instant != newest]
        calls: list[Callable[[], object]] = [
            lambda: client.schema_commit(as_of),
            partitions,
            lambda: timeline.read_ahead(replacing),
        ]
        if self.requested_filter is not None and self._skips_files:
            calls.append(partial(list_statistics, client))
        run_together(client.storage, calls)

    def snapshot_partitions(self) -> list[str]:
        """The partitions of the query after pruning."""
        client = self.client
        if self.requested_partitions is not None:
            return self._prune(sorted(set(self.requested_partitions)))
        listed = self._partitions()
        if self.query.as_of is not None and client.config.is_partitioned:
            listed = listed._replace(partitions=sorted({*listed.partitions, *partitions_cleaned(client)}))
        return self._prune(*listed)

    def refuse_lost_partitions(self) -> None:
        """Refuse time travel to a time when a partition existed that was cleaned as a whole.

        Raises:
            TimeTravelError: the partition had files at that time.
        """
        client, as_of = self.client, self.query.as_of
        if as_of is None or not client.config.is_partitioned:
            return
        cleaned = partitions_cleaned(client)
        if not cleaned:
            return
        lost = prune_partitions(client, sorted(cleaned.difference(client.partition_paths())), self.row_filter)
        if lost:
            snapshot_slices(client, lost, self.query.query_type, as_of)

    def slices_of(self, partitions: list[str], files: pa.Table | None = None) -> None:
        """The slices of a snapshot's partitions; ``files`` is their listing."""
        slices, steps = snapshot_slices(self.client, partitions, self.query.query_type, self.query.as_of, files)
        self.steps += steps
        self.slices = self._as_recorded(self.skip_files(slices), listed=files is not None)

    @property
    def merges_logs(self) -> bool:
        """Whether a slice of the snapshot may have log files."""
        return self.client.config.is_merge_on_read and self.query.query_type is QueryType.SNAPSHOT

    def incremental(self) -> None:
        """Plan the slices and commit times of a range of commits."""
        commits = self._range()
        last = commits.instants[-1].requested if commits.instants else None
        self._take_schema(last if self.query.options.end_instant_schema else None)
        everything = self._with_compactions(commits)
        # Early releases gave compacted rows the compaction's time, which counts among the commits', as in Hudi.
        merged = sorted({i.requested for i in everything.instants} - {i.requested for i in commits.instants})
        self.commit_times = pa.concat_arrays([pa.array(merged, pa.string()), commits.requested_times()])
        self.slices = self.skip_files(self._range_slices(commits, everything), in_part=True)

    def change_data(self) -> None:
        """Plan the changes that a range of commits made."""
        refuse_without_changes(self.client)
        commits = self._range()
        last = commits.instants[-1].requested if commits.instants else None
        self._take_schema(last if self.query.options.end_instant_schema else None, CDC_SCHEMA)
        slices, self.changes = changes_of_range(self.client, commits)
        self.partitions_total = len(partitions_of(slices))
        self.steps.append(PlanStep("file groups that the commits changed", "files", slices.num_rows, slices.num_rows))
        if self.row_filter is not None:
            keep = pa.array(prune_changes(slices, self.changes, self.row_filter))
            slices_left = slices.filter(keep)
            self.changes = self.changes.filter(keep)
            self.steps.append(
                PlanStep("changes that the filter leaves", "files", slices.num_rows, slices_left.num_rows)
            )
            slices = slices_left
        self.slices = slices

    def _range(self) -> CommitRange:
        client, query = self.client, self.query
        if not client.config.populate_meta_fields:
            raise UnsupportedTableError(
                "incremental queries need the meta columns, and the table has none (hoodie.populate.meta.fields=false)",
                path=client.base_path,
                remedy="query a snapshot",
            )
        assert query.begin is not None
        commits = select_commits(client, query.begin, query.end, query.options.hollow_policy)
        self.steps.append(PlanStep("commits of the range", "commits", commits.considered, len(commits.instants)))
        self.checkpoint = commits.checkpoint or query.begin
        self.max_instant = commits.instants[-1].requested if commits.instants else None
        return commits

    def chosen(self, slices: pa.Table, times: pa.Array | None, checkpoint: str | None, as_of: str | None) -> None:
        """Plan given slices."""
        self._take_schema(as_of or self.query.as_of)
        self.slices = self._as_recorded(slices, listed=True)
        self.commit_times = times
        self.checkpoint = checkpoint
        self.partitions_total = pc.count_distinct(slices.column("partition")).as_py()

    def _range_slices(self, commits: CommitRange, everything: CommitRange) -> pa.Table:
        client, options = self.client, self.query.options
        slices, files = self._written_slices(commits, everything)
        written = files.num_rows
        missing = missing_files(client, everything, files)
        if missing.num_rows:
            if not options.full_scan_fallback:
                raise cleaned_error(client, missing)
            self.steps.append(PlanStep("full scan: files of the range were cleaned", "files", written, 0))
            partitions = self._prune(*self._partitions())
            slices, steps = snapshot_slices(client, partitions, QueryType.SNAPSHOT, None)
            slices = self._as_recorded(slices)
            self.steps += steps
            self.max_instant = None
            self.range_first = False
            return self._match_glob(slices)
        partitions_left = pa.array(self._prune(sorted(files.column("partition").unique().to_pylist())), pa.string())
        files = files.filter(pc.is_in(files.column("partition"), value_set=partitions_left))
        self.steps.append(PlanStep("newest files of each file group written", "files", written, files.num_rows))
        return self._match_glob(slices.filter(pc.is_in(slices.column("partition"), value_set=partitions_left)))

    def _with_compactions(self, commits: CommitRange) -> CommitRange:
        """A range with what compactions wrote: their base files stand for log files that may be gone."""
        client, query = self.client, self.query
        if not client.config.is_merge_on_read or not commits.instants:
            return commits
        assert query.begin is not None
        return select_commits(client, query.begin, query.end, query.options.hollow_policy, compactions=True)

    def _written_slices(self, commits: CommitRange, everything: CommitRange) -> tuple[pa.Table, pa.Table]:
        """Slices of what a range wrote, and their files."""
        client = self.client
        if not client.config.is_merge_on_read or not commits.instants:
            files = files_of_range(client, commits)
            return base_files_as_slices(files), files
        self.range_first = client.config.version >= 8
        return slices_of_range(client, everything)

    def _as_recorded(self, slices: pa.Table, *, listed: bool = False) -> pa.Table:
        """The slices, their log files of the sizes that commits recorded; those of the metadata table are.

        Raises:
            CorruptFileError: a file was cut after it was committed.
        """
        if has_logs(slices) and (listed or self.client.lister.source != METADATA_SOURCE):
            slices = with_recorded_sizes(self.client.timeline, self.client.storage, slices)
        return slices

    def _partitions(self) -> FilteredPartitions:
        """The partitions that folders leave by the filter, and where they were learnt from as a step."""
        listed = partitions_matching(self.client, self.row_filter)
        total = len(listed.partitions) + listed.left_out
        self.steps.append(PlanStep(f"partitions and files by {self.client.lister.source}", "partitions", total, total))
        return listed

    def _match_glob(self, slices: pa.Table) -> pa.Table:
        glob = self.query.options.path_glob
        if glob is None:
            return slices
        matching = matching_glob(slices, glob)
        self.steps.append(PlanStep(f"paths matching {glob}", "files", slices.num_rows, matching.num_rows))
        return matching

    def _take_schema(self, as_of: str | None, shown: pa.Schema | None = None) -> None:
        """The table's schema, and the filter bound to what the query shows: that, or another schema."""
        self.schema = self._with_path_columns(self.client.schema(as_of))
        if shown is not None:
            self.table_schema, self.schema = self.schema, shown
        if self.query.options.schema_evolution is not False:
            self.evolved_schema = self.client.evolved_schema(as_of)
        row_filter = parse_filter(self.requested_filter, self.schema)
        self.row_filter = None if row_filter.is_trivial else row_filter

    def _with_path_columns(self, schema: pa.Schema) -> pa.Schema:
        """A formatted path value is text, whatever type the column has in the files."""
        kinds = dict(zip(self.client.config.partition_fields, self.client.config.partition_field_types, strict=True))
        for name in self.path_columns:
            if kinds[name] == "TIMESTAMP" and name in schema.names:
                schema = schema.set(schema.get_field_index(name), pa.field(name, pa.string()))
        return schema

    def _prune(self, partitions: list[str], left_out: int = 0) -> list[str]:
        """The partitions that the filter leaves; each folder that it left out unlisted counts as one before."""
        total = self.partitions_total = len(partitions) + left_out
        partitions_left = prune_partitions(self.client, partitions, self.row_filter)
        self.steps.append(PlanStep("partitions that the filter leaves", "partitions", total, len(partitions_left)))
        return partitions_left

    def skip_files(self, slices: pa.Table, *, in_part: bool = False) -> pa.Table:
        """Drop the slices that indexes of the metadata table rule out."""
        query, options = self.query, self.query.options
        if not self._skips_files:
            return slices
        # The record index knows where a record is now, its log files counted in.
        newest = (
            query.as_of is None
            and not in_part
            and (query.query_type is QueryType.SNAPSHOT or not self.client.config.is_merge_on_read)
        )
        if self.evolved_schema is not None and self.row_filter is not None:
            self.evolved_schema = with_commit_versions(self.client, self.evolved_schema, slices)
        trusted = (options.record_index, self.evolved_schema, options.secondary_index, options.expression_index)
        config = self.client.config
        context = SkipContext(
            *(self.path_columns, self._renamed(), newest, in_part, *trusted),
            record_level_index=options.record_level_index,
            has_skeletons=config.is_bootstrapped,
            makes_values=MergeSpec.makes_values(config),
        )
        slices, steps = prune(self.client, slices, self.row_filter, context)
        self.steps += steps
        return slices

    @property
    def _skips_files(self) -> bool:
        """Whether the query may use indexes of the metadata table."""
        options = self.query.options
        return options.data_skipping and options.metadata_enable is not False and not options.metadata_validate

    def _renamed(self) -> bool:
        """Columns may have had other names in older files, whether or not the query follows them."""
        return self.client.evolved_schema(self.query.as_of) is not None

    def required_keys(self) -> pa.Array | None:
        """The record keys that rows passing the filter must have; None if the filter does not limit them."""
        if self.row_filter is None or self.changes is not None:
            return None
        evolved = self.evolved_schema
        keys_stay = evolved is not None and all(stays(evolved, name) for name in self.client.config.record_keys)
        keys = required_record_keys(self.client, self.row_filter, by_fields=keys_stay or not self._renamed())
        return None if keys is None else pa.array(keys, pa.string())

    def finish(self, cost: dict[str, int], *, with_merge: bool = False) -> ScanPlan:
        """Make the plan; ``with_merge`` adds the merge rules even if no slice has log files."""
        client, config, query = self.client, self.client.config, self.query
        assert self.slices is not None and self.schema is not None
        if self.evolved_schema is not None:
            self.evolved_schema = with_commit_versions(client, self.evolved_schema, self.slices, self.changes)
        last = client.timeline.last_completed_write()
        merge = None
        if has_logs(self.slices) or self.changes is not None or with_merge:
            merge = LogMerge(
                spec=MergeSpec.from_config(config),
                timeline=client.timeline,
                max_instant=self.max_instant,
                skip=query.options.merge_type is MergeType.SKIP_MERGE,
                range_first=self.range_first,
                keys=self.required_keys(),
                memory=MergeMemory(query.options.merge_memory, query.options.spill_folder),
                use_positions=query.options.merge_positions,
            )
        return ScanPlan(
            base_path=client.base_path,
            query=query,
            slices=self.slices,
            schema=self.schema,
            base_file_format=config.base_file_format,
            partition_fields=config.partition_fields,
            hive_style=config.hive_style_partitioning,
            url_encoded=config.url_encode_partitioning,
            path_columns=self.path_columns,
            row_filter=self.row_filter,
            evolved_schema=self.evolved_schema,
            commit_times=self.commit_times,
            instant=last.requested if last is not None else None,
            checkpoint=self.checkpoint,
            partitions_total=self.partitions_total,
            partitions_planned=pc.count_distinct(self.slices.column("partition")).as_py(),
            steps=tuple(self.steps),
            counters=dict(cost),
            merge=merge,
            changes=self.changes,
            table_schema=self.table_schema,
        )
