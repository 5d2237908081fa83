"""Prints the diff of a dry run, the report of a sync, the results of several syncs and the events of a watch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import click

from hudi_hive.cli.output import Output, RowLines
from hudi_hive.redaction import printable, redact

if TYPE_CHECKING:
    from hudi_hive.sync import SyncPlan, SyncReport
    from hudi_hive.sync.run import ManyReport, WatchEvent

SHOWN = 10
"""Lines of one kind of step that a diff shows before it only counts."""

_SIGNS = {"create": "+", "add": "+", "drop": "-", "delete": "-"}
_COLOURS = {"+": "green", "-": "red", "~": "yellow"}


def diff_lines(plan: SyncPlan, *, everything: bool = False) -> Iterator[tuple[str, str]]:
    """The lines of a plan as a diff: sign (``+``, ``-``, ``~``, empty for a table's heading) and text.

    Args:
        plan: what a sync would do.
        everything: show all steps, however many there are of a kind.
    """
    for table in plan.tables:
        about = (
            table.action if table.comparison == "none" else f"{table.action}, partitions compared: {table.comparison}"
        )
        reason = f" ({table.reason})" if table.reason else ""
        yield "", f"{table.spec.full_name}: {about}{reason}"
        steps = list(table.rows())
        if not steps:
            yield "", "  nothing to do"
        for kind, group in groupby(steps, key=lambda row: row["step"]):
            rows = list(group)
            sign = _SIGNS.get(kind.partition(" ")[0], "~")
            shown = rows if everything or len(rows) <= SHOWN else rows[: SHOWN - 1]
            for row in shown:
                detail = f"  {row['detail']}" if row["detail"] and row["detail"] != row["object"] else ""
                yield sign, f"  {sign} {kind} {row['object']}{detail}"
            if len(rows) > len(shown):
                yield sign, f"  {sign} {kind}: {len(rows) - len(shown):,} more (--all-steps shows them)"


def show_diff(plans: Sequence[SyncPlan], output: Output, *, everything: bool) -> None:
    """Print the plans of syncs: as a diff, or one row per step for JSON and CSV."""
    if output.format != "table":
        rows = [row for plan in plans for row in plan.rows()]
        output.section("dry run: what a sync would do", rows, ["table", "step", "object", "detail"])
        return
    for plan in plans:
        for sign, text in diff_lines(plan, everything=everything):
            click.secho(printable(text), fg=_COLOURS.get(sign), bold=not sign or None)
    click.echo("")


def show_report(report: SyncReport, output: Output, *, everything: bool) -> None:
    """Print what one sync did, or would do."""
    if report.dry_run:
        show_diff([report.plan], output, everything=everything)
    output.section("sync (dry run, nothing changed)" if report.dry_run else "sync", report.rows())
    output.section("steps", report.step_rows(), ["table", "step", "objects", "calls", "seconds"])
    output.pairs("metastore calls", {**report.calls, "total": report.total_calls, "seconds": round(report.seconds, 3)})
    for warning in report.warnings:
        click.echo(f"warning: {printable(warning)}", err=True)
    if report.attempts > 1:
        click.echo("warning: another sync of this table was at work: everything was looked at again", err=True)


def show_many(report: ManyReport, output: Output) -> None:
    """Print the results of many tables."""
    from hudi_hive.sync.run import RESULT_COLUMNS

    output.section("sync of many tables", report.rows(), RESULT_COLUMNS)
    counts = {name: sum(item.result == name for item in report.results) for name in _results()}
    output.pairs("results", {**counts, "seconds": round(report.seconds, 3)})
    for item in report.results:
        for warning in item.report.warnings if item.report is not None else ():
            click.echo(f"warning: {printable(redact(f'{item.base_path}: {warning}'))}", err=True)


def _results() -> tuple[str, ...]:
    from hudi_hive.sync.run import FAILED, NOTHING, PLANNED, SYNCED

    return (SYNCED, NOTHING, PLANNED, FAILED)


class EventLines:
    """Prints the events of a watch as they occur, each with its warnings."""

    def __init__(self, output: Output) -> None:
        self._lines = RowLines(output)

    def show(self, event: WatchEvent) -> None:
        """Print one event; the text of failures goes to stderr."""
        self._lines.show(event.row(), event.line(), failed=event.error is not None)
        for warning in event.report.warnings if event.report is not None else ():
            click.echo(f"warning: {printable(warning)}", err=True)
