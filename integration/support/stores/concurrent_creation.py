"""Races of processes to create one file, or one table, on a store, and to hold its lock."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from hudi_hive.errors import PathExistsError, TableExistsError

if TYPE_CHECKING:
    from hudi_hive.storage import Storage

FILE: Final = "file"
LOCK: Final = "lock"
TABLE: Final = "table"
_WON: Final = "won"
_LOST: Final = "lost"
_SECONDS: Final = 600.0
_COUNTER: Final = "counter"
_PATIENT: Final = {
    "hoodie.write.lock.client.num_retries": "20000",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "20",
}
_IMPORTS: Final = ["hudi_hive", "hudi_hive.table_api", "hudi_hive.storage.stores.object_store", "obstore.store"]


@dataclass
class RaceResult:
    """How races ended.

    Attributes:
        rounds: how many races were run.
        winners: rounds by the number of processes that were told that they created the file.
        wrong: what else was said, and by a file whose content is not its creator's.
    """

    rounds: int = 0
    winners: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        """Whether each round had exactly one winner, whose content the file has."""
        return self.winners == {1: self.rounds} and not self.wrong

    def __str__(self) -> str:
        winners = ", ".join(f"{rounds} rounds with {number}" for number, rounds in sorted(self.winners.items()))
        return f"{self.rounds} rounds; winners: {winners}; wrong: {len(self.wrong)} {self.wrong[:3]}"


class Racers:
    """Processes that race; a context manager.

    Args:
        count: how many.
    """

    def __init__(self, count: int = 8) -> None:
        # Forked from a process that has imported everything and started nothing.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_IMPORTS)
        self._count = count
        pairs = [context.Pipe() for _ in range(count)]
        self._pipes = [ours for ours, _ in pairs]
        self._line = context.Barrier(count)
        self._processes = [
            context.Process(target=_run, args=(number, theirs, self._line), daemon=True)
            for number, (_, theirs) in enumerate(pairs)
        ]

    def __enter__(self) -> Self:
        for process in self._processes:
            process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in self._pipes:
            pipe.send(None)
        for process in self._processes:
            process.join()

    def race(
        self, uri: str, options: Mapping[str, str] | None = None, rounds: int = 30, *, what: str = FILE
    ) -> RaceResult:
        """Race in each round to create one more file, or table, below a folder.

        Args:
            uri: the folder.
            options: storage options.
            rounds: how many files or tables.
            what: :data:`FILE` or :data:`TABLE`.
        """
        answers = self._answers(uri, options, rounds, what, {})
        result = RaceResult()
        for round_number, outcomes in enumerate(zip(*answers, strict=True)):
            result.rounds += 1
            winners = [number for number, (outcome, _) in enumerate(outcomes) if outcome == _WON]
            result.winners[len(winners)] += 1
            result.wrong += [outcome for outcome, _ in outcomes if outcome not in (_WON, _LOST)]
            contents = {content for _, content in outcomes}
            if len(winners) == 1 and contents != {f"{winners[0]}"}:
                result.wrong.append(f"round {round_number}: {winners[0]} won, the content is of {sorted(contents)}")
        return result

    def _answers(
        self,
        uri: str,
        options: Mapping[str, str] | None,
        rounds: int,
        what: str,
        writing: Mapping[str, str],
    ) -> list[list[tuple[str, str]]]:
        for pipe in self._pipes:
            pipe.send((uri, dict(options or {}), rounds, what, dict(writing)))
        answers: list[list[tuple[str, str]]] = []
        for pipe in self._pipes:
            if not pipe.poll(_SECONDS):
                raise AssertionError("a racer does not answer")
            answers.append(pipe.recv())
        return answers

    def count(
        self, uri: str, options: Mapping[str, str] | None, rounds: int, writing: Mapping[str, str]
    ) -> tuple[int, list[str]]:
        """Let each take a table's lock in each round, read a number from a file, and write the next one.

        Args:
            uri: a folder.
            options: storage options.
            rounds: how often each takes the lock.
            writing: options of a write, which choose the lock.

        Returns:
            how often two read the same number, which a lock that excludes prevents; what went wrong.
        """
        answers = self._answers(uri, options, rounds, LOCK, writing)
        seen = [text for one in answers for outcome, text in one if outcome == _WON]
        wrong = [outcome for one in answers for outcome, _ in one if outcome != _WON]
        return len(seen) - len(set(seen)), wrong


def _run(number: int, pipe: Connection, line: Barrier) -> None:
    """The process of a racer."""
    from hudi_hive import HudiTable
    from hudi_hive.storage import Storage

    while (order := pipe.recv()) is not None:
        uri, options, rounds, what, writing = order
        storage = Storage(uri, options)
        answers: list[tuple[str, str]] = []
        if what == LOCK:
            pipe.send([_count(storage, line, writing) for _ in range(rounds)])
            continue
        for at in range(rounds):
            outcome, content = _WON, ""
            line.wait(_SECONDS)
            try:
                if what == FILE:
                    storage.create_if_absent(f"races/{at}", f"{number}".encode())
                else:
                    HudiTable.create(
                        f"{uri}/{at}", name=f"t{number}", record_keys=["id"], storage_options=options or None
                    )
            except (PathExistsError, TableExistsError):
                outcome = _LOST
            except Exception as error:  # told to the one who asked
                outcome = f"{type(error).__name__}: {error}"
            try:
                if what == FILE:
                    content = storage.read_bytes(f"races/{at}").decode()
                else:
                    content = HudiTable.open(f"{uri}/{at}", options or None).client.config.name[1:]
            except Exception as error:
                outcome = f"{type(error).__name__}: {error}"
            answers.append((outcome, content))
        pipe.send(answers)


def _count(storage: Storage, line: Barrier, writing: Mapping[str, str]) -> tuple[str, str]:
    """Raise the number in a file under the lock; gives the number that was there."""
    from hudi_hive.write.coordination import table_lock

    line.wait(_SECONDS)
    try:
        with table_lock({**_PATIENT, **writing}, storage):
            number = int(storage.read_bytes(_COUNTER)) if storage.exists(_COUNTER) else 0
            storage.write_bytes(_COUNTER, str(number + 1).encode())
    except Exception as error:
        return f"{type(error).__name__}: {error}", ""
    return _WON, str(number)
