"""Manifests of Hudi mutations: what an attempt has staged, with a text form for the driver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from hudi_hive.errors import GroupRevisitedError, MutationError
from hudi_hive.mutation.core import decode_text, encode_text

HUDI_MANIFEST_TAG: Final = "HudiHiveHudiManifestV1:"
"""What the text form begins with."""


@dataclass(frozen=True, slots=True)
class HudiManifest:
    """The manifest of one attempt: the records that it has staged.

    Args:
        table: URI of the table's base path.
        instant: requested time of the transaction's write.
        attempt: name of the attempt.
        path: the staged file relative to the base path; empty without any records.
        size: its bytes.
        inserts, updates, deletes: numbers of records.
    """

    table: str
    instant: str
    attempt: str
    path: str = ""
    size: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0

    @property
    def rows(self) -> int:
        """Number of inserted, updated and deleted rows."""
        return self.inserts + self.updates + self.deletes

    def encode(self) -> str:
        """Encode as text."""
        return encode_text(HUDI_MANIFEST_TAG, self)

    @classmethod
    def decode(cls, text: str) -> Self:
        """Decode the text form of a manifest.

        Raises:
            MutationError: no such text.
        """
        return decode_text(HUDI_MANIFEST_TAG, text, "manifest", "of a Hudi mutation", cls._from_json)

    @classmethod
    def _from_json(cls, values: dict[str, Any]) -> Self:
        made = cls(**values)
        kinds = {field.name: int if isinstance(field.default, int) else str for field in fields(cls)}
        if not all(type(getattr(made, name)) is kind for name, kind in kinds.items()):
            raise ValueError("a field of another type")
        return made


def check_manifests(accepted: Sequence[HudiManifest], more: Iterable[HudiManifest], table: str, instant: str) -> None:
    """Refuse manifests that a transaction cannot accept.

    Raises:
        MutationError: a manifest of another table or transaction.
        GroupRevisitedError: one that was counted before.
    """
    attempts = {manifest.attempt for manifest in accepted}
    for manifest in more:
        if (manifest.table, manifest.instant) != (table, instant):
            raise MutationError(
                f"a manifest of {manifest.table}, instant {manifest.instant}, is none of {table}, {instant}",
                remedy="give workers the table of this transaction",
            )
        if manifest.attempt in attempts:
            raise GroupRevisitedError(
                f"attempt {manifest.attempt} is counted already", path=table, remedy="count one attempt at each task"
            )
        attempts.add(manifest.attempt)
