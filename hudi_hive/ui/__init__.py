"""A local web page on tables of a lake or a metastore: timelines, files, schemas, queries, syncs (``hudi-hive ui``).

In come paths, folders and a metastore's address; out comes an HTTP server on this machine, whose pages only read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.ui.settings import UiSettings

if TYPE_CHECKING:
    from hudi_hive.ui.server import UiServer

__all__ = ["UiServer", "UiSettings"]


def __getattr__(name: str) -> object:
    """Import the server when it is asked for: the timeline's picture needs no web server."""
    if name == "UiServer":
        from hudi_hive.ui.server import UiServer

        return UiServer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
