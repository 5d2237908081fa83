"""Spark's ``FileIndex`` implemented in Python: which files a scan reads is asked here, when the scan is planned."""

from __future__ import annotations

import logging
import threading
import time
import zlib
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DateType, StructType

from hudi_hive.errors import PartitionValueError
from hudi_hive.plan import ScanPlan
from hudi_hive.predicate import RowFilter
from hudi_hive.spark.failures import JavaValue, to_java, watch
from hudi_hive.spark.filters import row_filter_of
from hudi_hive.spark.jvm import JavaProxy, Jvm, scala_items
from hudi_hive.spark.rows import RowBuilder
from hudi_hive.spark.snapshot import PlannedFiles, TableSnapshot
from hudi_hive.spark.weak import Weak

_LOG = logging.getLogger("hudi_hive.spark")

_LISTINGS_KEPT = 8
_RECORDS_KEPT = 200


@dataclass(frozen=True, slots=True)
class PlannedScan:
    """What one scan of a statement was planned to read.

    Attributes:
        table: name of the table in the catalog, or its base path.
        partition_filters: the predicates that chose partitions, as Spark prints them.
        partitions_total, partitions_planned: partitions of the table, and those whose files are read.
        files: number of files.
        bytes: their size.
        seconds: how long planning took.
        merged: number of slices with log files that are merged in Arrow; 0 for a scan by Spark's own reader.
        columns: the columns that slices are read with in Arrow.
        skipped: files (slices, in Arrow) left out by what the metadata table tells of their rows.
        converted: number of base files alone that are read in Arrow: a column has another name or type there.
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

    def describe(self) -> str:
        """A line on what is read and what was left out."""
        by = f" by {', '.join(self.partition_filters)}" if self.partition_filters else ""
        what = f"Spark's own reader: {self.files} base files"
        if self.merged:
            what = f"merged in Arrow: {self.merged} slices with log files, {self.files} files"
            what += f", {self.converted} of them converted from an older schema" if self.converted else ""
        elif self.converted:
            what = f"converted in Arrow: {self.converted} base files of an older schema"
        line = f"{self.table}: {self.partitions_planned} of {self.partitions_total} partitions{by}; {what}"
        line += f", {self.bytes} bytes"
        line += f", {self.skipped} left out by their statistics" if self.skipped else ""
        return f"{line}; columns {', '.join(self.columns) or 'none'}" if self.merged or self.converted else line

    def __str__(self) -> str:
        return (
            f"{self.table}: {self.partitions_planned} of {self.partitions_total} partitions, {self.files} files, "
            f"{self.bytes} bytes, planned in {self.seconds:.2f} s"
        )


class PlanLog:
    """The newest scans planned, oldest first; thread-safe and bounded."""

    def __init__(self) -> None:
        self._records: deque[PlannedScan] = deque(maxlen=_RECORDS_KEPT)

    def add(self, record: PlannedScan) -> None:
        """Append one."""
        _LOG.info("planned %s", record)
        self._records.append(record)

    def records(self) -> list[PlannedScan]:
        """All that are kept."""
        return list(self._records)


class HudiFileIndex(JavaProxy):
    """A table's files for Spark, as of the moment that its snapshot was taken.

    Spark calls it from whatever thread plans; answers are made under a lock and a few of them kept, since one statement
    asks the same more than once (adaptive execution, self-joins).

    Args:
        jvm: the JVM.
        session: the JVM's session.
        snapshot: the table at one moment.
        columns: the partition columns that Spark takes from partition paths, with their types.
        hidden: partition columns that Spark reads from the files, but whose values the paths tell too.
        name: what to call the table in logs.
        log: where planned scans are recorded.
    """

    _session = Weak()

    def __init__(
        self,
        jvm: Jvm,
        session: JavaValue,
        snapshot: TableSnapshot,
        columns: StructType,
        hidden: StructType,
        name: str,
        log: PlanLog,
    ) -> None:
        self._jvm = jvm
        self._session = session
        self._snapshot = snapshot
        self._columns = columns
        self._hidden = hidden
        self._name = name
        self._log = log
        self._builder = RowBuilder(jvm, session, columns)
        self._finder = RowBuilder(jvm, session, StructType([*columns.fields, *hidden.fields]))
        self._schema = session.parseDataType(columns.json())
        self._roots = jvm.seq([jvm.view.org.apache.hadoop.fs.Path(snapshot.location)])
        self._lock = threading.RLock()
        self._listings: OrderedDict[tuple[str, ...], tuple[list[JavaValue], JavaValue, PlannedScan]] = OrderedDict()
        self._last: PlannedScan | None = None
        watch(snapshot.location)

    @property
    def snapshot(self) -> TableSnapshot:
        """The table at the moment whose files are listed."""
        return self._snapshot

    # -- Spark's interface -------------------------------------------------------------------------------------------

    @to_java
    def rootPaths(self) -> JavaValue:
        """The base path."""
        return self._roots

    @to_java
    def partitionSchema(self) -> JavaValue:
        """The partition columns."""
        return self._schema

    @to_java
    def listFiles(self, partition_filters: JavaValue, data_filters: JavaValue) -> JavaValue:
        """Directories with the files of the partitions that the filters leave."""
        filters = [*scala_items(partition_filters), *self._on_hidden(data_filters)]
        on_rows = list(scala_items(data_filters)) if self._snapshot.has_indexes else []
        asked = [*filters, *on_rows]
        texts = tuple(str(item.toString()) for item in asked)
        with self._lock:
            kept = self._listings.get(texts)
            # A text leaves out what matters: the zone of a cast, which function a name stands for, the end of a list.
            if kept is not None and all(old.equals(new) for old, new in zip(kept[0], asked, strict=True)):
                self._last = kept[2]
                return kept[1]
            found, record = self._list(filters, texts[: len(filters)], on_rows)
            self._listings[texts] = asked, found, record
            while len(self._listings) > _LISTINGS_KEPT:
                self._listings.popitem(last=False)
            return found

    @to_java
    def inputFiles(self) -> JavaValue:
        """Paths of all files."""
        return self._jvm.strings(self._files().files.column("path").to_pylist())

    @to_java
    def sizeInBytes(self) -> int:
        """Bytes of all files: what Spark chooses join strategies by."""
        return self._snapshot.plan().total_bytes

    @to_java
    def refresh(self) -> None:
        """Look at the table anew (``REFRESH TABLE``)."""
        with self._lock:
            self._snapshot = self._snapshot.renewed()
            self._listings.clear()

    @to_java
    def metadataOpsTimeNs(self) -> JavaValue:
        """Unknown."""
        return self._jvm.none()

    def isTimeTravel(self) -> bool:
        """Whether the files are those of an earlier moment."""
        return self._snapshot.query.as_of is not None

    def toString(self) -> str:
        """The token: two indexes with the same one list the same files."""
        return f"HudiFileIndex({self._snapshot.token})"

    def hashCode(self) -> int:
        """Of the token."""
        value = zlib.crc32(self._snapshot.token.encode())
        return value - (1 << 32) if value >= 1 << 31 else value

    def equals(self, other: JavaValue) -> bool:
        """Whether the other is an index of the same table, query and timeline: such plans may share cached data."""
        return other is self or (other is not None and str(other.toString()) == self.toString())

    @to_java
    def get(self) -> str:
        """What was listed last, a line each."""
        return "\n".join(record.describe() for record in self._told())

    class Java:
        implements = ("org.apache.spark.sql.execution.datasources.FileIndex", "java.util.function.Supplier")

    # -- planning --------------------------------------------------------------------------------------------------

    def _on_hidden(self, data_filters: JavaValue) -> list[JavaValue]:
        """The data filters over nothing but hidden partition columns."""
        if not self._hidden.fields:
            return []
        names = {name.lower() for name in self._hidden.names}
        chosen = []
        for item in scala_items(data_filters):
            references = {str(a.name()).lower() for a in scala_items(item.references().toSeq())}
            # A subquery in a data filter has no value yet when files are listed.
            if references and references <= names and item.deterministic() and "subquery" not in str(item.toString()):
                chosen.append(item)
        return chosen

    def _list(
        self, filters: list[JavaValue], texts: tuple[str, ...], on_rows: list[JavaValue]
    ) -> tuple[JavaValue, PlannedScan]:
        started = time.perf_counter()
        snapshot = self._snapshot
        kept = self._prune(snapshot.partition_paths(), filters) if filters else None
        row_filter = self._row_filter(snapshot.plan(kept), on_rows) if on_rows else None
        planned = self._files(kept, row_filter)
        result = self._directories(planned)
        record = PlannedScan(
            self._name,
            texts,
            planned.partitions_total,
            planned.partitions_planned,
            planned.files.num_rows,
            int(pc.sum(planned.files.column("size")).as_py() or 0),
            time.perf_counter() - started,
            skipped=planned.skipped,
        )
        self._log.add(record)
        self._last = record
        return result, record

    def _row_filter(self, plan: ScanPlan, conditions: Sequence[JavaValue]) -> RowFilter | None:
        """What conditions say of rows; columns whose values come from partition paths are not in it."""
        return row_filter_of(conditions, plan.schema, self._columns.names)

    def _told(self) -> list[PlannedScan]:
        return [] if self._last is None else [self._last]

    def _files(self, partitions: Sequence[str] | None = None, row_filter: RowFilter | None = None) -> PlannedFiles:
        """The files that this index lists."""
        return self._snapshot.files(partitions, row_filter=row_filter)

    def _prune(self, paths: list[str], filters: Sequence[JavaValue]) -> list[str]:
        """The partitions whose values pass all filters; Spark itself evaluates them."""
        if not paths:
            return paths
        expressions = self._jvm.package("catalyst.expressions")
        predicate = filters[0]
        for item in filters[1:]:
            predicate = expressions.And(predicate, item)
        attributes = list(scala_items(predicate.references().toSeq()))
        known = {name.lower(): name for name in self._finder.columns.names}
        names = [known[str(attribute.name()).lower()] for attribute in attributes]
        texts = self._named(self._snapshot.partition_texts(paths))
        unclear = self._unclear(texts, names)
        keep = unclear.copy()
        clear = np.flatnonzero(~unclear)
        if len(clear):
            self._check_dates(texts, names)
            rows = self._finder.typed(texts.take(pa.array(clear)), names)
            keep[clear] = self._finder.mask(predicate, attributes, rows)
        return [path for path, kept in zip(paths, keep.tolist(), strict=True) if kept]

    def _unclear(self, texts: pa.Table, names: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Partitions whose path does not tell a hidden column: the default partition holds "" beside null."""
        unclear = np.zeros(texts.num_rows, np.bool_)
        for name in set(names) & set(self._hidden.names):
            unclear |= pc.is_null(texts.column(name)).to_numpy()
        return unclear

    def _directories(self, planned: PlannedFiles) -> JavaValue:
        paths = pc.unique(planned.files.column("partition")).to_pylist()
        if self._columns.fields:
            values = self._named(self._snapshot.partition_texts(paths))
            self._check_dates(values, self._columns.names)
        else:
            values = pa.table({"row": pa.nulls(len(paths))})
        return self._builder.directories(planned.files, values, planned.modified_ms)

    def _named(self, texts: pa.Table) -> pa.Table:
        """Columns under the names that Spark's schema gives them: the catalog may differ in case."""
        known = {name.lower(): name for name in self._finder.columns.names}
        return texts.rename_columns([known.get(name.lower(), name) for name in texts.column_names])

    def _check_dates(self, texts: pa.Table, names: Sequence[str]) -> None:
        """Spark would read ``19723`` as the year, not as a day number."""
        for name in names:
            if isinstance(self._finder.columns[name].dataType, DateType):
                fits = pc.fill_null(pc.match_substring_regex(texts.column(name), r"^\d{4}-\d{2}-\d{2}$"), True)
                if not pc.all(fits, min_count=0).as_py():
                    raise PartitionValueError(
                        f"partition column {name} is a date, but a partition path holds something else",
                        path=self._snapshot.location,
                    )
