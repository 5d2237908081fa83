"""Plans whose rows are made by Python tasks: change data, and records of the metadata table.

Columns of such rows are the same for every query, and reading them costs what reading the files costs, so that nothing
is gained by pruning columns; a task each reads some changed file groups, or a partition of the metadata table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import data_table_path, row_partitions, row_schema
from hudi_hive.plan import Query, ScanPlan
from hudi_hive.read.remote import MetadataRows, PlanRows
from hudi_hive.read.scan import check_records_query
from hudi_hive.spark.bridge import JavaValue, from_arrow_schema, map_in_arrow, python_session, watch
from hudi_hive.spark.scan.snapshot import TableSnapshot
from hudi_hive.table import MetaClient

CHANGES = StructType([StructField(name, StringType()) for name in ("op", "ts_ms", "before", "after")])
"""What change data shows, as Hudi has it: the operation (``i``, ``u``, ``d``), the commit and both images as JSON."""

_TASKS_PER_CORE = 4


def changes_plan(session: JavaValue, snapshot: TableSnapshot) -> JavaValue:
    """The logical plan of a change data query.

    Args:
        session: the JVM's session.
        snapshot: the table with the query.

    Raises:
        UnsupportedTableError: the table keeps no change data.
        IncrementalRangeError: a file that is needed was cleaned.
    """
    plan = snapshot.fixed_plan()
    watch(snapshot.location)
    rows = PlanRows(_without_listing(plan), snapshot.client.storage.storage_options)
    return _made(session, rows, plan.slices.num_rows, CHANGES)


def metadata_plan(session: JavaValue, client: MetaClient) -> JavaValue:
    """The logical plan of the records of a table's metadata table; a task each reads one of its partitions.

    Raises:
        MetadataTableError: the table has none that can be used.
    """
    table = MetadataTable.open(client)
    partitions = tuple(row_partitions(table))
    schema = row_schema(table)
    columns = from_arrow_schema(schema)
    return _made(session, MetadataRows(client, partitions, schema), len(partitions), columns)


def records_plan(
    session: JavaValue, location: str, query: Query, storage_options: Callable[[], Mapping[str, Any]]
) -> JavaValue | None:
    """The logical plan of a metadata table as a table; None where the location is not one of a metadata table.

    Args:
        session: the JVM's session.
        location: ``…/.hoodie/metadata`` as Hadoop writes it.
        query: the question.
        storage_options: gives those for files at the location.

    Raises:
        UnsupportedTableError: anything but a snapshot is asked for.
        MetadataTableError: the table that it belongs to has none that can be used.
    """
    base = data_table_path(location)
    if base is None:
        return None
    check_records_query(query, location)
    return metadata_plan(session, MetaClient.load(base, storage_options()))


def _made(session: JavaValue, rows: PlanRows | MetadataRows, count: int, columns: StructType) -> JavaValue:
    """The plan of what tasks make when they are given the numbers up to ``count``."""
    tasks = max(1, min(count, int(session.sparkContext().defaultParallelism()) * _TASKS_PER_CORE))
    numbers = session.range(0, count, 1, tasks).queryExecution()
    # As rows of an RDD: of a range Spark knows the size, and would take the few bytes of a number for those of a slice.
    requests = session.internalCreateDataFrame(numbers.toRdd(), numbers.analyzed().schema(), False)
    frame = DataFrame(requests, python_session(session))
    return map_in_arrow(frame, rows, columns)._jdf.queryExecution().analyzed()


def _without_listing(plan: ScanPlan) -> ScanPlan:
    """The plan without what only tells how it came about."""
    return replace(plan, steps=(), counters={})
