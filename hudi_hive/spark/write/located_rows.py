"""Rows that a statement read from the table it writes: their meta columns tell the file groups of their records.

So their keys are looked up nowhere. Source: what Hudi calls prepped writes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.spark.write.tasks import PLACE_FIELDS, Batches, PrepareKeys, PrepareRows, step
from hudi_hive.table.keys import DEFAULT_PARTITION, NULL_KEY
from hudi_hive.write.files import PARTITION_PATH, RECORD_KEY
from hudi_hive.write.index import one_array
from hudi_hive.write.records import FILE_NAME, INSERT, OPERATION

_FILE_ID = r"^\.?([^_]+)(_.*)?$"


@dataclass(frozen=True)
class LocateRows:
    """Prepared rows with the file groups that their meta columns name; others are new or to be looked up.

    Attributes:
        prepare: makes prepared rows, as many as came.
        carried: the rows have the meta columns of their records, or null in them.
        inserts_are_new: rows without a name that insert are of no record of the table.
        are_new: so are all others without a name.
    """

    prepare: PrepareRows
    carried: bool
    inserts_are_new: bool = False
    are_new: bool = False

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Rows with :data:`PLACE_FIELDS`."""
        for batch, rows in self.prepare.pairs(batches):
            places = _file_ids(rows, batch) if self.carried else pa.nulls(rows.num_rows, pa.string())
            yield from _with_places(rows, places, self._is_new(rows, places), is_gone=False)

    def _is_new(self, rows: pa.Table, places: pa.Array) -> pa.Array:
        """Whether the table has no record of a row; null where that is not known."""
        unnamed = pc.is_null(places)
        if self.are_new:
            return unnamed
        known = pc.is_valid(places)
        if self.inserts_are_new:
            new = pc.and_(unnamed, pc.equal(one_array(rows.column(OPERATION)), INSERT))
            known = pc.or_(known, pc.and_(new, self._differs_by_values(rows)))
        return pc.if_else(known, unnamed, pa.scalar(None, pa.bool_()))

    def _differs_by_values(self, rows: pa.Table) -> pa.Array:
        """Whether other values than those of a row would make another key or partition path; null equals no null."""
        keys, paths = one_array(rows.column(RECORD_KEY)), one_array(rows.column(PARTITION_PATH)).dictionary_encode()
        folders = max(0, len(self.prepare.generator.path_fields) - 1)
        told = pc.and_(
            pc.equal(pc.count_substring(paths.dictionary, "/"), folders),
            pc.invert(pc.match_substring(paths.dictionary, DEFAULT_PARTITION)),
        )
        return pc.and_(pc.invert(pc.match_substring(keys, f":{NULL_KEY}")), told.take(paths.indices)).fill_null(False)


@dataclass(frozen=True)
class LocateKeys:
    """Records to delete, with the file groups that their meta columns name.

    Attributes:
        prepare: makes keys of rows.
    """

    prepare: PrepareKeys

    @step
    def __call__(self, batches: Batches) -> Batches:
        """Keys and partition paths with :data:`PLACE_FIELDS`."""
        for batch in batches:
            keys = self.prepare.keys(batch, once=False)  # records of one key may be in several groups
            places = _file_ids(keys, batch)
            known = pc.if_else(pc.is_valid(places), False, pa.scalar(None, pa.bool_()))
            yield from _with_places(keys, places, known, is_gone=True)


def _file_ids(rows: pa.Table, carried: pa.RecordBatch) -> pa.Array:
    """The file group of each row whose key and partition path are still those of its record; else null."""
    same = [
        pc.equal(one_array(rows.column(name)), carried.column(name).cast(pa.string()))
        for name in (RECORD_KEY, PARTITION_PATH)
    ]
    names = carried.column(FILE_NAME).cast(pa.string()).dictionary_encode()
    # Log records carry the file id in the place of a name; names of log files begin with a dot.
    ids = pc.replace_substring_regex(names.dictionary, _FILE_ID, r"\1").take(names.indices)
    usable = pc.and_(pc.and_(*same), pc.not_equal(ids, "")).fill_null(False)
    return pc.if_else(usable, ids, pa.scalar(None, pa.string()))


def _with_places(rows: pa.Table, file_ids: pa.Array, is_new: pa.Array, *, is_gone: bool) -> Batches:
    values = (file_ids, is_new, pa.array(np.full(rows.num_rows, is_gone)), pa.nulls(rows.num_rows, pa.int64()))
    for item, column in zip(PLACE_FIELDS, values, strict=True):
        rows = rows.append_column(item, column)
    yield from rows.combine_chunks().to_batches()


__all__ = ["LocateKeys", "LocateRows"]
