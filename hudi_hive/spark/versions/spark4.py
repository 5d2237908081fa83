"""Spark 4.0 to 4.3: Scala 2.13, and classic sessions in a package of their own beside those of Connect."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from hudi_hive.spark.versions.family import (
    AnalyzerRule,
    JavaValue,
    SparkFamily,
    add_rule,
    remove_rules,
    thrift_server,
)


class Spark4(SparkFamily):
    """The family of Spark 4."""

    frame_class = ClassicDataFrame
    classic = "classic"
    seq_class = "scala.collection.immutable.Seq"
    java_support = None
    has_scripts = True
    has_procedures = True
    widens_integers = True

    def __init__(self, minor: int) -> None:
        """The family of Spark 4.

        Args:
            minor: of the release: 0 is 4.0.
        """
        self.fills_columns = minor > 0

    def java_text(self, source: str) -> str:
        """As it is written."""
        return source

    def to_arrow(self, frame: DataFrame) -> pa.Table:
        """By PySpark's own method."""
        return frame.toArrow()

    def as_seq(self, jvm: JavaValue, array: JavaValue) -> JavaValue:
        """An immutable one."""
        return jvm.module("scala.collection.immutable.ArraySeq").unsafeWrapArray(array)

    def map_rows(self, rows: JavaValue, function: JavaValue) -> JavaValue:
        """By the sequence itself."""
        return rows.map(function).toVector()

    def element_name(self, value: JavaValue, at: int) -> str:
        """As the object tells it."""
        return str(value.productElementName(at))

    def add_analyzer_rules(self, jvm: JavaValue, session: JavaValue, first: AnalyzerRule, last: AnalyzerRule) -> None:
        """Among the rules for hints, which run first, and among those behind resolution."""
        analyzer = session.sessionState().analyzer()
        add_rule(jvm, analyzer, "hintResolutionRules", first)
        self.add_last_rule(jvm, session, last)

    def add_last_rule(self, jvm: JavaValue, session: JavaValue, rule: AnalyzerRule) -> None:
        """Among the rules behind resolution."""
        add_rule(jvm, session.sessionState().analyzer(), "postHocResolutionRules", rule)

    def remove_analyzer_rules(self, jvm: JavaValue, session: JavaValue, labels: Sequence[str]) -> None:
        """From both lists."""
        for name in ("hintResolutionRules", "postHocResolutionRules"):
            remove_rules(jvm, session.sessionState().analyzer(), name, labels)

    def session_settings(self, session: JavaValue) -> dict[str, str]:
        """As a Java map."""
        return {str(name): str(text) for name, text in dict(session.conf().getAllAsJava()).items()}

    def writer_field(self, jvm: JavaValue, writer: JavaValue, name: str) -> JavaValue:
        """By a method of the writer."""
        return getattr(writer, "curmode" if name == "mode" else name)()

    def start_thrift_server(self, context: SparkContext, session: JavaValue) -> JavaValue:
        """By the method that takes both."""
        return thrift_server(context).startWithSparkSession(session, False)
