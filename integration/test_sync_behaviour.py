"""A sync that dies at any of its calls to a real metastore can be run again."""

from __future__ import annotations

import pytest

from hudi_hive.metastore import EmbeddedMetastore
from tests.test_sync_behaviour import *  # noqa: F403

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with EmbeddedMetastore(tmp_path_factory.mktemp("metastore")) as server:
        yield server
