"""The tests of the sync tool once more, against a real metastore."""

from __future__ import annotations

import pytest

from tests.sync.test_sync_tool import *  # noqa: F403
from tests.sync.test_sync_tool import check_first_sync, check_incremental_syncs

pytestmark = pytest.mark.jvm

# The fake serves all fixtures; here a table of each version, with all types, three keys, drops and an archive.
SOME = ("v6_cow_types", "v8_cow_part_mdt", "v9_cow_ymd_hive", "v9_cow_archived", "v8_cow_nonpart")


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server


@pytest.mark.parametrize("name", SOME)
def test_first_sync_then_nothing_to_do(client, name):
    check_first_sync(client, name)


@pytest.mark.parametrize("name", SOME[:4])
def test_incremental_sync_from_each_instant_ends_like_a_full_one(client, name):
    check_incremental_syncs(client, name)
