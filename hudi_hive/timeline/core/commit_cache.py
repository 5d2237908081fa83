"""Keeps the metadata of commits that a timeline has read."""

from __future__ import annotations

import threading
from typing import Any, Final

from hudi_hive.timeline.instants import Instant
from hudi_hive.timeline.payloads import CommitMetadata

CACHED_COMMITS: Final = 256
"""Commits whose metadata a timeline keeps at most."""


class CommitCache:
    """Metadata of commits, by instant; of the last ones only, and behind a pickle of those alone that have no file.

    Attributes:
        schema_texts: schemas, as JSON, of all commits so far.
    """

    def __init__(self) -> None:
        self.schema_texts: set[str] = set()
        self._lock = threading.Lock()
        self._commits: dict[Instant, CommitMetadata] = {}
        self._staged: dict[Instant, CommitMetadata] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"schema_texts": self.schema_texts, "staged": self._staged}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.schema_texts, self._staged = state["schema_texts"], state["staged"]

    def get(self, instant: Instant) -> CommitMetadata | None:
        """The metadata of an instant, if it is here."""
        with self._lock:
            return self._staged.get(instant) or self._commits.get(instant)

    def is_staged(self, instant: Instant) -> bool:
        """Whether an instant is one whose file is not there yet."""
        return instant in self._staged

    def add(self, instant: Instant, metadata: CommitMetadata, *, staged: bool = False) -> None:
        """Keep the metadata of an instant.

        Args:
            instant: the instant.
            metadata: of its commit.
            staged: its file is not there yet.
        """
        with self._lock:
            if staged:
                self._staged[instant] = metadata
            else:
                while len(self._commits) >= CACHED_COMMITS:
                    del self._commits[next(iter(self._commits))]
                self._commits[instant] = metadata
            if text := metadata.extra.get("schema"):
                self.schema_texts = self.schema_texts | {text}  # others may go through them

    def all(self) -> dict[Instant, CommitMetadata]:
        """Everything that is here."""
        with self._lock:
            return self._staged | self._commits
