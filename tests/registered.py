"""Hudi tables registered in a metastore by hand, as hive-sync would leave them: for tests of those who read there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow.compute as pc

from hudi_hive.metastore import FieldSchema, HiveMetastore, Partition, SerDeInfo, StorageDescriptor, Table
from hudi_hive.table import MetaClient
from hudi_hive.table.partition_path import partition_values

HUDI = "org.apache.hudi.hadoop."
PARQUET = HUDI + "HoodieParquetInputFormat"
REALTIME = HUDI + "realtime.HoodieParquetRealtimeInputFormat"
ORC = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"

Values = Callable[[str], Sequence[str]]


def live_partitions(client: MetaClient) -> list[str]:
    """Paths of the partitions that hold rows now."""
    return sorted(pc.unique(client.file_system_view().latest_file_slices()["partition"]).to_pylist())


def register(
    metastore: HiveMetastore,
    path: Path | str,
    name: str,
    *,
    database: str = "default",
    input_format: str = PARQUET,
    keys: Sequence[tuple[str, str]] | None = None,
    values: Values | None = None,
    partitions: Sequence[str] | None = None,
    serde: Mapping[str, str] | None = None,
    parameters: Mapping[str, str] | None = None,
    location: Callable[[str], str] | None = None,
) -> None:
    """Create a metastore table with its partitions.

    Args:
        metastore: where.
        path: the table's base path.
        name: name of the metastore table.
        database: its database.
        input_format: Java class.
        keys: partition keys, name and Hive type; text keys of the table's own names without it.
        values: partition path to its values; one per folder without it.
        partitions: partition paths; those that hold rows without it.
        serde, parameters: properties.
        location: partition path to its location; below the base path without it.
    """
    client = MetaClient.load(path)
    config = client.config
    if keys is None:
        keys = [(field.lower(), "string") for field in config.partition_fields]

    def own(partition: str) -> Sequence[str]:
        told = partition_values(
            partition, config.partition_fields, hive_style=config.hive_style_partitioning, url_encoded=False
        )
        return [value or "__HIVE_DEFAULT_PARTITION__" for value in told]

    def descriptor(where: str) -> StorageDescriptor:
        return StorageDescriptor(
            cols=[FieldSchema(name="_hoodie_commit_time", type="string", comment="")],
            location=where,
            inputFormat=input_format,
            outputFormat="org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
            serdeInfo=SerDeInfo(serializationLib="x", parameters=dict(serde or {})),
            parameters={},
        )

    metastore.create_table(
        Table(
            tableName=name,
            dbName=database,
            sd=descriptor(str(path)),
            partitionKeys=[FieldSchema(name=key, type=kind) for key, kind in keys],
            parameters={"EXTERNAL": "TRUE", "last_commit_time_sync": "0", **(parameters or {})},
            tableType="EXTERNAL_TABLE",
        )
    )
    if not keys:
        return
    paths = live_partitions(client) if partitions is None else partitions
    metastore.add_partitions(
        database,
        name,
        [
            Partition(
                values=list((values or own)(item)),
                dbName=database,
                tableName=name,
                sd=descriptor(location(item) if location else f"{path}/{item}"),
                parameters={},
            )
            for item in paths
        ],
    )
