"""Lifetime of partitions: deletes those whose newest commit, or whose creation, is too long ago (RFC-65).

The deletion is a replacecommit of the operation ``DELETE_PARTITION``; cleans delete the files later. What Hudi reads
from the base files of a partition is read from its log files too: a partition that was only just updated stays.

Source: RFC-65, Hudi's ``KeepByTimeStrategy`` and ``KeepByCreationTimeStrategy``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import PathNotFoundError, UnsupportedTableError
from hudi_hive.formats import parse_properties
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.keys import PARTITION_METAFILES
from hudi_hive.table.view import parse_file_names
from hudi_hive.timeline import Instant
from hudi_hive.timeline.instants import COMPLETED_WRITE_ACTIONS, REPLACE_COMMIT, millis_to_instant
from hudi_hive.write.commit import WriteTransaction
from hudi_hive.write.coordination import COMMIT, LocalExecutor, TableLock
from hudi_hive.write.files import joined
from hudi_hive.write.index import renew_hashing
from hudi_hive.write.options import Operation, TtlSettings, WriteConfig
from hudi_hive.write.records import KeyedRecords
from hudi_hive.write.service_base import ServiceContext, refuse_pending_restore, refuse_pending_undo
from hudi_hive.write.services.compaction import busy_groups

_log = logging.getLogger(__name__)

_DAY_MS: Final = 86_400_000
_DIGITS: Final = 17
_FIRST_DATE: Final = 19_700_101_000_000_000
"""Instants before it are the fixed ones of bootstraps, which do not tell when their partitions were made."""


@dataclass(frozen=True)
class ExpiredPartitions:
    """Partitions that were deleted.

    Attributes:
        instant: the completed replacecommit.
        partitions: their paths, the oldest first.
    """

    instant: Instant
    partitions: tuple[str, ...]


@dataclass
class _Expired:
    """What is to be deleted by the table as it is under the lock: file ids by partition."""

    groups: dict[str, list[str]] = field(default_factory=dict)


class _NothingExpiredError(Exception):
    """The partitions that had expired were written or deleted meanwhile."""


def check_lifetimes(client: MetaClient, settings: TtlSettings) -> None:
    """Refuse to delete expired partitions where there is no lifetime or where there are no partitions.

    Raises:
        InvalidOptionError: no number of days is given.
        UnsupportedTableError: the table has no partitions.
    """
    settings.check()
    if not client.config.is_partitioned:
        raise UnsupportedTableError(
            "partitions expire, and this table has none",
            path=client.base_path,
            remedy="leave hoodie.partition.ttl.* out, and delete rows",
        )


def expire_partitions(context: ServiceContext, *, now_ms: int | None = None) -> ExpiredPartitions | None:
    """Delete the partitions that have expired by ``hoodie.partition.ttl.*``; None without any.

    Partitions under a pending compaction or clustering stay until that is done. Of a table with pending writes, those
    that complete first win: the deletion is then refused by a conflict.

    Args:
        context: the table as it is; its lock must not be held.
        now_ms: milliseconds since the epoch; this machine's clock without it.

    Raises:
        InvalidOptionError: no number of days is given.
        UnsupportedTableError: the table has no partitions.
        WriteConflictError: another writer wrote to such a partition and completed first.
        LockTimeoutError: the table is locked by another writer.
    """
    config = WriteConfig.of(context.options, context.client.config)
    check_lifetimes(context.client, config.ttl)
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    if not _expired_partitions(context.client, config.ttl, now_ms):
        return None
    expired = _Expired()
    lock = context.lock()
    transaction = WriteTransaction(
        context.client,
        config.with_operation(Operation.DELETE_PARTITION),
        action=REPLACE_COMMIT,
        operation=Operation.DELETE_PARTITION.commit_name,
        executor=context.executor,
        lock=lock if isinstance(lock, TableLock) else None,
        clock=context.clock,
        precondition=partial(_look_again, context, expired, config.ttl, now_ms),
    )
    try:
        with transaction:
            schema = KeyedRecords.of_table(transaction.client).schema_text
            renew_hashing(transaction.client, expired.groups, transaction.instant)
            with transaction.standing():
                transaction.commit(
                    joined([]), schema=schema, replaced=expired.groups, overwrites=frozenset(expired.groups)
                )
    except _NothingExpiredError:
        return None
    assert transaction.completed is not None
    context.failed.update({f"{COMMIT} of the deletion: {step}": why for step, why in transaction.failed.items()})
    return ExpiredPartitions(transaction.completed, tuple(expired.groups))


def _look_again(
    context: ServiceContext, expired: _Expired, settings: TtlSettings, now_ms: int, client: MetaClient
) -> None:
    """Under the lock: what has expired by the table as it is, before the deletion is announced."""
    refuse_pending_restore(client)
    refuse_pending_undo(replace(context, client=client))
    expired.groups = _expired_partitions(client, settings, now_ms)
    if not expired.groups:
        raise _NothingExpiredError


def _expired_partitions(client: MetaClient, settings: TtlSettings, now_ms: int) -> dict[str, list[str]]:
    """The file ids of the partitions that have expired, the oldest first and not more than are deleted at once.

    Args:
        client: the table.
        settings: the lifetime.
        now_ms: milliseconds since the epoch.
    """
    cutoff = millis_to_instant(now_ms - settings.days * _DAY_MS, client.config.timezone)
    paths = client.partition_paths()
    if settings.partitions:
        chosen = {path.strip("/") for path in settings.partitions}
        paths = [path for path in paths if path in chosen]
    slices = client.file_system_view(paths).latest_file_slices()
    ages = _created(client, slices) if settings.by_creation else _newest(slices)
    ages = ages.filter(pc.and_(pc.less(ages["time"], _number(cutoff)), pc.greater(ages["time"], _FIRST_DATE)))
    ages = ages.sort_by([("time", "ascending"), ("partition", "ascending")])
    kept = {partition for partition, _ in busy_groups(client)}
    if ages.num_rows and not settings.by_creation:
        kept |= _logged_since(client, cutoff)
    oldest = [path for path in ages["partition"].to_pylist() if path not in kept][: settings.most]
    groups: dict[str, list[str]] = {path: [] for path in oldest}
    slices = slices.filter(pc.is_in(slices["partition"], value_set=pa.array(oldest, pa.string())))
    for path, file_id in zip(slices["partition"].to_pylist(), slices["file_id"].to_pylist(), strict=True):
        groups[path].append(file_id)
    return groups


def _numbers(instants: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Instants as numbers of 17 digits, in their order."""
    padded = pc.utf8_rpad(instants.cast(pa.string()), width=_DIGITS, padding="0")
    return pc.utf8_slice_codeunits(padded, 0, _DIGITS).cast(pa.int64())


