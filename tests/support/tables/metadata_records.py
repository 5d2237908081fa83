"""Records of metadata tables in a form in which those of Hudi and ours are compared."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pyarrow as pa

from tests.support.fixture_tables import DATA

AS_TABLE = json.loads((DATA / "metadata" / "as_table.json").read_text())
"""By fixture: the columns, Spark's type, number and digest of the rows that real Hudi reads of ``.hoodie/metadata``."""


def records_sha256(table: pa.Table) -> str:
    """Digest of the rows, in any order: a JSON object each, bytes as hexadecimal digits."""
    maps = [field.name for field in table.schema if pa.types.is_map(field.type)]
    lines = []
    for row in table.to_pylist():
        row.update({name: dict(row[name]) for name in maps if row[name] is not None})
        lines.append(json.dumps(row, default=_other, sort_keys=True))
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _other(value: Any) -> Any:
    return {"b": value.hex()} if isinstance(value, bytes) else str(value)
