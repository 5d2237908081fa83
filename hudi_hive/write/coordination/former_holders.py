"""Excludes writers that had the table's lock and lost it while their completion was under way.

A write of an object store completes by a copy of its inflight file, which holds the outcome from there on
(:meth:`TimelineWriter.prepare`). It makes that under the lock, and looks whether it still has the lock before it sends
the copy. So who holds the lock and finds such a file has taken the lock from a writer that died, stood still, or waits
for an answer: its copy may be carried out at any later time. Without the file it makes nothing.

Source: docs/format.md#states-and-payloads.
"""

from __future__ import annotations

import logging

from hudi_hive.table import MetaClient
from hudi_hive.timeline.core import TimelineWriter

_log = logging.getLogger(__name__)


def exclude_former_holders(client: MetaClient, instant: str = "") -> MetaClient:
    """Under the table's lock, see to it that nobody completes a write who had the lock before.

    Args:
        client: the table, read under the lock.
        instant: requested time of the caller's own write.

    Returns:
        The table as it is behind that: what was completed meanwhile is on its timeline.
    """
    writer = TimelineWriter(client.storage, client.config)
    while True:
        others = [one for one in client.timeline.filled_inflight_writes() if one.requested != instant]
        others = [one for one in others if writer.is_prepared(one)]
        if not others:
            return client
        for other in others:
            _log.warning("%s: %s lost the table's lock and cannot complete any more", client.base_path, other)
            writer.exclude(other)
        client = client.reload()
