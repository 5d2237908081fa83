"""Evolved tables on real metastores, old and new, and by statements of a real HiveServer2."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from hudi_hive.metastore import HiveMetastore
from hudi_hive.sync.apply.sql import SqlServer
from integration.support.hive_server import HiveServer2
from integration.support.metastores import QUICK_RETRIES
from tests.support.metastore.sync_behaviour import DATABASE
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
def server(request, metastores, embedded_metastore):
    """One version after the other."""
    return embedded_metastore if request.param == "embedded" else metastores.start(request.param, QUICK_RETRIES)


@pytest.fixture(scope="module")
def hive(metastore_uri, metastore, tmp_path_factory) -> Iterator[tuple[HiveServer2, HiveMetastore]]:
    """HiveServer2 and a client of its metastore."""
    with HiveServer2(metastore_uri, tmp_path_factory.mktemp("hive")) as server:
        yield server, metastore


@pytest.mark.parametrize("name", ["v6_cow_schema_evo", "v9_mor_schema_evo"])  # the fake serves all of them
def test_a_sync_after_each_commit(client, tmp_path, name):
    check_each_commit(client, tmp_path, name)


def test_a_sync_from_each_commit_to_the_last(client, tmp_path):
    check_jumps(client, tmp_path, "v8_cow_schema_evo")


@pytest.mark.parametrize("name", ["v6_cow_schema_evo", "v9_mor_schema_evo"])
def test_statements_do_the_same(hive, tmp_path, monkeypatch, name):
    server, client = hive
    done: list[str] = []
    execute = SqlServer.execute

    def spy(self: SqlServer, statement: str, about: str) -> None:
        execute(self, statement, about)
        done.append(statement)

    monkeypatch.setattr(SqlServer, "execute", spy)
    try:
        check_each_commit(client, tmp_path, name, mode="hiveql", jdbc_url=server.jdbc_url)
    finally:
        client.drop_database(DATABASE, cascade=True)
    replaced = [text for text in done if re.match(r"ALTER TABLE \S+ REPLACE COLUMNS", text)]
    assert len(replaced) > 9 and all(text.endswith("CASCADE") for text in replaced)
