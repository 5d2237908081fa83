"""The data source ``hudi``: ``spark.read.format("hudi")``, ``USING hudi OPTIONS (…)``, ``readStream.format("hudi")``.

Spark looks a data source up by its class, so there is one: ``hudi.DefaultSource`` of ``HudiSource.java``, compiled on
the driver and put where Spark's class loader finds it. All it does is to ask the functions here. The format's long name
``org.apache.hudi``, which code written for Hudi's own source may use, is a class of that package below it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from hudi_hive.errors import InvalidOptionError, SchemaError, SparkError, UnknownColumnError
from hudi_hive.names import HOODIE_PREFIX
from hudi_hive.options import key_generator_name, remedy_of_habit, table
from hudi_hive.plan import QueryType
from hudi_hive.schema import META_FIELDS
from hudi_hive.spark.bridge import (
    Function1,
    JavaProxy,
    JavaValue,
    Jvm,
    Weak,
    class_files,
    class_folder,
    java_source,
    python_session,
    to_java,
)
from hudi_hive.spark.catalog import path_question
from hudi_hive.spark.scan import (
    Declared,
    Environment,
    HudiFileIndex,
    Scanned,
    TableSnapshot,
    changes_plan,
    commit_times,
    file_index,
    files_relation,
    records_plan,
    scanned,
    table_snapshot,
)
from hudi_hive.spark.source.stream_options import OF_DATAFRAMES
from hudi_hive.spark.write import WriteMode
from hudi_hive.storage import Credentials, is_store_name
from hudi_hive.write.coordination import log_failure

COMMIT_RULE = "hudi_hive.CommitRule"

_CLASS = "hudi.DefaultSource"

_EXTENSIBLE = (
    "org.apache.spark.util.MutableURLClassLoader",
    "scala.reflect.internal.util.ScalaClassLoader$URLClassLoader",
)
"""Class loaders that take more."""

_LONG_NAME = "package org.apache.hudi; public class DefaultSource extends hudi.DefaultSource {}"

# -- the class ---------------------------------------------------------------------------------------------------------


def install_source(environment: Environment, session: JavaValue | None) -> None:
    """Register the data source ``hudi``. Idempotent; a Hudi bundle on the class path takes precedence.

    Args:
        environment: of the Spark context.
        session: a session of the JVM; None before the first one is made, in a program that Spark submitted.

    Raises:
        SparkError: the class cannot be made with this version of Spark.
    """
    context = environment.jvm.view.java.lang.Thread.currentThread().getContextClassLoader()
    loader = context if session is None else session.sharedState().jarClassLoader()
    loaded = _loaded_class(loader)
    if loaded is None:
        _extensible_loader(context, session).addURL(_compiled_classes(environment.jvm))
        loaded = loader.loadClass(_CLASS)
    loaded.getField("handler").set(None, Function1(lambda question: answer(environment, list(question))))


def _loaded_class(loader: JavaValue) -> JavaValue | None:
    """The class, if it was added to this JVM before."""
    try:
        return loader.loadClass(_CLASS)
    except (PySparkException, Py4JJavaError):
        return None


def _extensible_loader(loader: JavaValue, session: JavaValue | None) -> JavaValue:
    """The class loader of what submitted the application, or of its Scala shell, at or above that of this thread.

    That of a session, for ADD JAR, is below it.
    """
    while loader is not None:
        if str(loader.getClass().getName()) in _EXTENSIBLE:
            return loader
        loader = loader.getParent()
    if session is None:
        raise SparkError("this program was not started by spark-submit", remedy="start it with spark-submit --jars")
    return session.sharedState().jarClassLoader()


def _compiled_classes(jvm: Jvm) -> JavaValue:
    """The address of a folder with the compiled source."""
    main = jvm.cooked(_CLASS, java_source("HudiSource"))
    long = jvm.cooked("org.apache.hudi.DefaultSource", _LONG_NAME, main.getClassLoader())
    folder = class_folder(jvm)
    for codes in (*jvm.support_codes(), main.getBytecodes(), long.getBytecodes()):
        for path, code in class_files(codes):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(code)
    return jvm.view.java.net.URI(folder.as_uri() + "/").toURL()


# -- what it is asked --------------------------------------------------------------------------------------------------


def answer(environment: Environment, question: list[JavaValue]) -> JavaValue:
    """Answer a request of ``hudi.DefaultSource``.

    Args:
        environment: of the Spark context.
        question: a word, the JVM's session, option names and values in turn, and the rest.

    Raises:
        HudiHiveError: it cannot be done.
    """
    kind, session, pairs, *rest = question
    environment.check_enabled(session)
    texts = list(pairs)
    parameters = {str(name): str(value) for name, value in zip(texts[::2], texts[1::2], strict=True)}
    environment, parameters = _with_stores(environment, parameters, writes=kind in ("write", "sink"))
    if kind == "stream schema":
        from hudi_hive.spark.source.streaming import source_schema

        columns = source_schema(environment, session, parameters)
        return session.parseDataType(columns.json()) if rest[0] is None else rest[0]
    if kind == "stream":
        from hudi_hive.spark.source.streaming import StreamedQuery, create_source

        schema = None if rest[0] is None else StructType.fromJson(json.loads(rest[0].json()))
        return create_source(environment, session, StreamedQuery(str(rest[1]), rest[2], schema), parameters)
    if kind == "sink":
        from hudi_hive.spark.source.batches import create_sink

        return create_sink(environment, session, parameters, str(rest[0]), [str(name) for name in rest[1]])
    if kind == "write":
        return _write(environment, session, parameters, str(rest[0]), rest[1])
    schema = None if rest[0] is None else StructType.fromJson(json.loads(rest[0].json()))
    return read_relation(environment, session, parameters, schema)


def _with_stores(
    environment: Environment, parameters: dict[str, str], *, writes: bool
) -> tuple[Environment, dict[str, str]]:
    """Take properties of stores, such as ``fs.s3a.access.key``, out of a call's options, and let them count in it.

    Those of Hudi stay options of a write, whose sync and lock take them, too.
    """
    of_stores = {name: text for name, text in parameters.items() if is_store_name(name)}
    if not of_stores:
        return environment, parameters
    others = {
        name: text
        for name, text in parameters.items()
        if name not in of_stores or (writes and name.startswith(HOODIE_PREFIX))
    }
    return replace(environment, storage_options=Credentials(of_stores)), others


_PARTITION_BY = "__partition_columns"
"""What Spark calls the columns of a writer's ``partitionBy``, as JSON."""

