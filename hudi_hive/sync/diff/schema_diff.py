"""Compares the columns of a metastore table with those of the spec.

Source: docs/format/hive.md#hive-sync-schema-changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hudi_hive.sync.diff.changes import LastSync
from hudi_hive.sync.table import Column
from hudi_hive.table.core import MetaClient


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """One column that is added, dropped, or gets another type; ``before`` and ``after`` are types or None."""

    name: str
    before: str | None
    after: str | None

    @property
    def kind(self) -> str:
        """``add``, ``drop`` or ``alter``."""
        return "add" if self.before is None else "drop" if self.after is None else "alter"


def normal_type(text: str) -> str:
    """Normalise a type text: case, blanks and back-ticks are ignored."""
    return text.lower().replace(" ", "").replace("`", "")


def column_changes(existing: Iterable[Column], target: Sequence[Column]) -> tuple[ColumnChange, ...]:
    """Compare columns by name; their order is ignored, as in Hudi's tool.

    Args:
        existing: the metastore's columns, partition keys left out.
        target: the columns that the table should have.
    """
    before = {column.name.lower(): column.type for column in existing}
    after = {column.name: column.type for column in target}
    changes = [ColumnChange(name, kind, None) for name, kind in before.items() if name not in after]
    for name, kind in after.items():
        old = before.get(name)
        if old is None or normal_type(old) != normal_type(kind):
            changes.append(ColumnChange(name, old, kind))
    return tuple(changes)


def renamed_columns(client: MetaClient, last: LastSync | None, changes: Sequence[ColumnChange]) -> dict[str, str]:
    """Find renamed columns by their ids: new name -> name in the metastore.

    Args:
        client: the Hudi table.
        last: the last sync's stamp, which tells what the metastore's columns were then.
        changes: what differs between the metastore's columns and the table's.
    """
    gone = {change.name for change in changes if change.after is None}
    come = {change.name for change in changes if change.before is None}
    evolved = client.evolved_schema() if last is not None and gone and come else None
    then = evolved.written(last.requested) if evolved is not None and last is not None else None
    if evolved is None or then is None:
        return {}
    before = {field.id: field.name.lower() for field in then.fields}
    pairs = ((field.name.lower(), before.get(field.id)) for field in evolved.query.fields)
    return {new: old for new, old in pairs if new in come and old is not None and old in gone}


def key_mismatch(existing: Sequence[Column], target: Sequence[Column]) -> str | None:
    """Describe how partition keys differ by name or order; None if they are the same.

    The keys of a metastore table cannot be altered, so a difference means that the table must be made anew.
    """
    old, new = [column.name.lower() for column in existing], [column.name for column in target]
    if old == new:
        return None
    return f"the metastore's table is partitioned by ({', '.join(old)}), the sync asks for ({', '.join(new)})"


def key_type_warnings(existing: Sequence[Column], target: Sequence[Column]) -> tuple[str, ...]:
    """Partition keys whose type differs: the metastore keeps the old one."""
    return tuple(
        f"partition key {new.name} stays {old.type} in the metastore, though the table has {new.type}"
        for old, new in zip(existing, target, strict=False)
        if old.name.lower() == new.name and normal_type(old.type) != normal_type(new.type)
    )
