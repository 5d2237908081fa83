"""``input-format``: what Hive's input format makes of a job."""

from __future__ import annotations

import click

from hudi_hive.cli.common import pairs, storage_options, with_output
from hudi_hive.cli.output import Output


@click.command("input-format")
@click.argument("paths", nargs=-1)
@click.option("--conf", multiple=True, metavar="K=V", help="A key of the job's conf (repeatable).")
@click.option("--splits", default=1, show_default=True, type=click.IntRange(min=0), help="Splits to ask for.")
@storage_options
@with_output
def input_format(
    paths: tuple[str, ...], conf: tuple[str, ...], splits: int, storage_option: tuple[str, ...], output: Output
) -> None:
    """The three path groups of a job, the rewritten paths and the file statuses.

    PATHS are the job's input paths, or give mapreduce.input.fileinputformat.inputdir with --conf.
    """
    from hudi_hive.input_format import HoodieParquetInputFormat, JobConf
    from hudi_hive.input_format.report import report

    job = JobConf(pairs(conf, "--conf"))
    if paths:
        job = job.with_input_paths(list(paths))
    format_ = HoodieParquetInputFormat(job, storage_options=pairs(storage_option, "--storage-option"))
    found = report(format_, splits)
    output.section("path groups", found.groups)
    output.section("rewritten input paths", found.rewritten)
    columns = ["group", "table", "partition", "instant", "length", "path"]
    output.section("file statuses", found.statuses, columns)
    output.pairs("storage calls", {**found.io, "splits": found.splits})
