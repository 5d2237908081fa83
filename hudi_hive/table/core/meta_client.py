"""``MetaClient``: storage, properties, timeline, partitions, files and schema of a table at one moment."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from hudi_hive.errors import FileVanishedError, InvalidPropertiesError, SchemaError, TableNotFoundError
from hudi_hive.metrics import IoCounters
from hudi_hive.schema import (
    META_FIELDS,
    EvolvedSchema,
    InternalSchema,
    add_partition_columns,
    parse_history,
    parse_internal_schema,
    shown_schema,
    with_meta_fields,
)
from hudi_hive.storage import Storage
from hudi_hive.table.core.generations import refuse_earlier_table
from hudi_hive.table.properties import BACKUP_PATH, PROPERTIES_PATH, TableConfig, is_old
from hudi_hive.table.view import DirectoryLister, FileSystemView, Lister
from hudi_hive.timeline import CommitMetadata, Instant, State, Timeline, timeline_folder
from hudi_hive.timeline.instants import CLEAN

_T = TypeVar("_T")

_LATEST_SCHEMA = "latest_schema"
_SCHEMA_FOLDER = ".hoodie/.schema"
_SCHEMA_COMMIT = re.compile(r"(\d+)(?:_\d+)?\.schemacommit")

_NO_TABLE_SCHEMA = frozenset({"CLUSTER", "COMPACT", "INDEX", "LOG_COMPACT"})
"""Operations whose commits do not say what the table's schema is (docs/format.md#avro-schemas)."""


def is_hudi_table(
    path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None, *, storage: Storage | None = None
) -> bool:
    """Whether a folder is the base path of a Hudi table: it holds ``.hoodie/hoodie.properties``, or its backup."""
    storage = storage if storage is not None else Storage(path, storage_options)
    return storage.exists(PROPERTIES_PATH) or storage.exists(BACKUP_PATH)


