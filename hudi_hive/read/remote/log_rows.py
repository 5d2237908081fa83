"""Serialisable tasks that give what the log files of slices do to base files, in the types of another engine.

The engine reads base files itself. It gets the records that stand beside them, and which rows of a file do not count
any more: as one row more for each slice, whose other columns are null.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import HudiHiveError, SchemaError
from hudi_hive.formats.base import BATCH_ROWS, open_base_file
from hudi_hive.plan import ScanPlan
from hudi_hive.read.columns import Reconciler, same_kind
from hudi_hive.read.remote.executor_read import EngineColumns, serialize_error
from hudi_hive.read.scan import counted_share, partition_columns, replaced_share
from hudi_hive.storage import Storage

SLICE_COLUMN: Final = "_hudi_hive_slice"
"""The number of the slice that a row is of."""
EFFECT_COLUMN: Final = "_hudi_hive_effect"
"""A :class:`LogEffect`; null in rows of log records."""

ROWS_COLUMN: Final = "_hudi_hive_rows"
"""The number of records of a packed batch; null beside an effect."""

_BITS: Final = b"\n"

_BATCH_BYTES: Final = 2 << 20
"""Of a packed batch, about: Spark holds a hundred of them while it writes them to an executor's disk, or reads them."""

_SHARE_COLUMNS: Final = 3
"""The first columns of requests, which say what of which slice."""


@dataclass(frozen=True)
class LogEffect:
    """What the log files of a slice do to its base file.

    Attributes:
        left_out: a bit for each row of the base file, the first in the lowest place of a byte: 1 for rows that do not
            count any more; whole words of 64 bits. Empty where rows were counted only.
        rows: rows of the slice, or of a share of it: those of the base file that count, and the records beside them.
        instants: of all blocks in the log files; which of them counted was told by the timeline.
        reason: why the engine cannot read the base file itself; empty if it can.
        counted: whether it was not worked out which rows of the base file count, but how many.
    """

    left_out: bytes
    rows: int
    instants: tuple[str, ...]
    reason: str = ""
    counted: bool = False

    @classmethod
    def of_shares(cls, shares: Iterable[LogEffect]) -> LogEffect:
        """The effect of all shares of a slice: a row counts that one of them does not leave out."""
        first, *others = shares
        if not others:
            return first
        bits = np.bitwise_and.reduce([np.frombuffer(each.left_out, np.uint8) for each in (first, *others)])
        rows = first.rows + sum(each.rows for each in others)
        return replace(first, left_out=bits.tobytes(), rows=rows)

    def encode(self) -> bytes:
        """As bytes for the column."""
        about = {"rows": self.rows, "instants": self.instants, "reason": self.reason, "counted": self.counted}
        return json.dumps(about).encode() + _BITS + zlib.compress(self.left_out, 1)

    @classmethod
    def decode(cls, data: bytes) -> LogEffect:
        """From the bytes of the column."""
        text, _, bits = data.partition(_BITS)
        about = json.loads(text)
        instants = tuple(about["instants"])
        return cls(zlib.decompress(bits), about["rows"], instants, about["reason"], about["counted"])


