"""The suite against a metastore that somebody else runs, to check other Hive versions.

Set ``HUDI_HIVE_TEST_METASTORE`` to its URI and ``HUDI_HIVE_TEST_WAREHOUSE`` to its warehouse folder (it must share this
machine's file system). Without them there is nothing to test here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from tests.metastore_behaviour import MetastoreBehaviour

URI = os.environ.get("HUDI_HIVE_TEST_METASTORE", "")
pytestmark = [pytest.mark.jvm, pytest.mark.skipif(not URI, reason="HUDI_HIVE_TEST_METASTORE names no metastore")]


@dataclass(frozen=True)
class Other:
    uri: str
    warehouse: str


class TestOtherMetastore(MetastoreBehaviour):
    strict_names = False

    @pytest.fixture
    def metastore(self):
        return Other(URI, os.environ.get("HUDI_HIVE_TEST_WAREHOUSE", ""))
