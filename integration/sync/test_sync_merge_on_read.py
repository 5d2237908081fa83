"""The tests of merge-on-read syncs once more, against a real metastore."""

from __future__ import annotations

import pytest

from tests.sync.shared.merge_on_read_tests import (
    check_first_sync,
    client,
    names_of,
    test_a_name_that_was_dropped_is_made_again,
    test_calls_of_a_first_sync,
    test_each_strategy_registers_its_tables,
    test_one_name_that_fell_behind_catches_up_alone,
    test_partitions_follow_when_a_name_is_to_show_another_view,
)
from tests.sync.shared.sync_tool_tests import check_incremental_syncs

__all__ = [
    "client",
    "test_a_name_that_was_dropped_is_made_again",
    "test_calls_of_a_first_sync",
    "test_each_strategy_registers_its_tables",
    "test_one_name_that_fell_behind_catches_up_alone",
    "test_partitions_follow_when_a_name_is_to_show_another_view",
]

pytestmark = pytest.mark.jvm

# The fake serves all fixtures; here a table of each version, with drops, all types and no commit at all.
SOME = ("v6_mor_types", "v8_mor_part_rli", "v9_mor_bucket", "v8_mor_empty")


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server


@pytest.mark.parametrize("name", SOME)
def test_first_sync_then_nothing_to_do(client, name):
    check_first_sync(client, name)


@pytest.mark.parametrize("name", SOME[1:2])
def test_incremental_sync_from_each_instant_ends_like_a_full_one(client, name):
    check_incremental_syncs(client, name, names_of(name))
