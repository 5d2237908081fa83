"""Log records that executors keep once they were made: as rows of Spark's cache, or as batches of Arrow."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from hudi_hive.read.remote import EFFECT_COLUMN, SLICE_COLUMN
from hudi_hive.spark.bridge import JavaValue, Jvm, python_session
from hudi_hive.spark.versions import SPARK

_ENTRY: Final = struct.Struct(">iiq")
"""A slice, a partition and a number of bytes, as ``CachedBatches.effects`` in ``BaseFileFormats.java`` gives them."""


@dataclass(frozen=True, slots=True, eq=False)
class CachedRecords:
    """Records of some slices that executors keep.

    Attributes:
        java: Spark's cached relation, or ``CachedBatches`` of ``BaseFileFormats.java``.
        effects: the effect of each slice, encoded, by its number.
        partitions: for each slice the number of the partition that has its records; only of batches.
        size: bytes.
        forget: has executors forget them.
    """

    java: JavaValue
    effects: list[bytes]
    partitions: list[int]
    size: int
    forget: Callable[[], None]


def effects_of(jvm: Jvm, session: JavaValue, plan: JavaValue) -> list[bytes]:
    """Run a plan of effects and the numbers of their slices; gives the effects by these."""
    frame = DataFrame(jvm.classic.Dataset.ofRows(session, plan), python_session(session))
    table = SPARK.to_arrow(frame.select(SLICE_COLUMN, EFFECT_COLUMN)).sort_by(SLICE_COLUMN)
    effects: list[bytes] = table.column(1).to_pylist()
    return effects


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
    effects: dict[int, tuple[int, bytes]] = {}
    size = at = 0
    while at < len(data):
        number, partition, length = _ENTRY.unpack_from(data, at)
        at += _ENTRY.size
        if number < 0:
            size += length
        else:
            effects[number] = partition, data[at : at + length]
            at += length
    ordered = [effects[number] for number in range(len(effects))]
    return CachedRecords(batches, [each[1] for each in ordered], [each[0] for each in ordered], size, batches.forget)
