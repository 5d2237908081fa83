"""Clustering under consistent hashing: which buckets are split, merged or written anew, and how their rows are parted.

Every bucket of a partition is in the plan: those that are too large are split, small ones in a row merged, and the rest
written anew as they are, as Hudi plans it. The plan says of each input group which buckets come of it; the run writes
their file groups, and metadata by which rows are found there once the commit is complete.

Source: docs/format.md#consistent-hashing, ``BaseConsistentHashingBucketClusteringPlanStrategy``.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from hudi_hive.errors import UnsupportedTableError, WriteConflictError, WriteError
from hudi_hive.formats.hash import string_hashes
from hudi_hive.options import buckets as declared
from hudi_hive.options.write import INDEX_TYPE
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import DELTA_COMMIT
from hudi_hive.timeline.payloads import CLUSTERING_SCHEMA, ClusteringPlan
from hudi_hive.write.index import (
    DELETE,
    REPLACE,
    HashingMetadata,
    HashingNode,
    decode_nodes,
    encode_nodes,
    load_hashing,
    new_prefix,
    save_hashing,
)
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.services.clustering_plan import (
    InputGroups,
    chosen_partitions,
    clusterings,
    group_metrics,
    untouched,
)
from hudi_hive.write.services.compaction import busy_groups

_log = logging.getLogger(__name__)

_PARTITION: Final = "clustering.group.partition"
_NODES: Final = "clustering.group.child.node"
_SEQUENCE: Final = "clustering.group.sequence.no"
_LEAST_SLOTS: Final = 16


@dataclass(frozen=True, slots=True)
class _Bucket:
    """A bucket that has rows: its node, its slice, and the slice's bytes."""

    node: HashingNode
    slice: Mapping[str, Any]
    size: int


@dataclass(frozen=True, slots=True)
class _Resized:
    """One input group: the buckets that it takes, and what becomes of their nodes."""

    buckets: Sequence[_Bucket]
    children: tuple[HashingNode, ...]


# -- planning --------------------------------------------------------------------------------------------------------


def is_resizing(plan: ClusteringPlan) -> bool:
    """Whether a clustering is one of consistent hashing."""
    return (plan.strategy or "").rpartition(".")[2] in declared.CONSISTENT_EXECUTIONS


def resized_buckets(client: MetaClient, config: WriteConfig, named: Sequence[str] | None = None) -> InputGroups:
    """The input groups of a clustering under consistent hashing; none while a write is pending.

    Args:
        client: the table.
        config: options of clustering and of the index.
        named: partitions in place of those that the options name.

    Raises:
        UnsupportedTableError: a partition has file groups that are of no bucket.
        CorruptFileError: the metadata of a partition cannot be decoded.
    """
    settings = config.clustering
    pending = client.timeline.pending({DELTA_COMMIT})
    if pending:
        _log.warning("%s: no buckets are resized beside the write %s", client.base_path, pending[0].requested)
        return InputGroups(CLUSTERING_SCHEMA.empty_table(), (), ())
    at_work = set(client.timeline.pending_clustering()["partition"].to_pylist())
    clustered = clusterings(client) if settings.incremental else frozenset()
    paths = chosen_partitions(client, settings, named)
    resized: list[tuple[HashingMetadata, _Resized]] = []
    for path in client.partition_paths() if paths is None else paths:
        if path in at_work:
            continue  # one after the other, as each resizing goes by the metadata of the one before
        ring, buckets = _buckets_of(client, path)
        if ring is not None and not untouched((bucket.slice for bucket in buckets), clustered):
            resized += [(ring, one) for one in _resized(ring, buckets, config)[: settings.max_groups]]
    return _input_groups(resized[: settings.max_groups])


def _buckets_of(client: MetaClient, partition: str) -> tuple[HashingMetadata | None, list[_Bucket]]:
    view = client.file_system_view([partition])
    slices = view.latest_merged_file_slices().to_pylist()
    if not slices:
        return None, []
    ring = load_hashing(client, partition, marks=True)
    if ring is None:
        raise UnsupportedTableError(
            f"partition {partition!r} has no metadata of consistent hashing",
            path=client.base_path,
            remedy="give the index that the table was written with",
        )
    busy = busy_groups(client)
    buckets = []
    for row in slices:
        node = ring.by_file_id.get(row["file_id"])
        if node is None:
            raise UnsupportedTableError(
                f"file group {row['file_id']} in partition {partition!r} is of no bucket of consistent hashing",
                path=client.base_path,
                instant=ring.instant,
                remedy="give the index that the table was written with",
            )
        if (partition, row["file_id"]) not in busy:
            buckets.append(_Bucket(node, row, (row["base_size"] or 0) + sum(row["log_sizes"])))
    all_slices = view.file_slices().select(["file_id", "base_file"]).to_pylist()
    ids = {row["file_id"] for row in all_slices}
    bases = {row["file_id"] for row in all_slices if row["base_file"]}
    return ring, _in_order(buckets, len(bases), len(ids))


