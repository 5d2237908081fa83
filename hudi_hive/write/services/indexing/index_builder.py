"""``IndexBuilder``: runs builds of indexes, each an ``indexing`` of the table, with short turns of its lock.

One turn plans the build and gives its partitions file groups, one completes it; between them writers commit, and add to
the partitions what they change. Readers use a partition from the last turn on. A build that fails takes its partitions
back; what a dead one left is dropped by the next build, and until then writers keep it in step, and nobody reads it.

Source: RFC-45, docs/format.md#metadata-timeline.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from hudi_hive.errors import (
    FileVanishedError,
    HudiHiveError,
    InstantNotFoundError,
    MetadataTableError,
    PathNotFoundError,
    WriteConflictError,
)
from hudi_hive.metadata import IndexDefinition
from hudi_hive.metadata.reader import FILES
from hudi_hive.metadata.writer import (
    BuildOvertakenError,
    IndexBuild,
    MetadataWriter,
    PlannedBuild,
    complete_build,
    delete_strays,
    drop_build,
    listed_partitions,
    planned_builds,
)
from hudi_hive.options import write
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant
from hudi_hive.timeline.core import heartbeat_mtimes
from hudi_hive.timeline.instants import INDEXING, WRITE_ACTIONS
from hudi_hive.timeline.payloads import IndexPlan, encode_index_plan
from hudi_hive.write.coordination import HEARTBEAT, WriterHeartbeat, quietly, remove_heartbeat
from hudi_hive.write.service_base import ServiceContext, is_beating

_ATTEMPTS: Final = 5
"""Builds of the same partitions, when others drop or rewrite what was built, or clean the files that it reads."""
_PAUSE: Final = 0.2
_VANISHED: Final = (PathNotFoundError, FileVanishedError, InstantNotFoundError)

_log = logging.getLogger(__name__)

OpenWriter = Callable[[MetaClient], MetadataWriter]
"""Opens the writer of the metadata table of a table that was read under its lock."""


class BuildTarget(NamedTuple):
    """What one build makes.

    Attributes:
        names: partitions of the metadata table; none where nothing is to be built.
        definition: of the secondary or expression index, for one.
    """

    names: tuple[str, ...]
    definition: IndexDefinition | None = None


@dataclass
class _Run:
    """A build that is on the timeline.

    Attributes:
        instant: the indexing.
        heartbeat: shows that this process is at it.
        build: makes the partitions.
        running: requested times of the writes that ran when it began, and cannot know of it.
        is_left: it has failed, and its plan could not be taken back.
    """

    instant: Instant
    heartbeat: WriterHeartbeat
    build: IndexBuild
    running: tuple[str, ...]
    is_left: bool = False

    def end(self) -> None:
        """End the heartbeat; its file stays with a plan that stays, which so is that of a dead build some time on."""
        if self.is_left:
            self.heartbeat.abandon()
        else:
            self.heartbeat.stop()


class IndexBuilder:
    """Builds indexes of one table.

    Args:
        context: the table, its lock, and where tasks run; the lock must not be held.
        open_writer: opens the writer of the metadata table.
    """

    def __init__(self, context: ServiceContext, open_writer: OpenWriter) -> None:
        self._context = context
        self._open = open_writer

    def build(self, choose: Callable[[MetadataWriter], BuildTarget]) -> tuple[str, ...]:
        """Build what is chosen of the table as it is.

        Args:
            choose: gives what is to be built, of a metadata table that was read under the lock; called without the
                lock, too.

        Returns:
            The partitions that were built; without partition statistics where a file's ranges are not known.

        Raises:
            MetadataTableError: the metadata table cannot be written, or somebody has dropped the index meanwhile.
            WriteConflictError: a write that was running at the begin has not ended in time; or the table changes
                faster than its files are read.
            HeartbeatLostError, LockError: others may think that this process is dead.
        """
        for _ in range(_ATTEMPTS):
            run = self._begin(choose)
            if run is None:
                return ()
            try:
                return self._carried_through(run)
            except BuildOvertakenError as overtaken:
                _log.warning("the build of %s begins anew: %s", ", ".join(run.build.names), overtaken)
            finally:
                quietly(HEARTBEAT, run.instant.requested, run.end)
        raise WriteConflictError(
            f"no index was built: what was built was dropped or rewritten {_ATTEMPTS} times",
            path=self._context.client.base_path,
            remedy="build it when fewer rollbacks and services run",
        )

    # -- begin ---------------------------------------------------------------------------------------------------

    def _begin(self, choose: Callable[[MetadataWriter], BuildTarget]) -> _Run | None:
        before = self._open(self._context.client.reload())
        counts = IndexBuild.counts_for(choose(before).names, before)
        with self._context.lock() as held:
            now = self._context.reload()
            client = drop_dead_builds(now)
            running = [i.requested for i in client.timeline.pending(WRITE_ACTIONS) if is_beating(now, i.requested)]
            writer = self._open(client)
            if writer.repaired() is None:
                writer.initialise((FILES,), current=True)
            wanted = choose(writer)
            if not wanted.names:
                return None
            build = IndexBuild(wanted.names, wanted.definition, counts)
            if held is not None:
                held.verify()
            return self._announced(writer, build, tuple(running))

    def _announced(self, writer: MetadataWriter, build: IndexBuild, running: tuple[str, ...]) -> _Run:
        """Write the plan and begin, under the lock; the heartbeat first, which shows that it is no dead one's."""
        client, context = writer.client, self._context
        requested = context.clock.new_instant(client.timeline, client.config.timezone)
        heartbeat = WriterHeartbeat.of(context.options, client.storage, requested)
        heartbeat.start()
        try:
            plan = IndexPlan(build.names, _last_write(client))
            instant = context.writer.create_requested(
                INDEXING, requested, encode_index_plan(plan, client.config.layout)
            )
            build.begin(writer)
            inflight = context.writer.transition_inflight(INDEXING, requested, just_seen=True)
        except BaseException:
            is_gone = self._take_back(requested, build.names, held=True)
            quietly(HEARTBEAT, requested, heartbeat.stop if is_gone else heartbeat.abandon)
            raise
        _log.info("%s builds %s", instant.requested, ", ".join(build.names))
        return _Run(inflight, heartbeat, build, running)

    # -- build ---------------------------------------------------------------------------------------------------

    def _carried_through(self, run: _Run) -> tuple[str, ...]:
        try:
            if run.running:
                self._wait_for(run)
                self._renew(run)
            self._make(run)
            return self._finish(run)
        except BaseException:
            run.is_left = not self._take_back(run.instant.requested, run.build.names)
            raise

    def _wait_for(self, run: _Run) -> None:
        """Wait until the writes have ended that began before the build: they do not collect what it needs of them.

        Raises:
            WriteConflictError: one of them runs for longer than the options allow.
        """
        patience = write.INDEX_CHECK_TIMEOUT.of(self._context.options)
        begun = time.monotonic()
        while True:
            now = self._context.reload()
            pending = {i.requested for i in now.client.timeline.pending(WRITE_ACTIONS)}
            left = [one for one in run.running if one in pending and is_beating(now, one)]
            if not left:
                return
            if time.monotonic() - begun >= patience:
                raise WriteConflictError(
                    f"no index was built: the write {left[0]}, which began before, has not ended in {patience} s",
                    path=now.client.base_path,
                    instant=run.instant.requested,
                    remedy=f"build it when that has ended, or raise {write.INDEX_CHECK_TIMEOUT}",
                )
            time.sleep(_PAUSE)

    def _renew(self, run: _Run) -> None:
        with self._context.lock() as held:
            client = self._context.client.reload()
            self._refuse_dropped(client, run)
            writer = self._open(client)
            if held is not None:
                held.verify()
            run.build.renew(writer)

    def _make(self, run: _Run) -> None:
        for attempt in range(_ATTEMPTS):
            try:
                run.build.make()
                return
            except _VANISHED as error:
                self._refuse_overtaken(run, error)
                if attempt + 1 == _ATTEMPTS:
                    raise
                _log.info("%s reads the table anew: %s", run.instant.requested, error)
            except HudiHiveError as error:
                self._refuse_overtaken(run, error)
                raise
            self._renew(run)

    def _refuse_overtaken(self, run: _Run, error: HudiHiveError) -> None:
        """Refuse to go on where an error came of others, who have dropped the partitions.

        Raises:
            MetadataTableError: they have dropped the build, too.
            BuildOvertakenError: it is to begin anew.
        """
        client = self._context.client.reload()
        self._refuse_dropped(client, run)
        if set(run.build.built) - listed_partitions(client):
            raise BuildOvertakenError(str(error)) from error

    def _finish(self, run: _Run) -> tuple[str, ...]:
        with self._context.lock() as held:
            client = self._context.client.reload()
            self._refuse_dropped(client, run)
            run.heartbeat.verify()
            writer = self._open(client)
            if held is not None:
                held.verify()
            client = run.build.finish(writer)
            complete_build(client, run.instant, run.build.built, self._context.clock)
        return run.build.built

    def _refuse_dropped(self, client: MetaClient, run: _Run) -> None:
        if run.instant.requested not in {i.requested for i in client.timeline.pending({INDEXING})}:
            raise MetadataTableError(
                f"the index was dropped while it was built: {', '.join(run.build.names)}",
                path=client.base_path,
                remedy="build it again if it is wanted",
            )

    def _take_back(self, requested: str, names: Sequence[str], *, held: bool = False) -> bool:
        """Drop what a failed build has made, if that can be: the next one drops it otherwise, as that of a dead one."""

        def drop() -> None:
            client = self._context.client.reload()
            for build in planned_builds(client):
                if build.instant.requested == requested:
                    client = drop_build(client, build, self._context.clock)
            delete_strays(client, names)

        try:
            if held:
                drop()
            else:
                with self._context.lock():
                    drop()
        except Exception as error:
            _log.warning("the build %s was not taken back, the next one will: %s", requested, error)
            return False
        return True


