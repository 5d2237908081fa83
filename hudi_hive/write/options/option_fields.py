"""Fields of settings that are set by options: the name of each option, its other names, and how its text is read.

A group of settings is a frozen dataclass whose fields are made by :func:`option`; :func:`known` collects the options of
groups and :func:`fill` makes a group of given ones. Text in, typed values out; a value that does not fit is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import Field, field, fields
from enum import StrEnum
from typing import Any, TypeVar

from hudi_hive.errors import InvalidOptionError

Read = Callable[[str, str], Any]
"""From an option's name and text to its value; raises :class:`InvalidOptionError`."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_Group = TypeVar("_Group")
_Enum = TypeVar("_Enum", bound=StrEnum)


def option(key: str, default: Any, read: Read, *aliases: str, note: str = "") -> Any:  # noqa: ANN401 - as dataclasses.field
    """A field that an option sets.

    Args:
        key: the option's name, as it is told to the user.
        default: the value without it.
        read: how its text becomes a value.
        aliases: other names that Hudi's releases know it under.
        note: what stands for the name in messages when the option is about more than the field says.
    """
    return field(default=default, metadata={"key": key, "aliases": aliases, "read": read, "note": note})


def flag(key: str, text: str) -> bool:
    """``true`` or ``false``, in any case."""
    if text.lower() not in ("true", "false"):
        raise InvalidOptionError(f"option {key}={text!r} must be true or false")
    return text.lower() == "true"


def text(key: str, value: str) -> str:
    """Any text but an empty one."""
    if not value:
        raise InvalidOptionError(f"option {key} is empty")
    return value


def optional_text(key: str, value: str) -> str | None:
    """Any text; an empty one is as none."""
    return value or None


def items(key: str, value: str) -> tuple[str, ...]:
    """A list separated by commas; blanks around items and empty items do not count."""
    return tuple(item.strip() for item in value.split(",") if item.strip())


def whole(key: str, value: str) -> int:
    """A whole number that is not negative."""
    if not _WHOLE.fullmatch(value) or int(value) < 0:
        raise InvalidOptionError(f"option {key}={value!r} must be a whole number, zero or more")
    return int(value)


def positive(key: str, value: str) -> int:
    """A whole number above zero."""
    if not _WHOLE.fullmatch(value) or int(value) < 1:
        raise InvalidOptionError(f"option {key}={value!r} must be a whole number above zero")
    return int(value)


def integer(key: str, value: str) -> int:
    """A whole number, negative ones too (Hudi's -1 for "no limit")."""
    if not _WHOLE.fullmatch(value):
        raise InvalidOptionError(f"option {key}={value!r} must be a whole number")
    return int(value)


def fraction(key: str, value: str) -> float:
    """A number from 0 to 1."""
    number = decimal(key, value)
    if not 0 <= number <= 1:
        raise InvalidOptionError(f"option {key}={value!r} must lie between 0 and 1")
    return number


def decimal(key: str, value: str) -> float:
    """A finite number."""
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if number != number or number in (float("inf"), float("-inf")):
        raise InvalidOptionError(f"option {key}={value!r} must be a number")
    return number


def word(*allowed: str) -> Read:
    """One of some words, in any case; the value is as written here."""
    by_case = {item.lower(): item for item in allowed}

    def read(key: str, value: str) -> str:
        if value.lower() not in by_case:
            raise InvalidOptionError(f"option {key}={value!r} is not one of {', '.join(allowed)}")
        return by_case[value.lower()]

    return read


def member(kind: type[_Enum]) -> Callable[[str, str], _Enum]:
    """One of an enumeration's values, in any case."""
    by_case = {item.value.lower(): item for item in kind}

    def read(key: str, value: str) -> _Enum:
        if value.lower() not in by_case:
            raise InvalidOptionError(f"option {key}={value!r} is not one of {', '.join(item.value for item in kind)}")
        return by_case[value.lower()]

    return read


def known(groups: tuple[type[Any], ...]) -> dict[str, Field[Any]]:
    """Every name of every option of some groups, and the field that it sets."""
    found: dict[str, Field[Any]] = {}
    for group in groups:
        for item in fields(group):
            if "key" in item.metadata:
                for name in (item.metadata["key"], *item.metadata["aliases"]):
                    found[name] = item
    return found


def fill(group: type[_Group], options: Mapping[str, str]) -> _Group:
    """The group's value for some options; options of other groups are passed over.

    Raises:
        InvalidOptionError: a value that does not fit, or two names of one option with different values.
    """
    values: dict[str, Any] = {}
    for item in fields(group):  # type: ignore[arg-type]
        if "key" not in item.metadata:
            continue
        given = [name for name in (item.metadata["key"], *item.metadata["aliases"]) if name in options]
        found = [item.metadata["read"](name, options[name]) for name in given]
        if any(value != found[0] for value in found):
            raise InvalidOptionError(f"options {' and '.join(given)} mean the same and have different values")
        if found:
            values[item.name] = found[0]
    return group(**values)
