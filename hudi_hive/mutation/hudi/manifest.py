"""What an attempt has staged for a Hudi table, as a value that travels from a worker to the driver as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Self

from hudi_hive.errors import GroupRevisitedError, MutationError

MARK: Final = "HudiHiveHudiManifestV1:"
"""What the text form begins with."""


@dataclass(frozen=True, slots=True)
class HudiManifest:
    """All that one attempt has staged.

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
        """Mutated rows: inserted, updated and deleted ones."""
        return self.inserts + self.updates + self.deletes

    def encode(self) -> str:
        """The text form."""
        return MARK + json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)

    @classmethod
    def decode(cls, text: str) -> Self:
        """The manifest of a text form.

        Raises:
            MutationError: no such text.
        """
        if not text.startswith(MARK):
            raise MutationError(f"no manifest of a Hudi mutation: the text does not begin with {MARK}")
        try:
            values: dict[str, Any] = json.loads(text[len(MARK) :])
            made = cls(**values)
            kinds = {field.name: int if isinstance(field.default, int) else str for field in fields(cls)}
            if not all(type(getattr(made, name)) is kind for name, kind in kinds.items()):
                raise ValueError("a field of another type")
            return made
        except (ValueError, TypeError) as error:
            raise MutationError(f"the text of a manifest cannot be read: {error}") from error


def check_manifests(known: Sequence[HudiManifest], more: Iterable[HudiManifest], table: str, instant: str) -> None:
    """Refuse manifests that a transaction cannot count.

    Raises:
        MutationError: a manifest of another table or transaction.
        GroupRevisitedError: one that was counted before.
    """
    attempts = {manifest.attempt for manifest in known}
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
