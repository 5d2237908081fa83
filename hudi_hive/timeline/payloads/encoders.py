"""Encodes commit metadata as JSON (timeline layout 1) or Avro (layout 2).

Source: docs/format.md#states-and-payloads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hudi_hive.errors import TimelineError
from hudi_hive.formats.avro import write_container
from hudi_hive.timeline.payloads.avro_models import field_names, model_schema

__all__ = [
    "REPLACING_OPERATIONS",
    "NewCommitMetadata",
    "encode_commit",
]

REPLACING_OPERATIONS: Final = frozenset({"INSERT_OVERWRITE", "INSERT_OVERWRITE_TABLE", "DELETE_PARTITION", "CLUSTER"})
"""Operations whose commits are replacecommits, also where they replace nothing."""

_JSON_STAT: Final[Mapping[str, Any]] = {
    "fileId": None,
    "path": None,
    "cdcStats": None,
    "prevCommit": None,
    "numWrites": 0,
    "numDeletes": 0,
    "numUpdateWrites": 0,
    "numInserts": 0,
    "totalWriteBytes": 0,
    "totalWriteErrors": 0,
    "tempPath": None,
    "partitionPath": None,
    "totalLogRecords": 0,
    "totalLogFilesCompacted": 0,
    "totalLogSizeCompacted": 0,
    "totalUpdatedRecordsCompacted": 0,
    "totalLogBlocks": 0,
    "totalCorruptLogBlock": 0,
    "totalRollbackBlocks": 0,
    "fileSizeInBytes": 0,
    "minEventTime": None,
    "maxEventTime": None,
    "runtimeStats": None,
}
"""Keys of every write stat in JSON, and what stands for an absent one (docs/format.md#commit-metadata)."""

_COUNTS: Final = frozenset(name for name, default in _JSON_STAT.items() if default == 0)
_JSON_ONLY: Final = frozenset({"recordsStats", "columnStats"})


@dataclass(frozen=True)
class NewCommitMetadata:
    """Commit metadata that is to be written.

    Args:
        operation: Hudi's name of the write operation (``UPSERT``, ``CLUSTER``, ``COMPACT`` …).
        extra: extra metadata; ``schema`` must be in it, or the table has none for other engines.
        stats: one write stat for each file, in Hudi's field names, ``partitionPath`` among them.
        replaced: partition -> ids of the file groups that the commit replaces.
        compacted: a compaction wrote it.
    """

    operation: str
    extra: Mapping[str, str]
    stats: Sequence[Mapping[str, Any]] = ()
    replaced: Mapping[str, Sequence[str]] = field(default_factory=dict)
    compacted: bool = False

    @property
    def is_replace(self) -> bool:
        """Whether this is the metadata of a replacecommit."""
        return bool(self.replaced) or self.operation in REPLACING_OPERATIONS


def encode_commit(metadata: NewCommitMetadata, layout: int) -> bytes:
    """Encode the payload of a completed or inflight commit, deltacommit or replacecommit.

    Args:
        metadata: what was written.
        layout: timeline layout version: 1 writes JSON, 2 an Avro container (docs/format.md#commit-metadata).

    Raises:
        TimelineError: a write stat has a field that Hudi does not know, or names no partition.
    """
    stats = _grouped(metadata.stats, layout)
    record: dict[str, Any] = {
        "partitionToWriteStats": stats,
        "compacted": metadata.compacted,
        "extraMetadata": dict(metadata.extra),
        "operationType": metadata.operation,
    }
    if metadata.is_replace:
        record["partitionToReplaceFileIds"] = {key: list(ids) for key, ids in metadata.replaced.items()}
    if layout == 1:
        return json.dumps(record, indent=2).encode()
    name = "HoodieReplaceCommitMetadata" if metadata.is_replace else "HoodieCommitMetadata"
    return write_container(model_schema(name, layout), [{**record, "version": 1}])


def _grouped(stats: Sequence[Mapping[str, Any]], layout: int) -> dict[str, list[dict[str, Any]]]:
    """Write stats by partition, absent counts filled with 0."""
    # JSON has the fields that Avro got with layout 2.
    declared = field_names("HoodieWriteStat", 2) | (_JSON_ONLY if layout == 1 else frozenset())
    groups: dict[str, list[dict[str, Any]]] = {}
    for stat in stats:
        unknown = sorted(set(stat) - declared)
        if unknown:
            raise TimelineError(f"write stats have no field {', '.join(unknown)}")
        partition = stat.get("partitionPath")
        if not isinstance(partition, str):
            raise TimelineError(f"write stat of {stat.get('path')!r} names no partition")
        full = {**_JSON_STAT, **{key: value for key, value in stat.items() if value is not None or key not in _COUNTS}}
        groups.setdefault(partition, []).append(full)
    return groups
