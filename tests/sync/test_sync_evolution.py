"""Tables whose schema changed by ids, in a metastore: columns, comments, Spark's schema. Also run on real ones."""

from __future__ import annotations

from tests.sync.shared.evolution_tests import (
    client,
    server,
    test_a_change_of_the_schema_is_synced_as_writes_are,
    test_a_comment_of_the_metastore_follows_its_column,
    test_a_sync_after_each_commit,
    test_a_sync_from_each_commit_to_the_last,
    test_a_sync_that_dies_between_two_steps_is_made_good,
    test_an_incompatible_type_is_refused_by_name,
    test_old_columns_are_no_way_to_have_none,
    test_the_whole_schema_of_spark_goes_when_its_pieces_come,
    test_what_a_rename_and_a_drop_cost,
)

__all__ = [
    "client",
    "server",
    "test_a_change_of_the_schema_is_synced_as_writes_are",
    "test_a_comment_of_the_metastore_follows_its_column",
    "test_a_sync_after_each_commit",
    "test_a_sync_from_each_commit_to_the_last",
    "test_a_sync_that_dies_between_two_steps_is_made_good",
    "test_an_incompatible_type_is_refused_by_name",
    "test_old_columns_are_no_way_to_have_none",
    "test_the_whole_schema_of_spark_goes_when_its_pieces_come",
    "test_what_a_rename_and_a_drop_cost",
]
