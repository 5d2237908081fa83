"""Archival under the table's lock, by Hudi's write options.

Source: docs/format.md#archived-timeline.
"""

from __future__ import annotations

from functools import partial

from hudi_hive.timeline.archival import ArchiveReport, archive
from hudi_hive.write.options import ArchiveSettings, WriteConfig
from hudi_hive.write.rollback import sweep_late_files
from hudi_hive.write.service_base import ServiceContext


def archive_instants(context: ServiceContext, settings: ArchiveSettings | None = None) -> ArchiveReport:
    """Archive instants by the options ``hoodie.keep.min.commits``, ``hoodie.keep.max.commits`` and so on.

    Args:
        context: the table; its lock must not be held.
        settings: what is archived; those of the context's options without it.

    Raises:
        InvalidOptionError: the options contradict one another.
        TimelineError: the timeline cannot be read.
        CorruptFileError: the archive is damaged; nothing was removed.
    """
    with context.lock():
        now = context.reload()
        settings = settings or WriteConfig.of(now.options, now.client.config).archive
        return archive(
            now.client,
            min_commits=settings.min_commits,
            max_commits=settings.max_commits,
            beyond_savepoint=settings.beyond_savepoint,
            ahead=partial(sweep_late_files, now.client),
        )
