"""Splits scans of merge-on-read and evolved tables into a part for Spark's own reader and parts that Python tasks make.

Which columns and partitions a statement wants is known when it has been optimised, so an optimiser rule
(``MergeRule.java``) splits the scan then. Base files stay a vectorised scan of Spark's over :class:`BaseFileIndex`:
those that are alone, and those of slices with log files without the rows that these replace, whose records come in the
scan or beside it (:mod:`hudi_hive.spark.logs`). Of the other slices with log files, of those whose file holds one of
the columns under another name or type, and of HFiles, a task each reads the wanted columns, merges and gives Arrow
batches.
A relation that the rule did not see is refused when its files are listed.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType, TimestampType

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.options import read
from hudi_hive.plan import ScanPlan
from hudi_hive.read.columns import same_kind
from hudi_hive.read.remote import (
    EFFECT_COLUMN,
    ROWS_COLUMN,
    SLICE_COLUMN,
    LogRows,
    SliceRows,
    deserialize_error,
    raw_type,
)
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
from hudi_hive.spark.logs import LogEffects, ReadBeside, SliceRequest, files_of
from hudi_hive.spark.scan.base_file_index import BaseFileIndex, Division
from hudi_hive.spark.scan.filters import is_constant
from hudi_hive.spark.scan.hudi_file_index import HudiFileIndex, PlannedScan
from hudi_hive.spark.scan.schema import arrow_schema
from hudi_hive.spark.scan.snapshot import TableSnapshot, with_logs
from hudi_hive.spark.scan.widened import BY_ARROW
from hudi_hive.table.bootstrap import of_skeletons
from hudi_hive.table.view import log_bytes

MERGE_RULE = "hudi_hive.MergeRule"

_NUMBER = "_hudi_hive_slice"

_BYTES_PER_TASK = 64 << 20
_TASKS_PER_CORE = 2
_MOST_SHARES = 8
"""Shares of a slice with large log files, since more of them would hardly be quicker: each decodes all keys."""
_MOST_SLICES = 8
"""Slices of a task whose records are cached: a scan looks through all that the task made for those of each slice."""


def install_merge_rule(jvm: Jvm, session: JavaValue) -> None:
    """Install the optimiser rule that splits scans. Idempotent."""
    jvm.add_optimization(session, MERGE_RULE, lambda: jvm.made("MergeRule"))


class _Use(NamedTuple):
    """What a statement does with the rows of a scan.

    Attributes:
        limited: whether some rows will do.
        counted: whether nothing but their number matters.
        isolated: whether its tasks have classes of their session alone.
        most: bytes of log records that executors may keep.
        zone: the time zone of the session.
    """

    limited: bool
    counted: bool
    isolated: bool
    most: int
    zone: str


class MergeFileIndex(HudiFileIndex):
    """All slices: as a function it divides a scan, as a file index it refuses what has to be read elsewhere.

    Args:
        jvm, session, snapshot, columns, name, plan_log: as for :class:`HudiFileIndex`.
    """

    class Java:
        implements = (*HudiFileIndex.Java.implements, "scala.Function1")

    @to_java
    def apply(self, question: JavaValue) -> JavaValue:
        """Answer a question of ``Relations.java`` by what a scan is split into.

        That is the index of files for Spark's own reader, the other rows or null, a filter and bits, which are null
        where all rows of the base files count, whether the other rows, which are counted only, are those that pass the
        conditions, and a format. The face keeps it for when it is asked the same again.
        """
        scan = json.loads(str(question.request()))
        columns = StructType.fromJson(json.loads(scan["columns"]))
        records = read.SPARK_LOG_RECORDS
        most = records.default if scan["records"] is None else records.parse(scan["records"])
        use = _Use(scan["limited"], scan["counted"], scan["isolated"], most, scan["zone"])
        with self.lock:
            division = self._divided(columns, question, scan, use)
            arguments = (self._jvm, self.session, self.snapshot, self.columns, self.name, self.plan_log)
            index = BaseFileIndex(*arguments, division).face()
            bits, reader = (None, None) if division.beside is None else (division.beside.bits, division.beside.format)
            test = None if bits is None else log_effects(self._jvm).test
            question.divide(index, division.rows, test, bits, use.counted, reader)

    def _divided(self, columns: StructType, question: JavaValue, scan: Mapping[str, Any], use: _Use) -> Division:
        """Divide a scan by what Spark's own reader can read.

        Args:
            columns: of the scan.
            question: about it.
            scan: what the question says.
            use: what the statement does with the rows.
        """
        started = time.perf_counter()
        snapshot = self.snapshot
        if snapshot.may_have_logs:
            self._refuse_file_columns(columns)
        if scan["filters"]:
            total, partitions = self.chosen_partitions(question, scan["names"])
            plan = snapshot.plan(partitions)
        else:
            total, plan = len(snapshot.partition_paths()), snapshot.plan()
        plan = replace(plan, slices=plan.slices.filter(snapshot.for_arrow(plan, columns, self.columns.path.names)))
        planned_slices = plan.slices.num_rows
        if not planned_slices:
            return Division(columns)
        self._refuse_file_columns(columns)
        row_filter = self.row_filter(plan, question) if scan["has_conditions"] else None
        if row_filter is not None:
            plan = snapshot.narrowed(plan, row_filter)
        if not plan.slices.num_rows:
            return Division(columns)
        record = PlannedScan(
            self.name,
            tuple(scan["filters"]),
            total,
            0,
            0,
            0,
            started,
            columns=tuple(columns.names),
            skipped=planned_slices - plan.slices.num_rows,
        )
        return self._division(plan, columns, record, use)

    def _division(self, plan: ScanPlan, columns: StructType, record: PlannedScan, use: _Use) -> Division:
        """How the slices of a plan that are not base files for Spark's own reader alone are read.

        Args:
            plan: the slices.
            columns: those of the scan.
            record: of the scan, with the moment when planning began for its duration.
            use: what the statement does with the rows.
        """
        started = record.seconds
        beside, plan, why = self._beside(plan, columns, use)
        others, rows = [], []
        if beside is not None and beside.plan.slices.num_rows:
            others.append(_of_slices(replace(record, counted=use.counted), beside.plan, started, beside=beside.made))
            rows += [] if beside.records is None else [beside.records]
            record = replace(record, skipped=0)
        if plan.slices.num_rows:
            kind = _converted_from(self.snapshot, plan)
            others.append(_of_slices(replace(record, converted_from=kind, why=why), plan, started))
            rows.append(self._rows_plan(plan, columns))
        for each in others:
            self.plan_log.add(each)
        union = log_effects(self._jvm).union(rows)
        return Division(columns, tuple(others), beside, union)

    # -- slices whose base files Spark's own reader reads --------------------------------------------------------------

    def _beside(self, plan: ScanPlan, columns: StructType, use: _Use) -> tuple[ReadBeside | None, ScanPlan, str]:
        """The slices of a plan that are read so, the plan of the others, and why these are not."""
        mask = self.snapshot.with_effects(plan, columns)
        chosen = replace(plan, slices=plan.slices.filter(mask))
        if not chosen.slices.num_rows:
            return None, plan, ""
        why = self._why_not(chosen, columns, use.most)
        merge = plan.merge
        if why or merge is None:
            return None, plan, why
        whole = replace(chosen, row_filter=None, merge=replace(merge, keys=None))
        effects = log_effects(self._jvm)
        all_columns, constants = self.columns.all, self.columns.path.names
        scope = self._scope(whole, use.zone)
        request = SliceRequest(
            scope, whole, columns, all_columns, constants, self.session, self._log_rows_plan, isolated=use.isolated
        )
        if (use.limited or merge.keys is not None) and not effects.knows(request):
            if use.limited:
                return None, plan, "some rows will do"
            if not effects.requested_before(request):
                return None, plan, "records of few keys are asked for"
        try:
            beside = effects.rows(request) if use.counted else effects.beside(request, use.most)
        except (PySparkException, Py4JJavaError) as error:
            if deserialize_error(str(error)) is None:
                raise
            return None, plan, "what log files do could not be worked out"  # reading them says why
        merged = set(beside.reasons)
        left = [files in merged or not own for files, own in zip(files_of(plan), mask.to_pylist(), strict=True)]
        why = "; ".join(sorted(set(beside.reasons.values())))
        return beside, replace(plan, slices=plan.slices.filter(pa.array(left, pa.bool_()))), why

    def _why_not(self, plan: ScanPlan, columns: StructType, most: int) -> str:
        """Why no slice with log files can be read so; empty if they can."""
        snapshot, merge = self.snapshot, plan.merge
        if merge is None or merge.skip:
            return "log records are not merged"
        if plan.commit_times is not None:
            return "rows of some commits are asked for"
        if merge.spec.partial is not None:
            return "records are updated in part"
        if merge.spec.merger is not None:
            return "a registered merger merges records"
        if merge.spec.key_fields:
            return "the table has no meta columns"
        if snapshot.client.config.base_file_format != "parquet":
            return "base files are not Parquet"
        if snapshot.evolves:
            return "columns have ids"
        if snapshot.has_skeletons:
            return "the table is bootstrapped"
        if not self._has_own_types(plan):
            return "the catalog's columns are not the table's"
        whole = {item.name: item.dataType.simpleString() for item in self.columns.all.fields}
        if any(item.dataType.simpleString() != whole.get(item.name) for item in columns.fields):
            # Spark counts the fields of what it reads of a struct: in whole ones others stand in their places.
            return "parts of nested columns are read"
        sizes = [size for item in plan.slices.column("log_sizes").to_pylist() for size in item or ()]
        if None in sizes or pc.any(pc.is_null(plan.slices.column("log_sizes")), min_count=0).as_py():
            return "sizes of log files are not known"
        return f"{read.SPARK_LOG_RECORDS.name} is {most} bytes" if sum(sizes) > most else ""

    def _has_own_types(self, plan: ScanPlan) -> bool:
        """Whether the columns of files are shown with the types of the table."""
        own = {item.name.lower(): raw_type(item.type) for item in plan.schema}
        shown = arrow_schema(self.columns.data)
        return all(item.name.lower() in own and same_kind(own[item.name.lower()], item.type) for item in shown)

    def _scope(self, plan: ScanPlan, zone: str) -> str:
        """What tells effects on the same files apart: where they are, who reads them, and as what."""
        options = sorted(self.snapshot.client.storage.storage_options.items(), key=str)
        assert plan.merge is not None
        parts = (plan.base_path, options, plan.merge.spec, str(plan.schema), plan.path_columns)
        # Texts in partition paths are moments by the zone of the session.
        zone = zone if any(isinstance(item.dataType, TimestampType) for item in self.columns.path.fields) else ""
        return f"{parts} {self.columns.all.json()} {self.columns.path.names} {zone}"

    def _log_rows_plan(
        self, session: JavaValue, plan: ScanPlan, columns: StructType, packed: bool
    ) -> tuple[JavaValue, ScanPlan]:
        """A plan of tasks that work out effects on the slices of ``plan``, and the slices by their numbers there."""
        cores = int(session.sparkContext().defaultParallelism())
        shares = _shares(plan, cores)
        number = np.repeat(np.arange(len(shares)), shares)
        share = np.arange(len(number)) - np.repeat(np.cumsum(shares) - shares, shares)
        order, tasks = _dealt((_sizes(plan) // shares)[number], cores, most=_MOST_SLICES)
        requests = [each[order].tolist() for each in (number, share, shares[number])]
        partition_fields = [field for field in self.columns.path.fields if field.name in columns.names]
        frame = self._requests(session, plan, partition_fields, tasks, requests)
        rows = LogRows(
            plan=plan,
            storage_options=self.snapshot.client.storage.storage_options,
            schema=arrow_schema(columns),
            constants=tuple(field.name for field in partition_fields),
            file_columns=tuple(self.columns.data.names),
            packed=packed,
        )
        # An effect has no values of columns, also of those that every record has.
        optional = [StructField(item.name, BinaryType() if packed else item.dataType) for item in columns.fields]
        optional += [StructField(ROWS_COLUMN, IntegerType())] if packed else []
        shown = [*optional, StructField(SLICE_COLUMN, IntegerType()), StructField(EFFECT_COLUMN, BinaryType())]
        made = map_in_arrow(DataFrame(frame, python_session(session)), rows, StructType(shown))
        return made._jdf.queryExecution().analyzed(), plan

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
        order, tasks = _dealt(_sizes(plan), int(self.session.sparkContext().defaultParallelism()))
        partition_fields = [field for field in self.columns.path.fields if field.name in columns.names]
        frame = self._requests(self.session, plan, partition_fields, tasks, [order.tolist()])
        self._set_size(frame, partition_fields, plan.total_bytes)
        rows = SliceRows(
            plan=plan,
            storage_options=self.snapshot.client.storage.storage_options,
            schema=arrow_schema(columns),
            constants=tuple(field.name for field in partition_fields),
        )
        python = DataFrame(frame, python_session(self.session))
        return map_in_arrow(python, rows, columns)._jdf.queryExecution().analyzed()

    def _requests(
        self,
        session: JavaValue,
        plan: ScanPlan,
        partition_fields: list[StructField],
        tasks: int,
        numbers: list[list[int]],
    ) -> JavaValue:
        """Numbers of slices, and others, with partition values, typed by Spark, as a frame of so many tasks."""
        jvm = self._jvm
        names = [_NUMBER + "_" * place for place in range(len(numbers))]
        columns = StructType([*(StructField(name, IntegerType()) for name in names), *partition_fields])
        texts_of = [pc.cast(pa.array(each, pa.int32()), pa.string()) for each in numbers]
        values = pa.table(dict(zip(names, texts_of, strict=True)))
        if partition_fields:
            partitions = plan.slices.column("partition").take(pa.array(numbers[0], pa.int32())).to_pylist()
            texts = self.columns.renamed(self.snapshot.partition_texts(partitions))
            self.columns.check_dates(texts, [field.name for field in partition_fields], self.snapshot.location)
            for field in partition_fields:
                values = values.append_column(field.name, texts.column(field.name))
        rows = RowBuilder(jvm, self.session, columns).typed(values, columns.names)  # by its time zone
        tag = jvm.module("scala.reflect.ClassTag").apply(jvm.class_("org.apache.spark.sql.catalyst.InternalRow"))
        spread = session.sparkContext().parallelize(rows, tasks, tag)
        return session.internalCreateDataFrame(spread, session.parseDataType(columns.json()), False)

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
        return BY_ARROW.get(snapshot.client.config.base_file_format, "ORC files with times")
    bootstrapped = snapshot.has_skeletons and pc.any(of_skeletons(plan.slices), min_count=0).as_py()
    return "a bootstrap, with their source files" if bootstrapped else "an older schema"


def log_effects(jvm: Jvm) -> LogEffects:
    """The effects of log files that the executors of the JVM's context keep."""
    found: LogEffects = jvm.memoize("log effects", lambda: LogEffects(jvm))
    return found


