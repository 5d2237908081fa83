"""What a metadata table is in the middle of: partitions that are listed or built, taken instants, merged commits."""

from __future__ import annotations

from typing import Final, NamedTuple

from hudi_hive.metadata.reader import METADATA_FOLDER
from hudi_hive.metadata.writer.initialise import COMPLETE_PARTITIONS, INFLIGHT_PARTITIONS
from hudi_hive.metadata.writer.store import MetadataStore
from hudi_hive.table import MetaClient
from hudi_hive.table.keys import PARTITION_METAFILE
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.core import TimelineWriter
from hudi_hive.timeline.instants import DELTA_COMMIT, INDEXING
from hudi_hive.timeline.payloads import Fields, IndexPlan, decode_index_plan, decode_payload

_ROLLBACK_SUFFIX: Final = 6


class PlannedBuild(NamedTuple):
    """A pending indexing of the table.

    Attributes:
        instant: requested or inflight.
        plan: the partitions of the metadata table that it builds.
    """

    instant: Instant
    plan: IndexPlan


def free_instant(store: MetadataStore, instant: str) -> str:
    """The instant, or, where an earlier attempt has it, one behind it."""
    taken = {done.requested for done in store.client.timeline.instants}
    numbered = (f"{instant}{number:03d}" for number in range(_ROLLBACK_SUFFIX, 1000))
    return instant if instant not in taken else next(other for other in numbered if other not in taken)


def is_merged(store: MetadataStore, completed: str) -> bool:
    """Whether a compaction of the metadata table came after a delta commit."""
    commits = [i for i in store.client.timeline.instants if i.action in ("commit", "compaction", "logcompaction")]
    return any(commit.requested > completed for commit in commits)


def is_made_behind(store: MetadataStore, partition: str, done: Instant) -> bool:
    """Whether a partition was made of files behind a completed delta commit, so that its first records tell of that.

    A partition that a compaction has merged since is looked at by :func:`is_merged`.

    Args:
        store: the metadata table.
        partition: its partition.
        done: the delta commit, completed.
    """
    first = {group.base_instant for group in store.groups(partition)}
    if store.config.layout == 1:
        return any(len(time) > len(done.requested) and time[: len(done.requested)] >= done.requested for time in first)
    made = [one for one in store.client.timeline.instants if one.action == DELTA_COMMIT and one.requested in first]
    times = [one.completed or "" for one in made]
    return any(time > (done.completed or done.requested) for time in times)


def listed_partitions(client: MetaClient) -> set[str]:
    """Partitions of the metadata table that are complete or being built."""
    return _listed(client, COMPLETE_PARTITIONS) | _listed(client, INFLIGHT_PARTITIONS)


def planned_builds(client: MetaClient) -> list[PlannedBuild]:
    """The pending indexings of a table, oldest first.

    Raises:
        CorruptInstantError: a plan cannot be decoded.
    """
    writer, builds = TimelineWriter(client.storage, client.config), []
    for instant in client.timeline.pending({INDEXING}):
        path = writer.path(INDEXING, instant.requested, State.REQUESTED)
        uri = client.storage.uri(path)
        record = decode_payload(client.storage.read_bytes(path), uri, instant.requested)
        builds.append(PlannedBuild(instant, decode_index_plan(Fields(record or {}, uri, instant.requested))))
    return builds


def partitions_being_built(client: MetaClient) -> frozenset[str]:
    """Partitions that an indexing builds beside the writers, which add to them what their commits change.

    They have file groups, and are listed as inflight. One that is listed so without a plan was left half made.
    """
    inflight = _listed(client, INFLIGHT_PARTITIONS) - _listed(client, COMPLETE_PARTITIONS)
    if not inflight:
        return frozenset()

    def read() -> frozenset[str]:
        planned = {name for build in planned_builds(client) for name in build.plan.partitions}
        return frozenset(name for name in inflight & planned if _has_groups(client, name))

    return client.memoize("partitions being built", read)


def _has_groups(client: MetaClient, name: str) -> bool:
    listing = client.storage.list(f"{METADATA_FOLDER}/{name}", missing_ok=True)
    return any(not path.endswith(PARTITION_METAFILE) for path in listing.column("path").to_pylist())


def _listed(client: MetaClient, key: str) -> set[str]:
    return {name.strip() for name in client.config.properties.get(key, "").split(",") if name.strip()}
