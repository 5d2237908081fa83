"""The tests of the sync tool once more, against a real metastore."""

from __future__ import annotations

import pytest

from tests.support.running.long import with_long_cases
from tests.sync.shared.sync_refusal_tests import (
    test_a_missing_database_is_made_only_when_allowed,
    test_a_refused_column_change_keeps_the_stamp,
    test_other_partition_keys_are_refused_or_made_anew,
    test_values_that_do_not_fit_are_refused_before_anything_is_made,
)
from tests.sync.shared.sync_tool_helpers import client
from tests.sync.shared.sync_tool_tests import (
    check_first_sync,
    check_incremental_syncs,
    test_a_conditional_sync_moves_the_last_commit_only_with_other_changes,
    test_a_moved_partition_keeps_its_own_parameters,
    test_a_table_of_another_kind_is_left_alone,
    test_a_table_without_its_own_schema_in_spark,
    test_calls_of_a_first_sync_and_of_three_touched_partitions_among_250,
    test_column_and_partition_changes_take_one_call_each,
    test_comments_are_there_after_the_first_sync_and_cost_nothing_later,
    test_filter_pushdown_reads_partitions_by_filter,
    test_names_of_tables_are_compared_without_case,
    test_what_users_added_stays,
)

__all__ = [
    "client",
    "test_a_conditional_sync_moves_the_last_commit_only_with_other_changes",
    "test_a_missing_database_is_made_only_when_allowed",
    "test_a_moved_partition_keeps_its_own_parameters",
    "test_a_refused_column_change_keeps_the_stamp",
    "test_a_table_of_another_kind_is_left_alone",
    "test_a_table_without_its_own_schema_in_spark",
    "test_calls_of_a_first_sync_and_of_three_touched_partitions_among_250",
    "test_column_and_partition_changes_take_one_call_each",
    "test_comments_are_there_after_the_first_sync_and_cost_nothing_later",
    "test_filter_pushdown_reads_partitions_by_filter",
    "test_names_of_tables_are_compared_without_case",
    "test_other_partition_keys_are_refused_or_made_anew",
    "test_values_that_do_not_fit_are_refused_before_anything_is_made",
    "test_what_users_added_stays",
]

pytestmark = pytest.mark.jvm

# The fake serves all fixtures; here a table of each version, with all types, three keys, drops and an archive.
SOME = ("v6_cow_types", "v8_cow_part_mdt", "v9_cow_ymd_hive", "v9_cow_archived", "v8_cow_nonpart")


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server


@pytest.mark.parametrize("name", SOME)
def test_first_sync_then_nothing_to_do(client, name):
    check_first_sync(client, name)


@pytest.mark.parametrize("name", with_long_cases(SOME[1:2], SOME[:4]))
def test_incremental_sync_from_each_instant_ends_like_a_full_one(client, name):
    check_incremental_syncs(client, name)
