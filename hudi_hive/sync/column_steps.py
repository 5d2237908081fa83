"""Ways round a metastore's check of columns, which compares types by position where tables go by name.

By default a metastore refuses new columns whose type does not follow from that of the column which stood at the same
position (``hive.metastore.disallow.incompatible.col.type.changes``): a column that is added between others, moved or
dropped gives all behind it another position. The check is honoured by name: a column that keeps its name must be let
take its new type where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hudi_hive.metastore import FieldSchema


@dataclass(frozen=True, slots=True)
class Detour:
    """Columns to give to a table one after the other; ``reordered``: it ends with them in another order than wanted."""

    steps: tuple[list[FieldSchema], ...]
    reordered: bool


def is_by_position(message: str) -> bool:
    """Whether a metastore's refusal of columns is that of its check of types, in the words of all versions."""
    return "types incompatible with the existing columns" in message


def detour(existing: Sequence[FieldSchema], wanted: Sequence[FieldSchema]) -> Detour | None:
    """How a table gets its new columns when they are refused as they are; None when there is no way.

    Without drops one step does: the columns stay where they are, new ones follow. With drops the columns change their
    types where they are, then those behind the first difference go, and come back in the order wanted.

    Args:
        existing: the table's columns.
        wanted: the columns that it should have, the same names in lower case.
    """
    new = {field.name: field for field in wanted}
    old = {field.name.lower(): field for field in existing}
    stays = [name for name in old if name in new]
    if len(stays) == len(old):
        columns = [new[name] for name in stays] + [field for field in wanted if field.name not in old]
        return None if columns == list(wanted) else Detour((columns,), reordered=True)
    in_place = [new.get(name, field) for name, field in old.items()]
    kept = _common(in_place, wanted)
    if not kept:  # A table needs columns.
        return None
    retyped = any(new[name].type.lower() != old[name].type.lower() for name in stays)
    first = [in_place] if retyped else []
    return Detour((*first, in_place[:kept], list(wanted)), reordered=False)


def _common(first: Sequence[FieldSchema], second: Sequence[FieldSchema]) -> int:
    """Number of columns at the start that are the same."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if (one.name, one.type) != (other.name, other.type):
            break
        count += 1
    return count
