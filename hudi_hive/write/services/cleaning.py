"""Clean: deletes file slices that no retained commit needs.

Plan first, then delete, then say so: a clean that died is taken up again from its plan. A slice stays if it is the
newest of its group, the newest at the earliest retained commit, savepointed, or under a pending compaction.

Source: docs/format.md#plans, Hudi's ``CleanPlanner``.
"""

from __future__ import annotations

import logging
import posixpath
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import WriteConflictError
from hudi_hive.metadata.reader import DELETED_FILES_SCHEMA, MetadataChanges
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.options import services as declared
from hudi_hive.storage import Storage
from hudi_hive.table import FILES_SCHEMA, MetaClient
from hudi_hive.table.keys import PARTITION_METAFILES
from hudi_hive.table.view import FileKind, check_data_files, check_partitions, delete_data_files, parse_file_names
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.instants import CLEAN, millis_to_instant
from hudi_hive.timeline.payloads import (
    CLEAN_FILES_SCHEMA,
    CleanerPlan,
    CleanMetadata,
    CleanPartition,
    encode_clean_metadata,
    encode_cleaner_plan,
)
from hudi_hive.write.service_base import Claim, ServiceContext, claim, claimed, ending, refuse_pending_undo

_log = logging.getLogger(__name__)

BY_COMMITS: Final = "KEEP_LATEST_COMMITS"
BY_VERSIONS: Final = "KEEP_LATEST_FILE_VERSIONS"
_SAVEPOINTS: Final = "savepointed_timestamps"


@dataclass(frozen=True)
class CleanPolicy:
    """The policy of a clean: which slices it keeps.

    Attributes:
        policy: ``KEEP_LATEST_COMMITS``, ``KEEP_LATEST_FILE_VERSIONS`` or ``KEEP_LATEST_BY_HOURS``.
        commits, versions, hours: how many of these are kept, each for its own policy.
        incremental: only partitions are looked at in which files can have got old since the last clean.
    """

    policy: str = BY_COMMITS
    commits: int = 10
    versions: int = 3
    hours: int = 24
    incremental: bool = True

    @classmethod
    def of(cls, options: Mapping[str, str]) -> CleanPolicy:
        """Read the policy from Hudi's options.

        Raises:
            InvalidOptionError: an unknown policy, a number below 1, or two names of one option that differ.
        """
        return cls(
            declared.CLEAN_POLICY.of(options),
            declared.CLEAN_COMMITS.of(options),
            declared.CLEAN_VERSIONS.of(options),
            declared.CLEAN_HOURS.of(options),
            declared.CLEAN_INCREMENTAL.of(options),
        )


def clean(context: ServiceContext, *, recent: bool = False, now_ms: int | None = None) -> CleanMetadata | None:
    """Complete interrupted cleans, then schedule and execute one; None when there is nothing to delete.

    Args:
        context: the table; its lock must not be held. ``hoodie.clean.*`` of its options choose the policy.
        recent: the context's table was read right before.
        now_ms: milliseconds since the epoch, from which hours are counted; this machine's clock without it.
    """
    done: CleanMetadata | None = None
    context = context if recent else context.reload()
    for pending in context.client.timeline.pending({CLEAN}):
        with suppress(WriteConflictError):  # another process is at it
            done = execute_clean(context, pending)
    claims: list[Claim] = []

    def begin(now: ServiceContext, plan: Instant) -> None:
        claims.append(claim(now, plan, _repeated_plan(now, plan)))

    with suppress(WriteConflictError):  # another process has taken it up
        schedule_clean(context, begin=begin, now_ms=now_ms)
        for own in claims:
            with ending(own.heartbeat, own.instant.requested):
                done = _cleaned(own)
    return done


