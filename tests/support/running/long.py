"""Cases that only ``make test-long`` tries: they have the marker ``long``, which other runs leave out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import settings


def long_case(*values: Any, name: str | None = None) -> ParameterSet:
    """A case of ``pytest.mark.parametrize`` or of a fixture's parameters.

    Args:
        values: what the case passes to the test.
        name: its part of the test's name.
    """
    return pytest.param(*values, marks=pytest.mark.long, id=name)


def examples(most: int) -> int:
    """How many examples a property test tries: all of them in a long run, a sixth of them in others.

    Args:
        most: examples of a long run.
    """
    return most if settings.get_current_profile_name() != "same" else -(-most // 6)


def with_long_cases(short: Iterable[Any], every: Iterable[Any]) -> list[Any]:
    """The cases of each run, and behind them all others as long ones.

    Args:
        short: some cases: single values, or tuples where a test takes several arguments.
        every: all cases.
    """
    chosen = list(short)
    others = (case for case in every if case not in chosen)
    return [*chosen, *(long_case(*case) if isinstance(case, tuple) else long_case(case) for case in others)]


VERSION_CASES: Final = with_long_cases((6, 9), (6, 8, 9))
"""Table versions: one of each layout of the timeline in every run, for what does not depend on more than that."""

TABLE_CASES: Final = with_long_cases(
    ((6, "MERGE_ON_READ"), (8, "COPY_ON_WRITE"), (9, "MERGE_ON_READ")),
    [(version, kind) for version in (6, 8, 9) for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")],
)
"""Table versions and types: each version and each type in every run, all pairs in a long one."""
