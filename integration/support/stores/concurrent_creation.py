"""Races of processes to create one file, or one table, on a store."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from types import TracebackType
from typing import Final, Self

from hudi_hive.errors import PathExistsError, TableExistsError

FILE: Final = "file"
TABLE: Final = "table"
_WON: Final = "won"
_LOST: Final = "lost"
_SECONDS: Final = 600.0
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
        for pipe in self._pipes:
            pipe.send((uri, dict(options or {}), rounds, what))
        answers: list[list[tuple[str, str]]] = []
        for pipe in self._pipes:
            if not pipe.poll(_SECONDS):
                raise AssertionError("a racer does not answer")
            answers.append(pipe.recv())
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


def _run(number: int, pipe: Connection, line: Barrier) -> None:
    """The process of a racer."""
    from hudi_hive import HudiTable
    from hudi_hive.storage import Storage

    while (order := pipe.recv()) is not None:
        uri, options, rounds, what = order
        storage = Storage(uri, options)
        answers: list[tuple[str, str]] = []
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
