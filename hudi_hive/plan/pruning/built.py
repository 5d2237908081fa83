"""Tells whether a secondary index holds all records, for a table may list one that was never filled.

Hudi 1.1 has committed such an index, without any record, where it was made while another service of the table wrote to
the metadata table.

Source: docs/format.md#secondary-indexes.
"""

from __future__ import annotations

from typing import Final

from hudi_hive.errors import MetadataTableError
from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import RECORD_INDEX, FileGroup
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instants import COMMIT, DELTA_COMMIT

_COUNTS_NULLS: Final = 9
"""From this table version on each record has one in a secondary index, whose value is null too."""


def refuse_half_built(client: MetaClient, metadata: MetadataTable, index: str) -> None:
    """Refuse to ask a secondary index that lacks records.

    An index that was not compacted since is compared with the delta commit that made it: that must have written
    records, and its files must be there. Behind a compaction as many records must be in it as in the record index.

    Args:
        client: the table.
        metadata: its metadata table.
        index: the partition of the metadata table.

    Raises:
        MetadataTableError: it is not known to hold all records.
    """

    def check() -> bool:
        (groups,) = metadata.prefixed_groups(index).values()
        instants = {group.base_instant for group in groups}
        timeline = metadata.client.timeline
        made = [i for i in timeline.completed({DELTA_COMMIT, COMMIT}) if i.requested in instants]
        if len(instants) == 1 and len(made) == 1 and made[0].action == DELTA_COMMIT:
            stats = timeline.commit_metadata(made[0]).write_stats
            pairs = zip(stats.column("partition").to_pylist(), stats.column("file_id").to_pylist(), strict=True)
            written = {file_id for partition, file_id in pairs if partition == index}
            if not written:
                return not [i for i in client.timeline.write_instants() if _is_older(i.completed, made[0].completed)]
            return written == {group.file_id for group in groups if group.base_file is not None}
        return _counts_agree(
            client, groups, [g for some in metadata.prefixed_groups(RECORD_INDEX).values() for g in some]
        )

    if not client.memoize(f"built {index}", check):
        raise MetadataTableError(
            f"{index} lacks records: it was not built in full",
            path=metadata.client.base_path,
            remedy="drop the index and make it anew",
        )


def _is_older(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one < other


def _counts_agree(client: MetaClient, groups: tuple[FileGroup, ...], of_keys: list[FileGroup]) -> bool:
    """Whether the base files of two indexes, of one compaction, hold as many records."""
    mine, theirs = ({group.base_instant for group in some} for some in (groups, of_keys))
    count, keys = (sum(group.base_entries for group in some) for some in (groups, of_keys))
    if client.config.version >= _COUNTS_NULLS:
        return mine == theirs and count == keys
    return 0 < count <= keys
