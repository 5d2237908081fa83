"""Writes change data files (``.cdc``) beside rewritten base files.

Rows before and after in, one ``.cdc`` log file of one CDC block out. Its records tell ``op`` (``i``, ``u``, ``d``) and,
by the table's logging mode, the key alone, the image before, or both images.

Source: docs/format.md#change-data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.formats.log import cdc_block
from hudi_hive.schema import META_FIELDS
from hudi_hive.write.files.context import RECORD_KEY, Attempt, WriteContext, data_columns

OP_KEY_ONLY: Final = "OP_KEY_ONLY"
DATA_BEFORE: Final = "DATA_BEFORE"


def write_changes(
    context: WriteContext,
    attempt: Attempt,
    partition: str,
    file_id: str,
    before: pa.Table,
    after: pa.Table,
    gone: pa.Array,
) -> dict[str, int]:
    """Write the change file of a file group, if there are changes.

    Args:
        context: the write.
        attempt: who writes.
        partition: partition path.
        file_id: the file group.
        before: rows that the group had of keys that the write named, columns of the job's schema.
        after: rows that are new or changed, columns of the job's schema.
        gone: keys of rows that the write deleted.

    Returns:
        Path of the file, relative to the base path, to its size in bytes.
    """
    records = _records(context, before, after, gone)
    if not records.num_rows:
        return {}
    name = f".{file_id}_{context.instant}.log.1_{attempt.token}.cdc"
    path = context.begin_file(partition, name)
    data = cdc_block(context.instant, cdc_schema(context), records)
    context.storage.write_bytes(path, data)
    return {path: len(data)}


def _records(context: WriteContext, before: pa.Table, after: pa.Table, gone: pa.Array) -> pa.RecordBatch:
    before, after = before.combine_chunks(), after.combine_chunks()
    keys = before.column(RECORD_KEY).combine_chunks()
    old_of = pc.index_in(after.column(RECORD_KEY).combine_chunks(), value_set=keys)
    lost = pc.index_in(gone.unique(), value_set=keys).drop_null()
    ops = pa.concat_arrays(
        [
            pc.if_else(pc.is_null(old_of), pa.scalar("i"), pa.scalar("u")).cast(pa.string()),
            pa.repeat(pa.scalar("d", pa.string()), len(lost)),
        ]
    )
    mode = context.config.cdc_logging_mode
    rows_before = pa.concat_arrays([old_of, lost])
    if mode == OP_KEY_ONLY:
        old = keys.take(lost)
        changed = pa.concat_arrays([after.column(RECORD_KEY).combine_chunks(), old])
        return pa.record_batch({"op": ops, "record_key": changed})
    images = {"before": _images(before, rows_before)}
    if mode == DATA_BEFORE:
        changed = pa.concat_arrays([after.column(RECORD_KEY).combine_chunks(), keys.take(lost)])
        return pa.record_batch({"op": ops, "record_key": changed, **images})
    rows_after = pa.array(range(after.num_rows), pa.int32())
    images["after"] = _images(after, pa.concat_arrays([rows_after, pa.nulls(len(lost), pa.int32())]))
    times = pa.repeat(pa.scalar(context.instant, pa.string()), len(ops))
    return pa.record_batch({"op": ops, "ts_ms": times, **images})


def _images(rows: pa.Table, chosen: pa.Array) -> pa.StructArray:
    """Rows as structs of the data columns; null where none is chosen."""
    names = data_columns(rows.schema)
    taken = rows.select(names).take(chosen)
    columns = [taken.column(name).combine_chunks() for name in names]
    return pa.StructArray.from_arrays(columns, fields=[rows.schema.field(n) for n in names], mask=chosen.is_null())


def cdc_schema(context: WriteContext) -> dict[str, Any]:
    """Avro schema of the records of change files."""
    fields: list[dict[str, Any]]
    if context.config.cdc_logging_mode == OP_KEY_ONLY:
        fields = [{"name": name, "type": ["string", "null"]} for name in ("op", "record_key")]
        return {"type": "record", "name": "Record", "fields": fields}
    data = _data_schema(context.avro_schema)
    before = {"name": "before", "type": ["null", data], "doc": "", "default": None}
    space = str(context.avro_schema.get("namespace", ""))
    if context.config.cdc_logging_mode == DATA_BEFORE:
        fields = [_text("op"), _text("record_key"), before]
    else:
        # A named type is written out once; the second image names it.
        full = f"{space}.{data['name']}" if space else data["name"]
        after = {"name": "after", "type": ["null", full], "doc": "", "default": None}
        fields = [_text("op"), _text("ts_ms"), before, after]
    return {"type": "record", "name": "CDC", "namespace": space, "fields": fields}


def _text(name: str) -> dict[str, Any]:
    return {"name": name, "type": ["null", "string"], "doc": "", "default": None}


def _data_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {**schema, "fields": [field for field in schema["fields"] if field["name"] not in META_FIELDS]}
