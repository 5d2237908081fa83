"""Actions on tables one after the other, by us and by real Hudi: done, looked at, told and counted."""

from __future__ import annotations

import argparse
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from integration.support.hudi_peer import HudiPeer
from integration.support.matrix import DifferenceError

FEW_TASKS = {f"hoodie.{operation}.shuffle.parallelism": "2" for operation in ("upsert", "insert", "delete")}
"""Options of real Hudi's writes, for tables of few rows."""

_LONGEST = 2500
_SHOWN = 700


print_at_once = partial(print, flush=True)
"""Prints a line that shows while the program goes on."""


@contextmanager
def chosen_tables(about: str | None, **choices: Sequence[Any]) -> Iterator[tuple[argparse.Namespace, Path]]:
    """Read which tables the command line chooses, and make the folder that they go to.

    Args:
        about: the program's docstring, for ``--help``.
        choices: option -> its values; all of them where the option is not given.

    Returns:
        The values of each option, and the folder: that of ``--keep``, or one that is deleted at the end.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, values in choices.items():
        parser.add_argument(f"--{name}", type=type(values[0]), action="append", choices=values)
    parser.add_argument("--keep", type=Path, help="leave the tables there")
    chosen = parser.parse_args()
    for name, values in choices.items():
        setattr(chosen, name, getattr(chosen, name) or values)
    with tempfile.TemporaryDirectory(prefix="hudi_hive_tables_") as scratch:
        yield chosen, chosen.keep or Path(scratch)


def run_actions(
    label: str,
    actions: Iterable[tuple[str, Callable[[], object]]],
    look: Callable[[str], str],
    tell: Callable[[str], object],
) -> tuple[int, int]:
    """Do the actions on a table; one that fails does not end the others.

    Args:
        label: which table, for what is told.
        actions: names of the actions and what does them.
        look: looks at the table after an action, by its name; gives what else there is to tell.
        tell: is told what became of each action.

    Returns:
        How many actions there were, and behind how many of them all was as it should be.
    """
    total = passed = 0
    for name, act in actions:
        total += 1
        try:
            act()
            more = look(name)
            passed += 1
            tell(f"{label} {name}: ok{more}")
        except Exception as error:
            tell(f"{label} {name}: FAILED {type(error).__name__}: {str(error)[:_LONGEST]}")
            if not isinstance(error, DifferenceError):
                tell(traceback.format_exc()[-_LONGEST:])
    return total, passed


def refuse_nothing_done(done: Sequence[object]) -> None:
    """Refuse that a service had nothing to do.

    Raises:
        DifferenceError: it did nothing.
    """
    if not done:
        raise DifferenceError("the service did nothing")


def same(what: str, actual: Any, expected: Any) -> None:
    """Compare two values, or lists and sets entry by entry.

    Raises:
        DifferenceError: they differ; it shows in what.
    """
    if actual == expected:
        return
    if not isinstance(actual, list | set):
        raise DifferenceError(f"{what}: {str(actual)[:_SHOWN]} and not {str(expected)[:_SHOWN]}")
    lost, more = ([one for one in left if one not in right] for left, right in ((expected, actual), (actual, expected)))
    raise DifferenceError(f"{what}: lacks {str(lost)[:_SHOWN]}, has {str(more)[:_SHOWN]} too")


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows by partition and key: by their columns ``part`` and ``id``."""
    return sorted(rows, key=lambda row: (str(row["part"]), str(row["id"])))


def check_hudi_rows(
    peer: HudiPeer, path: Path, expected: Sequence[dict[str, Any]], readers: Iterable[Mapping[str, str]]
) -> None:
    """Compare the rows of a table, as real Hudi reads it under each of some options, with those that it should have.

    Raises:
        DifferenceError: they differ.
    """
    for options in readers:
        rows = peer.read(path, list(expected[0]), dict(options))
        same(f"rows of Hudi, {options}", in_order(rows), expected)


def print_counts(counts: Iterable[tuple[int, int]]) -> int:
    """Print how many of the actions of all tables passed.

    Args:
        counts: of each table, as of :func:`run_actions`.

    Returns:
        The exit status: 0 when all passed.
    """
    total = passed = 0
    for of_table, passed_there in counts:
        total, passed = total + of_table, passed + passed_there
    print(f"{passed} of {total} actions passed")
    return 0 if passed == total else 1