def schedule_clean(
    context: ServiceContext,
    policy: CleanPolicy | None = None,
    *,
    begin: Callable[[ServiceContext, Instant], object] = lambda now, instant: None,
    now_ms: int | None = None,
) -> Instant | None:
    """Schedule a clean: write its plan; None when there is nothing to delete.

    Args:
        context: the table; its lock must not be held.
        policy: what stays; that of the options without it.
        begin: called with the table and the clean under the same lock.
        now_ms: as of :func:`clean`.
    """
    policy = CleanPolicy.of(context.options) if policy is None else policy
    with context.lock():
        now = context.reload()
        instant = _scheduled(now, policy, now_ms)
        if instant is not None:
            begin(now.with_pending(instant), instant)
        return instant


def _scheduled(now: ServiceContext, policy: CleanPolicy, now_ms: int | None) -> Instant | None:
    """Write the plan of a clean under the lock."""
    refuse_pending_undo(now)
    plan = plan_clean(now.client, policy, now_ms=now_ms)
    if not plan.files.num_rows and not plan.partitions_to_delete:
        return None
    time_ = now.clock.new_instant(now.client.timeline, now.client.config.timezone)
    actions = {i.requested: i.action for i in now.client.timeline.write_instants()}
    action = actions.get(plan.earliest_retained or "", "commit")
    payload = encode_cleaner_plan(plan, now.client.base_path, retained_action=action)
    return now.writer.create_requested(CLEAN, time_, payload)


def keeps_all(context: ServiceContext) -> bool:
    """Whether the timeline alone says that there is nothing to clean."""
    policy = CleanPolicy.of(context.options)
    return policy.policy != BY_VERSIONS and earliest_retained(context.client, policy) is None


def execute_clean(context: ServiceContext, instant: Instant) -> CleanMetadata:
    """Execute a clean: delete the files of its plan, update the metadata table, and complete.

    Raises:
        UnsafePathError: the plan names something that is no data file of the table; nothing was deleted.
        WriteConflictError: another process is at it, or has completed it.
    """
    with claimed(context, instant, _repeated_plan(context, instant)) as own:
        return _cleaned(own)


def _repeated_plan(context: ServiceContext, instant: Instant) -> bytes:
    """What the inflight file of a clean holds: in version 6 the plan again."""
    if instant.state is State.REQUESTED and context.client.config.layout == 1:
        return context.client.storage.read_bytes(instant.path)
    return b""


def _cleaned(own: Claim) -> CleanMetadata:
    context, instant = own.context, own.instant
    started = time.monotonic_ns()
    plan = context.client.timeline.cleaner_plan(instant)
    planned = _names_by_partition(plan.files)
    for partition, names in planned.items():  # all of the plan before the first file goes
        check_data_files(partition, names, instant=instant.requested)
    doomed = _unless_savepointed(context.client, plan)
    by_partition = _names_by_partition(doomed)
    check_partitions(plan.partitions_to_delete, instant=instant.requested)
    storage = context.client.storage
    context.executor.map(partial(_delete_files, storage, instant.requested), list(by_partition.items()))
    # Files of replaced groups that came back by a loss of power would show once the replacecommit is archived.
    storage.flush_folders(by_partition)
    metadata = CleanMetadata(
        instant=instant,
        earliest_retained=plan.earliest_retained,
        last_completed_commit=plan.last_completed_commit,
        total_files_deleted=doomed.num_rows,
        time_taken_ms=0,
        partitions={
            path: CleanPartition(plan.policy, tuple(names), tuple(by_partition.get(path, ())), (), False)
            for path, names in planned.items()
        },
        extra=plan.extra if doomed.num_rows == plan.files.num_rows else _with_savepoints(context.client, plan.extra),
    )
    outcome = [metadata]

    def finish(now: ServiceContext, table: MetadataWriter | None) -> bytes:
        own.heartbeat.verify()
        gone = _drop_partitions(now.client, plan.partitions_to_delete)
        if table is not None:
            changes = MetadataChanges(
                files_deleted=doomed.cast(DELETED_FILES_SCHEMA),
                partitions_deleted=gone,
            )
            table.apply(instant.requested, CLEAN, changes, current=True)
        taken = (time.monotonic_ns() - started) // 1_000_000
        outcome[0] = replace(metadata, time_taken_ms=taken, partitions=_with_dropped(metadata, plan.policy, gone))
        return encode_clean_metadata(outcome[0])

    done = context.complete(instant, finish)
    return replace(outcome[0], instant=done)


