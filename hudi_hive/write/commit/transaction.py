"""A write as a transaction: requested, executed, committed in one step, or rolled back.

Dead writers of before are rolled back first; a writer with a heartbeat is not dead. Under the table's lock the timeline
is read again, the instants that completed meanwhile are checked for conflicts, the metadata table is brought in step,
and the completed file is created: that file is the commit. All of this holds for a single writer too, since nothing
keeps a second process from being one.

Source: docs/format.md#states-and-payloads, docs/format.md#a-write.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from types import TracebackType
from typing import Any, Final, Self

import pyarrow as pa

from hudi_hive.errors import (
    CommitOutcomeUnknownError,
    FileVanishedError,
    HudiHiveError,
    InstantNotFoundError,
    InvalidOptionError,
    PathNotFoundError,
    TimelineError,
    WriteConflictError,
    WriteError,
)
from hudi_hive.metadata.reader import MetadataChanges
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.options import locks
from hudi_hive.schema import InternalSchema
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant, Timeline
from hudi_hive.timeline.core import InstantClock, TimelineWriter
from hudi_hive.timeline.instants import REPLACE_COMMIT
from hudi_hive.timeline.payloads import NewCommitMetadata, encode_commit, encode_requested_replace
from hudi_hive.write.column_indexes import SliceColumns, left_by
from hudi_hive.write.commit.metadata_changes import metadata_changes
from hudi_hive.write.commit.staged import StagedCommit, Validate
from hudi_hive.write.coordination import (
    COMMIT,
    EVERYTHING,
    HEARTBEAT,
    MARKERS,
    METRICS,
    VALIDATION,
    AfterCommit,
    ConcurrentOperation,
    LocalExecutor,
    TableLock,
    TaskExecutor,
    WriterHeartbeat,
    check_conflicts,
    check_metadata_table,
    check_store,
    exclude_former_holders,
    quietly,
    refuse_new_index,
    report_metrics,
    start_metrics,
    table_lock,
    touched_groups,
)
from hudi_hive.write.files import (
    made_markers,
    remove_markers,
    remove_unclaimed,
    write_stats,
    written_paths,
)
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.rollback import remove_late_files, rollback, rollback_failed_writes
from hudi_hive.write.schema import SCHEMA_KEY, next_versions, persist, with_version
from hudi_hive.write.service_base import ServiceContext

_log = logging.getLogger(__name__)
_DRAWS: Final = 20
_VALIDATIONS: Final = 5


class WriteTransaction:
    """A running write; a context manager that rolls it back if the block ends with an error or without a commit.

    Args:
        client: the table as rows were prepared for it; it is read anew.
        config: the write's configuration.
        action: ``commit``, ``deltacommit`` or ``replacecommit``.
        operation: name of the operation in commit metadata.
        executor: where tasks run.
        lock: the table's lock; that of the options without it.
        clock: draws instants.
        precondition: refuses the write, by the table as it is under the lock, before it is announced.

    Attributes:
        client: the table as it was when the write began: what its rows are looked up in.
        instant: requested time of the write.
        behind: the table behind the commit, on a store where that is known without reading it; None otherwise.
        recent: the client was read right before: on a store the write may begin with it as it is. Set before the block.
        annotate: makes extra metadata of the table as it is under the lock; what it raises ends the write.
        validate: runs the options' pre-commit validators before the lock is taken; what it raises ends the write.
    """

    client: MetaClient
    instant: str
    behind: MetaClient | None

    def __init__(
        self,
        client: MetaClient,
        config: WriteConfig,
        *,
        action: str,
        operation: str,
        executor: TaskExecutor | None = None,
        lock: TableLock | None = None,
        clock: InstantClock | None = None,
        precondition: Callable[[MetaClient], None] | None = None,
    ) -> None:
        self.client = client
        self.instant = ""
        self.behind = None
        self.recent = False
        self.annotate: Callable[[MetaClient], Mapping[str, str]] | None = None
        self.validate: Validate | None = None
        self._unknown = False
        self._prepared: Timeline | None = None
        self._process = 0
        self._config = config
        self._action = action
        self._operation = operation
        self._executor = executor if executor is not None else LocalExecutor()
        self._lock = lock if lock is not None else table_lock(config.options, client.storage)
        self._clock = clock if clock is not None else InstantClock()
        self._precondition = precondition
        self._heartbeat: WriterHeartbeat | None = None
        self._begun: Instant | None = None
        self._after: AfterCommit | None = None
        self._left = False

    @property
    def begun(self) -> Instant:
        """The write's instant, requested or inflight."""
        assert self._begun is not None
        return self._begun

    @property
    def completed(self) -> Instant | None:
        """The write's completed instant; None before the commit."""
        return None if self._after is None else self._after.done

    @property
    def failed(self) -> Mapping[str, HudiHiveError]:
        """Steps that failed after the commit: release of the lock, of the heartbeat, of the markers."""
        return {} if self._after is None else self._after.failed

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Context manager that records exceptions after the commit in :attr:`failed` in place of raising them."""
        try:
            yield
        except Exception as error:
            if self._after is None or self._after.done is None:
                raise
            self._after.add(COMMIT, error)

    # -- beginning -------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.begin()
        return self

    def begin(self) -> None:
        """Roll back failed writes, draw an instant and create its requested and inflight files.

        Raises:
            InvalidOptionError: there are pre-commit validators, and nothing here runs them.
            LockTimeoutError: the table is locked.
            TimelineError: the timeline cannot be read or written.
        """
        self._refuse_validators()
        self._prepared = self.client.timeline  # what the rows were prepared for
        undone = rollback_failed_writes(self.context(), recent=self.recent and not self._local)
        to_announce = self._lock.to_announce
        if undone or to_announce is self._lock or self.client.timeline.pending():
            self.recent = False
        try:
            with to_announce:
                self._announce()
        except BaseException:
            self.abort()  # takes the lock itself
            raise

    def _announce(self) -> None:
        """Draw the instant, begin to beat and make the write inflight, under the lock."""
        if self._local or not self.recent:
            self.client = self.client.reload()
        MetadataWriter.check(self.client, self._config.options)
        check_metadata_table(self.client, self._config.options)
        start_metrics(self._config.options)
        if self._precondition is not None:
            self._precondition(self.client)
        for attempt in range(_DRAWS):
            self.instant = self._clock.new_instant(self.client.timeline, self.client.config.timezone)
            try:
                self._claim()
                break
            except (TimelineError, WriteConflictError):  # a writer without a common lock has drawn the same instant
                if attempt + 1 == _DRAWS:
                    raise
                self.client = self.client.reload()
        self._begun = self._writer.transition_inflight(self._action, self.instant, just_seen=True)

    def _claim(self) -> None:
        """Make the instant this write's: its heartbeat first, which shows that the request is not a dead writer's."""
        heartbeat = WriterHeartbeat.of(self._config.options, self.client.storage, self.instant)
        heartbeat.start()
        payload = encode_requested_replace() if self._action == REPLACE_COMMIT else b""
        try:
            check_store(self.client.storage, self._config.options)  # the first file on a store shows what it can do
            self._begun = self._writer.create_requested(self._action, self.instant, payload)
        except BaseException:
            heartbeat.stop()
            raise
        self._heartbeat = heartbeat
        self._process = os.getpid()

    @cached_property
    def _writer(self) -> TimelineWriter:
        return TimelineWriter(self.client.storage, self.client.config)

    def context(self) -> ServiceContext:
        """The context of table services that run in this write."""
        return ServiceContext(
            self.client, self._config.options, self._executor, lock=lambda: self._lock, clock=self._clock
        )

    # -- ending ----------------------------------------------------------------------------------------------------

    def commit(
        self,
        statuses: pa.Table,
        *,
        schema: str,
        replaced: Mapping[str, Sequence[str]] | None = None,
        extra: Mapping[str, str] | None = None,
        overwrites: Container[str] | None = None,
        versions: Sequence[InternalSchema] | None = None,
    ) -> Instant:
        """Commit the write. After the completed file exists nothing but an interrupt is raised; see ``failed``.

        Args:
            statuses: what was written, ``WRITE_STATUS_SCHEMA``; one row a file.
            schema: the writer's Avro schema without meta columns.
            replaced: partition path to the file groups that are replaced.
            extra: the user's own metadata.
            overwrites: partitions that the write is to be all of; those that it touches for an overwrite without it.
            versions: of the id-based schema, the newest first, the one that the commit is to make among them; without
                it those that the table has, and the one that the writer's schema makes of them.

        Returns:
            The completed instant.

        Raises:
            WriteConflictError: another writer changed the same file groups and completed first.
            LockError, HeartbeatLostError: others may think that this writer is dead.
            MetadataTableError: the metadata table cannot be written.
            CommitOutcomeUnknownError: a store did not answer when the completed file was to be created; the write is
                left as it is.
        """
        assert self._begun is not None
        self._refuse_fork()
        config, paths = self.client.config, written_paths(statuses)
        if not self._knows_markers:
            remove_unclaimed(self.client.storage, self.instant, paths)
        avro = json.loads(schema)
        metadata = self._metadata(statuses, replaced or {}, {**(extra or {}), SCHEMA_KEY: schema})
        payload = encode_commit(metadata, config.layout)
        leaves = versions if versions is not None else next_versions(self.client, avro, self.instant)
        operation = self._operation_of(statuses, avro, replaced or {}, overwrites, leaves)
        self._flush(paths, operation)
        self._validate(statuses, with_version(metadata, avro, leaves), operation)
        self._after = after = AfterCommit(self.client.base_path, self.instant)
        try:
            with after, self._lock as lock:
                now = exclude_former_holders(self.client.reload(), self.instant)
                self._check(now, operation)
                if versions is None:
                    # Others may have made versions of the same columns.
                    versions = next_versions(now, avro, self.instant)
                if versions or self.annotate is not None:
                    payload = encode_commit(with_version(self._annotated(metadata, now), avro, versions), config.layout)
                table = MetadataWriter.open(now, self._config.options, self._executor, SliceColumns())
                if table is not None:
                    keep = partial(table.apply, schema=avro, versions=versions, current=True)
                    self._keep(keep, metadata_changes(statuses, replaced or {}), payload)
                completion = self._clock.completion_time(now.timeline, self.instant, config.timezone)
                if versions:
                    persist(now, self.instant, completion, versions)
                self._writer.prepare(self._action, self.instant, payload)
                lock.verify()
                done = after.complete(self._writer, self._action, payload, completion, just_seen=True)
                self.behind = _behind(now, table, done, payload)
        except CommitOutcomeUnknownError:
            self._unknown = True
            raise
        finally:
            self._tidy(after)
        assert after.done is not None
        return after.done

    def _refuse_validators(self) -> None:
        if self._config.validators.classes and self.validate is None:
            raise InvalidOptionError(
                f"option {locks.VALIDATORS}: pre-commit validators run in writes of Spark alone",
                path=self.client.base_path,
                remedy="write with Spark, or leave the option out",
            )

    def _validate(self, statuses: pa.Table, metadata: NewCommitMetadata, operation: ConcurrentOperation) -> None:
        """Run the validators on the table as it is now, without a lock, and as the commit would leave it."""
        if self.validate is None or not self._config.validators.classes:
            return
        partitions = tuple(dict.fromkeys(statuses.column("partition").to_pylist()))
        payload = encode_commit(metadata, self.client.config.layout)
        for attempt in range(_VALIDATIONS):
            now = self.client.reload()
            check_conflicts(now, self.client.timeline, operation, prepared=self._prepared)  # they would see other rows
            completion = self._clock.completion_time(now.timeline, self.instant, self.client.config.timezone)
            try:
                return self.validate(StagedCommit.of(now, self.begun, payload, completion, partitions))
            except FileVanishedError as error:  # others have cleaned or rolled back what was read
                if attempt + 1 == _VALIDATIONS:
                    raise
                _log.info("%s is validated anew: %s", self.instant, error)

    def _keep(self, keep: Callable[..., None], changes: MetadataChanges, payload: bytes) -> None:
        """Bring the metadata table in step."""
        keep(self.instant, self._action, changes, behind=left_by(self.instant, self._action, payload))

    @property
    def _local(self) -> bool:
        return self.client.storage.is_local

    @property
    def _knows_markers(self) -> bool:
        """Whether all files of the write were written by threads of this process, none of which has tried again."""
        return not self._local and isinstance(self._executor, LocalExecutor)

    def _metadata(
        self, statuses: pa.Table, replaced: Mapping[str, Sequence[str]], extra: Mapping[str, str]
    ) -> NewCommitMetadata:
        return NewCommitMetadata(
            operation=self._operation,
            extra=extra,
            stats=write_stats(statuses, layout=self.client.config.layout),
            replaced={partition: list(ids) for partition, ids in replaced.items()},
            compacted=False,
        )

    def _annotated(self, metadata: NewCommitMetadata, now: MetaClient) -> NewCommitMetadata:
        if self.annotate is None:
            return metadata
        return replace(metadata, extra={**metadata.extra, **self.annotate(now)})

    def _operation_of(
        self,
        statuses: pa.Table,
        schema: Mapping[str, Any],
        replaced: Mapping[str, Sequence[str]],
        overwrites: Container[str] | None,
        versions: Sequence[InternalSchema],
    ) -> ConcurrentOperation:
        if overwrites is None and self._action == REPLACE_COMMIT:
            overwrites = {*statuses.column("partition").to_pylist(), *replaced}
            if self._config.rows.replaces_table:
                overwrites = EVERYTHING
        return ConcurrentOperation(
            self.instant,
            self._operation,
            touched_groups(statuses, replaced),
            schema,
            columns=versions[0].fields if versions else None,
            buckets=self._config.index.numbers_buckets,
            blocking=self._config.concurrency.mode != "NON_BLOCKING_CONCURRENCY_CONTROL",
            overwrites=() if overwrites is None else overwrites,
            alone=not self._config.concurrency.is_multi_writer,
        )

    def _flush(self, paths: Sequence[str], operation: ConcurrentOperation) -> None:
        try:
            self.client.storage.flush(paths)
        except PathNotFoundError:
            with self._lock:
                self._check(self.client.reload(), operation)  # says so if another writer has rolled this one back
            raise

    def _check(self, now: MetaClient, operation: ConcurrentOperation) -> None:
        """Under the lock: refuse a write that others came before."""
        check_conflicts(now, self.client.timeline, operation, prepared=self._prepared)
        if not self._config.metadata.keeps_keys:
            refuse_new_index(now, self.client, self.instant)
        assert self._heartbeat is not None
        # Under a lock that all writers take the timeline shows what others did.
        if not (operation.alone and now.storage.is_local):
            self._heartbeat.verify(look=not operation.alone)

    def _refuse_fork(self) -> None:
        if self._process != os.getpid():
            raise WriteError(
                "the write was begun by another process, of which this one is a fork",
                path=self.client.base_path,
                instant=self.instant,
                remedy="commit it there, or begin a write of this process's own",
            )

    def abort(self) -> None:
        """Roll the write back, unless it is committed. What fails here is rolled back by the next write.

        A forked child leaves the write alone, for it is the parent's.
        """
        if self.completed is not None or (self._begun is not None and self._process != os.getpid()):
            return
        if self._unknown:
            if self._heartbeat is not None:
                self._heartbeat.abandon()  # others wait for its end before they look at the write
            return
        begun, self._begun = self._begun, None
        try:
            if begun is not None:
                self._undo(begun)
        except Exception as error:
            self._left = True
            _log.warning("write %s was not undone, the next write will: %s", self.instant, error)
        finally:
            quietly(HEARTBEAT, self.instant, self._stop_beating)

    def _undo(self, begun: Instant) -> None:
        try:
            rollback(self.context(), begun.requested)
        except (InstantNotFoundError, WriteConflictError):
            # Another writer took this one for dead, and has not seen the files that came since.
            remove_late_files(self.context(), begun)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.completed is not None:
            return
        self.abort()
        if error is not None and self._left:
            error.add_note(f"{self.client.base_path}: {self.instant} was not undone; the next write undoes it")
        if error is None:
            raise WriteError("the write was not committed", path=self.client.base_path, instant=self.instant)

    def _tidy(self, after: AfterCommit) -> None:
        """What the commit leaves behind; the write stands whether this succeeds or not."""
        if after.done is None:
            return
        storage, options = self.client.storage, self._config.options
        after.attempt(VALIDATION, lambda: check_metadata_table(self.client, options, reload=True))
        after.attempt(METRICS, lambda: report_metrics(self.client, options))
        if self._knows_markers and not storage.has_folders:
            heartbeat, self._heartbeat = self._heartbeat, None
            beats = [] if heartbeat is None else [heartbeat.abandon()]
            after.attempt(MARKERS, lambda: storage.delete_files([*beats, *made_markers(storage, self.instant)]))
            return
        after.attempt(HEARTBEAT, self._stop_beating)
        after.attempt(MARKERS, lambda: remove_markers(storage, self.instant))

    def _stop_beating(self) -> None:
        heartbeat, self._heartbeat = self._heartbeat, None
        if heartbeat is not None:
            heartbeat.stop()


def _behind(now: MetaClient, table: MetadataWriter | None, done: Instant, payload: bytes) -> MetaClient | None:
    """The table behind a commit, as far as what was read under its lock tells it.

    Args:
        now: the table as it was read under the lock.
        table: the writer of its metadata table.
        done: the completed instant.
        payload: bytes of its file.
    """
    if table is None and now.config.metadata_partitions:
        return None  # the metadata table was deleted, and the properties say so
    client = now if table is None else table.client
    if now.storage.is_local or now.config.layout == 1:  # layout 1 knows completion by the time of the file
        return None
    return client.at(client.timeline.with_completed(done, payload))
