"""The rules of merging, record by record in plain Python: what the columnar merge is held against."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_hive.table.merge_spec import MergeSpec, Order, Partial

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
        return old if loses else new
    if spec.in_log is Order.COMMIT_TIME or new.natural or old.natural or new.ordering >= old.ordering:
        return _laid(new, old, spec)
    return _laid(old, new, spec)


def _laid(high: Event, low: Event, spec: MergeSpec) -> Event:
    """The record that wins, over what is left of the other one."""
    if high.deletes or low.deletes:
        return high
    return Event(high.key, _over(high.values, low.values, spec), high.ordering, False)


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
    wins = spec.on_base is Order.COMMIT_TIME or always or gives_way or state.ordering >= ordering_of(row)
    if state.deletes:
        return None if wins else row
    if spec.deletes_yield:
        return dict(state.values) if wins else row
    if wins:
        return _over(state.values, row, spec)
    return _over(row, state.values, spec) if spec.partial is not None else row
