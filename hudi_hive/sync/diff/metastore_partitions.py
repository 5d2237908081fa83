"""Reads a table's partitions from the metastore in few calls.

Comes in: a client, a table's specification, the partitions looked at. Goes out: ``REGISTERED`` tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from hudi_hive.errors import MetastoreServerError, NoSuchObjectError, PartitionValueError
from hudi_hive.metastore import BatchSizes, Table
from hudi_hive.metastore.client import format_partition_name
from hudi_hive.sync.catalog import Catalog
from hudi_hive.sync.config import EXTRACTORS
from hudi_hive.sync.diff.filters import order_is_certain, partition_filter
from hudi_hive.sync.diff.partition_diff import REGISTERED
from hudi_hive.sync.table import TableSpec, relative_to
from hudi_hive.table.keys import unescape_value

_FIRST, _SMALLEST, _LARGEST = 100, 100, 1000
_FIELDS_AT_ONCE = 100_000
_ALIASES_CHECKED = 50


def batch_sizes(metastore: Catalog, spec: TableSpec) -> BatchSizes:
    """The numbers of partitions to read in each call, which are large from the start.

    Each partition comes with all its columns: the wider the table, the fewer. Sizes that the client was given stay.
    """
    if metastore.batch != BatchSizes():
        return metastore.batch
    most = min(_LARGEST, max(_SMALLEST, _FIELDS_AT_ONCE // max(1, len(spec.columns))))
    return BatchSizes(min(_FIRST, most), most, metastore.batch.write)


class MetastorePartitionReader:
    """Reads the partitions of metastore tables.

    Args:
        metastore: asked.
        pushdown_max_size: ask for some partitions by a filter, see ``partition_filter``; None asks by name.
    """

    def __init__(self, metastore: Catalog, pushdown_max_size: int | None) -> None:
        self._metastore = metastore
        self._pushdown_max_size = pushdown_max_size

    def all(self, spec: TableSpec) -> pa.Table:
        """All partitions of a table."""
        return self._fetch(spec, None)

    def among(self, spec: TableSpec, looked_at: pa.Table, existing: Table | None) -> tuple[pa.Table, tuple[str, ...]]:
        """Read the registered partitions among the given ones (``PARTITIONS``), possibly with others, and warnings.

        Asked by name, those are asked for as well that would show the same folders under other values.
        """
        if not looked_at.num_rows:
            return REGISTERED.empty_table(), ()
        warnings: tuple[str, ...] = ()
        if self._pushdown_max_size is not None and existing is not None:
            keys = [(key.name, key.type) for key in existing.partitionKeys]
            values = looked_at["values"].to_pylist()
            try:
                text = partition_filter(keys, values, max_size=self._pushdown_max_size)
                registered = self._fetch(spec, None, text or None)
                if text and not order_is_certain(keys, values, max_size=self._pushdown_max_size):
                    # Those that the database has in another order than ours.
                    selected = set(registered["name"].to_pylist())
                    left_out = [name for name in looked_at["name"].to_pylist() if name not in selected]
                    registered = pa.concat_tables([registered, self._fetch(spec, left_out)])
                return registered, ()
            except NoSuchObjectError:
                raise
            except (PartitionValueError, MetastoreServerError) as error:
                # Not every metastore takes filters on all types of keys.
                warnings = (f"partitions are asked for by name, not by filter: {error.message}",)
        names: list[str] = looked_at["name"].to_pylist()
        others = alias_names([key.name for key in spec.partition_keys], looked_at["path"].to_pylist())
        return self._fetch(spec, [*names, *sorted(others.difference(names))]), warnings

    def _fetch(self, spec: TableSpec, names: Sequence[str] | None, text: str | None = None) -> pa.Table:
        registered = self._metastore.partitions_table(
            spec.database,
            spec.name,
            names,
            filter=text,
            keys=[key.name for key in spec.partition_keys],
            batch=batch_sizes(self._metastore, spec),
        )
        return registered.select(REGISTERED.names).cast(REGISTERED)


def alias_names(keys: Sequence[str], paths: Iterable[str]) -> set[str]:
    """Other names under which another extractor or decoding would have registered partitions.

    Hudi's own tool leaves encoded values as they are, and guesses the extractor from its options alone. For some
    partitions only, encoded ones first: one that is found is enough.
    """
    checked = sorted(paths, key=lambda path: "%" not in path)[:_ALIASES_CHECKED]
    names = set()
    for path in checked:
        for extractor in EXTRACTORS.values():
            try:
                values = extractor(path)
            except PartitionValueError:
                continue
            if values and len(values) == len(keys):
                names.add(format_partition_name(keys, values))
                names.add(format_partition_name(keys, [unescape_value(value) for value in values]))
    return names


def aliased_partitions(spec: TableSpec, looked_at: pa.Table, registered: pa.Table) -> list[str]:
    """Names of registered partitions that have a folder of ``looked_at`` under other values.

    Beside the right one such a partition would show every row twice.
    """
    names, paths = set(looked_at["name"].to_pylist()), set(looked_at["path"].to_pylist())
    rows = registered.select(["name", "location"]).to_pylist()
    return [
        row["name"]
        for row in rows
        if row["name"] not in names and relative_to(spec.base_path, row["location"] or "") in paths
    ]
