"""``read``, ``plan`` and ``pull``: rows of a table, what it takes to read them, and those of new commits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click
import pyarrow.compute as pc

from hudi_hive.cli.common import pairs, storage_options, with_output, write_parquet
from hudi_hive.cli.option_groups import option_group
from hudi_hive.cli.output import Output
from hudi_hive.errors import InvalidOptionError
from hudi_hive.plan.model import QueryType
from hudi_hive.table_api import HudiTable, IncrementalPuller, PullQuery, PullReport, Scan

F = TypeVar("F", bound=Callable[..., Any])

QUERY_TYPES = tuple(kind.value for kind in QueryType)


@dataclass(frozen=True)
class ScanArguments:
    """The query of ``read`` and ``plan``, as it stands on the command line."""

    path: str
    query_type: str | None
    as_of: str | None
    begin: str | None
    end: str | None
    columns: str | None
    where: str | None
    limit: int | None
    conf: tuple[str, ...]
    storage_option: tuple[str, ...]

    def scan(self) -> Scan:
        """The scan of the query.

        Raises:
            HudiHiveError: there is no such table, or an argument is wrong.
        """
        table = HudiTable.open(self.path, storage_options=pairs(self.storage_option, "--storage-option"))
        return table.scan(
            row_filter=self.where,
            selected_fields=None if self.columns is None else _names(self.columns),
            query_type=self.query_type,
            as_of=self.as_of,
            begin=self.begin,
            end=self.end,
            limit=self.limit,
            options=pairs(self.conf, "--conf"),
        )


def _query_options(function: F) -> F:
    """Add the options that ``read`` and ``plan`` have in common; the command gets them as ``query``."""
    return option_group(
        "query",
        ScanArguments,
        click.argument("path"),
        click.option("--query-type", type=click.Choice(QUERY_TYPES), help="snapshot; with --begin incremental."),
        click.option("--as-of", metavar="TIME", help="Time travel: instant, date or timestamp."),
        click.option("--begin", metavar="TIME", help="Incremental: exclusive start."),
        click.option("--end", metavar="TIME", help="Incremental: inclusive end."),
        click.option("--columns", metavar="A,B", help="Only these columns."),
        click.option("--where", metavar="SQL", help="Row filter, for example \"city = 'sf' AND fare > 10\"."),
        click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most so many rows."),
        click.option("--conf", multiple=True, metavar="K=V", help="A Hudi read option (repeatable)."),
        storage_options,
    )(function)


def _names(columns: str) -> list[str]:
    names = [name.strip() for name in columns.split(",")]
    if not all(names):
        raise InvalidOptionError(f"--columns has an empty name: {columns!r}", remedy="leave it out to get all columns")
    return names


@click.command()
@_query_options
@click.option("-o", "--output-file", metavar="FILE.parquet", help="Write the rows to a Parquet file.")
@with_output
def read(query: ScanArguments, output_file: str | None, output: Output) -> None:
    """Rows of a table, printed or written to Parquet."""
    scan = query.scan()
    if output_file is None:
        with scan.to_reader() as reader:
            output.stream("rows", reader)
        return
    rows = write_parquet(scan.to_reader, output_file)
    output.pairs("written", {"file": output_file, "rows": rows})


@click.command()
@_query_options
@with_output
def plan(query: ScanArguments, output: Output) -> None:
    """Show the files that a read would open, and what each step of pruning left out."""
    scan = query.scan()
    info = scan.plan()
    columns = ["partition", "file_id", "base_instant", "base_size", "log_files", "log_sizes", "path"]
    slices = info.slices.select(columns)
    if info.changes is not None:
        for number, name in enumerate(("instant", "case")):
            slices = slices.add_column(number, name, info.changes[name])
    output.arrow("slices", slices)
    output.section(
        "steps",
        [
            {
                "step": step.name,
                "unit": step.unit,
                "before": step.before,
                "after": step.after,
                "removed": max(0, step.before - step.after),
            }
            for step in (*info.steps, *scan.footer_steps())
        ],
        ["step", "unit", "before", "after", "removed"],
    )
    logs = pc.sum(pc.list_value_length(info.slices["log_files"])).as_py() or 0
    bases = len(info.slices) - info.slices["base_file"].null_count
    output.note(
        f"{info.partitions_planned} of {info.partitions_total} partitions planned: "
        f"{bases} base and {logs} log files, {info.total_bytes:,} bytes"
    )
    output.pairs("storage calls", info.counters)


# -- pulls -------------------------------------------------------------------------------------------------------------

_PULL_COLUMNS = ["begin", "end", "rows", "file"]


def _pull_query(
    start: str, max_commits: int | None, where: str | None, columns: str | None, conf: tuple[str, ...]
) -> PullQuery:
    names = None if columns is None else _names(columns)
    return PullQuery(start, max_commits, where, names, pairs(conf, "--conf"))


@click.command()
@click.argument("path")
@click.option("--checkpoint", required=True, metavar="FILE", help="Where the puller notes up to where it has come.")
@click.option("-o", "--output", "folder", metavar="FOLDER", help="Write a Parquet file for each range; else print.")
@click.option("--all", "all_ranges", is_flag=True, help="Go on until there is no new commit; with -o.")
@option_group(
    "query",
    _pull_query,
    click.option("--start", default="earliest", metavar="TIME", help="Of a new checkpoint: earliest, latest, a time."),
    click.option("--max-commits", type=click.IntRange(min=1), metavar="N", help="At most so many commits a range."),
    click.option("--where", metavar="SQL", help="Row filter."),
    click.option("--columns", metavar="A,B", help="Only these columns."),
    click.option("--conf", multiple=True, metavar="K=V", help="A Hudi read option (repeatable)."),
)
@storage_options
@with_output
def pull(
    path: str,
    checkpoint: str,
    folder: str | None,
    all_ranges: bool,
    query: PullQuery,
    storage_option: tuple[str, ...],
    output: Output,
) -> None:
    """Rows of a table's commits that no earlier pull with the checkpoint has had.

    With -o no row is lost or doubled wherever a pull is killed: a range that was begun is written again to the same
    file. Printed rows come again if a pull ends before its checkpoint is written.
    """
    options = pairs(storage_option, "--storage-option")
    puller = IncrementalPuller(path, checkpoint, folder, query, storage_options=options)
    if folder is None:
        if all_ranges:
            raise InvalidOptionError("--all goes with an output folder", remedy="give -o FOLDER")
        _print_rows(puller, output)
        return
    reports: list[PullReport] = []
    if all_ranges:
        reports.extend(puller.pull_all())
    elif (report := puller.pull()) is not None:
        reports.append(report)
    rows = [{name: getattr(report, name) for name in _PULL_COLUMNS} for report in reports]
    output.section("pulled", rows, _PULL_COLUMNS)
    if not reports:
        output.note("no new commit")


def _print_rows(puller: IncrementalPuller, output: Output) -> None:
    """Print the rows of the next range; the checkpoint advances when they are out."""

    def show(scan: Scan) -> int:
        with scan.to_reader() as reader:
            output.stream("rows", reader)
        sys.stdout.flush()
        return 0

    if puller.pull_into(show) is None:
        output.note("no new commit")
