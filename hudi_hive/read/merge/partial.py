"""Merges partial updates: finds the log record from which each column's value is taken.

Blocks of changed columns only, and the modes in which default or unavailable values leave older ones in place.

Source: docs/format.md#merge-modes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.read.merge.log_events import LogEvents
from hudi_hive.read.merge.ordering_values import Flags, Ints, one_array, ranks
from hudi_hive.schema import META_FIELDS
from hudi_hive.table.merge import MergeSpec, Order, Partial


def column_sources(events: LogEvents, spec: MergeSpec, cut: Ints, *, by_value: bool) -> dict[str, Ints]:
    """The row of the log from which each column of each key is taken, -1 where no log record has a value.

    Records meet one after the other as Hudi merges them: of two, the one with the greater ordering value (by commit
    time, the later one) goes first, and the other fills the columns that it has no value for. A delete ends what was
    before it. There are as many rounds as the most written key has records, each for all keys at once.

    Args:
        events: the slice's log records.
        spec: how the table merges.
        cut: for each key the event that voids all up to itself.
        by_value: values that the table's partial update mode passes over do not count as such.

    Raises:
        UnsupportedTableError: a column's default value that we cannot compare with.
    """
    has = {
        f.name: _has_value(events, spec if by_value else None, number, f) for number, f in enumerate(events.rows.schema)
    }
    sources = {name: np.full(len(events.keys), -1, np.int64) for name in has}
    current = np.flatnonzero(np.arange(len(events.key)) > cut[events.key])
    if spec.in_log is Order.EVENT_TIME or spec.deletes_in_order:
        rank = ranks([column.take(pa.array(current)) for column in events.ordering], len(current))
    else:
        rank = current
    best = np.zeros(len(events.keys), np.int64)
    alive = np.zeros(len(events.keys), np.bool_)
    entry = np.zeros(len(events.keys), np.bool_)
    for number, turn in enumerate(turns(events.key[current])):
        key, row, deletes = events.key[current[turn]], events.row[current[turn]], events.deletes[current[turn]]
        wins = (rank[turn] >= best[key]) if number else np.ones(len(turn), np.bool_)
        if spec.deletes_yield:
            wins |= entry[key]
        if spec.in_log is Order.COMMIT_TIME and number:
            wins |= ~deletes & alive[key]
        over = wins & (deletes | ~alive[key])
        fills = ~wins & ~deletes & alive[key] & spec.loser_fills
        lays = wins & ~deletes
        for name, source in sources.items():
            if spec.newest_meta and name in META_FIELDS:
                source[key[~deletes & (wins | fills)]] = row[~deletes & (wins | fills)]
                continue
            source[key[over]] = -1
            own = np.flatnonzero(lays)
            own = own[has[name][row[own]]]
            source[key[own]] = row[own]
            below = np.flatnonzero(fills)
            below = below[has[name][row[below]] & (source[key[below]] < 0)]
            source[key[below]] = row[below]
        best[key[wins]] = rank[turn][wins]
        alive[key[wins]] = ~deletes[wins]
        entry[key[wins]] = row[wins] < 0
    return sources


def winner_sources(events: LogEvents, spec: MergeSpec, row: Ints) -> dict[str, Ints]:
    """The winning row of each key, if it has a value, where log records do not complete one another."""
    has = {f.name: _has_value(events, spec, number, f) for number, f in enumerate(events.rows.schema)}
    return {name: np.where((row >= 0) & own[row], row, -1) for name, own in has.items()}


def turns(key: Ints) -> Iterator[Ints]:
    """Yield the numbers of the first events of all keys, then of their second ones, and so on."""
    if not len(key):
        return
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=key[order[0]] - 1))
    turn = np.arange(len(key)) - np.repeat(starts, np.diff(starts, append=len(key)))
    by_turn = np.argsort(turn, kind="stable")
    yield from np.split(order[by_turn], np.flatnonzero(np.diff(turn[by_turn])) + 1)


def _has_value(events: LogEvents, spec: MergeSpec | None, number: int, field: pa.Field) -> Flags:
    """Of each data record whether it has a value of its own in a column."""
    column = events.rows.column(number)
    result = np.ones(events.rows.num_rows, np.bool_)
    absent = [not _in_block(block.schema, field.name) if block.is_partial else False for block in events.blocks]
    if any(absent):
        result &= ~np.array(absent, np.bool_)[events.block]
    if spec is not None and spec.partial is not None:
        result &= keeps(one_array(column), spec, _default(events, field))
    return result


def keeps(values: pa.Array, spec: MergeSpec, default: pa.Scalar | None) -> Flags:
    """Whether each value replaces the older one under the table's partial update mode.

    Args:
        values: values of one column.
        spec: its ``partial`` is set.
        default: the column's Avro default as an Arrow scalar, or None for null.
    """
    if spec.partial is Partial.FILL_UNAVAILABLE:
        if not (pa.types.is_string(values.type) or pa.types.is_binary(values.type)):
            return np.ones(len(values), np.bool_)
        marker = pa.scalar(spec.unavailable_value, pa.string()).cast(values.type)
        return _mask(pc.not_equal(values, marker).fill_null(True))
    if default is None:
        return _mask(pc.is_valid(values))
    return _mask(pc.not_equal(values, default).fill_null(True))


def _mask(values: pa.Array) -> Flags:
    return np.asarray(values.to_numpy(zero_copy_only=False), np.bool_)


def _in_block(schema: Mapping[str, Any], name: str) -> bool:
    lower = name.lower()
    return any(field["name"].lower() == lower for field in schema["fields"])


def _default(events: LogEvents, field: pa.Field) -> pa.Scalar | None:
    """A column's Avro default, by the newest block; None for null and for a column without default."""
    return default_of(events.blocks[-1].schema, field)


def default_of(schema: Mapping[str, Any], field: pa.Field) -> pa.Scalar | None:
    """The default of a column in an Avro schema as an Arrow scalar; None for null and where there is none.

    Raises:
        UnsupportedTableError: a default that is no plain value.
    """
    for avro in schema["fields"]:
        if avro["name"].lower() == field.name.lower() and avro.get("default") is not None:
            try:
                return pa.scalar(avro["default"]).cast(field.type)
            except (pa.ArrowException, TypeError) as error:
                raise UnsupportedTableError(
                    f"partial updates of column {field.name!r}, whose default is {json.dumps(avro['default'])[:80]}"
                ) from error
    return None
