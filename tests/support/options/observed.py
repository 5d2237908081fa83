"""Everything of a table that an option of a write may change, in a form that two tables can be compared by."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.orc as orc
import pyarrow.parquet as pq

from hudi_hive import HudiTable
from hudi_hive.formats.log import iter_blocks
from hudi_hive.metadata import MetadataTable

_BLOOM, _BLOOM_TYPE = b"org.apache.hudi.bloomfilter", b"hoodie_bloom_filter_type_code"
_TIME = re.compile(r"\d{17}")


def observed(path: Path) -> dict[str, Any]:
    """Rows, files, timeline, metadata table, properties and last commit of a table, without names and times."""
    table = HudiTable.open(path)
    timeline = table.timeline
    metadata = path / ".hoodie" / "metadata"
    last = timeline.write_instants()[-1] if timeline.write_instants() else None
    extra = timeline.commit_metadata(last).extra if last is not None else {}
    return {
        "rows": _rows(table),
        "files": sorted(map(_file, data_files(path)), key=repr),
        "folders": sorted(
            str(one.relative_to(path)) for one in path.rglob("*") if one.is_dir() and _is_data(path, one)
        ),
        "timeline": [(instant.action, instant.state.name) for instant in timeline.instants],
        "archived": len(timeline.archived().instants),
        "operations": [timeline.commit_metadata(one).operation for one in timeline.write_instants()],
        "metadata": _metadata(metadata) if metadata.is_dir() else None,
        "properties": {name: text for name, text in table.properties.items() if name != "hoodie.table.checksum"},
        "commit": {name: _TIME.sub("_", text) for name, text in extra.items() if name != "schema"},
    }


def _is_data(path: Path, folder: Path) -> bool:
    return ".hoodie" not in folder.relative_to(path).parts


def data_files(path: Path) -> list[Path]:
    """Base and log files of a table."""
    names = (one for one in path.rglob("*") if one.is_file() and _is_data(path, one))
    return [one for one in names if one.suffix in (".parquet", ".orc") or ".log." in one.name]


def _rows(table: HudiTable) -> list[Any]:
    rows = table.scan().to_arrow()
    hidden = {"_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_file_name"}
    rows = rows.select([name for name in rows.column_names if name not in hidden])
    return sorted(_TIME.sub("_", repr(row)) for row in rows.to_pylist())


def _file(path: Path) -> dict[str, Any]:
    if ".log." in path.name:
        blocks = [
            (block.type.name, sorted(key.name for key in block.headers))
            for block in iter_blocks(path.read_bytes(), path.name)
        ]
        return {"folder": path.parent.name, "blocks": blocks, "changes": path.suffix == ".cdc"}
    if path.suffix == ".orc":
        written = orc.ORCFile(path)
        return {"folder": path.parent.name, "columns": written.schema.names, "codecs": [written.compression]}
    file = pq.ParquetFile(path)
    footer = file.metadata.metadata or {}
    groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
    columns = [group.column(at) for group in groups for at in range(group.num_columns)]
    own = [one for one in columns if not one.path_in_schema.startswith("_hoodie")]
    return {
        "folder": path.parent.name,
        "columns": file.schema_arrow.names,
        "types": list(map(str, file.schema_arrow.types)),
        "ids": file.read(["id"])["id"].to_pylist() if "id" in file.schema_arrow.names else None,
        "groups": [group.num_rows for group in groups],
        "codecs": sorted({one.compression for one in columns}),
        "encodings": sorted({encoding for one in own for encoding in one.encodings}),
        "sizes": [one.total_uncompressed_size for one in own],
        "bloom": (len(footer.get(_BLOOM, b"")), footer.get(_BLOOM_TYPE)),
    }


def _metadata(path: Path) -> dict[str, Any]:
    table = MetadataTable.open(HudiTable.open(path.parent.parent).client)
    own = table.client
    stats = table.stats()
    ranges = table.raw_stats() if table.has("column_stats") else None
    return {
        "groups": dict(zip(stats["partition"].to_pylist(), stats["file_groups"].to_pylist(), strict=True)),
        "indexed": None if ranges is None else dict(Counter(ranges["column"].to_pylist())),
        "actions": [instant.action for instant in own.timeline.instants],
        "archived": len(own.timeline.archived().instants),
    }


def listing(path: Path) -> dict[str, bytes]:
    """Every file below a folder, byte for byte."""
    return {str(one.relative_to(path)): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}
