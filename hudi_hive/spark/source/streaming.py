"""Structured Streaming on Hudi's commits: a source of micro-batches whose batches are ordinary incremental plans.

A batch is the rows of the writes whose time lies after one offset, up to and including another: completion times, in
table version 6 requested times. An offset is such a time, so a batch that is run again after a crash has the same
commits, and Spark's checkpoint makes the stream exactly-once.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import DataType, StructType

from hudi_hive.errors import HudiHiveError, IncrementalRangeError, SchemaError, SparkError
from hudi_hive.options import read as read_options
from hudi_hive.plan.core import CommitOffset, is_on_timeline
from hudi_hive.plan.model import EARLIEST
from hudi_hive.spark.bridge import (
    Function1,
    JavaProxy,
    JavaValue,
    Jvm,
    Rewrite,
    class_name,
    option,
    quoted,
    scala_items,
    to_java,
)
from hudi_hive.spark.scan import (
    Environment,
    columns_as_of,
    install_merge_rule,
    location_of,
    relation_plan,
    table_snapshot,
)
from hudi_hive.spark.source.stream_options import StreamOptions
from hudi_hive.spark.versions import SPARK
from hudi_hive.table import MetaClient

_STREAMING = "org.apache.spark.sql.execution.streaming"
_CONNECTOR = "org.apache.spark.sql.connector.read.streaming"


class CommitSource(JavaProxy):
    """Spark's ``Source`` with admission control, in Python.

    Spark calls it from the one thread of a streaming query.

    Args:
        environment: of the Spark context.
        session: the JVM's session.
        metadata_path: the source's folder in the checkpoint.
        schema: the columns that the query was planned with.
        table_schema: all columns that each batch must have, where a catalog may not have heard of some; those of the
            query where a batch has the ones of its end.
        options: of the stream.
    """

    outlives_context = True  # the thread of its query may end later

    def __init__(
        self,
        environment: Environment,
        session: JavaValue,
        metadata_path: str,
        schema: StructType,
        table_schema: StructType,
        options: StreamOptions,
    ) -> None:
        self._environment = environment
        self._session = session
        self._metadata_path = metadata_path
        self._schema = schema
        self._table_schema = table_schema
        self._options = options
        self._initial: CommitOffset | None = None
        self._last: str | None = None
        self._newest: str | None = None
        self._checked: str | None = None
        self._is_new = True
        self._lock = threading.Lock()

    # -- where it starts ---------------------------------------------------------------------------------------------

    def _start(self) -> CommitOffset:
        """The offset before the first batch; kept in the checkpoint, since ``latest`` is another one later."""
        with self._lock:
            if self._initial is None:
                jvm = self._environment.jvm
                initial = _read_initial(jvm, self._session, self._metadata_path)
                if initial is None:
                    initial = self._resolve_start()
                    _write_initial(jvm, self._session, self._metadata_path, initial)
                self._initial = initial
            return self._initial

    def _resolve_start(self) -> CommitOffset:
        start = self._options.start
        if start == "earliest":
            return CommitOffset(EARLIEST, is_commit=False)
        if start != "latest":
            return CommitOffset(start, is_commit=False)
        newest = self._options.commits(self._client(), EARLIEST).newest()
        return CommitOffset(EARLIEST, is_commit=False) if newest is None else CommitOffset(newest)

    def _client(self) -> MetaClient:
        return MetaClient.load(
            self._options.location, self._environment.store_options(self._session, self._options.location)
        )

    def _begin(self, start: JavaValue | None) -> CommitOffset:
        return self._start() if start is None else CommitOffset.parse(str(start.json()))

    def _check_on_timeline(self, client: MetaClient, offset: CommitOffset) -> None:
        if not self._options.fail_on_data_loss or self._checked == offset.time:
            return
        if not is_on_timeline(client, offset, self._options.read.hollow_policy):
            raise IncrementalRangeError(
                "the stream has read up to a commit that the table's timeline does not have any more: the table was "
                "restored or made anew, or its history was cut",
                path=client.base_path,
                instant=offset.time,
                remedy="start with a new checkpoint, or go on after this time with "
                f"{read_options.FAIL_ON_DATA_LOSS}=false",
            )
        self._checked = offset.time

    # -- Source ------------------------------------------------------------------------------------------------------

    @to_java
    def schema(self) -> JavaValue:
        """The columns."""
        return self._session.parseDataType(self._schema.json())

    @to_java
    def getDefaultReadLimit(self) -> JavaValue:
        """Whether a trigger takes everything; the limits themselves are ours."""
        limits = getattr(self._environment.jvm.view, _CONNECTOR).ReadLimit
        ours = self._options.limits
        if ours.max_commits is None and ours.max_bytes is None:
            return limits.allAvailable()
        return limits.maxFiles(ours.max_commits or 1)

    @to_java
    def prepareForTriggerAvailableNow(self) -> None:
        """Fix the commits of the query to those that exist now."""
        self._last = self._options.commits(self._client(), self._start().time).newest() or EARLIEST

    @to_java
    def latestOffset(self, start: JavaValue | None, limit: JavaValue) -> JavaValue | None:
        """The end of the next batch; ``start`` when there is nothing new.

        Raises:
            IncrementalRangeError: the commit of ``start`` is gone.
            HollowCommitError: as for an incremental query.
        """
        self._is_new = False
        begin = self._begin(start)
        client = self._client()
        self._check_on_timeline(client, begin)
        commits = self._options.commits(client, begin.time)
        self._newest = commits.newest() or begin.time
        end = commits.end(self._last, limited=class_name(limit) != "ReadAllAvailable")
        return start if end is None else self._offset(CommitOffset(end))

    @to_java
    def reportLatestOffset(self) -> JavaValue | None:
        """The newest commit, for the query's progress."""
        return None if self._newest is None else self._offset(CommitOffset(self._newest))

    @to_java
    def getOffset(self) -> JavaValue:
        """Not used: Spark calls :meth:`latestOffset` of sources with limits."""
        return self._environment.jvm.none()

    @to_java
    def getBatch(self, start: JavaValue, end: JavaValue) -> JavaValue:
        """The rows of the commits after ``start`` up to ``end``.

        Reading them raises IncrementalRangeError when files of the range were cleaned, or its begin is unknown.

        Raises:
            SchemaError: the table's columns are not those of the query any more.
        """
        jvm = self._environment.jvm
        session = jvm.classic.SparkSession.active()
        try:
            frame = self._rows(session, self._begin(option(start)), CommitOffset.parse(str(end.json())))
        except (IncrementalRangeError, SchemaError) as error:
            # A query that is started again asks for its last batch once more, and does not read it.
            if isinstance(error, SchemaError) and not (self._is_new and self._options.shows_end):
                raise
            return refused_rows(jvm, session, self._schema, error)
        return frame if self._schema == _columns(frame) else self._as_declared(session, frame)

    def _rows(self, session: JavaValue, begin: CommitOffset, last: CommitOffset) -> JavaValue:
        client = self._client()
        if begin.time != last.time:
            self._check_on_timeline(client, begin)
        jvm = self._environment.jvm
        install_merge_rule(jvm, session)
        query = self._options.query(begin.time, last.time)
        plan = relation_plan(self._environment, session, self._options.location, query)
        frame = jvm.classic.Dataset.ofRows(session, as_streaming(jvm, plan))
        found = _columns(frame)
        if self._options.shows_end:
            if _kinds(found) != _kinds(self._schema):
                self._refuse_end(client, begin, last, found)
        elif found != self._table_schema:
            self._refuse(client, found)
        return frame

    def _as_declared(self, session: JavaValue, frame: JavaValue) -> JavaValue:
        """The columns of the query, in its order: a catalog may have another one."""
        jvm = self._environment.jvm
        plan = frame.queryExecution().analyzed()
        output = {str(item.name()).lower(): item for item in scala_items(plan.output())}
        ordered = jvm.seq([output[name.lower()] for name in self._schema.names])
        projected = jvm.package("catalyst.plans.logical").Project(ordered, plan)
        return jvm.classic.Dataset.ofRows(session, projected)

    def _refuse(self, client: MetaClient, current: StructType) -> None:
        changed = _differences(self._table_schema, current)
        raise SchemaError(
            f"the table's columns changed while the stream ran: {', '.join(changed) or 'their order or comments'}",
            path=client.base_path,
            remedy="start the query again with its checkpoint: it goes on where it stopped, with the new columns",
        )

    def _refuse_end(self, client: MetaClient, begin: CommitOffset, last: CommitOffset, current: StructType) -> None:
        columns = ", ".join(f"{quoted(field.name)} {field.dataType.simpleString()}" for field in current.fields)
        raise SchemaError(
            f"the batch of the commits after {begin.time} has the columns as of its end, and they are not those of the "
            f"stream: {', '.join(_differences(self._schema, current))}",
            path=client.base_path,
            instant=last.time,
            remedy="start the query again with its checkpoint, from a reader of its path that is given these: "
            f"schema('{columns}')",
        )

    @to_java
    def commit(self, end: JavaValue) -> None:
        """Do nothing, since processed commits stay."""

    @to_java
    def stop(self) -> None:
        """Do nothing, since no resources are held."""

    @to_java
    def initialOffset(self) -> JavaValue:
        """The offset before the first batch."""
        return self._offset(self._start())

    @to_java
    def deserializeOffset(self, text: str) -> JavaValue:
        """Parse an offset of the checkpoint."""
        return self._offset(CommitOffset.parse(text))

    def _offset(self, offset: CommitOffset) -> JavaValue:
        return getattr(self._environment.jvm.view, _STREAMING).SerializedOffset.apply(offset.to_json())

    def toString(self) -> str:
        """Description of the source in the query's progress."""
        return f"HudiCommits[{self._options.location}]"

    class Java:
        implements = (f"{_STREAMING}.Source", f"{_CONNECTOR}.SupportsTriggerAvailableNow")


