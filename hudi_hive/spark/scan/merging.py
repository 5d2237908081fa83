"""Splits scans of merge-on-read and evolved tables into a part for Spark's own reader and one read by Python tasks.

Which columns and partitions a statement wants is known when it has been optimised, so an optimiser rule
(``MergeRule.java``) splits the scan then: slices of a base file alone stay a vectorised scan of Spark's over
:class:`BaseFileIndex`; of slices with log files, of those whose file holds one of the columns under another name or
type, and of HFiles, a task each reads the wanted columns, merges and gives Arrow batches. A relation that the rule did
not see is refused when its files are listed.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, StructField, StructType

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.plan import ScanPlan
from hudi_hive.predicate import RowFilter
from hudi_hive.read.remote import SliceRows
from hudi_hive.spark.bridge import (
    JavaValue,
    Jvm,
    RowBuilder,
    class_name,
    map_in_arrow,
    python_session,
    relations,
    scala_items,
    to_java,
)
from hudi_hive.spark.scan.column_sources import ColumnSources
from hudi_hive.spark.scan.filters import is_constant
from hudi_hive.spark.scan.hudi_file_index import HudiFileIndex, PlanLog, PlannedScan
from hudi_hive.spark.scan.schema import arrow_schema
from hudi_hive.spark.scan.snapshot import PlannedFiles, TableSnapshot, with_logs
from hudi_hive.table.bootstrap import of_skeletons

MERGE_RULE = "hudi_hive.MergeRule"

_NUMBER = "_hudi_hive_slice"
_BYTES_PER_TASK = 64 << 20
_TASKS_PER_CORE = 2


def install_merge_rule(jvm: Jvm, session: JavaValue) -> None:
    """Install the optimiser rule that splits scans. Idempotent."""
    jvm.add_optimization(session, MERGE_RULE, lambda: _new_rule(jvm))


def _new_rule(jvm: Jvm) -> JavaValue:
    return jvm.made("MergeRule")


class BaseFileIndex(HudiFileIndex):
    """The slices that Spark's own reader reads; part of a scan that was split, so it stays at its moment.

    Args:
        jvm, session, snapshot, columns, name, plan_log: as for :class:`HudiFileIndex`.
        merged: what the other part reads, None when there is none.
        read: the columns that the scan reads.
    """

    def __init__(
        self,
        jvm: Jvm,
        session: JavaValue,
        snapshot: TableSnapshot,
        columns: ColumnSources,
        name: str,
        plan_log: PlanLog,
        merged: PlannedScan | None,
        read: StructType,
    ) -> None:
        super().__init__(jvm, session, snapshot, columns, name, plan_log)
        self._merged = merged
        self._read = read
        # Which files are listed depends on the columns where older ones have other names or types.
        self._token = (
            f"{snapshot.token}|{read.simpleString()}" if snapshot.evolves or snapshot.doubts_times else snapshot.token
        )

    def _described(self, records: Sequence[PlannedScan]) -> str:
        return super()._described([*records, *([] if self._merged is None else [self._merged])])

    @to_java
    def refresh(self) -> None:
        """Do nothing, since the other part of the scan would stay at its moment."""

    def _files(self, partitions: Sequence[str] | None = None, row_filter: RowFilter | None = None) -> PlannedFiles:
        return self.snapshot.files(partitions, beside_logs=True, columns=self._read, row_filter=row_filter)

    def toString(self) -> str:
        """The token of all slices, and that these are not all."""
        return f"BaseFileIndex({self._token})"


class MergeFileIndex(HudiFileIndex):
    """All slices: as a function it splits a scan, as a file index it refuses what has to be split off.

    Args:
        jvm, session, snapshot, columns, name, plan_log: as for :class:`HudiFileIndex`.
    """

    class Java:
        implements = (*HudiFileIndex.Java.implements, "scala.Function1")

    def _base_files(self, merged: PlannedScan | None, read: StructType) -> BaseFileIndex:
        arguments = (self._jvm, self.session, self.snapshot, self.columns, self.name, self.plan_log)
        return BaseFileIndex(*arguments, merged, read)

    @to_java
    def apply(self, request: JavaValue) -> JavaValue:
        """``(index of slices for Spark's own reader, plan of the rows of the others or null)`` of a scan.

        The face keeps it for the next time that it is asked the same.

        Args:
            request: the scan's columns and its conditions, two sequences.
        """
        attributes, conditions = request[0], list(scala_items(request[1]))
        types = self._jvm.module("org.apache.spark.sql.catalyst.types.DataTypeUtils").fromAttributes(attributes)
        text = str(types.json())
        filters = [item for item in conditions if self._on_partitions(item)]
        columns = StructType.fromJson(json.loads(text))
        with self.lock:
            plan, record = self._merged(columns, filters, request[1])
            return self._jvm.view.scala.Tuple2(self._base_files(record, columns).face(), plan)

    def _on_partitions(self, condition: JavaValue) -> bool:
        """Whether a condition is about nothing but partition columns, and can be evaluated now."""
        names = {name.lower() for name in self.columns.in_paths.names}
        references = {str(item.name()).lower() for item in scala_items(condition.references().toSeq())}
        if not references or not references <= names or not condition.deterministic():
            return False
        return is_constant(condition)

    def _merged(
        self, columns: StructType, filters: list[JavaValue], conditions: JavaValue
    ) -> tuple[JavaValue | None, PlannedScan | None]:
        """The plan of the rows of slices for Arrow, and what it reads; None when there are none."""
        started = time.perf_counter()
        snapshot = self.snapshot
        if snapshot.may_have_logs:
            self._refuse_file_columns(columns)
        paths = snapshot.partition_paths()
        question = relations(self._jvm).question(
            self._jvm.seq(filters), conditions, self.columns.in_paths.json(), len(self.columns.path), self.session
        )
        description = json.loads(question.text()) if filters else None
        plan = snapshot.plan(self.prune(paths, question, description["names"]) if description else None)
        plan = replace(plan, slices=plan.slices.filter(snapshot.for_arrow(plan, columns)))
        planned_slices = plan.slices.num_rows
        if planned_slices:
            self._refuse_file_columns(columns)
        row_filter = self.row_filter(plan, question) if planned_slices else None
        if row_filter is not None:
            plan = snapshot.narrowed(plan, row_filter)
        slices = plan.slices
        if not slices.num_rows:
            return None, None
        made = self._rows_plan(plan, columns)
        merged = int(pc.sum(with_logs(plan)).as_py())
        record = PlannedScan(
            self.name,
            tuple(description["filters"]) if description else (),
            len(paths),
            len(pc.unique(slices.column("partition"))),
            len(pc.list_flatten(slices.column("log_files"))) + pc.sum(pc.is_valid(slices.column("base_file"))).as_py(),
            plan.total_bytes,
            time.perf_counter() - started,
            merged,
            tuple(columns.names),
            planned_slices - slices.num_rows,
            slices.num_rows - merged,
            _converted_from(snapshot, plan),
        )
        self.plan_log.add(record)
        return made, record

    def _refuse_file_columns(self, columns: StructType) -> None:
        columns_of_rows = {name.lower() for name in self.columns.all.names}
        for name in columns.names:
            if name.lower() not in columns_of_rows:
                raise UnsupportedTableError(
                    f"column {name} tells of files, and rows that are not read by Spark's own reader come from several",
                    path=self.snapshot.location,
                    remedy="leave it out, or query the read-optimised table",
                )

    def _rows_plan(self, plan: ScanPlan, columns: StructType) -> JavaValue:
        """A plan of tasks that read and merge the slices of ``plan``."""
        plan, tasks = _dealt(plan, int(self.session.sparkContext().defaultParallelism()))
        partition_fields = [field for field in self.columns.path.fields if field.name in columns.names]
        frame = self._requests(plan, partition_fields, tasks)
        self._set_size(frame, partition_fields, plan.total_bytes)
        rows = SliceRows(
            plan=plan,
            storage_options=self.snapshot.client.storage.storage_options,
            schema=arrow_schema(columns),
            constants=tuple(field.name for field in partition_fields),
        )
        python = DataFrame(frame, python_session(self.session))
        return map_in_arrow(python, rows, columns)._jdf.queryExecution().analyzed()

    def _requests(self, plan: ScanPlan, partition_fields: list[StructField], tasks: int) -> JavaValue:
        """The numbers of the slices with their partition values, typed by Spark, as a frame of so many tasks."""
        jvm = self._jvm
        columns = StructType([StructField(_NUMBER, IntegerType()), *partition_fields])
        values = pa.table({_NUMBER: pc.cast(pa.array(np.arange(plan.slices.num_rows)), pa.string())})
        if partition_fields:
            texts = self.columns.renamed(self.snapshot.partition_texts(plan.slices.column("partition").to_pylist()))
            self.columns.check_dates(texts, [field.name for field in partition_fields], self.snapshot.location)
            for field in partition_fields:
                values = values.append_column(field.name, texts.column(field.name))
        rows = RowBuilder(jvm, self.session, columns).typed(values, columns.names)
        tag = jvm.module("scala.reflect.ClassTag").apply(jvm.class_("org.apache.spark.sql.catalyst.InternalRow"))
        spread = self.session.sparkContext().parallelize(rows, tasks, tag)
        return self.session.internalCreateDataFrame(spread, self.session.parseDataType(columns.json()), False)

    def _set_size(self, frame: JavaValue, partition_fields: list[StructField], total: int) -> None:
        """Tell Spark how large the merged rows are: it would take them for endless, and never broadcast them.

        It makes the size of what Python gives out of the size of what Python gets, by the width of their rows.
        """
        jvm = self._jvm
        taken = StructType([StructField(_NUMBER, IntegerType()), *partition_fields])
        narrow, wide = (
            int(self.session.parseDataType(kind.json()).defaultSize()) + 8 for kind in (taken, self.columns.all)
        )
        leaf = frame.queryExecution().analyzed()
        statistics = relations(jvm).statistics(max(1, total * narrow // wide))
        jvm.field(leaf, "originStats").set(jvm.some(statistics))


def _converted_from(snapshot: TableSnapshot, plan: ScanPlan) -> str:
    """Why base files without log files are read in Arrow."""
    if snapshot.lacks_reader:
        return "HFile format"
    bootstrapped = snapshot.has_skeletons and pc.any(of_skeletons(plan.slices), min_count=0).as_py()
    return "a bootstrap, with their source files" if bootstrapped else "an older schema"


def _dealt(plan: ScanPlan, cores: int) -> tuple[ScanPlan, int]:
    """The plan with its slices in such an order that equal runs of them are about equal work, and how many runs.

    A run is a task; Spark cuts a sequence into runs of equal length.
    """
    slices = plan.slices
    sizes = pc.add(pc.fill_null(slices.column("base_size"), 0), _log_bytes(slices)).to_numpy()
    wanted = max(cores * _TASKS_PER_CORE, math.ceil(sizes.sum() / _BYTES_PER_TASK))
    tasks = min(slices.num_rows, wanted)
    largest_first = np.argsort(-sizes, kind="stable")
    order = np.concatenate([largest_first[first::tasks] for first in range(tasks)])
    # Runs of the first tasks would be the longer ones, where Spark makes the last ones longer.
    return replace(plan, slices=slices.take(pa.array(order[::-1].copy()))), tasks


def _log_bytes(slices: pa.Table) -> pa.Array:
    sizes = slices.column("log_sizes").combine_chunks()
    totals = [sum(item) if item else 0 for item in sizes.to_pylist()]
    return pa.array(totals, pa.int64())


def described_scans(jvm: Jvm, plan: JavaValue) -> list[str]:
    """Describe the scans of Hudi tables in a physical plan and its subqueries, a line for each."""
    plan = plan.inputPlan() if class_name(plan) == "AdaptiveSparkPlanExec" else plan
    lines: list[str] = []
    for node in scala_items(plan.collectLeaves()):
        location = node.relation().location() if class_name(node) == "FileSourceScanExec" else None
        if location is not None and "FileIndex(" in str(location.toString()) and class_name(location).startswith("$"):
            known = [item for item in scala_items(node.partitionFilters()) if is_constant(item)]
            location.listFiles(jvm.seq(known), node.dataFilters())
            lines += str(location.get()).splitlines()
    for subquery in scala_items(plan.subqueriesAll()):
        lines += described_scans(jvm, subquery)
    return lines
