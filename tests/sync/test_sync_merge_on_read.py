"""Merge-on-read tables under their three names: results, costs, strategies. Also run on a real metastore."""

from __future__ import annotations

from tests.sync.shared.merge_on_read_tests import (
    client,
    server,
    test_a_name_that_was_dropped_is_made_again,
    test_calls_of_a_first_sync,
    test_each_strategy_registers_its_tables,
    test_first_sync_then_nothing_to_do,
    test_incremental_sync_from_each_instant_ends_like_a_full_one,
    test_names_that_are_not_synced_any_more_are_reported,
    test_nothing_is_made_when_one_of_the_names_is_taken,
    test_nothing_is_made_when_values_do_not_fit_or_the_database_is_missing,
    test_one_name_that_fell_behind_catches_up_alone,
    test_partitions_follow_when_a_name_is_to_show_another_view,
    test_the_hudi_table_is_read_once_for_all_names,
)

__all__ = [
    "client",
    "server",
    "test_a_name_that_was_dropped_is_made_again",
    "test_calls_of_a_first_sync",
    "test_each_strategy_registers_its_tables",
    "test_first_sync_then_nothing_to_do",
    "test_incremental_sync_from_each_instant_ends_like_a_full_one",
    "test_names_that_are_not_synced_any_more_are_reported",
    "test_nothing_is_made_when_one_of_the_names_is_taken",
    "test_nothing_is_made_when_values_do_not_fit_or_the_database_is_missing",
    "test_one_name_that_fell_behind_catches_up_alone",
    "test_partitions_follow_when_a_name_is_to_show_another_view",
    "test_the_hudi_table_is_read_once_for_all_names",
]
