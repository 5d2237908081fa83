"""Computes the file groups and file slices of a table from a listing and a timeline.

A file group is a file id in a partition; a file slice of it is a base instant, at most one base file and the log files
on top. Everything here works on columns: names are split by string kernels, groups and instants become integers whose
order is that of their text, and "newest slice" is a comparison of neighbours in one sorted array.

Source: docs/format.md#file-groups-and-file-slices, docs/format.md#replaced-file-groups.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.table.view.file_names import BASE_FILE_EXTENSIONS, SplitNames, split_file_names, stored_names
from hudi_hive.table.view.ranks import (
    BoolArray,
    FileGroups,
    InstantRanks,
    IntArray,
    distinct_values,
    one_chunk,
    place_when_sorted,
    sorted_union,
)

FILES_SCHEMA = pa.schema([("partition", pa.string()), ("name", pa.string()), ("size", pa.int64())])
"""A listing: partition path, file name without folders, bytes."""

SLICE_SCHEMA = pa.schema(
    [
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("base_instant", pa.string()),
        ("base_file", pa.string()),
        ("base_size", pa.int64()),
        ("log_files", pa.list_(pa.string())),
        ("log_sizes", pa.list_(pa.int64())),
    ]
)
"""A row per file slice: ``base_file`` is a name, null for a slice of logs only; logs are in the order of reading.

