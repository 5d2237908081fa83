"""What the pages show, and where they are served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_hive.redaction import redact_options

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Addresses and names of this machine alone."""


@dataclass(frozen=True)
class UiSettings:
    """What :class:`hudi_hive.ui.UiServer` shows, and where.

    Attributes:
        paths: base paths of tables, and folders below which tables are searched.
        metastore_uris: ``thrift://host:port``, several separated by commas, of the metastore whose tables are shown and
            whose entries a sync is compared with; None without a metastore.
        storage_options: arguments of the tables' file systems.
        sync_options: options of hive-sync for the comparison with the metastore, by Hudi's names.
        host: the address to listen on.
        port: the TCP port; 0 takes a free one.
        query_seconds: how long a statement or a plan may take, in seconds, before it is stopped.
    """

    paths: tuple[str, ...] = ()
    metastore_uris: str | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    sync_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    host: str = "127.0.0.1"
    port: int = 0
    query_seconds: float = 120.0

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the pages."""
        return self.host in LOOPBACK

    def shown_sync_options(self) -> dict[str, object]:
        """The sync's options without secrets."""
        return dict(redact_options(self.sync_options))
