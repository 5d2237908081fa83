"""What the options of a sync do once more, against a real metastore."""

from __future__ import annotations

import pytest

from tests.sync.shared.option_tests import (
    client,
    test_a_cascade_keeps_recorded_locations,
    test_a_full_comparison_touches_what_may_have_been_written,
    test_a_table_that_is_not_there_is_created_not_recreated,
    test_base_paths_are_registered_with_single_slashes,
    test_buckets_are_registered_changed_and_left_alone,
    test_forced_recreation_keeps_data_and_what_users_added,
    test_recreation_on_an_incompatible_change_keeps_the_data,
    test_written_partitions_are_touched_and_no_others,
)

__all__ = [
    "client",
    "test_a_cascade_keeps_recorded_locations",
    "test_a_full_comparison_touches_what_may_have_been_written",
    "test_a_table_that_is_not_there_is_created_not_recreated",
    "test_base_paths_are_registered_with_single_slashes",
    "test_buckets_are_registered_changed_and_left_alone",
    "test_forced_recreation_keeps_data_and_what_users_added",
    "test_recreation_on_an_incompatible_change_keeps_the_data",
    "test_written_partitions_are_touched_and_no_others",
]

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server
