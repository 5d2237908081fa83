"""A write whose files are there and whose commit is not: the table before it, and as the commit would leave it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.instants import comparable_action, instant_file_name


@dataclass(frozen=True)
class StagedCommit:
    """A write that is about to be committed.

    Attributes:
        instant: requested time of the write.
        before: the table without it; None where it has no commit yet.
        after: the table as the commit would leave it.
        partitions: paths of the partitions that it wrote to.
    """

    instant: str
    before: MetaClient | None
    after: MetaClient
    partitions: tuple[str, ...]

    @classmethod
    def of(
        cls, now: MetaClient, begun: Instant, payload: bytes, completion: str, partitions: tuple[str, ...]
    ) -> StagedCommit:
        """Make it of a table that was just read.

        Args:
            now: the table; what others have committed is in it.
            begun: the write.
            payload: bytes of the file that is to complete it.
            completion: a completion time after all others.
            partitions: that it wrote to.
        """
        now = now.with_listing(None)  # the metadata table does not have the files yet
        completed = completion if now.config.layout == 2 else None
        action = comparable_action(begun.action)
        name = instant_file_name(begun.requested, action, State.COMPLETED, completed=completed)
        path = f"{begun.path.rpartition('/')[0]}/{name}"
        done = replace(begun, action=action, state=State.COMPLETED, completed=completed, file_name=name, path=path)
        after = now.at(now.timeline.with_completed(done, payload, staged=True))
        return cls(begun.requested, now if now.timeline.write_instants() else None, after, partitions)


Validate = Callable[[StagedCommit], None]
"""Refuses what a commit would leave, by raising."""
