"""Keeps what log files do to base files, so that Spark's own reader reads the base files of slices with log files.

Executors work it out once for a slice, in one job over all slices that are new, and Spark caches the records there, in
memory or on their disks, in bounded bytes. The driver gets a bit for each row of the base files. Files never change
under their names, so that an effect stays true as long as the same instants are committed.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import lit
from pyspark.sql.types import StructType

from hudi_hive.plan import ScanPlan
from hudi_hive.read.remote import EFFECT_COLUMN, SLICE_COLUMN, LogEffect
from hudi_hive.spark.bridge import JavaValue, Jvm, python_session, ship_classes
from hudi_hive.spark.versions import SPARK

_MOST_BITS: Final = 64 << 20
"""Bytes of bits that the driver keeps, and at most as many that a statement's plan has."""

_MOST_CACHED: Final = 3
"""Sets of cached records that a scan reads; where it would be more they are made one."""

_MOST_LITERALS: Final = 4
"""Expressions of bits that are kept, so that their bytes go to the JVM once."""

_TEST: Final = (
    "SELECT * FROM VALUES (array(1L), 1L, 1L) AS t(bits, word, number) WHERE word < 0L OR "
    "(shiftright(bits[word + shiftright(number, 6)], cast(number & 63L AS int)) & 1L) = 0L"
)
"""Whether a row counts, by the bits in words of 64, the place of the file's first word, and the row's number there."""

SliceFiles: TypeAlias = tuple[Any, ...]
"""Names and sizes of a slice's files."""

Moments: TypeAlias = tuple[tuple[str, bool, int | None], ...]
"""Instants with whether they count, and when the timeline's file of each was made."""

Make: TypeAlias = Callable[[JavaValue, ScanPlan, StructType], tuple[JavaValue, ScanPlan]]
"""Gives, for a session, slices and columns, the plan of :class:`~hudi_hive.read.remote.log_rows.LogRows`, and the
slices in the order of their numbers there; without columns the effects alone."""


@dataclass(frozen=True, slots=True)
class ReadBeside:
    """How Spark reads slices with log files.

    Attributes:
        plan: the slices, each of which has an effect without a reason against it.
        records: plan of the records of the log files, or of as many rows as the slices have; None if there are no
            slices.
        bits: expression of the bits of all files; None if no slice has a base file.
        firsts: the place of each base file's first word of bits, by path.
        made: number of slices whose effects had to be worked out.
        reasons: for each of the other slices, by its files, why it has to be merged elsewhere.
        format: Spark's file format that leaves rows out by these bits; None if a condition on rows has to.
    """

    plan: ScanPlan
    records: JavaValue | None
    bits: JavaValue | None
    firsts: dict[str, int]
    made: int
    reasons: dict[SliceFiles, str]
    format: JavaValue | None = None


@dataclass(slots=True, eq=False)
class _Cached:
    """Records of some slices in Spark's cache.

    Attributes:
        scope, columns: whose, and which.
        relation: Spark's cached relation.
        numbers: those of the slices in it that are still asked for here.
        slices: how many slices it has.
        size: bytes.
    """

    scope: str
    columns: frozenset[str]
    relation: JavaValue
    numbers: dict[SliceFiles, int]
    slices: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class _DatedEffect:
    """The effect of a slice, and the moments of its instants when it was worked out."""

    effect: LogEffect
    moments: Moments


class _Bits(NamedTuple):
    """Bits of the rows of several files: as an expression, the place of the first word of each, and as a format."""

    expression: JavaValue
    places: list[int]
    format: JavaValue | None


class _PlacedEffect(NamedTuple):
    """What is known of a slice, where its records are, and its number there; None if it has to be merged elsewhere."""

    dated: _DatedEffect
    cached: _Cached | None
    number: int = 0


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
    """

    scope: str
    plan: ScanPlan
    columns: StructType
    all_columns: StructType
    constants: Sequence[str]
    session: JavaValue
    make: Make

    @cached_property
    def files(self) -> list[SliceFiles]:
        """The files of each slice."""
        return files_of(self.plan)

    def only(self, files: Container[SliceFiles]) -> ScanPlan:
        """The plan with some of the slices."""
        mask = pa.array([each in files for each in self.files], pa.bool_())
        return replace(self.plan, slices=self.plan.slices.filter(mask))


class LogEffects:
    """The effects of log files that the executors of one Spark context keep; thread-safe.

    Args:
        jvm: the JVM.
    """

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        self._lock = threading.RLock()
        self._making: dict[str, threading.Lock] = {}
        self._effects: OrderedDict[tuple[str, SliceFiles], _DatedEffect] = OrderedDict()
        self._cached: list[_Cached] = []
        self._session: JavaValue | None = None
        self._literals: OrderedDict[tuple[bool, tuple[_DatedEffect, ...]], _Bits] = OrderedDict()

    def knows(self, request: SliceRequest) -> bool:
        """Whether the effects on all slices are known, and their records cached."""
        requested = request.files
        with self._lock:
            return len(self._find(request, requested)) == len(requested)

    def rows(self, request: SliceRequest) -> ReadBeside:
        """How the rows of slices are counted without reading them; works out effects that are not known, not records.

        Args:
            request: the slices, and columns that the rows are to have, as nulls.

        Raises:
            PySparkException, Py4JJavaError: the job fails.
        """
        moments, requested = _Moments(request.plan), request.files
        with self._one_at_a_time(request.scope):
            with self._lock:
                effects = {files: self._valid(request.scope, moments, files) for files in requested}
            missing = {files for files, dated in effects.items() if dated is None}
            dated = {files: one for files, one in effects.items() if one is not None}
            if missing:
                session = self._own_session(request.session)
                rows, plan = request.make(session, request.only(missing), StructType())
                dated |= dict(zip(files_of(plan), self._run(request.scope, session, rows, plan), strict=True))
        reasons = {files: one.effect.reason for files, one in dated.items() if one.effect.reason}
        plan = request.only(dated.keys() - reasons.keys())
        total = sum(one.effect.rows for one in dated.values())
        cores = int(request.session.sparkContext().defaultParallelism())
        counted = python_session(request.session).range(0, total, 1, cores)
        nulls = counted.select([lit(None).cast(item.dataType).alias(item.name) for item in request.columns.fields])
        records = nulls._jdf.queryExecution().analyzed() if plan.slices.num_rows else None
        return ReadBeside(plan, records, None, {}, len(missing), reasons)

    def beside(self, request: SliceRequest, most: int) -> ReadBeside:
        """How slices are read; works out what is not known.

        Args:
            request: the slices.
            most: bytes of records that may be kept.

        Raises:
            PySparkException, Py4JJavaError: the job fails.
        """
        with self._one_at_a_time(request.scope):
            placed, made = self._complete(request)
            beside = self._read(request, placed, made)
        self._forget_over(most, {one.cached for one in placed.values() if one.cached is not None})
        return beside

    @property
    def test(self) -> JavaValue:
        """A filter over three columns, as the merge rule wants it."""
        return self._jvm.memoize("LogEffects test", lambda: _filter_of(self._own_session(None).sql(_TEST)))

    def union(self, plans: list[JavaValue]) -> JavaValue:
        """The rows of several plans; None for no plan."""
        return self._java.union(self._jvm.seq(plans)) if plans else None

    def _one_at_a_time(self, scope: str) -> threading.Lock:
        """Statements over one table that come together work out what is missing once."""
        with self._lock:
            return self._making.setdefault(scope, threading.Lock())

    # -- known effects -----------------------------------------------------------------------------------------------

    def _valid(self, scope: str, moments: _Moments, files: SliceFiles) -> _DatedEffect | None:
        dated = self._effects.get((scope, files))
        if dated is None or dated.moments != moments.of(dated.effect.instants):
            return None
        return dated

    def _complete(self, request: SliceRequest) -> tuple[dict[SliceFiles, _PlacedEffect], int]:
        """What is known of each slice, and of how many it had to be worked out."""
        requested = request.files
        with self._lock:
            placed = self._find(request, requested)
            missing = [files for files in requested if files not in placed]
            sets = {one.cached for one in placed.values() if one.cached is not None}
            if len(sets) + bool(missing) > _MOST_CACHED:
                placed, missing = {}, requested
        if missing:
            placed |= self._make(request, set(missing))
        return placed, len(missing)

    def _find(self, request: SliceRequest, requested: list[SliceFiles]) -> dict[SliceFiles, _PlacedEffect]:
        names, moments = set(request.columns.names), _Moments(request.plan)
        valid = {
            files: dated for files in requested if (dated := self._valid(request.scope, moments, files)) is not None
        }
        placed = {files: _PlacedEffect(dated, None) for files, dated in valid.items() if dated.effect.reason}
        for one in reversed(self._cached):
            if one.scope == request.scope and names <= one.columns:
                placed |= {
                    files: _PlacedEffect(valid[files], one, number)
                    for files, number in one.numbers.items()
                    if files in valid and files not in placed
                }
        return placed

    def _make(self, request: SliceRequest, missing: set[SliceFiles]) -> dict[SliceFiles, _PlacedEffect]:
        """Work out the effects on some slices, and have their records cached."""
        plan = request.only(missing)
        with self._lock:
            # Columns that were asked for before will be again: the new records take the place of the old ones.
            before = [one for one in self._cached if one.scope == request.scope and missing & one.numbers.keys()]
        names = {*request.columns.names, *request.constants}.union(*(one.columns for one in before))
        columns = StructType([item for item in request.all_columns.fields if item.name in names])
        session = self._own_session(request.session)
        rows, plan = request.make(session, plan, columns)
        dataset = self._jvm.classic.Dataset
        relation = self._java.cached(dataset.ofRows(session, rows).queryExecution(), f"log records of {plan.base_path}")
        rows = self._java.effects(relation, EFFECT_COLUMN, SLICE_COLUMN)
        effects = self._run(request.scope, session, rows, plan)
        numbers = {files: number for number, files in enumerate(files_of(plan))}
        made = _Cached(
            request.scope, frozenset(columns.names), relation, numbers, len(numbers), int(self._java.size(relation))
        )
        placed = {
            files: _PlacedEffect(effects[number], None if effects[number].effect.reason else made, number)
            for files, number in numbers.items()
        }
        with self._lock:
            for one in before:
                if one.columns <= made.columns:
                    self._without(one, missing)
            self._cached.append(made)
        return placed

    def _run(self, scope: str, session: JavaValue, rows: JavaValue, plan: ScanPlan) -> list[_DatedEffect]:
        """Run a plan of effects and the numbers of their slices in ``plan``, and keep the effects; in that order."""
        frame = DataFrame(self._jvm.classic.Dataset.ofRows(session, rows), python_session(session))
        table = SPARK.to_arrow(frame.select(SLICE_COLUMN, EFFECT_COLUMN)).sort_by(SLICE_COLUMN)
        moments = _Moments(plan)
        effects = list(map(LogEffect.decode, table.column(1).to_pylist()))
        dated = [_DatedEffect(effect, moments.of(effect.instants)) for effect in effects]
        with self._lock:
            for files, one in zip(files_of(plan), dated, strict=True):
                self._effects[scope, files] = one
                self._effects.move_to_end((scope, files))
            total = sum(len(one.effect.left_out) for one in self._effects.values())
            while total > 2 * _MOST_BITS:
                total -= len(self._effects.popitem(last=False)[1].effect.left_out)
        return dated

    # -- a statement's plan ------------------------------------------------------------------------------------------

    def _read(self, request: SliceRequest, placed: dict[SliceFiles, _PlacedEffect], made: int) -> ReadBeside:
        files = request.files
        reasons: dict[SliceFiles, str] = {}
        total = 0
        for each in files:
            effect = placed[each].dated.effect
            total += len(effect.left_out)
            if effect.reason or total > _MOST_BITS:
                reasons[each] = effect.reason or "the bits of more rows would not fit into a plan"
        read = {each: placed[each] for each in files if each not in reasons}
        plan = request.only(read)
        if not read:
            return ReadBeside(plan, None, None, {}, made, reasons)
        formats = self._formats(request.session)
        bits = self._bits([one.dated for one in read.values()], request.session, formats)
        paths = plan.slices.column("path").to_pylist()
        firsts = {path: place for path, place in zip(paths, bits.places, strict=True) if path is not None}
        records = self._records(list(read.values()), request.columns)
        if not firsts:
            return ReadBeside(plan, records, None, {}, made, reasons)
        reads = formats is not None and self._reads(formats, request.session, request.columns)
        return ReadBeside(plan, records, bits.expression, firsts, made, reasons, bits.format if reads else None)

    @staticmethod
    def _reads(formats: JavaValue, session: JavaValue, columns: StructType) -> bool:
        """Whether Spark's vectorised reader reads files with some columns."""
        return bool(formats.reads(session.sessionState().conf(), session.parseDataType(columns.json())))

    def _formats(self, session: JavaValue) -> JavaValue | None:
        """What makes file formats; None where this version's reader cannot be watched, or tasks lack its class."""

        def make() -> JavaValue | None:
            formats = ship_classes(self._jvm, session.sparkContext(), "BaseFileFormats")
            return formats if formats.available() else None

        # A jar that a session with artifacts of its own adds goes to no other session's tasks.
        isolated = self._jvm.module("org.apache.spark.JobArtifactSet").getCurrentJobArtifactState().isDefined()
        return None if isolated else self._jvm.memoize("BaseFileFormats", make)

    def _records(self, read: list[_PlacedEffect], columns: StructType) -> JavaValue:
        numbers: dict[_Cached, list[int]] = {}
        for one in read:
            assert one.cached is not None
            numbers.setdefault(one.cached, []).append(one.number)
        with self._lock:  # what was used last is forgotten last
            self._cached.sort(key=numbers.__contains__)
        names = json.dumps(columns.names)
        parts = [
            self._java.records(
                cached.relation,
                EFFECT_COLUMN,
                SLICE_COLUMN,
                names,
                None if len(chosen) == cached.slices else json.dumps(chosen),
            )
            for cached, chosen in numbers.items()
        ]
        return parts[0] if len(parts) == 1 else self.union(parts)

    def _bits(self, read: list[_DatedEffect], session: JavaValue, formats: JavaValue | None) -> _Bits:
        key = formats is not None, tuple(read)
        with self._lock:
            if key in self._literals:
                self._literals.move_to_end(key)
                return self._literals[key]
        sizes = [len(dated.effect.left_out) // 8 for dated in read]
        places = np.cumsum([0, *sizes[:-1]]).tolist()
        bits = self._java.bits(b"".join(dated.effect.left_out for dated in read))
        made = _Bits(bits, places, None if formats is None else formats.format(session, bits))
        with self._lock:
            self._literals[key] = made
            while len(self._literals) > _MOST_LITERALS:
                self._literals.popitem(last=False)
        return made

    # -- bounds ------------------------------------------------------------------------------------------------------

    def _without(self, cached: _Cached, files: Iterable[SliceFiles]) -> None:
        """Take slices from cached records, and forget these when none is left."""
        for each in files:
            cached.numbers.pop(each, None)
        if not cached.numbers and cached in self._cached:
            self._cached.remove(cached)
            self._java.forget(cached.relation)

    def _forget_over(self, most: int, used: set[_Cached]) -> None:
        """Forget what was not used for the longest time, down to the bounds; not what a statement is about to read."""
        with self._lock:
            total = sum(one.size for one in self._cached)
            for one in list(self._cached):
                if total <= most:
                    break
                if one not in used:
                    total -= one.size
                    self._without(one, list(one.numbers))

    @property
    def _java(self) -> JavaValue:
        return self._jvm.memoize("LogEffects", lambda: self._jvm.made("LogEffects"))

    def _own_session(self, of: JavaValue | None) -> JavaValue:
        """The session that plans what is kept: it outlives those of statements."""
        with self._lock:
            if self._session is None:
                assert of is not None
                session = of.newSession()
                session.conf().set("spark.sql.adaptive.enabled", "false")
                session.conf().set("spark.sql.inMemoryColumnarStorage.compressed", "false")  # quicker to read
                session.conf().set("spark.sql.ansi.enabled", "true")  # a place beyond the bits is an error
                self._session = session
            return self._session


def files_of(plan: ScanPlan) -> list[SliceFiles]:
    """Names and sizes of the files of each slice of a plan."""
    names = ["partition", "file_id", "base_file", "base_size", "log_files", "log_sizes"]
    columns = [plan.slices.column(name).to_pylist() for name in names]
    return [
        tuple(tuple(item) if isinstance(item, list) else item for item in row) for row in zip(*columns, strict=True)
    ]


class _Moments:
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


def _filter_of(frame: JavaValue) -> JavaValue:
    """The filter of an analysed plan."""
    return frame.queryExecution().analyzed().child()
