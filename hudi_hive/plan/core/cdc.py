"""Plans change data queries: for each commit and file group of a range, the files that hold its changes.

A commit of a copy-on-write table lists the changes of a rewritten file in ``.cdc`` files. Where it has none they follow
from the file group before and after it.

Source: docs/format.md#change-data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import IncrementalRangeError, UnsupportedTableError
from hudi_hive.metadata.reader import METADATA_SOURCE
from hudi_hive.plan.core.incremental import CommitRange
from hudi_hive.plan.model import CHANGE_SCHEMA, PLAN_SCHEMA, with_paths
from hudi_hive.table import FileSystemView, MetaClient
from hudi_hive.table.logs import with_recorded_sizes
from hudi_hive.table.view import SLICE_SCHEMA

CDC_SCHEMA = pa.schema([("op", pa.string()), ("ts_ms", pa.string()), ("before", pa.string()), ("after", pa.string())])
"""What a change data query shows: ``i``, ``u`` or ``d``, the commit's requested time, and both images as JSON."""

DATA_BEFORE_AFTER, DATA_BEFORE, OP_KEY_ONLY = "DATA_BEFORE_AFTER", "DATA_BEFORE", "OP_KEY_ONLY"

_Slice: TypeAlias = dict[str, Any]
"""A row of :data:`~hudi_hive.table.view.SLICE_SCHEMA`."""

_SERVICES = frozenset({"CLUSTER", "COMPACT", "LOG_COMPACT", "INDEX"})
"""Operations that change no row."""


class Case(StrEnum):
    """The source of a commit's changes to one file group.

    ``LISTED``: by ``.cdc`` files. ``INSERTED``: all rows of its new base file are new. ``DELETED``: all rows that it
    had are gone, by a delete or because the group was replaced. ``COMPARED``: by its rows before and after.
    """

    LISTED = "listed"
    INSERTED = "inserted"
    DELETED = "deleted"
    COMPARED = "compared"


@dataclass(frozen=True, slots=True)
class _Change:
    """One file group that one commit changed."""

    instant: str
    partition: str
    file_id: str
    case: Case
    cdc_files: list[str] = field(default_factory=list)
    base: bool = False  # the commit wrote a base file
    previous: bool = False  # the group was there before
    alone: bool = False  # a log file whose slice is named after its own commit, so that it may be the group's first
    cdc_sizes: list[int] = field(default_factory=list)  # bytes of each, as the commit recorded them
    appended_to: list[str] = field(default_factory=list)  # the base file of the slice that a log file was added to


def refuse_without_changes(client: MetaClient) -> None:
    """Refuse a table without change data capture.

    Raises:
        UnsupportedTableError: ``hoodie.table.cdc.enabled`` is not set, or an unknown logging mode is.
    """
    config = client.config
    if not config.cdc_enabled:
        raise UnsupportedTableError(
            "the table keeps no change data (hoodie.table.cdc.enabled is not true)",
            path=client.base_path,
            remedy="query_type='incremental' shows the newest state of changed rows",
        )
    if config.cdc_logging_mode not in (DATA_BEFORE_AFTER, DATA_BEFORE, OP_KEY_ONLY):
        raise UnsupportedTableError(
            f"hoodie.table.cdc.supplemental.logging.mode={config.cdc_logging_mode} is not known", path=client.base_path
        )


def changes_of_range(client: MetaClient, commits: CommitRange) -> tuple[pa.Table, pa.Table]:
    """The slices and change files of all changes that the commits of a range made.

    Args:
        client: the table.
        commits: the range.

    Returns:
        Slices as a plan has them: of each changed file group its state after the commit (no file where nothing is
        left), by commit; and the rows of :data:`CHANGE_SCHEMA` that go with them.

    Raises:
        CorruptInstantError: a commit cannot be decoded.
        IncrementalRangeError: a file that is needed was cleaned.
    """
    changes = [change for instant in commits.instants for change in _changes(client, commits, instant)]
    touched = sorted({change.partition for change in changes})
    files = client.list_files(touched)
    listed = set(zip(files.column("partition").to_pylist(), files.column("name").to_pylist(), strict=True))
    view = client.file_system_view(files=files)
    slices: list[_Slice] = []
    rows: list[dict[str, Any]] = []
    states: dict[str, Mapping[tuple[str, str], _Slice]] = {}
    for change in changes:
        for name in (*change.cdc_files, *change.appended_to):
            if (change.partition, name) not in listed:
                raise _cleaned(client, change, name)
        if change.instant not in states:
            states = {change.instant: _state(view, change.instant), "": _state(view, _just_before(change.instant))}
        group = (change.partition, change.file_id)
        after, before = _images(client, commits, change, states[change.instant].get(group), states[""].get(group))
        slices.append({**(after or _no_slice(change)), "partition": change.partition, "file_id": change.file_id})
        rows.append(_change_row(change, before))
    if not slices:
        return PLAN_SCHEMA.empty_table(), CHANGE_SCHEMA.empty_table()
    planned, changed = pa.Table.from_pylist(slices, SLICE_SCHEMA), pa.Table.from_pylist(rows, CHANGE_SCHEMA)
    if client.lister.source != METADATA_SOURCE:
        planned, changed = _as_recorded(client, planned, changed)
    return with_paths(planned), changed


