"""The data source's sink: each batch of a streaming query becomes one commit of a table, once.

Source: HoodieStreamingSink; docs/streaming.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from pyspark.sql import DataFrame

from hudi_hive.errors import InvalidOptionError, SparkError, TableNotFoundError
from hudi_hive.names import HOODIE_DATASOURCE_WRITE_OPERATION
from hudi_hive.options import Operation
from hudi_hive.options import table as table_options
from hudi_hive.spark.bridge import Function1, JavaValue, Jvm, Weak, python_session, store_options
from hudi_hive.spark.scan import Environment, location_of
from hudi_hive.spark.source.stream_options import OF_DATAFRAMES
from hudi_hive.spark.write import sync_of, table_services, write
from hudi_hive.table import MetaClient
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.streaming import BackgroundServices, BatchSink, SinkSettings, StreamQuery

_OF_SPARK: Final = ("checkpointlocation", "path", "queryname")
"""Options of a query that are not the sink's, in small letters."""


def create_sink(
    environment: Environment,
    session: JavaValue,
    parameters: Mapping[str, str],
    mode: str,
    partition_columns: Sequence[str],
) -> JavaValue:
    """The sink of a streaming query.

    Args:
        environment: of the Spark context.
        session: the JVM's session.
        parameters: the query's options, ``path`` among them.
        mode: ``Append`` and ``Update`` write the rows of each batch, ``Complete`` has them replace the table's.
        partition_columns: those of ``partitionBy``.

    Raises:
        InvalidOptionError: an option is unknown, not supported, or contradicts the table.
    """
    path = next((text for name, text in parameters.items() if name.lower() == "path"), None)
    if not path:
        raise SparkError("a stream into a Hudi table needs a path", remedy="give start() the base path of the table")
    given = {name: text for name, text in parameters.items() if name.lower() not in _OF_SPARK}
    settings = SinkSettings.of(given)
    options = _partitioned(settings.write_options(given), partition_columns)
    if mode != "Complete":
        options = {**OF_DATAFRAMES, **options}
    else:
        options[HOODIE_DATASOURCE_WRITE_OPERATION] = Operation.INSERT_OVERWRITE_TABLE.value
    sink = _QuerySink(environment, session, location_of(path), options, settings)
    sink.check()
    make = getattr(environment.jvm.view.hudi, "DefaultSource$BatchSink")
    return make(f"HudiBatches[{path}]", Function1(lambda question: sink.add(*question)))


def _partitioned(options: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """The options with the columns of ``partitionBy``.

    Raises:
        InvalidOptionError: the options name others.
    """
    option = table_options.PARTITION_FIELDS
    named = option.present_in(options)
    if not columns:
        return dict(options)
    if not named:
        return {**options, option.name: ",".join(columns)}
    fields = [field.partition(":")[0].strip() for field in options[named[0]].split(",")]
    if [field.lower() for field in fields] != [column.lower() for column in columns]:
        raise InvalidOptionError(
            f"option {named[0]}={options[named[0]]} contradicts partitionBy({', '.join(columns)})",
            remedy="give one of them",
        )
    return dict(options)


class _QuerySink:
    """Writes the batches of one query; Spark calls it from the query's thread.

    Args:
        environment: of the Spark context.
        session: the session in which the query was started.
        location: base path.
        options: of each write.
        settings: of the stream.
    """

    _session = Weak()

    def __init__(
        self,
        environment: Environment,
        session: JavaValue,
        location: str,
        options: Mapping[str, str],
        settings: SinkSettings,
    ) -> None:
        self._environment = environment
        self._session = session
        self._location = location
        self._options = dict(options)
        self._settings = settings
        self._query: StreamQuery | None = None
        services = self._services() if settings.compacts or settings.clusters else None
        self._sink = BatchSink(settings, self._table, sleep=self._sleep, services=services)

    def check(self) -> None:
        """Refuse options with which no batch could be written."""
        client = self._table()
        config = WriteConfig.of(self._options, None if client is None else client.config)
        if client is None:
            config.table_definition()
        sync_of(self._session, config, self._location, self._stored())

    def add(self, batch: int, query_id: str | None, rows: JavaValue) -> None:
        """Write a batch, unless the table has it."""
        if self._query is None:
            self._query = _query_of(self._environment.jvm, self._session, self._settings.identifier, str(query_id))
        self._sink.add_batch(int(batch), self._query, partial(self._write, rows))

    def _write(self, rows: JavaValue, annotate: Callable[[MetaClient], Mapping[str, str]]) -> None:
        """Write the rows in the session that started the query: that of a batch has one fixed plan."""
        frame = self._session.internalCreateDataFrame(rows.queryExecution().toRdd(), rows.schema(), False)
        write(
            DataFrame(frame, python_session(self._session)),
            self._location,
            self._options,
            storage_options=self._environment.storage_options,
            annotate=annotate,
        )

    def _stored(self) -> dict[str, Any]:
        return store_options(self._session, self._location, self._environment.storage_options)

    def _table(self) -> MetaClient | None:
        try:
            return MetaClient.load(self._location, self._stored())
        except TableNotFoundError:
            return None

    def _sleep(self, seconds: float) -> None:
        """Sleep in the query's thread of Java, which the end of the query interrupts."""
        self._environment.jvm.view.java.lang.Thread.sleep(int(seconds * 1000))

    def _services(self) -> BackgroundServices:
        def active() -> bool:
            query = self._query
            return query is not None and self._session.streams().get(query.query_id) is not None

        return BackgroundServices(
            lambda: table_services(
                python_session(self._session),
                self._location,
                self._options,
                storage_options=self._environment.storage_options,
            ),
            active,
            compacts=self._settings.compacts,
            clusters=self._settings.clusters,
        )


def _query_of(jvm: Jvm, session: JavaValue, identifier: str, query_id: str) -> StreamQuery:
    """The query, with the time when its checkpoint folder was made."""
    try:
        root = str(session.streams().get(query_id).streamingQuery().resolvedCheckpointRoot())
        path = jvm.view.org.apache.hadoop.fs.Path(root, "metadata")
        system = path.getFileSystem(session.sessionState().newHadoopConf())
        return StreamQuery(identifier, query_id, int(system.getFileStatus(path).getModificationTime()))
    except Exception:  # of versions of Spark that keep it elsewhere
        return StreamQuery(identifier, query_id)


__all__ = ["create_sink"]
