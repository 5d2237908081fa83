"""The connector on a real metastore: its filters, its partition values, the tables that real syncs left."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.connector.test_connector import check_synced
from tests.connector.test_connector_partitions import *  # noqa: F403

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
    return HudiConnector(fresh)  # noqa: F405


@pytest.mark.parametrize("layout", LAYOUTS)  # noqa: F405
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_row_is_lost_or_won(client, layouts, layout, data):  # fewer filters than on the fake
    check_layout(client, layouts, layout, data)  # noqa: F405


@pytest.mark.parametrize("name", SOME)
def test_rows_of_every_name_that_a_sync_leaves(fresh, connector, name):
    for left in fresh.tables("default"):
        fresh.drop_table("default", left)
    check_synced(fresh, connector, name)