The name of a file that Hudi did not write is its own one, below the folder of the partition.
"""

BASE_FILE_SCHEMA = pa.schema(
    [
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("instant", pa.string()),
        ("name", pa.string()),
        ("size", pa.int64()),
    ]
)
"""A row per base file."""


class ViewTimeline(Protocol):
    """The interface of the timeline that a view needs (:class:`hudi_hive.timeline.Timeline` is one)."""

    @property
    def layout(self) -> int:
        """Timeline layout version: 1 for tables of version 6, 2 from version 8 on."""

    def committed_mask(self, instants: pa.Array) -> pa.Array:
        """Whether files written by each instant are visible."""

    def completion_times(self, instants: pa.Array) -> pa.Array:
        """Completion time per requested time; null when pending or unknown."""

    def replaced_file_groups(self) -> pa.Table:
        """Columns ``partition``, ``file_id``, ``instant``: groups replaced by completed instants."""

    def pending_compactions(self) -> pa.Table:
        """Columns ``partition``, ``file_id``, ``compaction_instant`` of compactions that have not completed."""

    def written_names(self, times: Collection[str]) -> Collection[str]:
        """Names of the base files that the commits of some requested times recorded, as far as it is known."""


class FileSystemView:
    """The file groups and file slices of listed partitions that are visible under a timeline.

    A file counts only if its instant does: what a crashed or running write left behind is not seen, nor is the output
    of a pending compaction or clustering. Built once, the view does not change; make a new one after a new listing.
    All tables come out sorted by partition and file id.

    Args:
        files: listing of :data:`FILES_SCHEMA` (other columns are ignored) of the partitions to look at. Names that are
            not data files are ignored.
        timeline: the timeline, loaded **before** the listing was made, so that completed instants' files are in it.
        layout: 1 to place log files by the base instant in their names (tables up to version 6), 2 to place them by
            completion time (from version 8 on); the timeline's own by default.

    Attributes:
        has_hidden_files: whether there are base files that do not count: of writes that crashed, that still run, or
            that completed after the timeline was loaded.

        instants: requested times in the names of the files, each once.

    Raises:
        UnsupportedTableError: a file that looks like a base file does not follow Hudi's naming.
    """

    has_hidden_files: bool
    instants: pa.Array

    def __init__(self, files: pa.Table, timeline: ViewTimeline, *, layout: int | None = None) -> None:
        self._timeline = timeline
        self._layout = timeline.layout if layout is None else layout
        self._names = one_chunk(files["name"])
        self._sizes = one_chunk(files["size"])
        partitions = one_chunk(files["partition"])
        split = split_file_names(self._names)
        _refuse_foreign_names(partitions, self._names, split)
        # Files that Hudi did not write are told apart by the write tokens that they lack.
        external = split.base["write_token"].null_count > 0
        self._stored = stored_names(self._names) if external else self._names
        data_logs = pc.invert(split.logs["cdc"])
        logs = split.logs.filter(data_logs)
        log_rows = split.log_rows[data_logs.to_numpy()]
        self._groups = FileGroups.of(partitions, split.base_rows, split.base["file_id"], log_rows, logs["file_id"])
        self._instants = self._rank_instants(split.base["instant"], logs["instant"])
        self._bases = self._committed_bases(split)
        self._logs = self._ordered_logs(log_rows, logs)

    # -- queries -------------------------------------------------------------------------------------------------

    def latest_base_files(self, as_of: str | None = None) -> pa.Table:
        """The newest visible base file of each file group, which copy-on-write and read-optimised queries read.

        Args:
            as_of: consider only files whose instant is at or before this requested time, and only groups not replaced
                by then; everything completed if not given.

        Returns:
            A table of :data:`BASE_FILE_SCHEMA`.
        """
        alive = ~self._replaced(as_of)[self._bases.group]
        return self._base_table(np.flatnonzero(alive & (self._bases.rank < self._instants.bound(as_of))))

    def latest_file_slices(self, as_of: str | None = None) -> pa.Table:
        """The newest slice of each file group; that of a pending compaction is included although it has no base file.

        Such a slice has no base file and holds only the logs written since the compaction was planned: this is where a
        writer appends. For reading use :meth:`latest_merged_file_slices`.

        Args:
            as_of: consider only slices whose base instant is at or before this requested time.

        Returns:
            A table of :data:`SLICE_SCHEMA`.
        """
        slices = self._slices
        latest = self._latest(as_of)
        owner = np.full(len(slices.group), -1, np.int64)
        owner[latest] = np.arange(len(latest))
        return self._slice_table(latest, owner, as_of)

    def latest_merged_file_slices(self, as_of: str | None = None) -> pa.Table:
        """The newest merged slice of each file group, which snapshot queries read.

        Where the newest slice is that of a pending compaction, it is joined with the slice before: the base file and
        logs of the older one and the logs of the newer one, under the older one's instant. Slices that hold no file at
        all are left out.

        Args:
            as_of: consider only slices whose base instant is at or before this requested time.

        Returns:
            A table of :data:`SLICE_SCHEMA`.
        """
        slices = self._slices
        latest = self._latest(as_of)
        owner = np.full(len(slices.group), -1, np.int64)
        owner[latest] = np.arange(len(latest))
        before = latest - 1
        joined = slices.pending[latest] & (before >= 0) & (slices.group[before] == slices.group[latest])
        owner[before[joined]] = np.flatnonzero(joined)
        table = self._slice_table(np.where(joined, before, latest), owner, as_of)
        return table.filter(
            pc.or_(pc.is_valid(table["base_file"]), pc.greater(pc.list_value_length(table["log_files"]), 0))
        )

    def file_slices(self, *, include_replaced: bool = True) -> pa.Table:
        """All visible slices of all file groups, oldest first within a group.

        Args:
            include_replaced: also those of groups replaced by a completed instant whose files are still there.

        Returns:
            A table of :data:`SLICE_SCHEMA`.
        """
        slices = self._slices
        chosen = np.arange(len(slices.group))
        if not include_replaced:
            chosen = np.flatnonzero(~self._replaced(None)[slices.group])
        owner = np.full(len(slices.group), -1, np.int64)
        owner[chosen] = np.arange(len(chosen))
        return self._slice_table(chosen, owner, None)

    # -- building ------------------------------------------------------------------------------------------------

    def _rank_instants(self, bases: pa.ChunkedArray, logs: pa.ChunkedArray) -> InstantRanks:
        written = pa.concat_arrays([distinct_values(bases), distinct_values(logs)]).unique()
        self.instants = written
        committed = self._timeline.committed_mask(written) if len(written) else pa.array([], pa.bool_())
        pending = self._timeline.pending_compactions()["compaction_instant"].combine_chunks().cast(pa.string())
        completed = pa.nulls(len(written), pa.string())
        if self._layout >= 2 and len(logs):
            # Asked for log files only: times of long archived instants cost a look into the archive.
            asked = pc.unique(distinct_values(logs))
            times = self._timeline.completion_times(asked).cast(pa.string())
            completed = times.take(pc.index_in(written, value_set=asked))
        return InstantRanks.of(written, committed, completed, pending)

    def _committed_bases(self, split: SplitNames) -> _Bases:
        group = self._groups.of_bases
        rank = self._instants.rank_of(split.base["instant"])
        seen = self._instants.committed[rank]
        self.has_hidden_files = not bool(seen.all())
        group, rank, row = group[seen], rank[seen], split.base_rows[seen]
        order = np.argsort(self._key(group, rank), kind="stable")
        group, rank, row = group[order], rank[order], row[order]
        same = (group[1:] == group[:-1]) & (rank[1:] == rank[:-1])
        if same.any():
            group, rank, row = self._one_attempt(group, rank, row, same)
        return _Bases(group, rank, row)

    def _one_attempt(
        self, group: IntArray, rank: IntArray, row: IntArray, same: BoolArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        # Several attempts of one task wrote the file, of which the commit names one: another may have come when it
        # had completed, in part or with other rows. Where no commit is known any more, taking the greatest name makes
        # the choice independent of the order of the listing.
        starts = np.flatnonzero(np.concatenate([[True], ~same]))
        ends = np.append(starts[1:], len(row))
        several = ends - starts > 1
        times = self._instants.values.take(pa.array(np.unique(rank[starts[several]]))).to_pylist()
        written = self._timeline.written_names(times)
        for start, end in zip(starts[several], ends[several], strict=True):
            names = {place: str(self._names[place]) for place in row[start:end].tolist()}
            row[start] = max(names, key=lambda place: (names[place] in written, names[place]))
        return group[starts], rank[starts], row[starts]

    def _ordered_logs(self, rows: IntArray, logs: pa.Table) -> _Logs:
        """Logs that can count, in the order of reading: instant, version, write token (none first)."""
        rank = self._instants.rank_of(logs["instant"])
        version = logs["log_version"].to_numpy().astype(np.int64)
        tokens = logs["write_token"].combine_chunks().dictionary_encode()
        token_order = np.append(place_when_sorted(tokens.dictionary), -1)
        token = token_order[pc.fill_null(tokens.indices, len(tokens.dictionary)).to_numpy(zero_copy_only=False)]
        # Version 6 names carry the slice's base instant, which says nothing about who wrote the log: its blocks are
        # filtered when they are read. From version 8 on the name tells the writer, and unfinished writers drop out.
        seen = self._instants.committed[rank] if self._layout >= 2 else self._instants.in_timeline[rank]
        order = np.lexsort((token, version, rank))
        order = order[seen[order]]
        return _Logs(self._groups.of_logs[order], rank[order], rows[order])

    @cached_property
    def _slices(self) -> _Slices:
        bases, logs, pending = self._bases, self._logs, self._pending_keys
        base_keys = self._key(bases.group, bases.rank)
        keys = sorted_union(base_keys, pending)
        log_keys = self._keys_by_completion(keys) if self._layout >= 2 else self._key(logs.group, logs.rank)
        keys = sorted_union(keys, log_keys)
        base_row = np.full(len(keys), -1, np.int64)
        base_row[np.searchsorted(keys, base_keys)] = bases.row
        return _Slices(
            group=keys // self._instants.count,
            rank=keys % self._instants.count,
            base_row=base_row,
            pending=np.isin(keys, pending),
            of_log=np.searchsorted(keys, log_keys).astype(np.int64),
        )

    @cached_property
    def _pending_keys(self) -> IntArray:
        """Sorted slice keys that pending compactions open in the groups we have files of."""
        plan = self._timeline.pending_compactions()
        group = self._groups.find(plan["partition"], plan["file_id"])
        rank = self._instants.rank_of(plan["compaction_instant"])
        return sorted_union(self._key(group, rank)[group >= 0])

    def _keys_by_completion(self, keys: IntArray) -> IntArray:
        """Slice key of each log: the newest slice that its delta commit completed after, from version 8 on.

        Source: docs/format.md#file-groups-and-file-slices.

        Logs older than every slice of their group share one slice of their own, named after the first of them.
        Uncommitted base files and logs were dropped before, so that no log can hide in a slice nobody sees.
        """
        logs, instants = self._logs, self._instants
        time = instants.completion_rank[logs.rank]
        positions = np.searchsorted(keys, self._key(logs.group, time), side="right") - 1
        fits = positions >= 0
        fits[fits] = keys[positions[fits]] // instants.count == logs.group[fits]
        result = np.where(fits, keys[positions], -1) if len(keys) else np.full(len(logs.group), -1, np.int64)
        uneven = np.flatnonzero(self._uneven_groups(keys)[logs.group])
        for log in uneven.tolist():
            result[log] = self._key_by_uneven_time(keys, log)
        # Logs are sorted by instant, so the first orphan of a group has the least one.
        orphans = np.flatnonzero(result < 0)
        groups, first, which = np.unique(logs.group[orphans], return_index=True, return_inverse=True)
        result[orphans] = self._key(groups, logs.rank[orphans][first])[which]
        return result

    def _uneven_groups(self, keys: IntArray) -> BoolArray:
        """Groups where instants of different lengths meet (14 and 17 digits, or a metadata table's suffixes)."""
        logs, instants, count = self._logs, self._instants, self._instants.count
        uneven = np.zeros(len(self._groups), np.bool_)
        used = np.concatenate([instants.length[keys % count], instants.length[instants.completion_rank[logs.rank]]])
        if len(used) == 0 or used.min() == used.max():
            return uneven
        group = np.concatenate([keys // count, logs.group])
        least = np.full(len(self._groups), np.iinfo(np.int64).max)
        most = np.zeros(len(self._groups), np.int64)
        np.minimum.at(least, group, used)
        np.maximum.at(most, group, used)
        return least < most

    def _key_by_uneven_time(self, keys: IntArray, log: int) -> int:
        # Times of different lengths cannot be compared as text: there the requested time stands in.
        logs, instants = self._logs, self._instants
        group, requested = int(logs.group[log]), int(logs.rank[log])
        completed = int(instants.completion_rank[requested])
        first, last = np.searchsorted(keys, [group * instants.count, (group + 1) * instants.count])
        for key in reversed(keys[first:last].tolist()):
            rank = key % instants.count
            even = instants.length[completed] == instants.length[rank]
            if rank <= (completed if even else requested):
                return int(key)
        return -1

    # -- choosing ------------------------------------------------------------------------------------------------

    def _key(self, group: IntArray, rank: IntArray) -> IntArray:
        return group * self._instants.count + rank

    def _replaced(self, as_of: str | None) -> BoolArray:
        """Per group: whether an instant at or before ``as_of`` replaced it."""
        dead = np.zeros(len(self._groups), np.bool_)
        replaced = self._timeline.replaced_file_groups()
        if as_of is not None:
            replaced = replaced.filter(pc.less_equal(replaced["instant"], as_of))
        group = self._groups.find(replaced["partition"], replaced["file_id"])
        dead[group[group >= 0]] = True
        return dead

    def _latest(self, as_of: str | None) -> IntArray:
        """Index of the newest slice of each living group."""
        slices = self._slices
        fits = np.flatnonzero((slices.rank < self._instants.bound(as_of)) & ~self._replaced(as_of)[slices.group])
        return fits[_last_of_run(slices.group[fits])]

    def _base_table(self, fits: IntArray) -> pa.Table:
        chosen = fits[_last_of_run(self._bases.group[fits])]
        group = self._bases.group[chosen]
        rows = pa.array(self._bases.row[chosen])
        columns = [
            *self._groups.names(group),
            self._instants.values.take(pa.array(self._bases.rank[chosen])),
            self._stored.take(rows),
            self._sizes.take(rows),
        ]
        return pa.table(columns, schema=BASE_FILE_SCHEMA)

    def _slice_table(self, chosen: IntArray, owner: IntArray, as_of: str | None) -> pa.Table:
        """Table of the chosen slices; ``owner`` maps each slice to the row that takes its logs, -1 for none."""
        slices, logs = self._slices, self._logs
        target = owner[slices.of_log]
        keep = target >= 0
        if self._layout >= 2:
            # The name tells who wrote a log, so what was written after the asked time need not be opened.
            keep &= logs.rank < self._instants.bound(as_of)
        order = np.flatnonzero(keep)
        order = order[np.argsort(target[order], kind="stable")]
        offsets = np.zeros(len(chosen) + 1, np.int32)
        np.cumsum(np.bincount(target[order], minlength=len(chosen)), out=offsets[1:])
        log_rows = pa.array(logs.row[order])
        base_row = slices.base_row[chosen]
        base_rows = pa.array(base_row, mask=base_row < 0)
        columns = [
            *self._groups.names(slices.group[chosen]),
            self._instants.values.take(pa.array(slices.rank[chosen])),
            self._stored.take(base_rows),
            self._sizes.take(base_rows),
            pa.ListArray.from_arrays(pa.array(offsets), self._names.take(log_rows)),
            pa.ListArray.from_arrays(pa.array(offsets), self._sizes.take(log_rows)),
        ]
        return pa.table(columns, schema=SLICE_SCHEMA)


@dataclass(frozen=True, slots=True)
class _Bases:
    """Visible base files, sorted by group and instant."""

    group: IntArray
    rank: IntArray
    row: IntArray


@dataclass(frozen=True, slots=True)
class _Logs:
    """Log files that may count, in the order of reading."""

    group: IntArray
    rank: IntArray
    row: IntArray


@dataclass(frozen=True, slots=True)
class _Slices:
    """Slices, sorted by group and base instant."""

    group: IntArray
    rank: IntArray
    base_row: IntArray  # -1 for none
    pending: BoolArray  # opened by a pending compaction of its group
    of_log: IntArray  # slice of each of the _Logs


def _refuse_foreign_names(partitions: pa.Array, names: pa.Array, split: SplitNames) -> None:
    """Refuse base files that we cannot tell the group and instant of: leaving them out would lose rows."""
    unknown = np.ones(len(names), np.bool_)
    unknown[split.base_rows] = False
    unknown[split.log_rows] = False
    rows = np.flatnonzero(unknown)
    if not len(rows):
        return
    rest = names.take(pa.array(rows))
    extensions = "|".join(BASE_FILE_EXTENSIONS)
    foreign = pc.match_substring_regex(rest, rf"^[^._].*\.({extensions})$")
    for row in rows[np.flatnonzero(foreign.to_numpy(zero_copy_only=False))].tolist():
        partition, name = str(partitions[row]), str(names[row])
        raise UnsupportedTableError(
            "a base file's name does not follow Hudi's naming",
            path=f"{partition}/{name}" if partition else name,
            remedy="move the file out of the table's folders if it is not part of the table",
        )


def _last_of_run(values: IntArray) -> BoolArray:
    """Marks the last of each run of equal neighbours."""
    last = np.ones(len(values), np.bool_)
    last[:-1] = values[1:] != values[:-1]
    return last


def log_bytes(slices: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Bytes of the log files of each slice of a table of :data:`SLICE_SCHEMA`."""
    sizes = pc.fill_null(pc.list_flatten(slices["log_sizes"]), 0)
    bytes_of = np.zeros(slices.num_rows, np.int64)
    np.add.at(bytes_of, pc.list_parent_indices(slices["log_sizes"]).to_numpy(), sizes.to_numpy())
    return bytes_of