@dataclass(frozen=True)
class LogRows:
    """A serialisable task that gives the effects of log files, and the records that stand beside base files.

    Attributes:
        plan: holds the slices, without a filter; tasks are told them by number.
        storage_options: for :class:`~hudi_hive.storage.Storage`.
        schema: of the records to give; a column that the table does not have is null. Without columns no records are
            given.
        constants: columns of the schema whose values come with the number of a slice.
        file_columns: columns that the engine may read from base files.
        packed: give a row for each batch of records, whose columns are streams of Arrow, one for each column, and the
            number of records.
    """

    plan: ScanPlan
    storage_options: Mapping[str, Any] = field(repr=False)
    schema: pa.Schema
    constants: tuple[str, ...]
    file_columns: tuple[str, ...]
    packed: bool = False

    def __call__(self, requests: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For each slice its effect, then its records.

        Args:
            requests: the number of a slice, that of a share of its record keys, and how many shares there are; then
                values of ``constants``, in that order.

        Raises:
            RuntimeError: an error of this package, as text that :func:`hudi_hive.read.remote.deserialize_error` reads.
        """
        try:
            storage = Storage(self.plan.base_path, self.storage_options)
            for request in requests:
                shares = zip(*(request.column(i).to_pylist() for i in range(_SHARE_COLUMNS)), strict=True)
                for row, (number, own, count) in enumerate(shares):
                    values = [request.column(_SHARE_COLUMNS + i)[row] for i in range(len(self.constants))]
                    constants = dict(zip(self.constants, values, strict=True))
                    yield from self._slice(storage, number, (own, count), constants)
        except HudiHiveError as error:
            raise serialize_error(error) from None

    def _slice(
        self, storage: Storage, number: int, share: tuple[int, int], values: Mapping[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        slices = self.plan.slices.slice(number, 1)
        row = slices.to_pylist()[0]
        assert self.plan.merge is not None
        reason = self._difference(storage, row)
        if reason:
            yield self._effect(number, LogEffect(b"", 0, (), reason))
            return
        columns = EngineColumns(self.schema, values, row["path"] or self.plan.base_path)
        own = partition_columns(self.plan, slices)
        if not len(self.schema) and share[1] == 1:
            replaced = counted_share(storage, self.plan, row, own)
        else:
            names = columns.read(self.plan.schema) or self.plan.merge.spec.columns(self.plan.schema)[-1:]
            replaced = replaced_share(storage, self.plan, row, own, names, share)
        if replaced is None:
            yield self._effect(number, LogEffect(b"", 0, (), "log blocks hold changed columns only"))
            return
        counted = replaced.left_out is None
        bits = b"" if replaced.left_out is None else _bits(replaced.left_out)
        effect = LogEffect(bits, replaced.rows, tuple(sorted(replaced.instants)), counted=counted)
        yield self._effect(number, effect)
        if not len(self.schema):
            return
        for batch in replaced.batches:
            rows = max(1, min(BATCH_ROWS, batch.num_rows * _BATCH_BYTES // max(1, batch.nbytes)))
            for begin in range(0, batch.num_rows, rows):
                yield self._records(columns.apply(batch.slice(begin, rows)), number)

    def _difference(self, storage: Storage, row: Mapping[str, Any]) -> str:
        """Why the columns of a base file are not those of the table for every reader; empty if they are."""
        if row["path"] is None:
            return ""
        with open_base_file(storage, row["path"], size=row["base_size"]) as file:
            schema = file.schema
        fields = {item.name.lower(): item for item in self.plan.schema}
        wanted = pa.schema([fields[name.lower()] for name in self.file_columns if name.lower() in fields])
        try:
            reconciler = Reconciler(schema, wanted, path=row["path"])
        except SchemaError:
            return "base files of other columns"
        for item in wanted:
            source = reconciler.sources[item.name]
            if source is None or not same_kind(schema.field(source).type, item.type):
                return "base files of other columns"
        return ""

    @property
    def _fields(self) -> list[pa.Field]:
        if not self.packed:
            return list(self.schema)
        return [*(pa.field(item.name, pa.binary()) for item in self.schema), pa.field(ROWS_COLUMN, pa.int32())]

    def _effect(self, number: int, effect: LogEffect) -> pa.RecordBatch:
        return self._with_slice([pa.nulls(1, item.type) for item in self._fields], number, pa.array([effect.encode()]))

    def _records(self, batch: pa.RecordBatch, number: int) -> pa.RecordBatch:
        if not self.packed:
            return self._with_slice(batch.columns, number, pa.nulls(batch.num_rows, pa.binary()))
        streams = [pa.array([each], pa.binary()) for each in map(_stream, batch.schema, batch.columns)]
        rows = pa.array([batch.num_rows], pa.int32())
        return self._with_slice([*streams, rows], number, pa.nulls(1, pa.binary()))

    def _with_slice(self, columns: list[pa.Array], number: int, effects: pa.Array) -> pa.RecordBatch:
        arrays = [*columns, pa.repeat(pa.scalar(number, pa.int32()), len(effects)), effects]
        fields = [*self._fields, pa.field(SLICE_COLUMN, pa.int32()), pa.field(EFFECT_COLUMN, pa.binary())]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _stream(item: pa.Field, column: pa.Array) -> bytes:
    """A column as a stream of Arrow."""
    schema = pa.schema([item])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([column], schema=schema))
    return sink.getvalue().to_pybytes()


def _bits(flags: npt.NDArray[np.bool_]) -> bytes:
    """Flags as bits, in whole words of 64."""
    return np.packbits(np.pad(flags, (0, -len(flags) % 64)), bitorder="little").tobytes()
