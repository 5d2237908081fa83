"""Records of the partition ``files`` for the files that an action adds and deletes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.metadata.reader import ALL_PARTITIONS, ROOT_PARTITION, MetadataChanges, partition_identifier
from hudi_hive.metadata.writer import records
from hudi_hive.metadata.writer.records import Records


def file_records(changes: MetadataChanges, version: int) -> Records:
    """Records of the ``files`` partition: touched partitions, files by partition, tombstones."""
    added, gone = changes.files_added, changes.files_deleted
    partitions = pa.concat_arrays([as_array(added.column("partition")), as_array(gone.column("partition"))])
    entries = records.file_lists(
        _identifiers(partitions),
        pa.concat_arrays([as_array(added.column("name")), as_array(gone.column("name"))]),
        pa.concat_arrays([as_array(added.column("size")), pa.array(np.zeros(gone.num_rows, np.int64))]),
        pa.array(np.arange(len(partitions)) >= added.num_rows),
        records.FILES_TYPE,
        version,
    )
    touched = dict.fromkeys([*as_array(added.column("partition")).unique().to_pylist(), *changes.partitions_touched])
    dropped = [path for path in dict.fromkeys(changes.partitions_deleted) if path not in touched]
    listed = [partition_identifier(path) for path in (*touched, *dropped)]
    if not listed:
        return entries
    everything = records.file_lists(
        pa.array([ALL_PARTITIONS] * len(listed), pa.string()),
        pa.array(listed, pa.string()),
        pa.array(np.zeros(len(listed), np.int64)),
        pa.array(np.arange(len(listed)) >= len(touched)),
        records.ALL_PARTITIONS_TYPE,
        version,
    )
    return records.join_records([everything, entries])


def _identifiers(paths: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(paths, ""), ROOT_PARTITION, paths)


def as_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    if isinstance(column, pa.ChunkedArray):
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column
