"""Clustering: rewrites file groups as other ones, larger or sorted.

The plan names the slices; until it has run, nobody may write to their file groups. The commit replaces them by the new
groups; rows keep their commit times.

Source: docs/format.md#plans, RFC-19.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.batches import rows_by_number
from hudi_hive.errors import UnsupportedTableError, WriteConflictError, WriteError
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.options.buckets import BUCKET_ENGINE, CONSISTENT_HASHING
from hudi_hive.options.write import INDEX_TYPE
from hudi_hive.plan import ScanPlan
from hudi_hive.read.merge import record_keys
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.instants import CLUSTERING, DELTA_COMMIT, REPLACE_COMMIT
from hudi_hive.timeline.payloads import ClusteringPlan, encode_commit, encode_requested_replace
from hudi_hive.write.column_indexes import left_by
from hudi_hive.write.commit import metadata_changes
from hudi_hive.write.coordination import (
    ConcurrentOperation,
    check_conflicts,
    refuse_new_index,
    touched_groups,
)
from hudi_hive.write.files import Attempt, WriteContext, joined
from hudi_hive.write.index import IndexOptions, hashed_partitions, ring_hashes
from hudi_hive.write.options import ClusteringSettings, WriteConfig
from hudi_hive.write.rollback import keeps_plan, requested_again
from hudi_hive.write.service_base import (
    Claim,
    ServiceContext,
    claim,
    is_beating,
    pending_still,
    refuse_buckets,
    refuse_pending_restore,
    refuse_pending_undo,
)
from hudi_hive.write.services.bucket_resizing import (
    BucketTargets,
    bucket_targets,
    check_resizing,
    is_resizing,
    resized_buckets,
    save_resized,
)
from hudi_hive.write.services.clustering_plan import CLUSTER, execution_class, input_groups, refuse_execution
from hudi_hive.write.services.ordering import RowOrder
from hudi_hive.write.services.rewrite import (
    BATCH_ROWS,
    NewBase,
    plan_of,
    service_write_context,
    slice_rows,
    slices_of,
    with_source_files,
    write_group,
)
from hudi_hive.write.services.runs import carried_through, settled_stats


def pending_clusterings(client: MetaClient) -> list[Instant]:
    """The pending clusterings, oldest first; in layout 1 they are replacecommits with a clustering plan."""
    return [plan.instant for plan in client.timeline.pending_clustering_plans()]


def cluster(context: ServiceContext, *, recent: bool = False) -> list[Instant]:
    """Execute pending clusterings that no other process executes, then schedule and execute one.

    Args:
        context: the table; its lock must not be held. ``hoodie.clustering.*`` of its options say what is clustered.
        recent: the context's table was read right before.

    Returns:
        The completed commits.
    """
    pending = pending_clusterings((context if recent else context.reload()).client)
    done = [execute_clustering(context, one) for one in pending if not is_beating(context, one.requested)]
    config = WriteConfig.of(context.options, context.client.config)
    with context.lock():
        now = context.reload()
        planned = _scheduled(now, config, None)
        own = None if planned is None else claim(now.with_pending(planned), planned)
    return done if own is None else [*done, _completed(context, own)]


def schedule_clustering(context: ServiceContext, partitions: Sequence[str] | None = None) -> Instant | None:
    """Schedule a clustering of small file groups; None without any.

    Groups that a table service is at are left alone. A lone group is clustered only if the rows are to be sorted, or
    the options say so.

    Args:
        context: the table; its lock must not be held. ``hoodie.clustering.*`` and ``hoodie.layout.optimize.*`` of its
            options say what is clustered, and how.
        partitions: the partitions that are clustered, in place of those that the options name.

    Raises:
        InvalidOptionError: a space-filling curve without sort columns.
        UnknownColumnError: a sort column is not in the table.
        UnsupportedTableError: a strategy that is not known, a sort column without an order, or groups that are buckets.
        WriteError: version 6: a write is pending, which may be about to append to a group that would be replaced.
    """
    config = WriteConfig.of(context.options, context.client.config)
    with context.lock():
        return _scheduled(context.reload(), config, partitions)


def _scheduled(now: ServiceContext, config: WriteConfig, partitions: Sequence[str] | None) -> Instant | None:
    """Write the plan of a clustering under the lock; arguments and errors as of :func:`schedule_clustering`."""
    settings = config.clustering
    refuse_pending_restore(now.client)
    refuse_pending_undo(now)
    _check(now.client, settings)
    buckets = config.index.hashes_consistently
    groups = (
        resized_buckets(now.client, config, partitions) if buckets else input_groups(now.client, settings, partitions)
    )
    if not groups.outputs:
        return None
    if not buckets:
        refuse_buckets(now.client, config.index.kind, groups.slices)
        _refuse_hashed(now.client, groups.slices)
    time = now.clock.new_instant(now.client.timeline, now.client.config.timezone)
    action = CLUSTERING if now.client.config.layout >= 2 else REPLACE_COMMIT
    bare = Instant(time, action, State.REQUESTED, None, "", "")
    params = RowOrder.of_settings(settings).params
    slices = with_source_files(now.client, groups.slices)
    strategy = execution_class(settings, buckets=buckets)
    plan = ClusteringPlan(bare, CLUSTER, slices, {}, strategy, params, groups.outputs, groups.extra)
    layout = now.client.config.layout
    payload = encode_requested_replace(plan, now.client.base_path, layout, metrics=groups.metrics)
    return now.writer.create_requested(action, time, payload)


def _refuse_hashed(client: MetaClient, slices: pa.Table) -> None:
    """Refuse to cluster buckets of consistent hashing as if they were none."""
    hashed = hashed_partitions(client, pc.unique(slices["partition"]).to_pylist())
    if hashed:
        raise UnsupportedTableError(
            f"the file groups of partition {hashed[0]!r} are buckets of consistent hashing",
            path=client.base_path,
            remedy=f"give {INDEX_TYPE}=BUCKET and {BUCKET_ENGINE}={CONSISTENT_HASHING}, so that rows stay in them",
        )


def _check(client: MetaClient, settings: ClusteringSettings) -> None:
    settings.check_layout()
    if settings.sort_columns:
        RowOrder.of_settings(settings).check(client.schema(), client.base_path)
    pending = client.timeline.pending({DELTA_COMMIT})
    if client.config.layout == 1 and pending:
        raise WriteError(
            "a clustering cannot be planned while a write is pending in a table of version 6",
            path=client.base_path,
            instant=pending[0].requested,
            remedy="wait for it, or roll it back if its writer is dead",
        )


# -- running ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """One input group: how it is read, in what order, and the file groups that it becomes; and, of buckets, by what."""

    write_context: WriteContext
    plan: ScanPlan
    bases: tuple[NewBase, ...]
    order: RowOrder
    hashing: tuple[BucketTargets, IndexOptions] | None = None


def execute_clustering(context: ServiceContext, instant: Instant) -> Instant:
    """Execute a scheduled clustering.

    Args:
        context: the table; its lock must not be held.
        instant: the clustering, requested, or inflight when a run of it died.

    Returns:
        The completed replacecommit.

    Raises:
        WriteConflictError: another process is at this clustering, or has completed it; or writes came before it, and
            its plan is dropped.
        UnsupportedTableError: the plan names a strategy that is not known; nothing is written, and it stays as it is.
        HudiHiveError: a slice cannot be read or written; the clustering is requested again.
    """
    context = context.reload()
    pending = None if instant.is_completed else pending_still(context, instant)
    if pending is None or not keeps_plan(context, pending):
        raise WriteError(f"{instant} is no clustering", path=context.client.base_path, instant=instant.requested)
    plan = context.client.timeline.requested_replace_metadata(pending)
    refuse_execution(plan, context.client.base_path)
    if is_resizing(plan):
        check_resizing(context.client, plan, WriteConfig.of(context.options, context.client.config))
    context, instant = requested_again(context, instant)
    with context.lock():
        own = claim(context.reload(), instant)
    return _completed(context, own)


def _completed(context: ServiceContext, own: Claim) -> Instant:
    """Execute a clustering that is this process's; errors as of :func:`execute_clustering`."""
    # A plan that others came before never succeeds, and bars its file groups as long as it is there.
    return carried_through(context, own, _run, "clustering", plan_is_lost=(WriteConflictError,))


