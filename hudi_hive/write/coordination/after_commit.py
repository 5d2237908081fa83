"""Runs the steps after a commit, whose failures are reported and do not undo the commit.

An exception of any type that a step behind the completed file raises (services, archival, sync, callbacks, letting go
of the lock, heartbeat and markers) is logged and put into the report, and the steps after it run. An interrupt
(``KeyboardInterrupt``, ``SystemExit``, ``GeneratorExit``) goes on to the caller, who asked for it, with a note that the
commit is complete; lock, heartbeat and markers are let go first, the other steps are left to the next commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeVar, cast

from hudi_hive.errors import (
    CommitOutcomeUnknownError,
    HudiHiveError,
    StoreThrottledError,
    StoreUnreachableError,
    WriteError,
)
from hudi_hive.timeline import Instant
from hudi_hive.timeline.core import TimelineWriter

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

COMMIT: Final = "commit"
"""Step that created the completed file: it is there, and an error was raised behind that."""
LOCK: Final = "lock"
HEARTBEAT: Final = "heartbeat"
MARKERS: Final = "markers"
SERVICES: Final = "services"
SYNC: Final = "sync"
REFRESH: Final = "refresh"
CALLBACK: Final = "on_commit"

_UNANSWERED: Final = (StoreThrottledError, StoreUnreachableError)
"""Errors at the deadline of a request, one of whose tries may have been carried out."""


class Report(Protocol):
    """Result of a commit."""

    @property
    def instant(self) -> Instant | None:
        """The completed instant."""

    @property
    def failed(self) -> Mapping[str, HudiHiveError]:
        """Steps after the commit that failed, and why."""


_Report = TypeVar("_Report", bound=Report)


class AfterCommit:
    """Completes an instant and runs the steps after it; a context manager around the lock and heartbeat.

    Inside the block errors are raised up to the completed file, and reported from there on.

    Args:
        path: base path of the table, for errors.
        instant: requested time.

    Attributes:
        done: the completed instant; None before.
        failed: step to why it failed.
    """

    done: Instant | None
    failed: dict[str, HudiHiveError]

    def __init__(self, path: str, instant: str, done: Instant | None = None) -> None:
        self._path = path
        self._instant = instant
        self.done = done
        self.failed = {}

    def complete(
        self, writer: TimelineWriter, action: str, payload: bytes, completion: str | None, *, just_seen: bool = False
    ) -> Instant:
        """Create the completed file, which is the commit; later errors do not fail the write.

        Args:
            writer: of the timeline.
            action, payload, completion, just_seen: as of its ``complete``.

        Raises:
            TimelineError, StorageError: the file was not created.
            CommitOutcomeUnknownError: a store did not answer, and may have created the file or be about to.
        """
        try:
            self.done = writer.complete(action, self._instant, payload, completion, just_seen=just_seen)
        except _UNANSWERED as error:
            self.done = self._look(writer, action, payload, completion, error)
            self.add(COMMIT, error)
        except BaseException as error:
            self.done = writer.completed_with(action, self._instant, payload, completion)
            if self.done is None:
                raise
            self.add(COMMIT, error)
        return self.done

    def _look(
        self, writer: TimelineWriter, action: str, payload: bytes, completion: str | None, error: HudiHiveError
    ) -> Instant:
        """The completed instant, if a request that was not answered has created it.

        Where a request on its way can be made void, the write has failed if it has not.
        """
        try:
            is_void = writer.withdraw(action, self._instant)
            completed = writer.completed_with(action, self._instant, payload, completion)
        except HudiHiveError as again:
            error.add_note(f"the timeline cannot be looked at either: {again.message}")
        else:
            if completed is not None:
                return completed
            if is_void:
                raise error
        raise CommitOutcomeUnknownError(
            "it is not known whether the commit is complete: the store did not answer in time",
            path=self._path,
            instant=self._instant,
            remedy="list the timeline when the store answers again (`hudi-hive inspect`): if the instant is complete, "
            "the write is done and is not to be repeated; if it is pending or gone, write again: the next write rolls "
            "it back",
        ) from error

    def attempt(self, step: str, run: Callable[[], _T]) -> _T | None:
        """Run a step; a failure returns None and is recorded in :attr:`failed`."""
        try:
            return run()
        except BaseException as error:
            self.add(step, error)
            return None

    def add(self, step: str, error: BaseException) -> None:
        """Record an exception; an interrupt is raised again."""
        if isinstance(error, Exception):
            self.failed[step] = reported(error, self._path, self._instant)
            log_failure(step, self._instant, self.failed[step])
            return
        error.add_note(f"{self._path}: the commit {self._instant} is complete and is not to be repeated")
        raise error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None or self.done is None:
            return False
        if not isinstance(error, Exception):
            if not any("is complete" in note for note in getattr(error, "__notes__", ())):
                error.add_note(f"{self._path}: the commit {self._instant} is complete and is not to be repeated")
            return False
        self.add(LOCK, error)
        return True


_STANDS: Final = "the commit is complete and is not to be repeated; the next one runs what follows again"


def reported(error: Exception, path: str, instant: str | None = None, *, remedy: str = _STANDS) -> HudiHiveError:
    """Wrap an exception of any type in an error of this package that names table, instant and remedy."""
    if isinstance(error, HudiHiveError):
        return error
    try:
        text = str(error)
    except Exception:  # a class of a caller's
        text = "an exception without a text"
    made = WriteError(
        f"{type(error).__name__}: {text}",
        path=path,
        instant=instant,
        remedy=remedy,
    )
    made.__cause__ = error
    return made


def log_failure(step: str, instant: str | None, error: BaseException) -> None:
    """Log a failure after a commit, or after those of a table where none is named; errors of the logger are ignored."""
    with suppress(Exception):
        where, stands = ("commits", "they stand") if instant is None else (f"commit {instant}", "the commit stands")
        _log.warning("behind the %s: %s failed, %s: %s", where, step, stands, error)


def quietly(step: str, instant: str | None, run: Callable[[], object]) -> None:
    """Run a step that may fail: an exception is logged and not raised."""
    try:
        run()
    except Exception as error:
        log_failure(step, instant, error)


def followed(report: _Report, path: str, step: str, run: Callable[[], object]) -> _Report:
    """Run one more step after a commit and add its failure to the report.

    Args:
        report: a dataclass with ``instant`` and ``failed``.
        path: base path of the table.
        step: its name.
        run: the step.
    """
    instant = report.instant
    after = AfterCommit(path, instant.requested if instant is not None else "", instant)
    after.attempt(step, run)
    if not after.failed:
        return report
    return cast(_Report, replace(cast(Any, report), failed={**report.failed, **after.failed}))
