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
    """

    run: Runner
    tasks: int
    threshold: int
    levels: int

    def shares(self, folders: Sequence[str]) -> list[list[str]]:
        """Folders by task; one share if this process is to list them."""
        if len(folders) <= self.threshold or self.tasks < 2:
            return [list(folders)]
        size = -(-len(folders) // min(self.tasks, len(folders)))
        return [list(folders[at : at + size]) for at in range(0, len(folders), size)]
