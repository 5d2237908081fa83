"""Options of commit streams, and those that writers of DataFrames have, without a JVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options import Face, OptionSet, as_texts, fill
from hudi_hive.options import read as read_options
from hudi_hive.options.write import NULL_FOR_MISSING_COLUMNS
from hudi_hive.plan import Query, QueryType
from hudi_hive.plan.core import BatchLimits, Commits
from hudi_hive.plan.model import EARLIEST, IncrementalFormat, ReadOptions
from hudi_hive.spark.scan import location_of
from hudi_hive.table import MetaClient

_STREAM_OPTIONS: Final = OptionSet("stream", Face.STREAM)
OF_DATAFRAMES: Final = {NULL_FOR_MISSING_COLUMNS.name: "false"}
"""Options that a DataFrame's writer has when it adds to a table, unless it says otherwise, as Hudi's."""

_OF_SPARK: Final = ("path", "serialization.format")


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options of a stream.

    Attributes:
        location: base path as Hadoop writes it.
        start: ``earliest``, ``latest`` or a time, exclusive, where a new stream begins.
        limits: of a batch.
        fail_on_data_loss: refuse to go on from an offset whose commit the timeline does not have any more.
        read: Hudi's read options.
    """

    location: str
    start: str
    limits: BatchLimits
    fail_on_data_loss: bool
    read: ReadOptions

    @classmethod
    def parse(cls, parameters: Mapping[str, Any]) -> StreamOptions:
        """Options under their names, in any case of letters.

        Raises:
            InvalidOptionError: an option is unknown, has a wrong value, or does not go with a stream.
        """
        texts = {_STREAM_OPTIONS.spelled(name): text.strip() for name, text in as_texts(parameters).items()}
        path = texts.get("path")
        if not path:
            raise InvalidOptionError("a stream needs the base path of a table", remedy="give it to load(path)")
        texts = {name: text for name, text in texts.items() if name not in _OF_SPARK}
        _STREAM_OPTIONS.check(texts)
        read = fill(ReadOptions, texts)
        kind = read.query_type or QueryType.INCREMENTAL
        if kind is QueryType.READ_OPTIMIZED:
            raise InvalidOptionError(
                f"option {read_options.QUERY_TYPE}={kind} does not go with a stream", remedy="leave it out"
            )
        changes = kind is QueryType.CDC or read.incremental_format is IncrementalFormat.CDC
        read = replace(
            read,
            query_type=None,
            incremental_format=IncrementalFormat.CDC if changes else IncrementalFormat.LATEST_STATE,
        )
        return cls(
            location=location_of(path),
            start=_start(read_options.START_OFFSET.of(texts)),
            limits=BatchLimits(read_options.MAX_COMMITS.of(texts), read_options.MAX_BYTES.of(texts)),
            fail_on_data_loss=read_options.FAIL_ON_DATA_LOSS.of(texts),
            read=read,
        )

    def commits(self, client: MetaClient, begin: str) -> Commits:
        """The writes of a table, read now, after a time.

        Raises:
            HollowCommitError: version 6, with the policy FAIL: a pending write is older than a completed one.
        """
        return Commits(client, begin, self.read.hollow_policy, self.limits)

    @property
    def shows_end(self) -> bool:
        """Whether a batch's columns are those of its end; those of change data never change."""
        return self.read.end_instant_schema and self.read.incremental_format is not IncrementalFormat.CDC

    def schema_time(self, client: MetaClient) -> str | None:
        """The requested time whose schema the first batch of a new stream shows; None for the newest.

        Raises:
            HollowCommitError: as for :meth:`commits`.
        """
        if not self.shows_end or self.start == "latest":
            return None
        commits = self.commits(client, EARLIEST if self.start == "earliest" else self.start)
        end = commits.end()
        return None if end is None else commits.last_requested(end)

    def query(self, begin: str, end: str) -> Query:
        """The query of a batch."""
        return Query.of("incremental", begin=begin, end=end, options=self.read)


def _start(text: str) -> str:
    lower = text.lower()
    if lower in ("earliest", "latest"):
        return lower
    return Query.of("incremental", begin=text).begin or EARLIEST
