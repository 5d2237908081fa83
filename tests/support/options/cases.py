"""A case of the walk through all options: what is done with an option set, and with what else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hudi_hive.errors import HudiHiveError
from hudi_hive.options import Face, Option

Scenario = Callable[[Path, Mapping[str, str]], Any]
"""From a folder of its own and options to everything that can be seen of what was done with them."""


class Failure(str):
    """The error that ends a scenario, without the names of its folders."""


@dataclass(frozen=True)
class Case:
    """One option at one face.

    Attributes:
        option: the option.
        face: who gets it.
        scenario: what is done.
        value: its text; the table's name stands for ``{table}`` in the option's name.
        beside: options that are there with it and without it.
        table: name of the table, for options of one table.
    """

    option: Option[Any]
    face: Face
    scenario: Scenario
    value: str
    beside: Mapping[str, str] = field(default_factory=dict)
    table: str = "t"

    @property
    def name(self) -> str:
        """The option's name as it is given."""
        return self.option.of_table(self.table)

    def without(self, folder: Path) -> Any:
        """What is seen without the option."""
        return seen(self.scenario, folder, self.beside)

    def with_option(self, folder: Path) -> Any:
        """What is seen with it."""
        return seen(self.scenario, folder, {**self.beside, self.name: self.value})


def seen(scenario: Scenario, folder: Path, options: Mapping[str, str]) -> Any:
    """What a scenario gives, or the error that ends it."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return scenario(folder, options)
    except HudiHiveError as error:
        return Failure(f"{type(error).__name__}: {str(error).replace(str(folder), '')}")
