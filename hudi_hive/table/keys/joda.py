"""Formats and parses dates and times by patterns of Joda-Time, as key generators do.

Letters ``y Y u M d D H h k K m s S a E e w x Z`` and quoted text; others are refused.
Names of months and days are English.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from hudi_hive.errors import InvalidOptionError

_MONTHS: Final = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS: Final = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_LETTERS: Final = "yYuMdDHhkKmsSaEewxZ"
_UNITS: Final = {"s": 1000, "m": 60_000, "H": 3_600_000, "h": 3_600_000, "k": 3_600_000, "K": 3_600_000}
_HALF_DAY: Final = 12 * 3_600_000
_DAY: Final = 86_400_000
_WIDEST: Final = {"y": 9, "Y": 9, "u": 9, "x": 9, "D": 3}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern: pairs of a letter and its number of repetitions, or of ``""`` and a literal text."""

    text: str
    pieces: tuple[tuple[str, int | str], ...]

    @property
    def shows_zone(self) -> bool:
        """Whether the pattern shows the offset of the time zone."""
        return any(letter == "Z" for letter, _ in self.pieces)


@lru_cache(maxsize=256)
def parse_pattern(text: str) -> Pattern:
    """Parse a Joda-Time pattern.

    Raises:
        InvalidOptionError: a letter that we do not know, or a quote that does not end.
    """
    pieces: list[tuple[str, int | str]] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char == "'":
            piece, position = _quoted(text, position)
            pieces.append(("", piece))
        elif char.isascii() and char.isalpha():
            end = position
            while end < len(text) and text[end] == char:
                end += 1
            if char not in _LETTERS or (char == "Z" and end - position > 2):
                raise InvalidOptionError(f"date pattern {text!r}: {text[position:end]!r} is not supported")
            pieces.append((char, end - position))
            position = end
        else:
            pieces.append(("", char))
            position += 1
    return Pattern(text, tuple(pieces))


def _quoted(text: str, start: int) -> tuple[str, int]:
    """The text between quotes, two of which stand for one; and the position behind it."""
    if text.startswith("''", start):
        return "'", start + 2
    piece, position = "", start + 1
    while position < len(text):
        if text.startswith("''", position):
            piece, position = piece + "'", position + 2
        elif text[position] == "'":
            return piece, position + 1
        else:
            piece, position = piece + text[position], position + 1
    raise InvalidOptionError(f"date pattern {text!r}: a quote does not end")


def smallest_unit(pattern: Pattern) -> int:
    """The finest unit that a pattern shows in milliseconds, at most a day."""
    unit = _DAY
    for letter, count in pattern.pieces:
        if letter == "S":
            unit = min(unit, 10 ** max(3 - int(count), 0))
        elif letter == "a":
            unit = min(unit, _HALF_DAY)
        else:
            unit = min(unit, _UNITS.get(letter, _DAY))
    return unit


def format_time(pattern: Pattern, moment: dt.datetime) -> str:
    """Format a datetime in its own zone."""
    return "".join(
        str(count) if not letter else _format(letter, int(count), moment) for letter, count in pattern.pieces
    )


def _format(letter: str, count: int, moment: dt.datetime) -> str:
    if letter in "yYu" or letter == "x":
        year = moment.isocalendar().year if letter == "x" else moment.year
        return f"{year % 100:02d}" if count == 2 else f"{year:0{count}d}"
    if letter == "M" and count >= 3:
        return _MONTHS[moment.month - 1][: None if count > 3 else 3]
    if letter == "E":
        return _DAYS[moment.weekday()][: None if count > 3 else 3]
    if letter == "a":
        return "AM" if moment.hour < 12 else "PM"
    if letter == "S":
        return f"{moment.microsecond // 1000:03d}"[:count].ljust(count, "0")
    if letter == "Z":
        seconds = int((moment.utcoffset() or dt.timedelta()).total_seconds())
        sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
        return f"{sign}{minutes // 60:02d}{':' if count == 2 else ''}{minutes % 60:02d}"
    return f"{_number(letter, moment):0{count}d}"


