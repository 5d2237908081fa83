"""``table compact|log-compact|cluster|clean|archive|rollback|savepoint|restore|rescale``: services by command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from hudi_hive.cli.common import with_output
from hudi_hive.cli.output import Output
from hudi_hive.cli.table.service_target import ServiceTarget, service_target
from hudi_hive.options import LayoutStrategy

if TYPE_CHECKING:
    from hudi_hive.timeline import Instant
    from hudi_hive.write.services import TableServices

_NOT_COMPACTED: Final = "no file group has log files to compact"
_NOT_LOG_COMPACTED: Final = (
    "no file group has enough log blocks: --conf hoodie.log.compaction.blocks.threshold says how many"
)
_NOT_CLUSTERED: Final = "no small file groups to join; --sort-columns sorts single ones too"


def _confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation before anything is deleted; without it the command ends with an error."""
    if yes:
        return
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:  # nobody is there to be asked
        click.echo("", err=True)
        agreed = False
    if not agreed:
        raise click.ClickException("nothing was done; --yes does it without asking")


def _refuse_both(**flags: bool) -> None:
    """Refuse flags that contradict one another."""
    passed = [f"--{name}" for name, value in flags.items() if value]
    if len(passed) > 1:
        raise click.UsageError(f"{' and '.join(passed)} do not go together")


def _show_commits(services: TableServices, instants: Sequence[Instant], output: Output, nothing: str) -> None:
    """Print the commits of a table service, or the text ``nothing`` when there are none."""
    timeline = services.context.reload().client.timeline
    rows = []
    for instant in instants:
        metadata = timeline.commit_metadata(timeline.get(instant.requested))
        stats = metadata.write_stats
        rows.append(
            {
                "instant": instant.requested,
                "operation": metadata.operation,
                "files": stats.num_rows,
                "rows": sum(stats["num_writes"].to_pylist()),
                "bytes": sum(stats["file_size"].to_pylist()),
                "replaced": metadata.replaced.num_rows,
            }
        )
    output.section("commits", rows, ["instant", "operation", "files", "rows", "bytes", "replaced"])
    if not rows:
        output.note(nothing)


def _show_plan(instants: Sequence[Instant], output: Output, nothing: str) -> None:
    """Print a plan, or the text ``nothing`` when there is none."""
    output.pairs("planned", {"instant": instants[0].requested if instants else None})
    if not instants:
        output.note(nothing)


def _show_done(
    services: TableServices, instants: Sequence[Instant], output: Output, nothing: str, *, schedule: bool
) -> None:
    """Print what a service did, or with ``schedule`` planned."""
    if schedule:
        _show_plan(instants, output, nothing)
    else:
        _show_commits(services, instants, output, nothing)


@click.command(short_help="Merge log files into new base files.")
@service_target
@click.option("--schedule", is_flag=True, help="Only write the plan.")
@click.option("--execute", is_flag=True, help="Only run what is planned.")
@with_output
def compact(target: ServiceTarget, schedule: bool, execute: bool, output: Output) -> None:
    """Merge log files into new base files: run the planned compactions, then plan and run one."""
    _refuse_both(schedule=schedule, execute=execute)
    services = target.open("compaction")
    instants = services.compact(schedule=schedule, execute=execute)
    _show_done(services, instants, output, "no compaction is planned" if execute else _NOT_COMPACTED, schedule=schedule)


@click.command(name="log-compact", short_help="Merge log blocks without their base files.")
@service_target
@click.option("--schedule", is_flag=True, help="Only write the plan.")
@click.option("--execute", is_flag=True, help="Only run what is planned.")
@with_output
def log_compact(target: ServiceTarget, schedule: bool, execute: bool, output: Output) -> None:
    """Merge the log blocks of file slices without their base files, so that readers read one in place of many.

    --conf hoodie.log.compaction.blocks.threshold says from how many blocks on. A plan whose file groups others have
    changed is given up.
    """
    _refuse_both(schedule=schedule, execute=execute)
    services = target.open("log compaction")
    instants = services.log_compact(schedule=schedule, execute=execute)
    _show_done(
        services, instants, output, "no log compaction was done" if execute else _NOT_LOG_COMPACTED, schedule=schedule
    )


@click.command(short_help="Join small file groups, sorted if asked.")
@service_target
@click.option("--schedule", is_flag=True, help="Only write the plan.")
@click.option("--execute", is_flag=True, help="Only run what is planned.")
@click.option("--sort-columns", metavar="A,B", help="Sort the rows of each group by these columns.")
@click.option(
    "--layout",
    type=click.Choice([one.value for one in LayoutStrategy]),
    help="How: by one column after the other (linear), or along a space-filling curve through all of them.",
)
@with_output
def cluster(
    target: ServiceTarget,
    schedule: bool,
    execute: bool,
    sort_columns: str | None,
    layout: str | None,
    output: Output,
) -> None:
    """Join small file groups into larger ones, sorted if asked."""
    _refuse_both(schedule=schedule, execute=execute)
    services = target.open("clustering")
    columns = (sort_columns,) if sort_columns else ()
    instants = services.cluster(sort_columns=columns, layout=layout, schedule=schedule, execute=execute)
    _show_done(services, instants, output, "no clustering is planned" if execute else _NOT_CLUSTERED, schedule=schedule)


