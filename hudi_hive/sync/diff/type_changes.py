"""Checks whether files with one nested Hive type can be read as another one.

A metastore knows which primitive types Hive converts by itself; a nested type may not change at all there, though
readers find the fields of a struct by name as they find columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double")
_TEXTS = ("string", "varchar", "char")
_MAX_DEPTH = 100
_TOKEN = re.compile(r"[<>,:]|[^<>,:()]+(?:\([^)]*\))?")


@dataclass(frozen=True, slots=True)
class _Type:
    """A type: its word with its arguments, and what stands below it by name (by place for lists and maps)."""

    text: str
    below: dict[str, _Type]


def is_nested(text: str) -> bool:
    """Whether a type is a list, map or struct."""
    return "<" in text


def is_readable_as(old: str, new: str) -> bool:
    """Whether files with the old type can be read as the new one by Hive's conversions.

    Fields of structs are compared by name: they may come, go and change places.

    Args:
        old, new: texts of types as a metastore has them. One that cannot be read follows from itself alone.
    """
    try:
        return _is_readable_as(_parse(old), _parse(new))
    except _UnreadableError:
        return old == new


class _UnreadableError(Exception):
    """A text that is no type, or one that is nested too deep."""


def _is_readable_as(old: _Type, new: _Type) -> bool:
    if old.below or new.below:
        common = old.below.keys() & new.below.keys()
        return (
            old.text == new.text
            and bool(common)
            and all(_is_readable_as(old.below[name], new.below[name]) for name in common)
        )
    before, after = (kind.text.partition("(")[0] for kind in (old, new))
    if before == after:
        return True
    if before in _NUMBERS and after in _NUMBERS:
        return _NUMBERS.index(before) < _NUMBERS.index(after)
    return after in _TEXTS and before in (*_NUMBERS, *_TEXTS, "date", "timestamp")


def _parse(text: str) -> _Type:
    tokens = _TOKEN.findall(text.lower().replace(" ", "").replace("`", ""))
    return _read(tokens[::-1])


def _read(rest: list[str], depth: int = 0) -> _Type:
    """The type at the start of what is left, which stands in reverse."""
    if not rest or depth > _MAX_DEPTH:
        raise _UnreadableError
    word = rest.pop()
    if not rest or rest[-1] != "<":
        return _Type(word, {})
    below: dict[str, _Type] = {}
    while rest and rest.pop() != ">":
        name = str(len(below))
        if word == "struct":
            if len(rest) < 2:
                raise _UnreadableError
            name = rest.pop()
            rest.pop()
        below[name] = _read(rest, depth + 1)
    return _Type(word, below)