def source_schema(environment: Environment, session: JavaValue, parameters: Mapping[str, Any]) -> StructType:
    """The columns of a stream's rows: those of the table now, or as of the end of the first batch of a new stream.

    Args:
        environment: of the Spark context.
        session: the JVM's session; the streaming query will be cloned from it.
        parameters: the user's options, ``path`` among them.

    Raises:
        HudiHiveError: an option does not fit, or the table cannot be read.
    """
    options = StreamOptions.parse(parameters)
    # A query's session is a clone: what optimises its plans must be there before.
    install_merge_rule(environment.jvm, session)
    query = options.query(EARLIEST, EARLIEST)
    if options.shows_end:
        snapshot = table_snapshot(environment, session, options.location, query)
        time = options.schema_time(snapshot.client)
        if time is not None:
            return columns_as_of(snapshot, time)
    plan = relation_plan(environment, session, options.location, query)
    return _columns(environment.jvm.classic.Dataset.ofRows(session, plan))


@dataclass(frozen=True, slots=True)
class StreamedQuery:
    """The streaming query that a source is made for.

    Attributes:
        metadata_path: the source's folder in the query's checkpoint.
        query_id: Spark's id of the query; None if it is not known.
        schema: the columns that the user or a catalog gave; None for those of the table.
    """

    metadata_path: str
    query_id: str | None
    schema: StructType | None


