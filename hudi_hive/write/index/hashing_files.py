"""Files of the metadata of consistent hashing: a folder for each partition, a file for each resizing.

A resizing writes its file before it completes, so that a file counts from the moment its instant is complete. Who loads
a partition to write it marks what is complete by an empty ``.commit`` beside it, since instants are archived.

Source: docs/format.md#consistent-hashing, ``ConsistentBucketIndexUtils``.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from hudi_hive.errors import CorruptFileError, PathExistsError, StorageError, UnsupportedTableError
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Timeline
from hudi_hive.write.index.hash_ring import INITIAL, REPLACE, HashingMetadata, HashingNode, new_prefix

_FOLDER: Final = ".hoodie/.bucket_index/consistent_hashing_metadata"
_METADATA: Final = ".hashing_meta"
_COMMITTED: Final = ".commit"


def load_hashing(client: MetaClient, partition: str, *, marks: bool = False) -> HashingMetadata | None:
    """Load the metadata of a partition as it is at the moment of the client.

    Args:
        client: the table.
        partition: its path.
        marks: mark what is complete; of writers alone.

    Returns:
        That of the last complete resizing; None for a partition that has none yet.

    Raises:
        CorruptFileError: a file cannot be decoded.
    """
    storage, folder = client.storage, _folder(partition)
    names = [posixpath.basename(path) for path in storage.list(folder, missing_ok=True)["path"].to_pylist()]
    written = sorted(name.removesuffix(_METADATA) for name in names if name.endswith(_METADATA))
    marked = {name.removesuffix(_COMMITTED) for name in names if name.endswith(_COMMITTED)}
    done = [instant for instant in written if instant in marked or _is_complete(client.timeline, instant)]
    if not done:
        return None
    if marks and done[-1] != INITIAL and done[-1] not in marked:
        last = max(marked, default="")
        mark_hashing(storage, partition, [instant for instant in done if instant not in marked and instant > last])
    path = f"{folder}/{done[-1]}{_METADATA}"
    try:
        return HashingMetadata.decode(storage.read_bytes(path))
    except ValueError as error:
        raise CorruptFileError(
            str(error), path=storage.uri(path), instant=done[-1], remedy="bring the file back from a copy"
        ) from error


def load_or_make_hashing(client: MetaClient, partition: str, buckets: int) -> HashingMetadata:
    """Load the metadata of a partition; write its first one if there is none.

    The first one stays when the write fails, as in Hudi: another writer may go by it already.

    Args:
        client: the table.
        partition: its path.
        buckets: how many buckets a new partition has.

    Raises:
        CorruptFileError: a file cannot be decoded.
        UnsupportedTableError: another writer has made it, and none can be loaded.
    """
    there = load_hashing(client, partition, marks=True)
    if there is not None:
        return there
    made = HashingMetadata.initial(partition, buckets)
    try:
        client.storage.create_if_absent(f"{_folder(partition)}/{INITIAL}{_METADATA}", made.encode())
    except PathExistsError:
        there = load_hashing(client, partition)
        if there is None:
            raise UnsupportedTableError(
                f"the metadata of consistent hashing of partition {partition!r} cannot be loaded",
                path=client.storage.uri(_folder(partition)),
                remedy="write again",
            ) from None
        return there
    return made


def save_hashing(storage: Storage, metadata: HashingMetadata) -> None:
    """Write the metadata of a resizing that is about to complete, in place of what a run that died has written."""
    storage.replace_bytes(f"{_folder(metadata.partition)}/{metadata.instant}{_METADATA}", metadata.encode())


def renew_hashing(client: MetaClient, partitions: Iterable[str], instant: str) -> None:
    """Give the buckets of partitions new file groups, as an instant is about to replace those that they have.

    What is written to a group that was replaced is not read. Hudi, which keeps the groups, loses such rows.

    Args:
        client: the table.
        partitions: their paths; those that are not hashed consistently are passed over.
        instant: requested time of the instant.

    Raises:
        CorruptFileError: the metadata of a partition cannot be decoded.
    """
    if not client.storage.exists(_FOLDER):
        return
    for path in partitions:
        ring = load_hashing(client, path, marks=True)
        if ring is not None:
            nodes = [HashingNode(node.value, new_prefix(), REPLACE) for node in ring.nodes]
            save_hashing(client.storage, ring.resized(nodes, instant))


def mark_hashing(storage: Storage, partition: str, instants: Iterable[str]) -> None:
    """Mark metadata as that of complete resizings; what cannot be marked is known by its instant still."""
    for instant in instants:
        with suppress(PathExistsError, StorageError):
            storage.create_if_absent(f"{_folder(partition)}/{instant}{_COMMITTED}", b"")


def remove_hashing(storage: Storage, instant: str) -> None:
    """Delete what an instant that is rolled back has written of consistent hashing in any partition."""
    listing = storage.list(_FOLDER, recursive=True, missing_ok=True)
    gone = [
        path
        for path in listing["path"].to_pylist()
        if posixpath.basename(path) in (f"{instant}{_METADATA}", f"{instant}{_COMMITTED}")
    ]
    if gone:
        storage.delete_files(gone)


def hashed_partitions(client: MetaClient, partitions: Sequence[str]) -> list[str]:
    """Those of some partitions that are hashed consistently; only merge-on-read tables have such."""
    if not client.config.is_merge_on_read or not client.storage.list(_FOLDER, missing_ok=True).num_rows:
        return []
    return [path for path in partitions if load_hashing(client, path) is not None]


def _folder(partition: str) -> str:
    return f"{_FOLDER}/{partition}" if partition else _FOLDER


def _is_complete(timeline: Timeline, instant: str) -> bool:
    if instant == INITIAL:
        return True
    there = [one for one in timeline.instants if one.requested == instant]
    if there:
        return any(one.is_completed and one.is_write for one in there)
    first = timeline.first_active()
    if first is None or instant > first:
        return False
    return any(one.requested == instant and one.is_completed for one in timeline.archived().instants)
