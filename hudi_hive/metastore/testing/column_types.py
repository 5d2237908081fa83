"""Which column types Hive 2.3's metastore knows, and which changes of them it lets pass."""

from __future__ import annotations

import re

_NUMERIC = {"tinyint": 1, "smallint": 2, "int": 3, "bigint": 4, "decimal": 5, "float": 6, "double": 7}
_TEXT = ("string", "char", "varchar")
_DATES = ("date", "timestamp")
_PRIMITIVE = (*_NUMERIC, *_TEXT, *_DATES, "boolean", "binary", "interval_year_month", "interval_day_time", "void")
_TOKEN = re.compile(r"\s*([A-Za-z_][\w.]*|\d+|[<>(),:]|[^<>(),:\s]+)")


def is_valid(text: str) -> bool:
    """Whether ``text`` is a type: primitives with their arguments, arrays, maps, structs, unions."""
    tokens = _TOKEN.findall(text)
    try:
        return _type(tokens, 0) == len(tokens) and "".join(tokens) == re.sub(r"\s", "", text)
    except IndexError:
        return False


def _type(tokens: list[str], at: int) -> int:
    """The position behind the type that starts at ``at``; -1 if there is none."""
    name = tokens[at].lower()
    if name in ("array", "map", "uniontype", "struct"):
        return _nested(tokens, at + 1, name)
    if name not in _PRIMITIVE:
        return -1
    if at + 1 < len(tokens) and tokens[at + 1] == "(":
        end = tokens.index(")", at) if ")" in tokens[at:] else -1
        arguments = [token for token in tokens[at + 2 : end] if token != ","]
        fits = len(arguments) in ({"decimal": (1, 2), "char": (1,), "varchar": (1,)}.get(name, ()))
        return end + 1 if end > 0 and fits and all(argument.isdigit() for argument in arguments) else -1
    return -1 if name in ("char", "varchar") else at + 1


def _nested(tokens: list[str], at: int, name: str) -> int:
    if tokens[at] != "<":
        return -1
    count = 0
    while True:
        at += 1
        if name == "struct":
            if tokens[at + 1] != ":":
                return -1
            at += 2
        at = _type(tokens, at)
        if at < 0:
            return -1
        count += 1
        if tokens[at] == ">":
            return at + 1 if {"array": count == 1, "map": count == 2}.get(name, True) else -1
        if tokens[at] != ",":
            return -1


def change_allowed(old: str, new: str) -> bool:
    """Whether a column may change its type: the same, or one that Hive converts by itself."""
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
