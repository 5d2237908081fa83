"""What a table must hold behind commits of several writers, by plain dictionaries, and what a reader must have seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Row = tuple[str, int, str]
"""Partition, number and commit time of a key."""


@dataclass(frozen=True)
class Commit:
    """What a writer says that it has committed: in ``order`` it became visible; rows: key to partition and number."""

    instant: str
    order: str
    operation: str
    rows: Mapping[str, tuple[str, int]]
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Read:
    """What a reader saw, the completed writes that were on its timeline, and the oldest pending one."""

    kind: str
    listing: str
    seen: frozenset[str]
    pending: str
    begin: str
    rows: Mapping[str, Row]
    twice: int


def replay(commits: Sequence[Commit]) -> dict[str, Row]:
    """What commits add up to, in their order."""
    model: dict[str, Row] = {}
    for commit in commits:
        gone = set(commit.partitions)
        if commit.operation == "insert_overwrite":
            gone |= {place for place, _ in commit.rows.values()}
        if gone:
            model = {key: row for key, row in model.items() if row[0] not in gone}
        for key, (place, number) in commit.rows.items():
            if commit.operation == "delete":
                model.pop(key, None)
            else:
                model[key] = (place, number, commit.instant)
    return model


def expected(read: Read, commits: Sequence[Commit], version: int) -> dict[str, Row]:
    """What a read must have seen."""
    first = min(read.seen, default="")
    visible = [c for c in commits if c.instant in read.seen or c.instant < first]
    if read.kind == "snapshot":
        return replay(visible)
    if version == 6:
        visible = [c for c in visible if not read.pending or c.instant < read.pending]
        chosen = {c.instant for c in visible if c.instant > read.begin}
    else:
        chosen = {c.instant for c in visible if c.order > read.begin}
    return {key: row for key, row in replay(visible).items() if row[2] in chosen}
