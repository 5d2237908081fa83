"""Tables on S3 that writes keep in moto's Glue, an implementation that is not ours; and Spark reads one by path."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive.sync.table import LAST_COMMIT
from hudi_hive.table_api import HudiTable
from integration.support.stores.s3 import S3Server

ROWS = pa.table({"id": ["k0", "k1", "k2"], "city": ["ams", "ber", "ams"], "fare": [1.0, 2.0, 3.0]})


def options(s3: S3Server, database: str) -> dict[str, str]:
    return {
        "hoodie.datasource.hive_sync.enable": "true",
        "hoodie.datasource.hive_sync.mode": "glue",
        "hoodie.datasource.hive_sync.database": database,
        "hoodie.aws.glue.endpoint": s3.endpoint,
    }


def test_writes_to_s3_keep_the_table_in_glue_with_the_stores_credentials(s3: S3Server) -> None:
    uri, glue, names = s3.folder("s3a"), s3.client("glue"), {"DatabaseName": "on_s3", "TableName": "trips"}
    table = HudiTable.create(
        uri,
        name="trips",
        record_keys=["id"],
        partition_fields=["city"],
        hive_style_partitioning=True,
        storage_options=s3.options(),
    )
    sync = options(s3, "on_s3")
    assert not table.insert(ROWS, sync).failed
    assert not table.upsert(ROWS.append_column("note", [["a", "b", "c"]]), sync).failed
    assert not table.insert(ROWS.slice(0, 1).set_column(1, "city", [["oslo"]]), sync).failed
    report = table.delete_partitions(["city=ber"], sync)
    assert not report.failed
    found = glue.get_table(DatabaseName="on_s3", Name="trips")["Table"]
    assert found["StorageDescriptor"]["Location"] == uri.replace("s3a:", "s3:")
    assert found["Parameters"][LAST_COMMIT] == report.instant.requested
    assert "note" in [column["Name"] for column in found["StorageDescriptor"]["Columns"]]
    partitions = {one["Values"][0]: one for one in glue.get_partitions(**names)["Partitions"]}
    assert {name: one["StorageDescriptor"]["Location"] for name, one in partitions.items()} == {
        name: f"{uri.replace('s3a:', 's3:')}/city={name}" for name in ("ams", "oslo")
    }
    assert "note" in [column["Name"] for column in partitions["ams"]["StorageDescriptor"]["Columns"]]
    reopened = HudiTable.open(found["StorageDescriptor"]["Location"], storage_options=s3.options())
    assert sorted(reopened.scan().to_arrow()["city"].to_pylist()) == ["ams", "ams", "oslo"]


@pytest.mark.jvm
@pytest.mark.long
def test_spark_writes_a_table_into_glue_and_reads_it_by_its_path(spark, s3: S3Server, tmp_path: Path) -> None:
    keys = {name: text for name, text in s3.options().items() if name != "endpoint"}
    written = {
        **options(s3, "of_spark"),
        **{f"hoodie.aws.{name.replace('_', '.')}": text for name, text in keys.items()},
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
    }
    frame = spark.createDataFrame([("k0", "ams", 1.0), ("k1", "ber", 2.0)], "id string, city string, fare double")
    frame.coalesce(1).write.format("hudi").options(**written).mode("append").save(str(tmp_path / "trips"))
    (found,) = s3.client("glue").get_tables(DatabaseName="of_spark")["TableList"]
    rows = spark.read.format("hudi").load(found["StorageDescriptor"]["Location"]).collect()
    assert sorted((row.id, row.city) for row in rows) == [("k0", "ams"), ("k1", "ber")]
