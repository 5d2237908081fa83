"""Compares two versions of an id-based schema, column by column.

Source: docs/format.md#id-based-schemas, docs/format.md#type-promotions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hudi_hive.schema.internal import InternalField, InternalSchema, RecordType
from hudi_hive.schema.promotions import type_name


@dataclass(frozen=True, slots=True)
class Difference:
    """One change of one column.

    Attributes:
        column: its dotted name after the change; before it, if it was dropped.
        change: ``add``, ``drop``, ``rename``, ``type``, ``move``, ``nullable`` or ``comment``.
        before, after: what changed, as text; None where there is nothing.
    """

    column: str
    change: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.change == "move":
            return f"move {self.column} {self.after}"
        shown = [text for text in (self.before, self.after) if text is not None]
        return f"{self.change} {self.column}{': ' if shown else ''}{' -> '.join(shown)}"


def differences(before: InternalSchema, after: InternalSchema) -> tuple[Difference, ...]:
    """List the changes between two versions; columns with equal ids are the same column.

    What is below a column that was added or dropped goes with it.
    """
    return tuple(_differences(before.fields, after.fields, "", ""))


def _differences(
    before: Sequence[InternalField], after: Sequence[InternalField], old_path: str, new_path: str
) -> Iterator[Difference]:
    old, new = {item.id: item for item in before}, {item.id: item for item in after}
    for item in before:
        if item.id not in new:
            yield Difference(old_path + item.name, "drop", type_name(item.type), None)
    moved = _moved([item.id for item in before if item.id in new], [item.id for item in after if item.id in old])
    for at, item in enumerate(after):
        name = new_path + item.name
        earlier = old.get(item.id)
        if earlier is None:
            yield Difference(name, "add", None, type_name(item.type))
            continue
        yield from _of_field(earlier, item, name, old_path)
        if item.id in moved:
            yield Difference(name, "move", None, f"after {after[at - 1].name}" if at else "first")
        yield from _differences(earlier.children, item.children, f"{old_path}{earlier.name}.", f"{name}.")


def _of_field(earlier: InternalField, item: InternalField, name: str, old_path: str) -> Iterator[Difference]:
    if earlier.name != item.name:
        yield Difference(name, "rename", old_path + earlier.name, name)
    if not isinstance(earlier.type, RecordType) and not item.children and earlier.type != item.type:
        yield Difference(name, "type", type_name(earlier.type), type_name(item.type))
    if earlier.optional != item.optional:
        yield Difference(name, "nullable", str(earlier.optional).lower(), str(item.optional).lower())
    if earlier.doc != item.doc:
        yield Difference(name, "comment", earlier.doc, item.doc)


def _moved(before: Sequence[int], after: Sequence[int]) -> set[int]:
    """The fewest fields that must move between two orders: those outside the longest common subsequence."""
    rank = {field_id: at for at, field_id in enumerate(before)}
    best: list[tuple[int, int | None]] = []
    for at, field_id in enumerate(after):
        chain = [(best[p][0] + 1, p) for p in range(at) if rank[after[p]] < rank[field_id]]
        best.append(max(chain, default=(1, None)))
    stays: set[int] = set()
    here = max(range(len(best)), key=lambda at: best[at][0], default=None)
    while here is not None:
        stays.add(after[here])
        here = best[here][1]
    return set(after) - stays
