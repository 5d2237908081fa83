"""Writes the bootstrap index: two HFiles of Avro containers.

Source: docs/format.md#bootstrap-index; Hudi's ``HFileBootstrapIndexWriter``.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from hudi_hive.formats.avro import write_container
from hudi_hive.formats.hfile import write_hfile
from hudi_hive.storage import Storage
from hudi_hive.table.bootstrap.index import BY_FILE_ID, BY_PARTITION, INFO_KEY, SourceFile, file_key

_TEXT: Final = {"type": "string", "avro.java.string": "String"}
_NAMESPACE: Final = "org.apache.hudi.avro.model"


def _record(name: str, *fields: tuple[str, Any], namespace: bool = False) -> dict[str, Any]:
    version = {"name": "version", "type": ["int", "null"], "default": 1}
    others = [{"name": field, "type": ["null", kind], "default": None} for field, kind in fields]
    made: dict[str, Any] = {"type": "record", "name": name, "fields": [version, *others]}
    return made | {"namespace": _NAMESPACE} if namespace else made


_PATH: Final = _record("HoodiePath", ("uri", _TEXT))
_ACTIONS: Final = [(f"{who}Action", _TEXT) for who in ("user", "group", "other")]
_STATUS: Final = _record(
    "HoodieFileStatus",
    ("path", _PATH),
    ("length", "long"),
    ("isDir", "boolean"),
    ("blockReplication", "int"),
    ("blockSize", "long"),
    ("modificationTime", "long"),
    ("accessTime", "long"),
    ("permission", _record("HoodieFSPermission", *_ACTIONS, ("stickyBit", "boolean"))),
    ("owner", _TEXT),
    ("group", _TEXT),
    ("symlink", "HoodiePath"),
)
_OF_FILE: Final = _record(
    "HoodieBootstrapFilePartitionInfo",
    ("bootstrapPartitionPath", _TEXT),
    ("bootstrapFileStatus", _STATUS),
    ("partitionPath", _TEXT),
    namespace=True,
)
_OF_PARTITION: Final = _record(
    "HoodieBootstrapPartitionMetadata",
    ("bootstrapPartitionPath", _TEXT),
    ("partitionPath", _TEXT),
    ("fileIdToBootstrapFile", {"type": "map", "values": _STATUS, "avro.java.string": "String"}),
    namespace=True,
)
_INFO: Final = _record(
    "HoodieBootstrapIndexInfo",
    ("bootstrapBasePath", _TEXT),
    ("createdTimestamp", "long"),
    ("numKeys", "int"),
    namespace=True,
)


def write_index(storage: Storage, base_path: str, sources: Sequence[SourceFile]) -> None:
    """Write the index of a table; one that is there is replaced.

    Args:
        storage: rooted at the table's base path.
        base_path: of the source.
        sources: a source file for each skeleton.
    """
    partitions: dict[str, list[SourceFile]] = defaultdict(list)
    for one in sources:
        partitions[one.partition].append(one)
    of_partitions = {
        f"part={partition}": write_container(
            _OF_PARTITION,
            [
                {
                    "bootstrapPartitionPath": files[0].source_partition,
                    "partitionPath": partition,
                    "fileIdToBootstrapFile": {one.file_id: _status(one) for one in files},
                }
            ],
        )
        for partition, files in partitions.items()
    }
    of_files = {
        file_key(one.partition, one.file_id): write_container(
            _OF_FILE,
            [
                {
                    "bootstrapPartitionPath": one.source_partition,
                    "bootstrapFileStatus": _status(one),
                    "partitionPath": one.partition,
                }
            ],
        )
        for one in sources
    }
    for path, entries in ((BY_PARTITION, of_partitions), (BY_FILE_ID, of_files)):
        storage.write_bytes(path, _hfile(entries, base_path))


def _status(source: SourceFile) -> Mapping[str, Any]:
    return {
        "path": {"version": 1, "uri": source.uri},
        "length": source.size,
        "isDir": False,
        "blockReplication": 1,
        "blockSize": 32 << 20,
        "modificationTime": source.modified_ms,
        "accessTime": source.modified_ms,
    }


def _hfile(entries: Mapping[str, bytes], base_path: str) -> bytes:
    ordered = sorted(entries.items(), key=lambda entry: entry[0].encode())
    info = {"bootstrapBasePath": base_path, "createdTimestamp": time.time_ns() // 1_000_000, "numKeys": len(entries)}
    return write_hfile(
        pa.array([key for key, _ in ordered], pa.string()),
        pa.array([value for _, value in ordered], pa.binary()),
        schema=json.dumps(_OF_FILE),
        codec="none",
        extra={INFO_KEY: write_container(_INFO, [info])},
    )