def _run(own: Claim) -> Instant:
    context, time = own.context, own.instant.requested
    client = context.client
    plan = client.timeline.requested_replace_metadata(own.instant)
    write_context, metadata = service_write_context(context, time)
    order = RowOrder.of_plan(plan.strategy_params, context.options)
    order.check(write_context.schema, client.base_path)
    statuses = joined(context.executor.map(_cluster_group, _tasks(context, write_context, plan, order)))
    stats = settled_stats(context, time, statuses)
    replaced: dict[str, list[str]] = defaultdict(list)
    for row in plan.slices.select(["partition", "file_id"]).to_pylist():
        replaced[row["partition"]].append(row["file_id"])
    metadata = replace(metadata, operation=CLUSTER, stats=stats, replaced=replaced)

    operation = ConcurrentOperation(time, metadata.operation, touched_groups(statuses, replaced))

    payload = encode_commit(metadata, client.config.layout)

    def finish(now: ServiceContext, table: MetadataWriter | None) -> bytes:
        own.heartbeat.verify()
        check_conflicts(now.client, None, operation, started=client.timeline)
        if is_resizing(plan):
            save_resized(now.client, plan)
        if not write_context.tracks_keys:
            refuse_new_index(now.client, client, time)
        if table is not None:
            changes = replace(metadata_changes(statuses, replaced), moves_rows=False)
            table.apply(time, REPLACE_COMMIT, changes, current=True, behind=left_by(time, REPLACE_COMMIT, payload))
        return payload

    return context.complete(own.instant, finish)


