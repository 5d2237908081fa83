"""Looks the keys of a write's rows up in Spark tasks, and brings rows and hits together."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from hudi_hive.spark.bridge import (
    HASHED_ROWS,
    from_arrow_schema,
    in_session,
    map_in_arrow,
    repartition_by_number,
    step_jobs,
)
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write.destinations import PartitionsOfRows
from hudi_hive.spark.write.rows import TASKS_PER_CORE, default_tasks, in_session_of_steps, with_integer
from hudi_hive.spark.write.tasks import HITS, PLACE_FIELDS, PLACED_HITS, TASK, LookKeysUp, RouteKeys, TagKeys, TagRows
from hudi_hive.write.coordination import TaskExecutor
from hudi_hive.write.files import PARTITION_PATH, POSITION, RECORD_KEY
from hudi_hive.write.index import Index

MOST_ON_DRIVER: Final = 100_000
"""Rows whose keys the driver looks up, which takes two jobs at most where rows and hits that are joined take eight."""

_KEYS: Final = pa.schema([("key", pa.string()), ("partition", pa.string())])


def hits_of(
    prepared: DataFrame, index: Index, partitions: PartitionsOfRows, executor: TaskExecutor
) -> DataFrame | None:
    """Where the keys of rows are: a line a key with the list of its hits; None when there is nowhere to look.

    Hits are kept in hash tables where a task has so few that they fit in memory; else they are sorted, which can spill.

    Args:
        prepared: the rows.
        index: of the write.
        partitions: of the rows.
        executor: runs what the look-up is planned by.
    """
    plan = index.plan_lookup(partitions.paths, executor)
    if not plan.tasks:
        return None
    keys = prepared.select(sql.col(RECORD_KEY).alias("key"), sql.col(PARTITION_PATH).alias("partition"))
    routed = map_in_arrow(keys, RouteKeys(plan), with_integer(keys.schema, TASK))
    tasks = min(len(plan.tasks), parallelism(prepared))
    routed = repartition_by_number(routed, tasks, sql.col(TASK) % tasks)
    hits = map_in_arrow(routed, LookKeysUp(plan), from_arrow_schema(PLACED_HITS))
    hit = sql.struct(*PLACED_HITS.names[1:])
    by = ["key"] if index.is_global else ["key", "partition"]
    hits = hits.groupBy(*by).agg(sql.collect_list(hit).alias(HITS))
    few = partitions.rows <= HASHED_ROWS * default_tasks(prepared.sparkSession)
    return in_session_of_steps(hits.hint("shuffle_hash")) if few else hits


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
    tagged = map_in_arrow(joined, step, from_arrow_schema(pa.schema([*columns, *PLACE_FIELDS])))
    return tagged if hits is None else in_session(tagged, hits.sparkSession)


def parallelism(frame: DataFrame) -> int:
    """Most tasks that groups or look-ups are spread over."""
    return int(frame.sparkSession.sparkContext.defaultParallelism) * TASKS_PER_CORE * 8


__all__ = ["MOST_ON_DRIVER", "are_nowhere", "hits_of", "parallelism", "tagged_rows"]
