"""Detects concurrent syncs of a table, and repeats a sync after a conflict.

A sync reads a table, works on its partitions and writes the stamp. If another one finishes in between, what the first
one read and did may be out of date: it may have dropped a partition that a newer commit filled again, or hold older
columns. So every change of an existing table names the stamp that it was planned on (``expected_stamp``), which the
metastore compares in the same transaction (HIVE-26882), and after work on partitions the stamp is looked at again
(``check_stamp``). Whoever comes second reads the timeline anew and compares everything, as often as it takes; whoever
comes first is covered by that. Nobody's stamp moves back.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from hudi_hive.errors import (
    AlreadyExistsError,
    HudiHiveError,
    MetastoreServerError,
    MetastoreTextError,
    MethodNotSupportedError,
    NoSuchObjectError,
    SchemaSyncError,
    TableChangedError,
)
from hudi_hive.metastore import Table
from hudi_hive.sync.diff.changes import LastSync, is_archived, is_rolled_back, newest_stamp
from hudi_hive.sync.diff.hive_objects import read_stamp
from hudi_hive.sync.table import LAST_COMMIT, Column, TableSpec
from hudi_hive.timeline import Timeline

Result = TypeVar("Result")

PartitionLedger = dict[tuple[str, tuple[Column, ...]], set[str]]
"""(table, columns) -> names of the partitions that attempts of a sync added or moved, with these columns."""

ATTEMPTS = 6
"""How often a sync starts again before it gives up."""

_WAIT = 0.05

_SURE = (TableChangedError, AlreadyExistsError, NoSuchObjectError)
"""Errors of a sync at work that say that the metastore is not any more as the plan saw it."""


class ConcurrentSyncError(Exception):
    """A conflict with a concurrent sync, after which the sync is planned again.

    Args:
        cause: the error that it met.
        changed: whether the sync may have changed something by then, on what it knew.
    """

    def __init__(self, cause: HudiHiveError, *, changed: bool) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.changed = changed


def retry_on_conflict(
    once: Callable[[int, bool], Result],
    *,
    attempts: int = ATTEMPTS,
    pause: Callable[[float], None] = time.sleep,
) -> Result:
    """Run a sync, and repeat it while concurrent syncs conflict with it.

    Args:
        once: one try; gets its number, from 0: from 1 on it must read the table anew; and whether an earlier one may
            have changed something on what it knew: then it must compare all partitions.
        attempts: tries in all.
        pause: waits so many seconds.

    Raises:
        HudiHiveError: what the last try ended with.
    """
    number, changed = 0, False
    while True:
        try:
            return once(number, changed)
        except ConcurrentSyncError as conflict:
            number += 1
            changed = changed or conflict.changed
            # Only who met another sync for sure is patient; other refusals most often stay what they are.
            most = attempts if isinstance(conflict.cause, _SURE) else min(attempts, 2 + conflict.changed)
            if number >= most:
                raise conflict.cause from conflict.cause.__cause__
        # Of several that got in each other's way one is to be first the next time.
        pause(random.uniform(0.2, 1.0) * _WAIT * 2**number)


@contextmanager
def conflicts_detected() -> Iterator[None]:
    """Context manager that turns errors which a concurrent sync may cause into ``ConcurrentSyncError``.

    That is a changed table, and any refusal by the metastore: two adds of one partition, a dropped table, a deadlock in
    its database, columns that a newer commit has changed already. A lost connection is none of these.
    """
    try:
        yield
    except (MethodNotSupportedError, MetastoreTextError):
        raise
    except (TableChangedError, MetastoreServerError, SchemaSyncError) as error:
        # Columns come before partitions: a sync whose columns were refused has touched none.
        raise ConcurrentSyncError(error, changed=not isinstance(error, SchemaSyncError)) from error


def check_timeline(timeline: Timeline, before: LastSync | None, *, table: str) -> None:
    """Refuse to plan on a timeline that is older than that of the last sync.

    Args:
        timeline: as this sync has read it.
        before: the stamp of the metastore's table.
        table: the table's name.

    Raises:
        ConcurrentSyncError: the timeline is to be read again; if nothing changes by that, the last sync was taken back.
    """
    stamp = newest_stamp(timeline)
    if before is None or stamp is None or stamp == before:
        return
    # Old stamps have 14 digits and lack the completion time: they say nothing about what else was seen.
    completed_later = (before.completed or "") > (stamp.completed or "")
    archived = is_archived(timeline, before)
    if before.requested > stamp.requested or completed_later or (not archived and is_rolled_back(timeline, before)):
        error = TableChangedError("another sync has seen newer commits", path=table, remedy="run it again")
        raise ConcurrentSyncError(error, changed=False)


def expected_stamp(table: Table) -> tuple[str, str] | None:
    """The stamp parameter and value that a table must still have when it is changed; None without a stamp."""
    value = (table.parameters or {}).get(LAST_COMMIT)
    return (LAST_COMMIT, value) if value else None


def check_stamp(table: Table, expected: LastSync | None) -> None:
    """Check, after partitions were changed, that no other sync completed meanwhile.

    Raises:
        TableChangedError: the stamp is another one than the sync was planned on.
    """
    stamp = read_stamp(table)
    if stamp != expected:
        raise TableChangedError(
            "another sync finished meanwhile",
            path=f"{table.dbName}.{table.tableName}",
            instant=stamp.requested if stamp is not None else None,
            remedy="run it again",
        )


def outdated_partitions(ledger: PartitionLedger, spec: TableSpec) -> set[str]:
    """Names of partitions that earlier attempts of this sync gave other columns than the table has now."""
    return {
        name
        for (table, columns), names in ledger.items()
        if table == spec.full_name and columns != spec.columns
        for name in names
    }
