"""A query of a table: which rows, as of which time, or of which range of commits."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options import read as read_options
from hudi_hive.plan.model.options import IncrementalFormat, MergeType, QueryType, ReadOptions
from hudi_hive.timeline import normalise_instant

EARLIEST = "000"
"""A begin before every instant."""

T = TypeVar("T")

Moment = str | dt.date | dt.datetime
"""A moment as users give it: an instant (digits), ``yyyy-MM-dd[ HH:mm:ss[.SSS]]``, or a date or datetime."""


@dataclass(frozen=True, slots=True)
class Query:
    """A checked query. Times are instants: digits, compared as text.

    Attributes:
        query_type: snapshot, read_optimized, incremental or cdc.
        as_of: the newest requested time to see (snapshot and read_optimized), 17 digits, or None for now.
        begin: incremental: after this time (exclusive); requested times in version 6, completion times above.
        end: incremental: up to this time (inclusive), or None for now.
        limit: at most so many rows, or None.
        options: everything else.
    """

    query_type: QueryType = QueryType.SNAPSHOT
    as_of: str | None = None
    begin: str | None = None
    end: str | None = None
    limit: int | None = None
    options: ReadOptions = field(default_factory=ReadOptions)

    @classmethod
    def of(
        cls,
        query_type: str | None = None,
        *,
        as_of: Moment | None = None,
        begin: Moment | None = None,
        end: Moment | None = None,
        limit: int | None = None,
        options: Mapping[str, Any] | ReadOptions | None = None,
        timezone: str = "LOCAL",
    ) -> Query:
        """Make a query of keyword arguments and Hudi's options, which must not contradict one another.

        ``begin`` may also be ``"earliest"``. ``timezone`` is the table's ``hoodie.table.timeline.timezone``: times that
        carry a zone of their own are converted to it.

        Raises:
            InvalidOptionError: an option is unknown, a value is invalid, or two of them do not go together.
        """
        read = options if isinstance(options, ReadOptions) else ReadOptions.parse(options or {})
        kind = _one("query_type", _kind(query_type), read.query_type) or (
            QueryType.INCREMENTAL if (begin or read.begin) and not (as_of or read.as_of) else QueryType.SNAPSHOT
        )
        if kind is QueryType.INCREMENTAL and read.incremental_format is IncrementalFormat.CDC:
            kind = QueryType.CDC
        if read.incremental_format is IncrementalFormat.CDC and kind is not QueryType.CDC:
            raise InvalidOptionError(
                f"{read_options.INCREMENTAL_FORMAT}=cdc does not go with a {kind} query",
                remedy="query_type='incremental' takes it",
            )
        query = cls(
            query_type=kind,
            as_of=_one("as_of", _as_of(as_of, timezone), _as_of(read.as_of, timezone)),
            begin=_one("begin", _bound("begin", begin, timezone), _bound("begin", read.begin, timezone)),
            end=_one("end", _bound("end", end, timezone), _bound("end", read.end, timezone)),
            limit=limit,
            options=replace(read, query_type=None, as_of=None, begin=None, end=None),
        )
        query._check()
        return query

    def _check(self) -> None:
        if self.limit is not None and (not isinstance(self.limit, int) or self.limit < 0):
            raise InvalidOptionError(f"limit {self.limit!r} is not a number of rows")
        if self.query_type.has_range:
            if self.begin is None:
                raise InvalidOptionError(
                    "an incremental query needs a begin", remedy="begin='earliest' takes everything"
                )
            if self.as_of is not None:
                raise InvalidOptionError("as_of does not go with an incremental query", remedy="end bounds the range")
            if self.query_type is QueryType.CDC and self.options.path_glob is not None:
                raise InvalidOptionError(f"{read_options.PATH_GLOB} does not go with a cdc query")
            if self.query_type is QueryType.CDC and self.options.merge_type is MergeType.SKIP_MERGE:
                raise InvalidOptionError(
                    f"{read_options.MERGE_TYPE}=skip_merge does not go with a cdc query",
                    remedy="leave it out: changes are told from merged rows",
                )
            if self.end is not None and self.end < self.begin:
                raise InvalidOptionError(f"end {self.end} lies before begin {self.begin}")
        elif self.begin is not None or self.end is not None:
            raise InvalidOptionError(
                f"begin and end do not go with a {self.query_type} query", remedy="query_type='incremental' takes them"
            )
        elif self.options.path_glob is not None:
            raise InvalidOptionError(f"{read_options.PATH_GLOB} goes with an incremental query only")


def _kind(text: str | None) -> QueryType | None:
    return None if text is None else read_options.QUERY_TYPE.parse(text)


def _as_of(moment: Moment | None, timezone: str) -> str | None:
    return None if moment is None else _normalise("as_of", moment, timezone)


def _bound(name: str, moment: Moment | None, timezone: str) -> str | None:
    """A bound of an incremental range. Digits stay as they are: a shorter text sorts before all instants it begins."""
    if moment is None:
        return None
    text = moment.strip() if isinstance(moment, str) else ""
    if text.lower() == "earliest":
        return EARLIEST
    return text if text.isascii() and text.isdigit() else _normalise(name, moment, timezone)


def _normalise(name: str, moment: Moment, timezone: str) -> str:
    try:
        return normalise_instant(moment, timezone)
    except (ValueError, AttributeError, InvalidOptionError) as error:
        raise InvalidOptionError(
            f"{name} {moment!r} is not a time",
            remedy="give an instant (yyyyMMddHHmmssSSS), 'yyyy-MM-dd' or 'yyyy-MM-dd HH:mm:ss'",
        ) from error


def _one(name: str, argument: T | None, option: T | None) -> T | None:
    if argument is not None and option is not None and argument != option:
        raise InvalidOptionError(f"{name} is {argument} as argument and {option} as option")
    return argument if argument is not None else option