_MODES: Mapping[str, WriteMode] = {
    "Append": "append",
    "Overwrite": "overwrite",
    "ErrorIfExists": "error",
    "Ignore": "ignore",
}


def _write(
    environment: Environment, session: JavaValue, parameters: dict[str, str], mode: str, rows: JavaValue
) -> JavaValue:
    """What ``df.write.format("hudi").save(path)`` does; the relation is of the table afterwards."""
    from hudi_hive.spark.write import write

    path = parameters.pop("path", None)
    if path is None:
        raise SparkError("writing a Hudi table needs a path", remedy="give save() the base path of the table")
    frame = DataFrame(rows, python_session(session))
    parameters |= _partition_fields(parameters)
    options = {name: value for name, value in parameters.items() if name.startswith((HOODIE_PREFIX, "hive."))}
    unknown = sorted(parameters.keys() - options.keys())
    if unknown:
        remedies = [text for text in map(remedy_of_habit, unknown) if text is not None]
        raise InvalidOptionError(
            f"options that are not Hudi's: {', '.join(unknown)}", path=path, remedy="; ".join(remedies) or None
        )
    if mode == "Append":
        options = {**OF_DATAFRAMES, **options}
    report = write(frame, path, options, _MODES[mode], storage_options=environment.storage_options)
    try:
        return read_relation(environment, session, {"path": path})
    except Exception as error:
        if report is None:
            raise
        # Spark looks at it for cached queries only, and an error would make rows that are committed look like none.
        log_failure("the relation of the table", report.instant.requested, error)
        return _planned_rows(environment, session, rows.queryExecution().analyzed())


