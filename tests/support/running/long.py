"""Cases that only ``make test-long`` tries: they have the marker ``long``, which other runs leave out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def long_case(*values: Any, name: str | None = None) -> ParameterSet:
    """A case of ``pytest.mark.parametrize`` or of a fixture's parameters.

    Args:
        values: what the case passes to the test.
        name: its part of the test's name.
    """
    return pytest.param(*values, marks=pytest.mark.long, id=name)


def with_long_cases(short: Iterable[Any], every: Iterable[Any]) -> list[Any]:
    """The cases of each run, and behind them all others as long ones.

    Args:
        short: some cases: single values, or tuples where a test takes several arguments.
        every: all cases.
    """
    chosen = list(short)
    others = (case for case in every if case not in chosen)
    return [*chosen, *(long_case(*case) if isinstance(case, tuple) else long_case(case) for case in others)]
