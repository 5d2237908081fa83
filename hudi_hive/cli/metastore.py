"""``metastore start | status | stop``: an embedded Hive metastore on loopback, for trying things out and for tests."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import click

from hudi_hive.cli.common import with_output
from hudi_hive.cli.output import Output
from hudi_hive.errors import MetastoreError

_DEFAULT_DIRECTORY = Path.home() / ".hudi_hive" / "metastore"
_PID, _URI = "hudi-hive.pid", "hudi-hive.uri"


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
        try:
            (directory / _PID).write_text(str(os.getpid()))
            (directory / _URI).write_text(running.uri)
            click.echo(f"Hive metastore ready at {running.uri} (folder {directory}); Ctrl-C stops it")
            threading.Event().wait()
        except KeyboardInterrupt:
            click.echo("stopping")
        finally:
            (directory / _PID).unlink(missing_ok=True)
            (directory / _URI).unlink(missing_ok=True)


@metastore.command()
@_directory
@with_output
def status(directory: Path, output: Output) -> None:
    """Whether it runs, where, and what is in it."""
    from hudi_hive.metastore import HiveMetastore

    pid = _running(directory)
    if pid is None:
        output.pairs("metastore", {"state": "stopped", "directory": str(directory)})
        return
    uri = (directory / _URI).read_text()
    with HiveMetastore(uri) as client:
        databases = client.databases()
        tables = sum(len(client.tables(database)) for database in databases)
    output.pairs(
        "metastore", {"state": "running", "uri": uri, "pid": pid, "databases": len(databases), "tables": tables}
    )


@metastore.command()
@_directory
@click.option("--timeout", default=30.0, show_default=True, help="Seconds to wait for it to end.")
def stop(directory: Path, timeout: float) -> None:
    """Stop it."""
    pid = _running(directory)
    if pid is None:
        click.echo("not running")
        return
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + timeout
    while _running(directory) is not None:
        if time.monotonic() > deadline:
            raise MetastoreError(f"process {pid} did not end within {timeout:g} s", path=str(directory))
        time.sleep(0.1)
    click.echo("stopped")


def _running(directory: Path) -> int | None:
    """Process id of the metastore of a folder, or None."""
    try:
        pid = int((directory / _PID).read_text())
        os.kill(pid, 0)
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return None
    except PermissionError:
        return None  # the number was given to somebody else's process since
    return pid
