"""``SHOW PARTITIONS`` of a Hudi table, answered from the table itself.

Spark refuses it, since hive-sync keeps partitions in the metastore in a way that Spark does not take for its own. The
partitions are those that a query sees, as real Hudi answers it, so those of a commit that is not synced yet are among
them. Of a synced table the names are those that Hive shows, ``city=oslo/day=1``, whatever the folders are called; of a
table that CREATE TABLE made they are the folders, as in Hudi's own SQL.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import SparkError
from hudi_hive.plan import Query
from hudi_hive.spark.bridge import JavaValue, option, store_options
from hudi_hive.spark.scan import TableSnapshot, spread_listing
from hudi_hive.spark.statements.definitions.answers import answer
from hudi_hive.spark.statements.definitions.partition_clause import clause_values
from hudi_hive.spark.statements.entries import SessionEntry
from hudi_hive.spark.statements.writes import WriteTarget, existing_partitions
from hudi_hive.table.keys import DEFAULT_PARTITION, escape_value


def show_partitions(target: WriteTarget, node: JavaValue) -> JavaValue:
    """The plan that answers a parsed ``SHOW PARTITIONS``; the node itself for a table by path.

    Raises:
        SparkError: the clause names a column that is no partition column.
    """
    entry = target.entry
    if entry is None:
        return node
    names = entry.declared.partition_columns
    clause = option(node.productElement(1))
    specification = {} if clause is None else {key.lower(): value for key, value in clause_values(clause).items()}
    unknown = sorted(set(specification) - {name.lower() for name in names})
    if unknown:
        raise SparkError(
            f"{', '.join(unknown)} is no partition column of {entry.declared.name}",
            path=entry.location,
            remedy=f"partition columns are {', '.join(names)}" if names else "the table has no partition columns",
        )
    wanted = {name: DEFAULT_PARTITION if value is None else value for name, value in specification.items()}
    return answer(target, ["partition"], [(name,) for name in _shown(target, names, wanted)])


def _shown(target: WriteTarget, names: tuple[str, ...], specification: Mapping[str, str]) -> list[str]:
    if not names or target.entry is None:
        return []  # of a table without partition columns, as Hudi
    query = Query.of("snapshot")
    stored = store_options(target.hook.session, target.location)
    snapshot = TableSnapshot(target.location, query, stored, names, lambda: spread_listing(query))
    paths = existing_partitions(snapshot.client)
    values = snapshot.partition_texts(paths)
    if not SessionEntry(target.hook, target.entry).made_by_statement:
        return partition_names(values, names, specification)
    return sorted(pa.array(paths, pa.string()).filter(_matches(values, specification)).to_pylist())


def partition_names(values: pa.Table, names: tuple[str, ...], specification: Mapping[str, str]) -> list[str]:
    """Names of partitions as Hive shows them, sorted.

    Args:
        values: a text column per partition field, a row per partition.
        names: the partition columns in their order.
        specification: column in lower case -> the value that partitions must have.
    """
    columns = {name.lower(): values.column(name) for name in values.column_names}
    matches = _matches(values, specification)
    texts = []
    for name in names:
        column = pc.fill_null(columns[name.lower()], DEFAULT_PARTITION).combine_chunks()
        escaped = pa.array([f"{escape_value(name)}={escape_value(value)}" for value in column.to_pylist()], pa.string())
        texts.append(escaped)
    joined = pc.binary_join_element_wise(*texts, "/").filter(matches)
    return sorted(joined.to_pylist())


def _matches(values: pa.Table, specification: Mapping[str, str]) -> pa.Array:
    """Which partitions have the values of a clause."""
    matches = pa.array([True] * values.num_rows, pa.bool_())
    for name in values.column_names:
        if name.lower() in specification:
            column = pc.fill_null(values.column(name), DEFAULT_PARTITION).combine_chunks()
            matches = pc.and_(matches, _equal(column, specification[name.lower()]))
    return matches


def _equal(column: pa.Array, value: str) -> pa.Array:
    """Equal as texts, or as whole numbers: ``PARTITION (month = 1)`` finds ``month=01``."""
    equal = pc.equal(column, value)
    if not value.isdigit():
        return equal
    numbers = pc.and_(
        pc.match_substring_regex(column, r"^\d+$"), pc.equal(pc.utf8_ltrim(column, "0"), value.lstrip("0"))
    )
    return pc.or_(equal, numbers)
