"""The rules of merging, record by record in plain Python: what the columnar merge is held against."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_hive.schema import META_FIELDS
from hudi_hive.table.merge import MergeSpec, Order, Partial

Row = dict


@dataclass
class Event:
    """A log record (``values`` of the columns it has) or an entry of a delete block (``values`` is None)."""

    key: str
    values: Row | None
    ordering: tuple | None
    deletes: bool
    natural: bool = False


def merge(base: list[Row], events: list[Event], spec: MergeSpec, names: list[str], key_of, ordering_of) -> list[Row]:
    """Merged rows: the base's in their order, then new keys as the log first names them."""
    states: dict[str, Event] = {}
    for event in events:
        old = states.get(event.key)
        states[event.key] = event if old is None else _met(old, event, spec)
    result, seen = [], set()
    for row in base:
        key = key_of(row)
        if key in states and key not in seen:
            seen.add(key)
            row = _on_base(row, states[key], spec, ordering_of)
        if row is not None:
            result.append(row)
    for key, state in states.items():
        if key not in seen and not state.deletes:
            result.append({name: state.values.get(name) for name in names})
    return result


def _met(old: Event, new: Event, spec: MergeSpec) -> Event:
    if spec.deletes_yield:
        if new.values is None:
            loses = not new.natural and old.values is not None and old.ordering > new.ordering
        else:
            loses = old.values is not None and old.ordering > new.ordering
        if spec.partial is not None and spec.partial_in_log:
            return _laid(old, new, spec, new) if loses else _laid(new, old, spec, new)
        return old if loses else new
    if old.natural and new.values is None and (spec.in_log is Order.EVENT_TIME or spec.deletes_in_order):
        return old
    blind = spec.version == 8 and any(isinstance(value, str) for value in new.ordering or ())
    if blind and new.values is None and (spec.in_log is Order.EVENT_TIME or spec.deletes_in_order):
        return new
    if spec.deletes_in_order:
        both = not (old.deletes or new.deletes)
        wins = both or new.natural or old.natural or new.ordering >= old.ordering
        return _laid(new, old, spec, new) if wins else old
    if spec.in_log is Order.COMMIT_TIME or new.natural or old.natural or new.ordering >= old.ordering:
        return _laid(new, old, spec, new)
    return _laid(old, new, spec, new)


def _laid(high: Event, low: Event, spec: MergeSpec, newer: Event) -> Event:
    """The record that wins, over what is left of the other one."""
    if high.deletes or low.deletes or (high is not newer and not spec.loser_fills):
        return high
    values = _with_meta(_over(high.values, low.values, spec), newer.values, spec)
    return Event(high.key, values, high.ordering, False)


def _with_meta(values: Row, newer: Row, spec: MergeSpec) -> Row:
    meta = {name: newer[name] for name in META_FIELDS if name in newer} if spec.newest_meta else {}
    return {**values, **meta}


def _over(high: Row, low: Row, spec: MergeSpec) -> Row:
    own = {name: value for name, value in high.items() if name not in low or _counts(value, spec)}
    return {**low, **own}


def _counts(value: object, spec: MergeSpec) -> bool:
    if spec.partial is Partial.IGNORE_DEFAULTS:
        return value is not None
    if spec.partial is Partial.FILL_UNAVAILABLE:
        return value != spec.unavailable_value
    return True


def _on_base(row: Row, state: Event, spec: MergeSpec, ordering_of) -> Row | None:
    always = state.natural or (spec.deletes_yield and state.values is None)
    gives_way = spec.deletes_yield and bool(spec.ordering_fields)
    gives_way = gives_way and all(value is None for value in ordering_of(row, raw=True))
    replaces = spec.on_base is Order.COMMIT_TIME and not (state.deletes and spec.deletes_in_order)
    if always or gives_way or replaces:
        wins = True
    elif spec.sequence:
        wins = numbers(state.ordering[0]) > numbers(ordering_of(row)[0])
    else:
        wins = state.ordering >= ordering_of(row)
    if state.deletes:
        return None if wins else row
    if spec.deletes_yield and spec.partial is None:
        return dict(state.values) if wins else row
    if wins:
        return _over(state.values, row, spec)
    if spec.partial is None or not spec.loser_fills:
        return row
    return _with_meta(_over(row, state.values, spec), state.values, spec)


def numbers(text: str) -> list[int]:
    """``file.position`` as numbers."""
    return [int(part) for part in text.split(".")]
