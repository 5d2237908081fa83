"""The columns of a table after ``REPLACE COLUMNS``: those of a list, in its order.

A column of the list with the name of one that is there is that column, and so keeps its id and its values; so are
fields of structs, at any depth. All others are new, with new ids. Hudi's own ``AlterTableCommand`` drops all columns
and adds the list anew, key columns too, which no table with meta columns takes.

Source: Hive's ``REPLACE COLUMNS``; docs/format.md#id-based-schemas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from hudi_hive.errors import SchemaError
from hudi_hive.schema.internal import ArrayType, InternalField, InternalType, MapType, RecordType
from hudi_hive.schema.internal_avro import type_of, with_new_ids
from hudi_hive.schema.promotions import may_become, type_name
from hudi_hive.schema.type_text import parse_columns

Fields = tuple[InternalField, ...]

_COMMENT: Final = b"comment"
_SHOWN_AS: Final = {"uuid": "string"}
"""Types that no list can name -> what engines show them as; ``fixed[n]`` is shown as binary."""


def listed_columns(columns: pa.Schema | Sequence[InternalField] | str) -> Fields:
    """The columns of a list, with provisional ids.

    Args:
        columns: an Arrow schema, whose fields may have a comment under ``comment`` in their metadata, fields whose ids
            do not count, or a text as in SQL (``id int, name string COMMENT 'who'``).

    Raises:
        SchemaError: the list is empty, names a column twice, or is no list of columns.
    """
    if isinstance(columns, str):
        made = parse_columns(columns)
    elif isinstance(columns, pa.Schema):
        made = tuple(_of_arrow(item) for item in columns)
    else:
        made = tuple(columns)
    if not made:
        raise SchemaError("the columns cannot be replaced by none", remedy="name those that the table shall have")
    seen: set[str] = set()
    for item in made:
        if item.name.lower() in seen:
            raise SchemaError(f"column {item.name!r} is named twice (case does not count)")
        seen.add(item.name.lower())
    return made


def replaced(before: Fields, columns: Fields, last_id: int) -> tuple[Fields, int]:
    """The columns of a list with the ids of those that are there, and new ones for the others.

    Args:
        before: the columns as they are.
        columns: of :func:`listed_columns`.
        last_id: the greatest id that was given so far.

    Returns:
        The columns, and the greatest id now.

    Raises:
        SchemaError: a column or field has a type that does not follow from the one that it has, or cannot take null
            where rows of before may have it.
    """
    merge = _Merge(last_id + 1)
    return merge.fields(before, columns, ""), merge.free - 1


def _of_arrow(item: pa.Field) -> InternalField:
    comment = (item.metadata or {}).get(_COMMENT)
    doc = None if comment is None else comment.decode()
    return InternalField(-1, item.name, item.nullable, type_of(item.type, item.name), doc)


class _Merge:
    """Gives the fields of a new type the ids of the old one.

    Args:
        free: the first id that is free.
    """

    def __init__(self, free: int) -> None:
        self.free = free

    def fields(self, before: Fields, columns: Fields, parent: str) -> Fields:
        """Fields of one level: first the new ones of it get ids, then what is below each."""
        old = _by_name(before, columns)
        ids: list[int] = []
        for item in columns:
            column = old.get(item.name)
            ids.append(self.free if column is None else column.id)
            self.free += column is None
        made = []
        for number, item in zip(ids, columns, strict=True):
            name, column = f"{parent}{item.name}", old.get(item.name)
            made.append(self._new(item, number, name) if column is None else self._same(column, item, name))
        return tuple(made)

    def _new(self, item: InternalField, number: int, name: str) -> InternalField:
        if not item.optional:
            raise SchemaError(f"column {name!r} cannot be added as NOT NULL: rows of before have null in it")
        kind, self.free = with_new_ids(item.type, self.free)
        return replace(item, id=number, type=kind)

    def _same(self, column: InternalField, item: InternalField, name: str) -> InternalField:
        if column.optional and not item.optional:
            raise SchemaError(
                f"column {name!r} takes null and cannot be made required: rows that are there may have null in it"
            )
        return replace(column, type=self._type(column.type, item.type, name), doc=item.doc)

    def _type(self, old: InternalType, new: InternalType, name: str) -> InternalType:
        if isinstance(old, RecordType) and isinstance(new, RecordType):
            return RecordType(self.fields(old.fields, new.fields, f"{name}."))
        if isinstance(old, ArrayType) and isinstance(new, ArrayType):
            return replace(old, element=self._type(old.element, new.element, f"{name}.element"))
        if isinstance(old, MapType) and isinstance(new, MapType) and old.key == new.key:
            return replace(old, value=self._type(old.value, new.value, f"{name}.value"))
        if type_name(old) == type_name(new) or (isinstance(old, str) and _shown_as(old) == new):
            return old
        if isinstance(old, str) and may_become(old, new):
            return new
        raise SchemaError(
            f"column {name!r} is of type {type_name(old)}, which cannot become {type_name(new)}",
            remedy="drop the column first, if its values may go: one of its name that is added later is another",
        )


def _by_name(before: Fields, columns: Fields) -> dict[str, InternalField]:
    """Name in the list -> the column of that name, or the only one whose name differs in case alone."""
    exact = {item.name: item for item in before}
    folded: dict[str, list[InternalField]] = {}
    for item in before:
        folded.setdefault(item.name.lower(), []).append(item)
    named = {}
    for item in columns:
        alike = folded.get(item.name.lower(), [])
        if item.name in exact:
            named[item.name] = exact[item.name]
        elif len(alike) == 1:
            named[item.name] = alike[0]
    return named


def _shown_as(kind: str) -> str:
    return "binary" if kind.startswith("fixed[") else _SHOWN_AS.get(kind, kind)
