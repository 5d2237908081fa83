"""Record keys of rows: the meta column, or the text of the key fields as Hudi writes it.

Source: docs/format.md#record-keys.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import CorruptFileError, UnsupportedTableError
from hudi_hive.read.columns import scalar_promotion
from hudi_hive.read.merge.ordering_values import Ints, column_of
from hudi_hive.table.merge import RECORD_KEY, MergeSpec

_PROBED: Final = 64
"""Keys to compare before all of them are."""


def record_keys(batch: pa.RecordBatch, spec: MergeSpec, path: str | None = None) -> pa.Array:
    """The record key of each row.

    Raises:
        CorruptFileError: a row without a key.
        UnsupportedTableError: a key field of a type whose text is not defined.
    """
    if not spec.key_fields:
        keys = column_of(batch, RECORD_KEY)
        keys = keys if pa.types.is_string(keys.type) else keys.cast(pa.string())
    elif not spec.named_key and len(spec.key_fields) == 1:
        keys = _text(column_of(batch, spec.key_fields[0]), spec.key_fields[0])
    else:
        parts = []
        for name in spec.key_fields:
            text = _text(column_of(batch, name), name)
            text = pc.if_else(pc.equal(pc.binary_length(text), 0), "__empty__", text)
            parts.append(pc.binary_join_element_wise(f"{name}:", text.fill_null("__null__"), ""))
        keys = pc.binary_join_element_wise(*parts, ",")
    if keys.null_count:
        raise CorruptFileError("a record without a record key", path=path)
    return keys


def distinct_keys(keys: pa.Array) -> tuple[pa.Array, Ints]:
    """The distinct ones among record keys, in order of first appearance, and the number there of each key.

    Writers that sort leave keys in ascending order, which is seen ten times sooner than a table of them is built.
    """
    if _ascend(keys.slice(0, _PROBED)) and _ascend(keys):
        return keys, np.arange(len(keys))
    encoded = keys.dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _ascend(keys: pa.Array) -> bool:
    """Whether each key is greater than the one before it."""
    count = max(len(keys) - 1, 0)
    return bool(pc.all(pc.less(keys.slice(0, count), keys.slice(1)), min_count=0).as_py())


def _text(values: pa.Array, name: str) -> pa.Array:
    arrow = values.type
    if pa.types.is_string(arrow):
        return values
    if pa.types.is_timestamp(arrow):
        return values.view(pa.int64()).cast(pa.string())
    convert = None if pa.types.is_binary(arrow) else scalar_promotion(arrow, pa.string())
    if pa.types.is_boolean(arrow):
        return values.cast(pa.string())
    if convert is None:
        raise UnsupportedTableError(f"record key field {name!r} of type {arrow} in a table without meta columns")
    return convert(values)