def _partition_fields(parameters: dict[str, str]) -> dict[str, str]:
    """The option that ``partitionBy(…)`` of a writer is, where no option names partition fields.

    Source: Hudi's ``DataSourceWriteOptions.mayBeDerivePartitionPath``.
    """
    columns = json.loads(parameters.pop(_PARTITION_BY, "[]"))
    if not columns or any(name in parameters for name in table.PARTITION_FIELDS.names):
        return {}
    generators = [parameters[name] for name in table.KEY_GENERATOR.names if name in parameters]
    if generators and key_generator_name(generators[0]).startswith("CUSTOM"):
        columns = [name if ":" in name else f"{name}:SIMPLE" for name in columns]
    return {table.PARTITION_FIELDS.name: ",".join(columns)}


def read_relation(
    environment: Environment, session: JavaValue, parameters: Mapping[str, str], schema: StructType | None = None
) -> JavaValue:
    """Make the relation of a query, whose files are fixed when it is made, as in Spark's own file sources.

    Args:
        environment: of the Spark context.
        session: the JVM's session.
        parameters: Spark's options of a read: ``path``, and Hudi's read options under their own names.
        schema: the columns to show, when the user or a catalog tells them.

    Raises:
        HudiHiveError: the options say no table, or a query that is refused.
    """
    location, query = path_question(environment.jvm, session, parameters)
    records = records_plan(session, location, query, lambda: environment.store_options(session, location))
    if records is not None:
        _check_record_columns(location, records, schema)
        return _planned_rows(environment, session, records)
    snapshot = table_snapshot(environment, session, location, query)
    if query.query_type is QueryType.CDC:
        return _planned_rows(environment, session, changes_plan(session, snapshot))
    scan = scanned(snapshot, None if schema is None else _declared(snapshot, schema))

    index = _Indexes(environment, session, scan)
    if query.query_type is QueryType.INCREMENTAL:
        commit_times(snapshot)  # refuses what cannot be answered now, not when rows are read
        _install_commit_rule(environment.jvm, session)
        made: SourceIndex = CommitsIndex(environment.jvm, snapshot, index)
    else:
        made = (MergedIndex if snapshot.may_be_split else SourceIndex)(environment.jvm, snapshot, index)
    # All columns are given as columns of files, so that partition columns keep their place among them.
    return files_relation(environment, session, scan, made.face(), scan.columns)


def _check_record_columns(location: str, records: JavaValue, schema: StructType | None) -> None:
    """Refuse columns that a user or a catalog gives a metadata table, but for its own."""
    own = StructType.fromJson(json.loads(records.schema().json()))
    if schema is not None and schema.simpleString().lower() != own.simpleString().lower():
        raise SchemaError(
            "the columns given are not those of the metadata table", path=location, remedy="leave the schema out"
        )


def _declared(snapshot: TableSnapshot, schema: StructType) -> Declared:
    """Columns that a user or a catalog gives.

    Those the table does not have would be read as nulls, and numbers as narrower ones without what does not fit; the
    path's text of a partition value can be of any type.
    """
    own = snapshot.columns
    table_types = {field.name.lower(): field.dataType.simpleString() for field in own.fields}
    table_types = dict.fromkeys(map(str.lower, META_FIELDS), "string") | table_types  # a sync declares them in any case
    in_path = {name.lower() for name in snapshot.partition_fields}
    for field in schema.fields:
        kind = table_types.get(field.name.lower())
        if kind is None:
            raise UnknownColumnError(f"the table has no column {field.name}", path=snapshot.location)
        if kind != field.dataType.simpleString() and field.name.lower() not in in_path:
            raise SchemaError(
                f"column {field.name} is {kind} in the table, not {field.dataType.simpleString()}",
                path=snapshot.location,
                remedy="leave the schema out, and cast",
            )
    return Declared(snapshot.location, schema, (), None)


