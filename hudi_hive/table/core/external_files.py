"""Recognises tables whose files another project wrote, such as those that Apache XTable and Delta UniForm make.

Their commits take files in under names with a mark. Only the metadata table lists those: the folders have the files'
own names, which do not say what commit they are of, and no partition metafiles.

Source: docs/format.md#external-files.
"""

from __future__ import annotations

from hudi_hive.errors import InstantNotFoundError, UnsupportedTableError
from hudi_hive.table.core.meta_client import MetaClient


def refuse_unlisted_files(client: MetaClient) -> None:
    """Refuse to list the folders of a table whose files Hudi did not write.

    Raises:
        UnsupportedTableError: the metadata table of such a table is not used.
    """
    instant = external_commit(client)
    if instant is None:
        return
    source = client.lister.source  # finds out whether the metadata table can be read
    if not client.lister.is_authoritative:
        raise UnsupportedTableError(
            f"another project wrote the table's files, which the metadata table alone can list, not a {source}",
            path=client.base_path,
            instant=instant,
            remedy="leave hoodie.metadata.enable and hoodie.metadata.validate as they are, or sync the table again",
        )


def refuse_external_files(client: MetaClient) -> None:
    """Refuse to change a table whose files Hudi did not write: they are another table's as well.

    Raises:
        UnsupportedTableError: the table is such a one.
    """
    instant = external_commit(client)
    if instant is not None:
        raise UnsupportedTableError(
            "another project wrote the table's files and keeps them: such tables are read, and not changed",
            path=client.base_path,
            instant=instant,
            remedy="change the table that it was made from and sync it again",
        )


def external_commit(client: MetaClient) -> str | None:
    """Requested time of the newest commit that names files, if Hudi did not write these.

    No such table has meta columns, so that of others no commit is read.
    """
    if client.config.populate_meta_fields:
        return None
    try:
        return _newest_external(client)
    except InstantNotFoundError:  # archived or rolled back since the table was loaded
        return _newest_external(client.reload())


def _newest_external(client: MetaClient) -> str | None:
    timeline = client.timeline
    for instant in reversed(timeline.write_instants()):
        metadata = timeline.commit_metadata(instant)
        if metadata.write_stats.num_rows:
            return instant.requested if metadata.has_external_files else None
    return None


__all__ = ["external_commit", "refuse_external_files", "refuse_unlisted_files"]
