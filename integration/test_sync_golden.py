"""Ours against real hive-sync: the same tables, a real Hive metastore, the same dumps field by field."""

from __future__ import annotations

import pytest

from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore
from tests import sync_golden as golden

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def metastore(tmp_path_factory):
    with EmbeddedMetastore(tmp_path_factory.mktemp("metastore")) as server, HiveMetastore(server.uri) as client:
        yield client


@pytest.fixture(scope="module")
def results(metastore, tmp_path_factory):
    """Each story once, when the first of its tables is asked for."""
    found: dict[str, golden.Result] = {}

    def get(story: str) -> golden.Result:
        if story not in found:
            world = golden.World(metastore, tmp_path_factory.mktemp(story))
            found[story] = golden.STORIES[story](world)
        return found[story]

    return get


@pytest.mark.parametrize(
    ("story", "name", "table"), [(story, *case) for story, cases in golden.CASES.items() for case in cases]
)
def test_metastore_holds_what_real_hive_sync_put_there(results, story, name, table):
    assert results(story)[name, table] == []
