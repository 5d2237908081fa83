"""Procedures about data files: file slices, one file's fate, sizes, and Parquet files that cannot be read.

Source: Hudi's ``ShowFileSystemViewProcedure``, ``ShowFileStatusProcedure``, ``ShowFsPathDetailProcedure``,
``StatsFileSizeProcedure``, ``ShowInvalidParquetProcedure``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_hive.errors import InvalidOptionError, SparkError
from hudi_hive.spark.bridge import JavaValue
from hudi_hive.spark.statements.procedures.base import (
    FILTER,
    PATH,
    TABLE,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    java_order,
    limited,
)
from hudi_hive.table.core import glob_regex
from hudi_hive.table.view import FileKind, FileSystemView, parse_file_names
from hudi_hive.timeline import Instant, Timeline
from hudi_hive.timeline.instants import CLEAN, RESTORE, ROLLBACK, WRITE_ACTIONS

ALL_PARTITIONS: Final = "ALL_PARTITIONS"
_GROUP: Final = ["partition", "file_id"]
_LIMIT: Final = Parameter("limit", "int", default=10)


class _RunningTimeline:
    """The timeline of a view that also shows the files of pending writes."""

    def __init__(self, timeline: Timeline, pending: tuple[str, ...]) -> None:
        self.layout = timeline.layout
        self._timeline = timeline
        self._pending = pa.array(pending, pa.string())

    def committed_mask(self, instants: pa.Array) -> pa.Array:
        """Whether files written by each instant are shown."""
        running = pc.is_in(instants.cast(pa.string()), value_set=self._pending)
        return pc.or_(self._timeline.committed_mask(instants), running)

    def completion_times(self, instants: pa.Array) -> pa.Array:
        """Completion times; of a pending instant its requested time stands for it."""
        running = pc.is_in(instants.cast(pa.string()), value_set=self._pending)
        return pc.if_else(running, instants.cast(pa.string()), self._timeline.completion_times(instants))

    def replaced_file_groups(self) -> pa.Table:
        """File groups that completed instants replaced."""
        return self._timeline.replaced_file_groups()

    def pending_compactions(self) -> pa.Table:
        """File groups under pending compactions."""
        return self._timeline.pending_compactions()

    def written_names(self, times: Collection[str]) -> Collection[str]:
        """Base files that completed writes recorded."""
        return self._timeline.written_names(times)


def _partitions(call: ProcedureCall, pattern: str | None) -> list[str]:
    """The partitions whose paths fit a pattern with Hadoop's wildcards; all without one."""
    partitions = call.client.partition_paths()
    if pattern is None or not pattern.strip("/") or pattern == ALL_PARTITIONS:
        return partitions
    try:
        regex = glob_regex(pattern.strip("/"))
    except InvalidOptionError as error:
        raise SparkError(f"CALL {call.procedure.name}: {error.message}", remedy="close it") from error
    return [path for path in partitions if path and regex.fullmatch(path)]


def _view(call: ProcedureCall, pattern: str | None) -> FileSystemView:
    client = call.client
    timeline = client.timeline
    actions = {action for action in WRITE_ACTIONS if "compaction" not in action or not call.flag("exclude_compaction")}
    pending = timeline.pending(actions) if call.flag("include_in_flight") else ()
    shown = _RunningTimeline(timeline, tuple(one.requested for one in pending)) if pending else timeline
    return FileSystemView(client.list_files(_partitions(call, pattern)), shown)


def _slices(call: ProcedureCall, view: FileSystemView) -> pa.Table:
    """The slices that began before the instant that a call names, the newest of a group first."""
    bound = call.text("max_instant")
    if bound is None:
        slices = view.file_slices(include_replaced=False)
    else:
        slices = view.file_slices()
        compare = pc.less_equal if call.flag("include_max") else pc.less
        slices = slices.filter(compare(slices.column("base_instant"), bound))
        replaced = call.client.timeline.replaced_file_groups()
        gone = _group_keys(replaced.filter(compare(replaced.column("instant"), bound)))
        slices = slices.filter(pc.invert(pc.is_in(_group_keys(slices), value_set=gone)))
    order = [("partition", "ascending"), ("file_id", "ascending"), ("base_instant", "descending")]
    return slices.sort_by(order)