def _images(
    client: MetaClient, commits: CommitRange, change: _Change, after: _Slice | None, before: _Slice | None
) -> tuple[_Slice | None, _Slice | None]:
    """The slices that a change is read from: of its file group after the commit and before it, None if not needed.

    Raises:
        IncrementalRangeError: a slice that is needed was cleaned.
    """
    mode = client.config.cdc_logging_mode
    needs_after = change.case is not Case.DELETED and (change.case is not Case.LISTED or mode != DATA_BEFORE_AFTER)
    needs_before = change.previous and (change.case is not Case.LISTED or mode == OP_KEY_ONLY)
    if needs_after and (after is None or (change.base and after["base_instant"] != change.instant)):
        raise _cleaned(client, change, None)
    if needs_before and before is None and not (change.alone and _is_first(client, commits, change)):
        raise _cleaned(client, change, None)
    return after if needs_after else None, before if needs_before else None


def _no_slice(change: _Change) -> _Slice:
    return {
        "base_instant": change.instant,
        "base_file": None,
        "base_size": None,
        "log_files": [],
        "log_sizes": [],
    }


def _change_row(change: _Change, before: _Slice | None) -> dict[str, Any]:
    """A row of :data:`CHANGE_SCHEMA`."""
    return {
        "instant": change.instant,
        "case": str(change.case),
        "cdc_files": change.cdc_files,
        "cdc_sizes": change.cdc_sizes,
        "before_instant": before["base_instant"] if before else None,
        "before_file": before["base_file"] if before else None,
        "before_size": before["base_size"] if before else None,
        "before_logs": before["log_files"] if before else [],
        "before_log_sizes": before["log_sizes"] if before else [],
    }


def _as_recorded(client: MetaClient, after: pa.Table, changes: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Both with the sizes of log files that commits recorded, in place of those of a listing."""
    before = {"log_files": changes.column("before_logs"), "log_sizes": changes.column("before_log_sizes")}
    table = pa.table({"partition": after.column("partition"), **before})
    after, table = (with_recorded_sizes(client.timeline, client.storage, slices) for slices in (after, table))
    place = changes.column_names.index("before_log_sizes")
    return after, changes.set_column(place, "before_log_sizes", table.column("log_sizes"))


def _state(view: FileSystemView, as_of: str) -> dict[tuple[str, str], _Slice]:
    slices = view.latest_merged_file_slices(as_of).to_pylist()
    return {(row["partition"], row["file_id"]): row for row in slices}


def _just_before(instant: str) -> str:
    """A text that sorts before an instant and after all earlier ones of its length."""
    return str(int(instant) - 1).zfill(len(instant))


def _changes(client: MetaClient, commits: CommitRange, instant: Any) -> Iterator[_Change]:  # noqa: ANN401
    """The file groups that one commit changed."""
    metadata = commits.metadata(client.timeline, instant)
    if metadata.operation in _SERVICES:
        return
    columns = ["partition", "file_id", "path", "prev_commit", "num_writes", "num_deletes", "cdc_stats", "base_file"]
    seen: set[tuple[str, str]] = set()
    for stat in metadata.write_stats.select(columns).to_pylist():
        group = (stat["partition"], stat["file_id"])
        name = (stat["path"] or "").rpartition("/")[2]
        if not name or group in seen:
            continue
        seen.add(group)
        previous = stat["prev_commit"] not in (None, "", "null")
        base = not name.startswith(".")
        change_files = sorted((path.rpartition("/")[2], size) for path, size in stat["cdc_stats"] or [])
        listed, sizes = [name for name, _ in change_files], [size for _, size in change_files]
        if listed:
            case = Case.LISTED
        elif base and previous and not stat["num_writes"] and stat["num_deletes"]:
            case, base = Case.DELETED, False
        elif base and not previous:
            case = Case.INSERTED
        else:
            case = Case.COMPARED
        # Version 8 names the commit itself here for each log file, version 6 for the first one of a group.
        alone = not base and stat["prev_commit"] == instant.requested
        appended_to = [] if base or not stat["base_file"] else [stat["base_file"].rpartition("/")[2]]
        yield _Change(instant.requested, *group, case, listed, base, previous, alone, sizes, appended_to)
    for row in metadata.replaced.to_pylist():
        yield _Change(instant.requested, row["partition"], row["file_id"], Case.DELETED, previous=True)


def _is_first(client: MetaClient, commits: CommitRange, change: _Change) -> bool:
    """Whether no earlier commit wrote to the file group of a change."""
    group = (change.partition, change.file_id)
    for instant in (*commits.others, *commits.instants):
        if instant.requested < change.instant:
            stats = commits.metadata(client.timeline, instant).write_stats
            if group in zip(stats.column("partition").to_pylist(), stats.column("file_id").to_pylist(), strict=True):
                return False
    return True


def _cleaned(client: MetaClient, change: _Change, name: str | None) -> IncrementalRangeError:
    kind = "the file" if name is None or not name.endswith(".cdc") else "the change file"
    what = f"{kind} {name}" if name else f"a file of the file group {change.file_id}"
    return IncrementalRangeError(
        f"{what}, which tells the changes of {change.instant}, was cleaned",
        path=client.storage.uri(change.partition),
        instant=change.instant,
        remedy="begin later, or keep more commits when cleaning",
    )


def partitions_of(slices: pa.Table) -> list[str]:
    """The partitions of slices, sorted."""
    return sorted(pc.unique(slices.column("partition")).to_pylist())
