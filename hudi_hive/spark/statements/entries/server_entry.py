"""The entry of a table in a metastore server, as Hudi's ``CREATE TABLE`` leaves it there before the first write.

Source: Hudi's ``CreateHoodieTableCommand.createHiveDataSourceTable``.
"""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql.types import StringType, StructField, StructType

from hudi_hive.metastore import FieldSchema, PrincipalType, SerDeInfo, StorageDescriptor, Table
from hudi_hive.names import HOODIE_QUERY_AS_RO_TABLE
from hudi_hive.schema import META_FIELDS
from hudi_hive.spark.bridge import java_schema, python_session
from hudi_hive.spark.catalog import MADE_BY_SPARK, PROVIDER, SessionHook
from hudi_hive.spark.statements.entries.entry import CatalogEntry
from hudi_hive.sync.table import View, hive_classes, spark_table_parameters

_CHUNK_LENGTH: Final = 4000
_NO_TYPE_OF_HIVE: Final = re.compile(r"\btimestamp_ntz\b(?!:)")


def server_table(hook: SessionHook, entry: CatalogEntry) -> Table:
    """The metastore's struct of an entry; partitions and the stamp of a sync come with the first write."""
    partition_names = {name.lower() for name in entry.partition_columns}
    meta = [StructField(name, StringType()) for name in META_FIELDS]
    data = [one for one in entry.columns if one.name.lower() not in partition_names]
    keys = [one for one in entry.columns if one.name.lower() in partition_names]
    shown = java_schema(hook.environment.jvm, StructType([*meta, *data, *keys])).asNullable()
    session = python_session(hook.session)
    parameters = spark_table_parameters(
        str(shown.json()),
        [one.name for one in keys],
        chunk_length=_CHUNK_LENGTH,
        spark_version=session.version,
    )
    parameters |= {**entry.properties, MADE_BY_SPARK: PROVIDER, "path": entry.location}
    if entry.comment is not None:
        parameters["comment"] = entry.comment
    if entry.external:
        parameters["EXTERNAL"] = "TRUE"
    return Table(
        tableName=entry.name,
        dbName=entry.database,
        owner=session.sparkContext.sparkUser(),
        ownerType=PrincipalType.USER,
        sd=_descriptor(entry, [_field(one) for one in (*meta, *data)]),
        partitionKeys=[_field(one) for one in keys],
        parameters=parameters,
        tableType="EXTERNAL_TABLE" if entry.external else "MANAGED_TABLE",
    )


def _descriptor(entry: CatalogEntry, columns: list[FieldSchema]) -> StorageDescriptor:
    view = View.REALTIME if entry.merge_on_read else View.COPY_ON_WRITE
    classes = hive_classes(entry.base_file_format, view)
    shows = {name: text for name, text in entry.properties.items() if name == HOODIE_QUERY_AS_RO_TABLE}
    serde = SerDeInfo(
        serializationLib=classes.serde,
        parameters={"path": entry.location, **shows, "serialization.format": "1"},
    )
    return StorageDescriptor(
        cols=columns,
        location=entry.location,
        inputFormat=classes.input_format,
        outputFormat=classes.output_format,
        compressed=False,
        numBuckets=-1,
        serdeInfo=serde,
        bucketCols=[],
        sortCols=[],
        parameters={},
    )


def _field(one: StructField) -> FieldSchema:
    kind = _NO_TYPE_OF_HIVE.sub("bigint", one.dataType.simpleString())
    return FieldSchema(name=one.name.lower(), type=kind, comment=one.metadata.get("comment"))


__all__ = ["server_table"]
