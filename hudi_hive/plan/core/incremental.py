"""Plans incremental queries from commit metadata, without listing folders.

A range is ``begin`` exclusive to ``end`` inclusive: of requested times in table version 6, of completion times above.

Source: docs/format.md#incremental-queries, docs/format/rules.md#incremental-bounds,
docs/format/rules.md#incremental-from-the-archive, docs/format/rules.md#hollow-commits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import CorruptInstantError, HollowCommitError, IncrementalRangeError
from hudi_hive.plan.model import HollowCommitPolicy, with_paths
from hudi_hive.storage import PathKind, Storage
from hudi_hive.table import FileSystemView, MetaClient
from hudi_hive.table.view import stored_names
from hudi_hive.timeline import CommitMetadata, Instant, Timeline, millis_to_instant

WRITTEN_SCHEMA = pa.schema(
    [
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("instant", pa.string()),
        ("name", pa.string()),
        ("size", pa.int64()),
    ]
)
"""A row per base file that a commit wrote; ``instant`` is the commit's requested time."""

_LOOK_BACK = timedelta(days=3)
"""A commit may complete long after later ones: the archive is asked for those requested this long before ``begin``."""


@dataclass(frozen=True, slots=True)
class CommitRange:
    """The completed writes of a range.

    Attributes:
        instants: them, by requested time.
        others: completed writes known that are not in the range, by requested time.
        archived: requested times that come from the archived timeline.
        checkpoint: greatest time of the range, to begin the next query with; None when the range is empty.
        considered: how many completed writes were looked at.
    """

    instants: tuple[Instant, ...]
    others: tuple[Instant, ...]
    archived: frozenset[str]
    checkpoint: str | None

    @property
    def considered(self) -> int:
        """The number of completed writes that were considered."""
        return len(self.instants) + len(self.others)

    def requested_times(self) -> pa.Array:
        """Requested times of the range's commits, which are the commit times of the rows they wrote."""
        return pa.array([instant.requested for instant in self.instants], pa.string())

    def metadata(self, timeline: Timeline, instant: Instant) -> CommitMetadata:
        """Read the metadata of a commit from the active timeline or the archive."""
        if instant.requested in self.archived:
            return timeline.archived().commit_metadata(instant)
        return timeline.commit_metadata(instant)


def select_commits(
    client: MetaClient,
    begin: str,
    end: str | None = None,
    policy: HollowCommitPolicy = HollowCommitPolicy.FAIL,
    *,
    compactions: bool = False,
) -> CommitRange:
    """Select the completed writes with ``begin`` < time <= ``end``, archived ones included.

    The time is the requested one in table version 6 (with the policy USE_TRANSITION_TIME: when the commit's file was
    written) and the completion time above. Compactions of a merge-on-read table are left out unless asked for: they
    write no new row, only base files that a reader of base files alone has not seen.

    Raises:
        HollowCommitError: version 6: a pending write is older than a completed one and the policy is FAIL.
    """
    timeline = client.timeline
    left_out = client.config.is_merge_on_read and not compactions

    def is_compaction(instant: Instant) -> bool:
        return instant.action == "commit" and merges_logs(commit_range.metadata(timeline, instant))

    commit_range = CommitRange((), (), frozenset(), None)
    active = list(timeline.write_instants())
    if timeline.layout == 1:
        if left_out and timeline.pending({"commit", "deltacommit", "replacecommit"}):
            active = [instant for instant in active if not is_compaction(instant)]
        active = without_hollow(client, active, policy)
    archived: list[Instant] = []
    if _reaches_archive(timeline, begin):
        here = {instant.requested for instant in timeline.instants if instant.is_write}  # not a savepoint's time
        archived = [
            i for i in timeline.archived().instants if i.is_completed and i.is_write and i.requested not in here
        ]
    by_transition = timeline.layout == 1 and policy is HollowCommitPolicy.USE_TRANSITION_TIME
    commit_range = replace(commit_range, archived=frozenset(i.requested for i in archived))
    chosen: list[Instant] = []
    others: list[Instant] = []
    last: str | None = None
    for instant in sorted([*archived, *active], key=lambda i: i.requested):
        time = range_time(client, instant, by_transition)
        if begin < time and (end is None or time <= end):
            if left_out and is_compaction(instant):
                continue
            chosen.append(instant)
            last = time if last is None else max(last, time)
        elif not left_out or instant.action != "commit":
            others.append(instant)
    return replace(commit_range, instants=tuple(chosen), others=tuple(others), checkpoint=last)