class MetaClient:
    """A table at one moment; everything but its properties is read or listed on first use.

    The timeline is read once and kept: all answers of one client are of one moment; :meth:`reload` gives a newer one.

    Attributes:
        storage: the table's storage, rooted at its base path; its counters count all I/O.
        config: the table's properties.
        listing: makes the lister that answers for partitions and files, from the client; directory listings without.
    """

    def __init__(
        self, storage: Storage, config: TableConfig, listing: Callable[[MetaClient], Lister] | None = None
    ) -> None:
        self.storage = storage
        self.config = config
        self.listing = listing
        self._lister: Lister | None = None
        self._timeline: Timeline | None = None
        self._earlier: Timeline | None = None
        self._memo: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._loading = threading.Lock()
        self._schemas: dict[str | None, dict[str, Any] | None] = {}

    @classmethod
    def load(
        cls,
        base_path: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        *,
        counters: IoCounters | None = None,
        storage: Storage | None = None,
        listing: Callable[[MetaClient], Lister] | None = None,
    ) -> MetaClient:
        """Load the table at ``base_path``; only ``hoodie.properties`` is read.

        Args:
            base_path: folder that holds ``.hoodie``: a local path or URI.
            storage_options: as for :class:`~hudi_hive.storage.Storage`.
            counters: where I/O is counted.
            storage: use this storage, rooted at the base path, in place of a new one.
            listing: makes the lister for partitions and files; directory listings without it.

        Raises:
            TableNotFoundError: there is no Hudi table.
            InvalidPropertiesError: its properties are broken.
            UnsupportedTableError: a table version, layout or file format that is not read.
        """
        if storage is None:
            storage = Storage(base_path, storage_options, counters=counters)
        try:
            return cls(storage, TableConfig.load(storage), listing)
        except TableNotFoundError:
            if not storage.exists():
                raise TableNotFoundError(
                    "no such folder",
                    path=storage.uri(),
                    remedy="give the table's base path, the folder that holds .hoodie",
                ) from None
            raise

    def reload(self) -> MetaClient:
        """A client of the same table as of now: properties and timeline are read again, storage and counters shared.

        On a store the commits that this client has read are not read again.
        """
        other = type(self)(self.storage, TableConfig.load(self.storage), self.listing)
        if not self.storage.is_local:
            other._earlier = self._timeline if self._timeline is not None else self._earlier
        return other

    def at(self, timeline: Timeline) -> MetaClient:
        """A client of the same table with the given timeline, as of the moment when that was read."""
        other = type(self)(self.storage, self.config, self.listing)
        other._timeline = timeline
        return other

    def with_config(self, config: TableConfig) -> MetaClient:
        """A client of the same moment whose properties have just been changed, under the table's lock."""
        other = type(self)(self.storage, config, self.listing)
        other._timeline, other._earlier = self._timeline, self._earlier
        return other

    def with_listing(self, listing: Callable[[MetaClient], Lister] | None) -> MetaClient:
        """A client of the same moment that takes partitions and files from another lister."""
        if listing == self.listing:
            return self
        other = type(self)(self.storage, self.config, listing)
        _ = self.timeline  # of the same moment
        other.__dict__.update({k: v for k, v in self.__dict__.items() if k not in ("listing", "_lister")})
        return other

    @property
    def lister(self) -> Lister:
        """The lister of partitions and files, made on first use."""
        if self._lister is None:
            self._lister = self.listing(self) if self.listing is not None else self.directory_lister
        return self._lister

    @property
    def directory_lister(self) -> DirectoryLister:
        """The lister that lists folders; clients of the same moment share its listings."""
        return self.memoize("directory_lister", lambda: DirectoryLister(self.storage))

    def memoize(self, name: str, make: Callable[[], _T]) -> _T:
        """Cache a value of another layer for this moment: ``make`` is called once for each name."""
        with self._lock:  # threads that plan together share it
            if name not in self._memo:
                self._memo[name] = make()
            value: _T = self._memo[name]
        return value

    def __repr__(self) -> str:
        config = self.config
        return f"MetaClient({self.base_path!r}, {config.name!r}, {config.table_type}, version {config.version})"

    def __getstate__(self) -> dict[str, Any]:
        return {"storage": self.storage, "config": self.config, "listing": self.listing}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["storage"], state["config"], state.get("listing"))  # type: ignore[misc]

    @property
    def base_path(self) -> str:
        """The table's base path as a URI."""
        return self.storage.uri()

    @property
    def counters(self) -> IoCounters:
        """Counts of all I/O on the table."""
        return self.storage.counters

    @property
    def timeline(self) -> Timeline:
        """The active timeline, read on first use with one listing.

        Raises:
            TimelineError: it cannot be read.
        """
        if self._timeline is None:
            with self._loading:  # two threads would read it at two moments, and plan with both
                if self._timeline is None:
                    timeline = self._load_timeline()
                    if self._earlier is not None:
                        timeline.adopt_commits(self._earlier)
                        self._earlier = None
                    self._timeline = timeline
        return self._timeline

    @property
    def timeline_folder(self) -> str:
        """The folder of the active timeline, relative to the base path."""
        return timeline_folder(self.config.layout, self.config.timeline_path)

    def load_timeline(self, listing: pa.Table) -> None:
        """Make the timeline of a listing of its folder, in place of one that is made on first use."""
        with self._loading:
            self._timeline = self._load_timeline(listing)

    def _load_timeline(self, listing: pa.Table | None = None) -> Timeline:
        config = self.config
        return Timeline.load(
            self.storage,
            layout=config.layout,
            timeline_path=config.timeline_path,
            history_path=config.history_path,
            archive_folder=config.archive_folder,
            timezone=config.timezone,
            listing=listing,
        )

    def refuse_removed_files(self) -> None:
        """Refuse to go on if a table service deleted files since the timeline was read; lists the timeline once more.

        Ask after listing files that the timeline does not explain: where a later commit has rewritten a file and a
        clean has removed the one before, the listing holds neither of the two that this client's moment could see.

        Raises:
            FileVanishedError: a clean has begun to delete, or a commit was rolled back, since the timeline was read.
        """
        timeline, current = self.timeline, self._load_timeline()
        seen = {(instant.requested, instant.state) for instant in timeline.instants if instant.action == CLEAN}
        removers = [
            instant
            for instant in current.instants
            if instant.action == CLEAN
            and instant.state is not State.REQUESTED
            and (instant.requested, instant.state) not in seen
        ]
        first = current.first_active()
        active_times = {instant.requested for instant in current.write_instants()}
        removers += [
            instant
            for instant in timeline.write_instants()
            if instant.requested not in active_times
            and (first is None or instant.requested >= first)
            and not timeline.is_staged(instant)
        ]
        if removers:
            raise FileVanishedError(
                "files were cleaned or rolled back since the table was opened",
                path=self.base_path,
                instant=removers[-1].requested,
                remedy="open or refresh the table and ask again",
            )

    # -- partitions and files --------------------------------------------------------------------------------------

    def partition_paths(self) -> list[str]:
        """Sorted paths of all partitions, relative to the base path; ``[""]`` for a table that is not partitioned.

        A directory listing takes folders that hold a partition metafile (docs/format.md#partition-metafile), one
        listing per folder, and keeps what it saw of the files for :meth:`list_files`.

        Raises:
            InvalidPropertiesError: the properties name no partition columns and the newest commit wrote to partitions.
        """
        if self.config.is_partitioned:
            return self.lister.partitions()
        if is_old(self.config) and not self.config.drop_partition_columns:
            # Releases before 0.9 did not put the partition columns down; they are in the files.
            return self.lister.partitions() or [""]
        self._refuse_partitions()
        return [""]

    def _refuse_partitions(self) -> None:
        """Without partition columns only the base path is looked at: no commit may have written elsewhere."""
        last = self.timeline.last_completed_write()
        if last is None:
            return
        written = self.timeline.commit_metadata(last).partitions_written()
        if any(written):
            raise InvalidPropertiesError(
                f"hoodie.table.partition.fields is missing, but a commit wrote to the partition {written[-1]!r}",
                path=self.storage.uri(PROPERTIES_PATH),
                instant=last.requested,
                remedy="restore the key hoodie.table.partition.fields",
            )

    def list_files(self, partitions: Sequence[str] | None = None) -> pa.Table:
        """List the files of partitions as a table of ``FILES_SCHEMA``.

        By directory listing: one per partition, concurrent; partitions that :meth:`partition_paths` walked are not
        listed again. A partition that does not exist gives no rows: metadata may name partitions that were dropped and
        cleaned since.

        Args:
            partitions: paths relative to the base path; all partitions without it.
        """
        return self.lister.files(self.partition_paths() if partitions is None else partitions)

    def file_system_view(
        self, partitions: Sequence[str] | None = None, files: pa.Table | None = None
    ) -> FileSystemView:
        """Make the file-system view of ``files`` (``FILES_SCHEMA``), or of a listing of ``partitions``."""
        timeline = self.timeline  # first: files that a later commit writes must not be missing from the listing
        view = FileSystemView(files if files is not None else self.list_files(partitions), timeline)
        self.refuse_earlier_table(view)
        return view

    def refuse_earlier_table(self, view: FileSystemView) -> None:
        """Refuse a view, made from listed folders, that holds files of an earlier table.

        Raises:
            TimelineError: there are files from before all that the timeline knows.
        """
        if not self.lister.is_authoritative and self.config.key_generator != "HOODIE_TABLE_METADATA":
            refuse_earlier_table(self.timeline, view.instants, self.base_path)

    # -- schema ----------------------------------------------------------------------------------------------------

    def avro_schema(self, as_of: str | None = None) -> dict[str, Any] | None:
        """The table's Avro schema without meta columns, from the newest commit that has one.

        Source: docs/format.md#avro-schemas.

        Args:
            as_of: requested time: the schema that the table had then.

        Returns:
            The parsed schema, or None when neither commits nor properties hold one.

        Raises:
            CorruptInstantError: a commit cannot be decoded.
            InvalidPropertiesError: ``hoodie.table.create.schema`` is not JSON.
        """
        if as_of not in self._schemas:
            self._schemas[as_of] = self._find_avro_schema(as_of)
        return self._schemas[as_of]

    def _find_avro_schema(self, as_of: str | None) -> dict[str, Any] | None:
        metadata = self.schema_commit(as_of)
        if metadata is not None and metadata.schema is not None:
            return _without_meta_fields(metadata.schema)
        text = self.config.create_schema
        if text is None:
            return None
        try:
            schema = json.loads(text)
        except ValueError as error:
            raise InvalidPropertiesError(
                f"hoodie.table.create.schema is not JSON: {error}", path=self.storage.uri(PROPERTIES_PATH)
            ) from error
        return _without_meta_fields(schema)

    def schema_commit(self, as_of: str | None = None) -> CommitMetadata | None:
        """Metadata of the newest completed commit that holds the table's schema; None without one.

        Before its first commit a table has the schema that it has now, as in Hudi.
        """
        timeline = self.timeline
        active = timeline.write_instants()
        commit = self._newest_with_schema(active, as_of, timeline.commit_metadata)
        # The archive is asked only for a time before the active timeline: the newest schema is always active.
        if commit is None and as_of is not None and not any(instant.requested <= as_of for instant in active):
            archived = timeline.archived()
            commit = self._newest_with_schema(archived.instants, as_of, archived.commit_metadata)
            if commit is None and not any(one.is_write and one.requested <= as_of for one in archived.instants):
                return self.schema_commit()
        return commit

    @staticmethod
    def _newest_with_schema(
        instants: Iterable[Instant], as_of: str | None, read: Callable[[Instant], CommitMetadata]
    ) -> CommitMetadata | None:
        wanted = [i for i in instants if i.is_completed and i.is_write and (as_of is None or i.requested <= as_of)]
        for instant in sorted(wanted, key=lambda i: i.requested, reverse=True):
            metadata = read(instant)
            if metadata.operation not in _NO_TABLE_SCHEMA and metadata.schema is not None:
                return metadata
        return None

    def evolved_schema(self, as_of: str | None = None) -> EvolvedSchema | None:
        """The id-based schema, now or as of a requested time; None for a table without one.

        What commits say of their own files is not in it: :meth:`commit_schemas`.

        Raises:
            SchemaError: the schema or its history cannot be decoded.
        """
        return self.memoize(f"evolved_schema {as_of}", lambda: self._evolved_schema(as_of))

    def _evolved_schema(self, as_of: str | None) -> EvolvedSchema | None:
        metadata = self.schema_commit(as_of)
        text = metadata.extra.get(_LATEST_SCHEMA) if metadata is not None else None
        if metadata is None or not text:
            return None
        return EvolvedSchema(self._internal_schema(text, metadata.instant), self.schema_history())

    def commit_schemas(self, instants: Iterable[str]) -> dict[str, InternalSchema]:
        """The id-based schemas that commits recorded, by requested time; each commit is read once.

        Commits that are not active any more, or say nothing, are left out: the history tells of them.

        Args:
            instants: requested times.

        Raises:
            CorruptInstantError: a commit cannot be decoded.
            SchemaError: what it says is no id-based schema.
        """
        requested = set(instants)
        schemas: dict[str, InternalSchema | None] = self.memoize("commit_schemas", dict)
        new = [i for i in self.timeline.write_instants() if i.requested in requested and i.requested not in schemas]
        self.timeline.read_ahead(new)
        for instant in new:
            text = self.timeline.commit_metadata(instant).extra.get(_LATEST_SCHEMA)
            schemas[instant.requested] = self._internal_schema(text, instant) if text else None
        return {time: schema for time in requested if (schema := schemas.get(time)) is not None}

    def _internal_schema(self, text: str, instant: Instant) -> InternalSchema:
        """A commit's id-based schema; most commits repeat that of the one before them, which is parsed once."""
        parsed: dict[str, InternalSchema] = self.memoize("internal_schemas", dict)
        if text not in parsed:
            try:
                parsed[text] = parse_internal_schema(text)
            except SchemaError as error:
                path = self.storage.uri(instant.path)
                raise SchemaError(error.message, path=path, instant=instant.requested) from error
        return parsed[text]

    def schema_history_files(self) -> dict[str, str]:
        """Paths of the history files of the id-based schema, by the requested time of their completed commit."""
        listing = self.storage.list(_SCHEMA_FOLDER, missing_ok=True)
        found = [_SCHEMA_COMMIT.fullmatch(path.rpartition("/")[2]) for path in listing.column("path").to_pylist()]
        times = {match[1]: f"{_SCHEMA_FOLDER}/{match[0]}" for match in found if match is not None}
        committed = self.timeline.committed_mask(pa.array(list(times), pa.string())).to_pylist()
        return {time: path for (time, path), visible in zip(times.items(), committed, strict=True) if visible}

    def schema_history(self) -> tuple[InternalSchema, ...]:
        """The versions in the newest ``.schemacommit`` of a completed commit, oldest first.

        Read and parsed once for all clients of a moment.

        Raises:
            SchemaError: it is no history.
        """
        return self.memoize("schema_history", self._read_history)

    def _read_history(self) -> tuple[InternalSchema, ...]:
        history_files = self.schema_history_files()
        newest = max(history_files, default=None)
        if newest is None:
            return ()
        path = history_files[newest]
        try:
            return parse_history(self.storage.read_bytes(path))
        except SchemaError as error:
            raise SchemaError(error.message, path=self.storage.uri(path), instant=newest) from error

    def schema(self, as_of: str | None = None) -> pa.Schema:
        """The table's Arrow schema: the meta columns (when the table has them), then the data columns.

        Args:
            as_of: requested time: the schema that the table had then.

        Raises:
            SchemaError: no commit, property or data file holds a schema, or it cannot be converted.
        """
        avro = self.avro_schema(as_of)
        if avro is None:
            raise SchemaError(
                f"the table's schema {f'as of {as_of} ' if as_of else ''}is not known: no commit holds one",
                path=self.base_path,
                instant=as_of,
                remedy="write a commit, or set hoodie.table.create.schema",
            )
        try:
            schema = shown_schema(avro, self.config.base_file_format)
        except SchemaError as error:
            raise SchemaError(error.message, path=self.base_path, instant=as_of, remedy=error.remedy) from error
        if self.config.drop_partition_columns:
            # They are in no file: what the commit's schema does not name is text from the path.
            columns = [pa.field(name, pa.string()) for name in self.config.partition_fields]
            schema = add_partition_columns(schema, pa.schema([c for c in columns if c.name not in schema.names]))
        return with_meta_fields(schema) if self.config.populate_meta_fields else schema

    def partition_schema(self) -> pa.Schema:
        """The partition columns, in the order of the partition path, with their types in the table's schema."""
        schema = self.schema()
        names = self.config.partition_fields
        missing = [name for name in names if name not in schema.names]
        return pa.schema([schema.field(name) if name not in missing else pa.field(name, pa.string()) for name in names])


def _without_meta_fields(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as commits should hold it: those of ALTER TABLE have the meta fields in it."""
    return {**schema, "fields": [field for field in schema["fields"] if field["name"] not in META_FIELDS]}
