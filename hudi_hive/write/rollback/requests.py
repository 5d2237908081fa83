"""Carries out the requests of a rollback's plan, one file slice each."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Final

from hudi_hive.errors import PathExistsError, WriteError
from hudi_hive.formats.log import command_block
from hudi_hive.storage import Storage
from hudi_hive.table.view import data_file_path, delete_data_files
from hudi_hive.timeline.payloads import RollbackPartition, RollbackRequest
from hudi_hive.write.rollback.late_files import ABSENT
from hudi_hive.write.rollback.undo import log_versions

_COMMAND_TOKEN: Final = "1-0-1"
_ATTEMPTS: Final = 20


def undo_request(storage: Storage, instant: str, target: str, request: RollbackRequest) -> RollbackPartition:
    """Undo what a write did to one file slice: delete its files, or declare its log blocks void.

    Args:
        storage: rooted at the table's base path.
        instant: requested time of the rollback.
        target: requested time of the write.
        request: what to undo.

    Raises:
        WriteError: no log version is free for the command block.
    """
    if request.log_blocks and request.file_id and request.base_instant:
        name, size = _append_command(storage, instant, target, request)
        failed = {log: length for log, length in request.log_blocks.items() if length != ABSENT}
        return RollbackPartition((), (), {name: size}, failed)
    # Gone already are those of a rollback that is taken up again.
    delete_data_files(storage, request.partition, request.files, instant=instant)
    return RollbackPartition(request.files, (), {}, {})


def _append_command(storage: Storage, instant: str, target: str, request: RollbackRequest) -> tuple[str, int]:
    """Declare the target's blocks in a slice void, by a log file behind all others (docs/format.md#command-blocks)."""
    assert request.file_id is not None and request.base_instant is not None
    data = command_block(instant, target)
    least = max(log_versions(request.log_blocks, request.file_id, request.base_instant), default=0)
    for _ in range(_ATTEMPTS):
        paths = storage.list(request.partition).column("path").to_pylist()
        logs = log_versions(map(posixpath.basename, paths), request.file_id, request.base_instant)
        behind = {version: name for version, name in logs.items() if version > least}
        own = _command_of(storage, request.partition, behind, data)
        if own is not None:
            return own, len(data)  # of a run of this rollback that died
        version = max(least, *logs, 0) + 1
        name = f".{request.file_id}_{request.base_instant}.log.{version}_{_COMMAND_TOKEN}"
        try:
            storage.create_if_absent(data_file_path(request.partition, name), data)
        except PathExistsError:
            continue  # another rollback's command: the next version
        return name, len(data)
    raise WriteError("no log version is free for a rollback", path=storage.uri(request.partition), instant=instant)


def _command_of(storage: Storage, partition: str, logs: Mapping[int, str], data: bytes) -> str | None:
    """The log file among those of a slice that is just this command."""
    for name in logs.values():
        path = posixpath.join(partition, name)
        if name.endswith(f"_{_COMMAND_TOKEN}") and storage.size(path) == len(data) and storage.read_bytes(path) == data:
            return name
    return None