def create_source(
    environment: Environment, session: JavaValue, query: StreamedQuery, parameters: Mapping[str, Any]
) -> CommitSource:
    """The source of a streaming query.

    Args:
        environment, session, parameters: as for :func:`source_schema`.
        query: the query.

    Raises:
        HudiHiveError: an option does not fit, or the table cannot be read.
    """
    options = StreamOptions.parse(parameters)
    metadata_path, schema = query.metadata_path, query.schema
    if schema is not None and options.shows_end:
        install_merge_rule(environment.jvm, session)
        return CommitSource(environment, session, metadata_path, schema, schema, options)
    table_schema = source_schema(environment, session, parameters)
    if schema is None:
        _check_planned(session, query, options.location, table_schema)
        return CommitSource(environment, session, metadata_path, table_schema, table_schema, options)
    kinds = _kinds(table_schema)
    for field in schema.fields:
        if kinds.get(field.name.lower()) != field.dataType:
            raise SchemaError(
                f"column {field.name} of the stream's schema is no column of the table, or has another type",
                path=options.location,
                remedy="leave the schema out, or sync the table",
            )
    return CommitSource(environment, session, metadata_path, schema, table_schema, options)


def _check_planned(session: JavaValue, query: StreamedQuery, location: str, columns: StructType) -> None:
    """Refuse a query that was planned before the table's columns changed: Spark goes by their places in a batch.

    Raises:
        SchemaError: the query has other columns.
    """
    found = None if query.query_id is None else session.streams().get(query.query_id)
    if found is None:
        return
    planned = [
        [(str(column.name()), str(column.dataType().simpleString())) for column in scala_items(leaf.output())]
        for leaf in scala_items(found.streamingQuery().analyzedPlan().collectLeaves())
        if class_name(leaf) == "StreamingRelation" and _path_of(leaf) == location
    ]
    now = [(field.name, field.dataType.simpleString()) for field in columns.fields]
    if planned and now not in planned:
        raise SchemaError(
            "the table's columns changed since the stream was loaded",
            path=location,
            remedy="load it again, and start the query of that",
        )


