"""``metastore start | status | stop``: an embedded Hive metastore on loopback, for trying things out and for tests."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import click

from hudi_hive.cli.common import with_output
from hudi_hive.cli.output import Output
from hudi_hive.errors import MetastoreError

_DEFAULT_DIRECTORY = Path.home() / ".hudi_hive" / "metastore"


@click.group()
def metastore() -> None:
    """Start, stop and look at the embedded Hive metastore (2.3, from PySpark's jars)."""


_directory = click.option(
    "--directory",
    type=click.Path(path_type=Path),
    default=_DEFAULT_DIRECTORY,
    show_default=True,
    help="Its own folder.",
)


@metastore.command()
@_directory
@click.option("--port", default=0, show_default=True, help="TCP port on 127.0.0.1; 0 takes a free one.")
def start(directory: Path, port: int) -> None:
    """Start it and keep it running until Ctrl-C or `hudi-hive metastore stop`."""
    from hudi_hive.metastore import EmbeddedMetastore

    with EmbeddedMetastore(directory, port=port) as running:
        click.echo(f"Hive metastore ready at {running.uri} (folder {directory}); Ctrl-C stops it")
        try:
            while running.is_running:
                time.sleep(0.2)
        except KeyboardInterrupt:
            click.echo("stopping")
            return
        raise MetastoreError("the metastore ended by itself", path=str(running.log_path), remedy="see its log")


@metastore.command()
@_directory
@with_output
def status(directory: Path, output: Output) -> None:
    """Whether it runs, where, and what is in it."""
    from hudi_hive.metastore import HiveMetastore, find_running

    running = find_running(directory)
    if running is None:
        output.pairs("metastore", {"state": "stopped", "directory": str(directory)})
        return
    with HiveMetastore(running.uri) as client:
        databases = client.databases()
        tables = sum(len(client.tables(database)) for database in databases)
    state = {"state": "running", "uri": running.uri, "pid": running.starter, "server pid": running.server}
    output.pairs("metastore", {**state, "databases": len(databases), "tables": tables})


@metastore.command()
@_directory
@click.option("--timeout", default=30.0, show_default=True, help="Seconds to wait for it to end.")
def stop(directory: Path, timeout: float) -> None:
    """Stop it."""
    from hudi_hive.metastore import find_running

    running = find_running(directory)
    if running is None:
        click.echo("not running")
        return
    with suppress(ProcessLookupError):
        os.kill(running.starter, signal.SIGTERM)
    deadline = time.monotonic() + timeout
    while find_running(directory) is not None:
        if time.monotonic() > deadline:
            raise MetastoreError(f"process {running.starter} did not end in {timeout:g} s", path=str(directory))
        time.sleep(0.1)
    click.echo("stopped")
