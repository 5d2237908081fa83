"""Manifests: what an attempt has written, with a text form for the driver.

An attempt whose manifest never arrives, because it failed or because another attempt at the same task was faster, has
written nothing that counts: its files stay in its own staging folder.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Self

from hudi_hive.errors import GroupRevisitedError, MutationError
from hudi_hive.mutation.core import decode_text, encode_text

MANIFEST_TAG: Final = "HudiHiveMutationManifestV1:"
"""What the text form begins with."""


@dataclass(frozen=True, slots=True)
class BucketFiles:
    """The files of one partition and bucket.

    Args:
        partition: a value for each partition key; None is Hive's default partition.
        bucket: number of the bucket.
        statement: number of the statement, part of the folder's name.
        inserts: rows inserted.
        updates: rows updated: a delete and an insert each.
        deletes: rows deleted.
        delta: path of the file with the inserted rows, relative to the table's location; empty without any.
        delete_delta: path of the file with the identifiers of deleted rows; empty without any.
    """

    partition: tuple[str | None, ...]
    bucket: int
    statement: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    delta: str = ""
    delete_delta: str = ""


@dataclass(frozen=True, slots=True)
class MutationManifest:
    """The manifest of one attempt at a task: the files that it has written.

    Args:
        table: ``database.table``.
        write_id: the table's write id of the transaction.
        attempt: name of the attempt.
        groups: its files by partition and bucket.
    """

    table: str
    write_id: int
    attempt: str
    groups: tuple[BucketFiles, ...]

    @property
    def rows(self) -> int:
        """Number of inserted, updated and deleted rows."""
        return sum(group.inserts + group.updates + group.deletes for group in self.groups)

    def encode(self) -> str:
        """Encode as text."""
        return encode_text(MANIFEST_TAG, self)

    @classmethod
    def decode(cls, text: str) -> Self:
        """Decode the text form of a manifest.

        Raises:
            MutationError: no such text.
        """
        return decode_text(MANIFEST_TAG, text, "manifest", "of a mutation", cls._from_json)

    @classmethod
    def _from_json(cls, values: dict[str, Any]) -> Self:
        groups = tuple(
            BucketFiles(**{**group, "partition": tuple(group["partition"])}) for group in values.pop("groups")
        )
        made = cls(**values, groups=groups)
        if not (isinstance(made.table, str) and isinstance(made.attempt, str) and isinstance(made.write_id, int)):
            raise ValueError("a field of another type")
        return made


def check_manifests(
    manifests: Iterable[MutationManifest], table: str, write_id: int
) -> tuple[tuple[str, BucketFiles], ...]:
    """Check that manifests are of one transaction and have no file in common; returns their files with the attempts.

    Args:
        manifests: one for each task.
        table: ``database.table`` that they must be of.
        write_id: that they must have.

    Raises:
        MutationError: a manifest of another table or transaction.
        GroupRevisitedError: two tasks, or two attempts at one task, wrote the same partition, bucket and statement.
    """
    seen: dict[tuple[tuple[str | None, ...], int, int], str] = {}
    files: list[tuple[str, BucketFiles]] = []
    for manifest in manifests:
        if (manifest.table, manifest.write_id) != (table, write_id):
            raise MutationError(
                f"a manifest of {manifest.table}, write id {manifest.write_id}, is none of {table}, {write_id}",
                remedy="give workers the tables of this transaction",
            )
        for group in manifest.groups:
            key = (group.partition, group.bucket, group.statement)
            if key in seen:
                raise GroupRevisitedError(
                    f"bucket {group.bucket} of partition {group.partition} of {table} was written by two attempts, "
                    f"{seen[key]} and {manifest.attempt}",
                    remedy="give all rows of a partition and bucket to one task, and count one attempt at each task",
                )
            seen[key] = manifest.attempt
            files.append((manifest.attempt, group))
    return tuple(files)
