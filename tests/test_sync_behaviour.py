"""A sync that dies at any of its calls can be run again. Also run on a real metastore."""

from __future__ import annotations

import pytest

from hudi_hive.metastore import HiveMetastore
from hudi_hive.metastore.testing import FakeMetastore
from tests import sync_behaviour as behaviour


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with FakeMetastore(tmp_path_factory.mktemp("metastore")) as fake:
        yield fake


@pytest.mark.parametrize("answer_lost", [False, True])
@pytest.mark.parametrize(("kind", "at_least"), [("first", 7), ("incremental", 7), ("full", 8), ("moved", 5)])
def test_a_sync_that_died_anywhere_can_be_run_again(server, tmp_path, kind, at_least, answer_lost):
    with HiveMetastore(server.uri) as client:
        prepare = behaviour.PREPARATIONS[kind](client, tmp_path)
        deaths = behaviour.die_everywhere(client, prepare, answer_lost=answer_lost, whole_database=kind == "first")
    assert deaths == list(range(1, len(deaths) + 1))
    assert len(deaths) >= at_least
