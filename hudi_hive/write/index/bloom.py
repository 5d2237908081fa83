"""The bloom index: reads only base files that may hold a key by key range and bloom filter.

Ranges and filters come from the files' footers or, if so asked, from the metadata table. A
range counts by the order of bytes; writers of other languages order keys with characters from U+E000 on otherwise, so
that such keys are looked for in every file.

Source: docs/format.md#base-files.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import MetadataTableError
from hudi_hive.formats.base import open_base_file
from hudi_hive.formats.hash import SIMPLE, BloomFilter, key_hashes
from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import BLOOM_FILTERS, COLUMN_STATS
from hudi_hive.storage import Storage
from hudi_hive.table.logs import RECORD_KEY
from hudi_hive.write.coordination import TaskExecutor
from hudi_hive.write.index.base import Index
from hudi_hive.write.index.key_source import KeySource, Slice
from hudi_hive.write.index.plan import LookupPlan, by_partition, rows_by_partition
from hudi_hive.write.index.tables import HITS_SCHEMA, IntArray, distinct_hits, one_array
from hudi_hive.write.index.tasks import ExistingKeys, hits_of, in_base_file

_FILTER: Final = b"org.apache.hudi.bloomfilter"
_FILTER_TYPE: Final = b"hoodie_bloom_filter_type_code"
_LEAST: Final = b"hoodie_min_record_key"
_GREATEST: Final = b"hoodie_max_record_key"

_FEW_HASHES: Final = 3
"""Bits of a filter that are looked at for all keys; the others are for the keys that these leave."""

_ROWS_PER_KEY: Final = 40
"""Rows of a file that are read in the time in which a key is held against its bloom filter."""

_UNORDERED: Final = r"[\x{E000}-\x{10FFFF}]"

Range = tuple[str, str]
"""Least and greatest key of a file."""


@dataclass(frozen=True)
class FooterRange:
    """A task, which can be pickled, that reads the key range of a base file.

    Attributes:
        storage: rooted at the table's base path.
    """

    storage: Storage = field(repr=False)

    def __call__(self, part: Slice) -> Range | None:
        """Least and greatest key of a slice; None where its files do not tell."""
        path = part.base_path
        if path is None or part.log_files:
            return None
        with open_base_file(self.storage, path, size=part.base_size) as file:
            footer: Mapping[bytes, bytes] = file.schema.metadata or {}
            least, greatest = footer.get(_LEAST), footer.get(_GREATEST)
        if least is None or greatest is None:
            return None
        return least.decode("utf-8", "replace"), greatest.decode("utf-8", "replace")


@dataclass(frozen=True)
class BloomTask:
    """A task that looks keys up in a slice, in its base file only where the bloom filter does not exclude them.

    Attributes:
        source: reads keys.
        part: the slice.
        bloom: type and text of the base file's filter; None to take it from the footer.
    """

    source: KeySource = field(repr=False)
    part: Slice
    bloom: tuple[str, bytes] | None = field(default=None, repr=False)

    def lookup(self, keys: pa.Table) -> pa.Table:
        """Find the keys in the slice."""
        sought = one_array(keys.column("key"))
        if not len(sought):
            return HITS_SCHEMA.empty_table()
        in_logs = [ExistingKeys(keys, 0) for keys in self.source.log_keys(self.part)]
        return distinct_hits([self._base(sought), self._hits(in_logs, sought)])

    def _base(self, sought: pa.Array) -> pa.Table:
        path = self.part.base_path
        if path is None:
            return HITS_SCHEMA.empty_table()
        left = sought if self.bloom is None else self._left(sought, *self.bloom)
        if not len(left):
            return HITS_SCHEMA.empty_table()
        with open_base_file(self.source.storage, path, size=self.part.base_size) as file:
            if self.bloom is None and len(left) * _ROWS_PER_KEY < file.num_rows:
                footer: Mapping[bytes, bytes] = file.schema.metadata or {}
                if (text := footer.get(_FILTER)) is not None:
                    left = self._left(left, footer.get(_FILTER_TYPE, SIMPLE.encode()).decode("utf-8", "replace"), text)
            if not len(left):
                return HITS_SCHEMA.empty_table()
            return self._hits(list(in_base_file(self.source.base_keys(self.part, file), 0)), left)

    def _left(self, sought: pa.Array, kind: str, text: bytes) -> pa.Array:
        """The keys that a filter does not rule out."""
        bloom = BloomFilter.parse(text, kind, self.source.storage.uri(self.part.base_path or ""))
        few = min(_FEW_HASHES, bloom.hashes)
        mask = replace(bloom, hashes=few).may_contain(key_hashes(sought, few))
        left = sought.filter(pa.array(mask))
        return left.filter(pa.array(bloom.may_contain(key_hashes(left, bloom.hashes)))) if len(left) else left

    def _hits(self, existing: list[ExistingKeys], sought: pa.Array) -> pa.Table:
        return hits_of(existing, sought, (self.part,)) if existing else HITS_SCHEMA.empty_table()


class ByRange:
    """Routes keys to the tasks of their partition (of all, with a global index) whose key range holds them.

    Args:
        partitions: of each task its partition; None if partitions do not count.
        ranges: of each task the range of its keys; None for one that may hold any.
    """

    def __init__(self, partitions: Sequence[str] | None, ranges: Sequence[Range | None]) -> None:
        self._ranges = list(ranges)
        self._tasks: dict[str, list[int]] | None = None
        if partitions is not None:
            self._tasks = {}
            for task, partition in enumerate(partitions):
                self._tasks.setdefault(partition, []).append(task)

    def rows(self, keys: pa.Table) -> list[tuple[int, IntArray]]:
        """The keys of each task's partition and range."""
        if self._tasks is None:
            groups = [(list(range(len(self._ranges))), np.arange(keys.num_rows))]
        else:
            groups = [(self._tasks.get(partition, []), rows) for partition, rows in rows_by_partition(keys)]
        texts = one_array(keys.column("key"))
        return [task_rows for tasks, rows in groups if tasks for task_rows in self._of_group(tasks, texts, rows)]

    def _of_group(self, tasks: Sequence[int], texts: pa.Array, rows: IntArray) -> list[tuple[int, IntArray]]:
        own = texts.take(pa.array(rows))
        anywhere = pc.match_substring_regex(own, _UNORDERED).to_numpy(zero_copy_only=False)
        everywhere, rows = rows[anywhere], rows[~anywhere]
        own = own.filter(pa.array(~anywhere))
        order = pc.sort_indices(own)
        rows, ordered = rows[order.to_numpy()], _Texts(own.take(order))
        rows_of_tasks = []
        for task in tasks:
            bounds = self._ranges[task]
            inside = rows
            if bounds is not None:
                inside = rows[bisect_left(ordered, bounds[0]) : bisect_right(ordered, bounds[1])]
            rows_of_tasks.append((task, np.concatenate([inside, everywhere])))
        return rows_of_tasks


