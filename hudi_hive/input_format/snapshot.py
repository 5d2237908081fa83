"""Latest base files of a table below its input paths, now or at an instant of the past."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InstantNotFoundError
from hudi_hive.input_format.job import TableInputs, list_partitions
from hudi_hive.options import jobs
from hudi_hive.plan.core import check_first_commit, check_time_travel, refuse_cleaned_files
from hudi_hive.table import MetaClient
from hudi_hive.table.view import BASE_FILE_SCHEMA, FileSystemView, ViewTimeline
from hudi_hive.timeline import Instant, Timeline, normalise_instant

LISTED_FILE_SCHEMA = BASE_FILE_SCHEMA.append(pa.field("mtime_ms", pa.int64()))
"""Base files of a table: partition, file id, instant, name, bytes, time of last change (null when not listed)."""


def snapshot_files(table: TableInputs) -> tuple[pa.Table, str | None]:
    """Newest base file of each file group below the input paths, and the instant of the snapshot.

    Files are learnt from the metadata table, or by one listing per folder at or below the input paths.

    Raises:
        InstantNotFoundError: ``consume.commit`` is no instant of the active timeline.
        TimeTravelError: the time lies behind the cleaner, before the first commit or after a pending commit.
    """
    client, options = table.client, table.options
    timeline = client.timeline  # read before any listing: see FileSystemView
    as_of = query_instant(table)
    if not timeline.write_instants() and not options.pending_commits:
        return LISTED_FILE_SCHEMA.empty_table(), as_of
    return base_files(table, as_of), as_of


def base_files(table: TableInputs, as_of: str | None) -> pa.Table:
    """Newest visible base files at or before an instant, as :data:`LISTED_FILE_SCHEMA`.

    Raises:
        FileVanishedError: files that the moment of the client's timeline shows were cleaned since.
    """
    client = table.client
    timeline = timeline_of(table)
    coverage = table.coverage
    listed = list_partitions(table)
    view = FileSystemView(listed, timeline)
    client.refuse_earlier_table(view)
    if view.has_hidden_files or as_of is not None:
        client.refuse_removed_files()
    if as_of is not None:
        refuse_cleaned_files(client, as_of, listed, table.reads)
    files = view.latest_base_files(as_of)
    files = files.filter(coverage.mask(files.column("partition"), files.column("name")))
    rows = pc.index_in(_keys(files), value_set=_keys(listed))
    return files.append_column(LISTED_FILE_SCHEMA.field("mtime_ms"), listed.column("mtime_ms").take(rows))


def timeline_of(table: TableInputs) -> ViewTimeline:
    """The table's timeline by the job's options: with inflight commits visible or not."""
    return _WithPending(table.client) if table.options.pending_commits else table.client.timeline


def _keys(files: pa.Table) -> pa.Array:
    keys = pc.binary_join_element_wise(files.column("partition"), files.column("name"), "/")
    return pa.concat_arrays(keys.chunks) if keys.num_chunks else pa.array([], pa.string())


def query_instant(table: TableInputs) -> str | None:
    """The instant of the job's snapshot; None for the newest.

    ``consume.commit`` must be an instant of the commits timeline, as in Hudi; ``consume.snapshot.time`` may be any
    moment that the table can still show.

    Raises:
        InstantNotFoundError, TimeTravelError: see :func:`snapshot_files`.
    """
    client, options = table.client, table.options
    if options.commit is not None:
        _check_on_timeline(client, options.commit, options.pending_commits)
        if not options.pending_commits:
            check_time_travel(client, options.commit)
        return options.commit
    if options.snapshot_time is not None:
        moment = normalise_instant(options.snapshot_time, client.config.timezone)
        if not options.pending_commits:
            check_first_commit(client, moment)
            check_time_travel(client, moment)
        return moment
    return None


def _check_on_timeline(client: MetaClient, commit: str, with_pending: bool) -> None:
    commits = [
        instant.requested
        for instant in client.timeline.instants
        if instant.is_write and (instant.is_completed or instant.action == "compaction" or with_pending)
    ]
    if commit in commits:
        return
    earlier = max((time for time in commits if time < commit), default=None)
    raise InstantNotFoundError(
        f"{jobs.CONSUME_COMMIT.of_table(client.config.name)} is no instant of the active timeline",
        path=client.base_path,
        instant=commit,
        remedy=(f"the commit before it is {earlier}; " if earlier else "")
        + f"{jobs.CONSUME_SNAPSHOT_TIME.of_table(client.config.name)} takes any time",
    )


class _WithPending:
    """A table's timeline with inflight commits visible, as ``consume.pending.commits`` asks.

    Output of pending compactions and clusterings stays hidden: it holds no row that is not elsewhere, too.
    """

    def __init__(self, client: MetaClient) -> None:
        self._timeline: Timeline = client.timeline
        clustering = set(self._timeline.pending_clustering().column("instant").to_pylist())
        self._pending = pa.array(
            [i.requested for i in self._timeline.instants if _announces_rows(i) and i.requested not in clustering],
            pa.string(),
        )

    @property
    def layout(self) -> int:
        return self._timeline.layout

    def committed_mask(self, instants: pa.Array) -> pa.Array:
        return pc.or_(self._timeline.committed_mask(instants), pc.is_in(instants, value_set=self._pending))

    def completion_times(self, instants: pa.Array) -> pa.Array:
        return self._timeline.completion_times(instants)

    def replaced_file_groups(self) -> pa.Table:
        return self._timeline.replaced_file_groups()

    def pending_compactions(self) -> pa.Table:
        return self._timeline.pending_compactions()

    def written_names(self, times: Collection[str]) -> Collection[str]:
        return self._timeline.written_names(times)


def _announces_rows(instant: Instant) -> bool:
    return not instant.is_completed and instant.action in ("commit", "deltacommit", "replacecommit")
