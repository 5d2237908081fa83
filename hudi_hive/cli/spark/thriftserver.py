"""``thriftserver start``: Spark SQL over synced Hudi tables for JDBC clients, on loopback."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import click

from hudi_hive.cli.common import pairs, storage_options
from hudi_hive.cli.option_groups import option_group
from hudi_hive.options import read


@click.group()
def thriftserver() -> None:
    """Start a Spark Thrift Server (the protocol of HiveServer2) that reads synced Hudi tables."""


@dataclass(frozen=True)
class _Java:
    """How the server's Java process runs."""

    jars: tuple[Path, ...]
    heap: str
    threads: int
    settings: Path | None


def _mergers() -> dict[str, str]:
    """The mergers of ``hudi-hive --merger`` as a setting: the server plans in a process of its own."""
    entries = click.get_current_context().find_root().params.get("mergers") or ()
    return {read.SPARK_MERGERS.name: ",".join(entries)} if entries else {}


@thriftserver.command()
@click.option("--metastore-uris", required=True, help="thrift://host:port of the metastore that it uses.")
@click.option("--port", default=0, show_default=True, help="TCP port on 127.0.0.1; 0 takes a free one.")
@click.option(
    "--auth",
    type=click.Choice(["NONE", "NOSASL", "KERBEROS"], case_sensitive=False),
    default="NONE",
    show_default=True,
    help="Whom it lets in: SASL with any user, no SASL, or Kerberos (with spark.kerberos.principal and .keytab).",
)
@click.option("--directory", type=click.Path(path_type=Path), help="Folder for its log; a temporary one without it.")
@option_group(
    "java",
    _Java,
    click.option("--jar", "jars", multiple=True, type=click.Path(path_type=Path, exists=True), help="More jars."),
    click.option("--heap", default="1g", show_default=True, help="Largest heap of Java."),
    click.option("--threads", default=2, show_default=True, type=click.IntRange(min=1), help="Tasks that run at once."),
    click.option(
        "--settings",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="Properties file with Spark's settings (spark.…), on top of its own.",
    ),
)
@storage_options
def start(
    metastore_uris: str,
    port: int,
    auth: str,
    directory: Path | None,
    java: _Java,
    storage_option: tuple[str, ...],
) -> None:
    """Start it and keep it running until Ctrl-C."""
    from hudi_hive.formats import parse_properties
    from hudi_hive.spark import ThriftServer

    path = java.settings
    server = ThriftServer(
        metastore_uris,
        port=port,
        authentication=auth,
        directory=directory,
        jars=java.jars,
        heap=java.heap,
        threads=java.threads,
        settings={**_mergers(), **({} if path is None else parse_properties(path.read_bytes(), path=str(path)))},
        storage_options=pairs(storage_option, "--storage-option"),
    )
    with server as running:
        click.echo(f"Spark Thrift Server ready at {running.jdbc_url}; Ctrl-C stops it")
        try:
            while running.is_running:
                time.sleep(0.2)
        except KeyboardInterrupt:
            click.echo("stopping")
            return
        raise running.failure("ended by itself")