def _slice_rows(call: ProcedureCall, slices: pa.Table) -> Iterator[tuple[list[Any], list[tuple[str, str, int]]]]:
    """Of each slice the columns that both procedures show, and its log files: path, instant, bytes; newest first."""
    base = call.location.rstrip("/")
    for one in slices.to_pylist():
        folder = f"{base}/{one['partition']}" if one["partition"] else base
        names = one["log_files"]
        instants = parse_file_names(pa.array(names, pa.string())).column("instant").cast(pa.string()).to_pylist()
        paths = [f"{folder}/{name}" for name in names]
        logs = list(zip(paths, instants, one["log_sizes"], strict=True))[::-1]
        file, size = ("", 0) if one["base_file"] is None else (f"{folder}/{one['base_file']}", one["base_size"])
        key = [one["partition"], one["file_id"], one["base_instant"]]
        yield [*key, file, size, len(logs), sum(size for _, _, size in logs)], logs


def _log_text(log: tuple[str, str, int]) -> str:
    return f"HoodieLogFile{{pathStr='{log[0]}', fileLen={log[2]}}}"


def _show_fsview_all(call: ProcedureCall) -> Rows:
    rows = _slice_rows(call, _slices(call, _view(call, call.text("path_regex"))))
    return limited(call, ([*row, f"[{', '.join(map(_log_text, logs))}]"] for row, logs in rows))


def _show_fsview_latest(call: ProcedureCall) -> Rows:
    patterns = [name for name in ("path_regex", "partition_path") if name in call.values]
    if len(patterns) > 1:
        raise SparkError("path_regex and partition_path cannot be used together", remedy="give path_regex alone")
    view = _view(call, call.text(patterns[0]) if patterns else None)
    if call.text("max_instant") is not None:
        slices = _first_of_groups(_slices(call, view))
    else:
        slices = view.latest_merged_file_slices() if call.flag("merge") else view.latest_file_slices()
    return limited(call, _latest_rows(call, slices))


def _group_keys(table: pa.Table) -> pa.Array:
    """Partition and file id of each row as one text."""
    return pc.binary_join_element_wise(*(table.column(name) for name in _GROUP), "\0").combine_chunks()


def _first_of_groups(slices: pa.Table) -> pa.Table:
    first: dict[str, int] = {}
    for at, key in enumerate(_group_keys(slices).to_pylist()):
        first.setdefault(key, at)
    return slices.take(pa.array(first.values(), pa.int64()))


def _latest_rows(call: ProcedureCall, slices: pa.Table) -> Iterator[list[Any]]:
    for row, logs in _slice_rows(call, slices):
        instants = pa.array([log[1] for log in logs], pa.string())
        complete = pc.is_valid(call.client.timeline.completion_times(instants)).to_pylist()
        planned = sum(log[2] for log, done in zip(logs, complete, strict=True) if done)
        other = row[6] - planned
        ratios = [size / row[4] if row[4] > 0 else -1.0 for size in (planned, other)]
        same = ",".join(_log_text(log) for log in logs if log[1] == row[2])
        rest = ",".join(_log_text(log) for log in logs if log[1] != row[2])
        yield [*row, planned, other, *ratios, f"[{same}]", f"[{rest}]"]


# -- one file ----------------------------------------------------------------------------------------------------------


def _show_file_status(call: ProcedureCall) -> Rows:
    client = call.client
    partition, name = call.text("partition"), str(call.text("file"))
    if partition is None and client.config.partition_fields:
        raise SparkError(
            f"CALL {call.procedure.name}: the table is partitioned",
            path=call.location,
            remedy="say which partition the file is in: partition => '…'",
        )
    gone = _deleted(client.timeline, name)
    if gone is not None:
        return [["deleted", *gone, ""]]
    folder = (partition or "").strip("/")
    files = client.directory_lister.files([folder])
    if pc.any(pc.equal(files.column("name"), name), min_count=0).as_py():
        place = re.sub(r"^\w+:(//[^/]*)?", "", call.location.rstrip("/"))
        return [["exist", "", "", "active", "/".join(part for part in (place, folder, name) if part)]]
    return [["unknown", "", "", "", ""]]


def _deleted(timeline: Timeline, name: str) -> tuple[str, str, str] | None:
    """What deleted a file: action, instant, timeline; None where nothing says that it was deleted."""
    for action, kinds in ((CLEAN, ("active", "archived")), (ROLLBACK, ("active", "archived")), (RESTORE, ("active",))):
        for kind in kinds:
            instants = timeline.instants if kind == "active" else timeline.archived().instants
            for instant in reversed(instants):
                if instant.action != action or not instant.is_completed:
                    continue
                if any(name in file for file in _deleted_by(timeline, action, instant)):
                    return action, instant.requested, kind
    return None


