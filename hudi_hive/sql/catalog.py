"""Catalogues of the tables of statements: of a metastore, or of given paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from hudi_hive.connector import ScanSource, TableSource
from hudi_hive.errors import InvalidOptionError, NoSuchObjectError, UnsupportedTableError
from hudi_hive.metadata import MetadataListing
from hudi_hive.metrics import IoCounters
from hudi_hive.plan import Query
from hudi_hive.storage import Credentials
from hudi_hive.table import MetaClient

if TYPE_CHECKING:
    from hudi_hive.connector import HudiConnector


class TableCatalog(Protocol):
    """The interface of a catalogue of tables; names are case-insensitive."""

    def schemas(self) -> list[str]:
        """Names of all schemas (databases), sorted."""

    def tables(self, schema: str) -> list[str]:
        """Names of the tables of a schema, sorted.

        Raises:
            NoSuchObjectError: there is no such schema.
        """

    def source(self, schema: str, name: str, as_of: str | None = None) -> ScanSource:
        """A table as of now, or of a moment.

        Raises:
            NoSuchObjectError: there is no such table.
        """


class PathCatalog:
    """Tables at known paths, without a metastore.

    Args:
        tables: base paths by ``name`` or ``schema.name``.
        default_schema: the schema of names that do not say.
        storage_options: arguments of the file system.
        counters: where I/O is counted.
    """

    def __init__(
        self,
        tables: Mapping[str, str],
        *,
        default_schema: str = "default",
        storage_options: Mapping[str, Any] | None = None,
        counters: IoCounters | None = None,
    ) -> None:
        self._paths: dict[tuple[str, str], str] = {}
        for text, path in tables.items():
            schema, _, name = text.rpartition(".")
            if not name or "." in schema:
                raise InvalidOptionError(f"{text!r} is no table name", remedy="give name=PATH or schema.name=PATH")
            self._paths[((schema or default_schema).lower(), name.lower())] = path
        self._storage_options = Credentials(storage_options or {})
        self._counters = counters

    def schemas(self) -> list[str]:
        """See :class:`TableCatalog`."""
        return sorted({schema for schema, _ in self._paths})

    def tables(self, schema: str) -> list[str]:
        """See :class:`TableCatalog`."""
        if schema.lower() not in self.schemas():
            raise NoSuchObjectError(f"no schema {schema}")
        return sorted(name for one, name in self._paths if one == schema.lower())

    def source(self, schema: str, name: str, as_of: str | None = None) -> ScanSource:
        """See :class:`TableCatalog`."""
        path = self._paths.get((schema.lower(), name.lower()))
        if path is None:
            raise NoSuchObjectError(f"no table {schema}.{name}")
        client = MetaClient.load(path, self._storage_options, counters=self._counters, listing=MetadataListing())
        return TableSource(client, Query.of(as_of=as_of, timezone=client.config.timezone))


class ConnectorCatalog:
    """Tables of a metastore, through the connector.

    Args:
        connector: the metastore.
    """

    def __init__(self, connector: HudiConnector) -> None:
        self._connector = connector

    def schemas(self) -> list[str]:
        """See :class:`TableCatalog`."""
        return self._connector.metadata.schemas()

    def tables(self, schema: str) -> list[str]:
        """See :class:`TableCatalog`."""
        return self._connector.metadata.tables(schema)

    def source(self, schema: str, name: str, as_of: str | None = None) -> ScanSource:
        """See :class:`TableCatalog`; as of now these are the partitions that were synced, as of a moment the table's.

        Raises:
            UnsupportedTableError: it is no Hudi table; as of a moment: it has partition keys that the metastore alone
                knows.
        """
        from hudi_hive.connector import ConnectorSource

        handle = self._connector.metadata.table(schema, name)
        if as_of is None:
            return ConnectorSource(self._connector, handle)
        if len(handle.extra_keys):
            keys = ", ".join(handle.extra_keys.names)
            raise UnsupportedTableError(
                f"{handle.full_name} cannot be read as of a moment: its files do not tell its partition keys ({keys})",
                path=handle.base_path,
            )
        query = Query.of(str(handle.query_type), as_of=as_of, timezone=handle.client.config.timezone)
        return TableSource(handle.client, query)
