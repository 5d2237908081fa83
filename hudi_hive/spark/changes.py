"""Plans whose rows Python makes whole, slice by slice: change data, and the rows of a table's metadata table.

Columns of such rows are the same for every query, and reading them costs what reading the files costs, so that nothing
is gained by pruning columns; a task each reads some of the slices.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from hudi_hive.plan import ScanPlan
from hudi_hive.read.exported_plan import PlanRows
from hudi_hive.spark.failures import JavaValue, watch
from hudi_hive.spark.snapshot import TableSnapshot

CHANGES = StructType([StructField(name, StringType()) for name in ("op", "ts_ms", "before", "after")])
"""What change data shows, as Hudi has it: the operation (``i``, ``u``, ``d``), the commit and both images as JSON."""

_TASKS_PER_CORE = 4


def changes_plan(session: JavaValue, snapshot: TableSnapshot, *, streaming: bool = False) -> JavaValue:
    """The logical plan of a change data query.

    Args:
        session: the JVM's session.
        snapshot: the table with the query.
        streaming: the plan is a micro-batch of a stream.

    Raises:
        UnsupportedTableError: the table keeps no change data.
        IncrementalRangeError: a file that is needed was cleaned.
    """
    return rows_plan(session, snapshot, snapshot.fixed_plan(), CHANGES, streaming=streaming)


def rows_plan(
    session: JavaValue, snapshot: TableSnapshot, plan: ScanPlan, columns: StructType, *, streaming: bool = False
) -> JavaValue:
    """The logical plan of tasks that read the slices of ``plan``.

    Args:
        session: the JVM's session.
        snapshot: the table.
        plan: what to read.
        columns: the plan's schema in Spark's types.
        streaming: the plan is a micro-batch of a stream.
    """
    watch(snapshot.location)
    count = plan.slices.num_rows
    tasks = max(1, min(count, int(session.sparkContext().defaultParallelism()) * _TASKS_PER_CORE))
    numbers = session.range(0, count, 1, tasks).queryExecution()
    # As rows of an RDD: of a range Spark knows the size, and would take the few bytes of a number for those of a slice.
    requests = session.internalCreateDataFrame(numbers.toRdd(), numbers.analyzed().schema(), streaming)
    context = SparkContext._active_spark_context
    assert context is not None
    frame = DataFrame(requests, SparkSession(context, session))
    rows = PlanRows(_without_listing(plan), snapshot.client.storage.storage_options)
    return frame.mapInArrow(rows, columns)._jdf.queryExecution().analyzed()


def _without_listing(plan: ScanPlan) -> ScanPlan:
    """The plan without what only tells how it came about."""
    return replace(plan, steps=(), counters={})