def _number(letter: str, moment: dt.datetime) -> int:
    numbers = {
        "M": moment.month,
        "d": moment.day,
        "D": moment.timetuple().tm_yday,
        "H": moment.hour,
        "k": moment.hour or 24,
        "h": moment.hour % 12 or 12,
        "K": moment.hour % 12,
        "m": moment.minute,
        "s": moment.second,
        "e": moment.isoweekday(),
        "w": moment.isocalendar().week,
    }
    return numbers[letter]


def parse_time(pattern: Pattern, text: str, zone: dt.tzinfo | None) -> dt.datetime | None:
    """Parse a text, in the zone that it has or else the given one; None if it does not fit the pattern.

    Args:
        pattern: all of the text must fit it.
        text: the text.
        zone: of texts that name none; None for this machine's.
    """
    match = _regex(pattern).fullmatch(text)
    if match is None:
        return None
    values = {letter: value for letter, value in match.groupdict().items() if value is not None}
    try:
        return _moment(values, zone)
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=256)
def _regex(pattern: Pattern) -> re.Pattern[str]:
    parts, seen = [], set[str]()
    for (letter, count), (following, _) in pairwise([*pattern.pieces, ("", "")]):
        if not letter:
            parts.append(re.escape(str(count)))
            continue
        if letter in seen or letter in "wxeu":
            raise InvalidOptionError(f"date pattern {pattern.text!r} cannot be read back: {letter!r}")
        seen.add(letter)
        parts.append(f"(?P<{letter}>{_piece(letter, int(count), following)})")
    return re.compile("".join(parts), re.IGNORECASE | re.ASCII)


def _piece(letter: str, count: int, following: str) -> str:
    if letter == "M" and count >= 3:
        return "|".join([*_MONTHS, *(name[:3] for name in _MONTHS)])
    if letter == "E":
        return "|".join([*_DAYS, *(name[:3] for name in _DAYS)])
    if letter == "a":
        return "AM|PM"
    if letter == "Z":
        return r"Z|[+-]\d{2}:?\d{2}"
    if letter == "S":
        return rf"\d{{1,{count}}}"
    if following and letter in _WIDEST and following not in "aEZ":
        return rf"\d{{1,{count}}}"  # a number follows right behind: as many digits as there are letters
    return rf"\d{{1,{max(count, _WIDEST.get(letter, 2))}}}"


def _moment(values: dict[str, str], zone: dt.tzinfo | None) -> dt.datetime:
    year = _year(values)
    month = _month(values["M"]) if "M" in values else 1
    day = int(values.get("d", "1"))
    fraction = values.get("S", "0")[:3].ljust(3, "0")
    moment = dt.datetime(
        year, month, day, _hour(values), int(values.get("m", "0")), int(values.get("s", "0")), int(fraction) * 1000
    )
    if "D" in values:
        moment = moment.replace(month=1, day=1) + dt.timedelta(days=int(values["D"]) - 1)
    if "Z" in values:
        return moment.replace(tzinfo=_offset(values["Z"]))
    return moment.astimezone() if zone is None else moment.replace(tzinfo=zone)


def _year(values: dict[str, str]) -> int:
    text = values.get("y", values.get("Y"))
    if text is None:
        return 2000 if "M" in values or "d" in values else 1970
    if len(text) != 2:
        return int(text)
    pivot = dt.date.today().year - 30  # Joda-Time: of the hundred years around this one
    low = pivot - 50
    return low + (int(text) - low) % 100


def _month(text: str) -> int:
    return int(text) if text.isdigit() else [name[:3].lower() for name in _MONTHS].index(text[:3].lower()) + 1


def _hour(values: dict[str, str]) -> int:
    if "H" in values:
        return int(values["H"])
    if "k" in values:
        return int(values["k"]) % 24
    half = 12 if values.get("a", "").upper() == "PM" else 0
    return int(values.get("h", values.get("K", "0"))) % 12 + half


def _offset(text: str) -> dt.timezone:
    if text in "Zz":
        return dt.UTC
    digits = text[1:].replace(":", "")
    shift = dt.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return dt.timezone(-shift if text[0] == "-" else shift)
