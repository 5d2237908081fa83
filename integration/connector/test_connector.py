"""The connector on a real metastore: its filters, its partition values, the tables that real syncs left."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudi_hive.connector import HudiConnector
from tests.connector.shared.connector_helpers import check_synced
from tests.connector.shared.layout_tests import (
    LAYOUTS,
    check_layout,
    layouts,
    renamed,
    test_a_null_partition_key_is_none_by_metastore_and_by_listing,
    test_calls_by_layout,
    test_partition_keys_of_the_metastore_alone_cannot_be_read_by_listing,
    test_partition_keys_that_only_the_metastore_has_are_columns,
)
from tests.connector.shared.partition_helpers import client, fresh
from tests.connector.shared.partition_tests import (
    many_days,
    test_a_filter_on_keys_is_pushed_down,
    test_a_filter_that_fits_very_many_partitions_takes_them_in_batches,
    test_a_filter_that_hive_cannot_decide_prunes_names,
    test_a_location_outside_of_the_table_is_refused,
    test_a_table_that_was_synced_without_keys_shows_all_partitions,
    test_an_order_of_texts_is_checked_by_the_names,
    test_nothing_that_fits_costs_no_partition_but_one,
    test_partitions_of_a_server_that_refuses_filters_are_read_by_name,
    test_recorded_locations_are_taken_as_they_are,
)

__all__ = [
    "client",
    "fresh",
    "layouts",
    "many_days",
    "renamed",
    "test_a_filter_on_keys_is_pushed_down",
    "test_a_filter_that_fits_very_many_partitions_takes_them_in_batches",
    "test_a_filter_that_hive_cannot_decide_prunes_names",
    "test_a_location_outside_of_the_table_is_refused",
    "test_a_null_partition_key_is_none_by_metastore_and_by_listing",
    "test_a_table_that_was_synced_without_keys_shows_all_partitions",
    "test_an_order_of_texts_is_checked_by_the_names",
    "test_calls_by_layout",
    "test_nothing_that_fits_costs_no_partition_but_one",
    "test_partition_keys_of_the_metastore_alone_cannot_be_read_by_listing",
    "test_partition_keys_that_only_the_metastore_has_are_columns",
    "test_partitions_of_a_server_that_refuses_filters_are_read_by_name",
    "test_recorded_locations_are_taken_as_they_are",
]

pytestmark = pytest.mark.jvm

# The fake serves all fixtures; here a table of each version and kind, with all types, three keys and slashes.
SOME = (
    "v6_cow_types",
    "v6_mor_rollback",
    "v8_cow_slash_day",
    "v8_mor_schema_evo",
    "v9_cow_ymd_hive",
    "v9_mor_part_rli",
)


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server


@pytest.fixture
def connector(fresh):
    return HudiConnector(fresh)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_filtered_rows_are_those_of_a_scan(client, layouts, layout, data):  # fewer filters than on the fake
    check_layout(client, layouts, layout, data)


@pytest.mark.parametrize("name", SOME)
def test_rows_of_every_name_that_a_sync_leaves(fresh, connector, name):
    for left in fresh.tables("default"):
        fresh.drop_table("default", left)
    check_synced(fresh, connector, name)
