"""Write statuses: an Arrow row for each written file, which tasks return to the commit.

Statuses carry the fields of Hudi's write stats, the column ranges of the file and the keys
that came to or left its file group; those of many files joined are what a commit is made of.

Source: docs/format.md#commit-metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from hudi_hive.errors import CorruptFileError
from hudi_hive.metadata.reader import INDEX_ADDED_SCHEMA, INDEX_REMOVED_SCHEMA

WRITE_STATUS_SCHEMA: Final = pa.schema(
    [
        pa.field("partition", pa.string(), nullable=False),
        pa.field("file_id", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        ("path", pa.string()),
        ("prev_commit", pa.string()),
        ("num_writes", pa.int64()),
        ("num_deletes", pa.int64()),
        ("num_updates", pa.int64()),
        ("num_inserts", pa.int64()),
        ("size", pa.int64()),
        ("log_version", pa.int32()),
        ("base_file", pa.string()),
        ("prev_base_file", pa.string()),
        ("log_files", pa.list_(pa.string())),
        ("cdc", pa.map_(pa.string(), pa.int64())),
        ("log_records", pa.int64()),
        ("log_blocks", pa.int64()),
        ("log_files_compacted", pa.int64()),
        ("log_bytes_compacted", pa.int64()),
        ("records_compacted", pa.int64()),
        ("ranges", pa.binary()),
        ("index_added", pa.binary()),
        ("index_removed", pa.binary()),
    ]
)
"""Columns of a status.

``name`` is the file written, ``path`` the same relative to the base path; ``prev_commit`` the instant of the slice
before, the text ``null`` without one. ``log_version`` and ``log_files`` are null for base files, ``cdc`` maps paths of
change files to their sizes in bytes. ``ranges``, ``index_added`` and ``index_removed`` are Arrow IPC streams: column
ranges of the file, record keys new in its group, record keys no longer in it; null where nobody needs them.
"""

_KEY_SCHEMA: Final = pa.schema([("key", pa.string())])
"""What ``index_added`` and ``index_removed`` hold."""


def to_ipc(table: pa.Table) -> bytes:
    """A table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_ipc(data: bytes) -> pa.Table:
    """The table of an Arrow IPC stream.

    Raises:
        CorruptFileError: the bytes are none.
    """
    try:
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            return reader.read_all()
    except pa.ArrowException as error:
        raise CorruptFileError(f"a write status holds no Arrow data: {error}") from error


def status(
    partition: str,
    file_id: str,
    name: str,
    *,
    keys_added: pa.Array | None = None,
    keys_removed: pa.Array | None = None,
    ranges: pa.Table | None = None,
    **fields: Any,  # noqa: ANN401 - values of any column of the schema
) -> pa.Table:
    """Make the write status of one file; omitted counts are 0.

    Args:
        partition: partition path.
        file_id: file group.
        name: the file.
        keys_added: record keys that are new in the group.
        keys_removed: record keys that have left it.
        ranges: column ranges of the file.
        fields: other columns of :data:`WRITE_STATUS_SCHEMA`.
    """
    row: dict[str, Any] = dict.fromkeys(WRITE_STATUS_SCHEMA.names)
    for field in WRITE_STATUS_SCHEMA:
        if pa.types.is_int64(field.type):
            row[field.name] = 0
    row |= {
        "partition": partition,
        "file_id": file_id,
        "name": name,
        "path": f"{partition}/{name}" if partition else name,
        "prev_commit": "null",
        "ranges": None if ranges is None else to_ipc(ranges),
        "index_added": _keys(keys_added),
        "index_removed": _keys(keys_removed),
    }
    unknown = fields.keys() - row.keys()
    assert not unknown, unknown
    row |= fields
    cdc = row["cdc"]
    row["cdc"] = list(cdc.items()) if isinstance(cdc, Mapping) else cdc
    return pa.Table.from_pylist([row], schema=WRITE_STATUS_SCHEMA)


