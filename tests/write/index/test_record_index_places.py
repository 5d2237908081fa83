"""Places that a record index gives are looked at without reading the names of all partitions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.metadata import MetadataListing
from hudi_hive.metadata.reader import FileGroup
from hudi_hive.table import MetaClient
from hudi_hive.write.coordination import LocalExecutor
from hudi_hive.write.index import HITS_SCHEMA, KEYS_SCHEMA, open_index
from hudi_hive.write.options import WriteConfig

OPTIONS = {"hoodie.metadata.record.index.enable": "true", "hoodie.index.type": "RECORD_INDEX"}


@pytest.mark.parametrize("by_metadata", [True, False])
def test_hits_in_partitions_that_are_gone_do_not_count(tmp_path, monkeypatch, by_metadata):
    table = HudiTable.create(tmp_path / "t", name="t", record_keys=["id"], partition_fields=["p"])
    table.upsert(pa.table({"id": ["a", "b"], "p": ["x", "y"], "v": [1, 2]}), OPTIONS)
    client = MetaClient.load(tmp_path / "t", listing=MetadataListing())
    index = open_index(WriteConfig.of(OPTIONS, client.config), client)
    keys = pa.table([["a", "b", "c"], ["x", "y", "z"], np.arange(3)], schema=KEYS_SCHEMA)
    hits = index.hits(keys.select(["key", "partition"]), LocalExecutor(1))
    gone = pa.table([["c"], ["z"], ["00000000-0000-0000-0000-000000000000-0"]], schema=HITS_SCHEMA)
    index.client = MetaClient.load(tmp_path / "t", listing=MetadataListing(enable=by_metadata))
    asked = []
    lookup = FileGroup.lookup
    monkeypatch.setattr(
        FileGroup, "lookup", lambda self, field, sought: asked.extend(sought) or lookup(self, field, sought)
    )
    tags = index.locate(keys, pa.concat_tables([hits, gone])).sort_by("row")
    assert [one is not None for one in tags.column("file_id").to_pylist()] == [True, True, False]
    assert sorted(asked) == (["x", "y", "z"] if by_metadata else [])
