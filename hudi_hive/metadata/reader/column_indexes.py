"""``ColumnIndexes``: look-ups in secondary and expression indexes and bloom filters of the metadata table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Final, ParamSpec, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import CorruptFileError, HudiHiveError
from hudi_hive.formats.avro import describe
from hudi_hive.metadata.reader import keys as names
from hudi_hive.metadata.reader import records
from hudi_hive.metadata.reader.file_group import GroupRecords
from hudi_hive.metadata.reader.merge import newest_records
from hudi_hive.metadata.reader.ranges import merge_stats, typed_ranges
from hudi_hive.metrics import MetadataMetrics

BLOOM_FILTERS: Final = "bloom_filters"
SECONDARY_PREFIX: Final = "secondary_index_"

LOCATION_SCHEMA: Final = pa.schema(
    [("key", pa.string()), ("partition", pa.string()), ("file_id", pa.string()), ("instant", pa.string())]
)
"""Columns of :meth:`MetadataTable.record_locations`."""

SECONDARY_KEYS_SCHEMA: Final = pa.schema([("secondary_key", pa.string()), ("key", pa.string())])
"""Columns of :meth:`MetadataTable.secondary_keys`."""

SECONDARY_SCHEMA: Final = pa.schema([("secondary_key", pa.string()), *LOCATION_SCHEMA])
"""Columns of :meth:`MetadataTable.secondary_locations`."""

BLOOM_FILTER_SCHEMA: Final = pa.schema([("file_name", pa.string()), ("type", pa.string()), ("filter", pa.binary())])
"""Columns of :meth:`MetadataTable.bloom_filters`."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def understood(ask: Callable[_P, _R]) -> Callable[_P, _R]:
    """Records of another form than they should have, as a damaged schema makes them, end in an error of ours."""

    @wraps(ask)
    def with_errors_named(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return ask(*args, **kwargs)
        except HudiHiveError:
            raise
        except (pa.ArrowException, AttributeError, KeyError, StopIteration, ValueError) as error:
            raise CorruptFileError(
                f"records of the metadata table are not of their form: {describe(error)}",
                path=args[0]._uri,  # type: ignore[attr-defined]
            ) from error

    return with_errors_named


class ColumnIndexes(ABC):
    """Look-ups in indexes of single columns; a part of ``MetadataTable``."""

    _metrics: MetadataMetrics

    @property
    @abstractmethod
    def _uri(self) -> str: ...

    @abstractmethod
    def record_locations(self, keys: Sequence[str] | None = None, partitions: Sequence[str] | None = None) -> pa.Table:
        """Look up the locations of record keys, a table of :data:`LOCATION_SCHEMA`."""

    @abstractmethod
    def _scan(self, partition: str, field: str) -> list[GroupRecords]: ...

    @abstractmethod
    def _prefixes(self, partition: str, field: str, prefixes: Sequence[str]) -> list[GroupRecords]: ...

    @abstractmethod
    def _lookup(self, partition: str, field: str, keys: Sequence[str]) -> list[GroupRecords]: ...

    @understood
    def secondary_locations(self, index: str, values: Sequence[str]) -> pa.Table:
        """Look up the locations of records with the given values of a secondary-indexed column.

        Args:
            index: name of the index, with or without ``secondary_index_`` before it.
            values: values of the column as text.

        Returns:
            A table of :data:`SECONDARY_SCHEMA`: a row per record.

        Raises:
            MetadataTableError: the index or the record index is not complete.
        """
        pairs = self.secondary_keys(index, values)
        secondary, keys = (pairs.column(name).combine_chunks() for name in ("secondary_key", "key"))
        located = self.record_locations(keys.to_pylist())
        row = pc.index_in(keys, value_set=located.column("key").combine_chunks())
        here = pc.is_valid(row)
        chosen = located.take(row.filter(here)).columns
        return pa.table([secondary.filter(here), *chosen], schema=SECONDARY_SCHEMA)

    @understood
    def secondary_keys(self, index: str, values: Sequence[str] | None = None) -> pa.Table:
        """Look up the keys of records with the given values of a secondary-indexed column.

        Args:
            index: name of the index, with or without ``secondary_index_`` before it.
            values: values of the column as text; all records of the index without it.

        Returns:
            A table of :data:`SECONDARY_KEYS_SCHEMA`; the secondary key of records with null is null.

        Raises:
            MetadataTableError: the index is not complete.
        """
        partition = index if index.startswith(SECONDARY_PREFIX) else SECONDARY_PREFIX + index
        with self._metrics.timed("lookup_secondary_index"):
            groups = self._secondary_groups(partition, values)
            table = newest_records(groups, records.deletions)
            table = table.filter(pc.invert(pc.fill_null(table.column("is_deleted"), False)))
            pairs = [pair for key in table.column("key").to_pylist() if (pair := names.split_secondary(key))]
        columns = [pa.array([pair[at] for pair in pairs], pa.string()) for at in (0, 1)]
        return pa.table(columns, schema=SECONDARY_KEYS_SCHEMA)

    def _secondary_groups(self, partition: str, values: Sequence[str] | None) -> list[GroupRecords]:
        if values is None:
            return self._scan(partition, "SecondaryIndexMetadata")
        prefixes = [f"{names.escape_secondary(value)}$" for value in dict.fromkeys(values)]
        return self._prefixes(partition, "SecondaryIndexMetadata", prefixes) if prefixes else []

    @understood
    def expression_ranges(self, index: str, column: str, kind: pa.DataType, partitions: Sequence[str]) -> pa.Table:
        """Statistics of an expression index, in the form of :meth:`column_ranges`.

        Args:
            index: the partition of the metadata table.
            column: the column that the expression is of, nested fields by dotted names.
            kind: the type of the expression's results.
            partitions: partition paths to look into.

        Returns:
            As :meth:`column_ranges`, but that ``value_count`` leaves nulls out.

        Raises:
            MetadataTableError: the index is not complete.
        """
        return typed_ranges(self.expression_stats(index, column, partitions), kind, "file_name")

    @understood
    def expression_stats(self, index: str, column: str, partitions: Sequence[str]) -> pa.Table:
        """Statistics of an expression index as they stand in it (``STATS_SCHEMA``); arguments as above."""
        with self._metrics.timed("lookup_column_stats"):
            heads = [names.column_key(column) + names.partition_key(path) for path in dict.fromkeys(partitions)]
            merged = merge_stats(self._prefixes(index, "ColumnStatsMetadata", heads) if heads else [])
            return merged.filter(pc.invert(merged.column("is_deleted")))

    @understood
    def bloom_filters(self, partition: str, file_names: Sequence[str], index: str = BLOOM_FILTERS) -> pa.Table:
        """Bloom filters of base files of one partition, a table of :data:`BLOOM_FILTER_SCHEMA`.

        ``filter`` is the Base64 text of the filter, as in base files' footers. A file without one has no row.

        Args:
            partition: partition path.
            file_names: bare names of the files.
            index: the partition of the metadata table: that of record keys, or an expression index.

        Raises:
            MetadataTableError: the index is not complete.
        """
        with self._metrics.timed("lookup_bloom_filters"):
            head = names.partition_key(partition)
            of_key = {head + names.file_key(name): name for name in dict.fromkeys(file_names)}
            table = newest_records(self._lookup(index, "BloomFilterMetadata", list(of_key)), records.bloom_filters)
        table = table.filter(pc.invert(pc.fill_null(table.column("is_deleted"), False)))
        files = pa.array([of_key[key] for key in table.column("key").to_pylist()], pa.string())
        return pa.table([files, table.column("type"), table.column("filter")], schema=BLOOM_FILTER_SCHEMA)
