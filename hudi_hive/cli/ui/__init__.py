"""``hudi-hive ui``: a local web page on tables."""

from __future__ import annotations

import sys
import threading

import click

from hudi_hive.cli.common import pairs, storage_options
from hudi_hive.errors import InvalidOptionError


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--metastore-uris",
    envvar="HUDI_HIVE_METASTORE_URIS",
    help="thrift://host:port of a metastore whose tables are shown too [env HUDI_HIVE_METASTORE_URIS].",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=0, show_default=True, type=click.IntRange(0, 65535), help="TCP port; 0: a free one.")
@click.option("--open", "in_browser", is_flag=True, help="Open the page in the browser.")
@click.option("--conf", multiple=True, metavar="K=V", help="An option of hive-sync for the comparison (repeatable).")
@storage_options
def ui(
    paths: tuple[str, ...],
    metastore_uris: str | None,
    host: str,
    port: int,
    in_browser: bool,
    conf: tuple[str, ...],
    storage_option: tuple[str, ...],
) -> None:
    """Show tables as pages in a browser: timeline, partitions, files, schemas, queries, what a sync would do.

    PATHs are tables, or folders below which tables are searched. The address that is printed has a token: who does not
    know it is not let in. The pages change nothing. Ctrl-C ends the server.
    """
    from hudi_hive.ui import UiServer, UiSettings

    if not paths and not metastore_uris:
        raise InvalidOptionError("no tables to show", remedy="give paths of tables or folders, or --metastore-uris")
    settings = UiSettings(
        paths=paths,
        metastore_uris=metastore_uris,
        storage_options=pairs(storage_option, "--storage-option"),
        sync_options=pairs(conf, "--conf"),
        host=host,
        port=port,
    )
    with UiServer(settings) as server:
        click.echo(server.url)
        sys.stdout.flush()
        if not settings.is_local:
            click.echo(
                "note: other machines can reach the pages, unencrypted; the token alone keeps them out", err=True
            )
        if in_browser:
            threading.Thread(target=click.launch, args=(server.url,), daemon=True).start()
        server.wait()
