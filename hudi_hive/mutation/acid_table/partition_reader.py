"""Reads a partition of an ACID table under a snapshot, file by file, in several threads.

Of a file only those stripes are read in which a row may pass the filter, and the files of delete events only once a row
has passed it. Source: Hive's ORC ACID format (HIVE-10165, split update HIVE-14035).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.formats.orc import HiveType
from hudi_hive.metastore.transactions import ValidWriteIds
from hudi_hive.mutation.acid_table.acid_file_reader import AcidEvents, OpenAcidFile
from hudi_hive.mutation.acid_table.directories import AcidFile, PartitionState
from hudi_hive.mutation.acid_table.row_ids import ROW_ID, DeletedRows, RowIdColumns, row_id_array
from hudi_hive.predicate import RowFilter
from hudi_hive.read.scan import in_order
from hudi_hive.storage import Storage

BATCH_ROWS: Final = 131_072
"""Greatest number of rows of a batch."""

Producer = Callable[[], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class PartitionScan:
    """The columns and filter that are read of every partition.

    Args:
        write_ids: the snapshot.
        columns: the table's columns that are decoded.
        kinds: their Hive types by name.
        output: schema of the batches.
        row_filter: which rows; None for all.
        threads: files that are read at a time.
    """

    write_ids: ValidWriteIds
    columns: Sequence[pa.Field]
    kinds: Mapping[str, HiveType]
    output: pa.Schema
    row_filter: RowFilter | None
    threads: int


class PartitionReader:
    """Reads one partition.

    Args:
        storage: of its files.
        state: what the snapshot reads of it.
        keys: the values of the partition keys.
        scan: what is read.
    """

    def __init__(
        self, storage: Storage, state: PartitionState, keys: Mapping[str, pa.Scalar], scan: PartitionScan
    ) -> None:
        self._storage, self._state, self._keys, self._scan = storage, state, keys, scan
        self._lock = threading.Lock()
        self._deleted: DeletedRows | None = None

    def producers(self) -> Iterator[Producer]:
        """Functions that each yield the rows of one file."""
        for file in self._state.data_files:
            yield partial(self._rows, file)

    def _rows(self, file: AcidFile) -> Iterator[pa.RecordBatch]:
        scan = self._scan
        with OpenAcidFile(self._storage, file) as opened:
            for events in opened.rows(scan.columns, scan.kinds, scan.row_filter):
                arrays = dict(zip((field.name for field in scan.columns), events.columns, strict=True))
                arrays |= {name: pa.repeat(value, len(events.written)) for name, value in self._keys.items()}
                mask = self._mask(events, arrays)
                if mask.any():
                    yield from _cut(_batch(events, arrays, mask, scan.output))

    def _mask(self, events: AcidEvents, arrays: Mapping[str, pa.Array]) -> npt.NDArray[np.bool_]:
        """Which events are rows that live and pass the filter."""
        mask = self._scan.write_ids.valid_mask(events.written)
        rest = self._scan.row_filter
        if rest is not None and mask.any():
            names = [name for name in rest.columns if name in arrays]
            data = pa.RecordBatch.from_arrays([arrays[name] for name in names], names=names) if names else None
            passes = rest.evaluate(data if data is not None else without_columns(len(mask)))
            mask = mask & passes.fill_null(False).to_numpy(zero_copy_only=False)
        if not mask.any():
            return mask
        return mask & ~self._deletes().mask(events.keys)

    def _deletes(self) -> DeletedRows:
        """What the snapshot's delete events name. Hive 3 files them by writer in tables without buckets: all count."""
        with self._lock:
            if self._deleted is None:
                files = (partial(self._delete_events, file) for file in self._state.delete_files)
                self._deleted = DeletedRows.of(list(in_order(files, self._scan.threads)))
            return self._deleted

    def _delete_events(self, file: AcidFile) -> Iterator[RowIdColumns]:
        with OpenAcidFile(self._storage, file) as opened:
            for events in opened.deletes():
                seen = self._scan.write_ids.valid_mask(events.written)
                write, bucket, row = events.keys
                yield RowIdColumns(write[seen], bucket[seen], row[seen])


def _batch(
    events: AcidEvents, arrays: dict[str, pa.Array], mask: npt.NDArray[np.bool_], output: pa.Schema
) -> pa.RecordBatch:
    """The rows of a stripe that are wanted."""
    if ROW_ID in output.names:
        arrays[ROW_ID] = row_id_array(events.keys)
    if not len(output):
        return without_columns(int(mask.sum()))
    batch = pa.RecordBatch.from_arrays([arrays[name] for name in output.names], schema=output)
    return batch if mask.all() else batch.filter(pa.array(mask))


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(start, BATCH_ROWS)


def without_columns(rows: int) -> pa.RecordBatch:
    """Make a batch of a number of rows without columns."""
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))
