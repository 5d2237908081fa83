"""Keeps the partition indexes of tables in AWS Glue, behind the rest of a sync."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hudi_hive.sync.catalog import Catalog
from hudi_hive.sync.config import HiveSyncConfig
from hudi_hive.sync.diff import TablePlan
from hudi_hive.sync.table import INDEX_FILTERING, partition_indexes

if TYPE_CHECKING:
    from hudi_hive.glue import GlueCatalog


def keep_indexes(config: HiveSyncConfig, catalog: Catalog, plan: TablePlan) -> TablePlan:
    """Make and drop a table's partition indexes as the options say; other catalogs have none.

    Args:
        config: the sync's configuration.
        catalog: where the table is.
        plan: what was done for it.

    Returns:
        the plan, with warnings of indexes that have to wait.

    Raises:
        MetastoreError: Glue refuses an index, or does not answer.
    """
    if config.mode != "glue":
        return plan
    from hudi_hive.glue import GlueCatalog

    if not isinstance(catalog, GlueCatalog):
        return plan
    spec = plan.spec
    indexes = partition_indexes(config.glue, [key.name for key in spec.partition_keys])
    if indexes:
        waiting = catalog.keep_indexes(spec.database, spec.name, indexes)
        lines = tuple(f"partition index {name} of {spec.full_name} waits for another one" for name in waiting)
        return replace(plan, warnings=plan.warnings + lines) if lines else plan
    if plan.existing is not None and (plan.existing.parameters or {}).get(INDEX_FILTERING) == "true":
        _turn_off(catalog, plan)
    return plan


def _turn_off(catalog: GlueCatalog, plan: TablePlan) -> None:
    """Drop the indexes of syncs; the table says last that it has none any more, so that a failure is made up for."""
    catalog.keep_indexes(plan.spec.database, plan.spec.name, ())
    table = catalog.table(plan.spec.database, plan.spec.name)
    if (table.parameters or {}).get(INDEX_FILTERING) == "true":
        table.parameters = {**table.parameters, INDEX_FILTERING: "false"}
        catalog.alter_table(plan.spec.database, plan.spec.name, table)
