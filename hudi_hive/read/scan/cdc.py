"""Reads change data: ``op``, ``ts_ms``, and the row before and after each change as JSON text.

Images are written as Hudi writes them. Those that a ``.cdc`` file holds are in Avro's text form, nulls included and an
absent one as the text ``null``; those that are read from data files are compact, without nulls and with the meta
columns, and an absent one is null. Dates and times are numbers as in Avro, but timestamps of compact images, which are
microseconds; decimals are text, bytes are base64.
"""

from __future__ import annotations

import base64
import decimal
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import CorruptFileError, IncrementalRangeError
from hudi_hive.formats.base import select
from hudi_hive.names import COMMIT_TIME_COLUMN, RECORD_KEY_COLUMN
from hudi_hive.plan.core import CDC_SCHEMA, DATA_BEFORE_AFTER, OP_KEY_ONLY, Case
from hudi_hive.plan.model import ScanPlan
from hudi_hive.read.columns import BY_NAME, ColumnMapping, Reconciler
from hudi_hive.read.scan.files import files_at_once, output_schema
from hudi_hive.read.scan.ordered import in_order
from hudi_hive.read.scan.slices import SliceReader
from hudi_hive.read.scan.sources import mapping_at, partition_columns
from hudi_hive.schema import META_FIELDS
from hudi_hive.storage import Storage
from hudi_hive.table.logs import BlockRange, scan_logs

RECORD_KEY = RECORD_KEY_COLUMN

_AVRO_VERSIONS = 8
"""Up to this table version an image that is looked up for a listed change is in Avro's text form, too."""

Images = dict[str, dict[str, Any]]
"""Record key → the row."""


