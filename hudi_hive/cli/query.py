"""``read`` and ``plan``: rows of a table, and what it takes to read them."""

from __future__ import annotations

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
from hudi_hive.table_api import HudiTable, Scan

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
