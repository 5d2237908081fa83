"""Selects the base files of tables with id-based schemas that Spark's own reader reads correctly by name.

Spark matches columns by their names and converts few types. A file of another version of the schema is left to it only
if every column that a scan reads has its name, its type and its fields there, or is not in the file at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql.types import ArrayType as SparkArray
from pyspark.sql.types import DataType, StructType
from pyspark.sql.types import MapType as SparkMap

from hudi_hive.plan import ScanPlan
from hudi_hive.schema import ArrayType, EvolvedSchema, InternalField, InternalSchema, InternalType, MapType, RecordType


def unlike(plan: ScanPlan, columns: StructType | None = None) -> tuple[pa.Array, str | None]:
    """The slices of a plan whose base file Spark's own reader cannot read correctly.

    Args:
        plan: of any query.
        columns: those that a scan reads, with the fields that it reads of nested ones; all of the table without it.

    Returns:
        Whether each slice is one, and a column that is why; None when there is no such slice.
    """
    slices, evolved = plan.slices, plan.evolved_schema
    if evolved is None or not slices.num_rows:
        return pa.array(np.zeros(slices.num_rows, np.bool_)), None
    instants = slices.column("base_instant").combine_chunks().dictionary_encode()
    query_fields = _read(evolved.query.fields, columns)
    differences: dict[int, str | None] = {}
    reasons: list[str | None] = []
    for instant in instants.dictionary.to_pylist():
        written = evolved.of_version(instant, _version)
        if id(written) not in differences:
            differences[id(written)] = None if written is None else _difference(query_fields, written.fields, top=True)
        reasons.append(differences[id(written)])
    differs = np.array([reason is not None for reason in reasons], np.bool_)
    has_file = slices.column("base_file").is_valid().to_numpy()
    mask = differs[instants.indices.to_numpy(zero_copy_only=False)] & has_file
    return pa.array(mask), next((reason for reason in reasons if reason is not None), None) if mask.any() else None


def _version(_: EvolvedSchema, written: InternalSchema | None) -> InternalSchema | None:
    return written


_QueryField = tuple[InternalField, DataType | None]
"""A field of the query's schema, and what a scan reads of it: None for the whole."""


def _read(fields: Sequence[InternalField], columns: StructType | None) -> list[_QueryField]:
    """The fields that a scan reads. Columns that the schema does not have are not read from files."""
    if columns is None:
        return [(item, None) for item in fields]
    kinds = {item.name.lower(): item.dataType for item in columns.fields}
    return [(item, kinds[item.name.lower()]) for item in fields if item.name.lower() in kinds]


def _difference(query_fields: Sequence[_QueryField], file: Sequence[InternalField], *, top: bool = False) -> str | None:
    """Dotted name of a field that a reader by name would miss, take for another, or have to convert."""
    by_id = {item.id: item for item in file}
    names = {item.name.lower() for item in file}
    for item, kind in query_fields:
        file_field = by_id.get(item.id)
        if file_field is None:
            # Null for all rows; below a struct it depends on the version of Spark what is null then.
            if top and item.name.lower() not in names:
                continue
            return item.name
        if file_field.name != item.name:
            return item.name
        below = _type_difference(item.type, file_field.type, kind)
        if below is not None:
            return f"{item.name}.{below}" if below else item.name
    return None


def _type_difference(query_type: InternalType, file: InternalType, kind: DataType | None) -> str | None:
    """As :func:`_difference` for a type; an empty name stands for the type itself."""
    if isinstance(query_type, RecordType) and isinstance(file, RecordType):
        return _difference(_read(query_type.fields, kind if isinstance(kind, StructType) else None), file.fields)
    if isinstance(query_type, ArrayType) and isinstance(file, ArrayType):
        element = kind.elementType if isinstance(kind, SparkArray) else None
        return _below("element", _type_difference(query_type.element, file.element, element))
    if isinstance(query_type, MapType) and isinstance(file, MapType):
        key, value = (kind.keyType, kind.valueType) if isinstance(kind, SparkMap) else (None, None)
        in_key = _below("key", _type_difference(query_type.key, file.key, key))
        return in_key or _below("value", _type_difference(query_type.value, file.value, value))
    return None if query_type == file else ""


def _below(name: str, path: str | None) -> str | None:
    return None if path is None else f"{name}.{path}".rstrip(".")