def _names_by_partition(files: pa.Table) -> dict[str, list[str]]:
    names: dict[str, list[str]] = defaultdict(list)
    for partition, name in zip(files["partition"].to_pylist(), files["name"].to_pylist(), strict=True):
        names[partition].append(name)
    return names


def _unless_savepointed(client: MetaClient, plan: CleanerPlan) -> pa.Table:
    """Files of a plan that no savepoint keeps now: the plan may be another writer's, or older than the savepoint."""
    doomed = _without_savepointed(client, plan.files)
    if doomed.num_rows < plan.files.num_rows:
        kept = plan.files.num_rows - doomed.num_rows
        _log.warning("the clean %s is to delete %d files that a savepoint keeps: they stay", plan.instant, kept)
    return doomed


def _with_savepoints(client: MetaClient, extra: Mapping[str, str]) -> dict[str, str]:
    """What a plan tells, with the savepoints that were made since: the next clean knows that they kept files."""
    return {**extra, **_as_extra(_noted_savepoints(extra) | _savepoints(client))}


def _with_dropped(metadata: CleanMetadata, policy: str | None, gone: tuple[str, ...]) -> dict[str, CleanPartition]:
    partitions = dict(metadata.partitions)
    for path in gone:
        # A plan may name a partition that is to go and no files of it: they went before, or there were none.
        known = partitions.get(path, CleanPartition(policy, (), (), (), False))
        partitions[path] = replace(known, partition_deleted=True)
    return partitions


def _delete_files(storage: Storage, instant: str, work: tuple[str, list[str]]) -> None:
    partition, names = work
    delete_data_files(storage, partition, names, instant=instant)


def _drop_partitions(client: MetaClient, partitions: tuple[str, ...]) -> tuple[str, ...]:
    """Delete the folders of partitions in which nothing but the metafile is left; under the table's lock.

    While a write is pending none is dropped: it may be about to write there, and would find the metafile gone.
    """
    if any(instant.is_write for instant in client.timeline.pending()):
        return ()
    return tuple(path for path in partitions if path and _dropped(client.storage, path))


def _dropped(storage: Storage, partition: str) -> bool:
    left = {posixpath.basename(path) for path in storage.list(partition, missing_ok=True)["path"].to_pylist()}
    if {name for name in left if not name.endswith(".crc")} - set(PARTITION_METAFILES):
        return False
    storage.delete_tree(partition)
    return True


# -- planning --------------------------------------------------------------------------------------------------------


def plan_clean(client: MetaClient, policy: CleanPolicy, *, now_ms: int | None = None) -> CleanerPlan:
    """Plan a clean without writing the plan.

    Args:
        client: the table, as it is under its lock.
        policy: what to keep.
        now_ms: the time for a policy of hours, milliseconds since the epoch.
    """
    timeline = client.timeline
    earliest = None if policy.policy == BY_VERSIONS else earliest_retained(client, policy, now_ms)
    last = timeline.last_completed_write()
    empty = CLEAN_FILES_SCHEMA.empty_table()
    bare = Instant("", CLEAN, State.REQUESTED, None, "", "")
    retained = earliest.requested if earliest is not None else None
    plan = CleanerPlan(
        bare,
        policy.policy,
        retained,
        last.requested if last is not None else None,
        empty,
        (),
        _as_extra(_savepoints(client)),
    )
    if last is None or (earliest is None and policy.policy != BY_VERSIONS):
        return plan
    partitions = _partitions_to_look_at(client, policy, retained)
    if partitions is not None and not partitions:
        return plan
    files = client.list_files(partitions)
    doomed = _doomed(client, files, policy, retained)
    emptied = _emptied(client, files, doomed, look_at_all=partitions is None)
    return replace(plan, files=doomed, partitions_to_delete=emptied)


