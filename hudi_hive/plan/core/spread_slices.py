"""Chooses the slices of a snapshot, for many partitions on an engine's executors.

Where the metadata table lists the files, each task looks those of some partitions up in it and gives slices: the files
themselves, and the work on them, never come to this process.

Source: docs/format.md#snapshot-and-time-travel.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import pyarrow as pa

from hudi_hive.errors import HudiHiveError
from hudi_hive.metadata import FileLookup, MetadataTable
from hudi_hive.metadata.reader import METADATA_SOURCE, newest_write_time
from hudi_hive.plan.model import PLAN_SCHEMA, base_files_as_slices, with_paths
from hudi_hive.table import MetaClient
from hudi_hive.table.view import FileSystemView
from hudi_hive.timeline import Timeline

_log: Final = logging.getLogger(__name__)


class SlicesOfFiles(NamedTuple):
    """The slices that a snapshot reads of some files.

    Attributes:
        slices: a table of ``PLAN_SCHEMA``.
        files: files that they were chosen from.
        hidden: whether there are base files that do not count.
    """

    slices: pa.Table
    files: int
    hidden: bool


@dataclass(frozen=True, slots=True)
class SliceChoice:
    """Plans some partitions; can be pickled.

    Attributes:
        lookup: looks their files up.
        timeline: of the table.
        merged: slices with their log files are wanted, else base files.
    """

    lookup: FileLookup = field(repr=False)
    timeline: Timeline = field(repr=False)
    merged: bool

    def __call__(self, partitions: Sequence[str]) -> SlicesOfFiles:
        """The slices of the partitions."""
        files = self.lookup.files(partitions)
        view = FileSystemView(files, self.timeline)
        slices = slices_of_view(view, self.timeline, merged=self.merged)
        return SlicesOfFiles(slices, files.num_rows, view.has_hidden_files)


def slices_of_view(view: FileSystemView, timeline: Timeline, *, merged: bool, as_of: str | None = None) -> pa.Table:
    """The slices that a snapshot reads, a table of ``PLAN_SCHEMA``.

    Args:
        view: of the files.
        timeline: of the table.
        merged: slices with their log files, else base files.
        as_of: newest requested time to see.
    """
    if merged:
        return with_paths(view.latest_merged_file_slices(as_of if as_of is not None else newest_write_time(timeline)))
    return base_files_as_slices(view.latest_base_files(as_of))


def spread_slices(client: MetaClient, partitions: Sequence[str], *, merged: bool) -> SlicesOfFiles | None:
    """The newest slices of many partitions, by executors.

    Args:
        client: the table.
        partitions: the partitions to look into.
        merged: slices with their log files, else base files.

    Returns:
        The slices in the order of one plan; None where this process is to plan them: there are no executors, or few
        partitions, or folders are listed.
    """
    spread = client.directory_lister.spread
    if spread is None or len(partitions) <= spread.looked_up or client.lister.source != METADATA_SOURCE:
        return None
    shares = spread.lookup_shares(sorted(set(partitions)))
    lookup = MetadataTable.open(client).file_lookup()
    if len(shares) < 2 or lookup is None:
        return None
    try:
        parts = spread.run(SliceChoice(lookup, client.timeline, merged), shares)
    except HudiHiveError as error:
        _log.warning("executors do not plan, this process does: %s", error)
        return None
    slices = pa.concat_tables([PLAN_SCHEMA.empty_table(), *(part.slices for part in parts)])
    return SlicesOfFiles(slices, sum(part.files for part in parts), any(part.hidden for part in parts))
