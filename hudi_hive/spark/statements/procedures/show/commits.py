"""Procedures about commits: what each wrote, by commit, partition and file.

Source: Hudi's ``ShowCommitsProcedure``, ``HoodieCommitMetadata``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow.compute as pc

from hudi_hive.spark.statements.procedures.base import PATH, TABLE, Call, Parameter, Procedure, Rows, limited
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant

NEW_FILE: Final = "null"
"""The previous commit in the write stat of a new file."""

_LIMIT: Final = Parameter("limit", "int", default=10)


def newest_commits(client: MetaClient) -> list[Instant]:
    """Completed commits, deltacommits and replacecommits, the newest first."""
    return sorted(client.timeline.write_instants(), key=lambda one: one.sort_key, reverse=True)


def _totals(client: MetaClient, instant: Instant) -> list[Any]:
    stats = client.timeline.commit_metadata(instant).write_stats

    def total(name: str) -> int:
        return int(pc.sum(pc.fill_null(stats.column(name), 0)).as_py() or 0)

    updated = pc.sum(pc.fill_null(pc.not_equal(stats.column("prev_commit"), NEW_FILE), False)).as_py() or 0
    added = pc.sum(pc.fill_null(pc.equal(stats.column("prev_commit"), NEW_FILE), False)).as_py() or 0
    partitions = len(client.timeline.commit_metadata(instant).partitions_written())
    return [total("bytes_written"), added, updated, partitions, total("num_writes"), total("num_updates")]


def _commits(call: Call) -> Iterator[list[Any]]:
    client = call.client
    for instant in newest_commits(client):
        errors = pc.sum(client.timeline.commit_metadata(instant).write_stats.column("num_errors")).as_py() or 0
        totals = _totals(client, instant)
        yield [instant.requested, instant.completed, instant.action, *totals, errors]


def _show_commits(call: Call) -> Rows:
    return limited(call, _commits(call))


COMMIT_PROCEDURES: Final = (
    Procedure(
        "show_commits",
        "commit_time string, state_transition_time string, action string, total_bytes_written bigint, "
        "total_files_added bigint, total_files_updated bigint, total_partitions_written bigint, "
        "total_records_written bigint, total_update_records_written bigint, total_errors bigint",
        _show_commits,
        (TABLE, _LIMIT, PATH),
        "Completed commits, the newest first, with what they wrote.",
    ),
)
