"""What must hold before a table service may go on: refusals by name, before anything is changed."""

from __future__ import annotations

import posixpath

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import WriteError
from hudi_hive.table import MetaClient
from hudi_hive.table.file_names import FileKind, parse_file_names
from hudi_hive.table.listing import DirectoryLister
from hudi_hive.timeline import Instant

NO_PREVIOUS = "null"
"""Previous commit of a write stat whose file group is new."""


def refuse_lost_versions(client: MetaClient, target: Instant) -> None:
    """Refuse to undo a completed write over what a clean has deleted: its file groups would come back empty.

    Raises:
        WriteError: a group that it wrote to or replaced has no older file left.
        CorruptInstantError: its metadata cannot be decoded.
    """
    metadata = client.timeline.commit_metadata(target)
    stats = metadata.write_stats
    old = pc.and_(
        pc.fill_null(pc.not_equal(stats["prev_commit"], NO_PREVIOUS), False),
        pc.fill_null(pc.not_equal(stats["prev_commit"], target.requested), False),
    )
    needed = pa.concat_tables([stats.filter(old).select(["partition", "file_id"]), metadata.replaced])
    if not needed.num_rows:
        return
    partitions = sorted(set(needed["partition"].to_pylist()))
    files = DirectoryLister(client.storage).files(partitions)
    parts = parse_file_names(files["name"])
    older = pc.and_(
        pc.is_in(parts["kind"], value_set=pa.array([FileKind.BASE.value, FileKind.LOG.value], pa.int8())),
        pc.fill_null(pc.less(parts["instant"].cast(pa.string()), target.requested), False),
    )
    left = set(
        zip(files["partition"].filter(older).to_pylist(), parts["file_id"].filter(older).to_pylist(), strict=True)
    )
    for place in zip(needed["partition"].to_pylist(), needed["file_id"].to_pylist(), strict=True):
        if place not in left:
            raise WriteError(
                "what this instant wrote over was cleaned, so that undoing it would lose rows",
                path=client.storage.uri(posixpath.join(*place)),
                instant=target.requested,
                remedy="write the rows again instead",
            )
