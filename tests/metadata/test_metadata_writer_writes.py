"""Tables as written without an engine: the record index holds the live records, the listing is right."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.metadata import MetadataTable, validate
from hudi_hive.table import MetaClient
from tests.support.tables.metadata_writing import ALL


def _rows(numbers, value):
    return pa.table(
        {
            "id": [f"k{number}" for number in numbers],
            "n": pa.array([value] * len(numbers), pa.int64()),
            "part": [f"p{number % 2}" for number in numbers],
            "ts": pa.array([value] * len(numbers), pa.int64()),
        }
    )


@pytest.mark.parametrize(("version", "kind"), [(6, "MERGE_ON_READ"), (8, "COPY_ON_WRITE"), (9, "MERGE_ON_READ")])
def test_deleted_and_written_again(tmp_path, version, kind):
    path = tmp_path / "t"
    table = HudiTable.create(
        path,
        name="t",
        table_type=kind,
        version=version,
        record_keys=["id"],
        partition_fields=["part"],
        ordering_fields=["ts"],
    )
    table.insert(_rows(range(4), 1), options=ALL)
    table.delete(_rows([0, 1], 2), options=ALL)
    table.upsert(_rows([1], 3), options=ALL)
    table.insert_overwrite(_rows([100], 4), options=ALL)
    client = MetaClient.load(path)
    assert validate(client).is_valid
    keys = MetadataTable.open(client).record_locations().column("key").to_pylist()
    assert keys == sorted(HudiTable.open(path).scan().to_arrow()["id"].to_pylist()) == ["k1", "k100", "k3"]


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_files_without_meta_columns_have_ranges(tmp_path, kind):
    """Meta columns are in no such file: were ranges of them wanted, no file would have any."""
    path = tmp_path / "t"
    table = HudiTable.create(
        path,
        name="t",
        table_type=kind,
        record_keys=["id"],
        partition_fields=["part"],
        ordering_fields=["ts"],
        populate_meta_fields=False,
    )
    table.insert(_rows(range(4), 1))
    table.upsert(_rows([0, 1], 50))
    client = MetaClient.load(path)
    assert {"column_stats", "partition_stats"} <= set(client.config.metadata_partitions)
    assert MetadataTable.open(client).column_ranges(["n"])["n"].num_rows == 4
    scan = HudiTable.open(path).scan("n = 50 AND id = 'k1'", options={"hoodie.enable.data.skipping": "true"})
    assert scan.to_arrow()["id"].to_pylist() == ["k1"]
    assert validate(client).is_valid
