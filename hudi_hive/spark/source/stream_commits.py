"""Options, offsets and batches of commit streams, without a JVM."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError, SparkError
from hudi_hive.options import Face, OptionSet, as_texts, fill
from hudi_hive.options import read as read_options
from hudi_hive.plan import Query, QueryType
from hudi_hive.plan.core import CommitRange, range_time, select_commits
from hudi_hive.plan.model import EARLIEST, HollowCommitPolicy, IncrementalFormat, ReadOptions
from hudi_hive.spark.scan import location_of
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant, Timeline

_STREAM_OPTIONS: Final = OptionSet("stream", Face.STREAM)
_OF_SPARK: Final = ("path", "serialization.format")

_VERSION = 1
_VERSION_KEY = "hudiHiveOffset"
_HUDI_KEYS = ("offsetCommitTime", "commitTime")


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options of a stream.

    Attributes:
        location: base path as Hadoop writes it.
        start: ``earliest``, ``latest`` or a time, exclusive, where a new stream begins.
        max_commits, max_bytes: most commits, and bytes that they wrote, of a batch; a batch has one commit at least.
        fail_on_data_loss: refuse to go on from an offset whose commit the timeline does not have any more.
        read: Hudi's read options.
    """

    location: str
    start: str
    max_commits: int | None
    max_bytes: int | None
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
            max_commits=read_options.MAX_COMMITS.of(texts),
            max_bytes=read_options.MAX_BYTES.of(texts),
            fail_on_data_loss=read_options.FAIL_ON_DATA_LOSS.of(texts),
            read=read,
        )

    def query(self, begin: str, end: str) -> Query:
        """The query of a batch."""
        return Query.of("incremental", begin=begin, end=end, options=self.read)


def _start(text: str) -> str:
    lower = text.lower()
    if lower in ("earliest", "latest"):
        return lower
    return Query.of("incremental", begin=text).begin or EARLIEST


# -- offsets -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """The offset of a stream: the time up to which it has read.

    Attributes:
        time: all writes up to this time, inclusive.
        is_commit: it is the time of a commit, not one that a user gave.
    """

    time: str
    is_commit: bool = True

    def to_json(self) -> str:
        """One line of text for Spark's checkpoint."""
        return json.dumps({_VERSION_KEY: _VERSION, "time": self.time, "commit": self.is_commit})

    @classmethod
    def parse(cls, text: str) -> StreamOffset:
        """An offset of this package, or of Hudi's own source.

        Raises:
            SparkError: neither.
        """
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if isinstance(value, dict):
            time = value.get("time")
            if value.get(_VERSION_KEY) == _VERSION and isinstance(time, str):
                return cls(time, bool(value.get("commit", True)))
            for key in _HUDI_KEYS:
                if isinstance(value.get(key), str):
                    return cls(value[key], is_commit=False)
        raise SparkError(
            f"the checkpoint's offset {text!r} is of an unknown format",
            remedy="start the stream with a new checkpoint, or with the release that wrote this one",
        )


# -- commits -----------------------------------------------------------------------------------------------------------


class Commits:
    """The writes of a table after a time, from one reload of the timeline.

    Args:
        client: the table, read now.
        options: of the stream.
        begin: exclusive.

    Raises:
        HollowCommitError: version 6, with the policy FAIL: a pending write is older than a completed one.
    """

    def __init__(self, client: MetaClient, options: StreamOptions, begin: str) -> None:
        self._client = client
        self._options = options
        self._policy = options.read.hollow_policy
        self._range = select_commits(client, begin, None, self._policy)

    def newest(self) -> str | None:
        """The time of the last write; None when there is none."""
        return max((time for time, _ in self._writes()), default=None)

    def _writes(self) -> list[tuple[str, Instant]]:
        by_transition = self._policy is HollowCommitPolicy.USE_TRANSITION_TIME and self._client.timeline.layout == 1
        timed = [(range_time(self._client, item, by_transition), item) for item in self._range.instants]
        timeline = self._client.timeline
        return sorted(
            ((time, item) for time, item in timed if not _is_clustering(self._range, timeline, item)),
            key=lambda pair: pair[0],
        )

    def end(self, last: str | None = None, *, limited: bool = True) -> str | None:
        """The end of the next batch: after as many writes as the limits allow, one at least.

        Table services bring no rows and do not count.

        Args:
            last: no write after this time.
            limited: heed the limits.
        """
        end: str | None = None
        size = 0
        for commits, (time, instant) in enumerate(self._writes()):
            if last is not None and time > last:
                break
            if limited and time != end and self._is_full(commits, size):
                break
            if limited and self._options.max_bytes is not None:
                stats = self._range.metadata(self._client.timeline, instant).write_stats
                size += pc.sum(stats.column("file_size")).as_py() or 0
            end = time
        return end

    def _is_full(self, commits: int, size: int) -> bool:
        most, bytes_ = self._options.max_commits, self._options.max_bytes
        return commits > 0 and ((most is not None and commits >= most) or (bytes_ is not None and size >= bytes_))


def _is_clustering(commits: CommitRange, timeline: Timeline, instant: Instant) -> bool:
    """Clustering rewrites rows of older commits; only a replacecommit can be one."""
    return instant.action == "replacecommit" and commits.metadata(timeline, instant).operation == "CLUSTER"


def is_on_timeline(client: MetaClient, offset: StreamOffset, policy: HollowCommitPolicy) -> bool:
    """Whether the commit of an offset is still on the timeline; True for times that are not of a commit."""
    by_transition = policy is HollowCommitPolicy.USE_TRANSITION_TIME and client.timeline.layout == 1
    if not offset.is_commit or by_transition:
        return True  # the time when a file was written does not outlive a copy or the archiving of it
    timeline = client.timeline
    if any(range_time(client, item) == offset.time for item in timeline.write_instants()):
        return True
    archived = (item for item in timeline.archived().instants if item.is_completed and item.is_write)
    return any(range_time(client, item) == offset.time for item in archived)
