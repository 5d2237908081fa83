"""The base files of a divided scan that Spark's own reader reads, as a file index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import LongType, StructField, StructType

from hudi_hive.predicate import RowFilter
from hudi_hive.spark.bridge import DIRECTORY_SCHEMA, JavaValue, Jvm, to_java
from hudi_hive.spark.logs import ReadBeside, listed_paths
from hudi_hive.spark.scan.column_sources import ColumnSources
from hudi_hive.spark.scan.hudi_file_index import HudiFileIndex, PlanLog, PlannedScan
from hudi_hive.spark.scan.snapshot import PlannedFiles, TableSnapshot

_FIRST_WORD = "_hudi_hive_first_word"
"""As in ``BaseFileFormats.java``, which says what it holds."""


@dataclass(frozen=True, slots=True)
class Division:
    """How a scan was divided.

    Attributes:
        read: the columns that the scan reads.
        others: what is read beside Spark's own reader.
        beside: how slices with log files are read whose base files Spark's own reader reads; None if there are none.
        rows: plan of the rows that are read beside Spark's own reader; None if there are none.
    """

    read: StructType
    others: tuple[PlannedScan, ...] = ()
    beside: ReadBeside | None = None
    rows: JavaValue | None = None

    @property
    def firsts(self) -> Mapping[str, int]:
        """The place of the first word of bits of base files whose rows may be left out, by path."""
        return {} if self.beside is None else self.beside.firsts


class BaseFileIndex(HudiFileIndex):
    """The slices that Spark's own reader reads; part of a scan that was divided, so it stays at its moment.

    Args:
        jvm, session, snapshot, columns, name, plan_log: as for :class:`HudiFileIndex`.
        division: what else is read.
    """

    def __init__(
        self,
        jvm: Jvm,
        session: JavaValue,
        snapshot: TableSnapshot,
        columns: ColumnSources,
        name: str,
        plan_log: PlanLog,
        division: Division,
    ) -> None:
        firsts = division.firsts
        if firsts:
            columns = replace(columns, path=StructType([*columns.path.fields, StructField(_FIRST_WORD, LongType())]))
        super().__init__(jvm, session, snapshot, columns, name, plan_log)
        self._division = division
        self._firsts = {f"{snapshot.location}/{path}": place for path, place in firsts.items()}
        # Which files are listed depends on the columns where older ones have other names or types.
        evolves = snapshot.evolves or snapshot.doubts_files or snapshot.has_skeletons
        self._token = f"{snapshot.token}|{division.read.simpleString()}" if evolves else snapshot.token
        self._token += f"|{hash(frozenset(firsts.items()))}" if firsts else ""

    def _described(self, records: Sequence[PlannedScan]) -> str:
        return super()._described([*records, *self._division.others])

    @to_java
    def refresh(self) -> None:
        """Do nothing, since the other part of the scan would stay at its moment."""

    def _files(self, partitions: Sequence[str] | None = None, row_filter: RowFilter | None = None) -> PlannedFiles:
        division = self._division
        planned = self.snapshot.files(
            partitions,
            beside_logs=True,
            but=list(division.firsts),
            columns=division.read,
            from_path=self.columns.path.names,
            row_filter=row_filter,
        )
        beside = division.beside
        if beside is None or beside.format is None:
            return planned
        return _with_records(planned, beside, self.snapshot.location, partitions)

    def folders(self, planned: PlannedFiles) -> tuple[PlannedFiles, pa.Table]:
        """Files with bits are folders of their own, since the place of the first one is a partition column to Spark."""
        if not self._firsts:
            return super().folders(planned)
        files = planned.files
        firsts = np.array([self._firsts.get(path, -1) for path in files.column("path").to_pylist()], np.int64)
        last = len(firsts) - planned.records_only
        firsts[last:] = -2 - firsts[last:]  # as BaseFileFormats.java has it
        codes = files.column("partition").combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
        order = np.lexsort((firsts, codes))
        files, firsts, codes = files.take(pa.array(order)), firsts[order], codes[order]
        changes = (np.diff(codes, prepend=-1) != 0) | (np.diff(firsts, prepend=-2) != 0)
        starts = pa.array(np.flatnonzero(changes))
        partitions = files.column("partition").take(starts).to_pylist()
        places = pa.array(firsts).take(starts).cast(pa.string())
        values = pa.table({_FIRST_WORD: places})
        if len(self.columns.path) > 1:
            values = self.columns.renamed(self.snapshot.partition_texts(partitions)).append_column(_FIRST_WORD, places)
        own = pa.array(np.cumsum(changes)).cast(pa.string())
        files = files.set_column(0, DIRECTORY_SCHEMA.field(0), own)
        return replace(planned, files=files, modified_ms=planned.modified_ms[order], records_only=0), values

    def toString(self) -> str:
        """The token of all slices, and that these are not all."""
        return f"BaseFileIndex({self._token})"


def _with_records(
    planned: PlannedFiles, beside: ReadBeside, location: str, partitions: Sequence[str] | None
) -> PlannedFiles:
    """With files that stand for slices of which nothing but log records is read.

    Their base file was left out, or they have none: the first log file, which is not opened, has its place.
    """
    slices = beside.plan.slices
    if partitions is not None:
        chosen = pc.is_in(slices.column("partition"), value_set=pa.array(partitions, pa.string()))
        slices = slices.filter(chosen)
    paths = pa.array([f"{location}/{path}" for path in listed_paths(slices)], pa.string())
    missing = pc.invert(pc.is_in(paths, value_set=planned.files.column("path").combine_chunks()))
    slices, paths = slices.filter(missing), paths.filter(missing)
    if not slices.num_rows:
        return planned
    sizes = pa.array(np.ones(len(paths), np.int64))  # Spark leaves empty files out, and cuts large ones up
    more = pa.table([slices.column("partition"), paths, sizes], schema=DIRECTORY_SCHEMA)
    return replace(
        planned,
        files=pa.concat_tables([planned.files, more]),
        modified_ms=np.append(planned.modified_ms, np.zeros(more.num_rows, np.int64)),
        records_only=more.num_rows,
    )
