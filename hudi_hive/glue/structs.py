"""Glue's JSON of tables and partitions as a Hive metastore's structs, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from hudi_hive.metastore import Database, FieldSchema, Order, Partition, SerDeInfo, StorageDescriptor, Table

Json = dict[str, Any]

_CARRIED: Final = ("Description", "LastAccessTime", "LastAnalyzedTime", "TargetTable", "ViewDefinition")
"""What a table has that Hive's struct has no place for; Glue forgets what a change leaves out."""

_CARRIED_IN_DESCRIPTOR: Final = ("AdditionalLocations", "SkewedInfo", "StoredAsSubDirectories", "SchemaReference")


class GlueTable(Table):
    """A table that was read from Glue.

    Attributes:
        version: Glue's number of this version of the table; a change names it, so that no other one is lost.
        more: what Hive's struct has no place for.
    """

    version: str | None
    more: Json


def database_of(answer: Mapping[str, Any]) -> Database:
    """The struct of a database."""
    return Database(
        name=answer["Name"],
        description=answer.get("Description"),
        locationUri=answer.get("LocationUri"),
        parameters=dict(answer.get("Parameters") or {}),
    )


def table_of(answer: Mapping[str, Any], database: str) -> GlueTable:
    """The struct of a table."""
    descriptor = answer.get("StorageDescriptor") or {}
    table = GlueTable(
        tableName=answer["Name"],
        dbName=answer.get("DatabaseName") or database,
        owner=answer.get("Owner"),
        createTime=_seconds(answer.get("CreateTime")),
        lastAccessTime=_seconds(answer.get("LastAccessTime")),
        retention=answer.get("Retention") or 0,
        sd=_descriptor_of(descriptor),
        partitionKeys=_fields_of(answer.get("PartitionKeys")),
        parameters=dict(answer.get("Parameters") or {}),
        viewOriginalText=answer.get("ViewOriginalText"),
        viewExpandedText=answer.get("ViewExpandedText"),
        tableType=answer.get("TableType") or "",
    )
    table.version = answer.get("VersionId")
    table.more = {name: answer[name] for name in _CARRIED if answer.get(name) is not None}
    table.more["StorageDescriptor"] = {
        name: descriptor[name] for name in _CARRIED_IN_DESCRIPTOR if descriptor.get(name) is not None
    }
    return table


def partition_of(answer: Mapping[str, Any], database: str, table: str) -> Partition:
    """The struct of a partition."""
    return Partition(
        values=list(answer.get("Values") or ()),
        dbName=database,
        tableName=table,
        createTime=_seconds(answer.get("CreationTime")),
        lastAccessTime=_seconds(answer.get("LastAccessTime")),
        sd=_descriptor_of(answer.get("StorageDescriptor") or {}),
        parameters=dict(answer.get("Parameters") or {}),
    )


def table_input(table: Table) -> Json:
    """Glue's input of a table."""
    more = dict(table.more) if isinstance(table, GlueTable) else {}
    descriptor = {**more.pop("StorageDescriptor", {}), **_descriptor_input(table.sd)}
    optional = {
        "Owner": table.owner,
        "ViewOriginalText": table.viewOriginalText,
        "ViewExpandedText": table.viewExpandedText,
        "TableType": table.tableType,
    }
    return {
        **more,
        "Name": table.tableName,
        "Retention": table.retention or 0,
        "StorageDescriptor": descriptor,
        "PartitionKeys": _field_inputs(table.partitionKeys),
        "Parameters": dict(table.parameters or {}),
        **{name: text for name, text in optional.items() if text},
    }


def partition_input(partition: Partition) -> Json:
    """Glue's input of a partition."""
    return {
        "Values": list(partition.values),
        "StorageDescriptor": _descriptor_input(partition.sd),
        "Parameters": dict(partition.parameters or {}),
    }


def _descriptor_of(answer: Mapping[str, Any]) -> StorageDescriptor:
    serde = answer.get("SerdeInfo") or {}
    return StorageDescriptor(
        cols=_fields_of(answer.get("Columns")),
        location=answer.get("Location"),
        inputFormat=answer.get("InputFormat"),
        outputFormat=answer.get("OutputFormat"),
        compressed=bool(answer.get("Compressed")),
        numBuckets=answer.get("NumberOfBuckets") or 0,
        bucketCols=list(answer.get("BucketColumns") or ()),
        sortCols=[Order(col=one["Column"], order=one["SortOrder"]) for one in answer.get("SortColumns") or ()],
        parameters=dict(answer.get("Parameters") or {}),
        serdeInfo=SerDeInfo(
            name=serde.get("Name"),
            serializationLib=serde.get("SerializationLibrary"),
            parameters=dict(serde.get("Parameters") or {}),
        ),
    )


def _descriptor_input(descriptor: StorageDescriptor) -> Json:
    serde = descriptor.serdeInfo
    serde_input: Json = {"Parameters": dict(serde.parameters or {})}
    if serde.name:
        serde_input["Name"] = serde.name
    if serde.serializationLib:
        serde_input["SerializationLibrary"] = serde.serializationLib
    optional = {
        "Location": descriptor.location,
        "InputFormat": descriptor.inputFormat,
        "OutputFormat": descriptor.outputFormat,
    }
    return {
        **{name: text for name, text in optional.items() if text},
        "Columns": _field_inputs(descriptor.cols),
        "Compressed": bool(descriptor.compressed),
        "NumberOfBuckets": descriptor.numBuckets or 0,
        "BucketColumns": list(descriptor.bucketCols or ()),
        "SortColumns": [{"Column": one.col, "SortOrder": one.order} for one in descriptor.sortCols or ()],
        "Parameters": dict(descriptor.parameters or {}),
        "SerdeInfo": serde_input,
    }


def _fields_of(answer: Sequence[Mapping[str, Any]] | None) -> list[FieldSchema]:
    return [FieldSchema(name=one["Name"], type=one.get("Type"), comment=one.get("Comment")) for one in answer or ()]


def _field_inputs(fields: Sequence[FieldSchema] | None) -> list[Json]:
    return [{"Name": one.name, "Type": one.type, "Comment": one.comment or ""} for one in fields or ()]


def _seconds(time: datetime | None) -> int:
    return 0 if time is None else int(time.timestamp())
