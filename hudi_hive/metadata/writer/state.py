"""What a metadata table is in the middle of: partitions that are listed, instants that are taken, merged commits."""

from __future__ import annotations

from typing import Final

from hudi_hive.metadata.writer.initialise import COMPLETE_PARTITIONS, INFLIGHT_PARTITIONS
from hudi_hive.metadata.writer.store import MetadataStore
from hudi_hive.table import MetaClient

_ROLLBACK_SUFFIX: Final = 6


def free_instant(store: MetadataStore, instant: str) -> str:
    """The instant, or, where an earlier attempt has it, one behind it."""
    taken = {done.requested for done in store.client.timeline.instants}
    numbered = (f"{instant}{number:03d}" for number in range(_ROLLBACK_SUFFIX, 1000))
    return instant if instant not in taken else next(other for other in numbered if other not in taken)


def is_merged(store: MetadataStore, completed: str) -> bool:
    """Whether a compaction of the metadata table came after a delta commit."""
    commits = [i for i in store.client.timeline.instants if i.action in ("commit", "compaction", "logcompaction")]
    return any(commit.requested > completed for commit in commits)


def listed_partitions(client: MetaClient) -> set[str]:
    """Partitions of the metadata table that are complete or being built."""
    keys = (COMPLETE_PARTITIONS, INFLIGHT_PARTITIONS)
    text = ",".join(client.config.properties.get(key, "") for key in keys)
    return {name.strip() for name in text.split(",") if name.strip()}
