"""Serialisable tasks that read slices of a plan, in the types of another engine.

In come a pickled plan and, batch by batch, which of its slices to read with their partition values; out come batches of
exactly the schema asked for. Nothing here needs the engine itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from hudi_hive.errors import HudiHiveError
from hudi_hive.plan import ScanPlan
from hudi_hive.read.columns import Reconciler
from hudi_hive.read.scan import read_plan
from hudi_hive.storage import Storage

ERROR_MARK = "hudi_hive error "
"""Begins the text of an exception that brings an error of this package to another process; JSON follows."""


@dataclass(frozen=True)
class SliceRows:
    """A serialisable task that reads slices.

    Attributes:
        plan: holds the slices; tasks are told them by number.
        storage_options: for :class:`~hudi_hive.storage.Storage`.
        schema: of the batches to make; a column that the table does not have is null.
        constants: columns of the schema whose values come with the number of a slice.
    """

    plan: ScanPlan
    storage_options: Mapping[str, Any] = field(repr=False)
    schema: pa.Schema
    constants: tuple[str, ...]

    def __call__(self, requests: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of slices.

        Args:
            requests: first column: number of the slice; the others: values of ``constants``, in that order.

        Raises:
            RuntimeError: an error of this package, as text that :func:`deserialize_error` reads.
        """
        try:
            storage = Storage(self.plan.base_path, self.storage_options)
            for request in requests:
                for row, number in enumerate(request.column(0).to_pylist()):
                    values = [request.column(1 + i)[row] for i in range(len(self.constants))]
                    yield from self._rows(storage, number, dict(zip(self.constants, values, strict=True)))
        except HudiHiveError as error:
            raise serialize_error(error) from None

    def _rows(
        self, storage: Storage, number: int, partition_values: Mapping[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        plan = replace(self.plan, slices=self.plan.slices.slice(number, 1))
        path = plan.slices.column("path")[0].as_py()
        columns = EngineColumns(self.schema, partition_values, path or plan.base_path)
        for batch in read_plan(storage, plan, columns.read(plan.schema), threads=1):
            yield columns.apply(batch)


class EngineColumns:
    """Gives batches of one slice the schema that an engine asks for.

    Args:
        schema: of the batches to make; a column that the table does not have is null.
        constants: values of columns of the schema that are not read.
        path: of the slice, for messages.
    """

    def __init__(self, schema: pa.Schema, constants: Mapping[str, pa.Scalar], path: str) -> None:
        self._schema = schema
        self._constants = {name: value.cast(schema.field(name).type) for name, value in constants.items()}
        self._path = path
        self._reconciler: Reconciler | None = None

    def read(self, table_schema: pa.Schema) -> list[str]:
        """The columns of the table that have to be read."""
        table_names = {name.lower(): name for name in table_schema.names}
        read = [name.lower() for name in self._schema.names if name not in self._constants]
        return [table_names[name] for name in read if name in table_names]

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of the columns that were read as one of the schema."""
        batch = _raw(batch)
        if self._reconciler is None:
            self._reconciler = Reconciler(batch.schema, self._schema, path=self._path)
        return self._reconciler.apply(batch, self._constants)


def deserialize_error(text: str) -> HudiHiveError | None:
    """Read the error of this package that the text of :func:`serialize_error` holds; None for other texts."""
    from hudi_hive import errors

    _, mark, rest = text.partition(ERROR_MARK)
    if not mark:
        return None
    try:
        fields, _ = json.JSONDecoder().raw_decode(rest)
        kind = getattr(errors, fields["kind"], HudiHiveError)
        return kind(fields["message"], path=fields["path"], instant=fields["instant"], remedy=fields["remedy"])
    except (ValueError, KeyError, TypeError):
        return None


def serialize_error(error: HudiHiveError) -> RuntimeError:
    """Make an exception whose text holds an error of this package, for another process (:func:`deserialize_error`)."""
    place = {"path": error.path, "instant": error.instant, "remedy": error.remedy}
    fields = {"kind": type(error).__name__, "message": error.message} | place
    return RuntimeError(ERROR_MARK + json.dumps(fields))


def _raw(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Times of day and timestamps without a zone as the numbers they are: hive-sync declares them so."""
    schema = pa.schema([item.with_type(raw_type(item.type)) for item in batch.schema])
    return batch if schema.equals(batch.schema) else batch.cast(schema)


def raw_type(kind: pa.DataType) -> pa.DataType:
    """The type in which an engine gets a column: times of day and timestamps without a zone are numbers."""
    if pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_time64(kind) or (pa.types.is_timestamp(kind) and kind.tz is None):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([item.with_type(raw_type(item.type)) for item in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(raw_type(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(raw_type(kind.key_type), kind.item_field.with_type(raw_type(kind.item_type)))
    return kind
