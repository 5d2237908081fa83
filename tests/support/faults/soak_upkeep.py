"""What is done to a soak's table between two phases of its writers: savepoints, restores, rollbacks and dead writes."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from hudi_hive.write.services import TableServices
from tests.support.faults.soak_model import Commit, Undone
from tests.support.faults.soak_setup import PARTITIONS, Log, Soak, batch, moment
from tests.support.faults.soak_writers import Writer, validating_writer
from tests.support.faults.write_faults import killed

_DEATHS = 2
_CALLS = (10, 140)
"""At one of these calls of the storage a writer dies."""
_NAME = "soak.write"


class Upkeep:
    """Does in turns what can come between writes; the writers have ended and the services pause, readers go on.

    Args:
        soak: the run.
        log: where it is noted down.
    """

    def __init__(self, soak: Soak, log: Log) -> None:
        self._soak = soak
        self._log = log
        self._chance = random.Random(soak.seed * 77)
        self._savepoint = ""

    def run(self, gap: int) -> None:
        """Do what is due behind a phase.

        Args:
            gap: number of the phase.
        """
        for number in range(_DEATHS):
            self._die_writing(f"{gap}-{number}")
        (self._save, self._restore, self._roll_back, self._save, self._forget)[gap % 5]()

    def _services(self) -> TableServices:
        return TableServices(self._soak.context())

    def _save(self) -> None:
        self._savepoint = self._services().create_savepoint().instant.requested
        self._log.counts["savepoint"] += 1

    def _forget(self) -> None:
        self._services().delete_savepoint(self._savepoint)

    def _restore(self) -> None:
        done = self._services().restore(self._savepoint)
        self._undone([instant for instant, _ in done.targets], "restore")
        self._forget()

    def _roll_back(self) -> None:
        """Undo a completed write, the newest of the table."""
        Writer(self._soak, self._soak.writers + 1, self._log).write("upsert", self._rows(5))
        newest = self._log.commits[-1].instant
        for done in self._services().rollback(newest):
            self._undone(done.rolled_back, "rollback")

    def _undone(self, instants: Mapping[str, str] | list[str] | tuple[str, ...], what: str) -> None:
        self._log.undone.append(Undone(moment(), frozenset(instants)))
        self._log.counts[what] += 1

    def _rows(self, count: int) -> dict[str, tuple[str, int]]:
        names = [f"y-{self._chance.randrange(PARTITIONS * 5)}" for _ in range(count)]
        return {name: (self._soak.city(name), self._chance.randrange(100)) for name in names}

    def _die_writing(self, name: str) -> None:
        """Have a writer killed at some call; a write that was complete by then counts."""
        rows = self._rows(3)
        begun = moment()
        killed(partial(_write, self._soak, name, rows), Path(self._soak.path), self._chance.randrange(*_CALLS))
        for beat in (Path(self._soak.path) / ".hoodie" / ".heartbeat").glob("*"):
            os.utime(beat, (0, 0))  # nobody else writes now
        timeline = self._soak.client().timeline
        for instant in timeline.write_instants():
            if timeline.commit_metadata(instant).extra.get(_NAME) == name:
                order = self._soak.order_of(instant)
                self._log.commits.append(Commit(instant.requested, order, "upsert", rows, (), begun))
                self._log.counts["killed behind its commit"] += 1
                return
        self._log.counts["killed ahead of its commit"] += 1


def _write(soak: Soak, name: str, rows: Mapping[str, tuple[str, int]], path: Path) -> None:
    validating_writer(soak, "upsert", extra={_NAME: name}).write(batch(rows))
