"""Runs planned table services in a thread beside a stream, for as long as the stream is active.

What fails is logged and tried again behind the next batch: batches do not depend on it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Final

from hudi_hive.write.coordination import log_failure
from hudi_hive.write.services import PlanRun, TableServices, run_planned_clusterings, run_planned_compactions

_LOOK_SECONDS: Final = 1.0


class BackgroundServices:
    """Runs the compactions and clusterings of a table that are planned; starts a thread when there is something to do.

    Args:
        open_services: the services of the table as it is.
        is_active: whether the stream runs.
        compacts, clusters: which plans are run.
    """

    def __init__(
        self,
        open_services: Callable[[], TableServices],
        is_active: Callable[[], bool],
        *,
        compacts: bool,
        clusters: bool,
    ) -> None:
        self._open = open_services
        self._is_active = is_active
        self._compacts = compacts
        self._clusters = clusters
        self._changed = threading.Condition()
        self._due = False
        self._busy = False
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Look for plans, in the thread."""
        if not self._compacts and not self._clusters:
            return
        with self._changed:
            self._due = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hudi_hive.stream_services", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def wait_idle(self) -> None:
        """Wait until nothing runs and nothing is due."""
        with self._changed:
            while self._thread is not None and (self._due or self._busy):
                self._changed.wait(_LOOK_SECONDS)

    def join(self) -> None:
        """Wait for the end of the thread, which comes when the stream has ended."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while self._next():
            try:
                self._run_plans()
            except Exception as error:
                log_failure("services beside the stream", None, error)
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()

    def _next(self) -> bool:
        """Wait until something is due; False when the stream has ended and nothing is, and the thread with it."""
        with self._changed:
            while not self._due and self._active():
                self._changed.wait(_LOOK_SECONDS)
            if not self._due:
                self._thread = None
                self._changed.notify_all()
                return False
            self._due, self._busy = False, True
            return True

    def _active(self) -> bool:
        try:
            return self._is_active()
        except Exception:  # with the engine, the stream has ended
            return False

    def _run_plans(self) -> None:
        context = self._open().context
        self._compacts = self._compacts and context.client.config.is_merge_on_read
        if self._compacts:
            _log_failures("compaction beside the stream", run_planned_compactions(context))
        if self._clusters:
            _log_failures("clustering beside the stream", run_planned_clusterings(context))


def _log_failures(step: str, runs: Iterator[PlanRun]) -> None:
    for run in runs:
        if run.error is not None:
            log_failure(step, run.planned, run.error)


__all__ = ["BackgroundServices"]
