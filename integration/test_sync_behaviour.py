"""A sync that dies at any of its calls to a real metastore can be run again."""

from __future__ import annotations

import pytest

from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore
from tests import sync_behaviour as behaviour

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with EmbeddedMetastore(tmp_path_factory.mktemp("metastore")) as server, HiveMetastore(server.uri) as client:
        yield client


@pytest.mark.parametrize("answer_lost", [False, True])
@pytest.mark.parametrize("kind", ["first", "incremental", "moved"])
def test_a_sync_that_died_anywhere_can_be_run_again(client, tmp_path, kind, answer_lost):
    prepare = {
        "first": behaviour.first_sync(tmp_path),
        "incremental": behaviour.incremental_sync(client, tmp_path),
        "moved": behaviour.moved_table(client, tmp_path),
    }[kind]
    clean = lambda name: client.drop_table(behaviour.DATABASE, name, if_exists=True)  # noqa: E731
    if kind == "first":
        clean = lambda name: client.drop_database(behaviour.DATABASE, cascade=True, if_exists=True)  # noqa: E731
    deaths = behaviour.die_everywhere(client, prepare, answer_lost=answer_lost, clean=clean)
    assert deaths == list(range(1, len(deaths) + 1))
    assert len(deaths) >= {"first": 7, "incremental": 7, "moved": 5}[kind]