def _in_order(buckets: list[_Bucket], bases: int, groups: int) -> list[_Bucket]:
    """Buckets in the order in which Hudi goes through them, that of a Java hash set of their file ids.

    The order decides which are split where not all may be.

    Args:
        buckets: in any order.
        bases: how many file groups of the partition have base files.
        groups: how many there are.
    """
    slots = _LEAST_SLOTS
    while slots < bases / 0.75 + 1 or groups > 0.75 * slots:
        slots *= 2
    texts = pa.array([bucket.node.file_id for bucket in buckets], pa.string())
    hashes = [hashed % (1 << 32) for hashed in string_hashes(texts).tolist()]
    spread = [hashed ^ (hashed >> 16) for hashed in hashes]
    order = sorted(range(len(buckets)), key=lambda at: (spread[at] % slots, buckets[at].node.file_id))
    return [buckets[at] for at in order]


def _resized(ring: HashingMetadata, buckets: list[_Bucket], config: WriteConfig) -> list[_Resized]:
    """What becomes of the buckets of a partition: the split ones, the merged ones, and the rest."""
    index, size = config.index, config.files.max_file_size
    room = index.most_buckets - len(ring.nodes)
    split, rest = _split(ring, buckets, room, int(size * index.split_threshold))
    spare = len(ring.nodes) - index.fewest_buckets + len(split)
    merged, rest = _merged(ring, rest, spare, int(size * index.merge_threshold))
    written_anew = [_Resized([one], (HashingNode(one.node.value, new_prefix(), REPLACE),)) for one in rest]
    return [*split, *merged, *written_anew]


def _split(
    ring: HashingMetadata, buckets: Sequence[_Bucket], room: int, limit: int
) -> tuple[list[_Resized], list[_Bucket]]:
    """Buckets above a size, as many as there is room for, in two; and the others."""
    split: list[_Resized] = []
    rest: list[_Bucket] = []
    for bucket in buckets:
        children = ring.split(bucket.node) if bucket.size > limit and len(split) < room else ()
        if children:
            split.append(_Resized([bucket], children))
        else:
            rest.append(bucket)
    return split, rest


def _merged(
    ring: HashingMetadata, buckets: Sequence[_Bucket], spare: int, limit: int
) -> tuple[list[_Resized], list[_Bucket]]:
    """Rows of small neighbours as one bucket, as long as enough buckets stay; and the others, by their values."""
    buckets = sorted(buckets, key=lambda bucket: bucket.node.value)
    merged: list[_Resized] = []
    taken: set[int] = set()
    for start in range(len(buckets)):
        row = _neighbours(ring, buckets, start, taken, spare, limit)
        if len(row) > 1:
            taken.update(row)
            spare -= len(row) - 1
            own = [buckets[at] for at in row]
            merged.append(_Resized(own, ring.merged([bucket.node for bucket in own])))
    return merged, [bucket for at, bucket in enumerate(buckets) if at not in taken]


def _neighbours(
    ring: HashingMetadata, buckets: Sequence[_Bucket], start: int, taken: set[int], spare: int, limit: int
) -> list[int]:
    """The buckets in a row around one that become one, in their order on the ring.

    Those before it are joined first, then those behind it: each is no larger than the limit, and so is what is joined
    before each of them.
    """
    if start in taken or buckets[start].size > limit:
        return []
    row, size = [start], buckets[start].size
    for forward in (False, True):
        while len(row) - 1 < spare and size <= limit:
            end = row[-1] if forward else row[0]
            following = (end + (1 if forward else -1)) % len(buckets)
            node = buckets[end].node
            expected = ring.after(node) if forward else ring.before(node)
            fits = buckets[following].node == expected and buckets[following].size <= limit
            if following in taken or following in row or not fits:
                break
            row.insert(len(row) if forward else 0, following)
            size += buckets[following].size
    return row


