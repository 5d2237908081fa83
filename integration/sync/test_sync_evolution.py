"""Evolved tables on real metastores, old and new."""

from __future__ import annotations

import pytest

from integration.support.metastores import TRANSACTIONS
from tests.support.running.long import long_case
from tests.sync.shared.evolution_tests import (
    check_each_commit,
    check_jumps,
    client,
    test_a_change_of_the_schema_is_synced_as_writes_are,
    test_a_comment_of_the_metastore_follows_its_column,
    test_a_sync_that_dies_between_two_steps_is_made_good,
    test_an_incompatible_type_is_refused_by_name,
    test_old_columns_are_no_way_to_have_none,
    test_the_whole_schema_of_spark_goes_when_its_pieces_come,
    test_what_a_rename_and_a_drop_cost,
)

__all__ = [
    "client",
    "test_a_change_of_the_schema_is_synced_as_writes_are",
    "test_a_comment_of_the_metastore_follows_its_column",
    "test_a_sync_that_dies_between_two_steps_is_made_good",
    "test_an_incompatible_type_is_refused_by_name",
    "test_old_columns_are_no_way_to_have_none",
    "test_the_whole_schema_of_spark_goes_when_its_pieces_come",
    "test_what_a_rename_and_a_drop_cost",
]

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module", params=[long_case("embedded"), long_case("3.1.3"), "4.0.1"])
def server(request, metastores):
    """One version after the other."""
    if request.param == "embedded":
        return request.getfixturevalue("embedded_metastore")
    return metastores.start(request.param, TRANSACTIONS, with_hive=True)


# The fake serves all of them.
@pytest.mark.parametrize("name", [long_case("v6_cow_schema_evo"), "v9_mor_schema_evo"])
def test_a_sync_after_each_commit(client, tmp_path, name):
    check_each_commit(client, tmp_path, name)


def test_a_sync_from_each_commit_to_the_last(client, tmp_path):
    check_jumps(client, tmp_path, "v8_cow_schema_evo")
