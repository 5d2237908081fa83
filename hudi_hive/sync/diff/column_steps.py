"""Changes columns in steps where a metastore refuses them because it compares types by position.

By default a metastore refuses new columns whose type does not follow from that of the column which stood at the same
position (``hive.metastore.disallow.incompatible.col.type.changes``): a column that is added between others, moved or
dropped gives all behind it another position, and nested types may not change at all. The check is honoured by name: a
column that keeps its name must be let take its new type where it stands, or have a nested one that follows from it.

Source: docs/format/hive.md#hive-sync-schema-changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from hudi_hive.metastore import FieldSchema
from hudi_hive.sync.diff.schema_diff import normal_type
from hudi_hive.sync.diff.type_changes import is_nested, is_readable_as


@dataclass(frozen=True, slots=True)
class ColumnSteps:
    """Column lists to set one after the other; ``reordered``: the last one has another order than the target."""

    steps: tuple[list[FieldSchema], ...]
    reordered: bool


def is_by_position(message: str) -> bool:
    """Whether an error of a metastore is that of its check of types by position, in any version."""
    return "types incompatible with the existing columns" in message


def find_column_steps(
    existing: Sequence[FieldSchema], target: Sequence[FieldSchema], renames: Mapping[str, str] = MappingProxyType({})
) -> ColumnSteps | None:
    """Find the steps by which a table gets columns that the metastore refuses directly; None if there are none.

    Where columns only come, move or get another name one step does: those that are there stay where they are, new ones
    follow. Where columns go, or nested types change, the others change their types where they are; then all behind the
    first difference go, and come back as wanted.

    Args:
        existing: the table's columns.
        target: the columns that it should have; names in lower case.
        renames: new names of renamed columns and those that the table has: they stay where they are, too.
    """
    new = {field.name: field for field in target}
    newer = {before: after for after, before in renames.items()}
    old = {newer.get(field.name.lower(), field.name.lower()): field for field in existing}
    stays = [name for name in old if name in new]
    retyped = [name for name in stays if normal_type(old[name].type) != normal_type(new[name].type)]
    # A metastore lets no nested type change.
    nested = {name for name in retyped if is_nested(new[name].type) and is_readable_as(old[name].type, new[name].type)}
    if len(stays) == len(old) and not nested:
        columns = [new[name] for name in stays] + [field for field in target if field.name not in old]
        return None if columns == list(target) else ColumnSteps((columns,), reordered=True)
    in_place = [field if name in nested else new.get(name, field) for name, field in old.items()]
    unchanged = _common(in_place, target)
    if not unchanged:  # A table needs columns.
        return None
    first = [in_place] if len(retyped) > len(nested) else []
    return ColumnSteps((*first, in_place[:unchanged], list(target)), reordered=False)


def _common(first: Sequence[FieldSchema], second: Sequence[FieldSchema]) -> int:
    """Number of columns at the start that are the same."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if (one.name, one.type) != (other.name, other.type):
            break
        count += 1
    return count
