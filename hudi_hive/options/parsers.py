"""Parsers of option texts: one for each kind of value. All booleans of the package are read here.

A parser is called with an option's name and text and gives the value; blanks around the text do not count. What does
not fit is refused by an error that names the option, the text and what it takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

from hudi_hive.errors import InvalidOptionError

T_co = TypeVar("T_co", covariant=True)
_T = TypeVar("_T")
_Enum = TypeVar("_Enum", bound=StrEnum)

_REMEDY: Final = "correct it, or leave the option out"
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_SIZE: Final = re.compile(r"([+-]?[0-9]+)\s*([kmgtpe]?)b?", re.ASCII | re.IGNORECASE)
_UNITS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}
_BOOLEANS: Final = {"true": True, "false": False}


@dataclass(frozen=True)
class Parser(Generic[T_co]):
    """How the text of an option becomes its value.

    Attributes:
        convert: from the option's name and its text to the value; raises InvalidOptionError.
        takes: what the option takes, for people: ``true or false``.
        strips: blanks around the text do not count.
    """

    convert: Callable[[str, str], T_co]
    takes: str
    strips: bool = True

    def __call__(self, name: str, text: str) -> T_co:
        """The value of an option's text.

        Args:
            name: the option as the user gave it.
            text: its text.

        Raises:
            InvalidOptionError: the text does not fit.
        """
        return self.convert(name, text.strip() if self.strips else text)


def parse_boolean(text: str) -> bool | None:
    """The boolean that a text stands for, ``true`` or ``false`` in any case; None for any other text."""
    return _BOOLEANS.get(text.strip().lower())


def parse_java_boolean(text: str) -> bool:
    """The boolean that Java reads in a text: ``true`` in any case is true, and any other text is false.

    Hudi, Hive and Spark read so (``Boolean.parseBoolean``) what a table, a file or a catalog holds already: properties
    of a key generator, parameters of tables and SerDes, headers of log blocks. What a user gives is checked by
    :func:`parse_boolean`, and so are the flags of ``hoodie.properties`` that decide how a table is read.
    """
    return text.lower() == "true"


def as_text(name: str, value: object) -> str:
    """The text of an option whose value may be given as text, number, boolean or list.

    Raises:
        InvalidOptionError: the value is None.
    """
    if value is None:
        raise InvalidOptionError(f"option {name} has no value", remedy="give one, or leave the option out")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return str(value)


def as_texts(options: Mapping[str, Any]) -> dict[str, str]:
    """Option names and texts of a mapping whose values may be texts, numbers, booleans or lists.

    Raises:
        InvalidOptionError: a value is None.
    """
    return {str(name): as_text(str(name), value) for name, value in options.items()}


def _refused(name: str, text: str, takes: str) -> InvalidOptionError:
    return InvalidOptionError(f"option {name}={text!r} must be {takes}", remedy=_REMEDY)


def _boolean(name: str, text: str) -> bool:
    value = parse_boolean(text)
    if value is None:
        raise _refused(name, text, boolean.takes)
    return value


def _text(name: str, text: str) -> str:
    if not text:
        raise InvalidOptionError(f"option {name} is empty", remedy="give a value, or leave the option out")
    return text


def _items(name: str, text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _whole(takes: str, least: int | None) -> Callable[[str, str], int]:
    def convert(name: str, text: str) -> int:
        if not _WHOLE.fullmatch(text) or (least is not None and int(text) < least):
            raise _refused(name, text, takes)
        return int(text)

    return convert


def _decimal(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if number != number or number in (float("inf"), float("-inf")):
        raise _refused(name, text, decimal.takes)
    return number


def _positive_decimal(name: str, text: str) -> float:
    number = _decimal(name, text)
    if number <= 0:
        raise InvalidOptionError(f"option {name}={text!r} must be greater than 0", remedy=_REMEDY)
    return number


def _decimal_from_zero(name: str, text: str) -> float:
    number = _decimal(name, text)
    if number < 0:
        raise InvalidOptionError(f"option {name}={text!r} must not be negative", remedy=_REMEDY)
    return number


def _fraction(name: str, text: str) -> float:
    number = _decimal(name, text)
    if not 0 <= number <= 1:
        raise InvalidOptionError(f"option {name}={text!r} must lie between 0 and 1", remedy=_REMEDY)
    return number


def _size(name: str, text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise _refused(name, text, byte_size.takes)
    return int(match.group(1)) << (10 * _UNITS[match.group(2).lower()])


def _positive_size(name: str, text: str) -> int:
    size = _size(name, text)
    if size <= 0:
        raise InvalidOptionError(f"option {name}={text!r} must be greater than 0", remedy=_REMEDY)
    return size


def _property_lines(name: str, text: str) -> tuple[tuple[str, str], ...]:
    properties: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("=")]
        if len(parts) > 2 or not parts[0]:
            raise InvalidOptionError(f"{name}: line {line.strip()!r} is not of the form name=value", remedy=_REMEDY)
        properties[parts[0]] = parts[1] if len(parts) == 2 else ""
    return tuple(properties.items())


def _local_folder(name: str, text: str) -> str:
    scheme, colon, rest = text.partition(":")
    if colon and scheme.lower() == "file":
        return "/" + rest.lstrip("/")
    if not colon or "/" in scheme or len(scheme) == 1:
        return text
    raise InvalidOptionError(f"option {name}={text!r} is not a folder of the local disk", remedy=_REMEDY)


boolean: Final = Parser(_boolean, "true or false")
text: Final = Parser(_text, "a text")
any_text: Final = Parser(lambda name, text: text, "a text, or nothing")
raw_text: Final = Parser(lambda name, text: text, "a text; blanks around it count", strips=False)
optional_text: Final = Parser(lambda name, text: text or None, "a text; an empty one is as none")
items: Final = Parser(_items, "a list separated by commas")
queries: Final = Parser(
    lambda name, text: tuple(part for part in text.split(";") if part.strip()), "SQL queries with ; between them"
)
field_names: Final = Parser(
    # The custom key generator writes ``field:SIMPLE``: the suffix says how the value is made, it is not in the name.
    lambda name, text: tuple(item.partition(":")[0] for item in _items(name, text)),
    "field names separated by commas",
)
integer: Final = Parser(_whole("a whole number", None), "a whole number")
whole: Final = Parser(_whole("a whole number, zero or more", 0), "a whole number, zero or more")
positive: Final = Parser(_whole("a whole number above zero", 1), "a whole number above zero")
decimal: Final = Parser(_decimal, "a number")
positive_decimal: Final = Parser(_positive_decimal, "a number above zero")
decimal_from_zero: Final = Parser(_decimal_from_zero, "a number, zero or more")
fraction: Final = Parser(_fraction, "a number from 0 to 1")
byte_size: Final = Parser(_size, "a number of bytes, with k, m, g, t, p or e behind it if need be")
positive_size: Final = Parser(_positive_size, "a number of bytes above zero, with k, m, g, t, p or e behind it")
local_folder: Final = Parser(_local_folder, "a folder of the local disk")
property_lines: Final = Parser(_property_lines, "lines name=value")


def between(least: int, most: int) -> Parser[int]:
    """A whole number of a range, both ends included."""
    takes = f"a whole number from {least} to {most}"

    def convert(name: str, text: str) -> int:
        if not _WHOLE.fullmatch(text) or not least <= int(text) <= most:
            raise _refused(name, text, takes)
        return int(text)

    return Parser(convert, takes)


def choice(*allowed: str) -> Parser[str]:
    """One of some words, in any case; the value is spelled as here."""
    by_case = {item.lower(): item for item in allowed}
    takes = f"one of {', '.join(allowed)}"

    def convert(name: str, text: str) -> str:
        if text.lower() not in by_case:
            raise InvalidOptionError(f"option {name}={text!r} is not {takes}", remedy=_REMEDY)
        return by_case[text.lower()]

    return Parser(convert, takes)


def mapped(values: Mapping[str, _T]) -> Parser[_T]:
    """One of some words, in any case, each of which stands for a value."""
    word = choice(*values)
    return Parser(lambda name, text: values[word(name, text)], word.takes)


def member(kind: type[_Enum]) -> Parser[_Enum]:
    """One of an enumeration's values, in any case."""
    return mapped({item.value: item for item in kind})


def java_class(*supported: str, others: str) -> Parser[str]:
    """The name of one of Hudi's classes, with its package or without, out of those whose behaviour there is here.

    Args:
        supported: simple names of the classes.
        others: what to do in place of any other class, for the error.
    """

    def convert(name: str, text: str) -> str:
        if _text(name, text).rpartition(".")[2] not in supported:
            known = f"supported: {', '.join(supported)}"
            raise InvalidOptionError(f"option {name}={text} is not supported", remedy=f"{others}; {known}")
        return text

    return Parser(convert, f"one of {', '.join(supported)}, with or without package")


def optional(parser: Parser[_T]) -> Parser[_T | None]:
    """As another parser; an empty text is as none."""
    return Parser(lambda name, text: parser(name, text) if text else None, parser.takes, parser.strips)
