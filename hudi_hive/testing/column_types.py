"""The column types that Hive 2.3's metastore accepts, and the type changes that it allows."""

from __future__ import annotations

import re

_NUMERIC = {"tinyint": 1, "smallint": 2, "int": 3, "bigint": 4, "decimal": 5, "float": 6, "double": 7}
_TEXT = ("string", "char", "varchar")
_DATES = ("date", "timestamp")
_PRIMITIVE = (*_NUMERIC, *_TEXT, *_DATES, "boolean", "binary", "interval_year_month", "interval_day_time", "void")
_NESTED = ("array", "map", "struct", "uniontype")
_WORD = re.compile(r"\w+", re.ASCII)


def is_valid(text: str) -> bool:
    """Whether the metastore accepts ``text`` as a type: it checks only the first word, by case."""
    word = _WORD.match(text)
    return word is not None and word[0] in (*_PRIMITIVE, *_NESTED)


def change_allowed(old: str, new: str) -> bool:
    """Whether a column may change its type: to the same one, or to one that Hive converts to."""
    if old == new:
        return True
    before, after = (text.partition("(")[0].lower() for text in (old, new))
    if before not in _PRIMITIVE or after not in _PRIMITIVE:
        return False
    if before == after or before == "void":
        return True
    if before in _NUMERIC and after in _NUMERIC:
        return _NUMERIC[before] < _NUMERIC[after]
    if after in _TEXT:
        return before in _NUMERIC or before in _TEXT or before in _DATES
    return before in _TEXT and after == "double"


def incompatible_columns(old: list[tuple[str, str]], new: list[tuple[str, str]]) -> list[str]:
    """Names of the new columns whose type does not follow from the old column at the same position."""
    pairs = zip(old, new, strict=False)
    return [name for (_, before), (name, after) in pairs if not change_allowed(before.lower(), after.lower())]