def _partitions_to_look_at(client: MetaClient, policy: CleanPolicy, earliest: str | None) -> list[str] | None:
    """Partitions that hold files which got old since the last clean; None where all may.

    That clean left nothing old behind, counted from the commit that it retained, but what savepoints kept. Other files
    are old when a later write, before the commit that is retained now, put others in their place.

    Source: Hudi's ``CleanPlanner.getPartitionPathsForIncrementalCleaning``.
    """
    timeline = client.timeline
    cleans = timeline.completed({CLEAN})
    if not policy.incremental or earliest is None or not cleans:
        return None
    last = timeline.clean_metadata(max(cleans, key=lambda i: i.requested))
    writes = timeline.write_instants()
    if not last.earliest_retained or min(i.requested for i in writes) > last.earliest_retained:
        return None  # by versions, or writes since have been archived
    if _noted_savepoints(last.extra) - _savepoints(client):
        return None
    if policy.policy != BY_COMMITS and client.config.layout == 1:
        return None  # hours pass over pending writes, and nothing tells when those were completed
    since = [
        i
        for i in writes
        if i.requested < earliest
        and (i.requested >= last.earliest_retained or (i.completed or "") > last.instant.requested)
    ]
    return sorted({path for i in since for path in timeline.commit_metadata(i).partitions_touched()})


def _savepoints(client: MetaClient) -> set[str]:
    """Instants of the savepoints that there are."""
    return {i.requested for i in client.timeline.completed({"savepoint"})}


def _as_extra(savepoints: set[str]) -> dict[str, str]:
    """Savepoints as a plan notes them."""
    return {_SAVEPOINTS: ",".join(sorted(savepoints))} if savepoints else {}


def _noted_savepoints(extra: Mapping[str, str]) -> set[str]:
    """The savepoints that a plan noted."""
    return set(filter(None, extra.get(_SAVEPOINTS, "").split(",")))


def earliest_retained(client: MetaClient, policy: CleanPolicy, now_ms: int | None = None) -> Instant | None:
    """The oldest completed write that stays readable; None to keep all.

    Of commits that are counted, never one after the first pending write; of hours, as in Hudi, whatever is pending.
    """
    timeline = client.timeline
    writes = sorted(timeline.write_instants(), key=lambda i: i.requested)
    if policy.policy != BY_COMMITS:
        moment = datetime.now(UTC) if now_ms is None else datetime.fromtimestamp(now_ms / 1000, UTC)
        oldest = int((moment - timedelta(hours=policy.hours)).timestamp() * 1000)
        bound = millis_to_instant(oldest, client.config.timezone)
        return next((i for i in writes if i.requested >= bound), None)
    if len(writes) <= policy.commits:
        return None
    chosen = writes[len(writes) - policy.commits]
    pending = min((i.requested for i in timeline.pending() if i.is_write), default=None)
    if pending is not None and chosen.requested > pending:
        before = [i for i in writes if i.requested < pending]
        return before[-1] if before else None
    return chosen


def _doomed(client: MetaClient, files: pa.Table, policy: CleanPolicy, earliest: str | None) -> pa.Table:
    """Files that the policy gives up: partition and name, without those that a savepoint keeps."""
    view = client.file_system_view(files=files)
    slices = view.file_slices()
    dead = _replaced_before(client, earliest)
    columns = ["partition", "file_id", "base_instant", "compaction_instant"]
    compacting = {
        (row["partition"], row["file_id"]): _Compacting(row["base_instant"], row["compaction_instant"])
        for row in client.timeline.pending_compactions().select(columns).to_pylist()
    }
    replaced = client.timeline.replaced_file_groups()
    all_dead = set(zip(replaced["partition"].to_pylist(), replaced["file_id"].to_pylist(), strict=True))
    groups: dict[tuple[str, str], list[dict[str, object]]] = defaultdict(list)
    for row in slices.select(["partition", "file_id", "base_instant", "base_file", "log_files"]).to_pylist():
        groups[row["partition"], row["file_id"]].append(row)
    chosen: list[tuple[str, str]] = []
    for place, own in groups.items():
        if place in dead:
            retained = 0
        elif place in all_dead:
            retained = len(own)  # replaced, but a retained commit still shows it
        else:
            retained = _retained_slices(
                [str(row["base_instant"]) for row in own], policy, earliest, compacting.get(place)
            )
        for row in own[: len(own) - retained]:
            names = [row["base_file"], *row["log_files"]]  # type: ignore[misc]
            chosen += [(place[0], str(name)) for name in names if name is not None]
    table = pa.table(
        [pa.array([c[0] for c in chosen], pa.string()), pa.array([c[1] for c in chosen], pa.string())],
        schema=CLEAN_FILES_SCHEMA,
    )
    table = pa.concat_tables([table, _change_files(files, earliest)]) if client.config.cdc_enabled else table
    return _without_savepointed(client, table)


