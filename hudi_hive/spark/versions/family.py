"""The abstract family of Spark releases: what one family does otherwise than another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import DataFrame

JavaValue: TypeAlias = Any
"""A reference to an object in the JVM; its methods are known only there."""


def scala_items(seq: JavaValue) -> Iterator[JavaValue]:
    """The elements of a short Scala collection; each costs a call to the JVM."""
    iterator = seq.iterator()
    while iterator.hasNext():
        yield iterator.next()


class AnalyzerRule(NamedTuple):
    """A rule for an analyser.

    Attributes:
        label: its text, by which it is known to be there.
        make: makes it.
    """

    label: str
    make: Callable[[], JavaValue]


class SparkFamily(ABC):
    """Names and ways of Spark that are not the same in all releases.

    ``jvm`` is a :class:`~hudi_hive.spark.bridge.Jvm` everywhere, which is above this package.

    Attributes:
        frame_class: class of the DataFrames that have a JVM.
        classic: package of the JVM's sessions and datasets below ``org.apache.spark.sql``; empty for that itself.
        seq_class: class of the sequences that plans hold.
        java_support: name of Java source that the rest of ours is compiled with; None without.
        has_scripts: whether its SQL has scripts, ``BEGIN … END``.
        has_procedures: whether its SQL has ``CALL``.
        fills_columns: whether inserts that leave columns out put their defaults into any table.
        widens_integers: whether its Parquet reader reads whole numbers of 32 bits as ones of 64 bits and as doubles.
    """

    frame_class: type[DataFrame]
    classic: str
    seq_class: str
    java_support: str | None
    has_scripts: bool
    has_procedures: bool
    fills_columns: bool
    widens_integers: bool

    @abstractmethod
    def java_text(self, source: str) -> str:
        """Java source of ours, which is written for Spark 4 and Scala 2.13, as this family's compiler takes it."""

    @abstractmethod
    def to_arrow(self, frame: DataFrame) -> pa.Table:
        """Collect a DataFrame as an Arrow table."""

    @abstractmethod
    def as_seq(self, jvm: JavaValue, array: JavaValue) -> JavaValue:
        """A Scala sequence over a Java array."""

    @abstractmethod
    def map_rows(self, rows: JavaValue, function: JavaValue) -> JavaValue:
        """A Scala sequence of the results of a function of Scala for each item of another."""

    @abstractmethod
    def element_name(self, value: JavaValue, at: int) -> str:
        """Name of an argument, by its place, of an object of a case class, such as a node of a plan."""

    @abstractmethod
    def add_analyzer_rules(self, jvm: JavaValue, session: JavaValue, first: AnalyzerRule, last: AnalyzerRule) -> None:
        """Have a session's analyser apply rules before it resolves names, and behind all of its own. Idempotent.

        Args:
            jvm: the JVM.
            session: the JVM's session.
            first: the rule that sees plans as they are parsed.
            last: the rule that sees what they became.
        """

    @abstractmethod
    def add_last_rule(self, jvm: JavaValue, session: JavaValue, rule: AnalyzerRule) -> None:
        """Have a session's analyser apply a rule behind all of its own. Idempotent."""

    @abstractmethod
    def remove_analyzer_rules(self, jvm: JavaValue, session: JavaValue, labels: Sequence[str]) -> None:
        """Undo :meth:`add_analyzer_rules` and :meth:`add_last_rule` of rules with these labels."""

    @abstractmethod
    def session_settings(self, session: JavaValue) -> dict[str, str]:
        """Names and texts of all that is set in a session of the JVM."""

    @abstractmethod
    def writer_field(self, jvm: JavaValue, writer: JavaValue, name: str) -> JavaValue:
        """What was said to a ``DataFrameWriter`` of the JVM.

        Args:
            jvm: the JVM.
            writer: the JVM's writer.
            name: ``source``, ``mode``, ``extraOptions``, ``partitioningColumns`` or ``bucketColumnNames``.
        """

    @abstractmethod
    def start_thrift_server(self, context: SparkContext, session: JavaValue) -> JavaValue:
        """Start Spark's Thrift server on a session of the JVM, which an error does not end; gives the server."""


def add_rule(jvm: JavaValue, analyzer: JavaValue, field_name: str, rule: AnalyzerRule) -> None:
    """Add a rule to a list of rules that an analyser keeps in a private field, unless one of its label is there."""
    field = jvm.field(analyzer, field_name)
    rules = list(scala_items(field.get()))
    if all(str(one.toString()) != rule.label for one in rules):
        field.set(jvm.seq([*rules, rule.make()]))


def remove_rules(jvm: JavaValue, analyzer: JavaValue, field_name: str, labels: Sequence[str]) -> None:
    """Take rules with these labels from a list of rules that an analyser keeps in a private field."""
    field = jvm.field(analyzer, field_name)
    rules = list(scala_items(field.get()))
    kept = [one for one in rules if str(one.toString()) not in labels]
    if len(kept) < len(rules):
        field.set(jvm.seq(kept))


def thrift_server(context: SparkContext) -> JavaValue:
    """The class of Spark's Thrift server."""
    return getattr(context._jvm, "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2")
