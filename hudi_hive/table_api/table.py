"""The Python API: open a table, ask it a question, get Arrow data.

>>> table = HudiTable.open("/lake/trips")
>>> table.scan(row_filter="city = 'sf'", selected_fields=("id", "fare")).to_arrow()
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import pyarrow as pa

from hudi_hive.errors import InvalidOptionError
from hudi_hive.metadata import MetadataListing
from hudi_hive.metrics import IoCounters
from hudi_hive.plan import Query
from hudi_hive.plan.core import Filter
from hudi_hive.plan.model import Moment
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient, TableConfig, TableDefinition, create_table
from hudi_hive.table_api.definition import TableFields
from hudi_hive.table_api.moment import at_once
from hudi_hive.table_api.scan import Scan
from hudi_hive.table_api.services import MaintainedTable
from hudi_hive.table_api.writes import WritableTable
from hudi_hive.timeline import Timeline


class HudiTable(WritableTable, MaintainedTable):
    """A Hudi table as of one moment: when it was opened, or behind the last change that was made through it.

    - Every method that changes the table (``write`` and its kin, commits of ``update_schema`` and ``mutator``, the
      table services, ``metadata.create`` …) moves this object to the moment behind its own change, and nothing else
      does: what other writers commit is not seen before. A method that raises leaves the moment as it was.
    - :meth:`refresh` gives another object of the moment of now, and leaves this one alone.
    - A :class:`Scan` stays at the moment at which it was made, whatever the table does.

    Args:
        client: the table as of the moment; :meth:`open` and :meth:`create` make one.
    """

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        *,
        counters: IoCounters | None = None,
    ) -> HudiTable:
        """Open the table at a base path; no metastore is needed.

        Args:
            path: the folder that holds ``.hoodie``: a local path or a URI.
            storage_options: arguments of the file system (keys, region, endpoint …).
            counters: where I/O is counted.

        Raises:
            TableNotFoundError: there is no Hudi table at the path.
            InvalidPropertiesError: its properties are broken.
            UnsupportedTableError: a table version or file format that is not read.
        """
        return cls(at_once(MetaClient.load(path, storage_options, counters=counters, listing=MetadataListing())))

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        definition: TableDefinition | None = None,
        *,
        storage_options: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        **fields: Unpack[TableFields],
    ) -> HudiTable:
        """Make an empty table: ``HudiTable.create(path, name="rides", record_keys=["id"], partition_fields=["city"])``.

        Args:
            path: the base path: a local path or a URI.
            definition: what the table is.
            storage_options: arguments of the file system.
            options: write options; those of the lock (``hoodie.write.lock.provider`` …) are needed on stores that
                cannot create files atomically.
            fields: the fields of :class:`~hudi_hive.table.TableDefinition` by name, in place of ``definition``:
                ``name``, ``table_type``, ``version``, ``record_keys``, ``partition_fields``, ``ordering_fields`` …

        Raises:
            TableExistsError: there is a table already.
            LockError: the store cannot create files atomically, and no lock provider is set.
            InvalidOptionError: a value that no table can have, or both ``definition`` and ``fields``.
            UnknownColumnError: the schema lacks a key, partition or ordering column.
        """
        if definition is not None and fields:
            raise InvalidOptionError(
                f"the table is defined twice: by a definition and by {', '.join(fields)}",
                remedy="change the definition by dataclasses.replace",
            )
        if definition is None:
            definition = TableDefinition(**fields)
        storage = Storage(path, storage_options)
        lock = None
        if not storage.creates_atomically:
            from hudi_hive.metastore.transactions import MetastoreLock
            from hudi_hive.write.coordination import table_lock

            lock = table_lock(options or {}, storage, metastore=MetastoreLock.connect)
        # Nothing is read anew: once the table is there this does not fail.
        client = create_table(path, definition, storage=storage, lock=lock)
        return cls(MetaClient(client.storage, client.config, MetadataListing()))

    def refresh(self) -> HudiTable:
        """The same table as of now, as another object; this one stays at its moment."""
        return HudiTable(at_once(self.client.reload()))

    @property
    def name(self) -> str:
        """``hoodie.table.name``."""
        return self.client.config.name

    @property
    def type(self) -> str:
        """``COPY_ON_WRITE`` or ``MERGE_ON_READ``."""
        return self.client.config.table_type

    @property
    def version(self) -> int:
        """The table version: 6, 8 or 9."""
        return self.client.config.version

    @property
    def config(self) -> TableConfig:
        """The table's properties, typed."""
        return self.client.config

    @property
    def properties(self) -> dict[str, str]:
        """The raw properties of ``hoodie.properties``."""
        return dict(self.client.config.properties)

    @property
    def timeline(self) -> Timeline:
        """The active timeline."""
        return self.client.timeline

    def schema(self, as_of: Moment | None = None) -> pa.Schema:
        """The Arrow schema, meta columns first; with ``as_of`` the one that the table had then."""
        return self.client.schema(Query.of(as_of=as_of, timezone=self.config.timezone).as_of)

    def partitions(self) -> list[str]:
        """Paths of all partitions relative to the base path, sorted; ``[""]`` when it has no partition columns."""
        return self.client.partition_paths()

    def scan(
        self,
        row_filter: Filter = None,
        selected_fields: Sequence[str] | None = None,
        query_type: str | None = None,
        as_of: Moment | None = None,
        begin: Moment | None = None,
        end: Moment | None = None,
        limit: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Scan:
        """Ask for rows. Nothing is read before the scan is.

        Args:
            row_filter: SQL text (``"city = 'sf' AND fare > 10"``), DNF tuples or an Arrow expression.
            selected_fields: columns to return, in this order; all without it.
            query_type: ``snapshot`` (the default), ``read_optimized``, ``incremental`` (the default with ``begin``) or
                ``cdc`` (what changed in a range, with images before and after).
            as_of: show the table as of this requested time: an instant, ``yyyy-MM-dd[ HH:mm:ss[.SSS]]`` or a datetime.
            begin: incremental: after this time; ``"earliest"`` takes everything. Requested times in table version 6,
                completion times in 8 and 9.
            end: incremental: up to this time, inclusive.
            limit: at most so many rows.
            options: Hudi's own read options (``hoodie.datasource.query.type`` …); what is not honoured is refused.

        Raises:
            InvalidOptionError: an option or argument is unknown, invalid or contradicts another.
        """
        query = Query.of(
            query_type,
            as_of=as_of,
            begin=begin,
            end=end,
            limit=limit,
            options=options,
            timezone=self.config.timezone,
        )
        return Scan(self.client, query, row_filter, None if selected_fields is None else tuple(selected_fields))

    def __repr__(self) -> str:
        kind = {"COPY_ON_WRITE": "copy-on-write", "MERGE_ON_READ": "merge-on-read"}[self.type]
        parts = ", ".join(self.config.partition_fields) or "none"
        return f"HudiTable({self.name!r}, {kind}, version {self.version}, partition columns: {parts}, {self.path})"
