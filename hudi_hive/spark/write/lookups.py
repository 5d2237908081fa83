"""Looks the keys of a write's rows up in Spark tasks, and brings rows and hits together."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from hudi_hive.spark.bridge import from_arrow_schema, map_in_arrow, repartition_by_number, step_jobs
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write.located_rows import HITS, TAGGED, LookKeysUp, RouteKeys, TagKeys, TagRows
from hudi_hive.spark.write.packed_rows import NUMBER, PACKED, ROWS
from hudi_hive.spark.write.rows import default_tasks, parallelism
from hudi_hive.spark.write.tasks import KEYS
from hudi_hive.write.coordination import TaskExecutor
from hudi_hive.write.files import PARTITION_PATH, RECORD_KEY
from hudi_hive.write.index import Index

MOST_ON_DRIVER: Final = 100_000
"""Rows whose keys the driver looks up, which takes two jobs at most where rows and hits that are joined take eight."""

_HITS: Final = pa.schema([(NUMBER, pa.int32()), (HITS, pa.binary())])
_KEYS: Final = pa.schema([("key", pa.string()), ("partition", pa.string())])


def hits_of(keyed: DataFrame, index: Index, partitions: list[str], executor: TaskExecutor) -> DataFrame | None:
    """Where the keys of packed rows are, packed, by the buckets of these rows; None when there is nowhere to look.

    Args:
        keyed: the rows.
        index: of the write.
        partitions: of the rows.
        executor: runs what the look-up is planned by.
    """
    plan = index.plan_lookup(partitions, executor)
    if not plan.tasks:
        return None
    routed = map_in_arrow(keyed.select(KEYS), RouteKeys(plan), from_arrow_schema(PACKED))
    tasks = min(len(plan.tasks), parallelism(keyed))
    routed = repartition_by_number(routed, tasks, sql.col(NUMBER) % tasks)
    return map_in_arrow(routed, LookKeysUp(plan, default_tasks(keyed.sparkSession)), from_arrow_schema(_HITS))


def are_nowhere(rows: DataFrame, index: Index, executor: TaskExecutor) -> bool:
    """Whether no record of the table has the key of a row; the driver gets the keys, which must be few."""
    with step_jobs(rows.sparkSession.sparkContext, "look records up"):
        keys = rows.select(sql.col(RECORD_KEY).alias("key"), sql.col(PARTITION_PATH).alias("partition"))
        found = index.hits(SPARK.to_arrow(keys).cast(_KEYS), executor)
    return not found.num_rows


def tagged_rows(keyed: DataFrame, hits: DataFrame | None, step: TagRows | TagKeys) -> DataFrame:
    """Packed rows, and the hits of their buckets, through the step that makes lines of them (``TAGGED``)."""
    rows = keyed.select(NUMBER, ROWS)
    if hits is not None:
        nothing = sql.lit(None).cast("binary")
        both = rows.withColumn(HITS, nothing).unionByName(hits.withColumn(ROWS, nothing))
        rows = repartition_by_number(both, default_tasks(keyed.sparkSession), sql.col(NUMBER))
    return map_in_arrow(rows, step, from_arrow_schema(TAGGED))


__all__ = ["MOST_ON_DRIVER", "are_nowhere", "hits_of", "tagged_rows"]
