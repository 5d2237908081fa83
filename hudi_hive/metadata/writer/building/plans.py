"""Ends pending indexings: completes those whose partitions are there, and drops what others left.

Source: docs/format.md#metadata-timeline, RFC-45.
"""

from __future__ import annotations

from collections.abc import Sequence

from hudi_hive.metadata.reader import METADATA_FOLDER, last_write_time
from hudi_hive.metadata.writer import initialise as init
from hudi_hive.metadata.writer.state import PlannedBuild, listed_partitions
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.core import InstantClock, TimelineWriter
from hudi_hive.timeline.instants import INDEXING
from hudi_hive.timeline.payloads import IndexPlan, encode_index_commit


def complete_build(client: MetaClient, instant: Instant, partitions: Sequence[str], clock: InstantClock) -> Instant:
    """Complete an indexing whose partitions are listed as complete; called under the table's lock.

    Args:
        client: the table.
        instant: the indexing, pending.
        partitions: what it has built.
        clock: draws the completion time.
    """
    writer, layout = TimelineWriter(client.storage, client.config), client.config.layout
    if instant.state is State.REQUESTED:
        writer.transition_inflight(INDEXING, instant.requested)
    payload = encode_index_commit(IndexPlan(tuple(partitions), last_write_time(client.timeline)), layout)
    completion = clock.completion_time(client.timeline, instant.requested, client.config.timezone)
    return writer.complete(INDEXING, instant.requested, payload, completion if layout == 2 else None, just_seen=True)


def drop_build(client: MetaClient, build: PlannedBuild, clock: InstantClock) -> MetaClient:
    """End an indexing that nobody is at; called under the table's lock.

    Partitions that are complete stay, and the indexing is completed if all of them are. Others go, and it goes with
    them: behind them, so that a death on the way leaves a plan of partitions that are not listed.

    Args:
        client: the table.
        build: the indexing.
        clock: draws the completion time.

    Returns:
        The table behind it, with its timeline as it was.
    """
    complete = set(client.config.metadata_partitions)
    left = [name for name in build.plan.partitions if name not in complete]
    if build.plan.partitions and not left:
        complete_build(client, build.instant, build.plan.partitions, clock)
        return client
    if any(name in listed_partitions(client) for name in left):
        client = init.drop_partitions(client, left)
    delete_strays(client, left)
    TimelineWriter(client.storage, client.config).delete(build.instant)
    return client


def delete_strays(client: MetaClient, names: Sequence[str]) -> None:
    """Delete what a build wrote of partitions behind the moment when others dropped them, under the table's lock."""
    for name in sorted(set(names) - listed_partitions(client)):
        client.storage.delete_tree(f"{METADATA_FOLDER}/{name}")
