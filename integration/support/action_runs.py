"""Actions on tables one after the other, by us and by real Hudi: done, looked at, told and counted."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable

from integration.support.matrix import DifferenceError

_LONGEST = 2500


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
