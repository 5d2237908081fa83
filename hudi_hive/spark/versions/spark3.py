"""Spark 3.5: Scala 2.12, without Connect's classes beside the classic ones, without scripts and without ``CALL``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from hudi_hive.spark.versions.family import (
    AnalyzerRule,
    JavaValue,
    SparkFamily,
    add_rule,
    remove_rules,
    thrift_server,
)

_JAVA: Final = {
    "org.apache.spark.sql.classic.": "org.apache.spark.sql.",
    "scala.collection.immutable.Seq;": "scala.collection.Seq;",
    "import scala.collection.immutable.ArraySeq$;": "import scala.collection.mutable.WrappedArray$;",
    "ArraySeq$.MODULE$.unsafeWrapArray(": "WrappedArray$.MODULE$.make(",
    "scala.jdk.javaapi.CollectionConverters": "hudi_hive.CollectionConverters",
    '"USER_RAISED_EXCEPTION"': '"_LEGACY_ERROR_TEMP_1332"',  # the condition that is a text and no more
}
"""Text of Java source that is of Spark 4 and Scala 2.13 -> what takes its place."""

_ANALYZER: Final = "hudi_hive.CommandAnalyzer"


class Spark3(SparkFamily):
    """The family of Spark 3.5."""

    frame_class = DataFrame
    classic = ""
    seq_class = "scala.collection.Seq"
    java_support = "CollectionConverters"
    has_scripts = False
    has_procedures = False
    fills_columns = False
    widens_integers = False

    def __init__(self) -> None:
        self._elements: dict[str, list[str]] = {}

    def java_text(self, source: str) -> str:
        """With the names of Spark 3.5 and Scala 2.12."""
        for new, old in _JAVA.items():
            source = source.replace(new, old)
        return source

    def to_arrow(self, frame: DataFrame) -> pa.Table:
        """From the record batches that ``toPandas`` is made of."""
        collect: Callable[[], list[pa.RecordBatch]] = getattr(frame, "_collect_as_arrow")  # noqa: B009 - not in Spark 4
        return pa.Table.from_batches(collect(), to_arrow_schema(frame.schema))

    def as_seq(self, jvm: JavaValue, array: JavaValue) -> JavaValue:
        """A mutable one, as Scala 2.12 has no other."""
        return jvm.module("scala.collection.mutable.WrappedArray").make(array)

    def map_rows(self, rows: JavaValue, function: JavaValue) -> JavaValue:
        """By an iterator: sequences want to be told what collection the results become."""
        return rows.iterator().map(function).toVector()

    def element_name(self, value: JavaValue, at: int) -> str:
        """From the parameters of the constructor, as objects of Scala 2.12 do not tell names."""
        kind = value.getClass()
        name = str(kind.getName())
        if name not in self._elements:
            reflection = _jvm().org.apache.spark.sql.catalyst.ScalaReflection
            parameters = reflection.getConstructorParameterNames(kind)
            self._elements[name] = str(parameters.mkString("\n")).split("\n")
        return self._elements[name][at]

    def add_analyzer_rules(self, jvm: JavaValue, session: JavaValue, first: AnalyzerRule, last: AnalyzerRule) -> None:
        """By an analyser around the session's own, which has no place for rules that run first."""
        state = session.sessionState()
        analyzer = state.analyzer()
        if str(analyzer.toString()) != _ANALYZER:
            self.add_last_rule(jvm, session, last)
            jvm.field(state, "analyzer").set(jvm.made("CommandAnalyzer", analyzer, first.make()))

    def add_last_rule(self, jvm: JavaValue, session: JavaValue, rule: AnalyzerRule) -> None:
        """Among those of the session's own analyser, around which ours may be."""
        analyzer = session.sessionState().analyzer()
        own = analyzer.delegate() if str(analyzer.toString()) == _ANALYZER else analyzer
        add_rule(jvm, own, "postHocResolutionRules", rule)

    def remove_analyzer_rules(self, jvm: JavaValue, session: JavaValue, labels: Sequence[str]) -> None:
        """By the session's own analyser."""
        state = session.sessionState()
        analyzer = state.analyzer()
        if str(analyzer.toString()) == _ANALYZER:
            analyzer = analyzer.delegate()
            jvm.field(state, "analyzer").set(analyzer)
        remove_rules(jvm, analyzer, "postHocResolutionRules", labels)

    def session_settings(self, session: JavaValue) -> dict[str, str]:
        """From a Scala map."""
        texts = _jvm().scala.collection.JavaConverters.mapAsJavaMap(session.conf().getAll())
        return {str(name): str(text) for name, text in dict(texts).items()}

    def writer_field(self, jvm: JavaValue, writer: JavaValue, name: str) -> JavaValue:
        """By a private field of the writer."""
        return jvm.field(writer, name).get()

    def start_thrift_server(self, context: SparkContext, session: JavaValue) -> JavaValue:
        """By the method that takes the session's context."""
        return thrift_server(context).startWithContext(session.sqlContext())


def _jvm() -> JavaValue:
    context = SparkContext._active_spark_context
    assert context is not None
    return context._jvm
