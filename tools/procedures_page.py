"""Writes ``docs/procedures.md`` from the declarations of procedures: ``python -m tools.procedures_page``."""

from __future__ import annotations

from pathlib import Path

from hudi_hive.spark.statements.procedures import Parameter, columns_of, procedures

PAGE = Path(__file__).parent.parent / "docs" / "procedures.md"

_HEAD = """# Procedures

Made by `python -m tools.procedures_page` from `hudi_hive/spark/statements/procedures`; do not edit.

After `hudi_spark.enable(spark)` a session runs Hudi's procedures with `CALL name(…)` or `CALL system.name(…)`, also
from the Thrift server, in `EXECUTE IMMEDIATE` and in scripts. Names of procedures and arguments are those of Hudi
1.0.2 and may be written in any case. `CALL help()` lists all, `CALL help(cmd => 'name')` shows one.

- **Arguments** go by name, `table => 'db.t'`, or by position, in the order of the table below; those by position come
  first. Values are any expression that Spark can compute beforehand: literals, `1 + 1`, parameters, variables. They are
  cast to the types below. Unknown and missing arguments are errors, also of `EXPLAIN`; real Hudi leaves unknown ones
  unread.
- **The table** is `table => 'name'` of the session's catalog, or `path => '…'`; arguments in *italics* real Hudi 1.0.2
  does not have there, and they are given by name only. `filter => 'condition'` keeps the rows for which an SQL
  condition on the columns holds, after `limit`; Hudi has it from 1.1 on.
- **Rows**: names, types and order of columns are Hudi's. `RUN COMPACTION ON t AT time`, `SCHEDULE COMPACTION ON t` and
  `SHOW COMPACTION ON t LIMIT n` are calls of `run_compaction` and `show_compaction`.

Each procedure of 1.0.2 that reads was run by real Hudi and by us over the same tables. What differs, and why:

- The rows of the partitions of one commit, and of the files of one partition, come in the order in which they were
  written; Hudi's come in that of a hash map.
- `show_metadata_column_stats_overlap` answers for a partition, too, where Hudi shows none; columns that the table does
  not have are an error there and in `show_metadata_table_column_stats`, which show nothing in Hudi.
- `show_rollback_detail` has files below the table's present path, whatever path the rollback saw.
- `stats_file_sizes` without `partition_path` counts all partitions.
- `show_logfile_metadata` shows delete blocks, and `show_logfile_records` with `merge` takes several slices; both fail
  in Hudi.
- `show_cleans`, `show_cleans_metadata`, `show_clean_plans` and
  `partition_bucket_index_manager` are those of Hudi 1.1, `show_timeline` is of its next release.

The procedures that act were run by real Hudi 1.0.2 and by us over the same statements; rows, answers and the timeline's
actions are the same but for what follows. One that fails leaves the table as it was.

- `options => 'name=value,…'` are options of writes (docs/options.md), before the session's; unknown ones are refused.
  `skip_locking` changes nothing: the table's lock is always taken.
- `run_compaction` plans when a compaction is due by `hoodie.compact.inline.max.delta.commits`, `run_clean` by
  `trigger_max_commits`, as in Hudi. `run_clustering` takes file groups that are alone, and leaves partitions alone in
  which nothing was written since; `order_strategy` is `linear`, `z-order` or `hilbert`.
- `rollback_to_savepoint` with a later savepoint in the way, and `rollback_to_instant` of what a savepoint keeps or
  later commits are based on, are refused; Hudi fails in the middle and leaves a table that nobody can write.
- `truncate_table` is a commit without rows, and so can be undone; Hudi deletes the folder.
- `delete_savepoint` of several deletes none where one does not exist.
- `repair_add_partition_meta` looks into partitions of any depth, Hudi's into those of three levels.
  `repair_migrate_partition_meta` shows alone; Hudi's changes the table also with `dry_run`.
- `repair_overwrite_hoodie_props` refuses another table version. `upgrade_table` and `downgrade_table` say whether the
  table is of a version, and refuse to change it: tables that Hudi 1.0.2 downgraded could not be read afterwards.
- `export_instants` writes JSON of the active timeline and keeps to its `limit`; Hudi's fails with one.
- `create_metadata_table` and its like show the path of the metadata table; Hudi's `delete_metadata_table` shows `null`.
- `run_ttl` counts writes to log files as well.
- `sync_validate` goes through our own client of HiveServer2 (extra `hive`) and refuses an unknown mode; for Hudi such a
  one counts no rows, and it fails behind writes to log files.
- Refused by name, with the reason: `hdfs_parquet_import`, `repair_deduplicate`.
"""


def page() -> str:
    """The text of the page."""
    rows = ["| procedure | arguments | columns | what it does |", "|---|---|---|---|"]
    for one in procedures().values():
        arguments = ", ".join(_argument(parameter) for parameter in one.parameters)
        columns = ", ".join(f"`{name}` {kind}" for name, kind in columns_of(one))
        rows.append(f"| `{one.name}` | {arguments} | {columns} | {one.description} |")
    return _HEAD + "\n" + "\n".join(rows) + "\n"


def _argument(parameter: Parameter) -> str:
    if parameter.own:
        return f"*{parameter.name}*"
    if parameter.required:
        return f"**`{parameter.name}`** {parameter.kind}"
    shown = "" if parameter.default in (None, "") else f" = {_default(parameter)}"
    return f"`{parameter.name}` {parameter.kind}{shown}"


def _default(parameter: Parameter) -> str:
    value = parameter.default
    return str(value).lower() if isinstance(value, bool) else str(value)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
