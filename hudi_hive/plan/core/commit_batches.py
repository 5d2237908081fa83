"""Batches of commits: the offsets at which consumers of commits stand, and where their next batches end.

Streams and pullers share these, so that each goes on from the other's checkpoint.

Source: docs/format.md#incremental-queries.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow.compute as pc

from hudi_hive.errors import CheckpointError
from hudi_hive.plan.core.incremental import CommitRange, range_time, select_commits
from hudi_hive.plan.model import HollowCommitPolicy
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant, Timeline

_VERSION = 1
_VERSION_KEY = "hudiHiveOffset"
_HUDI_KEYS = ("offsetCommitTime", "commitTime")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The limits of a batch, which has one commit at least.

    Attributes:
        max_commits: most commits.
        max_bytes: most bytes that they wrote.
    """

    max_commits: int | None = None
    max_bytes: int | None = None

    def reached(self, commits: int, size: int) -> bool:
        """Whether a batch of so many commits and bytes takes no further commit."""
        return commits > 0 and (
            (self.max_commits is not None and commits >= self.max_commits)
            or (self.max_bytes is not None and size >= self.max_bytes)
        )


@dataclass(frozen=True, slots=True)
class CommitOffset:
    """The offset of a consumer of commits: the time up to which it has read.

    Attributes:
        time: all writes up to this time, inclusive.
        is_commit: it is the time of a commit, not one that a user gave.
    """

    time: str
    is_commit: bool = True

    def to_json(self) -> str:
        """One line of text for a checkpoint."""
        return json.dumps({_VERSION_KEY: _VERSION, "time": self.time, "commit": self.is_commit})

    @classmethod
    def parse(cls, text: str) -> CommitOffset:
        """An offset of this package, or of Hudi's own source.

        Raises:
            CheckpointError: neither.
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
        raise CheckpointError(
            f"the checkpoint's offset {text!r} is of an unknown format",
            remedy="start with a new checkpoint, or with the release that wrote this one",
        )


class Commits:
    """The writes of a table after a time, from one reload of the timeline.

    Args:
        client: the table, read now.
        begin: exclusive.
        policy: what pending commits that are older than completed ones do.
        limits: of a batch.

    Raises:
        HollowCommitError: version 6, with the policy FAIL: a pending write is older than a completed one.
    """

    def __init__(
        self,
        client: MetaClient,
        begin: str,
        policy: HollowCommitPolicy = HollowCommitPolicy.FAIL,
        limits: BatchLimits | None = None,
    ) -> None:
        self._client = client
        self._limits = limits or BatchLimits()
        self._policy = policy
        self._range = select_commits(client, begin, None, self._policy)

    def newest(self) -> str | None:
        """The time of the last write; None when there is none."""
        return max((time for time, _ in self._writes()), default=None)

    def last_requested(self, end: str) -> str | None:
        """The requested time of the last action up to a time, whose schema that end has; None without any."""
        return max((item.requested for time, item in self._timed() if time <= end), default=None)

    def _timed(self) -> list[tuple[str, Instant]]:
        by_transition = self._policy is HollowCommitPolicy.USE_TRANSITION_TIME and self._client.timeline.layout == 1
        return [(range_time(self._client, item, by_transition), item) for item in self._range.instants]

    def _writes(self) -> list[tuple[str, Instant]]:
        timeline = self._client.timeline
        return sorted(
            ((time, item) for time, item in self._timed() if not _is_clustering(self._range, timeline, item)),
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
            if limited and time != end and self._limits.reached(commits, size):
                break
            if limited and self._limits.max_bytes is not None:
                stats = self._range.metadata(self._client.timeline, instant).write_stats
                size += pc.sum(stats.column("file_size")).as_py() or 0
            end = time
        return end


def _is_clustering(commits: CommitRange, timeline: Timeline, instant: Instant) -> bool:
    """Clustering rewrites rows of older commits; only a replacecommit can be one."""
    return instant.action == "replacecommit" and commits.metadata(timeline, instant).operation == "CLUSTER"


def is_on_timeline(client: MetaClient, offset: CommitOffset, policy: HollowCommitPolicy) -> bool:
    """Whether the commit of an offset is still on the timeline; True for times that are not of a commit."""
    by_transition = policy is HollowCommitPolicy.USE_TRANSITION_TIME and client.timeline.layout == 1
    if not offset.is_commit or by_transition:
        return True  # the time when a file was written does not outlive a copy or the archiving of it
    timeline = client.timeline
    if any(range_time(client, item) == offset.time for item in timeline.write_instants()):
        return True
    archived = (item for item in timeline.archived().instants if item.is_completed and item.is_write)
    return any(range_time(client, item) == offset.time for item in archived)
