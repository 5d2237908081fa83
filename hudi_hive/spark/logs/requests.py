"""What is asked of the effects of log files, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql.types import StructType

from hudi_hive.plan import ScanPlan
from hudi_hive.spark.bridge import JavaValue

SliceFiles: TypeAlias = tuple[Any, ...]
"""Names and sizes of a slice's files."""

Moments: TypeAlias = tuple[tuple[str, bool, int | None], ...]
"""Instants with whether they count, and when the timeline's file of each was made."""

Make: TypeAlias = Callable[[JavaValue, ScanPlan, StructType, bool], tuple[JavaValue, ScanPlan]]
"""Gives, for a session, slices, columns, and whether records are packed, the plan of
:class:`~hudi_hive.read.remote.log_rows.LogRows`, and the slices in the order of their numbers there; without columns
the effects alone."""


@dataclass(frozen=True, slots=True)
class ReadBeside:
    """How Spark reads slices with log files.

    Attributes:
        plan: the slices, each of which has an effect without a reason against it.
        records: plan of the records of the log files, or of as many rows as the slices have; None if there are no
            slices, and where ``format`` gives them.
        bits: expression of the bits of all files; None if nothing has some.
        firsts: the place of each base file's first word of bits, by path. Where ``format`` gives the records a slice
            without a base file has one, too, by the path of its first log file.
        made: number of slices whose effects had to be worked out.
        reasons: for each of the other slices, by its files, why it has to be merged elsewhere.
        format: Spark's file format that leaves rows out by these bits and gives the records; None if a condition on
            rows has to, and ``records``.
    """

    plan: ScanPlan
    records: JavaValue | None
    bits: JavaValue | None
    firsts: dict[str, int]
    made: int
    reasons: dict[SliceFiles, str]
    format: JavaValue | None = None


@dataclass(frozen=True)
class SliceRequest:
    """Slices that a statement reads.

    Attributes:
        scope: tells tables, and ways to read them, apart.
        plan: the slices, which have log files, without a filter.
        columns: those of the statement.
        all_columns: those that any statement may ask for.
        constants: columns that are the same for all rows of a slice, which cost next to nothing.
        session: the JVM's session of the statement.
        make: makes the plan of the tasks.
        isolated: whether tasks have classes of their session alone, and do not find those of the file format.
        packed: whether records are packed.
    """

    scope: str
    plan: ScanPlan
    columns: StructType
    all_columns: StructType
    constants: Sequence[str]
    session: JavaValue
    make: Make
    isolated: bool = False
    packed: bool = False

    @cached_property
    def files(self) -> list[SliceFiles]:
        """The files of each slice."""
        return files_of(self.plan)

    def only(self, files: Container[SliceFiles]) -> ScanPlan:
        """The plan with some of the slices."""
        mask = pa.array([each in files for each in self.files], pa.bool_())
        return replace(self.plan, slices=self.plan.slices.filter(mask))


def files_of(plan: ScanPlan) -> list[SliceFiles]:
    """Names and sizes of the files of each slice of a plan."""
    names = ["partition", "file_id", "base_file", "base_size", "log_files", "log_sizes"]
    columns = [plan.slices.column(name).to_pylist() for name in names]
    return [
        tuple(tuple(item) if isinstance(item, list) else item for item in row) for row in zip(*columns, strict=True)
    ]


def listed_paths(slices: pa.Table) -> list[str]:
    """The base file of each slice, or its first log file where it has none: what Spark is told to read."""
    columns = [slices.column(name).to_pylist() for name in ("path", "partition", "log_files")]
    return [path or "/".join(filter(None, (folder, logs[0]))) for path, folder, logs in zip(*columns, strict=True)]


class MomentsOfPlan:
    """Tells the moments of instants as a plan sees them.

    Args:
        plan: with log files.
    """

    def __init__(self, plan: ScanPlan) -> None:
        assert plan.merge is not None
        self._timeline, self._latest = plan.merge.timeline, plan.merge.max_instant
        # A table that was made again has the same instants, with other times.
        self._times = {instant.requested: self._timeline.mtime_ms(instant) for instant in self._timeline.instants}
        self._of_instants: dict[str, tuple[str, bool, int | None]] = {}

    def of(self, instants: Iterable[str]) -> Moments:
        """Which of some instants count, and when their files were made."""
        instants = tuple(instants)
        new = [time for time in instants if time not in self._of_instants]
        if new:
            committed = self._timeline.committed_mask(pa.array(new, pa.string())).to_pylist()
            for time, counts in zip(new, committed, strict=True):
                early = self._latest is None or time <= self._latest
                self._of_instants[time] = time, bool(counts) and early, self._times.get(time)
        return tuple(self._of_instants[time] for time in instants)