def merges_logs(metadata: CommitMetadata) -> bool:
    """Whether a ``commit`` of a merge-on-read table is a compaction, which brings no new row.

    Others are from before the table became merge-on-read. Early releases do not say what a commit is.
    """
    return metadata.operation in (None, "", "UNKNOWN", "COMPACT")


def range_time(client: MetaClient, instant: Instant, by_transition: bool = False) -> str:
    """The time of a completed write in ranges; with ``by_transition`` (version 6) its file's modification time."""
    timeline = client.timeline
    if by_transition:
        millis = timeline.mtime_ms(instant)
        return millis_to_instant(millis, client.config.timezone) if millis is not None else instant.requested
    if timeline.layout == 1:
        return instant.requested
    if instant.completed:
        return instant.completed
    # A commit that an upgrade took over from layout 1 has no completion time in its name. Asking for the time of one
    # goes through all instants: it is no way to go for those that have theirs.
    completion_time = timeline.completion_times(pa.array([instant.requested], pa.string()))[0].as_py()
    return str(completion_time or instant.requested)


def _reaches_archive(timeline: Timeline, begin: str) -> bool:
    first = timeline.first_active()  # not a savepointed commit that the archive has gone past
    if first is None:
        return True
    if timeline.layout == 1:
        return begin < first
    return _earlier(begin) < first


def _earlier(begin: str) -> str:
    """``begin`` less the look-back; what is no date stays as it is."""
    try:
        moment = datetime.strptime(begin[:14].ljust(14, "0"), "%Y%m%d%H%M%S")
        return f"{moment - _LOOK_BACK:%Y%m%d%H%M%S}"
    except (ValueError, OverflowError):
        return begin


def without_hollow(client: MetaClient, active: list[Instant], policy: HollowCommitPolicy) -> list[Instant]:
    """The active writes under the policy for hollow commits.

    Version 6 counts by requested time, so that a commit that completes late would fall behind a consumer's checkpoint
    and be lost.

    Raises:
        HollowCommitError: a pending write is older than a completed one and the policy is FAIL.
    """
    if policy is HollowCommitPolicy.USE_TRANSITION_TIME:
        return active
    timeline = client.timeline
    clustering = set(timeline.pending_clustering().column("instant").to_pylist())
    pending = [
        i.requested
        for i in timeline.pending({"commit", "deltacommit", "replacecommit"})
        if i.requested not in clustering
    ]
    first = min(pending, default=None)
    if first is None or not any(instant.requested > first for instant in active):
        return active
    if policy is HollowCommitPolicy.BLOCK:
        return [instant for instant in active if instant.requested < first]
    raise HollowCommitError(
        f"the pending commit {first} is older than completed ones",
        path=client.base_path,
        instant=first,
        remedy="set hoodie.read.timeline.holes.resolution.policy to BLOCK or USE_TRANSITION_TIME, or roll it back",
    )


# -- files ---------------------------------------------------------------------------------------------------------


def files_of_range(client: MetaClient, commits: CommitRange) -> pa.Table:
    """The newest base file of each file group that the range's commits wrote, a table of :data:`WRITTEN_SCHEMA`.

    Log files are passed over, as a reader of base files alone does.

    Groups that a commit of the range replaced are left out: what took their place is in the range too.

    Args:
        client: the table.
        commits: the range.

    Raises:
        CorruptInstantError: a commit cannot be decoded.
    """
    written, replaced = _written(client, commits, commits.instants)
    if not written.num_rows:
        return written
    # Rows are in the order of the commits: the greatest row number of a group is its newest file.
    rows = pa.table({"group": _group_keys(written), "row": pa.array(np.arange(written.num_rows))})
    newest = rows.group_by("group").aggregate([("row", "max")])
    if replaced.num_rows:
        newest = newest.filter(pc.invert(pc.is_in(newest.column("group"), value_set=_group_keys(replaced))))
    files = written.take(newest.column("row_max"))
    names = stored_names(files.column("name"))
    files = files.set_column(files.column_names.index("name"), WRITTEN_SCHEMA.field("name"), names)
    return files.sort_by([("partition", "ascending"), ("file_id", "ascending")])


