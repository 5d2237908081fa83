"""Describes what an input format does with a job, as rows for the command line."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_hive.input_format.job import listed_by
from hudi_hive.input_format.parquet_input_format import HoodieParquetInputFormat
from hudi_hive.input_format.plan import INCREMENTAL, PLAIN, JobTablePlan


@dataclass(frozen=True, slots=True)
class InputFormatReport:
    """Tables of text and numbers; each is a list of rows with the same keys.

    Attributes:
        groups: a row per table, and one for all plain paths: what group it is in and what it comes to.
        input_paths: a row per input path after globs were expanded, with its group and table.
        rewritten: a row per path that is left to read.
        statuses: a row per file.
        splits: how many splits the files make.
        io: storage call -> how often, classifying and listing together.
        listed: folders that were listed, with how often.
    """

    groups: list[dict[str, object]]
    input_paths: list[dict[str, object]]
    rewritten: list[dict[str, object]]
    statuses: list[dict[str, object]]
    splits: int
    io: dict[str, int]
    listed: dict[str, int]


def report(input_format: HoodieParquetInputFormat, splits: int = 1) -> InputFormatReport:
    """Classify and list a job, and say what came of it.

    Args:
        input_format: the job.
        splits: how many splits to ask for.

    Raises:
        HudiHiveError: whatever classifying and listing raise.
    """
    groups, plan = input_format.groups, input_format.plan
    input_paths: list[dict[str, object]] = []
    rewritten: list[dict[str, object]] = []
    for table in plan.tables.values():
        shared = {"group": table.group, "table": table.inputs.name}
        input_paths += [{**shared, "path": str(path)} for path in table.inputs.paths]
        rewritten += [{**shared, "path": path} for path in table.input_paths]
    for text in groups.non_hudi:
        row: dict[str, object] = {"group": PLAIN, "table": None, "path": text}
        input_paths.append(row)
        rewritten.append(dict(row))
    rows = [_table_row(table) for table in plan.tables.values()]
    if groups.plain:
        files = [status for status in plan.file_statuses() if status.group == PLAIN]
        rows.append(
            {
                "group": PLAIN,
                "table": None,
                "base_path": None,
                "paths": len(groups.plain),
                "partitions": None,
                "commits": None,
                "files": len(files),
                "bytes": sum(status.length for status in files),
                "note": "passed through",
            }
        )
    return InputFormatReport(
        groups=rows,
        input_paths=input_paths,
        rewritten=rewritten,
        statuses=plan.statuses.to_pylist(),
        splits=input_format.splits_table(splits).num_rows,
        io=input_format.counters.snapshot(),
        listed=input_format.counters.listed,
    )


def _table_row(table: JobTablePlan) -> dict[str, object]:
    lengths: list[int] = table.statuses.column("length").to_pylist()
    partitions = len(set(table.statuses.column("partition").to_pylist()))
    incremental = table.incremental
    return {
        "group": table.group,
        "table": table.inputs.name,
        "base_path": str(table.inputs.base),
        "paths": len(table.inputs.paths),
        "partitions": len(incremental.partitions) if incremental is not None else partitions,
        "commits": len(incremental.commit_times) if incremental is not None else None,
        "files": len(lengths),
        "bytes": sum(lengths),
        "note": _note(table),
    }


def _note(table: JobTablePlan) -> str:
    """What is worth knowing of how the table is read."""
    if table.group == INCREMENTAL and table.incremental is not None:
        text = f"full scan by {listed_by(table.inputs)}" if table.incremental.full_scan else "from commit metadata"
        return f"{text}; next start {table.incremental.checkpoint}"
    text = f"as of {table.as_of}" if table.as_of is not None else "latest"
    return f"{text}; files by {listed_by(table.inputs)}"
