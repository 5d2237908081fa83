"""Writes the batches of a stream, each once: what a table has is passed over, what fails is tried again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from hudi_hive.errors import (
    CheckpointError,
    CommitOutcomeUnknownError,
    InvalidOptionError,
    KeyGenerationError,
    SchemaError,
    UnsupportedTableError,
    WriteConflictError,
)
from hudi_hive.table import MetaClient
from hudi_hive.write.streaming.background import BackgroundServices
from hudi_hive.write.streaming.checkpoint import StreamQuery, checkpoint_of, last_batch
from hudi_hive.write.streaming.settings import SinkSettings

_log = logging.getLogger(__name__)

_FINAL: Final = (
    CheckpointError,
    CommitOutcomeUnknownError,
    InvalidOptionError,
    KeyGenerationError,
    SchemaError,
    UnsupportedTableError,
)
"""Errors that come again at each try, and the one after which it is not known what the table has."""

Write = Callable[[Callable[[MetaClient], Mapping[str, str]]], object]
"""Writes the rows of a batch in one commit, with extra metadata that a function makes of the table under its lock."""


class BatchSink:
    """Writes the batches of a streaming query to one table, each in one commit.

    Args:
        settings: of the stream.
        table: loads the table as it is; None as long as there is none.
        sleep: waits a number of seconds before another try; what it raises ends the batch.
        services: table services that run beside the stream.
    """

    def __init__(
        self,
        settings: SinkSettings,
        table: Callable[[], MetaClient | None],
        *,
        sleep: Callable[[float], None],
        services: BackgroundServices | None = None,
    ) -> None:
        self._settings = settings
        self._table = table
        self._sleep = sleep
        self._services = services
        self._last: dict[str, int] = {}

    def add_batch(self, batch: int, query: StreamQuery, write: Write) -> bool:
        """Write a batch, unless the table has it.

        Args:
            batch: its number, which is the same when it is given again.
            query: the query.
            write: writes the rows.

        Returns:
            Whether rows were written.

        Raises:
            HudiHiveError: the batch could not be written at any try, and the settings do not ignore that; the table has
                none of its rows.
        """
        if self._services is not None and not self._last and self._table() is not None:
            self._services.wake()  # for plans of an earlier run
        if self._services is not None and self._settings.clusters:
            self._services.wait_idle()  # rows of groups that are being clustered are not written
        written = self._attempts(batch, query, write)
        self._last[query.query_id] = max(batch, self._last.get(query.query_id, -1))
        if self._services is not None:
            self._services.wake()
        return written

    def _attempts(self, batch: int, query: StreamQuery, write: Write) -> bool:
        wait = self._settings.wait_ms / 1000
        for attempt in range(1, self._settings.tries + 1):
            try:
                return self._attempt(batch, query, write, again=attempt > 1)
            except Exception as error:
                if attempt < self._settings.tries and not isinstance(error, _FINAL):
                    _log.warning("batch %s of %s failed and is tried again: %s", batch, query.query_id, error)
                elif self._settings.ignores_failures and not isinstance(error, CommitOutcomeUnknownError):
                    _log.error("batch %s of %s is left out, its rows are lost: %s", batch, query.query_id, error)
                    return False
                else:
                    raise
                if self._services is not None and isinstance(error, WriteConflictError):
                    self._services.wait_idle()
                try:
                    self._sleep(wait)
                except Exception:
                    raise error from None  # the query is being stopped
                wait *= 2
        raise AssertionError("a batch has one try at least")

    def _attempt(self, batch: int, query: StreamQuery, write: Write, *, again: bool) -> bool:
        if again or batch <= self._last.get(query.query_id, batch):
            client = self._table()
            if client is not None and last_batch(client, query, archived=True) >= batch:
                _log.info("batch %s of %s is in the table: passed over", batch, query.query_id)
                return False
        write(partial(checkpoint_of, query=query, batch=batch))
        return True


__all__ = ["BatchSink"]
