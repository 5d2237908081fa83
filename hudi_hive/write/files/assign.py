"""Assigns new rows to file groups: small base files first, then new groups of the target size."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.table import MetaClient
from hudi_hive.write.files.context import new_file_id
from hudi_hive.write.files.write_tasks import RECORD_LOCATIONS, grouping_order

ASSIGNMENT_SCHEMA: Final = pa.schema(
    [("partition", pa.string()), ("file_id", pa.string()), ("is_new", pa.bool_()), ("rows", pa.int64())]
)
"""How many new rows a file group takes; those of a partition add up to its new rows."""

Ints = npt.NDArray[np.int64]

_COMMITS_LOOKED_AT: Final = 10


class SizeSettings(Protocol):
    """The interface of the settings of file sizes; ``WriteConfig.files`` has it."""

    @property
    def max_file_size(self) -> int:
        """Target size of a base file in bytes."""

    @property
    def small_file_limit(self) -> int:
        """Size in bytes below which base files get new rows; none do if it is not positive."""

    @property
    def record_size_estimate(self) -> int:
        """Assumed bytes of a row until commits give an estimate."""

    @property
    def record_size_threshold(self) -> float:
        """Factor of the small file limit above which the bytes of a commit give an estimate of row sizes."""

    @property
    def insert_split_size(self) -> int:
        """Rows of a new file group where sizes are not used."""

    @property
    def insert_auto_split(self) -> bool:
        """Whether sizes decide on the rows of new file groups."""


def record_size(client: MetaClient, settings: SizeSettings) -> int:
    """Estimated bytes of a row: the mean of the newest commit that wrote enough.

    Args:
        client: the table.
        settings: the write's sizes.
    """
    timeline = client.timeline
    enough = settings.record_size_threshold * max(0, settings.small_file_limit)
    for instant in reversed(timeline.write_instants()[-_COMMITS_LOOKED_AT:]):
        stats = timeline.commit_metadata(instant).write_stats
        stats = stats.filter(pc.is_null(stats.column("log_version")))
        size = pc.sum(stats.column("bytes_written")).as_py() or 0
        rows = pc.sum(stats.column("num_writes")).as_py() or 0
        if rows and size > enough:
            return max(1, -(-size // rows))
    return settings.record_size_estimate


def assign_inserts(
    counts: Mapping[str, int],
    slices: pa.Table | None,
    settings: SizeSettings,
    row_size: int,
    *,
    busy: Iterable[str] = (),
    candidates: int | None = None,
    new_ids: Iterator[str] | None = None,
) -> pa.Table:
    """Assign new rows to file groups.

    Args:
        counts: partition path to the number of its new rows.
        slices: newest slices of those partitions (``SLICE_SCHEMA``); None to make new groups only.
        settings: the write's sizes.
        row_size: bytes of a row.
        busy: file groups that must be left alone: a pending compaction or clustering works on them.
        candidates: how many small files of a partition take rows, the smallest; None for all of them.
        new_ids: ids for new groups; such as nobody has without it.

    Returns:
        A table of :data:`ASSIGNMENT_SCHEMA`, partitions in the order of ``counts``.
    """
    small = _small_files(slices, settings, set(busy)) if slices is not None else {}
    most = max(1, settings.max_file_size // row_size if settings.insert_auto_split else settings.insert_split_size)
    ids = iter(new_file_id, None) if new_ids is None else new_ids
    assigned: list[dict[str, Any]] = []
    for partition, count in counts.items():
        left = count
        for file_id, size in _candidates(small.get(partition, []), candidates):
            room = (settings.max_file_size - size) // row_size
            take = min(left, room)
            if take > 0:
                assigned.append({"partition": partition, "file_id": file_id, "is_new": False, "rows": take})
                left -= take
        if left:
            # Groups of equal size: the last one would else be another small file.
            groups = -(-left // most)
            bounds = [left * number // groups for number in range(groups + 1)]
            assigned += [
                {"partition": partition, "file_id": next(ids), "is_new": True, "rows": after - before}
                for before, after in itertools.pairwise(bounds)
            ]
    return pa.Table.from_pylist(assigned, schema=ASSIGNMENT_SCHEMA)


def _small_files(slices: pa.Table, settings: SizeSettings, busy: set[str]) -> dict[str, list[tuple[str, int]]]:
    """Small base files without log files: partition path to file ids and sizes, the largest first."""
    if settings.small_file_limit <= 0 or not slices.num_rows:
        return {}
    alone = pc.equal(pc.list_value_length(slices.column("log_files")), 0)
    is_small = pc.less(slices.column("base_size"), settings.small_file_limit)
    chosen = slices.filter(pc.and_(pc.and_(alone, is_small), pc.is_valid(slices.column("base_file"))))
    small: dict[str, list[tuple[str, int]]] = {}
    for row in chosen.select(["partition", "file_id", "base_size"]).sort_by([("base_size", "descending")]).to_pylist():
        if row["file_id"] not in busy:
            small.setdefault(row["partition"], []).append((row["file_id"], row["base_size"]))
    return small


def _candidates(small: list[tuple[str, int]], most: int | None) -> list[tuple[str, int]]:
    """The small files, the largest first, or so many of the smallest, in the order in which they take rows."""
    return small if most is None else small[::-1][:most]


def spread(partitions: pa.Array, assignment: pa.Table) -> Ints:
    """The index of the assignment that each new row belongs to, in the order of the rows of its partition.

    Args:
        partitions: partition path of each new row.
        assignment: what :func:`assign_inserts` gave for their counts.
    """
    encoded = partitions.dictionary_encode()
    code = encoded.indices.to_numpy(zero_copy_only=False)
    lines = pc.index_in(assignment.column("partition").combine_chunks(), value_set=encoded.dictionary)
    places = lines.to_numpy(zero_copy_only=False)
    order_of_lines = np.argsort(places, kind="stable")
    if np.array_equal(places[order_of_lines], np.arange(len(encoded.dictionary))):
        one_group_each: Ints = order_of_lines[code]  # without sorting the rows
        return one_group_each
    sizes = assignment.column("rows").to_numpy()[order_of_lines]
    result = np.empty(len(code), np.int64)
    result[grouping_order(code, len(encoded.dictionary))] = np.repeat(order_of_lines, sizes)
    return result


def count_by_partition(partitions: pa.Array) -> dict[str, int]:
    """Count rows by their partition path."""
    encoded = partitions.dictionary_encode()
    counts = np.bincount(encoded.indices.to_numpy(zero_copy_only=False), minlength=len(encoded.dictionary))
    return dict(zip(encoded.dictionary.to_pylist(), counts.tolist(), strict=True))


def locate_inserts(rows: Ints, partitions: pa.Array, assignment: pa.Table) -> pa.Table:
    """Locate new rows in the file groups of an assignment.

    Args:
        rows: number of each new row.
        partitions: partition path of each new row.
        assignment: what :func:`assign_inserts` gave for their counts.

    Returns:
        A table of ``RECORD_LOCATIONS``.
    """
    encoded = partitions.dictionary_encode()
    lines = pa.array(spread(encoded, assignment).astype(np.int32))
    file_ids = pa.DictionaryArray.from_arrays(lines, assignment.column("file_id").combine_chunks())
    columns = [pa.array(rows), encoded, file_ids, pa.repeat(True, len(rows))]
    return pa.table(columns, schema=RECORD_LOCATIONS)