def _tasks(context: ServiceContext, write_context: WriteContext, plan: ClusteringPlan, order: RowOrder) -> list[_Task]:
    client = context.client
    base_instant = pa.nulls(plan.slices.num_rows, pa.string())
    slices = slices_of(client, _with_base_instants(client, plan.slices.append_column("base_instant", base_instant)))
    targets = bucket_targets(client, plan) if is_resizing(plan) else []
    index = IndexOptions.of(WriteConfig.of(context.options, client.config).index, client.config)
    tasks = []
    for number, rows in rows_by_number(plan.slices["group"].to_numpy()):
        own = slices.take(pa.array(rows))
        partition = own["partition"][0].as_py()
        count = max(1, plan.output_groups[number] if number < len(plan.output_groups) else 1)
        ids = targets[number].file_ids if targets else tuple(f"{uuid.uuid4()}-0" for _ in range(count))
        outputs = tuple(NewBase(partition, name, Attempt(task=number, attempt=at)) for at, name in enumerate(ids))
        hashing = (targets[number], index) if targets else None
        tasks.append(_Task(write_context, plan_of(context, write_context, own), outputs, order, hashing))
    return tasks


def _with_base_instants(client: MetaClient, slices: pa.Table) -> pa.Table:
    """The plan's slices with their base instants, which tell what older files call their columns."""
    view = client.file_system_view(pc.unique(slices["partition"]).to_pylist())
    current = view.latest_merged_file_slices()
    places = zip(current["partition"].to_pylist(), current["file_id"].to_pylist(), strict=True)
    instants = dict(zip(places, current["base_instant"].to_pylist(), strict=True))
    asked = zip(slices["partition"].to_pylist(), slices["file_id"].to_pylist(), strict=True)
    column = pa.array([instants.get(place) for place in asked], pa.string())
    return slices.set_column(slices.schema.get_field_index("base_instant"), "base_instant", column)


def _cluster_group(task: _Task) -> pa.Table:
    """Rows of the input group, sorted if asked, in equal parts to the new file groups, or to those of their buckets."""
    rows = pa.Table.from_batches(list(slice_rows(task.write_context, task.plan)), schema=task.write_context.schema)
    rows = task.order.sorted(rows)
    statuses = []
    for number, (base, part) in enumerate(_shares(task, rows)):
        if not part.num_rows and (number or task.hashing is not None):
            continue
        statuses.append(write_group(task.write_context, base, part.to_batches(max_chunksize=BATCH_ROWS)))
    return joined(statuses)


def _shares(task: _Task, rows: pa.Table) -> Iterator[tuple[NewBase, pa.Table]]:
    """The rows of each new file group, in their order."""
    if task.hashing is None:
        share = max(1, -(-rows.num_rows // len(task.bases)))
        for number, base in enumerate(task.bases):
            yield base, rows.slice(number * share, share)
        return
    targets, options = task.hashing
    batches = rows.to_batches() or [pa.RecordBatch.from_pylist([], rows.schema)]
    keys = pa.concat_arrays([record_keys(batch, task.write_context.spec) for batch in batches])
    places = targets.ring.places(ring_hashes(keys, options, version=task.write_context.config.version))
    names = [node.file_id for node in targets.ring.nodes]
    if {names[place] for place in np.unique(places).tolist()} - set(targets.file_ids):
        raise WriteError(
            "rows of a bucket are hashed to others than it was planned to become",
            path=task.write_context.storage.uri(),
            instant=task.write_context.instant,
            remedy="give the fields that the table is hashed by",
        )
    for base in task.bases:
        yield base, rows.filter(pa.array(places == names.index(base.file_id)))
