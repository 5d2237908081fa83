"""Ours against real hive-sync once more, on a real Hive metastore."""

from __future__ import annotations

import pytest

from tests.support.running.long import with_long_cases
from tests.sync.shared.golden_tests import (
    CASES,
    check_database,
    results,
)

__all__ = ["results"]

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server


# The longest story makes the same calls as the others, and is played on the fake in every run.
@pytest.mark.parametrize(
    ("story", "name", "table"), with_long_cases([case for case in CASES if case[0] != "story"], CASES)
)
def test_metastore_holds_what_real_hive_sync_put_there(results, story, name, table):
    assert results(story)[name, table] == []


@pytest.mark.long
def test_the_database_is_made_like_real_hive_sync_makes_it(results, server):
    check_database(results, server)
