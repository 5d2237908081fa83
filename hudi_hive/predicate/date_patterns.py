"""Formats timestamps by the patterns of Java's ``DateTimeFormatter``, as far as each letter stands for a number.

Source: Spark's "Datetime Patterns for Formatting and Parsing".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Values: TypeAlias = Any
"""An Arrow array or expression; kernels take and give either."""

_TOKEN: Final = re.compile(r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>(?:[^']|'')*)'|(?P<plain>[^A-Za-z'\[\]{}#]+)")
_FRACTION: Final = "S"
_DIGITS: Final = {"M": (1, 2), "d": (1, 2), "H": (1, 2), "m": (1, 2), "s": (1, 2), "y": (1, 2, 3, 4)}
_MOST_FRACTION_DIGITS: Final = 6
_CYCLE_DAYS: Final = 146_097
_DAY_SECONDS: Final = 86_400
_UNITS: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


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


def months_of(moments: Values) -> Values:
    """The months of dates or timestamps."""
    return pc.month(_in_one_cycle(moments))


def days_of(moments: Values) -> Values:
    """The days of months of dates or timestamps."""
    return pc.day(_in_one_cycle(moments))


def _in_one_cycle(moments: Values) -> Values:
    """Dates of any year as those of 400 years that have the same month and day; others, and expressions, as they are.

    Arrow's kernels for these go wrong with the years of Spark's last dates.
    """
    if not isinstance(moments, pa.Array) or not pa.types.is_date32(moments.type):
        return moments
    days = moments.cast(pa.int32()).fill_null(0).to_numpy() % np.int32(_CYCLE_DAYS)
    return pa.array(days, mask=moments.is_null().to_numpy(zero_copy_only=False)).cast(pa.date32())


def years_of(moments: Values) -> Values:
    """The years of dates or timestamps; in arrays those, too, that do not go into the 16 bits of Arrow's kernel."""
    if isinstance(moments, pa.ChunkedArray):
        return pa.chunked_array([years_of(chunk) for chunk in moments.chunks], pa.int64())
    if not isinstance(moments, pa.Array):
        return pc.year(moments)
    if pa.types.is_date(moments.type):
        days = moments.cast(pa.int32()).fill_null(0).to_numpy().astype(np.int64)
    else:
        assert pa.types.is_timestamp(moments.type)
        numbers = moments.cast(pa.int64()).fill_null(0).to_numpy()
        days = numbers // (_DAY_SECONDS * _UNITS[moments.type.unit])
    years = days.astype("M8[D]").astype("M8[Y]").astype(np.int64) + 1970
    return pa.array(years, mask=moments.is_null().to_numpy(zero_copy_only=False))


_PARTS: Final[Mapping[str, Callable[[Values], Values]]] = {
    "M": months_of,
    "d": days_of,
    "H": pc.hour,
    "m": pc.minute,
    "s": pc.second,
}


def _year(moments: Values, width: int) -> Values:
    """The year; with four digits one of more has a sign, and two digits are the last two."""
    year = years_of(moments)
    size = _text(pc.abs(year))
    if width == 2:
        return pc.utf8_slice_codeunits(pc.utf8_lpad(size, 2, "0"), -2)
    text = _joined(pc.if_else(pc.less(year, 0), "-", ""), pc.utf8_lpad(size, width, "0"))
    if width < 4:
        return text
    return pc.if_else(pc.greater(year, 9999), _joined(pa.scalar("+"), text), text)


def _text(numbers: Values) -> Values:
    return numbers.cast(pa.string())