def dead_builds(now: ServiceContext) -> list[PlannedBuild]:
    """What dead builds of this package have left.

    A plan without any heartbeat is of Hudi's indexer, which has none: nobody can tell whether that lives.
    """
    builds = planned_builds(now.client)
    beats = heartbeat_mtimes(now.client.storage) if builds else {}
    return [one for one in builds if one.instant.requested in beats and not is_beating(now, one.instant.requested)]


def drop_dead_builds(now: ServiceContext) -> MetaClient:
    """Drop what dead builds left, under the table's lock; gives the table behind it."""
    dead = dead_builds(now)
    for build in dead:
        _log.warning("dropping the build of %s that died", ", ".join(build.plan.partitions))
        drop_build(now.client.reload(), build, now.clock)
        remove_heartbeat(now.client.storage, build.instant.requested)
    return now.client.reload() if dead else now.client


def refuse_being_built(client: MetaClient, names: Sequence[str]) -> None:
    """Refuse to make partitions at once that somebody builds.

    Raises:
        MetadataTableError: one of them is being built.
    """
    for build in planned_builds(client):
        if taken := sorted(set(build.plan.partitions).intersection(names) - set(client.config.metadata_partitions)):
            raise MetadataTableError(
                f"{taken[0]} is being built by the indexing {build.instant.requested}",
                path=client.base_path,
                instant=build.instant.requested,
                remedy=f"let it finish; if it died, `hudi-hive metadata delete --partition {taken[0]}`",
            )


def _last_write(client: MetaClient) -> str:
    """The last completed write ahead of all pending ones, or the last one there is."""
    writes = sorted(instant.requested for instant in client.timeline.write_instants())
    first = min((instant.requested for instant in client.timeline.pending(WRITE_ACTIONS)), default=None)
    return max((one for one in writes if first is None or one < first), default=writes[-1] if writes else "")
