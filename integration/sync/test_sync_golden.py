"""Ours against real hive-sync once more, on a real Hive metastore."""

from __future__ import annotations

import pytest

from tests.sync.shared.golden_tests import (
    results,
    test_every_adjustment_names_its_rule_and_is_needed,
    test_every_hms_table_is_compared_or_named,
    test_metastore_holds_what_real_hive_sync_put_there,
    test_the_database_is_made_like_real_hive_sync_makes_it,
)

__all__ = [
    "results",
    "test_every_adjustment_names_its_rule_and_is_needed",
    "test_every_hms_table_is_compared_or_named",
    "test_metastore_holds_what_real_hive_sync_put_there",
    "test_the_database_is_made_like_real_hive_sync_makes_it",
]

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server