def _keys(keys: pa.Array | None) -> bytes | None:
    if keys is None or not len(keys):
        return None
    return to_ipc(pa.table({"key": keys}, schema=_KEY_SCHEMA))


def joined(statuses: Iterable[pa.Table]) -> pa.Table:
    """Statuses of many files as one table."""
    tables = list(statuses)
    return pa.concat_tables(tables) if tables else WRITE_STATUS_SCHEMA.empty_table()


def write_stats(statuses: pa.Table, *, layout: int) -> list[dict[str, Any]]:
    """Statuses as Hudi's write stats, by their names in JSON and Avro (docs/format.md#commit-metadata).

    Args:
        statuses: :data:`WRITE_STATUS_SCHEMA`.
        layout: timeline layout: the first has fewer fields.
    """
    columns = [n for n in statuses.column_names if n not in ("ranges", "index_added", "index_removed")]
    return [_stat(row, layout) for row in statuses.select(columns).to_pylist()]


def _stat(row: Mapping[str, Any], layout: int) -> dict[str, Any]:
    stat: dict[str, Any] = {
        "fileId": row["file_id"],
        "path": row["path"],
        "cdcStats": dict(row["cdc"]) if row["cdc"] else None,
        "prevCommit": row["prev_commit"],
        "numWrites": row["num_writes"],
        "numDeletes": row["num_deletes"],
        "numUpdateWrites": row["num_updates"],
        "numInserts": row["num_inserts"],
        "totalWriteBytes": row["size"],
        "totalWriteErrors": 0,
        "tempPath": None,
        "partitionPath": row["partition"],
        "totalLogRecords": row["log_records"],
        "totalLogFilesCompacted": row["log_files_compacted"],
        "totalLogSizeCompacted": row["log_bytes_compacted"],
        "totalUpdatedRecordsCompacted": row["records_compacted"],
        "totalLogBlocks": row["log_blocks"],
        "totalCorruptLogBlock": 0,
        "totalRollbackBlocks": 0,
        "fileSizeInBytes": row["size"],
        "minEventTime": None,
        "maxEventTime": None,
        "runtimeStats": {"totalScanTime": 0, "totalUpsertTime": 0, "totalCreateTime": 0},
    }
    if layout >= 2:
        stat |= {"prevBaseFile": row["prev_base_file"], "totalLogReadTimeMs": 0, "numUpdates": 0}
    if row["log_version"] is not None:
        stat |= {
            "logVersion": row["log_version"],
            "logOffset": 0,
            "baseFile": row["base_file"] or "",
            "logFiles": row["log_files"],
        }
    return stat


def index_changes(statuses: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The changes that the commit makes to the record index.

    Returns:
        ``INDEX_ADDED_SCHEMA`` of keys that came to a group, in the order of the statuses, and ``INDEX_REMOVED_SCHEMA``
        of keys that left one. A record that moved left one group and came to another.
    """
    added, removed = [INDEX_ADDED_SCHEMA.empty_table()], [INDEX_REMOVED_SCHEMA.empty_table()]
    for row in statuses.select(["partition", "file_id", "index_added", "index_removed"]).to_pylist():
        for name, schema, tables in (
            ("index_added", INDEX_ADDED_SCHEMA, added),
            ("index_removed", INDEX_REMOVED_SCHEMA, removed),
        ):
            if row[name] is not None:
                keys = from_ipc(row[name]).column("key")
                place = [pa.repeat(pa.scalar(row[part], pa.string()), len(keys)) for part in schema.names[1:]]
                tables.append(pa.table([keys, *place], schema=schema))
    return pa.concat_tables(added), pa.concat_tables(removed)


def written_paths(statuses: pa.Table) -> list[str]:
    """Paths of all files that statuses tell of, change files included."""
    paths: list[str] = statuses.column("path").to_pylist()
    return paths + [path for cdc in statuses.column("cdc").to_pylist() for path, _ in cdc or ()]
