"""The Python API: open a table, ask it a question, get Arrow data.

>>> table = HudiTable.open("/lake/trips")
>>> table.scan(row_filter="city = 'sf'", selected_fields=("id", "fare")).to_arrow()
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Unpack

import pyarrow as pa

from hudi_hive.errors import InvalidOptionError, UnsupportedTableError
from hudi_hive.metadata import MetadataListing, MetadataTable, list_partitions
from hudi_hive.metadata.reader import data_table_path, paths_below, row_partitions, row_schema
from hudi_hive.metrics import IoCounters
from hudi_hive.notebook_html import facts_html
from hudi_hive.plan import Query
from hudi_hive.plan.core import Filter
from hudi_hive.plan.model import Moment
from hudi_hive.read.scan import check_records_query
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient, TableConfig, TableDefinition, create_table
from hudi_hive.table_api.definition import TableFields
from hudi_hive.table_api.moment import at_once
from hudi_hive.table_api.scan import RecordsScan, Scan
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

        ``…/.hoodie/metadata`` opens a metadata table as a table of its records, which is only read.

        Args:
            path: the folder that holds ``.hoodie``: a local path or a URI.
            storage_options: arguments of the file system (keys, region, endpoint …).
            counters: where I/O is counted.

        Raises:
            TableNotFoundError: there is no Hudi table at the path.
            InvalidPropertiesError: its properties are broken.
            UnsupportedTableError: a table version or file format that is not read.
            MetadataTableError: the path is that of a metadata table that cannot be used.
        """
        records = MetadataRecordsTable.of_path(path, storage_options, counters)
        if records is not None:
            return records
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

    def partitions(self, below: Sequence[str] = ()) -> list[str]:
        """Paths of all partitions relative to the base path, sorted; ``[""]`` when it has no partition columns.

        They come from the metadata table, or from folders where there is none that can be used.

        Args:
            below: only partitions at or below one of these paths (``["2024/01"]``); without a metadata table only the
                folders below them are listed.
        """
        return list_partitions(self.client, below).partitions if below else self.client.partition_paths()

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

    def _repr_html_(self) -> str:
        config, timeline = self.config, self.timeline
        last = timeline.last_completed_write()
        facts = {
            "path": self.path,
            "type": self.type.replace("_", "-").lower(),
            "table version": self.version,
            "record key": ", ".join(config.record_keys),
            "partition columns": ", ".join(config.partition_fields),
            "ordering fields": ", ".join(config.ordering_fields),
            "metadata table": ", ".join(config.metadata_partitions) or "off",
            "active instants": len(timeline.instants),
            "pending instants": len(timeline.pending()),
            "last commit": last.requested if last else None,
        }
        return facts_html(f"HudiTable {self.name}", facts)


class MetadataRecordsTable(HudiTable):
    """The metadata table of a table as a table of its own, which is only read; made by ``HudiTable.open``.

    Its rows are the merged records, with the schema that they are written with: ``key``, ``type``, and one column for
    each kind of record. Its partitions are ``files``, ``column_stats`` …; they are no column, as in Hudi.

    Args:
        data: the table that it belongs to.

    Raises:
        MetadataTableError: the table has none that can be used.
    """

    def __init__(self, data: MetaClient) -> None:
        self._data = data
        self._records = MetadataTable.open(data)
        super().__init__(self._records.client)

    @classmethod
    def of_path(
        cls,
        path: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        counters: IoCounters | None = None,
    ) -> MetadataRecordsTable | None:
        """Open the metadata table at a path; None if the path is not one of a metadata table.

        Raises:
            HudiHiveError: the table that it belongs to, or the metadata table, cannot be opened.
        """
        base = data_table_path(path)
        return None if base is None else cls(MetaClient.load(base, storage_options, counters=counters))

    def refresh(self) -> MetadataRecordsTable:
        """The metadata table as of now, as another object."""
        return MetadataRecordsTable(self._data.reload())

    def schema(self, as_of: Moment | None = None) -> pa.Schema:
        """The Arrow schema of the records; it has no history, so that ``as_of`` is refused."""
        if as_of is not None:
            check_records_query(Query.of(as_of=as_of), self.path)
        return row_schema(self._records)

    def partitions(self, below: Sequence[str] = ()) -> list[str]:
        """The complete partitions: ``files``, ``column_stats`` …, sorted."""
        return paths_below(row_partitions(self._records), below)

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
        """Ask for records; arguments as of ``HudiTable.scan``.

        A filter on ``key`` by equality or ``IN`` reads only the blocks that hold those keys.

        Raises:
            UnsupportedTableError: anything but a snapshot is asked for.
        """
        query = Query.of(query_type, as_of=as_of, begin=begin, end=end, limit=limit, options=options)
        check_records_query(query, self.path)
        selected = None if selected_fields is None else tuple(selected_fields)
        return RecordsScan(self._records, query, row_filter, selected)

    # -- what changes a table, or looks into its metadata table ----------------------------------------------------

    def _read_only(self, *_: object, **__: object) -> NoReturn:
        raise UnsupportedTableError(
            "a metadata table is only read: the writes and services of its table keep it",
            path=self.path,
            remedy=f"write to {self._data.base_path}; `hudi-hive metadata` makes, checks and deletes it",
        )

    _serve: Any = _read_only
    _writer: Any = _read_only
    _altered: Any = _read_only
    delete_partitions: Any = _read_only
    mutator: Any = _read_only
    update_schema: Any = _read_only
    schema_history: Any = _read_only
    savepoints: Any = _read_only

    @property
    def metadata(self) -> NoReturn:
        """Refused: a metadata table has none."""
        self._read_only()
