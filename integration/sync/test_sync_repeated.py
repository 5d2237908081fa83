"""Tests of syncs on a real metastore that show of it what others show, and of syncs what those on the fake do."""

from __future__ import annotations

import pytest

from tests.sync.shared.merge_on_read_tests import (
    test_names_that_are_not_synced_any_more_are_reported,
    test_nothing_is_made_when_one_of_the_names_is_taken,
    test_nothing_is_made_when_values_do_not_fit_or_the_database_is_missing,
    test_the_hudi_table_is_read_once_for_all_names,
)
from tests.sync.shared.option_tests import (
    test_a_bucket_column_must_be_a_data_column,
    test_a_field_twice_is_refused,
    test_a_sql_mode_without_its_library_is_refused,
    test_a_table_of_many_partitions_is_not_walked_when_it_has_a_metadata_table,
    test_a_table_without_metadata_table_is_listed,
    test_case_does_not_count_in_partition_fields,
    test_double_slashes_are_no_other_place,
    test_partitions_come_from_the_metadata_table,
    test_the_sql_client_is_loaded_by_the_sql_modes_alone,
)
from tests.sync.shared.sync_refusal_tests import (
    test_bad_input_raises_errors_of_this_package,
    test_fields_in_another_order_than_the_folders_are_refused,
    test_incremental_sync_refuses_a_second_folder_of_the_same_values,
    test_two_folders_of_the_same_values_are_refused,
)
from tests.sync.shared.sync_tool_helpers import client
from tests.sync.shared.sync_tool_tests import (
    test_a_last_sync_that_was_taken_back_compares_everything,
    test_a_refused_filter_is_no_reason_to_fail,
    test_a_tool_with_addresses_only_can_be_used_again,
    test_a_user_without_a_name_can_sync,
    test_last_sync_in_the_archive_compares_everything,
    test_partitions_are_added_and_dropped_in_batches,
    test_partitions_are_read_in_large_calls,
    test_partitions_that_only_the_cleaner_emptied_are_dropped,
    test_rows_can_be_printed,
)

__all__ = [
    "client",
    "test_a_bucket_column_must_be_a_data_column",
    "test_a_field_twice_is_refused",
    "test_a_last_sync_that_was_taken_back_compares_everything",
    "test_a_refused_filter_is_no_reason_to_fail",
    "test_a_sql_mode_without_its_library_is_refused",
    "test_a_table_of_many_partitions_is_not_walked_when_it_has_a_metadata_table",
    "test_a_table_without_metadata_table_is_listed",
    "test_a_tool_with_addresses_only_can_be_used_again",
    "test_a_user_without_a_name_can_sync",
    "test_bad_input_raises_errors_of_this_package",
    "test_case_does_not_count_in_partition_fields",
    "test_double_slashes_are_no_other_place",
    "test_fields_in_another_order_than_the_folders_are_refused",
    "test_incremental_sync_refuses_a_second_folder_of_the_same_values",
    "test_last_sync_in_the_archive_compares_everything",
    "test_names_that_are_not_synced_any_more_are_reported",
    "test_nothing_is_made_when_one_of_the_names_is_taken",
    "test_nothing_is_made_when_values_do_not_fit_or_the_database_is_missing",
    "test_partitions_are_added_and_dropped_in_batches",
    "test_partitions_are_read_in_large_calls",
    "test_partitions_come_from_the_metadata_table",
    "test_partitions_that_only_the_cleaner_emptied_are_dropped",
    "test_rows_can_be_printed",
    "test_the_hudi_table_is_read_once_for_all_names",
    "test_the_sql_client_is_loaded_by_the_sql_modes_alone",
    "test_two_folders_of_the_same_values_are_refused",
]

pytestmark = [pytest.mark.jvm, pytest.mark.long]


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server
