"""``sync``: register and update tables in a Hive metastore or in AWS Glue, once or for as long as they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from hudi_hive.cli.common import pairs, storage_options, with_output
from hudi_hive.cli.import_blocker import block_pandas
from hudi_hive.cli.interruptible import stopped_by_signals
from hudi_hive.cli.option_groups import option_group
from hudi_hive.cli.output import Output
from hudi_hive.names import HOODIE_DATASOURCE_HIVE_SYNC_PREFIX
from hudi_hive.options import sync as declared

if TYPE_CHECKING:
    from hudi_hive.sync import HiveSyncConfig

_PREFIX = HOODIE_DATASOURCE_HIVE_SYNC_PREFIX
_BASE_PATH = declared.BASE_PATH.name


@dataclass(frozen=True)
class _Tables:
    """Which tables are synced."""

    base_path: tuple[str, ...]
    discover: str | None
    tables: str | None
    storage_option: tuple[str, ...]

    @property
    def is_single(self) -> bool:
        """Whether just one table is named, by its path."""
        return (
            len(self.base_path) == 1
            and not self.discover
            and not self.tables
            and not set("*?[") & set(self.base_path[0])
        )

    def configs(self, options: dict[str, str]) -> list[HiveSyncConfig]:
        """One configuration per table.

        Args:
            options: options of hive-sync for all tables.

        Raises:
            InvalidOptionError: an option is wrong or missing, or there is no table.
        """
        from hudi_hive.errors import InvalidOptionError
        from hudi_hive.sync import HiveSyncConfig
        from hudi_hive.sync.catalog import require_catalog

        storage = pairs(self.storage_option, "--storage-option") or None
        if self.is_single:
            return [HiveSyncConfig.from_options({_BASE_PATH: self.base_path[0], **options}, storage_options=storage)]
        own_options = self._own_options(storage)
        if not own_options:
            raise InvalidOptionError("the list names no table", path=self.tables)
        if len(own_options) > 1 and _PREFIX + "table" in options:
            raise InvalidOptionError(
                "one table name for several tables", remedy="leave --table out, or use --tables with `PATH table=NAME`"
            )
        configs = [
            HiveSyncConfig.from_options({_BASE_PATH: path, **options, **own}, storage_options=storage)
            for path, own in own_options.items()
        ]
        for config in configs:
            require_catalog(config)
        return configs

    def _own_options(self, storage: dict[str, str] | None) -> dict[str, dict[str, str]]:
        """The tables' base paths, with the options that are each table's own."""
        from hudi_hive.sync.run import discover_tables, expand_pattern, read_table_list

        options: dict[str, dict[str, str]] = {}
        for text in self.base_path:
            options |= {path: {} for path in expand_pattern(text, storage)}
        if self.discover:
            options |= {path: {} for path in discover_tables(self.discover, storage) if path not in options}
        if self.tables:
            options |= {item.base_path: dict(item.options) for item in read_table_list(self.tables)}
        return options


@dataclass(frozen=True)
class _Catalog:
    """Where tables go in the metastore, and how."""

    database: str | None
    table: str | None
    metastore_uris: str | None
    hive_site: str | None
    sync_mode: str
    partitioned_by: str | None
    partition_value_extractor: str | None
    conf: tuple[str, ...]

    def options(self) -> dict[str, str]:
        """The same as options of hive-sync, on top of those of a hive-site.xml.

        Raises:
            InvalidOptionError: a word of --conf has no value, or the file cannot be read.
        """
        named = {
            _PREFIX + "database": self.database,
            _PREFIX + "table": self.table,
            _PREFIX + "metastore.uris": self.metastore_uris,
            _PREFIX + "mode": self.sync_mode,
            _PREFIX + "partition_fields": self.partitioned_by,
            _PREFIX + "partition_extractor_class": self.partition_value_extractor,
        }
        options = {key: value for key, value in named.items() if value is not None} | pairs(self.conf, "--conf")
        if self.hive_site is None:
            return options
        from hudi_hive.metastore.connection import read_hive_site

        return read_hive_site(self.hive_site) | options


@dataclass(frozen=True)
class _Watch:
    """Whether the sync goes on, and how often it looks."""

    watch: bool
    poll_interval: float
    once_per: float


@click.command()
@option_group(
    "tables",
    _Tables,
    click.option(
        "--base-path", multiple=True, help="A table's base path, or a pattern like '/lake/*/trips' (repeatable)."
    ),
    click.option("--discover", metavar="FOLDER", help="Sync every table below this folder."),
    click.option(
        "--tables", metavar="FILE", help="Sync the tables of a file: a base path a line, then options as key=value."
    ),
    storage_options,
)
@option_group(
    "catalog",
    _Catalog,
    click.option("--database", help="Database in the metastore; the table's own, or `default`."),
    click.option("--table", help="Table name in the metastore; the table's own."),
    click.option(
        "--metastore-uris",
        envvar="HUDI_HIVE_METASTORE_URIS",
        help="thrift://host:port, several separated by commas [env HUDI_HIVE_METASTORE_URIS].",
    ),
    click.option("--hive-site", metavar="FILE", help="A hive-site.xml: the metastore's address, TLS and login."),
    click.option(
        "--sync-mode",
        "--mode",
        default="hms",
        show_default=True,
        help="How DDL is done: hms, hiveql or jdbc; or glue, to keep the tables in AWS Glue.",
    ),
    click.option("--partitioned-by", help="Partition fields, separated by commas; by default the table's."),
    click.option("--partition-value-extractor", help="Java class name of an extractor; by default inferred."),
    click.option(
        "--conf",
        multiple=True,
        metavar="K=V",
        help="Any option of hive-sync, or of Hive for TLS and login (repeatable).",
    ),
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, as a diff, and change nothing.")
@click.option("--all-steps", is_flag=True, help="With --dry-run: show every partition.")
@click.option("--parallel", default=4, show_default=True, type=click.IntRange(1), help="Tables at work at once.")
@option_group(
    "watch",
    _Watch,
    click.option("--watch", is_flag=True, help="Go on: sync again after each new completed instant, until Ctrl-C."),
    click.option(
        "--poll-interval", default=10.0, show_default=True, type=float, help="With --watch: seconds between two looks."
    ),
    click.option(
        "--once-per", default=0.0, type=float, help="With --watch: seconds at least between two syncs of a table."
    ),
)
@with_output
@click.pass_context
def sync(
    ctx: click.Context,
    tables: _Tables,
    catalog: _Catalog,
    dry_run: bool,
    all_steps: bool,
    parallel: int,
    watch: _Watch,
    output: Output,
) -> None:
    """Sync tables to a Hive metastore, or to AWS Glue, as Hudi's hive-sync does.

    One table is given by --base-path. With several, by patterns, --discover or --tables, one that fails does not stop
    the others: the exit code is then 1.
    """
    block_pandas()
    options = catalog.options()
    if not (tables.base_path or tables.discover or tables.tables):
        raise click.UsageError("Missing option '--base-path' (or '--discover' or '--tables').")
    if watch.watch and dry_run:
        raise click.UsageError("'--watch' and '--dry-run' do not go together.")
    configs = tables.configs(options)
    if watch.watch:
        _watch(configs, watch, output)
    elif tables.is_single:
        from hudi_hive.cli.sync_output import show_report
        from hudi_hive.sync import HiveSyncTool

        show_report(HiveSyncTool(configs[0]).sync(dry_run=dry_run), output, everything=all_steps)
    elif not _sync_many(configs, parallel, dry_run, all_steps, output):
        output.close()
        ctx.exit(1)


def _sync_many(configs: list[HiveSyncConfig], parallel: int, dry_run: bool, all_steps: bool, output: Output) -> bool:
    """Sync several tables and print the results; False if one failed."""
    from hudi_hive.cli.sync_output import show_diff, show_many
    from hudi_hive.sync.run import sync_many

    report = sync_many(configs, dry_run=dry_run, workers=parallel)
    if dry_run:
        show_diff(
            [item.report.plan for item in report.results if item.report is not None], output, everything=all_steps
        )
    show_many(report, output)
    return not report.failed


def _watch(configs: list[HiveSyncConfig], watch: _Watch, output: Output) -> None:
    from hudi_hive.cli.sync_output import EventLines
    from hudi_hive.sync.run import SyncWatcher, WatchSettings

    settings = WatchSettings(interval=watch.poll_interval, once_per=watch.once_per)
    watcher = SyncWatcher(configs, settings, on_event=EventLines(output).show)
    click.echo(f"watching {len(configs)} table(s) every {watch.poll_interval:g} s; Ctrl-C ends it", err=True)
    with stopped_by_signals(watcher.stop):
        watcher.run()
    output.discard()
    click.echo("stopped", err=True)
