"""``hudi-hive spark connect-server``: Spark Connect's server, whose clients read and write Hudi tables without Java."""

from __future__ import annotations

import os

import click

from hudi_hive.cli.common import pairs, storage_options

_FOREIGN = ("SPARK_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE_ENABLED", "PYSPARK_GATEWAY_PORT")
"""How this process would become a client of another server."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; there is no login.")
@click.option("--port", default=15002, show_default=True, help="TCP port; 0 takes a free one.")
@click.option("--metastore-uris", default="", help="thrift://host:port of the metastore that it uses.")
@click.option("--conf", "settings", multiple=True, metavar="K=V", help="A setting of Spark (spark.…); repeatable.")
@storage_options
def connect_server(
    host: str, port: int, metastore_uris: str, settings: tuple[str, ...], storage_option: tuple[str, ...]
) -> None:
    """Start Spark Connect's server with every session enabled, and keep it running until Ctrl-C."""
    from hudi_hive.spark.connect import ConnectServer

    for name in _FOREIGN:
        os.environ.pop(name, None)
    server = ConnectServer(
        host=host,
        port=port,
        metastore_uris=metastore_uris,
        settings=pairs(settings, "--conf"),
        storage_options=pairs(storage_option, "--storage-option") or None,
    )
    try:
        with server:
            click.echo(f"Spark Connect server ready at {server.url}; Ctrl-C stops it")
            server.wait()
    except KeyboardInterrupt:
        click.echo("stopped")
