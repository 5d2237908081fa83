"""Tests of the connector on a real metastore that show of the connector what those on the fake do."""

from __future__ import annotations

import pytest

from tests.connector.shared.layout_tests import (
    renamed,
    test_a_dynamic_filter_may_be_about_them,
    test_a_split_carries_all_of_the_filter,
)
from tests.connector.shared.partition_helpers import client, fresh
from tests.connector.shared.partition_tests import (
    many_days,
    test_a_dynamic_filter_leaves_partitions_out,
    test_a_failing_metastore_ends_the_reading_with_its_error,
    test_folders_are_listed_where_a_metadata_table_is_damaged_midway,
    test_names_first_then_batches,
    test_partitions_that_are_not_registered_are_not_read_and_removed_ones_are_empty,
    test_the_first_partitions_come_few_at_a_time,
    test_the_first_splits_are_there_before_the_last_partitions,
    test_the_metadata_table_as_source_is_refused_where_there_is_none,
    test_the_metadata_table_names_partitions,
    test_two_partitions_of_one_folder_are_refused,
)

__all__ = [
    "client",
    "fresh",
    "many_days",
    "renamed",
    "test_a_dynamic_filter_leaves_partitions_out",
    "test_a_dynamic_filter_may_be_about_them",
    "test_a_failing_metastore_ends_the_reading_with_its_error",
    "test_a_split_carries_all_of_the_filter",
    "test_folders_are_listed_where_a_metadata_table_is_damaged_midway",
    "test_names_first_then_batches",
    "test_partitions_that_are_not_registered_are_not_read_and_removed_ones_are_empty",
    "test_the_first_partitions_come_few_at_a_time",
    "test_the_first_splits_are_there_before_the_last_partitions",
    "test_the_metadata_table_as_source_is_refused_where_there_is_none",
    "test_the_metadata_table_names_partitions",
    "test_two_partitions_of_one_folder_are_refused",
]

pytestmark = [pytest.mark.jvm, pytest.mark.long]


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server
