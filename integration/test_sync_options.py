"""What the options of a sync do once more, against a real metastore."""

from __future__ import annotations

import pytest

from hudi_hive.metastore import EmbeddedMetastore
from tests.test_sync_options import *  # noqa: F403

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with EmbeddedMetastore(tmp_path_factory.mktemp("metastore")) as server:
        yield server