def _number(instant: str) -> int:
    return int(instant.ljust(_DIGITS, "0")[:_DIGITS])


def _newest(slices: pa.Table) -> pa.Table:
    """The newest instant in the names of each partition's files: ``partition``, ``time``.

    A partition with files of a bootstrap is of no age, unless it was written since.
    """
    tables = [pa.table({"partition": slices["partition"], "time": _numbers(slices["base_instant"])})]
    logs = slices["log_files"].combine_chunks()
    names = pc.list_flatten(logs)
    parts = parse_file_names(names)
    partitions = slices["partition"].take(pc.list_parent_indices(logs))
    tables.append(pa.table({"partition": partitions, "time": _numbers(parts["instant"])}))
    newest = pa.concat_tables(tables).group_by("partition").aggregate([("time", "max")])
    return newest.rename_columns(["partition", "time"])


def _logged_since(client: MetaClient, cutoff: str) -> set[str]:
    """Partitions that were written since a time, where the names of log files do not tell.

    In layout 1 a log file is named after its base file, whenever it was written.
    """
    if client.config.layout != 1 or not client.config.is_merge_on_read:
        return set()
    timeline = client.timeline
    instants = list(timeline.write_instants())
    if all(instant.requested >= cutoff for instant in instants):
        archived = timeline.archived().instants
        instants += [one for one in archived if one.is_completed and one.action in COMPLETED_WRITE_ACTIONS]
    written: set[str] = set()
    for instant in instants:
        if instant.requested >= cutoff:
            written.update(pc.unique(timeline.commit_metadata(instant).write_stats["partition"]).to_pylist())
    return written


def _created(client: MetaClient, slices: pa.Table) -> pa.Table:
    """When each partition was made, as the file in it says: ``partition``, ``time``; without those that say nothing."""
    paths: Sequence[str] = pc.unique(slices["partition"]).to_pylist()
    times = LocalExecutor(title="looking for old partitions").map(partial(_creation_time, client.storage), paths)
    schema = pa.schema([("partition", pa.string()), ("time", pa.string())])
    table = pa.table([pa.array(paths, pa.string()), pa.array(times, pa.string())], schema=schema)
    table = table.filter(pc.is_valid(table["time"]))
    return pa.table({"partition": table["partition"], "time": _numbers(table["time"])})


def _creation_time(storage: Storage, path: str) -> str | None:
    name = f"{path}/{PARTITION_METAFILES[0]}"
    try:
        instant = parse_properties(storage.read_bytes(name), path=name).get("commitTime", "")
    except PathNotFoundError:  # other formats of this file do not tell here, and such partitions stay
        _log.info("%s: the partition does not tell when it was made, and stays", storage.uri(path))
        return None
    return instant if instant.isdigit() and len(instant) >= 14 else None


__all__ = ["ExpiredPartitions", "check_lifetimes", "expire_partitions"]
