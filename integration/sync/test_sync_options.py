"""What the options of a sync do once more, against a real metastore."""

from __future__ import annotations

import pytest

from tests.sync.test_sync_options import *  # noqa: F403

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server
