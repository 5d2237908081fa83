"""The suite against real metastores of other versions than the embedded one, and one that somebody else runs.

For the latter set ``HUDI_HIVE_TEST_METASTORE`` to its URI and ``HUDI_HIVE_TEST_WAREHOUSE`` to its warehouse folder (it
must share this machine's file system); without them those tests are skipped.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from integration.metastores import RELEASES, ReleasedMetastore
from tests.metastore_behaviour import MetastoreBehaviour

URI = os.environ.get("HUDI_HIVE_TEST_METASTORE", "")
pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module", params=sorted(RELEASES))
def server(request, tmp_path_factory):
    """One version after the other, so that one Java process runs at a time."""
    with ReleasedMetastore(request.param, tmp_path_factory.mktemp("metastore")) as running:
        yield running


class TestReleasedMetastore(MetastoreBehaviour):
    strict_names = False

    @pytest.fixture
    def metastore(self, server):
        return server


@dataclass(frozen=True)
class Other:
    uri: str
    warehouse: str


@pytest.mark.skipif(not URI, reason="HUDI_HIVE_TEST_METASTORE names no metastore")
class TestOtherMetastore(MetastoreBehaviour):
    strict_names = False

    @pytest.fixture
    def metastore(self):
        return Other(URI, os.environ.get("HUDI_HIVE_TEST_WAREHOUSE", ""))