def _deleted_by(timeline: Timeline, action: str, instant: Instant) -> Iterator[str]:
    if action == CLEAN:
        parts: Mapping[str, Any] = timeline.clean_metadata(instant).partitions
        yield from (file for part in parts.values() for file in part.deleted)
        return
    if action == ROLLBACK:
        done = [timeline.rollback_metadata(instant)]
    else:
        done = [one for each in timeline.restore_metadata(instant).rollbacks.values() for one in each]
    yield from (file for one in done for part in one.partitions.values() for file in part.deleted)


# -- folders -----------------------------------------------------------------------------------------------------------


def _show_fs_path_detail(call: ProcedureCall) -> Rows:
    jvm = call.hook.environment.jvm
    path = jvm.view.org.apache.hadoop.fs.Path(str(call.text("path")))
    system = path.getFileSystem(call.hook.session.sessionState().newHadoopConf())
    statuses = system.listStatus(path) if call.flag("is_sub") else system.globStatus(path)
    rows = [_path_row(system, status) for status in statuses or ()]
    column = 2 if call.flag("sort") else 1
    return limited(call, sorted(rows, key=lambda row: row[column], reverse=True))


def _path_row(system: JavaValue, status: JavaValue) -> list[Any]:
    """One row; Hudi has the quota where the space is to stand, and the other way round."""
    summary = system.getContentSummary(status.getPath())
    length = int(summary.getLength())
    counts = [int(summary.getDirectoryCount()), int(summary.getFileCount()), length, _size_text(length)]
    quotas = [int(summary.getQuota()), int(summary.getSpaceConsumed()), int(summary.getSpaceQuota())]
    return [*counts, str(status.getPath().toString()), *quotas]


def _size_text(size: int) -> str:
    for unit, name in ((1024**3, "GB"), (1024**2, "MB"), (1024, "KB")):
        if size >= unit:
            value = Decimal(float(np.float32(size) / np.float32(unit)))
            return f"{value.quantize(Decimal('0.01'), ROUND_HALF_EVEN)}{name}"
    return f"{size}B"


def _stats_file_sizes(call: ProcedureCall) -> Rows:
    client = call.client
    files = client.directory_lister.files(_partitions(call, _pattern_of_depth(call)))
    files = files.sort_by([("partition", "ascending"), ("name", "ascending")])
    parts = parse_file_names(files.column("name"))
    data = pc.not_equal(parts.column("kind"), FileKind.OTHER.value)
    instants = parts.column("instant").cast(pa.string()).filter(data)
    sizes = np.asarray(files.column("size").filter(data), np.int64)
    times = np.asarray(instants.to_pylist(), object)
    names = java_order(pc.unique(instants).to_pylist())
    rows = [[name, *_histogram(np.sort(sizes[times == name]))] for name in names]
    return limited(call, [*rows, ["ALL", *_histogram(np.sort(sizes))]])


def _pattern_of_depth(call: ProcedureCall) -> str | None:
    """The pattern of partitions that a call gives; none of a table without partitions, as in Hudi.

    Raises:
        SparkError: it has fewer or more levels than the partitions.
    """
    pattern = (call.text("partition_path") or "").strip("/")
    depth = max((path.count("/") + 1 for path in call.client.partition_paths() if path), default=0)
    if not pattern or not depth:
        return None
    levels = pattern.count("/") + 1
    if levels != depth:
        raise SparkError(
            f"CALL {call.procedure.name}: partition_path {pattern!r} has {levels} levels, the partitions have {depth}",
            path=call.location,
            remedy=f"give {'/'.join('*' * depth)} or the like",
        )
    return pattern


def _histogram(sizes: np.ndarray[Any, np.dtype[np.int64]]) -> list[Any]:
    """Smallest, quantiles, mean, largest, number and standard deviation, as Hudi's histograms have them."""
    count = len(sizes)
    if not count:
        return [0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0.0]

    def quantile(part: float) -> float:
        place = part * (count + 1)
        at = int(place)
        if at < 1 or at >= count:
            return float(sizes[0 if at < 1 else -1])
        return float(sizes[at - 1] + (place - at) * (sizes[at] - sizes[at - 1]))

    mean = float(sizes.mean())
    deviation = float(sizes.std(ddof=1)) if count > 1 else 0.0
    least, most = int(sizes[0]), int(sizes[-1])
    return [least, quantile(0.1), quantile(0.5), mean, quantile(0.95), most, count, deviation]


