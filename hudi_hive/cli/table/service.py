"""``table service``: runs the chosen services of a table beside its writers, once or until a signal ends it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import click

from hudi_hive.cli.common import with_output
from hudi_hive.cli.interruptible import stopped_by_signals
from hudi_hive.cli.option_groups import option_group
from hudi_hive.cli.output import Output, RowLines
from hudi_hive.cli.table.service_target import ServiceTarget, service_target
from hudi_hive.redaction import printable

if TYPE_CHECKING:
    from hudi_hive.write.services import ServiceEvent, ServiceKind

_SECONDS: Final = 30.0
_COLUMNS: Final = ["service", "event", "instant", "detail"]


@dataclass(frozen=True)
class _Chosen:
    """Which services run, by the values of ``ServiceKind``."""

    ttl: bool
    compact: bool
    log_compact: bool
    cluster: bool
    clean: bool
    archive: bool
    index: bool

    def kinds(self) -> list[ServiceKind]:
        """The chosen services.

        Raises:
            UsageError: none is chosen.
        """
        from hudi_hive.write.services import ServiceKind

        names = {field.name.replace("_", "-"): getattr(self, field.name) for field in fields(self)}
        chosen = [ServiceKind(name) for name, yes in names.items() if yes]
        if not chosen:
            raise click.UsageError(f"choose at least one of {', '.join(f'--{name}' for name in names)}")
        return chosen


@dataclass(frozen=True)
class _Watch:
    """Whether and how often rounds are repeated."""

    watch: bool
    interval: float | None


@click.command(short_help="Run services beside the writers, once or until Ctrl-C.")
@service_target
@option_group(
    "chosen",
    _Chosen,
    click.option("--ttl", is_flag=True, help="Delete partitions older than --conf hoodie.partition.ttl.* allow."),
    click.option("--compact", is_flag=True, help="Run planned compactions, and one more when it is due."),
    click.option("--log-compact", is_flag=True, help="Merge log blocks of slices with enough of them."),
    click.option("--cluster", is_flag=True, help="Run planned clusterings, and one more when it is due."),
    click.option("--clean", is_flag=True, help="Delete file slices that nothing needs, when that is due."),
    click.option("--archive", is_flag=True, help="Move old instants to the archive."),
    click.option("--index", is_flag=True, help="Build the indexes that --conf asks for while writers go on."),
)
@option_group(
    "watch",
    _Watch,
    click.option("--watch", is_flag=True, help="Go on: another round after each pause, until Ctrl-C or SIGTERM."),
    click.option("--interval", type=float, metavar="SECONDS", help=f"With --watch: the pause; {_SECONDS:g} without."),
)
@with_output
@click.pass_context
def service(ctx: click.Context, target: ServiceTarget, chosen: _Chosen, watch: _Watch, output: Output) -> None:
    """Run table services in a process beside the writers, with the table's lock, once or with --watch for ever.

    They run when inline services would: --conf hoodie.compact.inline.max.delta.commits,
    hoodie.clustering.inline.max.commits, hoodie.clean.max.commits and so on say when. What writers only planned
    (hoodie.compact.schedule.inline …) is run in any case. A signal ends it after the service at hand, a second one at
    once.
    """
    kinds = chosen.kinds()
    if watch.interval is not None and not watch.watch:
        raise click.UsageError("'--interval' goes with '--watch'.")
    if watch.watch:
        _watch(target, kinds, _SECONDS if watch.interval is None else watch.interval, output)
    elif not _once(target, kinds, output):
        output.close()
        ctx.exit(130)


def _once(target: ServiceTarget, kinds: list[ServiceKind], output: Output) -> bool:
    """Run one round and print what it did; False when a signal has ended it early.

    Raises:
        HudiHiveError: the first failure of a service, behind the output of all.
    """
    from hudi_hive.write.services import ServiceRounds

    rows: list[dict[str, object]] = []

    def add(event: ServiceEvent) -> None:
        rows.append(event.row())
        _warn(event)

    rounds = ServiceRounds(lambda: target.open("table services"), kinds, on_event=add)
    with stopped_by_signals(rounds.stop):
        failures = rounds.run()
    output.section("services", rows, _COLUMNS)
    if not rows:
        output.note("nothing is due: --conf hoodie.compact.inline.max.delta.commits … say when something is")
    if failures:
        output.close()
        raise failures[0]
    return not rounds.stopped


def _watch(target: ServiceTarget, kinds: list[ServiceKind], interval: float, output: Output) -> None:
    from hudi_hive.write.services import ServiceRounds

    lines = RowLines(output)

    def show(event: ServiceEvent) -> None:
        lines.show(event.row(), event.line(), failed=event.error is not None)
        _warn(event)

    rounds = ServiceRounds(lambda: target.open("table services"), kinds, on_event=show)
    names = ", ".join(kind.value for kind in kinds)
    click.echo(printable(f"{names} of {target.path} every {interval:g} s; Ctrl-C ends it"), err=True)
    with stopped_by_signals(rounds.stop):
        rounds.watch(interval)
    output.discard()
    click.echo("stopped", err=True)


def _warn(event: ServiceEvent) -> None:
    for warning in event.warnings:
        click.echo(printable(f"warning: {event.service}: {warning}"), err=True)