def slices_of_range(client: MetaClient, commits: CommitRange) -> tuple[pa.Table, pa.Table]:
    """The slices that the range's commits wrote to, of each file group of a merge-on-read table.

    A group's slice has its newest base file of the range and the log files of the range on top of it; without such a
    base file, all its log files of the range. Groups that a commit of the range replaced are left out.

    Args:
        client: the table.
        commits: the range, compactions included: the base files that they wrote hold what older log files did.

    Returns:
        The slices, as a plan has them, and all their files as a table of :data:`WRITTEN_SCHEMA`.

    Raises:
        CorruptInstantError: a commit cannot be decoded.
    """
    written, replaced = _written(client, commits, commits.instants, logs=True)
    if replaced.num_rows:
        written = written.filter(pc.invert(pc.is_in(_group_keys(written), value_set=_group_keys(replaced))))
    # Several commits of version 6 may have appended to one log file: its last row has its full size.
    numbered = pa.table({"path": _paths(written), "row": pa.array(np.arange(written.num_rows))})
    _refuse_copies(client, numbered.append_column("size", written.column("size")), written)
    written = written.take(numbered.group_by("path").aggregate([("row", "max")]).column("row_max"))
    slices = with_paths(newest_states(FileSystemView(written, client.timeline).file_slices()))
    slice_files = pa.concat_tables(
        [
            pa.table({"partition": slices.column("partition"), "name": slices.column("base_file")}),
            pa.table(
                {
                    "partition": slices.column("partition").take(pc.list_parent_indices(slices.column("log_files"))),
                    "name": pc.list_flatten(slices.column("log_files")),
                }
            ),
        ]
    )
    return slices, written.filter(pc.is_in(_paths(written), value_set=_paths(slice_files)))


def _refuse_copies(client: MetaClient, numbered: pa.Table, written: pa.Table) -> None:
    """Refuse commits that both wrote a file at one size: one that appended to a file of another left it larger.

    Raises:
        CorruptInstantError: there are such; the metadata of one is a copy of the other's.
    """
    same = numbered.group_by(["path", "size"]).aggregate([("row", "min"), ("row", "max")])
    same = same.filter(pc.not_equal(same.column("row_min"), same.column("row_max")))
    if same.num_rows:
        first, last = (
            written.column("instant")[same.column(f"row_{end}")[0].as_py()].as_py() for end in ("min", "max")
        )
        raise CorruptInstantError(
            f"the commits {first} and {last} both name {same.column('path')[0].as_py()} as written: "
            "the metadata of one is in the place of the other's",
            path=client.storage.uri(client.timeline.get(last).path),
            instant=last,
            remedy="restore the files of both instants from another copy",
        )


def newest_states(slices: pa.Table) -> pa.Table:
    """One slice for each group: its newest base file and the log files of that slice and the later ones.

    Args:
        slices: visible slices, sorted by group and oldest first, as the file-system view has them.
    """
    if not slices.num_rows:
        return slices
    groups = _group_keys(slices).dictionary_encode().indices.to_numpy().astype(np.int64)
    has_base = slices.column("base_file").is_valid().to_numpy(zero_copy_only=False)
    first_of_group = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    rows = np.arange(len(groups))
    begin = np.maximum.reduceat(np.where(has_base, rows, -1), first_of_group)
    begin = np.where(begin < 0, first_of_group, begin)
    ends = np.append(first_of_group[1:], len(groups))
    states = slices.take(pa.array(begin))
    logs = [slices.column(name).combine_chunks() for name in ("log_files", "log_sizes")]
    counts = pc.fill_null(pc.list_value_length(logs[0]), 0).to_numpy().astype(np.int64)
    offsets = np.append(0, np.cumsum(counts))
    chosen = [np.arange(offsets[b], offsets[e]) for b, e in zip(begin, ends, strict=True)]
    lengths = np.append(0, np.cumsum([len(part) for part in chosen])).astype(np.int32)
    places = pa.array(np.concatenate(chosen).astype(np.int64))
    for name, column in zip(("log_files", "log_sizes"), logs, strict=True):
        joined = pa.ListArray.from_arrays(pa.array(lengths), pc.list_flatten(column).take(places))
        states = states.set_column(states.column_names.index(name), states.schema.field(name), joined)
    return states


def _paths(files: pa.Table) -> pa.Array:
    """Paths below the base path of files given as partition and name; null where there is no name."""
    joined = pc.binary_join_element_wise(files.column("partition"), files.column("name"), "/")
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def _written(
    client: MetaClient, commits: CommitRange, instants: Iterable[Instant], *, logs: bool = False
) -> tuple[pa.Table, pa.Table]:
    """Base files (with ``logs`` also log files) that instants wrote, in their order, and groups that they replaced."""
    timeline = client.timeline
    files: list[pa.Table] = [WRITTEN_SCHEMA.empty_table()]
    replaced: list[pa.Table] = [pa.schema([("partition", pa.string()), ("file_id", pa.string())]).empty_table()]
    timeline.read_ahead(i for i in instants if i.requested not in commits.archived)
    for instant in instants:
        metadata = commits.metadata(timeline, instant)
        stats = metadata.write_stats
        paths = stats.column("path").cast(pa.string())
        stats = stats.filter(pc.fill_null(pc.greater(pc.utf8_length(paths), 0), False))
        names = pc.replace_substring_regex(stats.column("path").cast(pa.string()), r"(?s)^.*/", "")
        if not logs:
            bases = pc.invert(pc.starts_with(names, "."))
            stats, names = stats.filter(bases), names.filter(bases)
        times = pa.repeat(pa.scalar(instant.requested, pa.string()), stats.num_rows)
        columns = [stats.column("partition"), stats.column("file_id"), times, names, stats.column("file_size")]
        files.append(pa.table(columns, names=WRITTEN_SCHEMA.names).cast(WRITTEN_SCHEMA))
        replaced.append(metadata.replaced.select(["partition", "file_id"]).cast(replaced[0].schema))
    return pa.concat_tables(files), pa.concat_tables(replaced)


