"""Changes of a model table's columns, and a generator of changes that its schema allows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.support.tables.schema_model import (
    NAMES,
    PROTECTED,
    SCALARS,
    Column,
    Row,
    Struct,
    invent,
    list_of,
    map_of,
    scalar,
    struct,
    walk,
)


@dataclass(frozen=True)
class Change:
    """One call of a schema update: its method, and what it does to the model's columns."""

    method: str
    path: tuple[str, ...]
    value: Any = None
    place: tuple[str, str] | None = None
    """``("first", "")``, ``("after", name)`` or ``("before", name)``, with the name of a field of the same level."""

    @property
    def name(self) -> str:
        return ".".join(self.path)


def changed(columns: tuple[Column, ...], change: Change) -> tuple[Column, ...]:
    """The columns after a change; a column that is added is ``change.value``, and so are columns in place of all."""
    if change.method == "replace_columns":
        return tuple(change.value)
    return tuple(_changed(columns, change.path, change))


def _changed(columns: Sequence[Column], path: tuple[str, ...], change: Change) -> list[Column]:
    level = list(columns)
    if len(path) > 1:
        at = _at(level, path[0])
        level[at] = level[at].with_below(_changed(level[at].below(), path[1:], change))
        return level
    if change.method == "add":
        level.append(change.value)
        return _placed(level, len(level) - 1, change.place)
    at = _at(level, path[0])
    if change.method == "drop":
        del level[at]
    elif change.method == "rename":
        level[at] = replace(level[at], name=change.value)
    elif change.method == "change_type":
        level[at] = replace(level[at], kind=change.value)
    elif change.method == "move":
        return _placed(level, at, change.place)
    else:
        assert change.method == "comment", change
        level[at] = replace(level[at], doc=change.value)
    return level


def _placed(level: list[Column], at: int, place: tuple[str, str] | None) -> list[Column]:
    if place is None:
        return level
    column = level.pop(at)
    word, other = place
    level.insert(0 if word == "first" else _at(level, other) + (word == "after"), column)
    return level


def _at(columns: Sequence[Column], name: str) -> int:
    return next(at for at, column in enumerate(columns) if column.name == name)


