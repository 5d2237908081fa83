"""How listings of many folders are spread over an engine's executors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")


class Runner(Protocol):
    """The interface of an executor: runs a function over tasks, both of which can be pickled."""

    def __call__(self, function: Callable[[_T], _R], tasks: Sequence[_T], /) -> list[_R]:
        """The results, in the order of the tasks."""


@dataclass(frozen=True, slots=True)
class SpreadListing:
    """How listings of many folders are spread over an engine's executors.

    Source: ``FileSystemBackedTableMetadata``.

    Attributes:
        run: the executors.
        tasks: tasks in which the folders of one level are listed, at most.
        threshold: folders up to which this process lists them by itself.
        levels: folders below each other that a partition path is made of.
        looked_up: partitions up to which this process looks files up in the metadata table by itself.
    """

    run: Runner
    tasks: int
    threshold: int
    levels: int
    looked_up: int = 20_000

    def shares(self, folders: Sequence[str]) -> list[list[str]]:
        """Folders by task; one share if this process is to list them."""
        if len(folders) <= self.threshold or self.tasks < 2:
            return [list(folders)]
        return self._shares(folders, min(self.tasks, len(folders)))

    def lookup_shares(self, partitions: Sequence[str]) -> list[list[str]]:
        """Partitions whose files the metadata table knows, by task; neighbours stay together, as in its files."""
        return self._shares(partitions, max(1, min(self.tasks, -(-len(partitions) // max(1, self.looked_up // 4)))))

    @staticmethod
    def _shares(paths: Sequence[str], tasks: int) -> list[list[str]]:
        size = -(-len(paths) // tasks)
        return [list(paths[at : at + size]) for at in range(0, len(paths), size)]