def read_changes(
    storage: Storage, plan: ScanPlan, columns: list[str] | None, *, batch_size: int, threads: int | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a change data plan, by commit and file group; raises as :func:`.read_plan`.

    Args:
        storage: rooted at the table's base path.
        plan: the plan.
        columns: columns to give; None for all.
        batch_size: greatest number of rows of a batch.
        threads: file groups read at the same time; as many as suit the store without it.
    """
    assert plan.changes is not None and plan.table_schema is not None
    output = output_schema(plan.schema, columns)
    reader = replace(SliceReader.of(storage, plan, None, batch_size, schema=plan.table_schema), commit_times=None)
    values = partition_columns(plan, plan.slices)
    slices, changes = plan.slices.to_pylist(), plan.changes.to_pylist()

    def producers() -> Iterator[Callable[[], Iterator[pa.RecordBatch]]]:
        for number, (row, change) in enumerate(zip(slices, changes, strict=True)):
            group = _Group(storage, reader, row, change, None if values is None else values.slice(number, 1))
            yield group.batches

    batches = in_order(producers(), files_at_once(storage, None, threads))
    try:
        for batch in batches:
            if plan.row_filter is not None:
                batch = batch.filter(plan.row_filter.evaluate(batch))
            for start in range(0, batch.num_rows, batch_size):
                yield select(batch.slice(start, batch_size), output.names)
    finally:
        batches.close()


class _Group:
    """One file group that one commit changed."""

    def __init__(
        self,
        storage: Storage,
        reader: SliceReader,
        row: Mapping[str, Any],
        change: Mapping[str, Any],
        values: pa.Table | None,
    ) -> None:
        self._storage = storage
        self._row = row
        self._change = change
        self._values = values
        self._instant: str = change["instant"]
        # Blocks of later commits are no part of the state after this one.
        self._after_reader = replace(reader, merge=replace(reader.merge, max_instant=self._instant, range_first=False))
        before = str(int(self._instant) - 1).zfill(len(self._instant))
        self._before_reader = replace(reader, merge=replace(reader.merge, max_instant=before, range_first=False))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The changes."""
        rows = {
            Case.LISTED: self._listed,
            Case.INSERTED: self._inserted,
            Case.DELETED: self._deleted,
            Case.COMPARED: self._compared,
        }[Case(self._change["case"])]()
        columns: list[list[str | None]] = [[], [], [], []]
        for op, before, after in rows:
            for column, value in zip(columns, (op, self._instant, before, after), strict=True):
                column.append(value)
        if columns[0]:
            yield pa.RecordBatch.from_arrays([pa.array(c, pa.string()) for c in columns], schema=CDC_SCHEMA)

    # -- cases -----------------------------------------------------------------------------------------------------

    def _inserted(self) -> Iterator[tuple[str, str | None, str | None]]:
        for row in self._after_rows():
            yield "i", None, compact_json(row)

    def _deleted(self) -> Iterator[tuple[str, str | None, str | None]]:
        for row in self._before_rows():
            yield "d", compact_json(row), None

    def _compared(self) -> Iterator[tuple[str, str | None, str | None]]:
        """Rows of the group after the commit against those before it; a row that was only copied has not changed."""
        before = self._by_key(self._before_rows())
        for key, row in self._by_key(self._after_rows()).items():
            old = before.pop(key, None)
            if old is None:
                yield "i", None, compact_json(row)
            elif row[COMMIT_TIME_COLUMN] == self._instant != old[COMMIT_TIME_COLUMN]:
                yield "u", compact_json(old), compact_json(row)
        for old in before.values():
            yield "d", compact_json(old), None

    def _listed(self) -> Iterator[tuple[str, str | None, str | None]]:
        logs = scan_logs(
            self._storage,
            self._row["partition"],
            self._change["cdc_files"],
            blocks=BlockRange(self._after_reader.merge.timeline, self._instant),
            sizes=self._change["cdc_sizes"],
        )
        after: Images | None = None
        before: Images | None = None
        for block in logs.data:
            names = block.batch.schema.names
            mode = DATA_BEFORE_AFTER if "after" in names else OP_KEY_ONLY if "before" not in names else "DATA_BEFORE"
            if "op" not in names or (mode != DATA_BEFORE_AFTER and "record_key" not in names):
                raise CorruptFileError("a change block without op or record_key", path=block.path)
            shown = self._images_as_shown(block.batch, block.instant, block.path)
            rows = _pylist(as_avro(shown))
            if mode == DATA_BEFORE_AFTER:
                for row in rows:
                    yield row["op"], avro_json(row["before"]), avro_json(row["after"])
                continue
            if after is None:
                after = self._by_key(self._after_rows())
            as_text = self._before_reader.merge.spec.version <= _AVRO_VERSIONS
            if before is None and mode == OP_KEY_ONLY:
                before = self._by_key(self._before_rows(as_text=as_text))
            for row in rows:
                op, key = row["op"], row["record_key"]
                new = None if op == "d" else compact_json(self._image(after, key))
                if op == "i":
                    old = None
                elif before is None:
                    old = avro_json(row["before"])
                else:
                    image = self._image(before, key)
                    old = avro_json(image) if as_text else compact_json(image)
                yield op, old, new

    # -- images ----------------------------------------------------------------------------------------------------

    def _images_as_shown(self, batch: pa.RecordBatch, instant: str, path: str | None) -> pa.RecordBatch:
        """Listed images with the columns that the query shows, where columns have ids; else as they were written."""
        evolved = self._after_reader.evolved
        if evolved is None:
            return batch
        mapping = mapping_at(evolved, instant) or BY_NAME
        columns, names = [], batch.schema.names
        for name, column in zip(names, batch.columns, strict=True):
            if name in ("before", "after") and isinstance(column, pa.StructArray):
                column = self._image_as_shown(column, mapping, path)
            columns.append(column)
        return pa.RecordBatch.from_arrays(columns, names=names)

    def _image_as_shown(self, image: pa.StructArray, mapping: ColumnMapping, path: str | None) -> pa.StructArray:
        written = pa.schema([image.type.field(i) for i in range(image.type.num_fields)])
        rows = pa.RecordBatch.from_arrays([image.field(i) for i in range(image.type.num_fields)], schema=written)
        meta = [name for name in META_FIELDS if name not in written.names]
        target = pa.schema([item for item in self._after_reader.output if item.name not in meta])
        shown = Reconciler(written, target, mapping, path).apply(rows)
        mask = image.is_null() if image.null_count else None
        return pa.StructArray.from_arrays(shown.columns, fields=list(target), mask=mask)

    def _after_rows(self) -> Iterator[dict[str, Any]]:
        return self._rows(self._after_reader, self._row)

    def _before_rows(self, *, as_text: bool = False) -> Iterator[dict[str, Any]]:
        """Rows of the slice as it was before; ``as_text`` for the text form of Avro."""
        change = self._change
        row = {
            **self._row,
            "base_instant": change["before_instant"] or self._instant,
            "base_file": change["before_file"],
            "base_size": change["before_size"],
            "log_files": change["before_logs"],
            "log_sizes": change["before_log_sizes"],
        }
        return self._rows(self._before_reader, row, as_text=as_text)

    def _rows(self, reader: SliceReader, row: Mapping[str, Any], *, as_text: bool = False) -> Iterator[dict[str, Any]]:
        for batch in reader.rows(row, self._values):
            yield from _pylist(as_avro(batch, micros=not as_text))

    @staticmethod
    def _by_key(rows: Iterator[dict[str, Any]]) -> Images:
        return {row[RECORD_KEY]: row for row in rows}

    def _image(self, images: Images, key: str) -> dict[str, Any]:
        if key not in images:
            raise IncrementalRangeError(
                f"the changes of {self._instant} name the key {key!r}, which the file group does not have",
                path=self._storage.uri(self._row["partition"]),
                instant=self._instant,
            )
        return images[key]


# -- JSON ----------------------------------------------------------------------------------------------------------


def compact_json(row: Mapping[str, Any]) -> str:
    """Format a row as compact JSON without nulls on any level."""
    return json.dumps(_without_nulls(row), separators=(",", ":"), ensure_ascii=False, default=_encode)


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def avro_json(row: Mapping[str, Any] | None) -> str:
    """Format a row as the text of an Avro record, with nulls; an absent row is ``null``."""
    return json.dumps(row, separators=(", ", ": "), ensure_ascii=False, default=_encode)


def as_avro(batch: pa.RecordBatch, *, micros: bool = False) -> pa.RecordBatch:
    """Convert dates, times and timestamps on every level of a batch to the numbers that Avro holds.

    Args:
        batch: the rows.
        micros: timestamps are microseconds whatever their unit, as Spark's rows have them.
    """
    arrays = [_as_number(column, micros) for column in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _as_number(array: pa.Array, micros: bool) -> pa.Array:
    kind = array.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return array.view(pa.int32())
    if pa.types.is_timestamp(kind) and micros:
        return array.cast(pa.timestamp("us", kind.tz), safe=False).view(pa.int64())
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return array.view(pa.int64())
    if isinstance(array, pa.StructArray):
        children = [_as_number(array.field(i), micros) for i in range(array.type.num_fields)]
        names = [field.name for field in array.type]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, names=names, mask=mask)
    if pa.types.is_list(kind):
        mask = array.is_null() if array.null_count else None
        lengths = pc.fill_null(pc.list_value_length(array), 0)
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
        return pa.ListArray.from_arrays(offsets, _as_number(pc.list_flatten(array), micros), mask=mask)
    if isinstance(array, pa.MapArray):
        # keys and items come whole, whatever the array's offset, as the offsets in the buffers count them
        items = _as_number(array.items, micros)
        entries = pa.StructArray.from_arrays(
            [array.keys, items], fields=[array.type.key_field, pa.field("value", items.type)]
        )
        return pa.Array.from_buffers(
            pa.map_(array.type.key_type, items.type),
            len(array),
            array.buffers()[:2],
            offset=array.offset,
            children=[entries],
        )
    return array


def _pylist(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows of a batch, maps as dictionaries."""
    rows: list[dict[str, Any]] = batch.to_pylist()
    kinds = [(field.name, field.type) for field in batch.schema if "map<" in str(field.type)]
    for name, kind in kinds:
        for row in rows:
            row[name] = _with_dictionaries(row[name], kind)
    return rows


def _with_dictionaries(value: Any, kind: pa.DataType) -> Any:  # noqa: ANN401 - JSON
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {key: _with_dictionaries(item, kind.item_type) for key, item in value}
    if pa.types.is_list(kind):
        return [_with_dictionaries(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {field.name: _with_dictionaries(value[field.name], field.type) for field in kind}
    return value


def _encode(value: object) -> object:
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
