"""A table's own schema as Spark's ``StructType``."""

from __future__ import annotations

import json

from pyspark.sql.types import StringType, StructField, StructType

from hudi_hive.errors import SchemaError
from hudi_hive.schema import META_FIELDS
from hudi_hive.sync.spark_schema import spark_schema_json
from hudi_hive.sync.storage_schema import storage_fields
from hudi_hive.table import MetaClient


def spark_schema(client: MetaClient, as_of: str | None = None) -> StructType:
    """The columns of a table, meta columns first, with the types that hive-sync would declare to Spark.

    Args:
        client: the table.
        as_of: requested time: the schema that the table had then.

    Raises:
        SchemaError: the schema is not known, or Spark cannot hold it.
    """
    avro = client.avro_schema(as_of)
    if avro is None:
        raise SchemaError(
            "the table's schema is not known: no commit holds one",
            path=client.base_path,
            remedy="write a commit, or set hoodie.table.create.schema",
        )
    data = StructType.fromJson(json.loads(spark_schema_json(storage_fields(avro))))
    meta = [StructField(name, StringType()) for name in META_FIELDS] if client.config.populate_meta_fields else []
    known = {field.name for field in data.fields}
    dropped = [name for name in client.config.partition_fields if name not in known]
    extra = [StructField(name, StringType()) for name in dropped] if client.config.drop_partition_columns else []
    # Spark gives every column of a file source as nullable; older files may lack it.
    return StructType([*meta, *(StructField(f.name, f.dataType, True, f.metadata) for f in data.fields), *extra])
