"""The tests of merge-on-read syncs once more, against a real metastore."""

from __future__ import annotations

import pytest

from tests.sync.test_sync_merge_on_read import *  # noqa: F403
from tests.sync.test_sync_merge_on_read import check_first_sync, names_of
from tests.sync.test_sync_tool import check_incremental_syncs

pytestmark = pytest.mark.jvm

# The fake serves all fixtures; here a table of each version, with drops, all types and no commit at all.
SOME = ("v6_mor_types", "v8_mor_part_rli", "v9_mor_bucket", "v8_mor_empty")


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server


@pytest.mark.parametrize("name", SOME)
def test_first_sync_then_nothing_to_do(client, name):
    check_first_sync(client, name)


@pytest.mark.parametrize("name", SOME[1:2])
def test_incremental_sync_from_each_instant_ends_like_a_full_one(client, name):
    check_incremental_syncs(client, name, names_of(name))
