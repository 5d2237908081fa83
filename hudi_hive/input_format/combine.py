"""``HoodieCombineHiveInputFormat``: several files, or file slices, in each split."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeVar

import pyarrow as pa

from hudi_hive.input_format.combining import CombineSizes, blocks_of_file, combine_blocks
from hudi_hive.input_format.job import JobConf, is_in_job
from hudi_hive.input_format.parquet_input_format import HoodieParquetInputFormat
from hudi_hive.input_format.plan import FileStatus
from hudi_hive.input_format.realtime import HoodieParquetRealtimeInputFormat
from hudi_hive.input_format.splits import FileSplit, locations_of_files
from hudi_hive.metrics import IoCounters
from hudi_hive.options import jobs
from hudi_hive.storage import BlockLocation, FileBlocks

T = TypeVar("T")

Locations = Callable[[FileStatus], Sequence[BlockLocation]]
"""Where the parts of a file are."""


@dataclass(frozen=True, slots=True)
class CombinedSplit:
    """What one task reads.

    Attributes:
        splits: files, byte ranges of files, or file slices, all of one table or all plain.
        hosts: the nodes where it should run; none where it does not matter.
    """

    splits: tuple[FileSplit, ...]
    hosts: tuple[str, ...]

    @property
    def length(self) -> int:
        """Bytes of all parts; of log files none, as in Hudi."""
        return sum(split.length for split in self.splits)

    @property
    def base_path(self) -> str | None:
        """The table that it is of; None for plain files."""
        return self.splits[0].base_path


def _whole_file_here(status: FileStatus) -> list[BlockLocation]:
    """The one block that a file has on file systems without locations, at a node called ``localhost``."""
    return [BlockLocation(0, status.length)] if status.length else []


class HoodieCombineHiveInputFormat:
    """Lists and reads as :class:`HoodieParquetInputFormat`, or with ``realtime`` its realtime kind, in combined splits.

    Plain splits are grouped as Hadoop's ``CombineFileInputFormat`` does, by node, then by rack, then whatever is left,
    up to ``mapreduce.input.fileinputformat.split.maxsize`` bytes (without it ``….split.minsize``; without both all
    files of a node). Realtime splits are never cut or sorted by node: each group has as many of them as that number
    says, as in Hudi's class; without one all are in one group. No group has splits of two tables, or of a table and
    plain files.

    Args:
        conf: as for :class:`HoodieParquetInputFormat`.
        realtime: merge log files.
        locations: where the blocks of files are; without it as the store tells (HDFS), of others all at one node.
        storage_options, counters: as for :class:`HoodieParquetInputFormat`.

    Raises:
        InvalidOptionError: from the methods: sizes that contradict one another, and what the input formats raise.
    """

    def __init__(
        self,
        conf: Mapping[str, Any],
        *,
        realtime: bool = False,
        locations: Locations | None = None,
        storage_options: Mapping[str, Any] | None = None,
        counters: IoCounters | None = None,
    ) -> None:
        kind = HoodieParquetRealtimeInputFormat if realtime else HoodieParquetInputFormat
        self.input_format = kind(conf, storage_options=storage_options, counters=counters)
        self._locations = locations

    @property
    def conf(self) -> JobConf:
        """The job."""
        return self.input_format.conf

    def get_splits(self) -> list[CombinedSplit]:
        """All splits, those of each table one after the other, then those of plain files.

        Raises:
            InvalidOptionError: sizes that contradict one another; and what listing raises.
        """
        if isinstance(self.input_format, HoodieParquetRealtimeInputFormat):
            return list(self._realtime())
        return list(self._by_location())

    def get_record_reader(self, split: CombinedSplit) -> Iterator[pa.RecordBatch]:
        """Rows of one split: those of its parts, in their order.

        Raises:
            HudiHiveError: see :meth:`HoodieParquetInputFormat.get_record_reader`.
        """
        return chain.from_iterable(map(self.input_format.get_record_reader, split.splits))

    def _realtime(self) -> Iterator[CombinedSplit]:
        most = self._size(jobs.SPLIT_MAX_SIZE, default=self._size(jobs.SPLIT_MIN_SIZE))
        for splits in _by_table(self.input_format.get_splits()):
            for group in groups_of(splits, most):
                yield CombinedSplit(tuple(group), ())

    def _by_location(self) -> Iterator[CombinedSplit]:
        least = self._size(jobs.SPLIT_MIN_SIZE)
        sizes = CombineSizes(
            most=self._size(jobs.SPLIT_MAX_SIZE) or least,
            node=self._size(jobs.SPLIT_MIN_SIZE_NODE) or least,
            rack=self._size(jobs.SPLIT_MIN_SIZE_RACK) or least,
        )
        for statuses in _by_table(self.input_format.list_status()):
            located = self._located(statuses)
            blocks = [
                block
                for place, status in enumerate(statuses)
                for block in blocks_of_file(place, located[place], status.length, status.splittable, sizes.most)
            ]
            for group in combine_blocks(blocks, sizes):
                parts = tuple(_part(statuses[one.file], one.offset, one.length) for one in group.blocks)
                yield CombinedSplit(parts, group.hosts)

    def _located(self, statuses: Sequence[FileStatus]) -> Sequence[FileBlocks]:
        """The blocks of files, as the caller or the store tells."""
        if self._locations is not None:
            return [self._locations(status) for status in statuses]
        paths = pa.chunked_array([pa.array([status.path for status in statuses], pa.string())])
        told = locations_of_files(paths, self.input_format.stores)
        return [blocks or _whole_file_here(status) for blocks, status in zip(told, statuses, strict=True)]

    def _size(self, option: Any, default: int = 0) -> int:  # noqa: ANN401 - an option of bytes
        return int(self.conf.value(option)) if is_in_job(self.conf, option) else default


def groups_of(items: Iterable[T], most: int) -> Iterator[list[T]]:
    """Items in their order, in groups of ``most``; all in one group where that is not positive.

    Hudi's class counts splits up to the number that the option gives in bytes, and does without any such number what
    would lose all splits but the last.
    """
    left = iter(items)
    while group := list(islice(left, most if most > 0 else None)):
        yield group


def _by_table(items: Sequence[Any]) -> Iterator[list[Any]]:
    """Splits or statuses by their table, in the order of the first of each; plain ones last."""
    tables: dict[str | None, list[Any]] = {}
    for item in items:
        tables.setdefault(item.base_path, []).append(item)
    plain = tables.pop(None, [])
    yield from tables.values()
    if plain:
        yield plain


def _part(status: FileStatus, start: int, length: int) -> FileSplit:
    return FileSplit(
        path=status.path,
        start=start,
        length=length,
        file_length=status.length,
        group=status.group,
        base_path=status.base_path,
        partition=status.partition,
        instant=status.instant,
    )
