"""``SHOW PARTITIONS`` of a synced table, answered from the table itself.

Spark refuses it, since hive-sync keeps partitions in the metastore in a way that Spark does not take for its own. The
names are those that Hive shows, ``city=oslo/day=1``, whatever the folders are called; they are the partitions that a
query sees, as real Hudi answers it, so those of a commit that is not synced yet are among them.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import SparkError
from hudi_hive.plan import Query
from hudi_hive.spark.bridge import JavaValue, option, scala_items
from hudi_hive.spark.catalog import SessionHook
from hudi_hive.spark.scan import TableSnapshot, spread_listing
from hudi_hive.table.keys import DEFAULT_PARTITION, escape_value


def show_partitions(hook: SessionHook, node: JavaValue) -> JavaValue:
    """The plan that answers a parsed ``SHOW PARTITIONS``; the node itself when it is about another table.

    Raises:
        SparkError: the clause names a column that is no partition column.
        HudiHiveError: the table cannot be read.
    """
    from hudi_hive.spark.statements.statements import target_of

    parts = target_of(node)
    if not parts or (len(parts) > 2 and parts[0].lower() != "spark_catalog"):
        return node
    entry = hook.find(parts[-2] if len(parts) > 1 else None, parts[-1])
    if entry is None:
        return node
    names = entry.declared.partition_columns
    specification = _specification(node.productElement(1))
    unknown = sorted(set(specification) - {name.lower() for name in names})
    if unknown:
        raise SparkError(
            f"{', '.join(unknown)} is no partition column of {entry.declared.name}",
            path=entry.location,
            remedy=f"partition columns are {', '.join(names)}" if names else "the table has no partition columns",
        )
    shown: list[str] = []  # of a table without partition columns, as Hudi
    if names:
        stored = hook.environment.store_options(hook.session, entry.location)
        query = Query.of("snapshot")
        snapshot = TableSnapshot(entry.location, query, stored, names, lambda: spread_listing(query))
        shown = partition_names(snapshot.partition_texts(_existing(snapshot)), names, specification)
    jvm = hook.environment.jvm
    texts = jvm.module("scala.collection.immutable.ArraySeq").unsafeWrapArray(jvm.strings(shown))
    frame = hook.session.createDataset(texts, jvm.package("Encoders").STRING())
    return frame.toDF(jvm.seq(["partition"])).queryExecution().analyzed()


def _existing(snapshot: TableSnapshot) -> list[str]:
    """Partition paths without those whose file groups were all replaced: a dropped partition's folder stays a while."""
    paths = snapshot.partition_paths()
    replaced = set(pc.unique(snapshot.client.timeline.replaced_file_groups().column("partition")).to_pylist())
    touched = [path for path in paths if path in replaced]
    if not touched:
        return paths
    slices = snapshot.client.file_system_view(touched).latest_file_slices()
    gone = set(touched) - set(pc.unique(slices.column("partition")).to_pylist())
    return [path for path in paths if path not in gone]


def _specification(clause: JavaValue) -> dict[str, str]:
    """Column in lower case -> value of a ``PARTITION (…)`` clause."""
    values = option(clause)
    if values is None:
        return {}
    pairs = [(item.productElement(0), item.productElement(1)) for item in scala_items(values.spec())]
    return {str(name).lower(): str(value) for name, value in pairs}


def partition_names(values: pa.Table, names: tuple[str, ...], specification: Mapping[str, str]) -> list[str]:
    """Names of partitions as Hive shows them, sorted.

    Args:
        values: a text column per partition field, a row per partition.
        names: the partition columns in their order.
        specification: column in lower case -> the value that partitions must have.
    """
    columns = {name.lower(): values.column(name) for name in values.column_names}
    matches = pa.array([True] * values.num_rows, pa.bool_())
    texts = []
    for name in names:
        column = pc.fill_null(columns[name.lower()], DEFAULT_PARTITION).combine_chunks()
        if name.lower() in specification:
            matches = pc.and_(matches, _equal(column, specification[name.lower()]))
        escaped = pa.array([f"{escape_value(name)}={escape_value(value)}" for value in column.to_pylist()], pa.string())
        texts.append(escaped)
    joined = pc.binary_join_element_wise(*texts, "/").filter(matches)
    return sorted(joined.to_pylist())


def _equal(column: pa.Array, value: str) -> pa.Array:
    """Equal as texts, or as whole numbers: ``PARTITION (month = 1)`` finds ``month=01``."""
    equal = pc.equal(column, value)
    if not value.isdigit():
        return equal
    numbers = pc.and_(
        pc.match_substring_regex(column, r"^\d+$"), pc.equal(pc.utf8_ltrim(column, "0"), value.lstrip("0"))
    )
    return pc.or_(equal, numbers)
