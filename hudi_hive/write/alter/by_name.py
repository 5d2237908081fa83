"""Changes of columns that give them no ids: of tables with types that Hudi cannot read from a schema with ids.

Columns of such tables go by name for ever. A new one is no other's, and old files have null in it; what renames or
drops a column, or gives it another type, would need ids.

Source: Hudi's ``AlterHoodieTableAddColumnsCommand``; docs/format.md#schema-evolution-by-name.
"""

from __future__ import annotations

import json
from typing import Any, Final

from hudi_hive.schema import InternalSchema, SchemaUpdate, differences, unreadable_column
from hudi_hive.table import MetaClient
from hudi_hive.write.schema import avro_text

_CHANGES: Final = frozenset({"add", "nullable", "comment"})


def by_name(client: MetaClient, update: SchemaUpdate) -> bool:
    """Whether changes are made without ids: the table has none and cannot have any, and they need none."""
    if client.evolved_schema() is not None or unreadable_column(update.schema) is None:
        return False
    changes = {one.change for one in differences(update.before, update.schema)}
    return bool(changes) and changes <= _CHANGES


def avro_text_by_name(client: MetaClient, before: InternalSchema, after: InternalSchema) -> str:
    """The table's Avro schema after such changes, with what stays as it is written there."""
    made: dict[str, Any] = json.loads(avro_text(client, after))
    written = {entry["name"]: entry for entry in (client.avro_schema() or {"fields": []})["fields"]}
    old = {item.id: item for item in before.fields}
    fields = {item.name: item for item in after.fields}
    entries = []
    for entry in made["fields"]:
        item = fields[entry["name"]]
        same = old.get(item.id)
        if same is None or (same.type, same.optional) != (item.type, item.optional):
            entries.append(entry)
            continue
        entry_before = {key: value for key, value in written[item.name].items() if key != "doc"}
        entries.append(entry_before if item.doc is None else {**entry_before, "doc": item.doc})
    return json.dumps({**made, "fields": entries}, separators=(",", ":"), ensure_ascii=False)
