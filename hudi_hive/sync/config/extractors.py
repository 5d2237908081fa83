"""Partition value extractors, which parse partition paths to values of partition columns.

The six classes carry the names and the rules of hive-sync (docs/format/hive.md#partition-value-extractors); paths are
relative to the table's base path. Values are decoded nowhere here: ``%2F`` stays what it is.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Sequence

from hudi_hive.errors import InvalidOptionError, PartitionValueError

Extractor = Callable[[str], list[str]]
"""Partition path relative to the base path -> values in the order of the partition fields."""

PACKAGE = "org.apache.hudi.hive."
HIVE_STYLE = "HiveStylePartitionValueExtractor"
MULTI_PART = "MultiPartKeysValueExtractor"
NON_PARTITIONED = "NonPartitionedExtractor"
SINGLE_PART = "SinglePartPartitionValueExtractor"
SLASH_DAY = "SlashEncodedDayPartitionValueExtractor"
SLASH_HOUR = "SlashEncodedHourPartitionValueExtractor"

_INTEGER = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


def java_split(text: str, separator: str) -> list[str]:
    """Split as Java's ``String.split``: empty strings at the end are dropped, an empty text is one part."""
    parts = text.split(separator)
    if len(parts) > 1:
        while parts and not parts[-1]:
            parts.pop()
    return parts


def hive_style(path: str) -> list[str]:
    """Extract the single value of ``name=value``; the value may contain slashes."""
    parts = java_split(path, "=")
    if len(parts) != 2:
        raise PartitionValueError("partition path is not of the form name=value", path=path)
    return [parts[1]]


def multi_part(path: str) -> list[str]:
    """Extract one value for each folder, without ``name=``."""
    if not path:
        return []
    values = []
    for part in java_split(path, "/"):
        if "=" not in part:
            values.append(part)
            continue
        pair = java_split(part, "=")
        if len(pair) != 2:
            raise PartitionValueError(f"folder {part!r} is not of the form name=value", path=path)
        values.append(pair[1])
    return values


def non_partitioned(path: str) -> list[str]:
    """Extract no values."""
    return []


def single_part(path: str) -> list[str]:
    """Extract the whole path as one value, with dashes for slashes and with ``name=``."""
    return [path.replace("/", "-")]


def slash_encoded_day(path: str) -> list[str]:
    """Extract three folders (year, month, day) as one value ``yyyy-MM-dd``."""
    parts = java_split(path, "/")
    if len(parts) != 3:
        raise PartitionValueError("partition path is not of the form yyyy/mm/dd", path=path)
    return [_date(path, parts)]


def slash_encoded_hour(path: str) -> list[str]:
    """Extract four folders (year to hour) as one value ``yyyy-MM-dd-HH``."""
    parts = java_split(path, "/")
    if len(parts) != 4:
        raise PartitionValueError("partition path is not of the form yyyy/mm/dd/HH", path=path)
    hour = _number(path, parts[3])
    if not 0 <= hour <= 23:
        raise PartitionValueError(f"hour {hour} does not exist", path=path)
    return [f"{_date(path, parts[:3])}-{hour:02d}"]


def _number(path: str, part: str) -> int:
    text = [*java_split(part, "="), ""][1] if "=" in part else part
    if not _INTEGER.fullmatch(text):
        raise PartitionValueError(f"{part!r} is not a number", path=path)
    return int(text)


def _date(path: str, parts: Sequence[str]) -> str:
    year, month, day = (_number(path, part) for part in parts)
    longest = 28 + calendar.isleap(year) if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    if not 1 <= month <= 12 or not 1 <= day <= longest:
        raise PartitionValueError(f"{year}-{month}-{day} is not a date", path=path)
    # ISO 8601 as Java writes it: years beyond four digits carry their sign.
    text = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{text}-{month:02d}-{day:02d}"


EXTRACTORS: dict[str, Extractor] = {
    HIVE_STYLE: hive_style,
    MULTI_PART: multi_part,
    NON_PARTITIONED: non_partitioned,
    SINGLE_PART: single_part,
    SLASH_DAY: slash_encoded_day,
    SLASH_HOUR: slash_encoded_hour,
}


def find_extractor(class_name: str) -> Extractor:
    """Find the extractor of a Java class name, with or without its package.

    Raises:
        InvalidOptionError: no such class here; custom Java classes cannot be run.
    """
    extractor = EXTRACTORS.get(class_name.removeprefix(PACKAGE))
    if extractor is None:
        raise InvalidOptionError(
            f"hoodie.datasource.hive_sync.partition_extractor_class {class_name!r} is not known",
            remedy=f"use one of {', '.join(EXTRACTORS)}",
        )
    return extractor


def infer_extractor(fields: Sequence[str], *, hive_style_partitioning: bool) -> str:
    """Class name that hive-sync infers from the partition fields and the hive-style flag.

    Source: docs/format/hive.md#partition-value-extractors.
    """
    if not fields:
        return NON_PARTITIONED
    if len(fields) > 1:
        return MULTI_PART
    return HIVE_STYLE if hive_style_partitioning else SINGLE_PART
