"""Cases of the options of streams that are written to a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hudi_hive import HudiTable
from hudi_hive.errors import StorageError
from hudi_hive.options import Face, Option, read, services, write
from hudi_hive.write.services import TableServices
from hudi_hive.write.streaming import BackgroundServices, BatchSink, SinkSettings, StreamQuery
from hudi_hive.write.writers import LocalWriter
from tests.support.options.cases import Case, Scenario
from tests.support.options.observed import observed
from tests.support.options.write_cases import LEAN, make, put, rows


class LocalStream:
    """A stream of Arrow tables into a table that is there.

    Args:
        path: the table.
        options: of the stream.
        failures: tries that fail before each batch is written.
    """

    def __init__(self, path: Path, options: Mapping[str, str], failures: int = 0) -> None:
        self.path = path
        self.waits: list[float] = []
        self.active = True
        self._failures = failures
        self._settings = SinkSettings.of(options)
        self._options = self._settings.write_options({**LEAN, **options})
        self.services = BackgroundServices(
            lambda: TableServices.open(self._client(), self._options),
            lambda: self.active,
            compacts=self._settings.compacts,
            clusters=self._settings.clusters,
        )
        self.sink = BatchSink(self._settings, self._client, sleep=self.waits.append, services=self.services)

    def _client(self) -> Any:
        return HudiTable.open(self.path).client

    def add(self, batch: int, table: Any, query: str = "query", began_ms: int | None = None) -> bool:
        """A batch; whether it was written."""
        left = self._failures

        def write(annotate: Any) -> None:
            nonlocal left
            left -= 1
            if left >= 0:
                raise StorageError("no answer")
            writer = LocalWriter(self._client(), self._options)
            writer.annotate = annotate
            writer.write(table)

        return self.sink.add_batch(batch, StreamQuery(self._settings.identifier, query, began_ms), write)

    def end(self) -> None:
        """End the stream once its services have nothing to do."""
        self.services.wait_idle()
        self.active = False
        self.services.join()


def _streamed(kind: str, failures: int = 0) -> Scenario:
    def scenario(path: Path, options: Mapping[str, str]) -> Any:
        make(path, table_type=kind)
        put(path, LEAN, rows(500, 1))
        stream = LocalStream(path, options, failures)
        try:
            for batch in range(2):
                stream.add(batch, rows(batch * 10, 20))
                stream.services.wait_idle()
        finally:
            stream.end()
        return stream.waits, observed(path)

    return scenario


_COPY_ON_WRITE = _streamed("COPY_ON_WRITE")
_MERGE_ON_READ = _streamed("MERGE_ON_READ")
_FAILS_TWICE = _streamed("COPY_ON_WRITE", 2)
_FAILS = _streamed("COPY_ON_WRITE", 9)
_DUE = {services.COMPACT_AFTER_COMMITS.name: "2", write.SMALL_FILE_LIMIT.name: "0"}
_SORTED = {services.CLUSTERING_SORT_COLUMNS.name: "name"}


def _case(option: Option[Any], value: str, scenario: Scenario, **beside: str) -> Case:
    return Case(option, Face.SINK, scenario, value, beside)


SINK_CASES = (
    _case(read.CHECKPOINT_IDENTIFIER, "mine", _COPY_ON_WRITE),
    _case(read.STREAM_RETRIES, "2", _FAILS_TWICE),
    _case(read.STREAM_RETRY_INTERVAL, "10", _FAILS_TWICE),
    _case(read.IGNORE_FAILED_BATCH, "true", _FAILS),
    _case(read.DISABLE_COMPACTION, "true", _MERGE_ON_READ, **_DUE),
    _case(read.ASYNC_COMPACTION, "false", _MERGE_ON_READ, **_DUE),
    _case(read.ASYNC_CLUSTERING, "true", _COPY_ON_WRITE, **_SORTED, **{read.ASYNC_CLUSTERING_COMMITS.name: "2"}),
    _case(read.ASYNC_CLUSTERING_COMMITS, "2", _COPY_ON_WRITE, **_SORTED, **{read.ASYNC_CLUSTERING.name: "true"}),
)
