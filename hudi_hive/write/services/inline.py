"""Runs inline table services after a commit, by Hudi's options: clean, archival, compaction, clustering, partition TTL.

The commit stands whatever becomes of them: what fails is reported and logged, and the next commit tries again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from hudi_hive.errors import HudiHiveError
from hudi_hive.table import MetaClient
from hudi_hive.timeline.archival import ArchiveReport
from hudi_hive.timeline.core import Timeline
from hudi_hive.timeline.instants import CLEAN, REPLACE_COMMIT
from hudi_hive.timeline.payloads import CleanMetadata
from hudi_hive.write.coordination import log_failure, reported
from hudi_hive.write.options import ArchiveSettings, CleanSettings, ClusteringSettings, WriteConfig
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services.archival import archive_instants
from hudi_hive.write.services.cleaning import keeps_all
from hudi_hive.write.services.compaction import compaction_is_due
from hudi_hive.write.services.partition_ttl import expire_partitions
from hudi_hive.write.services.table_services import TableServices


@dataclass
class InlineReport:
    """Results of the table services after a commit.

    Attributes:
        done: requested times of the services' instants that completed or were planned, by service.
        cleaned: what the clean did, None if nothing.
        archived: what the archival did, None if it did not run.
        failed: service to why it failed.
        unchanged: the table was known when the services began, and they have changed nothing.
    """

    done: dict[str, list[str]] = field(default_factory=dict)
    cleaned: CleanMetadata | None = None
    archived: ArchiveReport | None = None
    failed: dict[str, HudiHiveError] = field(default_factory=dict)
    unchanged: bool = False


def run_inline_services(
    context: ServiceContext, config: WriteConfig | None = None, *, behind: MetaClient | None = None
) -> InlineReport:
    """Run the table services that are due after a commit.

    Args:
        context: the table; its lock must not be held.
        config: the write's configuration; that of the context's options without it.
        behind: the table behind the commit, if it is known; it is read otherwise.
    """
    config = config if config is not None else WriteConfig.of(context.options, context.client.config)
    report = InlineReport()
    for name, service in (
        ("clean", _clean),
        ("archive", _archive),
        ("compaction", _compaction),
        ("log compaction", _log_compaction),
        ("clustering", _clustering),
        ("partition ttl", _ttl),
    ):
        now = None if behind is None else replace(context, client=behind)
        if not _attempt(name, report, context, partial(service, config=config, report=report), now):
            behind = None
    report.unchanged = behind is not None
    return report


def _attempt(
    name: str,
    report: InlineReport,
    context: ServiceContext,
    service: Callable[[ServiceContext], list[str]],
    now: ServiceContext | None,
) -> bool:
    """Run a service on the table as it is now; whether the table is certainly as it was."""
    try:
        done = service(now if now is not None else context.reload())
    except Exception as error:
        done = [name]
        report.failed[name] = reported(error, context.client.base_path)
        log_failure(name, None, report.failed[name])
    else:
        if done:
            report.done[name] = done
    for step, why in context.failed.items():
        report.failed.setdefault(f"{name}: {step}", why)
    context.failed.clear()
    archived = report.archived is not None and bool(report.archived.archived)
    return not done and not archived


def _clean(context: ServiceContext, config: WriteConfig, report: InlineReport) -> list[str]:
    if config.clean.automatic:
        report.cleaned = clean_if_due(context, config.clean)
    return [] if report.cleaned is None else [report.cleaned.instant.requested]


def clean_if_due(context: ServiceContext, settings: CleanSettings) -> CleanMetadata | None:
    """Clean a table if a clean is due or pending; None if nothing was cleaned.

    Args:
        context: the table as it is; its lock must not be held.
        settings: when a clean is due.
    """
    timeline = context.client.timeline
    if not timeline.pending({CLEAN}) and not clean_is_due(context.client, settings):
        return None
    # On a store the lock is a file, which is not made where the timeline says that all is kept.
    if not context.client.storage.is_local and not timeline.pending({CLEAN}) and keeps_all(context):
        return None
    return TableServices(context).clean()


def clean_is_due(client: MetaClient, settings: CleanSettings) -> bool:
    """Whether a clean is due, by the number of writes since the last one."""
    return _writes_since(client.timeline, {CLEAN}) >= settings.trigger_commits


def _archive(context: ServiceContext, config: WriteConfig, report: InlineReport) -> list[str]:
    if config.archive.automatic:
        report.archived = archive_if_due(context, config.archive)
    return []


def archive_if_due(context: ServiceContext, settings: ArchiveSettings) -> ArchiveReport | None:
    """Archive old instants; None where the number of writes says that none are due.

    Args:
        context: the table as it is; its lock must not be held.
        settings: what is archived.
    """
    writes = len(context.client.timeline.write_instants())
    if not context.client.storage.is_local and writes <= settings.max_commits:
        return None
    return archive_instants(context, settings)


def _compaction(context: ServiceContext, config: WriteConfig, report: InlineReport) -> list[str]:
    settings = config.compaction
    if not context.client.config.is_merge_on_read or not (settings.inline or settings.schedule_inline):
        return []
    due = compaction_is_due(context.client, settings)
    if not settings.inline and not due:
        return []
    instants = TableServices(context).compact(schedule=not settings.inline, execute=not due)
    return [instant.requested for instant in instants]


def _log_compaction(context: ServiceContext, config: WriteConfig, report: InlineReport) -> list[str]:
    if not context.client.config.is_merge_on_read or not config.compaction.log_inline:
        return []
    return [instant.requested for instant in TableServices(context).log_compact()]


def _clustering(context: ServiceContext, config: WriteConfig, report: InlineReport) -> list[str]:
    settings = config.clustering
    if not settings.inline and not settings.schedule_inline:
        return []
    due = clustering_is_due(context.client, settings)
    if not settings.inline and not due:
        return []
    instants = TableServices(context).cluster(schedule=not settings.inline, execute=not due)
    return [instant.requested for instant in instants]


def _ttl(context: ServiceContext, config: WriteConfig, report: InlineReport) -> list[str]:
    expired = expire_partitions(context) if config.ttl.inline else None
    return [] if expired is None else [expired.instant.requested]


def _writes_since(timeline: Timeline, actions: set[str]) -> int:
    """Completed writes after the last completed instant of some actions."""
    last = max((i.requested for i in timeline.completed(actions)), default="")
    return sum(i.requested > last for i in timeline.write_instants())


def clustering_is_due(client: MetaClient, settings: ClusteringSettings) -> bool:
    """Whether a clustering is due, by the number of writes since the last one."""
    timeline = client.timeline
    clusterings = [
        i.requested for i in timeline.completed({REPLACE_COMMIT}) if timeline.commit_metadata(i).operation == "CLUSTER"
    ]
    last = max(clusterings, default="")
    return sum(i.requested > last for i in timeline.write_instants()) >= settings.after_commits
