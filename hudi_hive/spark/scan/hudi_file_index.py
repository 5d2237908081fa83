"""Spark's ``FileIndex`` implemented in Python, which lists the files of a scan when it is planned."""

from __future__ import annotations

import functools
import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.plan import ScanPlan
from hudi_hive.predicate import RowFilter
from hudi_hive.spark.bridge import (
    Function2,
    JavaProxy,
    JavaValue,
    Jvm,
    Weak,
    packed,
    packed_files,
    relations,
    strictly,
    to_java,
    watch,
)
from hudi_hive.spark.scan.column_sources import ColumnSources
from hudi_hive.spark.scan.filters import filter_of_json
from hudi_hive.spark.scan.snapshot import PlannedFiles, TableSnapshot

_LOG = logging.getLogger("hudi_hive.spark")

_MAX_RECORDS = 200
_TIME_POLICY = "spark.sql.legacy.timeParserPolicy"


@dataclass(frozen=True, slots=True)
class PlannedScan:
    """Statistics of a planned scan of a statement.

    Attributes:
        table: name of the table in the catalog, or its base path.
        partition_filters: the predicates that chose partitions, as Spark prints them.
        partitions_total, partitions_planned: partitions of the table, and those whose files are read. A folder that
            was not listed, since the filters rule it out, counts as one.
        files: number of files.
        bytes: their size.
        seconds: how long planning took.
        merged: number of slices with log files that are merged in Arrow; 0 for a scan by Spark's own reader.
        why: why these are not read by Spark's own reader, with the records of the log files beside it.
        beside: number of slices whose base files are, of a scan of those records.
        beside_first: number of those whose log files had to be read for it.
        counted: whether no file of these is read, since their number of rows is all that matters.
        columns: the columns that slices are read with in Arrow.
        skipped: files (slices, in Arrow) left out by what the metadata table tells of their rows.
        converted: number of base files alone that are read in Arrow: a column has another name or type there, or
            Spark has no reader of their format.
        converted_from: what these have: an older schema, HFile format, or a bootstrap.
    """

    table: str
    partition_filters: tuple[str, ...]
    partitions_total: int
    partitions_planned: int
    files: int
    bytes: int
    seconds: float
    merged: int = 0
    columns: tuple[str, ...] = ()
    skipped: int = 0
    converted: int = 0
    converted_from: str = "an older schema"
    why: str = ""
    beside: int = 0
    beside_first: int = 0
    counted: bool = False

    def describe(self) -> str:
        """Describe in a line what is read and what was left out."""
        by = f" by {', '.join(self.partition_filters)}" if self.partition_filters else ""
        what = f"Spark's own reader: {self.files} base files"
        if self.merged:
            what = f"merged in Arrow: {self.merged} slices with log files, {self.files} files"
            what += f", {self.converted} of them converted from {self.converted_from}" if self.converted else ""
            what += f" ({self.why})" if self.why else ""
        elif self.beside:
            what = f"log records of {self.beside} slices beside Spark's own reader: {self.files} log files"
            if self.counted:
                what = f"rows of {self.beside} slices counted by what log files do: {self.files} log files"
            what += f", {self._when()}"
        elif self.converted:
            what = f"converted in Arrow: {self.converted} base files of {self.converted_from}"
        line = f"{self.table}: {self.partitions_planned} of {self.partitions_total} partitions{by}; {what}"
        line += f", {self.bytes} bytes"
        line += f", {self.skipped} left out by their statistics" if self.skipped else ""
        by_arrow = self.merged or self.converted or self.beside
        return f"{line}; columns {', '.join(self.columns) or 'none'}" if by_arrow else line

    def _when(self) -> str:
        """When log files were read."""
        if self.beside_first in (0, self.beside):
            return "read now" if self.beside_first else "kept from before"
        return f"read now for {self.beside_first} slices, kept from before for others"

    def __str__(self) -> str:
        return (
            f"{self.table}: {self.partitions_planned} of {self.partitions_total} partitions, {self.files} files, "
            f"{self.bytes} bytes, planned in {self.seconds:.2f} s"
        )