def _of_slices(record: PlannedScan, plan: ScanPlan, started: float, beside: int | None = None) -> PlannedScan:
    """What is read of slices: merged, or their log records alone with the number of slices read for the first time."""
    slices = plan.slices
    logs, merged = len(pc.list_flatten(slices.column("log_files"))), int(pc.sum(with_logs(plan)).as_py())
    record = replace(
        record,
        partitions_planned=len(pc.unique(slices.column("partition"))),
        bytes=int(log_bytes(slices).sum()) if beside is not None else plan.total_bytes,
        seconds=time.perf_counter() - started,
    )
    if beside is not None:
        return replace(record, files=logs, beside=merged, beside_first=min(beside, merged))
    files = logs + pc.sum(pc.is_valid(slices.column("base_file"))).as_py()
    return replace(record, files=files, merged=merged, converted=slices.num_rows - merged)


def _sizes(plan: ScanPlan) -> npt.NDArray[np.int64]:
    """Bytes of the files of each slice."""
    sizes: npt.NDArray[np.int64] = pc.fill_null(plan.slices.column("base_size"), 0).to_numpy()
    return sizes + log_bytes(plan.slices)


def _shares(plan: ScanPlan, cores: int) -> npt.NDArray[np.int64]:
    """In how many shares what the log files of each slice do is worked out, so that all cores have work.

    Log files that fit in memory are not divided: each share looks at all keys of its slice.
    """
    assert plan.merge is not None
    parts = [plan.merge.memory.parts(sizes or ()) for sizes in plan.slices.column("log_sizes").to_pylist()]
    return np.minimum(np.array(parts, np.int64), max(1, min(_MOST_SHARES, cores // plan.slices.num_rows)))


def _dealt(sizes: npt.NDArray[np.int64], cores: int, most: int | None = None) -> tuple[npt.NDArray[np.int64], int]:
    """Such an order of what has so many bytes that equal runs of it are about equal work, and how many runs.

    A run is a task; Spark cuts a sequence into runs of equal length. ``most`` bounds the length of one.
    """
    wanted = max(cores * _TASKS_PER_CORE, math.ceil(sizes.sum() / _BYTES_PER_TASK))
    wanted = wanted if most is None else max(wanted, math.ceil(len(sizes) / most))
    tasks = min(len(sizes), wanted)
    largest_first = np.argsort(-sizes, kind="stable")
    order = np.concatenate([largest_first[first::tasks] for first in range(tasks)])
    # Runs of the first tasks would be the longer ones, where Spark makes the last ones longer.
    return order[::-1].copy(), tasks


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
