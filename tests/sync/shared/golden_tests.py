"""Ours against real hive-sync: the same tables, the same dumps field by field. Also run on a real metastore."""

from __future__ import annotations

import pytest

from hudi_hive.metastore import HiveMetastore
from hudi_hive.testing import FakeMetastore
from tests.support.metastore import sync_golden as golden
from tests.support.metastore import sync_replay as replay


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with FakeMetastore(tmp_path_factory.mktemp("metastore")) as fake:
        yield fake


@pytest.fixture(scope="module")
def results(server, tmp_path_factory):
    """Each story once, when the first of its tables is asked for."""
    found: dict[str, replay.Result] = {}

    def get(story: str) -> replay.Result:
        if story not in found:
            with HiveMetastore(server.uri) as client:
                world = replay.World(client, tmp_path_factory.mktemp(story))
                found[story] = replay.STORIES[story](world)
        return found[story]

    return get


CASES = [(story, *case) for story, cases in replay.CASES.items() for case in cases]
"""Story, dump and table."""


@pytest.mark.parametrize(("story", "name", "table"), CASES)
def test_metastore_holds_what_real_hive_sync_put_there(results, story, name, table):
    assert results(story)[name, table] == []


def test_the_database_is_made_like_real_hive_sync_makes_it(results, server):
    check_database(results, server)


def check_database(results, server):
    """The database of the story."""
    results("story")
    with HiveMetastore(server.uri) as client:
        database = client.database("golden")
    wanted = golden.dump("01")["database"]
    assert (database.name, database.description) == (wanted["name"], wanted["description"])
    assert database.parameters in (None, wanted["parameters"])
    assert database.locationUri.endswith(wanted["locationUri"].rpartition("/")[2])


def test_every_adjustment_names_its_rule_and_is_needed():
    for (name, table), (rules, _) in golden.ADJUSTMENTS.items():
        assert rules
        assert table in golden.compared(name), f"{name}: {table}"
        assert golden.expected_table(name, table) != golden.dump(name)["tables"][table], (
            f"{name}: {table} needs no adjustment"
        )


def test_every_hms_table_is_compared_or_named():
    """All tables of all dumps of the ``hms`` mode are compared, or are named as never made by ours."""
    compared = {case for cases in replay.CASES.values() for case in cases}
    for name in ("01", "03", "04", "05", "06", "07", "08", "10", "30", "32", "40", "41", "42", "60", "61", "90"):
        for table in golden.dump(name)["tables"]:
            assert (name, table) in compared or table in golden.NEVER_MADE, f"{name}: {table}"
