"""Columns of the tables that a timeline makes of its instants."""

from __future__ import annotations

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
