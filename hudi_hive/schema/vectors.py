"""How tables of Lance files are shown: vectors (``VECTOR(n)`` of Hudi 1.2) as lists of numbers, no field required.

The Avro schema and log blocks have fixed bytes for a vector.

Source: docs/format.md#lance-files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from hudi_hive.formats.avro import avro_to_arrow

_ELEMENTS: Final = {"FLOAT": ("float", pa.float32()), "DOUBLE": ("double", pa.float64())}
"""Hudi's names of the numbers in vectors, Avro's, and their types in the bytes."""

_NUMBERS: Final = tuple(kind for _, kind in _ELEMENTS.values())


def shown_avro(avro: Mapping[str, Any], base_file_format: str) -> Mapping[str, Any]:
    """The Avro schema that a table is shown with.

    Of a table of Lance files vectors are arrays of numbers, and no field is required: the files have no null structs,
    but structs of nulls.

    Args:
        avro: parsed Avro schema of a record; vectors are columns of their own always.
        base_file_format: format of the table's base files, in small letters.
    """
    if base_file_format != "lance":  # the others are written, too, as what their files hold
        return avro
    return _record(avro, {})


def shown_schema(avro: Mapping[str, Any], base_file_format: str) -> pa.Schema:
    """The Arrow schema of :func:`shown_avro`, whose arguments it takes.

    Raises:
        SchemaError: as of ``avro_to_arrow``.
    """
    return avro_to_arrow(shown_avro(avro, base_file_format))


def _record(avro: Mapping[str, Any], named: dict[str, object]) -> Mapping[str, Any]:
    fields = [{**field, "type": _optional(_shown(field["type"], named))} for field in avro["fields"]]
    return {**avro, "fields": fields}


def _optional(avro: object) -> object:
    branches = avro if isinstance(avro, list) else [avro]
    return avro if "null" in branches else ["null", *branches]


def _shown(avro: object, named: dict[str, object]) -> object:
    """A type with arrays in the place of vectors. Those that were defined before go by name."""
    if isinstance(avro, list):
        return [_shown(branch, named) for branch in avro]
    if isinstance(avro, str):
        return named.get(avro.rpartition(".")[2], avro)
    if not isinstance(avro, Mapping):
        return avro
    for below in ("items", "values"):
        if below in avro:
            return {**avro, below: _shown(avro[below], named)}
    if isinstance(avro.get("type"), (Mapping, list)):
        return _shown(avro["type"], named)
    if avro.get("type") == "record":
        return _record(avro, named)
    name, kind = _ELEMENTS.get(str(avro.get("elementType")), ("", pa.null()))
    if avro.get("type") != "fixed" or avro.get("logicalType") != "vector" or not name:
        return avro
    if avro.get("size") != avro.get("dimension", 0) * (kind.bit_width // 8):
        return avro
    shown = {"type": "array", "items": name}
    named[str(avro.get("name")).rpartition(".")[2]] = shown
    return shown


def holds_vectors(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether values are the bytes of vectors: fixed bytes where the table has lists of numbers."""
    if not pa.types.is_fixed_size_binary(source) or not pa.types.is_list(target):
        return False
    element = target.value_type
    return element in _NUMBERS and source.byte_width % (element.bit_width // 8) == 0


def vectors_of_bytes(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Lists of numbers out of their bytes, the lowest of each number first.

    Args:
        array: fixed bytes.
        target: type of the lists.
    """
    width, rows = array.type.byte_width, len(array)
    assert isinstance(target, pa.ListType)
    element = target.value_type
    data = array.buffers()[1]
    length = width // (element.bit_width // 8)
    numbers = np.frombuffer(data or b"", np.dtype(element.to_pandas_dtype()).newbyteorder("<"))
    values = pa.array(numbers[array.offset * length : (array.offset + rows) * length], element)
    offsets = np.arange(rows + 1, dtype=np.int32) * length
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=target, mask=mask)