def _input_groups(resized: Sequence[tuple[HashingMetadata, _Resized]]) -> InputGroups:
    rows: list[dict[str, Any]] = []
    for number, (_, one) in enumerate(resized):
        rows += [{**bucket.slice, "group": number} for bucket in one.buckets]
    table = pa.Table.from_pylist([{k: row[k] for k in CLUSTERING_SCHEMA.names} for row in rows], CLUSTERING_SCHEMA)
    return InputGroups(
        table,
        tuple(sum(node.tag != DELETE for node in one.children) for _, one in resized),
        tuple(group_metrics([bucket.slice for bucket in one.buckets]) for _, one in resized),
        tuple(
            {
                _PARTITION: ring.partition,
                _NODES: encode_nodes(one.children),
                _SEQUENCE: str(ring.sequence),
            }
            for ring, one in resized
        ),
    )


# -- running ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BucketTargets:
    """Where the rows of an input group go.

    Attributes:
        ring: of the partition, with the buckets that come of the group.
        file_ids: of these buckets.
    """

    ring: HashingMetadata
    file_ids: tuple[str, ...]


def check_resizing(client: MetaClient, plan: ClusteringPlan, config: WriteConfig) -> None:
    """Refuse a resizing that cannot be run, before anything of it is written.

    Args:
        client: the table.
        plan: of a clustering of consistent hashing, by any writer.
        config: of the run; tables do not tell what their rows are hashed by.

    Raises:
        UnsupportedTableError: the options name another index.
        WriteError: a group does not say which buckets come of it.
        WriteConflictError: the buckets are others since it was planned.
    """
    if not config.index.hashes_consistently:
        raise UnsupportedTableError(
            f"clusterings of the strategy {plan.strategy} are run with {declared.BUCKET_ENGINE}="
            f"{declared.CONSISTENT_HASHING} alone",
            path=client.base_path,
            instant=plan.instant.requested,
            remedy=f"give {INDEX_TYPE}=BUCKET, and {declared.BUCKET_FIELDS} if it is not the key",
        )
    bucket_targets(client, plan)


def bucket_targets(client: MetaClient, plan: ClusteringPlan) -> list[BucketTargets]:
    """The targets of each input group of a plan; errors as of :func:`check_resizing`."""
    next_rings = {ring.partition: ring for ring in _next_rings(client, plan)}
    targets = []
    for number, extra in enumerate(plan.group_extra):
        children = _children(client, plan, number, extra)
        made = tuple(node.file_id for node in children if node.tag != DELETE)
        targets.append(BucketTargets(next_rings[extra[_PARTITION]], made))
    return targets


def save_resized(client: MetaClient, plan: ClusteringPlan) -> list[str]:
    """Write the metadata by which rows are found once the clustering is complete; errors as of :func:`check_resizing`.

    Returns:
        The partitions.
    """
    rings = _next_rings(client, plan)
    for ring in rings:
        save_hashing(client.storage, ring)
    return [ring.partition for ring in rings]


def _next_rings(client: MetaClient, plan: ClusteringPlan) -> list[HashingMetadata]:
    children: dict[str, list[HashingNode]] = defaultdict(list)
    sequences: dict[str, str] = {}
    groups = set(plan.slices["group"].to_pylist())
    for number, extra in enumerate(plan.group_extra):
        if number in groups:
            children[extra[_PARTITION]].extend(_children(client, plan, number, extra))
            sequences[extra[_PARTITION]] = extra.get(_SEQUENCE, "")
    rings = []
    for partition, own in children.items():
        ring = load_hashing(client, partition)
        if ring is None or str(ring.sequence) != sequences[partition]:
            raise WriteConflictError(
                f"the buckets of partition {partition!r} are others since the clustering was planned",
                path=client.base_path,
                instant=plan.instant.requested,
                remedy="roll it back, and plan it again",
            )
        rings.append(ring.resized(own, plan.instant.requested))
    return rings


def _children(
    client: MetaClient, plan: ClusteringPlan, number: int, extra: Mapping[str, str]
) -> tuple[HashingNode, ...]:
    try:
        if _PARTITION in extra:
            return decode_nodes(extra[_NODES])
    except (KeyError, ValueError):
        pass
    raise WriteError(
        f"input group {number} of a clustering of buckets does not say which buckets come of it",
        path=client.base_path,
        instant=plan.instant.requested,
        remedy="roll it back, and plan it again",
    )
