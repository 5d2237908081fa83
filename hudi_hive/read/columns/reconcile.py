"""Converts a file's columns to the table's schema: by name, missing columns as nulls, older types promoted.

The rules are those of docs/format.md#schema-evolution-by-name and
docs/format.md#type-promotions. What they do not allow is refused with the names of column and
file. Fields are matched by their exact name, else by the only one that differs in case alone (Spark's default).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from hudi_hive.errors import SchemaError
from hudi_hive.formats.base import empty_columns
from hudi_hive.read.columns.promote import scalar_of_file
from hudi_hive.schema import holds_vectors, vectors_of_bytes

Convert: TypeAlias = Callable[[pa.Array], pa.Array]
"""From an array of the file's type to one of the table's type; None stands for "as it is"."""

Promotion: TypeAlias = Callable[[pa.DataType, pa.DataType], Convert | None]
"""From two types to the conversion between them, None if there is no rule for it."""


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """The file columns of the fields of one level where names differ: renamed, dropped and re-added columns.

    Attributes:
        sources: field name in the table → name in the file, or None when the file does not have it even if a column of
            that name is there. Fields that are not listed go by name.
        nested: field name in the table → mapping of the struct below it; below lists and maps the struct stands under
            ``element``, ``key`` or ``value``.
    """

    sources: Mapping[str, str | None] = field(default_factory=dict)
    nested: Mapping[str, ColumnMapping] = field(default_factory=dict)

    def below(self, name: str) -> ColumnMapping:
        """Mapping of the level below a field."""
        return self.nested.get(name, BY_NAME)


BY_NAME = ColumnMapping()
"""Every field goes by its name."""


class Reconciler:
    """Converts batches of one file to batches of the table's schema.

    Args:
        file_schema: schema of the file.
        target: the columns wanted, as the table has them.
        mapping: which column of the file is which.
        path: the file, for messages.
        promotion: how single values become others; rows that come from no file have another one.

    Raises:
        SchemaError: a column of the file cannot become the table's type, or a name is ambiguous in the file.
    """

    def __init__(
        self,
        file_schema: pa.Schema,
        target: pa.Schema,
        mapping: ColumnMapping = BY_NAME,
        path: str | None = None,
        promotion: Promotion = scalar_of_file,
    ) -> None:
        self.path = path
        self.target = target
        self.mapping = mapping
        self._steps: list[tuple[str | None, Convert | None]] = []
        fields = list(file_schema)
        types = _Types(promotion, path)
        for target_field in target:
            source = source_field(fields, target_field.name, mapping, target_field.name, path)
            convert = None
            if source is not None:
                convert = types.conversion(
                    source.type, target_field.type, mapping.below(target_field.name), target_field.name
                )
            self._steps.append((None if source is None else source.name, convert))

    def for_file(self, path: str | None) -> Reconciler:
        """A reconciler for another file with the same schema."""
        other = copy(self)
        other.path = path
        return other

    @property
    def sources(self) -> dict[str, str | None]:
        """The column of the file for each target column; None where the file lacks it."""
        return {wanted.name: source for wanted, (source, _) in zip(self.target, self._steps, strict=True)}

    def same_values(self, column: str) -> bool:
        """Whether a target column is in the file with the same type, so that filters and ranges carry over."""
        source, convert = self._steps[self.target.get_field_index(column)]
        return source is not None and convert is None

    def apply(self, batch: pa.RecordBatch, constants: Mapping[str, pa.Scalar] | None = None) -> pa.RecordBatch:
        """Convert a batch to the schema :attr:`target`.

        Args:
            batch: has at least the columns of the file that :attr:`sources` names.
            constants: values of target columns that do not come from the file.

        Raises:
            SchemaError: a value cannot be promoted.
        """
        arrays = []
        for target_field, (source, convert) in zip(self.target, self._steps, strict=True):
            if constants and target_field.name in constants:
                arrays.append(pa.repeat(constants[target_field.name], batch.num_rows))
            elif source is None:
                arrays.append(pa.nulls(batch.num_rows, target_field.type))
            elif convert is None:
                arrays.append(batch.column(source))
            else:
                arrays.append(self._convert(convert, batch.column(source), target_field))
        if not arrays:
            return empty_columns(batch.num_rows)
        return pa.RecordBatch.from_arrays(arrays, schema=self.target)

    def _convert(self, convert: Convert, array: pa.Array, target_field: pa.Field) -> pa.Array:
        try:
            return convert(array)
        except pa.ArrowException as error:
            raise SchemaError(
                f"column {target_field.name!r}: a value of type {array.type} cannot become "
                f"{target_field.type}: {error}",
                path=self.path,
            ) from error


def source_field(
    fields: Sequence[pa.Field], name: str, mapping: ColumnMapping, column: str, path: str | None
) -> pa.Field | None:
    """The field of a file that holds a field of the table; None if the file lacks it.

    Args:
        fields: of the file's level.
        name: the field's name in the table.
        mapping: of that level.
        column: the dotted name, for messages.
        path: the file, for messages.

    Raises:
        SchemaError: it could be any of several that differ in case alone.
    """
    if name in mapping.sources:
        renamed = mapping.sources[name]
        if renamed is None:
            return None
        name = renamed
    exact = [field for field in fields if field.name == name]
    matches = exact or [field for field in fields if field.name.lower() == name.lower()]
    if len(matches) > 1:
        names = ", ".join(repr(field.name) for field in matches)
        raise SchemaError(f"column {column!r} could be any of {names} in the file", path=path)
    return matches[0] if matches else None


@dataclass(frozen=True, slots=True)
class _Types:
    """How types become others, on every level: ``promotion`` for single values, ``path`` for messages."""

    promotion: Promotion
    path: str | None

    def conversion(
        self, source: pa.DataType, target: pa.DataType, mapping: ColumnMapping, column: str
    ) -> Convert | None:
        """How arrays of ``source`` become arrays of ``target``; None if they already are."""
        if pa.types.is_struct(target) and pa.types.is_struct(source):
            return self._struct(source, target, mapping, column)
        if pa.types.is_map(target) and pa.types.is_map(source):
            return self._map(source, target, mapping, column)
        if pa.types.is_list(target) and pa.types.is_list(source):
            return self._list(source, target, mapping, column)
        if source.equals(target):
            return None
        if holds_vectors(source, target):
            return lambda array: vectors_of_bytes(array, target)
        nested = pa.types.is_nested(source) or (pa.types.is_nested(target) and not pa.types.is_null(source))
        convert = None if nested else self.promotion(source, target)
        if convert is None:
            raise SchemaError(
                f"column {column!r} is {source} in the file and {target} in the table",
                path=self.path,
                remedy="this change of type has no rule",
            )
        return convert

    def _struct(
        self, source: pa.StructType, target: pa.StructType, mapping: ColumnMapping, column: str
    ) -> Convert | None:
        in_file = [source.field(i) for i in range(source.num_fields)]
        children = [target.field(i) for i in range(target.num_fields)]
        steps: list[tuple[int | None, Convert | None]] = []
        for child in children:
            name = f"{column}.{child.name}"
            file_field = source_field(in_file, child.name, mapping, name, self.path)
            convert = None
            if file_field is not None:
                convert = self.conversion(file_field.type, child.type, mapping.below(child.name), name)
            steps.append((None if file_field is None else in_file.index(file_field), convert))
        unchanged = all(convert is None and index == i for i, (index, convert) in enumerate(steps))
        if unchanged and len(in_file) == len(children) and source.equals(target):
            return None

        def convert_struct(array: pa.Array) -> pa.Array:
            assert isinstance(array, pa.StructArray)
            arrays = []
            for child, (index, convert) in zip(children, steps, strict=True):
                if index is None:
                    arrays.append(pa.nulls(len(array), child.type))
                else:
                    values = array.field(index)
                    arrays.append(values if convert is None else convert(values))
            mask = array.is_null() if array.null_count else None
            if not arrays:
                return array.cast(target)
            return pa.StructArray.from_arrays(arrays, fields=children, mask=mask)

        return convert_struct

    def _list(self, source: pa.ListType, target: pa.ListType, mapping: ColumnMapping, column: str) -> Convert | None:
        name = f"{column}.element"
        convert = self.conversion(source.value_type, target.value_type, mapping.below("element"), name)
        if convert is None and source.equals(target) and source.value_field.equals(target.value_field):
            return None

        def convert_list(array: pa.Array) -> pa.Array:
            assert isinstance(array, pa.ListArray)
            values = array.values
            child = values if convert is None else convert(values)
            return pa.Array.from_buffers(target, len(array), array.buffers()[:2], offset=array.offset, children=[child])

        return convert_list

    def _map(self, source: pa.MapType, target: pa.MapType, mapping: ColumnMapping, column: str) -> Convert | None:
        keys = self.conversion(source.key_type, target.key_type, mapping.below("key"), f"{column}.key")
        items = self.conversion(source.item_type, target.item_type, mapping.below("value"), f"{column}.value")
        if keys is None and items is None and str(source) == str(target):
            return None
        fields = [target.key_field, target.item_field]

        def convert_map(array: pa.Array) -> pa.Array:
            assert isinstance(array, pa.MapArray)
            # keys and items come whole, whatever the array's offset, as the offsets in the buffers count them
            children = [
                array.keys if keys is None else keys(array.keys),
                array.items if items is None else items(array.items),
            ]
            entries = pa.StructArray.from_arrays(children, fields=fields)
            return pa.Array.from_buffers(
                target, len(array), array.buffers()[:2], offset=array.offset, children=[entries]
            )

        return convert_map


def same_kind(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether types differ at most in what lists and maps call their entries, and in whether those may be null."""
    types = pa.types
    if types.is_struct(source) and types.is_struct(target):
        return source.num_fields == target.num_fields and all(
            source.field(i).name == target.field(i).name and same_kind(source.field(i).type, target.field(i).type)
            for i in range(source.num_fields)
        )
    if types.is_map(source) and types.is_map(target):
        return same_kind(source.key_type, target.key_type) and same_kind(source.item_type, target.item_type)
    if types.is_list(source) and types.is_list(target):
        return same_kind(source.value_type, target.value_type)
    return bool(source.equals(target))
