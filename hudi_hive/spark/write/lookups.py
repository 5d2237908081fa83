"""Looks the keys of a write's rows up in Spark tasks, and brings rows and hits together."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from hudi_hive.spark.bridge import from_arrow_schema, map_in_arrow, repartition_by_number, step_jobs
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write.rows import TASKS_PER_CORE, with_integer
from hudi_hive.spark.write.tasks import HITS, PLACE_FIELDS, PLACED_HITS, TASK, LookKeysUp, RouteKeys, TagKeys, TagRows
from hudi_hive.write.coordination import TaskExecutor
from hudi_hive.write.files import PARTITION_PATH, POSITION, RECORD_KEY
from hudi_hive.write.index import Index

MOST_ON_DRIVER: Final = 100_000
"""Rows whose keys the driver looks up, which takes two jobs at most where rows and hits that are joined take eight."""

_KEYS: Final = pa.schema([("key", pa.string()), ("partition", pa.string())])


def hits_of(prepared: DataFrame, index: Index, partitions: list[str], executor: TaskExecutor) -> DataFrame | None:
    """Where the keys of rows are: a line a key with the list of its hits; None when there is nowhere to look."""
    plan = index.plan_lookup(partitions, executor)
    if not plan.tasks:
        return None
    keys = prepared.select(sql.col(RECORD_KEY).alias("key"), sql.col(PARTITION_PATH).alias("partition"))
    routed = map_in_arrow(keys, RouteKeys(plan), with_integer(keys.schema, TASK))
    tasks = min(len(plan.tasks), parallelism(prepared))
    routed = repartition_by_number(routed, tasks, sql.col(TASK) % tasks)
    hits = map_in_arrow(routed, LookKeysUp(plan), from_arrow_schema(PLACED_HITS))
    hit = sql.struct(*PLACED_HITS.names[1:])
    by = ["key"] if index.is_global else ["key", "partition"]
    return hits.groupBy(*by).agg(sql.collect_list(hit).alias(HITS))


def are_nowhere(rows: DataFrame, index: Index, executor: TaskExecutor) -> bool:
    """Whether no record of the table has the key of a row; the driver gets the keys, which must be few."""
    with step_jobs(rows.sparkSession.sparkContext, "look records up"):
        keys = rows.select(sql.col(RECORD_KEY).alias("key"), sql.col(PARTITION_PATH).alias("partition"))
        found = index.hits(SPARK.to_arrow(keys).cast(_KEYS), executor)
    return not found.num_rows


def tagged_rows(
    prepared: DataFrame, hits: DataFrame | None, index: Index, step: TagRows | TagKeys, columns: pa.Schema
) -> DataFrame:
    """Rows with their hits beside them, through the step that makes lines of them."""
    if hits is None:
        nothing = sql.lit(None).cast(f"array<struct<partition: string, file_id: string, {POSITION}: bigint>>")
        joined = prepared.withColumn(HITS, nothing)
    else:
        same: Column = prepared[RECORD_KEY] == hits["key"]
        if not index.is_global:
            same = same & (prepared[PARTITION_PATH] == hits["partition"])
        joined = prepared.join(hits, same, "left").select(*[prepared[f"`{name}`"] for name in prepared.columns], HITS)
    return map_in_arrow(joined, step, from_arrow_schema(pa.schema([*columns, *PLACE_FIELDS])))


def parallelism(frame: DataFrame) -> int:
    """Most tasks that groups or look-ups are spread over."""
    return int(frame.sparkSession.sparkContext.defaultParallelism) * TASKS_PER_CORE * 8


__all__ = ["MOST_ON_DRIVER", "are_nowhere", "hits_of", "parallelism", "tagged_rows"]
