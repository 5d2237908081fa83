"""The functions that users call: :func:`enable`, reads by name or path, planned scans."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from hudi_hive.errors import SparkError
from hudi_hive.metastore import find_java
from hudi_hive.names import HOODIE_DATASOURCE_QUERY_TYPE
from hudi_hive.options import ReadOptions, read
from hudi_hive.plan import Query
from hudi_hive.spark import connect_client
from hudi_hive.spark.bridge import (
    REDACTED_NAMES,
    REDACTION,
    JavaValue,
    Jvm,
    hide_secrets,
    option,
    set_session_options,
    tidy_callbacks,
    use_session_options_in_pickles,
    use_this_python,
)
from hudi_hive.spark.catalog import HudiTableEntry, SessionHook, hook_table_reads, require_table
from hudi_hive.spark.scan import Environment, PlannedScan, described_scans, location_of, relation_plan
from hudi_hive.spark.session.functions import drop_functions, identity, inject_functions, register_functions
from hudi_hive.spark.session.install import hook_later_sessions, hook_of, install, uninstall
from hudi_hive.spark.source import install_source
from hudi_hive.storage import Credentials
from hudi_hive.table.merge import register_mergers

_OLDEST_JAVA: Final = 8
"""With which Spark 3.5 runs; later releases say themselves what they need."""
_lock = threading.Lock()
_environments: WeakKeyDictionary[SparkContext, Environment] = WeakKeyDictionary()


def enable(spark: SparkSession, *, storage_options: Mapping[str, Any] | None = None) -> SparkSession:
    """Make Hudi tables readable and writable by name in a running session and all sessions made from it later.

    Afterwards ``SELECT … FROM db.t``, ``spark.table``, views, ``TIMESTAMP AS OF``, ``VERSION AS OF`` and
    ``hudi_table_changes('db.t', begin[, end])`` work on tables that a sync put into the session's metastore, and so do
    ``CREATE TABLE … USING hudi``, ``INSERT``, ``UPDATE``, ``DELETE``, ``MERGE``, ``ALTER``, ``CALL`` and
    ``format("hudi")``. Every statement sees the table as it is when the statement is analysed. Tasks of a ``local[…]``
    master run by the Python of this process, unless ``PYSPARK_PYTHON`` names another one.

    Args:
        spark: a session of classic PySpark 3.5 to 4.3; sessions made before this call and not enabled stay as they are.
            A session of Spark Connect is only checked: its server must be enabled (``docs/spark-connect.md``).
        storage_options: credentials and settings of stores, as for :class:`~hudi_hive.storage.Storage`, for all that
            is read and written in the context's sessions. They go before Spark's Hadoop configuration, which counts
            too; Spark's own readers get them where that says nothing (``docs/credentials.md``).

    Returns:
        The session.

    Raises:
        SparkError: the session cannot be hooked: a Spark Connect server that is not enabled,
            ``PYSPARK_PIN_THREAD=false``, or a version that lacks what is needed.
        InvalidOptionError: the setting ``spark.hudi_hive.record.mergers`` names what is no merger.
    """
    if connect_client.is_connect_session(spark):
        return connect_client.enable(spark, storage_options=storage_options)
    environment, session = _environment(spark), _java_session(spark)
    # Not of the session, whose users may set what they like: the modules run in this process.
    register_session_mergers(option(spark.sparkContext._jsc.sc().getConf().getOption(read.SPARK_MERGERS.name)))
    hide_secrets(spark.sparkContext, session)
    if storage_options is not None:
        set_session_options(spark.sparkContext, storage_options)
    use_session_options_in_pickles()
    extensions = identity(environment, session.extensions())
    with _lock:
        install(SessionHook(environment, session))
        environment.enable(session)
        environment.hooking.add(extensions)
        if extensions not in environment.extended:
            environment.extended.add(extensions)
            hook_later_sessions(environment, session.extensions())
            inject_functions(environment, session.extensions())
            install_source(environment, session)
        register_functions(session)
        hook_table_reads(_read_entry, _enabled_jvm)
    return spark


def enable_extensions(context: SparkContext, extensions: JavaValue) -> None:
    """Enable the sessions that the JVM makes itself with an object of extensions, as :func:`enable` does later ones.

    Args:
        context: over the JVM's Spark context.
        extensions: the JVM's ``SparkSessionExtensions``, of which no session is made yet.

    Raises:
        SparkError: this version of Spark lacks what is needed.
    """
    environment = _of_context(context)
    hide_secrets(context, None)
    use_session_options_in_pickles()
    with _lock:
        environment.extended.add(identity(environment, extensions))
        environment.hooking.add(identity(environment, extensions))
        hook_later_sessions(environment, extensions)
        inject_functions(environment, extensions)
        install_source(environment, None)


def register_session_mergers(text: object) -> None:
    """Register the mergers of the setting ``spark.hudi_hive.record.mergers`` in this process, which plans.

    Args:
        text: of the setting; None if Spark was started without it.

    Raises:
        InvalidOptionError: an entry of another form, or that names no function.
    """
    if text is not None:
        register_mergers(read.SPARK_MERGERS.parse(str(text)))


def require_java() -> None:
    """Look whether there is Java to start Spark with, whose own error does not say what to do.

    Raises:
        JavaNotFoundError: there is none, where nothing but the environment could name one.
    """
    home = os.environ.get("SPARK_CONF_DIR") or os.path.join(os.environ.get("SPARK_HOME", ""), "conf")
    may_be_elsewhere = os.path.exists(os.path.join(home, "spark-env.sh"))
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ and not may_be_elsewhere:
        find_java(_OLDEST_JAVA)


def disable(spark: SparkSession) -> SparkSession:
    """Undo :func:`enable`: the session is as Spark made it, and so are those that are made from it later.

    Names, paths, functions and ``format("hudi")`` mean what they mean to Spark, or are refused; storage options that
    :func:`enable` got are forgotten by the whole context. Other sessions that are enabled, and queries that run, go on.
    A session that is not enabled stays as it is.

    Args:
        spark: a session of classic PySpark.

    Returns:
        The session.

    Raises:
        SparkError: it is a session of Spark Connect, which only its server can change.
    """
    environment, session = _environment(spark), _java_session(spark)
    hook = hook_of(spark)
    if hook is None:
        return spark
    with _lock:
        environment.hooking.discard(identity(environment, session.extensions()))
        uninstall(hook)
        drop_functions(session)
        environment.disable(session)
    set_session_options(spark.sparkContext, {})
    return spark


def session_builder(metastore_uris: str | Sequence[str] = ()) -> SparkSession.Builder:
    """A builder of sessions on a Hive metastore, to set master and memory on; :func:`enable` what it makes.

    Args:
        metastore_uris: ``thrift://host:port``, one or several; without it the session's own settings decide.

    Raises:
        JavaNotFoundError: there is no Java to start Spark with.
    """
    require_java()
    builder = SparkSession.builder.config("spark.sql.catalogImplementation", "hive")
    builder = builder.config(REDACTION, REDACTED_NAMES)
    uris = metastore_uris if isinstance(metastore_uris, str) else ",".join(metastore_uris)
    return builder.config("spark.hadoop.hive.metastore.uris", uris) if uris else builder


def table(
    spark: SparkSession,
    name: str,
    *,
    query_type: str | None = None,
    as_of: str | None = None,
    begin: str | None = None,
    end: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """A synced table as a DataFrame, for any query type.

    Args:
        spark: a session; it need not be enabled.
        name: ``db.table``.
        query_type: ``snapshot`` (default), ``read_optimized`` or ``incremental``.
        as_of: time travel: instant or time.
        begin, end: incremental range: begin exclusive, end inclusive.
        options: Hudi's read options under their own names.

    Raises:
        SparkError: no such synced table.
        HudiHiveError: the query is refused.
    """
    environment, session = _environment(spark), _java_session(spark)
    entry = require_table(environment.jvm, session, name)
    if query_type is None and begin is None and HOODIE_DATASOURCE_QUERY_TYPE not in (options or {}):
        query_type = entry.query_type()
    query = Query.of(query_type, as_of=as_of, begin=begin, end=end, options=options)
    return _frame(spark, relation_plan(environment, session, entry.location, query, entry.declared))


def load(
    spark: SparkSession,
    path: str | os.PathLike[str],
    options: ReadOptions | Mapping[str, Any] | None = None,
    *,
    query_type: str | None = None,
    as_of: str | None = None,
    begin: str | None = None,
    end: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The table at a path as a DataFrame; no metastore is needed.

    Args:
        spark: a session; it need not be enabled.
        path: base path of the table.
        options: Hudi's read options under their own names.
        query_type, as_of, begin, end: as for :func:`table`.
        storage_options: of this read, before those of :func:`enable`.

    Raises:
        HudiHiveError: there is no such table, or the query is refused.
    """
    environment, session = _environment(spark), _java_session(spark)
    if storage_options is not None:
        environment = replace(environment, storage_options=Credentials(storage_options))
    query = Query.of(query_type, as_of=as_of, begin=begin, end=end, options=options)
    return _frame(spark, relation_plan(environment, session, location_of(path), query))


