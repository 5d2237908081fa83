"""Reads the partitions of a table from the metastore, with filters pushed down, in batches.

In come a handle and a filter, out come batches of partition paths relative to the base path. No folder is looked at:
a recorded location is taken as it is. Partitions that the filter rules out are left out, here or by the metastore.

A metastore's partition value is what a sync made of the path, and need not be the value of the column: ``2024/01/05``
becomes ``2024-01-05``, ``a%2Fb`` may stay as it is. Values are trusted to prune by only where every fetched partition's
location says the same as its values; else all partitions are fetched and pruned by their paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.connector.handle import HudiTableHandle
from hudi_hive.connector.partition_filter import compares_text_by_order, metastore_filter
from hudi_hive.errors import (
    InvalidOptionError,
    MetastoreError,
    MetastoreServerError,
    NoSuchObjectError,
    PartitionValueError,
)
from hudi_hive.metastore import HiveMetastore, Partition
from hudi_hive.metastore.client import DEFAULT_PARTITION, format_partition_name, parse_partition_name
from hudi_hive.plan.model import prunable_fields
from hudi_hive.predicate import RowFilter
from hudi_hive.storage import HadoopPath
from hudi_hive.table.keys import partition_values, unescape_value
from hudi_hive.table.view import in_batches, is_partition_path

_MOST_AT_ONCE: Final = 1000
"""Partitions that are taken from one call."""


class MetastorePartitions:
    """The partitions of one table; an iterable of batches of paths, to be iterated once.

    Args:
        metastore: the metastore.
        handle: the table.
        row_filter: rows that are asked for, bound to the handle's schema.
        prune: the paths, of some, that may hold such rows.

    Attributes:
        values: the metastore's values of the partition keys by partition path, of all partitions given so far.
        names_total: partitions that the metastore named; None when it was asked by a filter.
        pushed: the filter text that the metastore was asked with, or None.
    """

    def __init__(
        self,
        metastore: HiveMetastore,
        handle: HudiTableHandle,
        row_filter: RowFilter | None,
        prune: Callable[[Sequence[str]], list[str]],
    ) -> None:
        self._metastore = metastore
        self._handle = handle
        self._filter = row_filter
        self._prune = prune
        self._config = handle.client.config
        self._base = HadoopPath.parse(handle.base_path)
        self._keys = [key.name for key in handle.partition_keys]
        self._aligned = self._aligned_columns()
        # Values of keys that are no columns of the table are what the metastore says.
        self._key_types = self._aligned or self._extra_keys()
        self._differs = False
        self.values: dict[str, tuple[str, ...]] = {}
        self.names_total: int | None = None
        self.pushed: str | None = None

    def __iter__(self) -> Iterator[list[str]]:
        for partitions in self._batches():
            pruned = self._prune([self._path(partition) for partition in partitions])
            if pruned:
                yield pruned

    def prune(self, paths: Sequence[str], row_filter: RowFilter) -> list[str]:
        """Prune partitions by one more filter: those stay that may hold rows passing it.

        They are judged by their values of keys that are no columns of the table.

        Args:
            paths: partition paths.
            row_filter: bound to the handle's schema.
        """
        if self._aligned or not paths or not any(name in self._key_types for name in row_filter.columns):
            return list(paths)
        values = self._typed([self.values[path] for path in paths], _null_or_text)
        if values is None:
            return list(paths)
        may_match = row_filter.partitions_that_may_match(values).to_pylist()
        return [path for path, keep in zip(paths, may_match, strict=True) if keep]

    # -- which partitions ----------------------------------------------------------------------------------------

    def _aligned_columns(self) -> dict[str, str]:
        """Columns whose values are (as far as properties tell) those of the metastore's keys: name → Hive type."""
        fields = self._config.partition_fields
        if [name.lower() for name in fields] != [key.lower() for key in self._keys]:
            return {}
        types = {key.name.lower(): key.type for key in self._handle.partition_keys}
        return {name: types[name.lower()] for name in prunable_fields(self._handle.client)}

    def _extra_keys(self) -> dict[str, str]:
        extra = set(self._handle.extra_keys.names)
        return {key.name: key.type for key in self._handle.partition_keys if key.name in extra}

    @property
    def _may_have_dashes(self) -> bool:
        """One text key may stand for several folders, its slashes written as dashes."""
        return bool(self._aligned) and len(self._keys) == 1 and not self._config.hive_style_partitioning

    def _batches(self) -> Iterator[list[Partition]]:
        if self._filter is None or not any(name in self._key_types for name in self._filter.columns):
            yield from self._by_name(self._names())
            return
        partitions = self._by_filter(self._filter)
        if partitions is None:
            yield from self._by_pruned_names(self._filter)
            return
        yield from in_batches(partitions)

    def _by_filter(self, row_filter: RowFilter) -> list[Partition] | None:
        """The partitions that the metastore chose; None when it cannot, or what it chose cannot be trusted."""
        if self._aligned and self._config.url_encode_partitioning:
            return None
        text = metastore_filter(row_filter, self._key_types, exact_text=not self._may_have_dashes)
        if text is None:
            return None
        handle = self._handle
        try:
            partitions = self._metastore.partitions_by_filter(handle.database, handle.name, text, _MOST_AT_ONCE + 1)
        except NoSuchObjectError:
            raise
        except MetastoreServerError:
            return None  # a server that cannot compare keys of this type
        if self._aligned and (not partitions or not all(map(self._matches_path, partitions))):
            return None
        if len(partitions) > _MOST_AT_ONCE:
            return None  # in batches by name the first ones are there sooner
        self.pushed = text
        if compares_text_by_order(text):
            partitions += self._in_another_order(row_filter, partitions)
        return partitions

    def _in_another_order(self, row_filter: RowFilter, selected: Sequence[Partition]) -> list[Partition]:
        """The partitions that may match, but not by the order of texts of the metastore's database."""
        names = self._names()
        selected_names = {format_partition_name(self._keys, partition.values) for partition in selected}
        others = [
            name
            for name, keep in zip(names, self._may_match(names, row_filter), strict=True)
            if keep and name not in selected_names
        ]
        return [partition for partitions in self._by_name(others) for partition in partitions]

    def _by_pruned_names(self, row_filter: RowFilter) -> Iterator[list[Partition]]:
        names = self._names()
        if self._differs:
            yield from self._by_name(names)
            return
        may_match = self._may_match(names, row_filter)
        matching = [name for name, keep in zip(names, may_match, strict=True) if keep]
        if not matching and names:
            # Nothing to fetch means nothing to compare: one partition tells whether values are those of the paths.
            for partitions in self._by_name(names[:1]):
                all(map(self._matches_path, partitions))
        for partitions in self._by_name(matching):
            yield partitions
            all(map(self._matches_path, partitions))
        if self._differs:
            yield from self._by_name([name for name, keep in zip(names, may_match, strict=True) if not keep])

    def _names(self) -> list[str]:
        names = self._metastore.partition_names(self._handle.database, self._handle.name)
        self.names_total = len(names)
        return names

    def _by_name(self, names: Sequence[str]) -> Iterator[list[Partition]]:
        if names:
            yield from self._metastore.partition_batches(self._handle.database, self._handle.name, names)

    def _may_match(self, names: Sequence[str], row_filter: RowFilter) -> list[bool]:
        """Whether each named partition may hold rows that pass, by its values alone."""
        keep = pa.array([False] * len(names), pa.bool_())
        texts = [parse_partition_name(name) for name in names]
        for variant in self._variants():
            values = self._typed(texts, variant)
            if values is None:
                return [True] * len(names)
            keep = pc.or_(keep, row_filter.partitions_that_may_match(values))
        result: list[bool] = keep.to_pylist()
        return result

    def _variants(self) -> list[Callable[[str], str | None]]:
        """What a value in the metastore may stand for in the column."""
        variants: list[Callable[[str], str | None]] = [
            _null_or_text,
            lambda text: "" if text == DEFAULT_PARTITION else text,
        ]
        if self._config.url_encode_partitioning:
            variants.append(lambda text: None if text == DEFAULT_PARTITION else unescape_value(text))
        if self._may_have_dashes:
            variants.append(lambda text: None if text == DEFAULT_PARTITION else text.replace("-", "/"))
        return variants

    def _typed(self, texts: Sequence[Sequence[str]], variant: Callable[[str], str | None]) -> pa.Table | None:
        schema = self._handle.schema
        columns: dict[str, pa.Array] = {}
        by_key = {key.lower(): index for index, key in enumerate(self._keys)}
        for name in self._key_types:
            index = by_key[name.lower()]
            kind = schema.field(name).type
            values = [variant(row[index]) for row in texts]
            if not pa.types.is_string(kind):
                values = [text or None for text in values]
            try:
                columns[name] = pa.array(values, pa.string()).cast(kind)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                continue
        return pa.table(columns) if columns else None

    # -- what a partition says -----------------------------------------------------------------------------------

    def _matches_path(self, partition: Partition) -> bool:
        """Whether a partition's values are those of its path; once one's are not, none is believed."""
        if not self._aligned:
            return True
        path = self._path(partition)
        try:
            of_path = partition_values(
                path,
                self._config.partition_fields,
                hive_style=self._config.hive_style_partitioning,
                url_encoded=self._config.url_encode_partitioning,
            )
        except PartitionValueError:
            of_path = []
        same = [DEFAULT_PARTITION if text is None else text for text in of_path] == list(partition.values)
        self._differs = self._differs or not same
        return same

    def _path(self, partition: Partition) -> str:
        """Path of a partition below the base path."""
        name = format_partition_name(self._keys, partition.values)
        location = partition.sd.location if partition.sd is not None else None
        if not location:
            raise MetastoreError(
                f"partition {name} of {self._handle.full_name} has no location", remedy="drop it and sync again"
            )
        try:
            path = HadoopPath.parse(location)
        except InvalidOptionError as error:
            raise MetastoreError(
                f"the location of partition {name} of {self._handle.full_name} cannot be taken: {error.message}",
                path=location,
                remedy="sync the table again, or drop the partition",
            ) from error
        inside = path.path.startswith(self._base.path.rstrip("/") + "/") and _same_store(path, self._base)
        if not inside:
            raise MetastoreError(
                f"partition {name} of {self._handle.full_name} lies outside the table's base path"
                f" {self._handle.base_path}",
                path=location,
                remedy="sync the table again, or drop the partition",
            )
        relative = path.path[len(self._base.path.rstrip("/")) + 1 :]
        if not is_partition_path(relative) or self._handle.client.storage.is_alias(relative):
            raise MetastoreError(
                f"partition {name} of {self._handle.full_name} is at no place that a partition of the table has: a"
                " metadata folder, or a symbolic link to another of the table's folders",
                path=location,
                remedy="sync the table again, or drop the partition",
            )
        other = self.values.setdefault(relative, tuple(partition.values))
        if other != tuple(partition.values):
            raise MetastoreError(
                f"partitions {format_partition_name(self._keys, other)} and {name} of {self._handle.full_name} have"
                " the same location, so that its rows would be there twice",
                path=location,
                remedy="drop one of the two",
            )
        return relative


def _null_or_text(text: str) -> str | None:
    return None if text == DEFAULT_PARTITION else text


def _same_store(path: HadoopPath, base: HadoopPath) -> bool:
    """Whether two paths are of one store.

    A path without scheme or authority goes with any, as the metastore resolves it.
    """
    if path.is_local and base.is_local:
        return True
    if "file:" in (path.prefix, base.prefix):
        return False  # of this machine, and the other of another store or of one that is not said
    own, other = (item.prefix.partition(":")[2] for item in (path, base))
    return own == other or not own or not other
