"""Columns of the tables that a timeline makes of its instants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

REPLACED_GROUPS_SCHEMA: Final = pa.schema(
    [("partition", pa.string()), ("file_id", pa.string()), ("instant", pa.string()), ("completed", pa.string())]
)
"""Columns of :meth:`Timeline.replaced_file_groups`."""

PENDING_COMPACTION_SCHEMA: Final = pa.schema(
    [
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("compaction_instant", pa.string()),
        ("base_instant", pa.string()),
    ]
)
"""Columns of :meth:`Timeline.pending_compactions`."""

PENDING_CLUSTERING_SCHEMA: Final = pa.schema(
    [("partition", pa.string()), ("file_id", pa.string()), ("instant", pa.string())]
)
"""Columns of :meth:`Timeline.pending_clustering`."""

TIMELINE_SCHEMA: Final = pa.schema(
    [
        ("requested", pa.string()),
        ("completed", pa.string()),
        ("action", pa.string()),
        ("state", pa.string()),
        ("operation", pa.string()),
    ]
)
"""Columns of :meth:`Timeline.to_arrow`; ``operation`` is null where no metadata has been read."""


def with_constants(table: pa.Table, values: Mapping[str, str | None]) -> pa.Table:
    """A table with columns of one value each behind its own."""
    for name, value in values.items():
        table = table.append_column(name, pa.repeat(pa.scalar(value, pa.string()), table.num_rows))
    return table


def concatenated(tables: list[pa.Table], schema: pa.Schema) -> pa.Table:
    """Tables as one of a schema, also of none."""
    if not tables:
        return schema.empty_table()
    return pa.concat_tables([table.cast(schema) for table in tables]).combine_chunks()
