"""``sql``: a SELECT over synced tables, or over tables at paths."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from hudi_hive.cli.common import pairs, storage_options, with_output, write_parquet
from hudi_hive.cli.import_blocker import block_pandas
from hudi_hive.cli.interruptible import run_interruptible
from hudi_hive.cli.option_groups import option_group
from hudi_hive.cli.output import Output
from hudi_hive.errors import InvalidOptionError

if TYPE_CHECKING:
    from hudi_hive.connector import HudiConnector


@dataclass(frozen=True)
class _Tables:
    """Where the tables of a statement are: in a metastore, or at paths."""

    metastore_uris: str | None
    hive_site: str | None
    table: tuple[str, ...]
    database: str
    storage_option: tuple[str, ...]

    def connector(self) -> HudiConnector | None:
        """The metastore's tables; None without a metastore.

        Raises:
            InvalidOptionError: there are neither a metastore nor tables at paths.
        """
        uris = self.metastore_uris
        if self.hive_site is not None:
            from hudi_hive.metastore.connection import read_hive_site, secured_uris

            uris = ",".join(secured_uris(read_hive_site(self.hive_site), [] if uris is None else [uris])) or None
        if uris is None and not self.table:
            raise InvalidOptionError("no tables to select from", remedy="give --metastore-uris, or --table NAME=PATH")
        if uris is None:
            return None
        block_pandas()
        from hudi_hive.connector import HudiConnector

        return HudiConnector(uris, self.storage)

    @property
    def storage(self) -> dict[str, str] | None:
        """Arguments of the file system."""
        return pairs(self.storage_option, "--storage-option") or None


@click.command()
@click.argument("statement")
@option_group(
    "tables",
    _Tables,
    click.option(
        "--metastore-uris",
        envvar="HUDI_HIVE_METASTORE_URIS",
        help="thrift://host:port, several separated by commas [env HUDI_HIVE_METASTORE_URIS].",
    ),
    click.option("--hive-site", metavar="FILE", help="A hive-site.xml: the metastore's address, TLS and login."),
    click.option("--table", multiple=True, metavar="NAME=PATH", help="A table without a metastore (repeatable)."),
    click.option("--database", default="default", show_default=True, help="Database of table names that do not say."),
    storage_options,
)
@click.option("--memory-limit", metavar="SIZE", help="Memory for sorts and joins, as 2GB; beyond it the disk is used.")
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Threads; one for each processor.")
@click.option("-o", "--output-file", metavar="FILE.parquet", help="Write the rows to a Parquet file.")
@with_output
def sql(
    statement: str,
    tables: _Tables,
    memory_limit: str | None,
    threads: int | None,
    output_file: str | None,
    output: Output,
) -> None:
    """Run a SELECT over Hudi tables, or an INSERT, without a JVM; a STATEMENT of - is read from standard input.

    Tables are named as in the metastore (database.table), or by --table. `t AT (TIMESTAMP => '2024-05-01 12:00:00')`
    or `t FOR TIMESTAMP AS OF '…'` shows a table as it was, hudi_table_changes('t', 'cdc', begin, end) what a range of
    commits did. SHOW SCHEMAS, SHOW TABLES FROM …, DESCRIBE and EXPLAIN work, too. INSERT INTO t (a, b) SELECT … writes
    the rows of a query as one commit.
    """
    connector = tables.connector()
    block_pandas()
    from hudi_hive.sql import SqlEngine, is_insert

    engine = SqlEngine(
        connector,
        tables=pairs(tables.table, "--table"),
        default_schema=tables.database,
        memory_limit=memory_limit,
        threads=threads,
        storage_options=tables.storage,
    )
    text = sys.stdin.read() if statement == "-" else statement

    def run() -> None:
        if is_insert(text):
            if output_file is not None:
                raise InvalidOptionError("an INSERT has no rows to write", remedy="leave out --output-file")
            report = engine.insert(text)
            values = {"instant": report.instant.requested, "inserted": report.inserted, "updated": report.updated}
            output.pairs("written", values)
            for step, error in report.failed.items():
                click.echo(f"warning: the rows are written, but {step} failed: {error}", err=True)
            return
        if output_file is not None:
            rows = write_parquet(lambda: engine.query(text), output_file)
            output.pairs("written", {"file": output_file, "rows": rows})
            return
        with engine.query(text) as reader:
            output.stream("rows", reader)

    try:
        run_interruptible(run, engine.interrupt)
    except KeyboardInterrupt:
        engine.discard_files()
        click.echo("interrupted", err=True)
        with suppress(OSError):  # nobody may read any more
            sys.stdout.flush()
        os._exit(130)  # DuckDB's threads would come back into an interpreter that is being taken down
    finally:
        if connector is not None:
            connector.close()