def _group_keys(table: pa.Table) -> pa.Array:
    """One text per row that two rows share when they are of one file group."""
    keys = pc.binary_join_element_wise(table.column("file_id"), table.column("partition"), "/")
    return keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys


def missing_files(client: MetaClient, commits: CommitRange, files: pa.Table) -> pa.Table:
    """The files among ``files`` that the cleaner has deleted.

    Only a file that was rewritten or replaced after the range can have been cleaned; these alone are looked for.
    """
    if not files.num_rows:
        return files
    first = pc.min(files.column("instant")).as_py()
    later = [instant for instant in commits.others if instant.requested > first]
    if not later:
        return files.slice(0, 0)
    groups = [_group_keys(part) for part in _touched(client, commits, later)]
    superseded = pc.is_in(_group_keys(files), value_set=pa.concat_arrays(groups))
    suspects = files.filter(superseded)
    there = _exist(client.storage, suspects)
    return suspects.filter(pa.array([not found for found in there], pa.bool_()))


def _touched(client: MetaClient, commits: CommitRange, instants: Iterable[Instant]) -> list[pa.Table]:
    tables = [pa.schema([("partition", pa.string()), ("file_id", pa.string())]).empty_table()]
    instants = tuple(instants)
    client.timeline.read_ahead(i for i in instants if i.requested not in commits.archived)
    for instant in instants:
        metadata = commits.metadata(client.timeline, instant)
        for table in (metadata.write_stats, metadata.replaced):
            tables.append(table.select(["partition", "file_id"]).cast(tables[0].schema))
    return tables


def _exist(storage: Storage, files: pa.Table) -> list[bool]:
    partitions, names = files.column("partition").to_pylist(), files.column("name").to_pylist()
    paths = [f"{partition}/{name}" if partition else name for partition, name in zip(partitions, names, strict=True)]
    return [status.kind is not PathKind.MISSING for status in storage.statuses(paths)]


def cleaned_error(client: MetaClient, missing: pa.Table) -> IncrementalRangeError:
    """Make the error for a range whose files were cleaned."""
    partition, name, instant = (missing.column(key)[0].as_py() for key in ("partition", "name", "instant"))
    return IncrementalRangeError(
        f"{missing.num_rows} file(s) of the range were cleaned, {name} for one",
        path=client.storage.uri(f"{partition}/{name}" if partition else name),
        instant=instant,
        remedy="begin later, or set hoodie.datasource.read.incr.fallback.fulltablescan.enable to scan the whole table",
    )


# -- path glob -----------------------------------------------------------------------------------------------------


def matching_glob(slices: pa.Table, glob: str) -> pa.Table:
    """Slices of a plan whose path relative to the table matches ``hoodie.datasource.read.incr.path.glob``.

    As Hudi does, the glob is matched from anywhere to the path's end, and ``*`` also matches ``/``; a slice without
    base file is matched by its newest log file.
    """
    logs = [names[-1] if names else None for names in slices.column("log_files").to_pylist()]
    newest = pa.table({"partition": slices.column("partition"), "name": pa.array(logs, pa.string())})
    paths = pc.coalesce(slices.column("path"), _paths(newest)).to_pylist()
    pattern = re.compile(".*" + _glob_regex(glob), re.DOTALL)
    return slices.filter(pa.array([pattern.fullmatch("/" + path) is not None for path in paths], pa.bool_()))


def _glob_regex(glob: str) -> str:
    parts: list[str] = []
    depth = 0
    for char in glob:
        if char == "{":
            depth += 1
            parts.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            parts.append(")")
        elif char == "," and depth:
            parts.append("|")
        else:
            parts.append({"*": ".*", "?": "."}.get(char) or re.escape(char))
    return "".join(parts) + ")" * depth
