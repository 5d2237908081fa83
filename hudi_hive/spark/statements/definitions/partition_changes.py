"""Statements that add, drop, empty and list partitions: ``ALTER TABLE``, ``TRUNCATE TABLE``, ``MSCK REPAIR TABLE``.

Dropping and emptying a partition are the same: one commit that replaces its file groups by none; the cleaner deletes
the files. A statement on several partitions is one commit.

Source: Hudi's ``AlterHoodieTableDropPartitionCommand``, ``AlterHoodieTableAddPartitionCommand``,
``TruncateHoodieTableCommand``, ``RepairHoodieTableCommand``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hudi_hive.errors import SparkError
from hudi_hive.options import Operation
from hudi_hive.plan import Query
from hudi_hive.spark.bridge import JavaValue, option, python_session, scala_items, store_options
from hudi_hive.spark.scan import TableSnapshot, spread_listing
from hudi_hive.spark.statements.definitions.partition_clause import Values, clause_values, path_of_values
from hudi_hive.spark.statements.entries import SessionEntry
from hudi_hive.spark.statements.writes import WriteTarget, command, existing_partitions
from hudi_hive.spark.versions import SPARK
from hudi_hive.table.keys import DEFAULT_PARTITION, PARTITION_METAFILES, partition_values
from hudi_hive.write.files import ensure_partition

_BEFORE_ALL_COMMITS: Final = "00000000000000"


# -- what runs: called by statements and by procedures ----------------------------------------------------------------


def truncate_table(target: WriteTarget) -> None:
    """Empty a table by a commit that replaces all file groups by none."""
    nothing = python_session(target.hook.session).createDataFrame([], target.columns)
    target.write(nothing, Operation.INSERT_OVERWRITE_TABLE)


def drop_partitions(target: WriteTarget, partitions: Sequence[Values]) -> None:
    """Drop partitions in one commit; ones that the table does not have are passed over.

    Args:
        target: the table.
        partitions: values of all partition columns of each; ``*`` in a value stands for any characters.

    Raises:
        SparkError: values that name no partition.
    """
    drop_partition_paths(target, [path_of_values(target, values) for values in partitions])


def drop_partition_paths(target: WriteTarget, paths: Sequence[str]) -> None:
    """Drop partitions as :func:`drop_partitions`, by their paths."""
    target.delete_partitions(paths)
    if target.entry is not None:
        entry = SessionEntry(target.hook, target.entry)
        if not entry.metastore_uris:
            _unlist_missing(target, entry, _listed_partitions(target))


def add_partitions(target: WriteTarget, partitions: Sequence[Values], *, if_not_exists: bool) -> None:
    """Make folders of partitions without rows, and list them in the catalog.

    Args:
        target: the table.
        partitions: values of all partition columns of each.
        if_not_exists: pass over partitions that are there.

    Raises:
        SparkError: a partition is there, or values that name none.
    """
    storage = target.client.storage
    named = {path_of_values(target, values): values for values in partitions}
    missing = [path for path in named if not _has_metafile(target, path)]
    if len(missing) < len(named) and not if_not_exists:
        taken = next(path for path in named if path not in missing)
        raise SparkError(
            f"{target.name} has the partition {taken} already",
            path=target.location,
            remedy="use ADD IF NOT EXISTS PARTITION",
        )
    for path in missing:
        ensure_partition(storage, path, _BEFORE_ALL_COMMITS)
    if target.entry is not None:
        entry = SessionEntry(target.hook, target.entry)
        entry.add_partitions(_entries(target, entry, list(named)))
        entry.refresh()


def repair_table(target: WriteTarget, *, adds: bool, drops: bool) -> None:
    """Bring the catalog's list of partitions up to date with the table.

    Args:
        target: the table, by name.
        adds: list partitions that the catalog lacks.
        drops: take partitions off the list that the table does not have.

    Raises:
        SparkError: the table is not partitioned.
    """
    assert target.entry is not None
    entry = SessionEntry(target.hook, target.entry)
    if not entry.entry.declared.partition_columns:
        raise SparkError(f"MSCK REPAIR TABLE {target.name}: the table is not partitioned", path=target.location)
    paths = _listed_partitions(target)
    if drops:
        _unlist_missing(target, entry, paths)
    if adds:
        entry.add_partitions(_entries(target, entry, paths))
    entry.refresh()


def _has_metafile(target: WriteTarget, path: str) -> bool:
    storage = target.client.storage
    return any(storage.exists(f"{path}/{name}") for name in PARTITION_METAFILES)


def _listed_partitions(target: WriteTarget) -> list[str]:
    """Paths of the partitions that the table has now."""
    stored, query = store_options(target.hook.session, target.location), Query.of("snapshot")
    names = tuple(target.client.config.partition_fields)
    snapshot = TableSnapshot(target.location, query, stored, names, lambda: spread_listing(query))
    return existing_partitions(snapshot.client)


def _entries(target: WriteTarget, entry: SessionEntry, paths: Sequence[str]) -> dict[str, dict[str, str]]:
    """URI of each partition's folder -> its values by the catalog's columns."""
    config, names = target.client.config, entry.entry.declared.partition_columns
    made = {}
    for path in paths:
        values = partition_values(
            path,
            config.partition_fields,
            hive_style=config.hive_style_partitioning,
            url_encoded=config.url_encode_partitioning,
        )
        by_name = {
            field.lower(): DEFAULT_PARTITION if value is None else value
            for field, value in zip(config.partition_fields, values, strict=True)
        }
        made[f"{target.location.rstrip('/')}/{path}"] = {name: by_name[name.lower()] for name in names}
    return made


def _unlist_missing(target: WriteTarget, entry: SessionEntry, paths: Sequence[str]) -> None:
    present = [dict(values) for values in _entries(target, entry, paths).values()]
    entry.drop_partitions([values for values in entry.partition_values() if values not in present])


# -- statements --------------------------------------------------------------------------------------------------------


def truncate_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``TRUNCATE TABLE``."""
    return command(target.hook.environment.jvm, f"TRUNCATE TABLE {target.name}", lambda: truncate_table(target))


