"""Real Hudi reads tables on S3 that we wrote, through ``hadoop-aws``, and goes on writing; and we after it."""

from __future__ import annotations

import os

import pytest

from integration.long.write_matrix import Cell, run
from integration.support.hudi_peer import NOT_THERE, HudiPeer, may_start
from integration.support.stores.s3 import S3Server
from tests.support.running.long import long_case
from tools.real_hudi import is_s3a_fetched

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize("table_type", [long_case("COPY_ON_WRITE"), long_case("MERGE_ON_READ")])
def test_both_write_to_one_table_by_turns(table_type: str, s3: S3Server) -> None:
    asked = os.environ.get("HUDI_HIVE_TEST_REAL_HUDI") == "1"
    if not may_start(9) or not (asked or is_s3a_fetched()):
        pytest.skip(NOT_THERE)
    with HudiPeer(9, s3.hadoop()) as peer:
        run(Cell("upsert", table_type, 9, "ours"), peer, s3.folder("s3a"), s3.options())
