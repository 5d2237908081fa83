"""``sync``: register and update a table in a Hive metastore."""

from __future__ import annotations

import click

from hudi_hive.cli.common import pairs, storage_options, with_output
from hudi_hive.cli.output import Output

_PREFIX = "hoodie.datasource.hive_sync."


@click.command()
@click.option("--base-path", required=True, help="The table's base path.")
@click.option("--database", help="Database in the metastore; the table's own, or `default`.")
@click.option("--table", help="Table name in the metastore; the table's own.")
@click.option(
    "--metastore-uris",
    envvar="HUDI_HIVE_METASTORE_URIS",
    help="thrift://host:port, several separated by commas [env HUDI_HIVE_METASTORE_URIS].",
)
@click.option("--sync-mode", default="hms", show_default=True, help="How DDL is done.")
@click.option("--partitioned-by", help="Partition fields, separated by commas; by default the table's.")
@click.option("--partition-value-extractor", help="Java class name of an extractor; by default inferred.")
@click.option("--conf", multiple=True, metavar="K=V", help="Any hoodie.datasource.hive_sync.* option (repeatable).")
@click.option("--dry-run", is_flag=True, help="Print what would be done and change nothing.")
@storage_options
@with_output
def sync(
    base_path: str,
    database: str | None,
    table: str | None,
    metastore_uris: str | None,
    sync_mode: str,
    partitioned_by: str | None,
    partition_value_extractor: str | None,
    conf: tuple[str, ...],
    dry_run: bool,
    storage_option: tuple[str, ...],
    output: Output,
) -> None:
    """Sync a table to a Hive metastore as Hudi's hive-sync does."""
    from hudi_hive.sync import HiveSyncConfig, HiveSyncTool

    named = {
        "hoodie.datasource.meta.sync.base.path": base_path,
        _PREFIX + "database": database,
        _PREFIX + "table": table,
        _PREFIX + "metastore.uris": metastore_uris,
        _PREFIX + "mode": sync_mode,
        _PREFIX + "partition_fields": partitioned_by,
        _PREFIX + "partition_extractor_class": partition_value_extractor,
    }
    options = {key: value for key, value in named.items() if value is not None} | pairs(conf, "--conf")
    config = HiveSyncConfig.from_options(options, storage_options=pairs(storage_option, "--storage-option") or None)
    report = HiveSyncTool(config).sync(dry_run=dry_run)
    if dry_run:
        steps = report.plan.rows()
        output.section("dry run: what a sync would do", steps, ["table", "step", "object", "detail"])
        if not steps:
            output.note("nothing to do")
    output.section("sync (dry run, nothing changed)" if dry_run else "sync", report.rows())
    output.pairs("metastore calls", {**report.calls, "total": report.total_calls})
    for warning in report.warnings:
        click.echo(f"warning: {warning}", err=True)
