"""Snapshot, read-optimised and time-travel planning: the newest visible slices at a moment.

Source: docs/format.md#snapshot-and-time-travel, docs/format/rules.md#time-travel-bounds.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import TimeTravelError
from hudi_hive.plan.core.spread_slices import SlicesOfFiles, slices_of_view, spread_slices
from hudi_hive.plan.model import PlanStep, QueryType
from hudi_hive.table import FILES_SCHEMA, MetaClient
from hudi_hive.table.view import parse_file_names, stored_names
from hudi_hive.timeline import Instant, State, Timeline
from hudi_hive.timeline.instants import REPLACE_COMMIT


def snapshot_slices(
    client: MetaClient, partitions: list[str], query_type: QueryType, as_of: str | None, files: pa.Table | None = None
) -> tuple[pa.Table, list[PlanStep]]:
    """The slices of partitions that a query of the type reads.

    Args:
        client: the table.
        partitions: the partitions to look into.
        query_type: SNAPSHOT or READ_OPTIMIZED.
        as_of: newest requested time to see, or None.
        files: the listing of the partitions, if it was made already.

    Raises:
        FileVanishedError: files that the moment of the client's timeline shows were cleaned since.
    """
    timeline = client.timeline  # read before the listing: see FileSystemView
    merged = client.config.is_merge_on_read and query_type is QueryType.SNAPSHOT
    part = spread_slices(client, partitions, merged=merged) if files is None and as_of is None else None
    if part is None:
        files = client.list_files(partitions) if files is None else files
        view = client.file_system_view(files=files)
        if as_of is not None:
            client.refuse_removed_files()
            refuse_cleaned_files(client, as_of, files, set(partitions).__contains__, logs=merged)
        slices = slices_of_view(view, timeline, merged=merged, as_of=as_of)
        part = SlicesOfFiles(slices, files.num_rows, view.has_hidden_files)
    if part.hidden and as_of is None:
        client.refuse_removed_files()
    slices = part.slices
    if merged:
        logs = pc.sum(pc.list_value_length(slices.column("log_files"))).as_py() or 0
        after = slices.num_rows - slices.column("base_file").null_count + logs
        return slices, [PlanStep("base and log files of each newest file slice", "files", part.files, after)]
    return slices, [PlanStep("newest visible base file of each file group", "files", part.files, slices.num_rows)]


def check_time_travel(client: MetaClient, as_of: str) -> None:
    """Refuse a time of time travel that the table cannot show completely, as Hudi does.

    Before its first commit a table has no rows, which is no error.

    Raises:
        TimeTravelError: the time lies behind the cleaner's earliest retained commit, or at or after a pending write.
    """
    timeline = client.timeline
    retained = earliest_retained(timeline)
    if retained is not None and as_of < retained:
        raise TimeTravelError(
            f"the files of {as_of} were cleaned: the earliest retained commit is {retained}",
            path=client.base_path,
            instant=as_of,
            remedy=f"ask for {retained} or later, or keep more commits when cleaning",
        )
    pending = _first_pending_write(timeline)
    if pending is not None and as_of >= pending.requested:
        raise TimeTravelError(
            f"the {pending.action} at {pending.requested} has not completed",
            path=client.base_path,
            instant=as_of,
            remedy=f"ask for a time before {pending.requested}, or for now",
        )


def partitions_cleaned(client: MetaClient) -> set[str]:
    """Partitions in which cleans by file versions deleted files; some of them may not exist any more."""
    timeline = client.timeline
    cleans = [timeline.clean_metadata(clean) for clean in timeline.completed({"clean"})]
    return {partition for clean in cleans if clean.earliest_retained is None for partition in clean.partitions}


def refuse_cleaned_files(
    client: MetaClient, as_of: str, files: pa.Table, covers: Callable[[str], bool], *, logs: bool = False
) -> None:
    """Refuse a time at which a file was visible that has been cleaned.

    Cleans by commits tell up to where the past is whole (:func:`check_time_travel`). Those that keep a number of file
    versions do not, so the files that they deleted are put back into the listing: the view must choose none of them.

    Args:
        client: the table.
        as_of: requested time.
        files: the listing of the partitions that are looked at.
        covers: whether a partition is looked at, if it is still there or not.
        logs: log files are read, too: a slice may have had no base file.

    Raises:
        TimeTravelError: the view at that time would need a cleaned file.
    """
    timeline = client.timeline
    listed = files.select(FILES_SCHEMA.names)
    tables = [listed]
    for clean in timeline.completed({"clean"}):
        metadata = timeline.clean_metadata(clean)
        if metadata.earliest_retained is None:
            for partition in filter(covers, metadata.partitions):
                names = pa.array(metadata.partitions[partition].deleted, pa.string())
                columns = [
                    pa.repeat(pa.scalar(partition, pa.string()), len(names)),
                    names,
                    pa.nulls(len(names), pa.int64()),
                ]
                tables.append(pa.table(columns, schema=FILES_SCHEMA))
    if len(tables) == 1:
        return
    view = client.file_system_view(files=pa.concat_tables(tables))
    chosen = view.latest_base_files(as_of).select(["partition", "name"])
    if logs and client.config.is_merge_on_read:
        chosen = _files_of(view.latest_merged_file_slices(as_of))
    cleaned = chosen.filter(pc.invert(pc.is_in(chosen.column("name"), value_set=stored_names(listed.column("name")))))
    if cleaned.num_rows:
        cleaned = _unless_replaced(timeline, as_of, cleaned)
    if cleaned.num_rows:
        partition, name = cleaned.column("partition")[0].as_py(), cleaned.column("name")[0].as_py()
        raise TimeTravelError(
            f"{cleaned.num_rows} file(s) of {as_of} were cleaned",
            path=client.storage.uri(f"{partition}/{name}" if partition else name),
            instant=as_of,
            remedy="ask for a later time, or keep more file versions when cleaning",
        )


def _unless_replaced(timeline: Timeline, as_of: str, files: pa.Table) -> pa.Table:
    """Files without those of groups that archived instants replaced, which no view knows as replaced."""
    keys = ["partition", "file_id"]
    archived = [i for i in timeline.archived().instants if i.is_completed and i.action == REPLACE_COMMIT]
    replaced = [timeline.commit_metadata(i).replaced.select(keys) for i in archived if i.requested <= as_of]
    if not replaced:
        return files
    named = files.append_column("file_id", parse_file_names(files.column("name"))["file_id"].cast(pa.string()))
    gone = pa.concat_tables(replaced).cast(pa.schema([(key, pa.string()) for key in keys]))
    return named.join(gone, keys, join_type="left anti").select(files.column_names)


def _files_of(slices: pa.Table) -> pa.Table:
    """Partition and name of all files of slices."""
    logs = slices.column("log_files").combine_chunks()
    bases = pa.table({"partition": slices.column("partition"), "name": slices.column("base_file")})
    partitions = slices.column("partition").take(pc.list_parent_indices(logs))
    names = pa.table({"partition": partitions, "name": pc.list_flatten(logs)})
    return pa.concat_tables([bases.filter(pc.is_valid(bases.column("name"))), names])


def check_first_commit(client: MetaClient, as_of: str) -> None:
    """Refuse a time before the table's first commit, those in the archive counted.

    Raises:
        TimeTravelError: the time lies there, or the table has no commit.
    """
    first_active = min((i.requested for i in client.timeline.write_instants()), default=None)
    if first_active is not None and as_of >= first_active:
        return
    archived = [i.requested for i in client.timeline.archived().instants if i.is_completed and i.is_write]
    first = min(archived, default=first_active)
    if first is None or as_of < first:
        known = f"its first known commit is {first}" if first else "the table has no commit"
        raise TimeTravelError(
            f"the table cannot be shown as of {as_of}: {known}",
            path=client.base_path,
            instant=as_of,
            remedy=f"ask for {first} or later" if first else "read it without as_of",
        )


def earliest_retained(timeline: Timeline) -> str | None:
    """The earliest commit that completed and running cleans retain; None when nothing was cleaned."""
    cleans = timeline.completed({"clean"})
    running = [clean for clean in timeline.pending({"clean"}) if clean.state is State.INFLIGHT]
    if not cleans and not running:
        return None
    retained_instants = [timeline.cleaner_plan(clean).earliest_retained for clean in running]
    if cleans:
        # A clean by file versions tells none: those before it have taken files all the same.
        recorded = (timeline.clean_metadata(clean).earliest_retained for clean in reversed(cleans))
        retained_instants.append(next((time for time in recorded if time), None))
    first = min((instant.requested for instant in timeline.write_instants()), default=None)
    return max((time for time in (retained or first for retained in retained_instants) if time), default=None)


def _first_pending_write(timeline: Timeline) -> Instant | None:
    """The oldest pending commit, delta commit or replace commit; clustering does not count, it changes no row."""
    clustering = set(timeline.pending_clustering().column("instant").to_pylist())
    for instant in timeline.pending({"commit", "deltacommit", "replacecommit"}):
        if instant.requested not in clustering:
            return instant
    return None
