"""The suite against real metastores of other versions than the embedded one, and one that somebody else runs.

For the latter set ``HUDI_HIVE_TEST_METASTORE`` to its URI and ``HUDI_HIVE_TEST_WAREHOUSE`` to its warehouse folder (it
must share this machine's file system); without them those tests are skipped.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import pytest

from hudi_hive.errors import TableChangedError
from hudi_hive.metastore import HiveMetastore
from integration.support.metastore_pool import removing_new_tables
from integration.support.metastores import RELEASES, TRANSACTIONS
from tests.support.metastore import sync_replay as replay
from tests.support.metastore.metastore_behaviour import MetastoreBehaviour, table_of
from tests.support.running.long import with_long_cases

URI = os.environ.get("HUDI_HIVE_TEST_METASTORE", "")
pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module", params=with_long_cases(["4.0.1"], sorted(RELEASES)))
def server(request, metastores):
    """The newest release, and in a long run one after the other."""
    running = metastores.start(request.param, TRANSACTIONS, with_hive=True)
    with HiveMetastore(running.uri) as client, removing_new_tables(client):
        yield running


class TestReleasedMetastore(MetastoreBehaviour):
    strict_names = False

    @pytest.fixture
    def metastore(self, server):
        return server

    def test_odd_partition_values_come_back_as_they_are(self, client, database, tmp_path, server):
        if server.database == "mariadb":
            pytest.skip("its columns are of latin1: test_metastore_databases.py shows what it refuses")
        super().test_odd_partition_values_come_back_as_they_are(client, database, tmp_path)

    def test_integral_and_date_keys(self, client, database, tmp_path, server):
        if (server.database, server.release.version) == ("postgres", "3.1.3"):
            pytest.skip("metastore 3.1 compares a date with a text there, which PostgreSQL refuses")
        super().test_integral_and_date_keys(client, database, tmp_path)


def test_a_change_requires_the_value_of_a_parameter(server, tmp_path):
    """Metastore 4.0 cannot compare on Derby and is asked once; 3.1 does not know the question and changes the table."""
    with HiveMetastore(server.uri) as client:
        table = table_of("default", "guarded", tmp_path, parameters={"EXTERNAL": "TRUE", "stamp": "0"})
        client.create_table(table)
        for number in range(3):
            table = client.table("default", "guarded")
            table.parameters["stamp"] = str(number + 1)
            client.alter_table("default", "guarded", table, expected=("stamp", str(number)))
        asked = client.calls["alter_table_with_environment_context"]
        if server.release.version == "3.1.3":
            assert asked == 3
            client.alter_table("default", "guarded", table, expected=("stamp", "1"))
        else:
            assert asked == (4 if server.store is None else 3)
            with pytest.raises(TableChangedError, match=r"stamp.* is '3'.*'1'"):
                client.alter_table("default", "guarded", table, expected=("stamp", "1"))
        client.drop_table("default", "guarded")


STORIES = ("newer",)
NEWER = re.compile(r"(\.catName: golden None, ours 'hive'|\.parameters\.numFilesErasureCoded: golden None, ours '0')$")
"""What a newer metastore adds to each object by itself."""


@pytest.fixture(scope="module")
def results(server, tmp_path_factory):
    """Each story of real hive-sync's dumps once, when the first of its tables is asked for."""
    found: dict[str, replay.Result] = {}

    def get(story: str) -> replay.Result:
        if story not in found:
            with HiveMetastore(server.uri) as client:
                world = replay.World(client, tmp_path_factory.mktemp(story))
                found[story] = replay.STORIES[story](world)
        return found[story]

    return get


@pytest.mark.parametrize(
    ("story", "name", "table"), [(story, *case) for story in STORIES for case in replay.CASES[story]]
)
def test_sync_leaves_what_real_hive_sync_leaves_in_metastore_2(results, story, name, table):
    differences = results(story)[name, table]
    assert [line for line in differences if not NEWER.search(line)] == []


@dataclass(frozen=True)
class Other:
    uri: str
    warehouse: str


@pytest.mark.skipif(not URI, reason="HUDI_HIVE_TEST_METASTORE names no metastore")
class TestOtherMetastore(MetastoreBehaviour):
    strict_names = False

    @pytest.fixture
    def metastore(self):
        return Other(URI, os.environ.get("HUDI_HIVE_TEST_WAREHOUSE", ""))
