"""Parses the bucket specification of a table: ``CLUSTERED BY … INTO n BUCKETS``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hudi_hive.errors import InvalidOptionError

_COLUMN = r"(?:`(?:[^`]|``)+`|\w+)"
_COLUMNS = rf"\(\s*({_COLUMN}(?:\s*,\s*{_COLUMN})*)\s*\)"
_SORT = rf"{_COLUMN}(?:\s+(?:ASC|DESC))?"
_SORTS = rf"\(\s*({_SORT}(?:\s*,\s*{_SORT})*)\s*\)"
_SPEC = re.compile(
    rf"\s*CLUSTERED\s+BY\s*{_COLUMNS}(?:\s*SORTED\s+BY\s*{_SORTS})?\s*INTO\s+([0-9]{{1,6}})\s+BUCKETS\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class BucketSpec:
    """How a table is bucketed: bucket columns, (column, ascending) of the order inside, number of buckets."""

    columns: tuple[str, ...]
    sorted_by: tuple[tuple[str, bool], ...]
    count: int


def parse_bucket_spec(text: str) -> BucketSpec:
    """Read ``CLUSTERED BY (a, b) [SORTED BY (c [ASC|DESC], …)] INTO n BUCKETS``; names come out in lower case.

    Raises:
        InvalidOptionError: another text, or no bucket at all.
    """
    match = _SPEC.fullmatch(text)
    if match is None or int(match[3]) < 1:
        raise InvalidOptionError(
            f"hoodie.datasource.hive_sync.bucket_sync_spec={text!r} is not understood",
            remedy="give CLUSTERED BY (columns) [SORTED BY (columns)] INTO n BUCKETS",
        )
    sorts = re.findall(rf"({_COLUMN})(?:\s+(ASC|DESC))?", match[2] or "", re.IGNORECASE)
    return BucketSpec(
        tuple(_name(column) for column in re.findall(_COLUMN, match[1])),
        tuple((_name(column), order.upper() != "DESC") for column, order in sorts),
        int(match[3]),
    )


def _name(text: str) -> str:
    plain = text[1:-1].replace("``", "`") if text.startswith("`") else text
    return plain.lower()
