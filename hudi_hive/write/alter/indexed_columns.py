"""Columns that indexes of the metadata table are of: their names and types stay as long as the index does.

An index knows its column by name alone, and each write keeps it in step: without the column all of them would fail, and
another column of its name would be looked up by the values of the one before.

Source: docs/format.md#expression-indexes.
"""

from __future__ import annotations

from hudi_hive.errors import SchemaError
from hudi_hive.metadata.reader import EXPRESSION_PREFIX, SECONDARY_PREFIX, index_definitions, written_partitions
from hudi_hive.schema import SchemaUpdate, type_name
from hudi_hive.table import MetaClient


def refuse_indexed(client: MetaClient, update: SchemaUpdate) -> None:
    """Refuse to drop or rename an indexed column, or to give it another type.

    Raises:
        SchemaError: a change does; it names column and index.
    """
    there = written_partitions(client.config)
    before = {name.lower(): (name, item) for name, item in update.before.walk()}
    for index in index_definitions(client):
        if index.name not in there or not index.name.startswith((SECONDARY_PREFIX, EXPRESSION_PREFIX)):
            continue
        for column in index.columns:
            if column.lower() not in before:
                continue
            name, item = before[column.lower()]
            after = update.schema.find(name)
            if after is not None and after.id == item.id and type_name(after.type) == type_name(item.type):
                continue
            raise SchemaError(
                f"column {name!r} cannot be dropped, renamed or changed in type: the index {index.name} is of it",
                remedy=f"drop the index first: DROP INDEX, or `hudi-hive metadata delete --partition {index.name}`",
            )
