"""Changes an id-based schema: adds, drops, renames and moves columns, and changes their types.

A change gives new ids to what is added and keeps those of what stays; what has no rule is refused with its reason.

Source: docs/format.md#id-based-schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final, Self

import pyarrow as pa

from hudi_hive.errors import SchemaError
from hudi_hive.schema.avro import META_FIELDS, OPERATION_FIELD
from hudi_hive.schema.from_arrow import is_avro_name
from hudi_hive.schema.internal import ArrayType, InternalField, InternalSchema, InternalType, MapType, RecordType
from hudi_hive.schema.internal_avro import type_of, with_new_ids
from hudi_hive.schema.promotions import may_become, refuse_unreadable, type_name
from hudi_hive.schema.replaced_columns import listed_columns, replaced
from hudi_hive.schema.type_text import parse_type
from hudi_hive.schema.writer_changes import merge_writer

__all__ = ["SchemaUpdate", "merge_writer"]

_META: Final = (*META_FIELDS, OPERATION_FIELD)
_MAY_COME: Final = ("delete marker", "ordering column")
"""Roles of columns that a table may get later, with nulls in all rows of before."""
_MAY_WIDEN: Final = ("record key", "ordering column")
_SAME_TEXT: Final = (("int", "long"),)
"""Promotions that leave the text of each value as it is, so that keys in files and indexes stay those of the rows."""

Fields = tuple[InternalField, ...]


class SchemaUpdate:
    """A series of changes to one version of an id-based schema; each method checks one and returns a new object.

    Columns below others are named with dots: ``info.a``, ``tags.element.x`` below a list, ``scores.value.x`` below a
    map. Names that differ in case alone are the same name.

    Args:
        schema: the version that changes.
        protected: columns that can be neither dropped, renamed nor given another type -> what they are to the table,
            such as ``record key``. Nor can another column get such a name, if the schema lacks it.
    """

    def __init__(self, schema: InternalSchema, *, protected: Mapping[str, str] | None = None) -> None:
        self.before = schema
        self.protected = dict(protected or {})
        self._now = schema

    @property
    def schema(self) -> InternalSchema:
        """The schema with all changes so far applied."""
        return self._now

    @property
    def changed(self) -> bool:
        """Whether the changes so far leave a schema that differs from the one before."""
        return self._now.fields != self.before.fields

    def apply(self, version_id: int) -> InternalSchema:
        """Make the changed schema a version of the given id.

        Args:
            version_id: the instant that makes it.

        Raises:
            SchemaError: nothing changed, or a column is of a type that Hudi cannot read in such schemas.
        """
        if not self.changed:
            raise SchemaError("the changes leave the schema as it is", remedy="there is nothing to commit")
        refuse_unreadable(self._now)
        return replace(self._now, version_id=version_id)

    # -- changes ---------------------------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        type: pa.DataType | InternalType,
        *,
        doc: str | None = None,
        first: bool = False,
        after: str | None = None,
    ) -> Self:
        """Add a nullable column, which is null in all existing rows.

        Args:
            name: its name; that of a struct's field with the struct's in front.
            type: an Arrow type, or the text of a Hive or Spark type.
            doc: its comment.
            first: in front of its siblings, in a struct alone. Else it comes behind them all.
            after: behind this sibling.

        Raises:
            SchemaError: the name is taken or none for a column, the struct is missing, or the type is none.
        """
        parent, leaf = self._split(name)
        _check_name(leaf, name)
        siblings = self._siblings(parent)
        taken = _position(siblings, leaf)
        if taken is not None:
            raise SchemaError(f"there is a column {_join(parent, siblings[taken].name)!r} already")
        self._guard_new(_join(parent, leaf), _MAY_COME)
        _check_text(doc, name)
        first_id = self._now.max_column_id + 1
        kind, free = with_new_ids(_internal(type, leaf), first_id + 1)
        _check_names(kind, name)
        added = InternalField(first_id, leaf, True, kind, doc)
        at = self._place(parent, siblings, first, after, None)
        at = len(siblings) if at is None else at
        return self._with(parent, (*siblings[:at], added, *siblings[at:]), free - 1)

    def drop(self, name: str) -> Self:
        """Drop a column; a column of the same name that is added later has another id.

        Raises:
            SchemaError: there is no such column, the table needs it, or nothing would be left.
        """
        parent, siblings, at = self._member(name, "dropped")
        self._guard(_join(parent, siblings[at].name), "dropped")
        left = siblings[:at] + siblings[at + 1 :]
        if not [item for item in left if parent or item.name not in _META]:
            raise SchemaError(f"column {name!r} cannot be dropped: it is the last one", remedy="drop the whole struct")
        return self._with(parent, left)

    def rename(self, name: str, new: str) -> Self:
        """Give a column another name.

        Args:
            name: the column.
            new: the new name, without those of the structs around it.

        Raises:
            SchemaError: there is no such column, the table needs it, or the new name is taken or none for a column.
        """
        parent, siblings, at = self._member(name, "renamed")
        self._guard(_join(parent, siblings[at].name), "renamed")
        new = new[len(parent) + 1 :] if parent and new.startswith(f"{parent}.") else new
        _check_name(new, new)
        taken = _position(siblings, new)
        if taken is not None and taken != at:
            raise SchemaError(f"there is a column {_join(parent, siblings[taken].name)!r} already")
        self._guard_new(_join(parent, new))
        return self._with(parent, (*siblings[:at], replace(siblings[at], name=new), *siblings[at + 1 :]))

    def move(self, name: str, *, first: bool = False, after: str | None = None, before: str | None = None) -> Self:
        """Move a column to another position among its siblings.

        Args:
            name: the column.
            first: in front of its siblings, in a struct alone: Hudi forbids it at the top of a table.
            after: behind this sibling.
            before: in front of this sibling.

        Raises:
            SchemaError: there is no such column or sibling, or not exactly one place is given.
        """
        if first + (after is not None) + (before is not None) != 1:
            raise SchemaError(f"say where column {name!r} is to be: first, after or before another")
        parent, siblings, at = self._member(name, "moved")
        moved, rest = siblings[at], siblings[:at] + siblings[at + 1 :]
        if any(other is not None and self._is(parent, other, moved.name) for other in (after, before)):
            raise SchemaError(f"column {name!r} cannot be placed by itself")
        to = self._place(parent, rest, first, after, before)
        assert to is not None
        return self._with(parent, (*rest[:to], moved, *rest[to:]))

    def change_type(self, name: str, type: pa.DataType | InternalType) -> Self:
        """Give a column a wider type (docs/format.md#type-promotions), keys and ordering columns int to long alone.

        Args:
            name: the column; ``tags.element`` and ``scores.value`` are what lists and maps hold.
            type: an Arrow type, or the text of a Hive or Spark type.

        Raises:
            SchemaError: there is no such column, the table needs it, or its type cannot become the new one.
        """
        name, item = self._path_and_field(name, "changed in type")
        target = _internal(type, item.name)
        if type_name(item.type) == type_name(target):
            return self
        if (item.type, target) not in _SAME_TEXT or self._role(name) not in _MAY_WIDEN:
            self._guard(name, "changed in type", below=False)
        if not may_become(item.type, target):
            raise SchemaError(
                f"column {name!r} is of type {type_name(item.type)}, which cannot become {type_name(target)}",
                remedy="add a column of the new type; structs, lists and maps change by their fields"
                if not isinstance(item.type, str) or not isinstance(target, str)
                else "add a column of the new type",
            )
        return self._edited(name, lambda found: replace(found, type=target))

    def optional(self, name: str) -> Self:
        """Make a column nullable.

        Raises:
            SchemaError: there is no such column, or it is a meta column or the key of a map.
        """
        name, _ = self._path_and_field(name, "made optional")
        return self._edited(name, lambda found: replace(found, optional=True))

    def required(self, name: str) -> Self:
        """Make a column not nullable, which is allowed only where it is not nullable already.

        Raises:
            SchemaError: there is no such column, or it takes null.
        """
        name, item = self._path_and_field(name, "made required")
        if item.optional:
            raise SchemaError(
                f"column {name!r} takes null and cannot be made required: rows that are there may have null in it"
            )
        return self

    def comment(self, name: str, text: str | None) -> Self:
        """Set or remove the comment of a column.

        Raises:
            SchemaError: there is no such column, or it is what a list or map holds.
        """
        parent, siblings, at = self._member(name, "commented")
        _check_text(text, name)
        return self._with(parent, (*siblings[:at], replace(siblings[at], doc=text), *siblings[at + 1 :]))

    def replace_columns(self, columns: pa.Schema | Sequence[InternalField] | str) -> Self:
        """Have the columns of a list, in its order, and no others beside the meta columns.

        A column of the list with the name of one that is there is that column: it keeps its values, whether it takes
        null and how its name is written, and has the list's type and comment. So do fields of structs, in lists and
        maps too. All others are new, also where an earlier column had their name.

        Args:
            columns: an Arrow schema, whose fields may have a comment under ``comment`` in their metadata, fields whose
                ids do not count, or a text as in SQL (``id int, name string COMMENT 'who'``).

        Raises:
            SchemaError: a column that the table needs is not among them or has another type, a type does not follow
                from that of the column of its name, a name is there twice or none for a column, or the list is empty.
        """
        listed = listed_columns(columns)
        meta = tuple(item for item in self._now.fields if item.name in _META)
        old = tuple(item for item in self._now.fields if item.name not in _META)
        for item in listed:
            _check_name(item.name, item.name)
            _check_names(item.type, item.name)
            _check_text(item.doc, item.name)
        fields, last_id = replaced(old, listed, self._now.max_column_id)
        made = self._copy((*meta, *fields), last_id)
        self._guard_replaced(made.schema)
        return made

    def _guard_replaced(self, made: InternalSchema) -> None:
        """Refuse columns in the place of others that lack one which the table depends on, or change its type."""
        new = {item.id: item for _, item in made.walk()}
        before = {name.lower(): item for name, item in self._now.walk()}
        for column, role in self.protected.items():
            item = before.get(column.lower())
            if item is None:
                continue
            if item.id not in new:
                raise SchemaError(
                    f"column {column!r} is not among the columns, and cannot be dropped: it is the table's {role}",
                    remedy=f"name it too: {column} {type_name(item.type)}",
                )
            widened = (item.type, new[item.id].type) in _SAME_TEXT and role in _MAY_WIDEN
            if not widened and type_name(new[item.id].type) != type_name(item.type):
                raise SchemaError(
                    f"column {column!r} cannot be changed in type: it is the table's {role}",
                    remedy=f"name it with its type: {column} {type_name(item.type)}",
                )
        ids = {item.id for _, item in self._now.walk()}
        for name, item in made.walk():
            if item.id not in ids:
                self._guard_new(name, _MAY_COME)

    # -- names -----------------------------------------------------------------------------------------------------

    def _path_and_field(self, name: str, what: str) -> tuple[str, InternalField]:
        """Find a column; returns it with its name as the table spells it."""
        exact, fields, item = "", self._now.fields, None
        for part in name.split("."):
            at = _position(fields, part)
            if at is None:
                raise SchemaError(f"there is no column {name!r}")
            if item is not None and isinstance(item.type, MapType) and part == "key":
                raise SchemaError(f"column {name!r} cannot be {what}: keys of maps never change")
            item = fields[at]
            exact = _join(exact, item.name)
            fields = item.children
        assert item is not None
        if exact in _META:
            raise SchemaError(f"column {name!r} cannot be {what}: it is a meta column of Hudi")
        return exact, item

    def _member(self, name: str, what: str) -> tuple[str, Fields, int]:
        """Find a column in a record: the record's name, its fields, the column's index among them."""
        exact, _ = self._path_and_field(name, what)
        parent, leaf = self._split(exact)
        if parent and not isinstance(self._path_and_field(parent, what)[1].type, RecordType):
            raise SchemaError(f"{name!r} cannot be {what}: it has its name from the list or map that it is in")
        siblings = self._siblings(parent)
        at = _position(siblings, leaf)
        assert at is not None
        return parent, siblings, at

    def _split(self, name: str) -> tuple[str, str]:
        """Split a column's name to that of its struct, as the table spells it, and its own."""
        parent, _, leaf = name.rpartition(".")
        return (self._path_and_field(parent, "changed")[0] if parent else ""), leaf

    def _siblings(self, parent: str) -> Fields:
        if not parent:
            return self._now.fields
        kind = self._path_and_field(parent, "changed")[1].type
        if not isinstance(kind, RecordType):
            hint = ".element" if isinstance(kind, ArrayType) else ".value" if isinstance(kind, MapType) else ""
            raise SchemaError(
                f"column {parent!r} is no struct but {type_name(kind)}",
                remedy=f"name what it holds: {parent}{hint}" if hint else None,
            )
        return kind.fields

    def _place(self, parent: str, siblings: Fields, first: bool, after: str | None, before: str | None) -> int | None:
        """Position of a column among its siblings; None where no position is given."""
        if first and after is not None:
            raise SchemaError("a column is either first or after another")
        start = 0 if parent else sum(item.name in _META for item in siblings)
        if first and not parent:
            raise SchemaError(
                "no column can be put first at the top of a table: Hudi forbids that",
                remedy=f"put it behind {siblings[start - 1].name!r}" if start else "put it before or after another",
            )
        if first:
            return 0
        other = after if after is not None else before
        if other is None:
            return None
        leaf = other[len(parent) + 1 :] if parent and other.lower().startswith(f"{parent}.".lower()) else other
        at = _position(siblings, leaf)
        if at is None:
            raise SchemaError(f"there is no column {_join(parent, leaf)!r} to place another by")
        at += after is not None
        if at < start:
            raise SchemaError(
                "no column can come before the meta columns of Hudi",
                remedy=f"put it behind {siblings[start - 1].name!r}",
            )
        return at

    @staticmethod
    def _is(parent: str, other: str, leaf: str) -> bool:
        return other.lower() in (leaf.lower(), _join(parent, leaf).lower())

    def _guard(self, name: str, what: str, *, below: bool = True) -> None:
        """Refuse to change columns that the table depends on (keys, partitions, ordering), and their structs."""
        for column, role in self.protected.items():
            lower = column.lower()
            if lower == name.lower() or (below and lower.startswith(f"{name}.".lower())):
                raise SchemaError(
                    f"column {name!r} cannot be {what}: {column!r} is the table's {role}",
                    remedy="it stays as it is as long as the table does",
                )

    def _role(self, name: str) -> str | None:
        """What a column is to the table, if anything depends on it."""
        return next((role for column, role in self.protected.items() if column.lower() == name.lower()), None)

    def _guard_new(self, name: str, may_come: Collection[str] = ()) -> None:
        """Refuse names of special columns that the table lacks, as adding one would change the meaning of files."""
        for column, role in self.protected.items():
            if column.lower() == name.lower() and role not in may_come:
                raise SchemaError(
                    f"no column can get the name {name!r}: that is the table's {role}, though no column is called so",
                    remedy="take another name",
                )

    # -- results ---------------------------------------------------------------------------------------------------

    def _with(self, parent: str, fields: Fields, last_id: int | None = None) -> Self:
        """A copy with other fields in a record."""
        made = fields if not parent else self._edit(parent, lambda item: replace(item, type=RecordType(fields)))
        return self._copy(made, last_id)

    def _edited(self, name: str, change: Callable[[InternalField], InternalField]) -> Self:
        return self._copy(self._edit(name, change), None)

    def _edit(self, name: str, change: Callable[[InternalField], InternalField]) -> Fields:
        return _edit(self._now.fields, name.split("."), change)

    def _copy(self, fields: Fields, last_id: int | None) -> Self:
        other = type(self)(self.before, protected=self.protected)
        last = self._now.max_column_id if last_id is None else last_id
        other._now = InternalSchema(self._now.version_id, last, fields)
        return other


def _edit(fields: Fields, path: list[str], change: Callable[[InternalField], InternalField]) -> Fields:
    return tuple(_edit_field(item, path[1:], change) if item.name == path[0] else item for item in fields)


def _edit_field(
    item: InternalField, path: list[str], change: Callable[[InternalField], InternalField]
) -> InternalField:
    if not path:
        return change(item)
    kind = item.type
    if isinstance(kind, RecordType):
        return replace(item, type=RecordType(_edit(kind.fields, path, change)))
    [inner] = [_edit_field(child, path[1:], change) for child in item.children if child.name == path[0]]
    if isinstance(kind, ArrayType):
        return replace(item, type=replace(kind, element=inner.type, element_optional=inner.optional))
    assert isinstance(kind, MapType)
    return replace(item, type=replace(kind, value=inner.type, value_optional=inner.optional))


def _internal(kind: pa.DataType | InternalType, name: str) -> InternalType:
    if isinstance(kind, pa.DataType):
        return type_of(kind, name)
    if isinstance(kind, str):
        return parse_type(kind)
    if isinstance(kind, RecordType | ArrayType | MapType):
        return kind
    raise SchemaError(f"{kind!r} is no type for column {name!r}", remedy="an Arrow type, or text such as 'bigint'")


def _check_text(doc: str | None, name: str) -> None:
    if doc is not None and not isinstance(doc, str):
        raise SchemaError(f"the comment of column {name!r} is no text: {doc!r}")


def _check_name(leaf: str, name: str) -> None:
    if not is_avro_name(leaf):
        raise SchemaError(f"{name!r} is no name for a column", remedy="letters, digits and _, no digit in front")
    if leaf.lower() in _META:
        raise SchemaError(f"{name!r} is the name of a meta column of Hudi")


def _check_names(kind: InternalType, name: str) -> None:
    """Check the names below a new column: their form, and that they are distinct on each level."""
    if isinstance(kind, RecordType):
        if not kind.fields:
            raise SchemaError(f"column {name!r} is a struct without fields, which files do not hold")
        names = [item.name.lower() for item in kind.fields]
        if len(set(names)) < len(names):
            raise SchemaError(f"column {name!r} has two fields of one name (case does not count)")
    for item in InternalField(-1, name, True, kind).children:
        _check_name(item.name, f"{name}.{item.name}")
        _check_names(item.type, f"{name}.{item.name}")


def _position(fields: Fields, name: str) -> int | None:
    """The index of a field by its name, else by the only name that differs in case alone."""
    exact = [at for at, item in enumerate(fields) if item.name == name]
    found = exact or [at for at, item in enumerate(fields) if item.name.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def _join(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent else name