@click.command(short_help="Delete file slices that nothing needs any more.")
@service_target
@with_output
def clean(target: ServiceTarget, output: Output) -> None:
    """Delete file slices that no retained commit needs; --conf hoodie.clean.* choose the policy."""
    metadata = target.open("clean").clean()
    partitions = [] if metadata is None else sorted(metadata.partitions.items())
    output.pairs(
        "clean",
        {
            "instant": None if metadata is None else metadata.instant.requested,
            "files deleted": 0 if metadata is None else metadata.total_files_deleted,
            "earliest retained": None if metadata is None else metadata.earliest_retained,
        },
    )
    output.section(
        "partitions",
        [
            {"partition": path, "files": len(part.deleted), "partition deleted": part.partition_deleted}
            for path, part in partitions
        ],
        ["partition", "files", "partition deleted"],
    )
    if metadata is None:
        output.note("nothing to clean: --conf hoodie.clean.policy, hoodie.clean.commits.retained … say what is kept")


@click.command(short_help="Move old instants to the archive.")
@service_target
@with_output
def archive(target: ServiceTarget, output: Output) -> None:
    """Move old instants to the archive: those beyond hoodie.keep.max.commits, down to hoodie.keep.min.commits."""
    report = target.open("archival").archive()
    rows = [{"instant": i.requested, "action": i.action, "completed": i.completed} for i in report.archived]
    output.section("archived", rows, ["instant", "action", "completed"])
    if report.archived:
        output.note(f"{len(rows)} archived, {report.active} stay active")
    else:
        output.note(
            f"nothing to archive, {report.active} stay active: --conf hoodie.keep.max.commits says how many may"
        )
    if report.reason is not None:
        output.note(f"held back at {report.bound} by: {report.reason}")


