"""Hudi tables registered in a metastore by hand, as hive-sync would leave them: for tests of those who read there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_hive.metastore import FieldSchema, HiveMetastore, Partition, SerDeInfo, StorageDescriptor, Table
from hudi_hive.schema import avro_to_arrow, with_meta_fields
from hudi_hive.table import MetaClient
from hudi_hive.table.keys import partition_values
from hudi_hive.table.properties import TableConfig

HUDI = "org.apache.hudi.hadoop."
PARQUET = HUDI + "HoodieParquetInputFormat"
REALTIME = HUDI + "realtime.HoodieParquetRealtimeInputFormat"
ORC = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"

Values = Callable[[str], Sequence[str]]


def current_partitions(client: MetaClient) -> list[str]:
    """Paths of the partitions that hold rows now."""
    return sorted(pc.unique(client.file_system_view().latest_file_slices()["partition"]).to_pylist())


def register(  # noqa: PLR0913
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

    metastore.create_table(
        Table(
            tableName=name,
            dbName=database,
            sd=_descriptor(str(path), input_format, serde),
            partitionKeys=[FieldSchema(name=key, type=kind) for key, kind in keys],
            parameters={"EXTERNAL": "TRUE", "last_commit_time_sync": "0", **(parameters or {})},
            tableType="EXTERNAL_TABLE",
        )
    )
    if not keys:
        return
    paths = current_partitions(client) if partitions is None else partitions
    metastore.add_partitions(
        database,
        name,
        [
            Partition(
                values=list(values(item) if values else _values_of_path(config, item)),
                dbName=database,
                tableName=name,
                sd=_descriptor(location(item) if location else f"{path}/{item}", input_format, serde),
                parameters={},
            )
            for item in paths
        ],
    )


def _values_of_path(config: TableConfig, partition: str) -> list[str]:
    values = partition_values(
        partition, config.partition_fields, hive_style=config.hive_style_partitioning, url_encoded=False
    )
    return [value or "__HIVE_DEFAULT_PARTITION__" for value in values]


def _descriptor(location: str, input_format: str, serde: Mapping[str, str] | None) -> StorageDescriptor:
    return StorageDescriptor(
        cols=[FieldSchema(name="_hoodie_commit_time", type="string", comment="")],
        location=location,
        inputFormat=input_format,
        outputFormat="org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        serdeInfo=SerDeInfo(serializationLib="x", parameters=dict(serde or {})),
        parameters={},
    )


def make_table(
    path: Path,
    columns: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    partition_of: Callable[[Mapping[str, Any]], str],
    *,
    row_group_size: int | None = None,
    **properties: str,
) -> Path:
    """A copy-on-write table of version 8: one commit, a base file for each partition.

    Args:
        path: base path, made here.
        columns: data columns and their Avro types; ``id`` is the key.
        rows: values of the columns.
        partition_of: partition path of a row.
        row_group_size: rows of a Parquet row group.
        properties: more of ``hoodie.properties``, ``__`` for dots.
    """
    instant, done = "20260101000001000", "20260101000001500"
    fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in columns.items()]
    schema = {"type": "record", "name": "row", "fields": fields}
    arrow = with_meta_fields(avro_to_arrow(schema))
    timeline = path / ".hoodie" / "timeline"
    (timeline / "history").mkdir(parents=True)
    values = {
        "hoodie.table.name": path.name,
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": "8",
        "hoodie.timeline.layout.version": "2",
        "hoodie.table.recordkey.fields": "id",
        **{key.replace("__", "."): value for key, value in properties.items()},
    }
    (path / ".hoodie" / "hoodie.properties").write_text("".join(f"{k}={v}\n" for k, v in values.items()))
    by_partition: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_partition.setdefault(partition_of(row), []).append(row)
    stats = {}
    for number, (partition, items) in enumerate(sorted(by_partition.items())):
        folder = path / partition
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".hoodie_partition_metadata").write_text(
            f"commitTime={instant}\npartitionDepth={len([p for p in partition.split('/') if p])}\n"
        )
        group = f"f{number}-0"
        name = f"{group}_0-1-0_{instant}.parquet"
        full = _with_meta_columns(items, instant, partition, name, number)
        pq.write_table(pa.Table.from_pylist(full, arrow), folder / name, row_group_size=row_group_size)
        relative = f"{partition}/{name}" if partition else name
        size = (folder / name).stat().st_size
        stats[partition] = [{"fileId": group, "path": relative, "prevCommit": "null", "fileSizeInBytes": size}]
    commit = {
        "partitionToWriteStats": stats,
        "extraMetadata": {"schema": json.dumps(schema)},
        "operationType": "BULK_INSERT",
    }
    for suffix in (".commit.requested", ".inflight"):
        (timeline / f"{instant}{suffix}").write_bytes(b"")
    (timeline / f"{instant}_{done}.commit").write_text(json.dumps(commit))
    return path


def _with_meta_columns(
    rows: Sequence[Mapping[str, Any]], instant: str, partition: str, file_name: str, file_number: int
) -> list[dict[str, Any]]:
    meta = {"_hoodie_commit_time": instant, "_hoodie_partition_path": partition, "_hoodie_file_name": file_name}
    return [
        {**meta, "_hoodie_commit_seqno": f"{instant}_{file_number}_{i}", "_hoodie_record_key": str(row["id"]), **row}
        for i, row in enumerate(rows)
    ]