def planned_scans(spark: SparkSession) -> list[PlannedScan]:
    """The newest scans of Hudi tables that were planned in the session's context, oldest first."""
    return _environment(spark).log.records()


def explain(frame: DataFrame) -> str:
    """Describe what a query reads of Hudi tables and what was left out.

    There is a line for each scan by Spark's own reader, and for each set of slices with log files. Nothing is read;
    conditions that come from another part of the query when it runs (dynamic partition pruning) do not count.

    Args:
        frame: a DataFrame, such as ``spark.sql(…)`` gives.
    """
    environment = _environment(frame.sparkSession)
    session, execution = frame._jdf.sparkSession(), frame._jdf.queryExecution()
    made = environment.jvm.classic.Dataset.ofRows(session, execution.analyzed()).queryExecution()
    return "\n".join(dict.fromkeys(described_scans(environment.jvm, made.executedPlan())))


def last_scan(spark: SparkSession, name: str) -> PlannedScan:
    """The newest planned scan of a table, by its name in the catalog or its path.

    Raises:
        SparkError: none was planned yet; scans are planned when a query runs or is explained.
    """
    known = {name, location_of(name)}
    for record in reversed(planned_scans(spark)):
        if record.table in known:
            return record
    raise SparkError(f"no scan of {name} was planned yet", remedy="run or explain a query on it first")


