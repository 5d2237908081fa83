"""The servers of databases that metastores are kept on in tests, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from integration.support.stores.database import DatabaseServer
from integration.support.stores.mariadb import MariaDbServer
from integration.support.stores.postgres import PostgresServer

DATABASES: Final[Mapping[str, type[DatabaseServer]]] = {
    server.name: server for server in (PostgresServer, MariaDbServer)
}
"""Servers of databases by name."""
