"""Tables of the metastore for tests of the mutation API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hudi_hive.metastore import FieldSchema, SerDeInfo, StorageDescriptor, Table

_ORC = "org.apache.hadoop.hive.ql.io.orc."


def acid_table(
    location: str,
    columns: Sequence[tuple[str, str]] = (("id", "int"), ("msg", "string")),
    keys: Sequence[tuple[str, str]] = (),
    *,
    buckets: int = 2,
    bucket_columns: Sequence[str] = ("id",),
    parameters: Mapping[str, str] | None = None,
    database: str = "default",
    name: str = "t",
) -> Table:
    """A full ACID table as Hive's CREATE TABLE leaves it; ``parameters`` come on top of its own."""
    sd = StorageDescriptor(
        cols=[FieldSchema(column, kind, "") for column, kind in columns],
        location=location,
        inputFormat=f"{_ORC}OrcInputFormat",
        outputFormat=f"{_ORC}OrcOutputFormat",
        compressed=False,
        numBuckets=buckets,
        bucketCols=list(bucket_columns) if buckets > 0 else [],
        sortCols=[],
        parameters={},
        serdeInfo=SerDeInfo(name=name, serializationLib=f"{_ORC}OrcSerde", parameters={"serialization.format": "1"}),
    )
    own = {"transactional": "true", "transactional_properties": "default", "bucketing_version": "2"}
    return Table(
        tableName=name,
        dbName=database,
        owner="root",
        createTime=0,
        lastAccessTime=0,
        retention=0,
        sd=sd,
        partitionKeys=[FieldSchema(key, kind, "") for key, kind in keys],
        parameters={**own, **(parameters or {})},
        tableType="MANAGED_TABLE",
    )
