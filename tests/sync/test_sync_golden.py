"""Ours against real hive-sync: the same tables, the same dumps field by field. Also run on a real metastore."""

from __future__ import annotations

from tests.sync.shared.golden_tests import (
    results,
    server,
    test_every_adjustment_names_its_rule_and_is_needed,
    test_every_hms_table_is_compared_or_named,
    test_metastore_holds_what_real_hive_sync_put_there,
    test_the_database_is_made_like_real_hive_sync_makes_it,
)

__all__ = [
    "results",
    "server",
    "test_every_adjustment_names_its_rule_and_is_needed",
    "test_every_hms_table_is_compared_or_named",
    "test_metastore_holds_what_real_hive_sync_put_there",
    "test_the_database_is_made_like_real_hive_sync_makes_it",
]
