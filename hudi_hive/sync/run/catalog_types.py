"""Checks whether a metastore accepts the column types of a schema change.

A metastore refuses types that do not follow from those that it has (unless its administrator allows them), and a table
whose columns it cannot follow is read under the old types: such a change is refused before anything of it is written.
"""

from __future__ import annotations

import json
from typing import Final

from hudi_hive.errors import MetastoreServerError, SchemaError
from hudi_hive.metastore import HiveMetastore, Table
from hudi_hive.options import parse_boolean
from hudi_hive.schema import InternalSchema
from hudi_hive.sync.config import HiveSyncConfig
from hudi_hive.sync.diff import is_readable_as, normal_type
from hudi_hive.sync.table import metastore_type, storage_fields, views
from hudi_hive.table import MetaClient
from hudi_hive.write.schema import avro_text

CHECK: Final = "hive.metastore.disallow.incompatible.col.type.changes"
"""The metastore's own setting."""


def refuse_catalog_types(
    metastore: HiveMetastore,
    config: HiveSyncConfig,
    client: MetaClient,
    before: InternalSchema,
    after: InternalSchema,
) -> None:
    """Refuse a schema change that the sync after it could not apply to the metastore.

    Args:
        metastore: holds the table's entries.
        config: of the sync that is to follow.
        client: the table.
        before: the columns as they are.
        after: the columns as they shall be.

    Raises:
        SchemaError: a column would get a type that the metastore does not let it take.
        MetastoreError: the metastore does not answer.
    """
    if config.recreate_on_error or config.force_recreate:
        return
    changed = _retyped(before, after)
    if not changed:
        return
    fields = {field.name: field for field in storage_fields(json.loads(avro_text(client, after)))}
    target = config.resolve(client.config)
    for name, _ in views(config, target.table, merge_on_read=client.config.is_merge_on_read):
        table = metastore.find_table(target.database, name)
        if table is None:
            continue
        column_types = _types(table)
        for column, old in changed.items():
            new = metastore_type(fields[column], support_timestamp=config.support_timestamp)
            old_type = column_types.get(old.lower())
            if old_type is None or normal_type(old_type) == normal_type(new) or is_readable_as(old_type, new):
                continue
            if not _checks(metastore):
                continue
            raise SchemaError(
                f"column {column!r} is {old_type} in the metastore's table {target.database}.{name}, where it cannot "
                f"become {new}: queries by name would not find the table's columns any more",
                path=client.base_path,
                remedy=f"add a column of the new type, or have {CHECK}=false set in the metastore",
            )


def _retyped(before: InternalSchema, after: InternalSchema) -> dict[str, str]:
    """Top-level columns whose type differs: new name -> old name."""
    old = {field.id: field for field in before.fields}
    pairs = ((field, old.get(field.id)) for field in after.fields)
    return {field.name: prior.name for field, prior in pairs if prior is not None and prior.type != field.type}


def _types(table: Table) -> dict[str, str]:
    return {column.name.lower(): column.type for column in table.sd.cols or ()}


def _checks(metastore: HiveMetastore) -> bool:
    """Whether the metastore compares types."""
    try:
        return parse_boolean(metastore.config_value(CHECK, "true")) is not False
    except MetastoreServerError:
        return True
