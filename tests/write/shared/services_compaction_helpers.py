"""What tests of services compaction share with others."""

from __future__ import annotations

from pathlib import Path

from hudi_hive.table_api import HudiTable


def all_rows(path: Path) -> list[dict[str, object]]:
    """Rows with their commit times and keys, which rewriting must keep."""
    table = HudiTable.open(path).scan().to_arrow()
    names = [name for name in table.column_names if name not in ("_hoodie_file_name",)]
    return sorted(table.select(names).to_pylist(), key=repr)