def _show_invalid_parquet(call: ProcedureCall) -> Rows:
    return limited(call, _invalid_files(call))


def _invalid_files(call: ProcedureCall) -> Iterator[list[Any]]:
    client = call.client
    given = [part.strip() for part in (call.text("partitions") or "").split(",") if part.strip()]
    instants = [one.strip() for one in (call.text("instants") or "").split(",") if one.strip()]
    files = client.directory_lister.files(given or client.partition_paths())
    names = files.column("name")
    chosen = pc.match_substring_regex(names, r"\.parquet$")
    if instants:
        times = parse_file_names(names).column("instant").cast(pa.string())
        chosen = pc.and_(chosen, pc.fill_null(pc.is_in(times, value_set=pa.array(instants, pa.string())), False))
    base = call.location.rstrip("/")
    for partition, name in zip(
        *(files.filter(chosen).column(one).to_pylist() for one in ("partition", "name")), strict=True
    ):
        path = f"{partition}/{name}" if partition else name
        try:
            with client.storage.open_input(path) as file:
                pq.ParquetFile(file)
        except pa.ArrowInvalid:
            if call.flag("needDelete"):
                client.storage.delete(path)
            yield [f"{base}/{path}"]


_SLICE: Final = (
    "`partition` string, file_id string, base_instant string, data_file string, data_file_size bigint, "
    "num_delta_files bigint, total_delta_file_size bigint"
)
_VIEW: Final = (
    TABLE,
    Parameter("max_instant", default=""),
    Parameter("include_max", "boolean", default=False),
    Parameter("include_in_flight", "boolean", default=False),
    Parameter("exclude_compaction", "boolean", default=False),
    _LIMIT,
    Parameter("path_regex", default=ALL_PARTITIONS),
)

FILE_PROCEDURES: Final = (
    Procedure(
        "show_fsview_all",
        f"{_SLICE}, delta_files string",
        _show_fsview_all,
        (*_VIEW, PATH, FILTER),
        "All file slices of a table, the newest of a file group first.",
    ),
    Procedure(
        "show_fsview_latest",
        f"{_SLICE}, delta_size_compaction_scheduled bigint, delta_size_compaction_unscheduled bigint, "
        "delta_to_base_radio_compaction_scheduled double, delta_to_base_radio_compaction_unscheduled double, "
        "delta_files_compaction_scheduled string, delta_files_compaction_unscheduled string",
        _show_fsview_latest,
        (
            *_VIEW,
            Parameter("partition_path", default=ALL_PARTITIONS),
            Parameter("merge", "boolean", default=True),
            PATH,
            FILTER,
        ),
        "The newest file slice of each file group.",
    ),
    Procedure(
        "show_file_status",
        "status string, action string, instant string, timeline string, full_path string",
        _show_file_status,
        (TABLE, Parameter("partition"), Parameter("file", required=True), PATH, FILTER),
        "Whether a file is there, or what deleted it.",
    ),
    Procedure(
        "show_fs_path_detail",
        "path_num bigint, file_num bigint, storage_size bigint, `storage_size(unit)` string, storage_path string, "
        "space_consumed bigint, quota bigint, space_quota bigint",
        _show_fs_path_detail,
        (
            Parameter("path", required=True),
            Parameter("is_sub", "boolean", default=False),
            Parameter("sort", "boolean", default=True),
            Parameter("limit", "int", default=100),
            FILTER,
        ),
        "Folders, files and bytes below a path, or below each of its entries; the largest first.",
    ),
    Procedure(
        "stats_file_sizes",
        "commit_time string, `min` bigint, `10th` double, `50th` double, `avg` double, `95th` double, `max` bigint, "
        "num_files int, std_dev double",
        _stats_file_sizes,
        (TABLE, Parameter("partition_path", default=""), _LIMIT, PATH, FILTER),
        "Sizes of data files, by commit and in all.",
    ),
    Procedure(
        "show_invalid_parquet",
        "path string",
        _show_invalid_parquet,
        (
            Parameter("path", required=True),
            Parameter("limit", "int", default=100),
            Parameter("needDelete", "boolean", default=False),
            Parameter("partitions", default=""),
            Parameter("instants", default=""),
            FILTER,
        ),
        "Parquet files of a table that cannot be read; needDelete deletes them.",
    ),
)
