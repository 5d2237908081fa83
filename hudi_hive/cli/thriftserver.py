"""``thriftserver start``: Spark's SQL server on a metastore, on loopback, for SQL clients and syncs by DDL."""

from __future__ import annotations

import time
from pathlib import Path

import click


@click.group()
def thriftserver() -> None:
    """Start a Spark Thrift Server (the protocol of HiveServer2, from PySpark's jars)."""


@thriftserver.command()
@click.option("--metastore-uris", required=True, help="thrift://host:port of the metastore that it uses.")
@click.option("--port", default=0, show_default=True, help="TCP port on 127.0.0.1; 0 takes a free one.")
@click.option(
    "--auth",
    type=click.Choice(["NONE", "NOSASL"], case_sensitive=False),
    default="NONE",
    show_default=True,
    help="Whom it lets in: SASL with any user, or no SASL.",
)
@click.option("--directory", type=click.Path(path_type=Path), help="Folder for its log; a temporary one without it.")
@click.option("--jar", "jars", multiple=True, type=click.Path(path_type=Path, exists=True), help="More jars.")
def start(metastore_uris: str, port: int, auth: str, directory: Path | None, jars: tuple[Path, ...]) -> None:
    """Start it and keep it running until Ctrl-C."""
    from hudi_hive.spark import ThriftServer

    server = ThriftServer(metastore_uris, port=port, authentication=auth, directory=directory, jars=jars)
    with server as running:
        click.echo(f"Spark Thrift Server ready at {running.jdbc_url}; Ctrl-C stops it")
        try:
            while running.is_running:
                time.sleep(0.2)
        except KeyboardInterrupt:
            click.echo("stopping")
            return
        raise running.failure("ended by itself")
