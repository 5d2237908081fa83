"""Log records that executors keep once they were made: as rows of Spark's cache, or as batches of Arrow."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from hudi_hive.read.remote import EFFECT_COLUMN, SLICE_COLUMN, LogEffect
from hudi_hive.spark.bridge import JavaValue, Jvm, python_session
from hudi_hive.spark.versions import SPARK

_ENTRY: Final = struct.Struct(">iiq")
"""A slice, a partition and a number of bytes, as ``CachedBatches.effects`` in ``BaseFileFormats.java`` gives them."""


@dataclass(frozen=True, slots=True, eq=False)
class CachedRecords:
    """Records of some slices that executors keep.

    Attributes:
        java: Spark's cached relation, or ``CachedBatches`` of ``BaseFileFormats.java``.
        effects: the effect of each slice, by its number.
        partitions: for each slice the numbers of the partitions that have its records; only of batches.
        size: bytes.
        forget: has executors forget them.
    """

    java: JavaValue
    effects: list[LogEffect]
    partitions: list[list[int]]
    size: int
    forget: Callable[[], None]


def effects_of(jvm: Jvm, session: JavaValue, plan: JavaValue) -> list[LogEffect]:
    """Run a plan of effects and the numbers of their slices; gives the effects by these."""
    frame = DataFrame(jvm.classic.Dataset.ofRows(session, plan), python_session(session))
    table = SPARK.to_arrow(frame.select(SLICE_COLUMN, EFFECT_COLUMN))
    return _of_slices(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _of_slices(encoded: Iterable[tuple[int, bytes]]) -> list[LogEffect]:
    """The effect of each slice, by its number, from those of their shares."""
    shares: dict[int, list[LogEffect]] = {}
    for number, data in encoded:
        shares.setdefault(number, []).append(LogEffect.decode(data))
    return [LogEffect.of_shares(shares[number]) for number in range(len(shares))]


def cached_rows(jvm: Jvm, java: JavaValue, session: JavaValue, plan: JavaValue, name: str) -> CachedRecords:
    """Run a plan of effects and records, and have Spark cache its rows.

    Args:
        jvm: the JVM.
        java: an object of ``LogEffects.java``.
        session: the JVM's session.
        plan: of :class:`~hudi_hive.read.remote.log_rows.LogRows`.
        name: what to call them in Spark's list of what is cached.
    """
    relation = java.cached(jvm.classic.Dataset.ofRows(session, plan).queryExecution(), name)
    effects = effects_of(jvm, session, java.effects(relation, EFFECT_COLUMN, SLICE_COLUMN))
    return CachedRecords(relation, effects, [], int(java.size(relation)), lambda: java.forget(relation))


def cached_batches(jvm: Jvm, formats: JavaValue, session: JavaValue, plan: JavaValue, name: str) -> CachedRecords:
    """Run a plan of effects and packed records, and have executors keep these.

    Args:
        jvm, session, plan, name: as for :func:`cached_rows`.
        formats: an object of ``BaseFileFormats.java``.
    """
    batches = formats.cached(jvm.classic.Dataset.ofRows(session, plan).queryExecution(), name)
    try:
        data = bytes(batches.effects())
    except BaseException:
        batches.forget()
        raise
    effects: list[tuple[int, bytes]] = []
    partitions: dict[int, list[int]] = {}
    size = at = 0
    while at < len(data):
        number, partition, length = _ENTRY.unpack_from(data, at)
        at += _ENTRY.size
        if number < 0:
            size += length
        else:
            effects.append((number, data[at : at + length]))
            partitions.setdefault(number, []).append(partition)
            at += length
    places = [list(dict.fromkeys(partitions[number])) for number in range(len(partitions))]
    return CachedRecords(batches, _of_slices(effects), places, size, batches.forget)
