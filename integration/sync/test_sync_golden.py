"""Ours against real hive-sync once more, on a real Hive metastore."""

from __future__ import annotations

import pytest

from tests.sync.test_sync_golden import *  # noqa: F403

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server
