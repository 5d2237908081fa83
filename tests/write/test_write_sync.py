"""Writes that sync the table to a metastore in the same call, on the metastore for tests."""

from __future__ import annotations

from tests.write.shared.write_sync_tests import (
    client,
    server,
    test_every_operation_syncs_and_as_a_sync_of_its_own_does,
    test_new_columns_are_synced,
    test_nothing_is_synced_unless_enabled,
    test_rows_stand_where_the_sync_fails,
    test_wrong_options_of_the_sync_are_refused_before_anything_is_written,
)

__all__ = [
    "client",
    "server",
    "test_every_operation_syncs_and_as_a_sync_of_its_own_does",
    "test_new_columns_are_synced",
    "test_nothing_is_synced_unless_enabled",
    "test_rows_stand_where_the_sync_fails",
    "test_wrong_options_of_the_sync_are_refused_before_anything_is_written",
]