def truncate_partition_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``TRUNCATE TABLE … PARTITION``."""
    values = clause_values(node.partitionSpec())
    path = path_of_values(target, values)
    text = f"TRUNCATE TABLE {target.name} PARTITION {path}"
    return command(target.hook.environment.jvm, text, lambda: drop_partition_paths(target, [path]))


def drop_partitions_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``ALTER TABLE … DROP [IF EXISTS] PARTITION … [PURGE]``; files go with the cleaner, with PURGE as without."""
    paths = [path_of_values(target, clause_values(part)) for part in scala_items(node.parts())]
    text = f"ALTER TABLE {target.name} DROP PARTITION {', '.join(paths)}"
    return command(target.hook.environment.jvm, text, lambda: drop_partition_paths(target, paths))


def add_partitions_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``ALTER TABLE … ADD [IF NOT EXISTS] PARTITION``.

    Raises:
        SparkError: a location, or values that name no partition.
    """
    parts = list(scala_items(node.parts()))
    if any(option(part.location()) is not None for part in parts):
        raise SparkError(
            f"ADD PARTITION … LOCATION on {target.name}: partitions are folders below the table's",
            path=target.location,
            remedy="leave LOCATION out",
        )
    values = [clause_values(part) for part in parts]
    paths = [path_of_values(target, one) for one in values]
    if_not_exists = bool(node.ifNotExists())
    text = f"ALTER TABLE {target.name} ADD PARTITION {', '.join(paths)}"
    return command(
        target.hook.environment.jvm, text, lambda: add_partitions(target, values, if_not_exists=if_not_exists)
    )


def repair_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``MSCK REPAIR TABLE [ADD | DROP | SYNC PARTITIONS]`` and ``ALTER TABLE … RECOVER PARTITIONS``.

    Raises:
        SparkError: a table by path.
    """
    if target.entry is None:
        raise SparkError(
            f"MSCK REPAIR TABLE {target.name}: a table by path has no partitions in a catalog",
            path=target.location,
            remedy="name the table as the catalog has it",
        )
    flags = {SPARK.element_name(node, at): node.productElement(at) for at in range(node.productArity())}
    adds, drops = bool(flags.get("enableAddPartitions", True)), bool(flags.get("enableDropPartitions", False))
    text = f"MSCK REPAIR TABLE {target.name}"
    return command(target.hook.environment.jvm, text, lambda: repair_table(target, adds=adds, drops=drops))


__all__ = [
    "add_partitions",
    "add_partitions_plan",
    "drop_partition_paths",
    "drop_partitions",
    "drop_partitions_plan",
    "repair_plan",
    "repair_table",
    "truncate_partition_plan",
    "truncate_plan",
    "truncate_table",
]
