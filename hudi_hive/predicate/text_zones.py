"""Zones at the ends of timestamps that are texts, by the names and forms that Java's ``ZoneId`` takes.

Source: Spark's "Cast" and ``DateTimeUtils.getZoneId``; Java's ``ZoneId.of``, ``ZoneId.SHORT_IDS``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import numpy.typing as npt

_BLANK: Final = "".join(map(chr, range(0x21)))
_HOUR_OF_ONE_DIGIT: Final = re.compile(r"([+-])([0-9]):")
_MINUTE_OF_ONE_DIGIT: Final = re.compile(r"([+-])([0-9][0-9]):([0-9])$")
_OFFSET: Final = re.compile(r"([+-])([0-9]{1,2})(?:([0-9]{2})([0-9]{2})?|:([0-9]{2})(?::([0-9]{2}))?)?")
_PREFIXED: Final = re.compile(r"(?:UTC|GMT|UT)(?P<offset>[+-].*)?", re.DOTALL)
_MOST_SECONDS: Final = 18 * 3600
_NOT_JAVA_S: Final = frozenset({"Factory", "localtime", "ROC"})
_SHORT_IDS: Final = {
    "EST": "-05:00",
    "HST": "-10:00",
    "MST": "-07:00",
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
_CYCLE_YEARS: Final = 400
_CYCLE_SECONDS: Final = 146_097 * 86_400
_FIRST_SECOND: Final = -62_135_596_800 + 2 * 86_400  # of year 1, with room for offsets
_LAST_CYCLE: Final = 253_402_300_800 - _CYCLE_SECONDS  # of year 9600
_EPOCH: Final = datetime(1970, 1, 1)

Ints = npt.NDArray[np.int64]


@cache
def zone_of(text: str) -> int | str | None:
    """The zone that a text names.

    Args:
        text: what stands behind a time.

    Returns:
        Seconds east of UTC, or the name of a region; None if Java knows no such zone.
    """
    name = text.rstrip(_BLANK + "\x7f").lstrip(_BLANK)
    name = _HOUR_OF_ONE_DIGIT.sub(r"\g<1>0\2:", name, count=1)
    name = _MINUTE_OF_ONE_DIGIT.sub(r"\1\2:0\3", name, count=1)
    name = _SHORT_IDS.get(name, name)
    if name == "Z":
        return 0
    if name.startswith(("+", "-")):
        return _offset(name)
    prefixed = _PREFIXED.fullmatch(name)
    if prefixed is not None:
        return 0 if prefixed["offset"] is None else _offset(prefixed["offset"])
    return name if len(name) > 1 and name in _regions() else None


@cache
def _regions() -> frozenset[str]:
    return frozenset(available_timezones()) - _NOT_JAVA_S


def _offset(text: str) -> int | None:
    match = _OFFSET.fullmatch(text)
    if match is None or (len(match[2]) == 1 and len(text) > 2):
        return None
    hours, minutes, seconds = (int(part or 0) for part in (match[2], match[3] or match[5], match[4] or match[6]))
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > _MOST_SECONDS:
        return None
    return -total if match[1] == "-" else total


def region_offsets(region: str, seconds: Ints) -> Ints:
    """Seconds east of UTC that a region had at local times.

    A time that a change of clocks leaves out is taken by the offset before it, and so is one that comes twice.

    Args:
        region: its name.
        seconds: local times in seconds since 1970-01-01T00:00:00.
    """
    zone = ZoneInfo(region)
    # The rules of the last years come again with the calendar, every 400 years.
    beyond = np.maximum(-((_LAST_CYCLE - seconds) // _CYCLE_SECONDS), 0)
    shifted = np.maximum(seconds - beyond * _CYCLE_SECONDS, _FIRST_SECOND)
    minutes, at = np.unique(shifted // 60, return_inverse=True)
    offsets = [_seconds_of(zone, int(minute)) for minute in minutes.tolist()]
    return np.array(offsets, np.int64)[at]


def _seconds_of(zone: ZoneInfo, minute: int) -> int:
    offset = (_EPOCH + timedelta(minutes=minute)).replace(tzinfo=zone).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def today(zone: int | str) -> int:
    """The day that it is in a zone of :func:`zone_of`, in days since 1970-01-01."""
    now = datetime.now(UTC)
    local = now + timedelta(seconds=zone) if isinstance(zone, int) else now.astimezone(ZoneInfo(zone))
    return local.date().toordinal() - _EPOCH.toordinal()