class PlanLog:
    """The newest scans planned, oldest first; thread-safe and bounded."""

    def __init__(self) -> None:
        self._records: deque[PlannedScan] = deque(maxlen=_MAX_RECORDS)

    def add(self, record: PlannedScan) -> None:
        """Append one."""
        _LOG.info("planned %s", record)
        self._records.append(record)

    def records(self) -> list[PlannedScan]:
        """The newest scans, oldest first."""
        return list(self._records)


class Answering(Protocol):
    """The interface of the Python side of a file index of Spark."""

    def listing(self, question: JavaValue, text: str) -> None:
        """Answer a listing request of ``Relations.java``."""

    def toString(self) -> str:
        """A text that two indexes share when they list the same files."""


class HudiFileIndex(JavaProxy):
    """The file index of a table for Spark, as of the moment of its snapshot.

    Spark gets :meth:`face`, an object of ``Relations.java`` that answers what never changes by itself and keeps a few
    listings; it asks this one from whatever thread plans.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        snapshot: the table at one moment.
        columns: where the scan's columns come from.
        name: what to call the table in logs.
        plan_log: where planned scans are recorded.
    """

    session = Weak()

    def __init__(
        self,
        jvm: Jvm,
        session: JavaValue,
        snapshot: TableSnapshot,
        columns: ColumnSources,
        name: str,
        plan_log: PlanLog,
    ) -> None:
        self._jvm = jvm
        self.session = session
        self._snapshot = snapshot
        self.columns = columns
        self.name = name
        self.plan_log = plan_log
        self.lock = threading.RLock()
        watch(snapshot.location)

    @property
    def snapshot(self) -> TableSnapshot:
        """The table at the moment whose files are listed."""
        return self._snapshot

    def face(self, delegate: Answering | None = None, folders: Sequence[str] = ()) -> JavaValue:
        """The index for Spark.

        Args:
            delegate: answers in the place of this one.
            folders: more root paths.
        """
        answering = delegate or self
        return relations(self._jvm).face(
            answering,
            Function2(answering.listing),
            answering.toString(),
            json.dumps([self._snapshot.location, *folders]),
            self.columns.in_paths.json(),
            len(self.columns.path),
            self._snapshot.has_indexes,
            self._snapshot.query.as_of is not None,
            self.session,
        )

    # -- Spark's interface, as far as the face asks ------------------------------------------------------------------

    def listing(self, question: JavaValue, text: str) -> None:
        """Answer a question (``Relations.java``) by the directories of its partitions, with their files."""
        conditions = json.loads(text) if text else {"filters": [], "names": []}
        with self.lock:
            record = self._list(question, tuple(conditions["filters"]), conditions["names"])
        self.plan_log.add(record)

    @to_java
    def inputFiles(self) -> JavaValue:
        """Paths of all files."""
        return self._jvm.strings(self._files().opened.column("path").to_pylist())

    @to_java
    def sizeInBytes(self) -> int:
        """Bytes of all files: what Spark chooses join strategies by."""
        return self._snapshot.plan().total_bytes

    @to_java
    def refresh(self) -> None:
        """Reload the table (``REFRESH TABLE``)."""
        with self.lock:
            self._snapshot = self._snapshot.renewed()

    def toString(self) -> str:
        """The token: two indexes with the same one list the same files."""
        return f"HudiFileIndex({self._snapshot.token})"

    @to_java
    def get(self) -> str:
        """Describe the scans that were listed last, a line for each."""
        return self._described([])

    class Java:
        implements = ("org.apache.spark.sql.execution.datasources.FileIndex", "java.util.function.Supplier")

    # -- planning --------------------------------------------------------------------------------------------------

    def _list(self, question: JavaValue, filters: tuple[str, ...], names: Sequence[str]) -> PlannedScan:
        started = time.perf_counter()
        snapshot = self._snapshot
        total, partitions = self.chosen_partitions(question, names) if filters else (None, None)
        row_filter = self.row_filter(snapshot.plan(partitions), question) if snapshot.has_indexes else None
        planned = self._files(partitions, row_filter)
        opened = planned.opened
        record = PlannedScan(
            self.name,
            filters,
            planned.partitions_total if total is None else total,
            planned.partitions_planned,
            opened.num_rows,
            int(pc.sum(opened.column("size")).as_py() or 0),
            time.perf_counter() - started,
            skipped=planned.skipped,
        )
        self._add_directories(question, planned, self._described([record]))
        return record

    def row_filter(self, plan: ScanPlan, question: JavaValue) -> RowFilter | None:
        """Make a row filter of a question's conditions, without columns whose values come from partition paths."""
        return self._filter(question.conditions(), plan.schema, self.columns.path.names)

    def _filter(self, conditions: str, schema: pa.Schema, besides: Sequence[str]) -> RowFilter | None:
        texts = json.loads(conditions)
        if not texts:
            return None
        legacy_times = str(self.session.conf().get(_TIME_POLICY)).upper() == "LEGACY"
        return filter_of_json(texts, schema, besides, legacy_times=legacy_times)

    def chosen_partitions(self, question: JavaValue, names: Sequence[str]) -> tuple[int, list[str]]:
        """The number of partitions of the query, and the paths of those that pass a question's partition filters.

        Folders that the filters rule out are not listed; each counts as one partition.

        Args:
            question: of ``Relations.java``, with partition filters.
            names: the columns that they are about.
        """
        snapshot, row_filter = self._snapshot, None
        if snapshot.walks_folders:
            schema = snapshot.client.schema(snapshot.schema_time)
            row_filter = self._filter(question.partitionConditions(), schema, ())
        listed = snapshot.partitions_matching(row_filter)
        return len(listed.partitions) + listed.left_out, self.prune(listed.partitions, question, names)

    def _described(self, records: Sequence[PlannedScan]) -> str:
        return "\n".join(record.describe() for record in records)

    def _files(self, partitions: Sequence[str] | None = None, row_filter: RowFilter | None = None) -> PlannedFiles:
        """The files that this index lists."""
        return self._snapshot.files(partitions, row_filter=row_filter)

    def prune(self, paths: list[str], question: JavaValue, names: Sequence[str]) -> list[str]:
        """Choose the partitions whose values pass all filters of a question; Spark itself evaluates them.

        Args:
            paths: of partitions.
            question: of ``Relations.java``.
            names: the columns that its filters are about.
        """
        if not paths:
            return paths
        by_lower = {name.lower(): name for name in self.columns.in_paths.names}
        names = [by_lower[name.lower()] for name in names]
        texts = self.columns.renamed(self._snapshot.partition_texts(paths))
        self.columns.check_dates(texts, names, self._snapshot.location)
        keep = self._passing(texts, question, names)
        ambiguous = np.flatnonzero(self.columns.ambiguous(texts, names))
        if len(ambiguous):
            for other in self.columns.other_readings(texts.take(pa.array(ambiguous)), names):
                keep[ambiguous] |= self._passing(other, question, names)
        return [path for path, passes in zip(paths, keep.tolist(), strict=True) if passes]

    def _passing(self, texts: pa.Table, question: JavaValue, names: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which partitions, by the texts of their values, pass all filters of a question."""
        digits = self._strictly(functools.partial(question.mask, packed(texts, names), texts.num_rows))
        return np.equal(np.frombuffer(digits.encode("ascii"), np.uint8), ord("1"))

    def _add_directories(self, question: JavaValue, planned: PlannedFiles, conditions: str) -> None:
        """Answers a question."""
        names = self.columns.path.names
        planned, values = self.folders(planned)
        self.columns.check_dates(values, names, self._snapshot.location)
        for folders, paths_and_numbers in packed_files(planned.files, planned.modified_ms):
            part = packed(values.slice(folders.start, len(folders)), names)
            self._strictly(functools.partial(question.add, part, *paths_and_numbers, conditions))

    def folders(self, planned: PlannedFiles) -> tuple[PlannedFiles, pa.Table]:
        """Files folder by folder, and the texts of each folder's partition columns."""
        paths = pc.unique(planned.files.column("partition")).to_pylist()
        if self.columns.path.names:
            return planned, self.columns.renamed(self._snapshot.partition_texts(paths))
        return planned, pa.table({"row": pa.nulls(len(paths))})

    def _strictly(self, action: Callable[[], Any]) -> Any:  # noqa: ANN401
        return strictly(action, self.columns.in_paths)
