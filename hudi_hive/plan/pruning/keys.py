"""Pruning by record keys: bloom filters of base files, the record index."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.hash import BloomFilter, key_hashes
from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import BLOOM_FILTERS
from hudi_hive.names import RECORD_KEY_COLUMN
from hudi_hive.predicate import RowFilter
from hudi_hive.table import MetaClient

RECORD_KEY: Final = RECORD_KEY_COLUMN
MOST_KEYS: Final = 1000
"""With more keys than this, looking each of them up costs more than it saves."""

_OWN_KEYS: Final = ("USER_PROVIDED", "SPARK_SQL_UUID", "AUTO_RECORD")
"""Key generators whose keys are not the text of the key field."""

_Mask = npt.NDArray[np.bool_]


def required_record_keys(
    client: MetaClient, row_filter: RowFilter, *, by_fields: bool = True
) -> tuple[str, ...] | None:
    """The record keys that a passing row can have; None if the filter does not limit them, or to too many.

    Told by equality or ``IN`` on the record key's meta column, or on the field of a key of one field, whose text is the
    value alone or behind the field's name (releases differ, so both are looked for); ``by_fields`` false: on the meta
    column alone.
    """
    config = client.config
    if not config.populate_meta_fields:
        return None
    direct = row_filter.required_values(RECORD_KEY)
    if direct is not None and pa.types.is_string(direct.type):
        return _few(direct.to_pylist())
    if not by_fields or len(config.record_keys) != 1 or (config.key_generator or "").startswith(_OWN_KEYS):
        return None
    field = config.record_keys[0]
    values = row_filter.required_values(field)
    if values is None or not (pa.types.is_string(values.type) or pa.types.is_integer(values.type)):
        return None
    texts = [str(value) for value in values.to_pylist()]
    texts += ["__empty__"] if "" in texts else []
    return _few([*texts, *(f"{field}:{text}" for text in texts)])


def _few(keys: list[str]) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(keys)) if len(keys) <= MOST_KEYS else None


def by_bloom_filters(metadata: MetadataTable, slices: pa.Table, keys: tuple[str, ...]) -> _Mask:
    """Whether each slice may hold one of the keys by bloom filter; true for slices with log files or without filter."""
    return by_filters(metadata, slices, keys, BLOOM_FILTERS)


def by_filters(metadata: MetadataTable, slices: pa.Table, keys: tuple[str, ...], index: str) -> _Mask:
    """As :func:`by_bloom_filters`, by the filters of any index and the texts that it has filters of."""
    keep = np.ones(slices.num_rows, np.bool_)
    bases = slices.column("base_file").combine_chunks()
    alone = pc.and_(pc.is_valid(bases), pc.equal(pc.list_value_length(slices.column("log_files")), 0))
    rows = np.flatnonzero(alone.to_numpy(zero_copy_only=False))
    partitions = slices.column("partition").combine_chunks().take(pa.array(rows)).to_pylist()
    of_partition: dict[str, list[int]] = {}
    for row, partition in zip(rows.tolist(), partitions, strict=True):
        of_partition.setdefault(partition, []).append(row)
    hashes = key_hashes(keys, 0)
    for partition, members in of_partition.items():
        names = bases.take(pa.array(members)).to_pylist()
        found = metadata.bloom_filters(partition, names, index)
        places = dict(zip(names, members, strict=True))
        for line in found.to_pylist():
            bloom = BloomFilter.parse(line["filter"], line["type"], line["file_name"])
            if bloom.hashes > hashes.shape[1]:
                hashes = key_hashes(keys, bloom.hashes)
            keep[places[line["file_name"]]] = bool(bloom.may_contain(hashes).any())
    return keep


def by_record_index(metadata: MetadataTable, slices: pa.Table, keys: tuple[str, ...]) -> _Mask:
    """Whether each slice holds one of the keys, by the record index of the table or of the slices' partitions."""
    located = metadata.record_locations(list(keys), slices.column("partition").combine_chunks().unique().to_pylist())
    places = set(zip(located.column("partition").to_pylist(), located.column("file_id").to_pylist(), strict=True))
    here = zip(slices.column("partition").to_pylist(), slices.column("file_id").to_pylist(), strict=True)
    return np.array([place in places for place in here], np.bool_)
