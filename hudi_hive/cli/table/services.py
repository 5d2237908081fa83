"""``table compact|cluster|clean|rollback|savepoint|restore``: table services from the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from hudi_hive.cli.common import pairs, storage_options, with_output
from hudi_hive.cli.output import Output

if TYPE_CHECKING:
    from hudi_hive.table import MetaClient
    from hudi_hive.timeline import Instant
    from hudi_hive.write.service_base import ServiceContext

F = TypeVar("F", bound=Callable[..., Any])
_T = TypeVar("_T")
_R = TypeVar("_R")


def service_options(function: F) -> F:
    """What all services have in common."""
    for option in reversed(
        [
            click.argument("path"),
            click.option("--conf", multiple=True, metavar="K=V", help="One of Hudi's write options (repeatable)."),
            click.option("--threads", type=click.IntRange(min=1), help="File groups at a time."),
            storage_options,
        ]
    ):
        function = option(function)
    return function


class _ProgressExecutor:
    """Threads of this process, with a bar on stderr while there are several tasks and somebody watches."""

    def __init__(self, title: str, threads: int | None) -> None:
        from hudi_hive.write.coordination import LocalExecutor

        self._title = title
        self._threads = LocalExecutor(threads)

    def map(self, function: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
        """Results in the order of the tasks."""
        if len(tasks) < 2 or not sys.stderr.isatty():
            return self._threads.map(function, tasks)
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task(self._title, total=len(tasks))

            def counted(task: _T) -> _R:
                result = function(task)
                progress.advance(bar)
                return result

            return self._threads.map(counted, tasks)


def service_context(
    title: str, path: str, conf: tuple[str, ...], threads: int | None, storage_option: tuple[str, ...]
) -> ServiceContext:
    """The table, and its options: all that a write takes are known, so that a typing error is not passed over."""
    from hudi_hive.metastore.transactions import MetastoreLock
    from hudi_hive.table import MetaClient
    from hudi_hive.write.coordination import table_lock
    from hudi_hive.write.options import WriteConfig
    from hudi_hive.write.service_base import ServiceContext

    client = MetaClient.load(path, pairs(storage_option, "--storage-option"))
    options = WriteConfig.of(pairs(conf, "--conf"), client.config).options
    lock = table_lock(options, client.storage, metastore=MetastoreLock.of)
    return ServiceContext(client, options, _ProgressExecutor(title, threads), lock=lambda: lock)


def _confirm(question: str, *, yes: bool) -> None:
    """Ask before anything is deleted; without a yes the command ends with an error, and nothing was done."""
    if yes:
        return
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:  # nobody is there to be asked
        click.echo("", err=True)
        agreed = False
    if not agreed:
        raise click.ClickException("nothing was done; --yes does it without asking")


def _either(**flags: bool) -> None:
    given = [f"--{name}" for name, value in flags.items() if value]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} do not go together")


def _written(client: MetaClient, instants: Sequence[Instant], output: Output, nothing: str) -> None:
    """What commits of table services wrote; ``nothing`` says what it means when there are none."""
    rows = []
    for instant in instants:
        metadata = client.timeline.commit_metadata(client.timeline.get(instant.requested))
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


@click.command(short_help="Merge log files into new base files.")
@service_options
@click.option("--schedule", is_flag=True, help="Only write the plan.")
@click.option("--execute", is_flag=True, help="Only run what is planned.")
@with_output
def compact(
    path: str,
    conf: tuple[str, ...],
    threads: int | None,
    storage_option: tuple[str, ...],
    schedule: bool,
    execute: bool,
    output: Output,
) -> None:
    """Merge log files into new base files: run the planned compactions, then plan and run one."""
    from hudi_hive.timeline.instants import COMPACTION
    from hudi_hive.write.services import compact as run_compaction
    from hudi_hive.write.services import execute_compaction, schedule_compaction

    _either(schedule=schedule, execute=execute)
    context = service_context("compaction", path, conf, threads, storage_option)
    if schedule:
        _planned(schedule_compaction(context), output, "no file group has log files to compact")
        return
    if execute:
        pending = context.client.timeline.pending({COMPACTION})
        done = [execute_compaction(context, instant) for instant in pending]
    else:
        done = run_compaction(context)
    nothing = "no compaction is planned" if execute else "no file group has log files to compact"
    _written(context.reload().client, done, output, nothing)


@click.command(short_help="Join small file groups, sorted if asked.")
@service_options
@click.option("--schedule", is_flag=True, help="Only write the plan.")
@click.option("--execute", is_flag=True, help="Only run what is planned.")
@click.option("--sort-columns", metavar="A,B", help="Sort the rows of each group by these columns.")
@with_output
def cluster(
    path: str,
    conf: tuple[str, ...],
    threads: int | None,
    storage_option: tuple[str, ...],
    schedule: bool,
    execute: bool,
    sort_columns: str | None,
    output: Output,
) -> None:
    """Join small file groups into larger ones, sorted if asked."""
    from hudi_hive.write.services import SORT_COLUMNS, execute_clustering, pending_clusterings, schedule_clustering
    from hudi_hive.write.services import cluster as run_clustering

    _either(schedule=schedule, execute=execute)
    if sort_columns:
        conf = (*conf, f"{SORT_COLUMNS}={sort_columns}")
    context = service_context("clustering", path, conf, threads, storage_option)
    if schedule:
        _planned(schedule_clustering(context), output, _NOT_CLUSTERED)
        return
    if execute:
        pending = pending_clusterings(context.client)
        done = [execute_clustering(context, instant) for instant in pending]
    else:
        done = run_clustering(context)
    _written(context.reload().client, done, output, "no clustering is planned" if execute else _NOT_CLUSTERED)


_NOT_CLUSTERED: Final = "no small file groups to join; --sort-columns sorts single ones too"


def _planned(instant: Instant | None, output: Output, nothing: str) -> None:
    output.pairs("planned", {"instant": None if instant is None else instant.requested})
    if instant is None:
        output.note(nothing)


@click.command(short_help="Delete file slices that nothing needs any more.")
@service_options
@with_output
def clean(
    path: str, conf: tuple[str, ...], threads: int | None, storage_option: tuple[str, ...], output: Output
) -> None:
    """Delete file slices that no retained commit needs; --conf hoodie.clean.* choose the policy."""
    from hudi_hive.write.services import clean as run

    done = run(service_context("clean", path, conf, threads, storage_option))
    rows = [] if done is None else sorted(done.partitions.items())
    output.pairs(
        "clean",
        {
            "instant": None if done is None else done.instant.requested,
            "files deleted": 0 if done is None else done.total_files_deleted,
            "earliest retained": None if done is None else done.earliest_retained,
        },
    )
    output.section(
        "partitions",
        [
            {"partition": name, "files": len(part.deleted), "partition deleted": part.partition_deleted}
            for name, part in rows
        ],
        ["partition", "files", "partition deleted"],
    )
    if done is None:
        output.note("nothing to clean: --conf hoodie.clean.policy, hoodie.clean.commits.retained … say what is kept")


@click.command(short_help="Undo the last write, or what dead writers left.")
@service_options
@click.option("--instant", metavar="TIME", help="The write to undo.")
@click.option("--failed", is_flag=True, help="Undo what dead writers left.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_output
def rollback(
    path: str,
    conf: tuple[str, ...],
    threads: int | None,
    storage_option: tuple[str, ...],
    instant: str | None,
    failed: bool,
    yes: bool,
    output: Output,
) -> None:
    """Undo the last write, or what dead writers left. What was written is deleted.

    `hudi-hive timeline PATH` lists the writes. Older ones are undone newest first, or all at once by a restore.
    """
    from hudi_hive.write.rollback import rollback as rollback_instant
    from hudi_hive.write.rollback import rollback_failed_writes

    if (instant is None) == (not failed):
        raise click.UsageError("give --instant TIME or --failed")
    context = service_context("rollback", path, conf, threads, storage_option)
    if instant is not None:
        _confirm(f"Delete what {instant} wrote to {context.client.base_path}?", yes=yes)
        done = [rollback_instant(context, instant)]
    else:
        done = rollback_failed_writes(context)
    output.section(
        "rollbacks",
        [
            {
                "rollback": one.instant.requested,
                "undone": ",".join(one.rolled_back),
                "files deleted": one.total_files_deleted,
                "command blocks": sum(len(part.command_logs) for part in one.partitions.values()),
            }
            for one in done
        ],
        ["rollback", "undone", "files deleted", "command blocks"],
    )
    if not done:
        output.note("no writer left anything behind")


@click.command(short_help="Keep the files of a write from being cleaned.")
@service_options
@click.option("--instant", metavar="TIME", help="The write to keep; the last one without.")
@click.option("--user", default="", help="Who makes it.")
@click.option("--comments", default="", help="Why.")
@click.option("--delete", "delete", is_flag=True, help="Delete the savepoint of --instant.")
@click.option("--list", "list_", is_flag=True, help="List the savepoints.")
@with_output
def savepoint(  # noqa: PLR0913
    path: str,
    conf: tuple[str, ...],
    threads: int | None,
    storage_option: tuple[str, ...],
    instant: str | None,
    user: str,
    comments: str,
    delete: bool,
    list_: bool,
    output: Output,
) -> None:
    """Keep the files of a write from being cleaned, so that the table can be restored to it."""
    from hudi_hive.write.rollback import create_savepoint, delete_savepoint, savepoints

    _either(delete=delete, list=list_)
    context = service_context("savepoint", path, conf, threads, storage_option)
    if delete:
        if instant is None:
            raise click.UsageError("--delete needs --instant TIME")
        delete_savepoint(context, instant)
    elif not list_:
        create_savepoint(context, instant, user=user, comments=comments)
    points = savepoints(context.reload().client)
    output.section(
        "savepoints",
        [
            {
                "instant": point.instant.requested,
                "user": point.by,
                "comments": point.comments,
                "files": sum(len(names) for names in point.partitions.values()),
            }
            for point in points
        ],
        ["instant", "user", "comments", "files"],
    )


@click.command(short_help="Go back to a savepoint.")
@service_options
@click.option("--savepoint", "point", metavar="TIME", required=True, help="The savepoint to go back to.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_output
def restore(
    path: str,
    conf: tuple[str, ...],
    threads: int | None,
    storage_option: tuple[str, ...],
    point: str,
    yes: bool,
    output: Output,
) -> None:
    """Bring the table back to a savepoint. What was written after it is deleted for good."""
    from hudi_hive.write.rollback import restore as run

    context = service_context("restore", path, conf, threads, storage_option)
    _confirm(f"Delete what was written to {context.client.base_path} after {point}?", yes=yes)
    done = run(context, point)
    output.section(
        "undone",
        [
            {
                "instant": time,
                "action": action,
                "files deleted": sum(r.total_files_deleted for r in done.rollbacks[time]),
            }
            for time, action in done.targets
        ],
        ["instant", "action", "files deleted"],
    )


SERVICES = (compact, cluster, clean, rollback, savepoint, restore)
