"""Scan of a slice's log files: which blocks count and what they hold."""

from __future__ import annotations

import pytest

from hudi_hive.table.log_scanner import LogData, scan_logs
from hudi_hive.table.meta_client import MetaClient
from tests.support import expected, fixture_names, unzip_fixture


@pytest.mark.parametrize("name", fixture_names("mor"))
def test_logs_of_every_slice_of_real_tables(name):
    client = MetaClient.load(str(unzip_fixture(name)))
    committed = {instant.requested for instant in client.timeline.write_instants()}
    for row in expected(name)["file_slices"]:
        records = scan_logs(
            client.storage, row["partition"], row["log_files"], timeline=client.timeline, max_instant=None
        )
        assert records.corrupt == 0
        assert records.files == len(row["log_files"])
        for block in records.blocks:
            assert block.instant in committed
            if isinstance(block, LogData):
                names = [field["name"] for field in block.schema["fields"]]
                assert block.batch.schema.names == names
                assert block.batch.num_rows > 0
            else:
                assert block.table.num_rows > 0