def _path_of(relation: JavaValue) -> str | None:
    path = option(relation.dataSource().options().get("path"))
    return None if path is None else location_of(str(path))


def _columns(frame: JavaValue) -> StructType:
    return StructType.fromJson(json.loads(str(frame.schema().json())))


def _kinds(columns: StructType) -> dict[str, DataType]:
    return {field.name.lower(): field.dataType for field in columns.fields}


def _differences(one: StructType, other: StructType) -> list[str]:
    """The names of columns that only one has, or that have another type."""
    first, second = ({field.name: field.dataType.simpleString() for field in side.fields} for side in (one, other))
    return [name for name in {**first, **second} if first.get(name) != second.get(name)]


def as_streaming(jvm: Jvm, plan: JavaValue) -> JavaValue:
    """Mark the leaves of a plan as streaming, as Spark requires of a batch."""

    def marked(node: JavaValue) -> JavaValue | None:
        if class_name(node) not in ("LogicalRelation", "LogicalRDD", "LocalRelation") or node.isStreaming():
            return None
        count = int(node.productArity())
        arguments = jvm.gateway.new_array(jvm.view.java.lang.Object, count)
        for place in range(count):
            known = SPARK.element_name(node, place) == "isStreaming"
            arguments[place] = True if known else node.productElement(place)
        return node.makeCopy(arguments)

    return plan.transformDown(Rewrite(marked))


def refused_rows(jvm: Jvm, session: JavaValue, columns: StructType, error: HudiHiveError) -> JavaValue:
    """A batch that raises an error when it is read."""

    def refuse(_: JavaValue) -> JavaValue:
        raise error

    rows = getattr(jvm.view.hudi, "DefaultSource$PlannedRows")
    relation = rows(session, session.parseDataType(columns.json()), Function1(refuse))
    companion = jvm.module("org.apache.spark.sql.execution.datasources.LogicalRelation")
    return jvm.classic.Dataset.ofRows(session, companion.apply(relation, True))


# -- the first offset --------------------------------------------------------------------------------------------------


def _initial_file(jvm: Jvm, session: JavaValue, folder: str) -> tuple[JavaValue, JavaValue, JavaValue]:
    path = jvm.view.org.apache.hadoop.fs.Path(folder)
    system = path.getFileSystem(session.sessionState().newHadoopConf())
    return system, path, jvm.view.org.apache.hadoop.fs.Path(path, "0")


def _read_initial(jvm: Jvm, session: JavaValue, folder: str) -> CommitOffset | None:
    """The first offset as the checkpoint has it (Hudi's own source keeps it under the same name, in the same form)."""
    system, _, file = _initial_file(jvm, session, folder)
    if not system.exists(file):
        return None
    stream = system.open(file)
    try:
        text = bytes(stream.readAllBytes()).decode("utf-8")
    finally:
        stream.close()
    head, _, body = text.partition("\n")
    return CommitOffset.parse(body if head.startswith("v") else text)


def _write_initial(jvm: Jvm, session: JavaValue, folder: str, offset: CommitOffset) -> None:
    """Keep the first offset, whole or not at all."""
    system, parent, file = _initial_file(jvm, session, folder)
    system.mkdirs(parent)
    beside = jvm.view.org.apache.hadoop.fs.Path(parent, ".0.tmp")
    stream = system.create(beside, True)
    try:
        stream.write(bytearray(f"v1\n{offset.to_json()}".encode()))
    finally:
        stream.close()
    if not system.rename(beside, file):
        raise SparkError(
            "the stream's first offset cannot be kept", path=str(file.toString()), remedy="check the folder"
        )