@click.command(short_help="Undo the last write, or what dead writers left.")
@service_target
@click.option("--instant", metavar="TIME", help="The write to undo.")
@click.option("--failed", is_flag=True, help="Undo what dead writers left.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_output
def rollback(target: ServiceTarget, instant: str | None, failed: bool, yes: bool, output: Output) -> None:
    """Undo the last write, or what dead writers left. What was written is deleted.

    `hudi-hive timeline PATH` lists the writes. Older ones are undone newest first, or all at once by a restore.
    """
    if (instant is None) == (not failed):
        raise click.UsageError("give --instant TIME or --failed")
    services = target.open("rollback")
    if instant is not None:
        _confirm(f"Delete what {instant} wrote to {services.context.client.base_path}?", yes=yes)
    rollbacks = services.rollback(instant)
    output.section(
        "rollbacks",
        [
            {
                "rollback": metadata.instant.requested,
                "undone": ",".join(metadata.rolled_back),
                "files deleted": metadata.total_files_deleted,
                "command blocks": sum(len(part.command_logs) for part in metadata.partitions.values()),
            }
            for metadata in rollbacks
        ],
        ["rollback", "undone", "files deleted", "command blocks"],
    )
    if not rollbacks:
        output.note("no writer left anything behind")


@click.command(short_help="Keep the files of a write from being cleaned.")
@service_target
@click.option("--instant", metavar="TIME", help="The write to keep; the last one without.")
@click.option("--user", default="", help="Who makes it.")
@click.option("--comments", default="", help="Why.")
@click.option("--delete", "delete", is_flag=True, help="Delete the savepoint of --instant.")
@click.option("--list", "list_", is_flag=True, help="List the savepoints.")
@with_output
def savepoint(
    target: ServiceTarget,
    instant: str | None,
    user: str,
    comments: str,
    delete: bool,
    list_: bool,
    output: Output,
) -> None:
    """Keep the files of a write from being cleaned, so that the table can be restored to it."""
    _refuse_both(delete=delete, list=list_)
    services = target.open("savepoint")
    if delete:
        if instant is None:
            raise click.UsageError("--delete needs --instant TIME")
        services.delete_savepoint(instant)
    elif not list_:
        services.create_savepoint(instant, user=user, comments=comments)
    output.section(
        "savepoints",
        [
            {
                "instant": metadata.instant.requested,
                "user": metadata.by,
                "comments": metadata.comments,
                "files": sum(len(names) for names in metadata.partitions.values()),
            }
            for metadata in services.savepoints()
        ],
        ["instant", "user", "comments", "files"],
    )


@click.command(short_help="Go back to a savepoint.")
@service_target
@click.option("--savepoint", "instant", metavar="TIME", required=True, help="The savepoint to go back to.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_output
def restore(target: ServiceTarget, instant: str, yes: bool, output: Output) -> None:
    """Bring the table back to a savepoint. What was written after it is deleted for good."""
    services = target.open("restore")
    _confirm(f"Delete what was written to {services.context.client.base_path} after {instant}?", yes=yes)
    metadata = services.restore(instant)
    output.section(
        "undone",
        [
            {
                "instant": requested,
                "action": action,
                "files deleted": sum(part.total_files_deleted for part in metadata.rollbacks[requested]),
            }
            for requested, action in metadata.targets
        ],
        ["instant", "action", "files deleted"],
    )


@click.command(short_help="Give partitions other numbers of buckets.")
@service_target
@click.option(
    "--overwrite", metavar="RULES", help="Rules in place of those of now: EXPRESSION,BUCKETS;EXPRESSION,BUCKETS"
)
@click.option("--add", metavar="RULES", help="Rules before those of now.")
@click.option(
    "--buckets",
    type=click.IntRange(min=1),
    help="Buckets of all other partitions; of a table without rules also how many partitions have now.",
)
@click.option("--dry-run", is_flag=True, help="Only tell what would change.")
@click.option("--rollback", "undone", metavar="INSTANT", help="Take this rescaling back; it must be the last write.")
@click.option("--yes", is_flag=True, help="Do not ask before a rescaling is taken back.")
@with_output
def rescale(
    target: ServiceTarget,
    overwrite: str | None,
    add: str | None,
    buckets: int | None,
    dry_run: bool,
    undone: str | None,
    yes: bool,
    output: Output,
) -> None:
    """Give partitions of a table with a bucket index other numbers of buckets, by rules that the table keeps.

    The first regular expression that is found in a partition's path counts. Without any rules the command shows those
    that the table has been given.
    """
    from hudi_hive.write.services import added_rules, rescaling_rules, roll_back_rescaling

    _refuse_both(overwrite=overwrite is not None, add=add is not None, rollback=undone is not None)
    services = target.open("rescaling")
    if undone is not None:
        _confirm(f"Delete what the rescaling {undone} wrote to {services.client.base_path}?", yes=yes)
        metadata = roll_back_rescaling(services.context, undone)
        output.pairs("rolled back", {"instant": undone, "files deleted": metadata.total_files_deleted})
        return
    if add is not None:
        overwrite, default = added_rules(services.client, add)
        buckets = default if buckets is None else buckets
    if overwrite is None:
        rows = [
            {"instant": instant, "rules": rules.expressions, "other partitions": rules.default}
            for instant, rules in rescaling_rules(services.client)
        ]
        output.section("rules", rows, ["instant", "rules", "other partitions"])
        return
    done = services.rescale_buckets(overwrite, buckets, dry_run=dry_run)
    output.pairs("planned" if dry_run else "rescaled", {"instant": done.instant.requested if done.instant else None})
    changes = [{"partition": path, "buckets": count} for path, count in done.partitions.items()]
    output.section("partitions", changes, ["partition", "buckets"])


def _change_version(target: ServiceTarget, version: int, output: Output, *, upward: bool) -> None:
    """Change the version of a table, and print what was done."""
    from hudi_hive.metastore.transactions import MetastoreLock
    from hudi_hive.write.versions import change_version

    client = target.load()
    there = client.config.version
    if (version < there) if upward else (version > there):
        word, other = ("upgrade", "downgrade") if upward else ("downgrade", "upgrade")
        raise click.UsageError(f"the table is of version {there}: `table {other}` goes to {version}, not `{word}`")
    change = change_version(client, version, target.options(), metastore_lock=MetastoreLock.connect)
    output.pairs(
        "version",
        {
            "before": change.before,
            "after": change.after,
            "compactions": len(change.compacted),
            "metadata table deleted": ", ".join(change.metadata_dropped) or "no",
        },
    )


@click.command(short_help="Bring the table to a later version.")
@service_target
@click.option(
    "--to", "version", type=click.Choice(["6", "8", "9"]), default="8", show_default=True, help="The version."
)
@with_output
def upgrade(target: ServiceTarget, version: str, output: Output) -> None:
    """Bring the table to a later version: 6, 8 or 9. Asked again, it finishes what a death has left."""
    _change_version(target, int(version), output, upward=True)


@click.command(short_help="Bring the table to an earlier version.")
@service_target
@click.option("--to", "version", type=click.Choice(["5", "6", "8"]), required=True, help="The version.")
@with_output
def downgrade(target: ServiceTarget, version: str, output: Output) -> None:
    """Bring the table to an earlier version: 5, 6 or 8. Asked again, it finishes what a death has left."""
    _change_version(target, int(version), output, upward=False)


SERVICES = (compact, log_compact, cluster, clean, rollback, savepoint, restore, archive, rescale, upgrade, downgrade)
