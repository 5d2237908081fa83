"""``sql``: a SELECT over synced tables, or over tables at paths."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click

from hudi_hive.cli.common import pairs, storage_options, with_output, write_parquet
from hudi_hive.cli.import_blocker import leave_pandas_out
from hudi_hive.cli.interruptible import run_interruptible
from hudi_hive.cli.output import Output
from hudi_hive.errors import InvalidOptionError


@click.command()
@click.argument("statement")
@click.option(
    "--metastore-uris",
    envvar="HUDI_HIVE_METASTORE_URIS",
    help="thrift://host:port, several separated by commas [env HUDI_HIVE_METASTORE_URIS].",
)
@click.option("--hive-site", metavar="FILE", help="A hive-site.xml: the metastore's address, TLS and login.")
@click.option("--table", "table", multiple=True, metavar="NAME=PATH", help="A table without a metastore (repeatable).")
@click.option("--database", default="default", show_default=True, help="Database of table names that do not say.")
@click.option("--memory-limit", metavar="SIZE", help="Memory for sorts and joins, as 2GB; beyond it the disk is used.")
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Threads; one for each processor.")
@click.option("-o", "--output-file", metavar="FILE.parquet", help="Write the rows to a Parquet file.")
@storage_options
@with_output
def sql(  # noqa: PLR0913
    statement: str,
    metastore_uris: str | None,
    hive_site: str | None,
    table: tuple[str, ...],
    database: str,
    memory_limit: str | None,
    threads: int | None,
    output_file: str | None,
    storage_option: tuple[str, ...],
    output: Output,
) -> None:
    """Run a SELECT over Hudi tables, without a JVM; a STATEMENT of - is read from standard input.

    Tables are named as in the metastore (database.table), or by --table. `t AT (TIMESTAMP => '2024-05-01 12:00:00')`
    shows a table as it was. SHOW SCHEMAS, SHOW TABLES FROM …, DESCRIBE and EXPLAIN work, too; nothing is written.
    """
    if hive_site is not None:
        from hudi_hive.metastore.connection import read_hive_site, secured_uris

        given = [] if metastore_uris is None else [metastore_uris]
        metastore_uris = ",".join(secured_uris(read_hive_site(hive_site), given)) or None
    if metastore_uris is None and not table:
        raise InvalidOptionError("no tables to select from", remedy="give --metastore-uris, or --table NAME=PATH")
    leave_pandas_out()
    from hudi_hive.sql import SqlEngine

    storage = pairs(storage_option, "--storage-option") or None
    connector = None
    if metastore_uris is not None:
        from hudi_hive.connector import HudiConnector

        connector = HudiConnector(metastore_uris, storage)
    engine = SqlEngine(
        connector,
        tables=pairs(table, "--table"),
        default_schema=database,
        memory_limit=memory_limit,
        threads=threads,
        storage_options=storage,
    )
    text = sys.stdin.read() if statement == "-" else statement

    def select() -> None:
        if output_file is not None:
            rows = write_parquet(lambda: engine.query(text), output_file)
            output.pairs("written", {"file": output_file, "rows": rows})
            return
        with engine.query(text) as reader:
            output.stream("rows", reader)

    try:
        run_interruptible(select, engine.interrupt)
    except KeyboardInterrupt:
        engine.discard_files()
        click.echo("interrupted", err=True)
        with suppress(OSError):  # nobody may read any more
            sys.stdout.flush()
        os._exit(130)  # DuckDB's threads would come back into an interpreter that is being taken down
    finally:
        if connector is not None:
            connector.close()