def _planned_rows(environment: Environment, session: JavaValue, plan: JavaValue) -> JavaValue:
    """The relation of a plan whose rows are made in Python."""
    jvm = environment.jvm

    def rows(names: JavaValue) -> JavaValue:
        frame = jvm.classic.Dataset.ofRows(session, plan)
        columns = jvm.gateway.new_array(jvm.package("Column"), len(names))
        for position, name in enumerate(names):
            columns[position] = frame.col(f"`{name}`")
        return frame.select(columns).queryExecution().toRdd()

    return getattr(jvm.view.hudi, "DefaultSource$PlannedRows")(session, plan.schema(), Function1(rows))


# -- its files ---------------------------------------------------------------------------------------------------------


class _Indexes:
    """Makes the table's own index at a moment. A view of the session may hold it, so it does not hold the session."""

    _session = Weak()

    def __init__(self, environment: Environment, session: JavaValue, scan: Scanned) -> None:
        self._environment = environment
        self._session = session
        self._scan = scan

    def __call__(self, moment: TableSnapshot) -> HudiFileIndex:
        scan = replace(self._scan, snapshot=moment)
        return file_index(self._environment, self._session, scan, moment.location)


class SourceIndex(JavaProxy):
    """The file index of the data source's relation: the table's own, which Spark cannot write into.

    Spark writes into a relation of files at INSERT, past Hudi's timeline, if it has one root path: this one has two.

    Args:
        jvm: the JVM.
        snapshot: the table at one moment.
        make: the table's own index at a moment.
    """

    def __init__(self, jvm: Jvm, snapshot: TableSnapshot, make: Callable[[TableSnapshot], HudiFileIndex]) -> None:
        self._jvm = jvm
        self._make = make
        self._index = make(snapshot)

    def face(self) -> JavaValue:
        """The index for Spark; its roots are the base path, and the timeline's, where no table can be."""
        return self._index.face(self, [f"{self._index.snapshot.location}/.hoodie"])

    def listing(self, question: JavaValue, text: str) -> None:
        """As the table's own."""
        self._index.listing(question, text)

    @to_java
    def refresh(self) -> None:
        """Reload the table (``REFRESH TABLE``)."""
        self._index = self._make(self._index.snapshot.renewed())

    def toString(self) -> str:
        """As the table's own."""
        return self._index.toString()

    def __getattr__(self, name: str) -> Callable[..., JavaValue]:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._index, name)  # type: ignore[no-any-return]

    class Java:
        implements = HudiFileIndex.Java.implements


class MergedIndex(SourceIndex):
    """A :class:`SourceIndex` of slices of several kinds, whose scan an optimiser rule splits (``scala.Function1``)."""

    class Java:
        implements = (*HudiFileIndex.Java.implements, "scala.Function1")


class CommitsIndex(SourceIndex):
    """A :class:`SourceIndex` of an incremental query: an optimiser rule adds the filter of commit times."""

    @to_java
    def apply(self) -> JavaValue:
        """``(index, times of the commits)``."""
        index = self._index  # of one moment, whatever is refreshed meanwhile
        return self._jvm.view.scala.Tuple2(index.face(), self._jvm.strings(commit_times(index.snapshot)))

    def listing(self, question: JavaValue, text: str) -> None:
        """Refuses: files without the filter would show rows of other commits."""
        raise SparkError(
            "an incremental query was planned by a session that does not know it",
            path=self._index.snapshot.location,
            remedy="query it in the session that made it",
        )

    class Java:
        implements = (*HudiFileIndex.Java.implements, "scala.Function0")


def _install_commit_rule(jvm: Jvm, session: JavaValue) -> None:
    """Let a session plan incremental queries of the data source. Idempotent."""
    jvm.add_optimization(session, COMMIT_RULE, getattr(jvm.view.hudi, "DefaultSource$CommitRule"))
