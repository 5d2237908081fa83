"""Pruning by secondary indexes: values of a column lead to record keys, and these by the record index to file groups.

An index is not believed where it may lack records: one that names keys which the record index does not have, and those
of merge-on-read tables of version 9 with several of them, of which Hudi 1.1 keeps one alone in step with log files.

Source: RFC-77, docs/format.md#secondary-indexes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import MetadataTableError
from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import (
    RECORD_INDEX,
    IndexDefinition,
    keeps_each_in_step,
    secondary_texts,
)
from hudi_hive.plan.pruning.built import refuse_half_built
from hudi_hive.predicate import RowFilter
from hudi_hive.table import MetaClient

MOST_VALUES: Final = 1000
"""With more values than this, looking each of them up costs more than it saves."""

_Mask = npt.NDArray[np.bool_]


class SecondaryLookup(NamedTuple):
    """Values of an indexed column that passing rows have.

    Attributes:
        name: the index, a partition of the metadata table.
        values: texts as the index has them.
    """

    name: str
    values: tuple[str, ...]


def secondary_lookups(
    client: MetaClient, definitions: Sequence[IndexDefinition], row_filter: RowFilter, columns: Sequence[str]
) -> list[SecondaryLookup]:
    """The secondary indexes of columns that a filter limits to some values.

    Args:
        client: the table.
        definitions: of its indexes.
        row_filter: the filter.
        columns: those that all files call as the table does.
    """
    lookups = []
    complete = set(client.config.metadata_partitions)
    for one in definitions:
        if one.kind != "secondary_index" or one.name not in complete or RECORD_INDEX not in complete:
            continue
        if len(one.columns) != 1 or one.columns[0] not in columns or one.function not in ("", "identity"):
            continue
        if not keeps_each_in_step(client, definitions):
            continue
        values = row_filter.required_values(one.columns[0])
        if values is None or len(values) > MOST_VALUES:
            continue
        texts = secondary_texts(values, client.config.version)
        if texts is not None:
            lookups.append(SecondaryLookup(one.name, tuple(texts.unique().to_pylist())))
    return lookups


def by_secondary_index(client: MetaClient, metadata: MetadataTable, slices: pa.Table, lookup: SecondaryLookup) -> _Mask:
    """Whether each slice holds a record with one of the values, by a secondary index and the record index.

    Raises:
        MetadataTableError: the index is not known to hold all records, or names a record key that the record index
            does not have.
    """
    refuse_half_built(client, metadata, lookup.name)
    keys = metadata.secondary_keys(lookup.name, lookup.values).column("key").combine_chunks().unique()
    locations = metadata.record_locations(keys.to_pylist())
    missing = keys.filter(pc.invert(pc.is_in(keys, value_set=locations.column("key").combine_chunks())))
    if len(missing):
        raise MetadataTableError(
            f"{lookup.name} names the record key {missing[0].as_py()!r}, which the record index does not have",
            path=metadata.client.base_path,
            remedy="drop the index and make it anew",
        )
    places = _joined(locations)
    return np.asarray(pc.is_in(_joined(slices), value_set=places.unique()).to_numpy(zero_copy_only=False), np.bool_)


def _joined(table: pa.Table) -> pa.Array:
    joined = pc.binary_join_element_wise(table.column("partition"), table.column("file_id"), "\n")
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined
