"""Keeps what log files do to base files, so that Spark's own reader reads the base files of slices with log files.

Executors work it out once for a slice, in one job over all slices that are new, and Spark caches the records there, in
memory or on their disks, in bounded bytes. The driver gets a bit for each row of the base files. Files never change
under their names, so that an effect stays true as long as the same instants are committed.

Records are packed as batches of Arrow where a file format of ours (``BaseFileFormats.java``) reads the base files and
gives them before the rows of each; else they are rows, which a union puts beside those of the base files.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from pyspark.sql.functions import lit
from pyspark.sql.types import StructType

from hudi_hive.plan import ScanPlan
from hudi_hive.read.remote import EFFECT_COLUMN, SLICE_COLUMN, LogEffect
from hudi_hive.spark.bridge import JavaValue, Jvm, python_session, ship_classes
from hudi_hive.spark.logs.records import CachedRecords, cached_batches, cached_rows, effects_of
from hudi_hive.spark.logs.requests import (
    Moments,
    MomentsOfPlan,
    ReadBeside,
    SliceFiles,
    SliceRequest,
    files_of,
    listed_paths,
)

_MOST_BITS: Final = 64 << 20
"""Bytes of bits that the driver keeps, and at most as many that a statement's plan has."""

_MOST_CACHED: Final = 3
"""Sets of cached records that a scan reads; where it would be more they are made one."""

_MOST_LITERALS: Final = 4
"""Expressions of bits that are kept, so that their bytes go to the JVM once."""

_MOST_REQUESTED: Final = 1 << 16
"""Slices of which is remembered that few of their records were read."""

_EFFECT_BYTES: Final = 512
"""What an effect takes beside its bits, about."""

_NO_WORD: Final = bytes(8)

_TEST: Final = (
    "SELECT * FROM VALUES (array(1L), 1L, 1L) AS t(bits, word, number) WHERE word < 0L OR "
    "(shiftright(bits[word + shiftright(number, 6)], cast(number & 63L AS int)) & 1L) = 0L"
)
"""Whether a row counts, by the bits in words of 64, the place of the file's first word, and the row's number there."""


@dataclass(slots=True, eq=False)
class _Cached:
    """Records of some slices that executors keep.

    Attributes:
        scope, columns: whose, and which.
        records: the records.
        numbers: those of the slices in it that are still asked for here, and the moments of their instants, as of
            :class:`_DatedEffect`: records of one moment do not belong to the effect of another.
        slices: how many slices it has.
        packed: whether records are packed.
    """

    scope: str
    columns: frozenset[str]
    records: CachedRecords
    numbers: dict[SliceFiles, tuple[int, Moments]]
    slices: int
    packed: bool


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
        self._requested: set[tuple[str, SliceFiles]] = set()
        self._session: JavaValue | None = None
        self._literals: OrderedDict[tuple[tuple[_DatedEffect, ...], tuple[_Cached, ...]], _Bits] = OrderedDict()

    def knows(self, request: SliceRequest) -> bool:
        """Whether the effects on all slices are known, and their records cached."""
        request = self._as_read(request)
        requested = request.files
        with self._lock:
            return len(self._find(request, requested)) == len(requested)

    def requested_before(self, request: SliceRequest) -> bool:
        """Whether this was asked of all slices before: what is read again and again may be worked out once."""
        slices = {(request.scope, files) for files in request.files}
        with self._lock:
            if slices <= self._requested:
                return True
            if len(self._requested) + len(slices) > _MOST_REQUESTED:
                self._requested.clear()
            self._requested |= slices
            return False

    def rows(self, request: SliceRequest) -> ReadBeside:
        """How the rows of slices are counted without reading them; works out effects that are not known, not records.

        Args:
            request: the slices, and columns that the rows are to have, as nulls.

        Raises:
            PySparkException, Py4JJavaError: the job fails.
        """
        moments, requested = MomentsOfPlan(request.plan), request.files
        with self._one_at_a_time(request.scope):
            with self._lock:
                effects = {files: self._valid(request.scope, moments, files) for files in requested}
            missing = {files for files, dated in effects.items() if dated is None}
            dated = {files: one for files, one in effects.items() if one is not None}
            if missing:
                session = self._own_session(request.session)
                rows, plan = request.make(session, request.only(missing), StructType(), False)
                made = self._remember(request.scope, plan, effects_of(self._jvm, session, rows))
                dated |= dict(zip(files_of(plan), made, strict=True))
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
        request = self._as_read(request)
        with self._one_at_a_time(request.scope):
            placed, made = self._complete(request)
            beside = self._read(request, placed, made)
        used = {one.cached for one in placed.values() if one.cached is not None}
        with self._lock:  # what was used last is forgotten last
            self._cached.sort(key=used.__contains__)
        self._forget_over(most, used)
        return beside

    @property
    def test(self) -> JavaValue:
        """A filter over three columns, as the merge rule wants it."""
        return self._jvm.memoize("LogEffects test", lambda: _filter_of(self._own_session(None).sql(_TEST)))

    def union(self, plans: list[JavaValue]) -> JavaValue:
        """The rows of several plans; None for no plan."""
        if len(plans) < 2:
            return plans[0] if plans else None
        return self._java.union(self._jvm.seq(plans))

    def _one_at_a_time(self, scope: str) -> threading.Lock:
        """Statements over one table that come together work out what is missing once."""
        with self._lock:
            return self._making.setdefault(scope, threading.Lock())

    # -- known effects -----------------------------------------------------------------------------------------------

    def _valid(self, scope: str, moments: MomentsOfPlan, files: SliceFiles) -> _DatedEffect | None:
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
        names, of_plan = set(request.columns.names), MomentsOfPlan(request.plan)
        valid = {
            files: dated
            for files in requested
            if (dated := self._valid(request.scope, of_plan, files)) is not None and not dated.effect.counted
        }
        placed = {files: _PlacedEffect(dated, None) for files, dated in valid.items() if dated.effect.reason}
        for one in reversed(self._cached):
            if one.scope == request.scope and one.packed == request.packed and names <= one.columns:
                placed |= {
                    files: _PlacedEffect(valid[files], one, number)
                    for files, (number, moments) in one.numbers.items()
                    if files in valid and files not in placed and valid[files].moments == moments
                }
        return placed

    def _make(self, request: SliceRequest, missing: set[SliceFiles]) -> dict[SliceFiles, _PlacedEffect]:
        """Work out the effects on some slices, and have their records cached."""
        plan = request.only(missing)
        with self._lock:
            # Columns that were asked for before will be again: the new records take the place of the old ones.
            before = [
                one
                for one in self._cached
                if one.scope == request.scope and one.packed == request.packed and missing & one.numbers.keys()
            ]
        names = {*request.columns.names, *request.constants}.union(*(one.columns for one in before))
        columns = StructType([item for item in request.all_columns.fields if item.name in names])
        session = self._own_session(request.session)
        rows, plan = request.make(session, plan, columns, request.packed)
        name = f"log records of {plan.base_path}"
        formats = self._formats(session) if request.packed else None
        if formats is None:
            records = cached_rows(self._jvm, self._java, session, rows, name)
        else:
            records = cached_batches(self._jvm, formats, session, rows, name)
        effects = self._remember(request.scope, plan, records.effects)
        numbers = {files: (number, effects[number].moments) for number, files in enumerate(files_of(plan))}
        made = _Cached(
            request.scope, frozenset(columns.names), records, numbers, len(numbers), packed=formats is not None
        )
        placed = {
            files: _PlacedEffect(effects[number], None if effects[number].effect.reason else made, number)
            for files, (number, _) in numbers.items()
        }
        with self._lock:
            for one in before:
                if one.columns <= made.columns:
                    self._without(one, missing)
            self._cached.append(made)
        return placed

    def _remember(self, scope: str, plan: ScanPlan, effects: list[LogEffect]) -> list[_DatedEffect]:
        """Keep the effects of the slices of a plan; gives them in that order."""
        moments = MomentsOfPlan(plan)
        dated = [_DatedEffect(effect, moments.of(effect.instants)) for effect in effects]
        with self._lock:
            for files, one in zip(files_of(plan), dated, strict=True):
                self._effects[scope, files] = one
                self._effects.move_to_end((scope, files))
            total = sum(len(one.effect.left_out) + _EFFECT_BYTES for one in self._effects.values())
            while total > 2 * _MOST_BITS:
                total -= len(self._effects.popitem(last=False)[1].effect.left_out) + _EFFECT_BYTES
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
        bits = self._bits(list(read.values()), request.session, packed=request.packed)
        paths = listed_paths(plan.slices) if request.packed else plan.slices.column("path").to_pylist()
        firsts = {path: place for path, place in zip(paths, bits.places, strict=True) if path is not None}
        records = None if request.packed else self._records(list(read.values()), request.columns)
        if not firsts:
            return ReadBeside(plan, records, None, {}, made, reasons)
        return ReadBeside(plan, records, bits.expression, firsts, made, reasons, bits.format)

    def _as_read(self, request: SliceRequest) -> SliceRequest:
        """The request with how records are kept for it."""
        formats = None if request.isolated else self._formats(request.session)
        packed = formats is not None and bool(
            formats.reads(request.session.sessionState().conf(), request.columns.json())
        )
        return replace(request, packed=packed)

    def _formats(self, session: JavaValue) -> JavaValue | None:
        """What makes file formats; None where this version's reader cannot be watched."""

        def make() -> JavaValue | None:
            formats = ship_classes(self._jvm, session.sparkContext(), "BaseFileFormats")
            return formats if formats.available() else None

        # A jar that a session with artifacts of its own adds goes to no other session's tasks.
        return self._jvm.memoize("BaseFileFormats", make)

    def _records(self, read: list[_PlacedEffect], columns: StructType) -> JavaValue:
        numbers: dict[_Cached, list[int]] = {}
        for one in read:
            assert one.cached is not None
            numbers.setdefault(one.cached, []).append(one.number)
        names = json.dumps(columns.names)
        parts = [
            self._java.records(
                cached.records.java,
                EFFECT_COLUMN,
                SLICE_COLUMN,
                names,
                None if len(chosen) == cached.slices else json.dumps(chosen),
            )
            for cached, chosen in numbers.items()
        ]
        return self.union(parts)

    def _bits(self, read: list[_PlacedEffect], session: JavaValue, *, packed: bool) -> _Bits:
        effects = [one.dated for one in read]
        caches = list(dict.fromkeys(one.cached for one in read if one.cached is not None)) if packed else []
        key = tuple(effects), tuple(caches)
        with self._lock:
            if key in self._literals:
                self._literals.move_to_end(key)
                return self._literals[key]
        words = [dated.effect.left_out or _NO_WORD for dated in effects]  # a place of its own, also for no row
        places = np.cumsum([0, *(len(each) // 8 for each in words[:-1])]).tolist()
        bits = self._java.bits(b"".join(words))
        made = _Bits(bits, places, self._format(session, bits, dict(zip(places, read, strict=True)), caches))
        with self._lock:
            self._literals[key] = made
            while len(self._literals) > _MOST_LITERALS:
                self._literals.popitem(last=False)
        return made

    def _format(
        self, session: JavaValue, bits: JavaValue, read: dict[int, _PlacedEffect], caches: list[_Cached]
    ) -> JavaValue | None:
        """The file format that gives packed records of slices, by the places of their words; None for others."""
        formats = self._formats(session) if caches else None
        if formats is None:
            return None
        numbers = {cached: number for number, cached in enumerate(caches)}
        rows: list[int] = []
        for place, one in read.items():
            if one.cached is not None:
                partitions = one.cached.records.partitions[one.number]
                rows += [place, numbers[one.cached], one.number, len(partitions), *partitions]
        batches = self._jvm.seq([cached.records.java for cached in caches])
        return formats.format(session, bits, batches, np.array(rows, "<i8").tobytes())

    # -- bounds ------------------------------------------------------------------------------------------------------

    def _without(self, cached: _Cached, files: Iterable[SliceFiles]) -> None:
        """Take slices from cached records, and forget these when none is left."""
        for each in files:
            cached.numbers.pop(each, None)
        if not cached.numbers and cached in self._cached:
            self._cached.remove(cached)
            cached.records.forget()

    def _forget_over(self, most: int, used: set[_Cached]) -> None:
        """Forget what was not used for the longest time, down to the bounds; not what a statement is about to read."""
        with self._lock:
            total = sum(one.records.size for one in self._cached)
            for one in list(self._cached):
                if total <= most:
                    break
                if one not in used:
                    total -= one.records.size
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


def _filter_of(frame: JavaValue) -> JavaValue:
    """The filter of an analysed plan."""
    return frame.queryExecution().analyzed().child()
