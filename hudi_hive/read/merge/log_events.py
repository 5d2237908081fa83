"""The log records and deletes of one file slice as columns: the input of folding and of partial updates."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from hudi_hive.read.merge.ordering_values import Flags, Ints
from hudi_hive.table.logs import LogData


@dataclass(frozen=True, slots=True)
class LogEvents:
    """All log records and deletes of a slice, oldest first.

    Attributes:
        keys: the distinct record keys, in order of first appearance.
        key: number of each event's key.
        row: row of each event in ``rows``, -1 for an entry of a delete block.
        deletes: whether the event deletes.
        natural: whether it is a delete without ordering value, which wins over all before it.
        ordering: columns of ordering values, a value an event.
        rows: the data records, columns of the requested schema.
        blocks: the data blocks.
        block: of each row of ``rows``, the number of its block.
    """

    keys: pa.Array
    key: Ints
    row: Ints
    deletes: Flags
    natural: Flags
    ordering: tuple[pa.Array, ...]
    rows: pa.Table
    blocks: tuple[LogData, ...]
    block: Ints
