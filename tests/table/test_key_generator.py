"""Record keys and partition paths: against the meta columns of all fixtures, and by the rules one by one."""

from __future__ import annotations

import pytest

from hudi_hive import HudiTable
from hudi_hive.table.keys.key_generator import KeyGenerator
from tests.support.fixture_tables import fixture_names, unzip_fixture

# What version 6 (and 8, for its timestamp type) does not keep comes with each write, as it came to the fixtures.
WRITTEN_WITH = {
    "cow_tskey_hive": {
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
        "hoodie.keygen.timebased.timezone": "UTC",
    },
    "cow_custom_keygen": {
        "hoodie.datasource.write.partitionpath.field": "region:simple,at:timestamp",
        "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
        "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd HH:mm:ss",
        "hoodie.keygen.timebased.output.dateformat": "yyyyMM",
        "hoodie.keygen.timebased.timezone": "UTC",
    },
}


@pytest.mark.parametrize("name", [name for name in fixture_names() if "virtual_keys" not in name])
def test_keys_and_paths_are_those_that_hudi_wrote(name):
    table = HudiTable.open(unzip_fixture(name))
    config = table.client.config
    rows = table.scan().to_arrow()
    generator = KeyGenerator.of(config, WRITTEN_WITH.get(name.split("_", 1)[1]))
    assert generator.record_keys(rows).to_pylist() == rows.column("_hoodie_record_key").to_pylist()
    assert generator.partition_paths(rows).to_pylist() == rows.column("_hoodie_partition_path").to_pylist()
