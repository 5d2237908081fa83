"""What a table must hold behind commits of several writers, by plain dictionaries, and what a reader must have seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Row = tuple[str, int, str]
"""Partition, number and commit time of a key."""


@dataclass(frozen=True)
class Commit:
    """What a writer says that it has committed: in ``order`` it became visible; rows: key to partition and number.

    Attributes:
        begun: when the writer began with it, conflicts included.
    """

    instant: str
    order: str
    operation: str
    rows: Mapping[str, tuple[str, int]]
    partitions: tuple[str, ...] = ()
    begun: str = ""

    @property
    def places(self) -> set[str]:
        """The partitions that it can have written to or deleted."""
        return {*self.partitions, *(place for place, _ in self.rows.values())}


@dataclass(frozen=True)
class Undone:
    """A rollback or restore: what it undid, and a time at which nothing of that was visible any more."""

    at: str
    instants: frozenset[str]


@dataclass(frozen=True)
class Rewrite:
    """A compaction or clustering, which makes its partitions younger."""

    instant: str
    partitions: frozenset[str]


@dataclass(frozen=True)
class Expiry:
    """What became of looking for expired partitions.

    Attributes:
        begun, ended: times around it.
        cutoff: what is older than it has expired.
        by_creation: the age is that of the partition, not of its newest commit.
        partitions: what was deleted.
        busy: partitions under a pending compaction or clustering, which stay.
        selected: the partitions that may expire; all of them if there are none.
    """

    begun: str
    ended: str
    cutoff: str
    by_creation: bool
    partitions: frozenset[str]
    busy: frozenset[str]
    selected: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Read:
    """What a reader saw, the completed writes that were on its timeline, and the oldest pending one.

    Attributes:
        text: only rows with this text were asked for, if there is one.
    """

    kind: str
    listing: str
    seen: frozenset[str]
    pending: str
    begin: str
    rows: Mapping[str, Row]
    twice: int
    text: str = ""


def text_of(number: int) -> str:
    """The text beside a number, which is the same for several."""
    return f"v{number % 9}"


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


def expected(read: Read, commits: Sequence[Commit], version: int, undone: Sequence[Undone] = ()) -> dict[str, Row]:
    """What a read must have seen."""
    first = min(read.seen, default="")
    gone = {instant for one in undone for instant in one.instants}
    visible = [c for c in commits if c.instant in read.seen or (c.instant < first and c.instant not in gone)]
    model = {key: row for key, row in replay(visible).items() if not read.text or text_of(row[1]) == read.text}
    if read.kind == "snapshot":
        return model
    if version == 6:
        visible = [c for c in visible if not read.pending or c.instant < read.pending]
        chosen = {c.instant for c in visible if c.instant > read.begin}
        model = replay(visible)
    else:
        chosen = {c.instant for c in visible if c.order > read.begin}
    return {key: row for key, row in model.items() if row[2] in chosen}


def wrong_expiry(
    expiry: Expiry, commits: Sequence[Commit], rewrites: Sequence[Rewrite], undone: Sequence[Undone]
) -> dict[str, str]:
    """Partitions that must not have been deleted, and those that must have been; why, by partition.

    A partition is as old as its newest commit or rewrite, or as its creation, which is not after that of any row in it.
    What was written or deleted while it was looked for may count or not.
    """
    before, after = (_by_partition(_replayed(commits, undone, at)) for at in (expiry.begun, expiry.ended))
    wrong: dict[str, str] = {}
    for place in expiry.partitions:
        if expiry.by_creation:
            tries = [c.begun for c in commits if place in c.places]
            if min(tries, default="") >= expiry.cutoff:
                wrong[place] = f"was deleted, and made at {min(tries, default='')} at the earliest"
        elif place in before and max(row[2] for row in before[place]) >= expiry.cutoff:
            wrong[place] = f"was deleted, and had rows of {max(row[2] for row in before[place])}"
    for place in set(before) & set(after) - expiry.partitions - expiry.busy:
        if expiry.selected and place not in expiry.selected:
            continue
        times = [c.instant for c in commits if place in c.places and c.order <= expiry.ended]
        times += [one.instant for one in rewrites if place in one.partitions]
        age = min(row[2] for row in before[place]) if expiry.by_creation else max(times)
        if age < expiry.cutoff:
            wrong[place] = f"is of {age}, and was not deleted"
    return wrong


def _replayed(commits: Sequence[Commit], undone: Sequence[Undone], at: str) -> dict[str, Row]:
    gone = {instant for one in undone if one.at <= at for instant in one.instants}
    return replay([c for c in commits if c.order <= at and c.instant not in gone])


def _by_partition(model: Mapping[str, Row]) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for row in model.values():
        rows.setdefault(row[0], []).append(row)
    return rows
