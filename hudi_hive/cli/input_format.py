"""``input-format``: what Hive's input format makes of a job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import click

from hudi_hive.cli.common import pairs, storage_options, with_output
from hudi_hive.cli.output import Output
from hudi_hive.redaction import without_credentials


@click.command("input-format")
@click.argument("paths", nargs=-1)
@click.option("--conf", multiple=True, metavar="K=V", help="A key of the job's conf (repeatable).")
@click.option("--splits", default=1, show_default=True, type=click.IntRange(min=0), help="Splits to ask for.")
@click.option("--realtime", is_flag=True, help="The realtime input format: file slices with their log files merged.")
@storage_options
@with_output
def input_format(
    paths: tuple[str, ...],
    conf: tuple[str, ...],
    splits: int,
    realtime: bool,
    storage_option: tuple[str, ...],
    output: Output,
) -> None:
    """The three path groups of a job, the rewritten paths and the file statuses.

    PATHS are the job's input paths, or give mapreduce.input.fileinputformat.inputdir with --conf.
    """
    from hudi_hive.input_format import (
        HoodieParquetInputFormat,
        HoodieParquetRealtimeInputFormat,
        JobConf,
        RealtimeSplit,
        report,
    )

    job = JobConf(pairs(conf, "--conf"))
    if paths:
        job = job.with_input_paths(list(paths))
    kind = HoodieParquetRealtimeInputFormat if realtime else HoodieParquetInputFormat
    format_ = kind(job, storage_options=pairs(storage_option, "--storage-option"))
    job_report = report(format_, splits)
    output.section("path groups", _without_credentials(job_report.groups))
    output.section("rewritten input paths", _without_credentials(job_report.rewritten))
    columns = ["group", "table", "partition", "instant", "length", "path"]
    output.section("file statuses", _without_credentials(job_report.statuses), columns)
    if realtime:
        merged = [
            {
                "path": split.path,
                "start": split.start,
                "length": split.length,
                "log_files": [name for name, _ in split.log_files],
                "log_bytes": sum(size for _, size in split.log_files),
                "max_commit_time": split.max_commit_time,
            }
            for split in format_.get_splits(splits)
            if isinstance(split, RealtimeSplit)
        ]
        output.section(
            "realtime splits",
            _without_credentials(merged),
            ["path", "start", "length", "log_files", "log_bytes", "max_commit_time"],
        )
    output.pairs("storage calls", {**job_report.io, "splits": job_report.splits})


def _without_credentials(rows: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """The rows with the passwords removed from URIs."""
    return [
        {name: without_credentials(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in rows
    ]
