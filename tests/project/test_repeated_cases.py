"""Which tests are left to long runs because they only repeat what others reach."""

from __future__ import annotations

import pyarrow as pa

from tests.support.fixture_tables import ROOT
from tests.support.running.reach import REACHED
from tests.support.running.repeats import choose, repeats


def test_cases_go_whose_branches_others_reach() -> None:
    records = _records(
        ("a.py::t[slow]", 9.0, (1, 2)),
        ("a.py::t[alone]", 8.0, (1, 3)),
        ("a.py::t[again]", 4.0, (1, 2)),
        ("a.py::t[quick]", 0.1, (1, 2)),
        ("b.py::t", 5.0, (1,)),
    )
    assert choose(records, 100) == {"a.py::t[slow]": 9.0, "a.py::t[again]": 4.0}
    assert choose(records, 8) == {"a.py::t[again]": 4.0}
    assert not choose(records, 0)


def test_the_last_that_reaches_a_branch_and_the_last_case_stay() -> None:
    records = _records(
        ("a.py::t[1]", 2.0, (1,)),
        ("a.py::t[2]", 1.0, (1,)),
        ("b.py::t[1]", 3.0, (2,)),
        ("b.py::t[2]", 9.0, (2,)),
        ("b.py::other", 4.0, (2,)),
    )
    assert choose(records, 100) == {"b.py::t[2]": 9.0, "a.py::t[1]": 2.0}


def test_files_of_the_list_exist() -> None:
    assert [test for test in repeats() if not (ROOT / test.partition("::")[0]).is_file()] == []


def _records(*rows: tuple[str, float, tuple[int, ...]]) -> pa.Table:
    return pa.Table.from_pylist(
        [{"test": test, "seconds": seconds, "branches": branches} for test, seconds, branches in rows], REACHED
    )