def _read_entry(spark: SparkSession, entry: HudiTableEntry, query: Query) -> DataFrame:
    environment, session = _environment(spark), _java_session(spark)
    return _frame(spark, relation_plan(environment, session, entry.location, query, entry.declared))


def _enabled_jvm(spark: SparkSession) -> Jvm | None:
    hook = None if getattr(spark, "_jsparkSession", None) is None else hook_of(spark)
    return None if hook is None else hook.environment.jvm


def _frame(spark: SparkSession, plan: JavaValue) -> DataFrame:
    jvm = _environment(spark).jvm
    return DataFrame(jvm.classic.Dataset.ofRows(_java_session(spark), plan), spark)


def _java_session(spark: SparkSession) -> JavaValue:
    session = getattr(spark, "_jsparkSession", None)
    if session is None:
        raise SparkError(
            "this function needs Spark's JVM in its own process, which a client of Spark Connect has not",
            remedy="use spark.sql, spark.table and format('hudi') on an enabled server (docs/spark-connect.md)",
        )
    return session


def _environment(spark: SparkSession) -> Environment:
    _java_session(spark)
    return _of_context(spark.sparkContext)


def _of_context(context: SparkContext) -> Environment:
    with _lock:
        environment = _environments.get(context)
        if environment is None:
            jvm = Jvm(context)
            tidy_callbacks(jvm)
            use_this_python(context)
            environment = _environments[context] = Environment(jvm)
        return environment