class Inventor:
    """Changes and rows at random.

    Args:
        chance: all that is random.
        scalars: types of columns that are added.
        kinds: methods that are used.
        plain: values that all readers of real Hudi's releases show alike: floats that are the same number as a double,
            no two structs in a list or map.
    """

    def __init__(
        self,
        chance: random.Random,
        scalars: Sequence[str] = SCALARS,
        kinds: Sequence[str] = (
            "add",
            "add",
            "drop",
            "rename",
            "rename",
            "change_type",
            "change_type",
            "move",
            "comment",
        ),
        plain: bool = False,
    ) -> None:
        self.chance = chance
        self.scalars = scalars
        self.kinds = kinds
        self.plain = plain

    def change(self, columns: tuple[Column, ...]) -> Change | None:
        """A legal change; None where the kind that was thrown has nothing to change."""
        kind = self.chance.choice(self.kinds)
        if kind == "add":
            return self._add(columns)
        return self._other(kind, columns)

    def replacement(self, columns: tuple[Column, ...]) -> Change:
        """Columns in the place of all: some stay, with other types and fields, some go and some are new."""
        return Change("replace_columns", (), tuple(self._replaced(columns, top=True)))

    def _replaced(self, level: Sequence[Column], *, top: bool) -> list[Column]:
        # Release 1.0.2 fails on a struct of which a file has no field, also where DROP COLUMN took them away.
        all_stay = self.plain and not top
        stay = [one for one in level if all_stay or (top and one.name in PROTECTED) or self.chance.random() < 0.7]
        stay = stay or [self.chance.choice(level)]
        made = [one if top and one.name in PROTECTED else self._stays(one) for one in stay]
        free = self._free(level)
        made += [self.column(name) for name in self.chance.sample(free, min(len(free), self.chance.choice([0, 1, 2])))]
        self.chance.shuffle(made)
        return made

    def _stays(self, column: Column) -> Column:
        """A column that stays, with what it is of changed at random."""
        doc = self.chance.choice([None, "said anew"])
        if isinstance(column.kind, str):
            kinds = column.next_kinds()
            changes = bool(kinds) and self.chance.random() < 0.3
            return replace(column, doc=doc, kind=self.chance.choice(kinds) if changes else column.kind)
        if isinstance(column.kind, Struct):
            return replace(column, doc=doc).with_below(self._replaced(column.below(), top=False))
        return replace(column, doc=doc).with_below([replace(self._stays(column.below()[0]), doc=None)])

    def column(self, name: str) -> Column:
        """A new column."""
        kind = self.chance.random()
        one = scalar(name, self.chance.choice(self.scalars))
        if kind < 0.7:
            return one
        if kind < 0.85:
            return struct(name, replace(one, name="p"), scalar("q", "int"))
        if kind < 0.93:
            return list_of(name, replace(one, name="element"))
        return map_of(name, replace(one, name="value"))

    def _levels(self, columns: tuple[Column, ...]) -> list[tuple[tuple[str, ...], tuple[Column, ...]]]:
        """Where fields may be added: the top, and every struct."""
        structs = [(path, item.below()) for path, item in walk(columns) if isinstance(item.kind, Struct)]
        return [((), columns), ((), columns), *structs]

    def _free(self, level: Sequence[Column]) -> list[str]:
        taken = {column.name for column in level}
        return [name for name in NAMES if name not in taken]

    def _add(self, columns: tuple[Column, ...]) -> Change | None:
        path, level = self.chance.choice(self._levels(columns))
        free = self._free(level)
        if not free:
            return None
        column = self.column(self.chance.choice(free))
        return Change("add", (*path, column.name), column, self._place(level, moved=False, top=not path))

    def _place(self, level: Sequence[Column], *, moved: bool, top: bool) -> tuple[str, str] | None:
        words = ["first", "after", "before"] if moved else ["first", "after"]
        if not moved and self.chance.random() < 0.5:
            return None
        word = self.chance.choice(words)
        if word == "first" and top:  # Hudi forbids it there
            return "after", level[0].name
        return word, "" if word == "first" else self.chance.choice(level).name

    def _other(self, kind: str, columns: tuple[Column, ...]) -> Change | None:
        found = [(path, item) for path, item in walk(columns) if path[0] not in PROTECTED]
        self.chance.shuffle(found)
        for path, item in found:
            level = next(below for above, below in self._levels(columns) if above == path[:-1]) if _named(path) else ()
            change = self._of(kind, path, item, level)
            if change is not None:
                return change
        return None

    def _of(self, kind: str, path: tuple[str, ...], item: Column, level: Sequence[Column]) -> Change | None:
        if kind == "change_type":
            kinds = item.next_kinds()
            return Change(kind, path, self.chance.choice(kinds)) if kinds else None
        if not level:
            return None
        if kind == "drop":
            return Change(kind, path) if len(level) > 1 and (len(path) > 1 or len(level) > 5) else None
        if kind == "rename":
            free = self._free(level)
            return Change(kind, path, self.chance.choice(free)) if free else None
        if kind == "move":
            others = [other for other in level if other is not item]
            return Change(kind, path, None, self._place(others, moved=True, top=len(path) == 1)) if others else None
        return Change("comment", path, f"of {self.chance.randrange(1000)}")

    def rows(self, keys: Sequence[str], columns: Sequence[Column], ts: int) -> list[Row]:
        """A row for each key; its first letter is the partition."""
        return [
            {
                **{column.name: invent(column, self.chance, plain=self.plain) for column in columns},
                "id": key,
                "part": key[0],
                "ts": ts,
            }
            for key in keys
        ]


def _named(path: tuple[str, ...]) -> bool:
    """Whether it is a column or a field of a struct, not what a list or map is of."""
    return path[-1] not in ("element", "value")