class _Compacting(NamedTuple):
    """A pending compaction of a file group: the slice that it reads and the one that it makes, by their instants."""

    reads: str
    makes: str


def _retained_slices(
    bases: list[str], policy: CleanPolicy, earliest: str | None, compacting: _Compacting | None
) -> int:
    """How many of a group's newest slices stay, by their base instants, the oldest first.

    What a pending compaction reads stays. The slice that it is to make counts as one of the group, as in Hudi.
    """
    if policy.policy == BY_VERSIONS:
        needed = 0 if compacting is None else sum(base >= compacting.reads for base in bases)
        return min(len(bases), needed + policy.versions - int(compacting is not None))
    assert earliest is not None
    versions = bases if compacting is None else [*bases, compacting.makes]
    # The newest slice before the earliest retained commit is what that commit shows of the group.
    first = max((base for base in versions if base < earliest), default=earliest)
    if compacting is not None:
        first = min(first, compacting.reads)
    return max(1, sum(base >= first for base in bases))


def _replaced_before(client: MetaClient, earliest: str | None) -> set[tuple[str, str]]:
    replaced = client.timeline.replaced_file_groups()
    if earliest is not None:
        replaced = replaced.filter(pc.less(replaced["instant"], earliest))
    return set(zip(replaced["partition"].to_pylist(), replaced["file_id"].to_pylist(), strict=True))


def _change_files(files: pa.Table, earliest: str | None) -> pa.Table:
    """Files of change data before the earliest retained commit."""
    parts = parse_file_names(files["name"])
    old = pc.equal(parts["kind"], FileKind.CDC.value)
    if earliest is None:
        return CLEAN_FILES_SCHEMA.empty_table()
    old = pc.and_(old, pc.fill_null(pc.less(parts["instant"].cast(pa.string()), earliest), False))
    return files.filter(old).select(CLEAN_FILES_SCHEMA.names)


def _without_savepointed(client: MetaClient, files: pa.Table) -> pa.Table:
    savepointed: set[tuple[str, str]] = set()
    for instant in client.timeline.completed({"savepoint"}):
        for partition, names in client.timeline.savepoint_metadata(instant).partitions.items():
            savepointed |= {(partition, name) for name in names}
    if not savepointed:
        return files
    places = zip(files["partition"].to_pylist(), files["name"].to_pylist(), strict=True)
    return files.filter(pa.array([place not in savepointed for place in places], pa.bool_()))


def _emptied(client: MetaClient, files: pa.Table, doomed: pa.Table, *, look_at_all: bool) -> tuple[str, ...]:
    """Partitions, all or those with doomed files, of which no data file is left once the doomed ones are gone."""
    if not client.config.is_partitioned or not doomed.num_rows:
        return ()
    parts = parse_file_names(files["name"])
    data = files.select(FILES_SCHEMA.names).filter(pc.not_equal(parts["kind"], FileKind.OTHER.value))
    going = set(zip(doomed["partition"].to_pylist(), doomed["name"].to_pylist(), strict=True))
    left = {
        partition
        for partition, name in zip(data["partition"].to_pylist(), data["name"].to_pylist(), strict=True)
        if (partition, name) not in going
    }
    # As in Hudi, of all also those that an earlier clean emptied while a write was pending.
    paths = client.partition_paths() if look_at_all else []
    return tuple(sorted({*paths, *(partition for partition, _ in going)} - left))
