"""What the options of a sync do once more, against a real metastore."""

from __future__ import annotations

import pytest

from tests.sync.shared.option_tests import (
    client,
    test_a_bucket_column_must_be_a_data_column,
    test_a_cascade_keeps_recorded_locations,
    test_a_field_twice_is_refused,
    test_a_full_comparison_touches_what_may_have_been_written,
    test_a_sql_mode_without_its_library_is_refused,
    test_a_table_of_many_partitions_is_not_walked_when_it_has_a_metadata_table,
    test_a_table_that_is_not_there_is_created_not_recreated,
    test_a_table_without_metadata_table_is_listed,
    test_base_paths_are_registered_with_single_slashes,
    test_buckets_are_registered_changed_and_left_alone,
    test_case_does_not_count_in_partition_fields,
    test_double_slashes_are_no_other_place,
    test_forced_recreation_keeps_data_and_what_users_added,
    test_partitions_come_from_the_metadata_table,
    test_recreation_on_an_incompatible_change_keeps_the_data,
    test_the_sql_client_is_loaded_by_the_sql_modes_alone,
    test_written_partitions_are_touched_and_no_others,
)

__all__ = [
    "client",
    "test_a_bucket_column_must_be_a_data_column",
    "test_a_cascade_keeps_recorded_locations",
    "test_a_field_twice_is_refused",
    "test_a_full_comparison_touches_what_may_have_been_written",
    "test_a_sql_mode_without_its_library_is_refused",
    "test_a_table_of_many_partitions_is_not_walked_when_it_has_a_metadata_table",
    "test_a_table_that_is_not_there_is_created_not_recreated",
    "test_a_table_without_metadata_table_is_listed",
    "test_base_paths_are_registered_with_single_slashes",
    "test_buckets_are_registered_changed_and_left_alone",
    "test_case_does_not_count_in_partition_fields",
    "test_double_slashes_are_no_other_place",
    "test_forced_recreation_keeps_data_and_what_users_added",
    "test_partitions_come_from_the_metadata_table",
    "test_recreation_on_an_incompatible_change_keeps_the_data",
    "test_the_sql_client_is_loaded_by_the_sql_modes_alone",
    "test_written_partitions_are_touched_and_no_others",
]

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server
