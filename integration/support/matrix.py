"""Matrices of cases that a program runs: parts, table versions and table types, chosen by arguments and counted."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

VERSIONS: Final = (6, 8, 9)
TYPES: Final = ("COPY_ON_WRITE", "MERGE_ON_READ")

Seen = tuple[str, Any]
"""A step, and what is seen after it."""

_LONGEST: Final = 3000


@dataclass(frozen=True)
class MatrixCase:
    """One kind of table in one part of a matrix."""

    part: str
    version: int
    table_type: str

    def __str__(self) -> str:
        return f"{self.part}-{self.version}-{self.table_type}"

    @property
    def is_mor(self) -> bool:
        """Whether the table has log files."""
        return self.table_type == "MERGE_ON_READ"


CaseT = TypeVar("CaseT", bound=MatrixCase)


class DifferenceError(AssertionError):
    """A step is not seen at one place as at the other."""


def compare_steps(case: MatrixCase, local: Iterator[Seen], remote: Iterator[Seen]) -> int:
    """Take the steps of a case on local disk and on a store.

    Returns:
        How many things were compared.

    Raises:
        DifferenceError: something is not the same.
    """
    compared = 0
    for (step, expected), (other, seen) in zip(local, remote, strict=True):
        if step != other or expected != seen:
            raise DifferenceError(f"{case}: {step}: {str(expected)[:900]} on disk, {other}: {str(seen)[:900]} there")
        compared += 1
    return compared


def add_case_arguments(parser: argparse.ArgumentParser, parts: Iterable[str]) -> None:
    """Add arguments that choose cases, and how much is said of those that fail."""
    parser.add_argument("--part", action="append", choices=tuple(parts))
    parser.add_argument("--version", type=int, action="append", choices=VERSIONS)
    parser.add_argument("--type", action="append", choices=TYPES)
    parser.add_argument("--trace", action="store_true", help="print tracebacks")


def case_parser(description: str | None, parts: Iterable[str]) -> argparse.ArgumentParser:
    """A parser with the arguments of a matrix, whose help is a program's docstring."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_case_arguments(parser, parts)
    return parser


def all_cases(kind: type[CaseT], parts: Iterable[str]) -> list[CaseT]:
    """A case of each part, version and table type."""
    return [kind(part, version, table_type) for part in parts for version in VERSIONS for table_type in TYPES]


def run_cases(cases: Sequence[CaseT], chosen: argparse.Namespace, run: Callable[[CaseT], int]) -> int:
    """Run the chosen cases; print how each ends, and the numbers.

    Args:
        cases: all of them.
        chosen: what :func:`add_case_arguments` parsed.
        run: runs a case and gives how many things were compared.

    Returns:
        The exit status: 0 when all passed.
    """
    picks = ((chosen.part, "part"), (chosen.version, "version"), (chosen.type, "table_type"))
    counts: Counter[str] = Counter()
    for case in cases:
        if any(values and getattr(case, name) not in values for values, name in picks):
            continue
        counts["all"] += 1
        try:
            counts["steps"] += run(case)
            counts["passed"] += 1
            print(f"{case} ok", flush=True)
        except Exception as error:
            print(f"{case} FAILED {type(error).__name__}: {error}"[:_LONGEST], flush=True)
            if chosen.trace:
                traceback.print_exc(file=sys.stdout)
    print(f"{counts['passed']} of {counts['all']} cases passed, {counts['steps']} comparisons")
    return 0 if counts["passed"] == counts["all"] else 1