class _Texts(Sequence[str]):
    """An Arrow array of texts as a sequence of Python's, value by value as they are asked for."""

    def __init__(self, values: pa.Array) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, at: int) -> str:  # type: ignore[override]
        text: str = self._values[at].as_py()
        return text


class BloomIndex(Index):
    """Looks keys up in base files that ranges and bloom filters do not exclude, and in all log files."""

    def plan_lookup(self, partitions: Sequence[str], executor: TaskExecutor) -> LookupPlan:
        """Look keys up in the files whose bloom filters and key ranges may hold them."""
        slices = self.slices(partitions)
        source = KeySource.of(self.client)
        metadata = self._metadata()
        filters = _filters(metadata, slices) if metadata is not None else {}
        tasks = [BloomTask(source, part, filters.get((part.partition, part.base_file))) for part in slices]
        paths = None if self.is_global else [part.partition for part in slices]
        return LookupPlan(tasks, ByRange(paths, self._ranges(slices, metadata, executor)))

    def _metadata(self) -> MetadataTable | None:
        if not self.options.use_metadata:
            return None
        try:
            return MetadataTable.open(self.client)
        except MetadataTableError:
            return None

    def _ranges(
        self, slices: Sequence[Slice], metadata: MetadataTable | None, executor: TaskExecutor
    ) -> Sequence[Range | None]:
        if not self.options.prune_by_ranges:
            return [None] * len(slices)
        keyed = self.client.config.populate_meta_fields
        if metadata is None or not metadata.has(COLUMN_STATS) or not keyed:
            return executor.map(FooterRange(self.client.storage), slices)
        paths = None if self.is_global else list(by_partition(slices))
        names = [part.base_file for part in slices if part.base_file is not None]
        table = metadata.column_ranges([RECORD_KEY], names, paths)[RECORD_KEY]
        bounds = zip(*(table.column(name).to_pylist() for name in ("file_name", "min", "max")), strict=True)
        ranges = {name: (least, most) for name, least, most in bounds if least is not None and most is not None}
        return [None if part.log_files else ranges.get(part.base_file) for part in slices]


def _filters(metadata: MetadataTable, slices: Sequence[Slice]) -> dict[tuple[str, str | None], tuple[str, bytes]]:
    """Bloom filters that the metadata table has, by partition and base file."""
    filters: dict[tuple[str, str | None], tuple[str, bytes]] = {}
    if not metadata.has(BLOOM_FILTERS):
        return filters
    for partition, parts in by_partition(slices).items():
        names = [part.base_file for part in parts if part.base_file is not None]
        for row in metadata.bloom_filters(partition, names).to_pylist():
            filters[(partition, row["file_name"])] = (row["type"], row["filter"])
    return filters
