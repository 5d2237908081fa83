"""Formats timestamps by the patterns of Java's ``DateTimeFormatter``, as far as each letter stands for a number.

Source: Spark's "Datetime Patterns for Formatting and Parsing".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Values: TypeAlias = Any
"""An Arrow array or expression; kernels take and give either."""

_TOKEN: Final = re.compile(r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>(?:[^']|'')*)'|(?P<plain>[^A-Za-z'\[\]{}#]+)")
_FRACTION: Final = "S"
_DIGITS: Final = {"M": (1, 2), "d": (1, 2), "H": (1, 2), "m": (1, 2), "s": (1, 2), "y": (1, 2, 3, 4)}
_MOST_FRACTION_DIGITS: Final = 6
_PARTS: Final[Mapping[str, Callable[[Values], Values]]] = {
    "M": pc.month,
    "d": pc.day,
    "H": pc.hour,
    "m": pc.minute,
    "s": pc.second,
}


def pattern_parts(pattern: str) -> tuple[tuple[str, str], ...] | None:
    """Take a pattern apart to pairs of a letter (empty for plain text) and its letters or text.

    Returns:
        The pairs; None for a pattern with letters that stand for names, weeks, eras or zones, or with options in it.
    """
    parts: list[tuple[str, str]] = []
    at = 0
    while at < len(pattern):
        match = _TOKEN.match(pattern, at)
        if match is None:
            return None
        at = match.end()
        letters = match["letters"]
        if letters is None:
            text = match["plain"] if match["quoted"] is None else match["quoted"].replace("''", "'") or "'"
            parts.append(("", text))
            continue
        letter = letters[0]
        if letter == _FRACTION:
            if len(letters) > _MOST_FRACTION_DIGITS:
                return None
        elif len(letters) not in _DIGITS.get(letter, ()):
            return None
        parts.append((letter, letters))
    return tuple(parts) if parts else None


def format_moments(moments: Values, pattern: str) -> Values:
    """Format timestamps by a pattern that :func:`pattern_parts` takes.

    Args:
        moments: timestamps without a zone or in UTC, or dates.
        pattern: of ``DateTimeFormatter``.
    """
    parts = pattern_parts(pattern)
    assert parts is not None
    texts = [pa.scalar(text) if not letter else _number(moments, letter, len(text)) for letter, text in parts]
    if len(texts) == 1:
        return texts[0]
    return _joined(*texts)


def _joined(*texts: Values) -> Values:
    first = next((text for text in texts if isinstance(text, pc.Expression)), None)
    if first is None:
        return pc.binary_join_element_wise(*texts, pa.scalar(""))
    # The kernel of any number of arguments takes no expressions, though expressions may call it.
    arguments = [pc.scalar(text) if isinstance(text, pa.Scalar) else text for text in (*texts, pa.scalar(""))]
    return first._call("binary_join_element_wise", arguments, pc.JoinOptions())


def _number(moments: Values, letter: str, width: int) -> Values:
    if letter == "y":
        return _year(moments, width)
    if letter == _FRACTION:
        micros = pc.add(pc.multiply(pc.millisecond(moments), 1000), pc.microsecond(moments))
        digits = pc.utf8_lpad(_text(micros), _MOST_FRACTION_DIGITS, "0")
        return pc.utf8_slice_codeunits(digits, 0, width)
    return pc.utf8_lpad(_text(_PARTS[letter](moments)), width, "0")


def _year(moments: Values, width: int) -> Values:
    """The year of the era; with four digits one of more has a sign, and two digits are the last two."""
    year = pc.year(moments)
    of_era = pc.if_else(pc.greater(year, 0), year, pc.negate(pc.subtract(year, 1)))
    if width == 2:
        return pc.utf8_slice_codeunits(pc.utf8_lpad(_text(of_era), 2, "0"), -2)
    text = pc.utf8_lpad(_text(of_era), width, "0")
    if width < 4:
        return text
    return pc.if_else(pc.greater(of_era, 9999), _joined(pa.scalar("+"), text), text)


def _text(numbers: Values) -> Values:
    return numbers.cast(pa.string())
