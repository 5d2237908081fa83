"""Damaged bytes with fixed seeds; ``python -m tests.support.faults.fuzz_long --seconds N`` runs on with new ones."""

from __future__ import annotations

import resource
from collections import Counter

import pytest

from tests.support.faults.fuzzing import TARGETS, BytesTarget

MEGABYTES = 600
"""How much more memory than before all cases of one target together may take at their peak."""

CASES = {True: 300, False: 25}
"""How many damages of bytes alone, and of a table's files, a long run tries of each target."""


@pytest.mark.parametrize("name", TARGETS)
def test_damage_ends_in_our_error_or_a_sound_answer(name, thorough):
    target = TARGETS[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cases = CASES[isinstance(target, BytesTarget)] // (1 if thorough else 4)
    outcomes = Counter(target.run(seed) for seed in range(cases))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MEGABYTES, f"{grown:.0f} MB more"
    assert target.quiet or set(outcomes) != {"same"}, "no damage was ever noticed"
