"""Plans incremental reads of a Hive job: commits, partitions, files and rows of a table's range.

Ranges are those of the whole package (:mod:`hudi_hive.plan.core.incremental`): start exclusive, end inclusive, by
requested time in table version 6 and by completion time from version 8 on, archived commits included.
Hive's own path adds:

* ``max.commits``: only the first commits of the range, by the same time; one, unless the job says so or gives an end.
* A start or end that is exactly the *requested* time of a commit stands for that commit from version 8 on, too: Hive
  users remember ``_hoodie_commit_time``. It is turned into the commit's completion time, so that a commit that was
  requested earlier and completed later is not lost.
* ``ro.stop.at.compaction``: the range ends before the first pending compaction.
* Compactions count, and log files do not: this is the read-optimised view of a merge-on-read table. A base file that
  a compaction or clustering wrote there is given whole, as Hive does: its rows keep the times of delta commits that a
  reader of base files may have passed without seeing them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.input_format.job import MAX_COMMITS_ALL, TableInputs
from hudi_hive.input_format.snapshot import LISTED_FILE_SCHEMA, base_files
from hudi_hive.plan.core import (
    CommitRange,
    cleaned_error,
    files_of_range,
    merges_logs,
    missing_files,
    range_time,
    select_commits,
    without_hollow,
)
from hudi_hive.plan.model import HollowCommitPolicy
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant


@dataclass(frozen=True, slots=True)
class IncrementalFiles:
    """The files of an incremental read of one table.

    Attributes:
        files: the newest base file of each file group that the range wrote, below the input paths
            (:data:`~hudi_hive.input_format.snapshot.LISTED_FILE_SCHEMA`).
        partitions: the partitions that the range wrote to, the input paths cover and the job's filter leaves, sorted.
        partitions_written: how many partitions the range wrote to.
        commit_times: the requested times of the range's commits: the commit times of the rows it wrote.
        merging: those of them that merged log files of a merge-on-read table into base files.
        checkpoint: the start to give next time, so that nothing is missed or seen twice.
        full_scan: the range's files were cleaned; ``files`` are today's, all partitions below the input paths.
    """

    files: pa.Table
    partitions: tuple[str, ...]
    partitions_written: int
    commit_times: pa.Array
    merging: frozenset[str]
    checkpoint: str
    full_scan: bool


def incremental_files(table: TableInputs) -> IncrementalFiles:
    """Plan a range from commit metadata, without listing folders except for a fallback to a full scan.

    Raises:
        HollowCommitError: a pending commit is older than a completed one and the policy says to fail.
        IncrementalRangeError: files of the range were cleaned and no full scan is allowed.
        UnsupportedTableError: a table without meta columns.
    """
    client, options, coverage = table.client, table.options, table.coverage
    refuse_without_meta(table)
    commits = commit_range(table)
    written = files_of_range(client, commits)
    touched = {
        partition
        for instant in commits.instants
        for partition in commits.metadata(client.timeline, instant).partitions_written()
    }
    files = written.filter(coverage.mask(written.column("partition"), written.column("name")))
    missing = missing_files(client, commits, files)
    full_scan = missing.num_rows > 0
    if full_scan:
        if not options.full_scan_fallback:
            raise cleaned_error(client, missing)
        files = base_files(table, None)
        touched = set(pc.unique(files.column("partition")).to_pylist())
    else:
        files = files.append_column(LISTED_FILE_SCHEMA.field("mtime_ms"), pa.nulls(files.num_rows, pa.int64()))
    assert options.start is not None
    partitions = table.partitions_read(sorted(touched))
    files = files.filter(pc.is_in(files.column("partition"), value_set=pa.array(partitions, pa.string())))
    return IncrementalFiles(
        files=files,
        partitions=tuple(partitions),
        partitions_written=len(touched),
        commit_times=commits.requested_times(),
        merging=_merging(client, commits),
        checkpoint=commits.checkpoint or options.start,
        full_scan=full_scan,
    )


def refuse_without_meta(table: TableInputs) -> None:
    """Refuse a table without meta columns, whose rows do not name their commit.

    Raises:
        UnsupportedTableError: it has no meta columns.
    """
    if not table.client.config.populate_meta_fields:
        raise UnsupportedTableError(
            "incremental reads need the meta columns, and the table has none (hoodie.populate.meta.fields=false)",
            path=table.client.base_path,
            remedy="read a snapshot",
        )


def _merging(client: MetaClient, commits: CommitRange) -> frozenset[str]:
    if not client.config.is_merge_on_read:
        return frozenset()
    merging: set[str] = set()
    for instant in commits.instants:
        metadata = commits.metadata(client.timeline, instant)
        if metadata.operation == "CLUSTER" or (instant.action == "commit" and merges_logs(metadata)):
            merging.add(instant.requested)
    return frozenset(merging)


def commit_range(table: TableInputs) -> CommitRange:
    """Select the commits of a table's job keys.

    Raises:
        HollowCommitError: see :func:`incremental_files`.
    """
    client, options = table.client, table.options
    policy = options.holes_policy or HollowCommitPolicy.FAIL
    by_transition = client.timeline.layout == 1 and policy is HollowCommitPolicy.USE_TRANSITION_TIME
    assert options.start is not None
    begin = _as_range_time(client, options.start, by_transition)
    end = _as_range_time(client, options.end, by_transition) if options.end is not None else None
    commits = select_commits(client, begin, end, policy, compactions=True)
    chosen = sorted(commits.instants, key=lambda instant: range_time(client, instant, by_transition))
    chosen = _before_blocked(client, chosen, _blocked(table, commits), by_transition)
    if options.max_commits != MAX_COMMITS_ALL:
        chosen = chosen[: options.max_commits]
    if len(chosen) == len(commits.instants):
        return commits
    retained = {instant.requested for instant in chosen}
    return replace(
        commits,
        instants=tuple(i for i in commits.instants if i.requested in retained),
        others=tuple(
            sorted(
                [*commits.others, *(i for i in commits.instants if i.requested not in retained)],
                key=lambda i: i.requested,
            )
        ),
        checkpoint=range_time(client, chosen[-1], by_transition) if chosen else None,
    )


def _as_range_time(client: MetaClient, time: str, by_transition: bool) -> str:
    """The time as ranges count it: that of the commit whose requested time it is exactly, else the time itself."""
    timeline = client.timeline
    if timeline.layout == 1 and not by_transition:
        return time
    writes: list[Instant] = list(timeline.write_instants())
    first = min((instant.requested for instant in writes), default=None)
    if first is None or (time < first and len(time) >= len(first)):
        writes += [i for i in timeline.archived().instants if i.is_completed and i.is_write]
    times = {instant.requested: range_time(client, instant, by_transition) for instant in writes}
    return time if time in times.values() else times.get(time, time)


def _blocked(table: TableInputs, commits: CommitRange) -> list[Instant]:
    """Commits of the range that must wait: behind a pending compaction, or behind a hole if the job says so.

    From version 8 on holes do no harm, completion times being in order: only a policy that the job names counts.
    """
    client, options = table.client, table.options
    blocked: list[Instant] = []
    pending = [i.requested for i in client.timeline.pending({"compaction"})] if options.stop_at_compaction else []
    if pending:
        blocked += [instant for instant in commits.instants if instant.requested > min(pending)]
    if client.timeline.layout >= 2 and options.holes_policy is not None:
        writes = list(client.timeline.write_instants())
        passed = set(without_hollow(client, writes, options.holes_policy))
        blocked += [instant for instant in writes if instant not in passed]
    return blocked


def _before_blocked(
    client: MetaClient, chosen: list[Instant], blocked: list[Instant], by_transition: bool
) -> list[Instant]:
    """The chosen commits without blocked ones and what counts as later than one of them.

    A consumer that goes on from the last commit it got would never see the blocked ones otherwise.
    """
    if not blocked:
        return chosen
    first = min(range_time(client, instant, by_transition) for instant in blocked)
    return [instant for instant in chosen if range_time(client, instant, by_transition) < first]
