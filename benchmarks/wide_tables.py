"""Tables of very many partitions with one tiny base file each, to sync and to plan: made in seconds, read by real Hudi.

Every base file is a copy of one Parquet file. The metadata table lists all of them: a base HFile for the first commit,
a log file for each later one.
"""

from __future__ import annotations

import datetime
import io
import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from hudi_tables import (
    INSERT,
    INSERT_DONE,
    encode_hfile,
    make_rows,
    metadata_schema,
    write_commit,
    write_metadata_table,
    write_properties,
    write_stat,
)

from hudi_hive.formats.log import BlockType, HeaderKey, encode_block

_FIRST = datetime.datetime(2026, 1, 1)


class WideTable:
    """A table partitioned by ``city_group`` in which each commit brings new partitions.

    Args:
        path: base path, made here.
        partitions: partitions of the first commit.
        kind: ``COPY_ON_WRITE`` or ``MERGE_ON_READ``.
        metadata: whether a metadata table lists the files.
    """

    def __init__(self, path: Path, partitions: int, *, kind: str = "COPY_ON_WRITE", metadata: bool = True) -> None:
        self.path, self.kind, self.partitions = path, kind, partitions
        self._metadata = metadata
        self._action = "commit" if kind == "COPY_ON_WRITE" else "deltacommit"
        self._commits = 0
        sink = pa.BufferOutputStream()
        pq.write_table(make_rows(0, 2, "p00000", "copied"), sink)
        self._data = sink.getvalue().to_pybytes()
        more = {"hoodie.table.partition.fields": "city_group"}
        if metadata:
            more["hoodie.table.metadata.partitions"] = "files"
        write_properties(path, path.name, kind, more)
        stats = self._fill(range(partitions), INSERT)
        write_commit(path, path.name, INSERT, INSERT_DONE, self._action, stats, "INSERT")
        if metadata:
            write_metadata_table(path / ".hoodie" / "metadata", f"{path.name}_metadata", _listed(stats))

    def append(self, new: int, again: int = 0) -> None:
        """One more commit: a base file in each of ``new`` new partitions and in ``again`` of the first ones."""
        self._commits += 1
        at = _FIRST + datetime.timedelta(hours=self._commits)
        requested, completed = f"{at:%Y%m%d%H%M%S}000", f"{at:%Y%m%d%H%M%S}900"
        numbers = [*range(again), *range(self.partitions, self.partitions + new)]
        self.partitions += new
        stats = self._fill(numbers, requested)
        if self._metadata:
            self._append_metadata(stats, requested, f"{at:%Y%m%d%H%M%S}500")
        write_commit(self.path, self.path.name, requested, completed, self._action, stats, "INSERT")

    def _fill(self, numbers: Sequence[int], instant: str) -> dict[str, list[dict[str, Any]]]:
        stats = {}
        for number in numbers:
            partition = f"p{number:05d}"
            folder = self.path / partition
            if not folder.exists():
                folder.mkdir()
                (folder / ".hoodie_partition_metadata").write_text(f"commitTime={instant}\npartitionDepth=1\n")
            file_id = str(uuid.UUID(int=(self._commits << 32) + number + 1)) + "-0"
            name = f"{file_id}_0-1-1_{instant}.parquet"
            (folder / name).write_bytes(self._data)
            stats[partition] = [write_stat(file_id, f"{partition}/{name}", len(self._data), 2, inserts=2)]
        return stats

    def _append_metadata(self, stats: Mapping[str, Any], instant: str, completed: str) -> None:
        base = self.path / ".hoodie" / "metadata"
        schema = metadata_schema()
        header = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: json.dumps(schema)}
        content = encode_hfile(_records(_listed(stats), schema), json.dumps(schema))
        name = f".files-0000-0_{instant}.log.1_0-1-1"
        block = encode_block(BlockType.HFILE_DATA, header, content)
        (base / "files" / name).write_bytes(block)
        written = {"files": [write_stat("files-0000-0", f"files/{name}", len(block), len(stats) + 1, log=name)]}
        write_commit(base, f"{self.path.name}_metadata", instant, completed, "deltacommit", written, "UPSERT")


def _listed(stats: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    return {
        partition: {Path(item["path"]).name: item["fileSizeInBytes"] for item in items}
        for partition, items in stats.items()
    }


def _records(listed: Mapping[str, Mapping[str, int]], schema: dict[str, Any]) -> dict[str, bytes]:
    """Metadata records of partitions and of their files, by key."""
    parsed = fastavro.parse_schema(schema)
    blank = {field["name"]: None for field in schema["fields"]}

    def record(key: str, kind: int, sizes: Mapping[str, int]) -> bytes:
        files = {name: {"size": size, "isDeleted": False} for name, size in sizes.items()}
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, parsed, {**blank, "key": key, "type": kind, "filesystemMetadata": files})
        return stream.getvalue()

    found = {"__all_partitions__": record("__all_partitions__", 1, dict.fromkeys(listed, 0))}
    return found | {partition: record(partition, 2, files) for partition, files in listed.items()}
