"""The table that a statement writes: its columns, its state when the statement began, the options of its writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StructField, StructType, TimestampType

from hudi_hive.errors import InvalidOptionError, SparkError, UnsupportedTableError, WriteConflictError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.names import HOODIE_DATASOURCE_WRITE_OPERATION, HOODIE_HIVE_TIMESTAMP_FOLDERS, HOODIE_PREFIX
from hudi_hive.options import Face, Operation, OptionSet
from hudi_hive.options.services import COMPACT_INLINE
from hudi_hive.options.write import OVERWRITE_MODE, SCHEMA_ON_READ
from hudi_hive.plan import Query
from hudi_hive.schema import META_FIELDS, from_avro, merge_writer
from hudi_hive.spark.bridge import (
    JavaValue,
    metastore_settings,
    option,
    python_session,
    quoted,
    session_settings,
    store_options,
    to_arrow_schema,
)
from hudi_hive.spark.catalog import HudiTableEntry, SessionHook, sync_config
from hudi_hive.spark.scan import scanned, table_snapshot
from hudi_hive.spark.statements.entries import SessionEntry, follow_write
from hudi_hive.spark.statements.writes.sink import with_arguments
from hudi_hive.spark.write import RowChanges, StatementRows, delete_partitions, write
from hudi_hive.sync import HiveSyncTool
from hudi_hive.sync.config import read_options
from hudi_hive.sync.run import refuse_catalog_types
from hudi_hive.table import MetaClient
from hudi_hive.table.merge import MergeSpec
from hudi_hive.timeline.instants import REPLACE_COMMIT
from hudi_hive.write.coordination import SYNC, followed
from hudi_hive.write.index import IndexOptions
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.writers import WriteReport

REFRESH: Final = "the session's cached queries"
COLUMNS: Final = "the entry's columns"
STATISTICS: Final = "the entry's statistics"
_WRITE_OPTIONS: Final = OptionSet("write", Face.WRITE, Face.LOCK)


def write_settings(session: JavaValue) -> dict[str, str]:
    """The settings of a session that are options of writes or of their locks."""
    return write_options(session_settings(session))


def write_options(texts: Mapping[str, str]) -> dict[str, str]:
    """Those of some settings or properties that are options of writes or of their locks."""
    return {name: text for name, text in texts.items() if name.startswith(HOODIE_PREFIX) and name in _WRITE_OPTIONS}


def checked_options(texts: Mapping[str, str], location: str) -> dict[str, str]:
    """The options of one write, but for those that Spark adds.

    Args:
        texts: names and texts.
        location: of the table, for messages.

    Raises:
        InvalidOptionError: a name that writes do not have.
    """
    own = {name: text for name, text in texts.items() if not name.startswith("__") and name != "path"}
    unknown = sorted(name for name in own if name not in _WRITE_OPTIONS)
    if unknown:
        raise InvalidOptionError(f"options that writes do not have: {', '.join(unknown)}", path=location)
    return own


@dataclass(frozen=True)
class WriteTarget:
    """The table that a statement writes.

    Attributes:
        hook: of the session.
        name: as the statement has it, for messages.
        location: the base path as Hadoop writes it.
        entry: its entry in the session's catalog; None for a table by path.
        options: of this write, before the session's settings.
        around: the WITH clause that the statement stands in; None without one.
        evolved: the columns that the statement leaves; None for those that the table has.
    """

    hook: SessionHook
    name: str
    location: str
    entry: HudiTableEntry | None
    options: Mapping[str, str] = field(default_factory=dict)
    around: JavaValue | None = None
    evolved: StructType | None = None

    def with_columns(self, columns: StructType) -> WriteTarget:
        """The table, of the same moment, with the columns that the statement leaves."""
        made = replace(self, evolved=columns)
        vars(made)["client"] = self.client
        return made

    @cached_property
    def client(self) -> MetaClient:
        """The table when the statement began: what the statement reads is of this moment or later."""
        client = MetaClient.load(self.location, store_options(self.hook.session, self.location))
        _ = client.timeline  # which is read when it is first asked for
        return client

    @cached_property
    def shown_columns(self) -> StructType:
        """The columns that queries have, in the catalog's order."""
        declared = None if self.entry is None else self.entry.declared
        environment, session = self.hook.environment, self.hook.session
        snapshot = table_snapshot(environment, session, self.location, Query.of("snapshot"), declared)
        return scanned(snapshot, declared).columns

    @cached_property
    def columns(self) -> StructType:
        """The columns without the meta columns, in the catalog's order; those that the statement adds behind them."""
        if self.evolved is not None:
            return self.evolved
        own = [one for one in self.shown_columns if one.name not in META_FIELDS]
        return StructType([StructField(one.name, one.dataType) for one in own])

    @property
    def shows_meta_columns(self) -> bool:
        """Whether queries have the meta columns: a sync may leave them out of the catalog."""
        return set(META_FIELDS) <= set(self.shown_columns.names)

    @property
    def has_record_places(self) -> bool:
        """Whether rows of the table tell which file groups they are in, or must since they have no keys."""
        return not self.record_keys or self.fills_meta_columns

    @property
    def fills_meta_columns(self) -> bool:
        """Whether queries have the meta columns, and these have values."""
        return self.shows_meta_columns and self.client.config.populate_meta_fields

    @property
    def partition_columns(self) -> list[str]:
        """Names of the partition columns, as the schema writes them."""
        names = {name.lower() for name in self.client.config.partition_fields}
        return [name for name in self.columns.names if name.lower() in names]

    @property
    def record_keys(self) -> list[str]:
        """Names of the key columns in lower case; none for a table whose keys the writer makes up."""
        return [name.lower() for name in self.client.config.record_keys]

    @cached_property
    def fixed_columns(self) -> frozenset[str]:
        """Names in lower case of the columns that keys and partition paths are made of: rows keep their values."""
        return frozenset((*self.record_keys, *(name.lower() for name in self.client.config.partition_fields)))

    @cached_property
    def moves_records(self) -> bool:
        """Whether the index of the session's writes finds a record in every partition, so that it may move."""
        config = WriteConfig.of(self.settings, self.client.config)
        return IndexOptions.of(config.index, self.client.config).is_global

    @cached_property
    def merge_rules(self) -> MergeSpec:
        """Which of two records of a key counts."""
        return MergeSpec.from_config(self.client.config)

    def check_replaces(self, statement: str) -> None:
        """Refuse a statement that changes rows where a row of an equal ordering value would change nothing.

        Raises:
            UnsupportedTableError: it is such a table.
        """
        if self.merge_rules.first_of_equals:
            raise UnsupportedTableError(
                f"{statement} of {self.name}, which keeps the first of records with equal ordering values",
                path=self.location,
                remedy="INSERT the rows with greater ordering values",
            )

    def setting(self, name: str) -> str | None:
        """An option of this write, else a setting of the session; None where it is not set."""
        if name in self.options:
            return self.options[name]
        text = option(self.hook.session.conf().getOption(name))
        return None if text is None else str(text)

    @cached_property
    def settings(self) -> dict[str, str]:
        """The table's properties and the session's settings that are options of writes, but for those of statements.

        Tables with log files are compacted in line unless they say otherwise, as by Hudi's batch writes.
        """
        decided = {HOODIE_DATASOURCE_WRITE_OPERATION, OVERWRITE_MODE.name}
        defaults = {COMPACT_INLINE.name: "true"} if self.client.config.is_merge_on_read else {}
        stated = {} if self.entry is None else write_options(self.entry.properties)
        times = {HOODIE_HIVE_TIMESTAMP_FOLDERS: self._times_in_paths}
        texts = {**defaults, **stated, **write_settings(self.hook.session), **self.options, **times}
        if texts.get(SCHEMA_ON_READ.name, "").lower() == "false":
            decided = {*decided, SCHEMA_ON_READ.name}  # in a session it is about ALTER TABLE, not about the table's ids
        return {name: text for name, text in texts.items() if name not in decided}

    @property
    def _times_in_paths(self) -> str:
        """Whether timestamps stand in partition paths as text, as in those that there are; ``true`` where none are."""
        names = {one.name for one in self.columns if isinstance(one.dataType, TimestampType)}
        if not names & set(self.partition_columns):
            return "true"
        paths = [path for path in self.client.partition_paths() if any(map(str.isdigit, path))]
        return "true" if not paths or any("%3A" in path for path in paths) else "false"

    def option(self, name: str) -> str | None:
        """A setting of the session, else a property of the table; None where neither has it."""
        text = self.setting(name)
        return text if text is not None or self.entry is None else self.entry.properties.get(name)

    def assignable(self, parts: Sequence[str], alias: str) -> tuple[str, ...]:
        """The column that a statement assigns, or the field of a struct, as the schema writes its names.

        Args:
            parts: its name, perhaps behind the table's.
            alias: what the statement calls the table.

        Raises:
            SparkError: there is none.
        """
        behind = [parts[at + 1 :] for at, part in enumerate(parts[:-1]) if part.lower() == alias.lower()]
        for rest in (*behind, parts):
            path = _in_struct(self.columns, rest)
            if path is not None:
                return path
        raise SparkError(
            f"{'.'.join(parts)} is no column of {self.name}, nor a field of its structs, that can be assigned",
            path=self.location,
            remedy=f"its columns are {', '.join(self.columns.names)}",
        )

    def type_of(self, path: Sequence[str]) -> DataType:
        """Type of a column or of a field of structs."""
        kind: DataType = self.columns
        for name in path:
            assert isinstance(kind, StructType)
            kind = kind[name].dataType
        return kind

    def is_fixed(self, path: Sequence[str]) -> bool:
        """Whether keys or partition paths are made of a column or field, of what is in it, or of what it is in."""
        name = ".".join(path).lower()
        return any(
            f"{fixed}.".startswith(f"{name}.") or f"{name}.".startswith(f"{fixed}.") for fixed in self.fixed_columns
        )

    def columns_of_query(self, query: JavaValue) -> StructType | None:
        """The columns of a query of the statement, as Spark resolves them; None where it cannot yet."""
        try:
            text = self.resolved_query(query).schema().json()
        except (PySparkException, Py4JJavaError):
            return None  # with parameters, or wrong: what is wrong with it Spark tells later
        return StructType.fromJson(json.loads(text))

    def resolved_query(self, query: JavaValue) -> JavaValue:
        """The resolved plan of a query of the statement; what is wrong with it is Spark's error."""
        from hudi_hive.spark.statements.time_travel import rewrite_time_travel

        whole = (
            query if self.around is None else with_arguments(self.hook.environment.jvm, self.around, {"child": query})
        )
        resolved = rewrite_time_travel(self.hook, whole)
        frame = self.hook.environment.jvm.classic.Dataset.ofRows(self.hook.session, resolved)
        return frame.queryExecution().analyzed()

    # -- writing -----------------------------------------------------------------------------------------------------

    def write(
        self,
        rows: DataFrame,
        operation: Operation,
        *,
        reads: bool = False,
        options: Mapping[str, str] | None = None,
        replaces: Callable[[str], bool] | None = None,
        changes: RowChanges | None = None,
    ) -> None:
        """Write rows in one commit, then bring the catalog up to date.

        Args:
            rows: the rows.
            operation: of the write.
            reads: the rows were made of the table's own, which must be as they were when the statement began.
            options: of this write; without them the table's and the session's.
            replaces: says of the path of a partition whether an overwrite replaces it, beside those of its rows.
            changes: what the rows of an upsert are; all are rows to put into the table without it.
        """
        texts = {**(self.settings if options is None else options), HOODIE_DATASOURCE_WRITE_OPERATION: operation.value}
        located = reads and bool(self.record_keys) and self.has_record_places
        statement = StatementRows(self._check if reads else None, replaces, changes, located)
        if self.evolved is not None:
            self._check_catalog(self.evolved)
        report = write(rows, self.location, texts, "append", statement=statement)
        assert report is not None
        self.follow(report)

    def delete_partitions(self, paths: Sequence[str]) -> None:
        """Replace all file groups of partitions by none in one commit, then bring the catalog up to date.

        Args:
            paths: of the partitions, in which ``*`` stands for any characters.
        """
        self.follow(delete_partitions(python_session(self.hook.session), self.location, paths, self.settings))

    def _check(self, client: MetaClient) -> None:
        """Refuse to write what was made of rows that others have changed since.

        Raises:
            WriteConflictError: a commit was completed since the statement began.
        """
        before = {instant.requested for instant in self.client.timeline.write_instants()}
        others = [one for one in client.timeline.write_instants() if one.requested not in before]
        if others:
            raise WriteConflictError(
                f"{self.name} was changed while the statement read it",
                path=self.location,
                instant=others[0].requested,
                remedy="run the statement again",
            )

    def follow(self, report: WriteReport) -> None:
        """Sync the table to the metastore that its entry is in; what fails is logged, as the commit stands.

        Args:
            report: of the write that was committed.
        """
        if self.entry is None:
            return
        refreshed = quoted(*self.entry.declared.name.split("."))
        report = followed(
            report, self.location, REFRESH, lambda: python_session(self.hook.session).catalog.refreshTable(refreshed)
        )
        options = metastore_settings(self.hook.session)
        uris = read_options(options)[0].get("metastore_uris") or ()
        entry = self.entry
        if not uris:  # the table's partitions are read from itself
            if (columns := self.evolved) is not None:
                shown = SessionEntry(self.hook, entry)
                report = followed(report, self.location, COLUMNS, lambda: shown.set_columns(types=columns))
            followed(report, self.location, STATISTICS, lambda: follow_write(self.hook, entry, None))
            return

        def sync() -> None:
            with HiveMetastore(uris) as metastore:
                client = self.client.reload()
                stored = store_options(self.hook.session, self.location)
                config = sync_config(metastore, entry, client, options, stored)
                HiveSyncTool(config, metastore=metastore, client=client).sync()
                follow_write(self.hook, entry, metastore)
                if self.evolved is not None:
                    SessionEntry(self.hook, entry).refresh()

        followed(report, self.location, SYNC, sync)

    def _check_catalog(self, columns: StructType) -> None:
        """Refuse columns that the sync behind the commit could not bring to the metastore server.

        Raises:
            SchemaError: a column would get a type that the metastore does not let it take.
        """
        options = metastore_settings(self.hook.session)
        uris = read_options(options)[0].get("metastore_uris") or ()
        avro = self.client.avro_schema()
        if self.entry is None or not uris or avro is None:
            return
        config, evolved = self.client.config, self.client.evolved_schema()
        before = (
            from_avro(avro, meta_columns=config.populate_meta_fields, table_version=config.version)
            if evolved is None
            else evolved.query
        )
        after = merge_writer(before, to_arrow_schema(columns), by_ids=evolved is not None)
        with HiveMetastore(uris) as metastore:
            stored = store_options(self.hook.session, self.location)
            sync = sync_config(metastore, self.entry, self.client, options, stored)
            refuse_catalog_types(metastore, sync, self.client, before, after)


def existing_partitions(client: MetaClient) -> list[str]:
    """Partition paths without those whose file groups were all replaced: a dropped partition's folder stays a while.

    They are listed anew: a partition without rows is made by no commit.
    """
    client = client.reload()
    paths, timeline = client.partition_paths(), client.timeline
    commits = [timeline.commit_metadata(one) for one in timeline.completed({REPLACE_COMMIT})]
    replaced = {path for commit in commits for path in commit.replaced_keys}
    touched = [path for path in paths if path in replaced]
    if not touched:
        return paths
    slices = client.file_system_view(touched).latest_file_slices()
    gone = set(touched) - set(pc.unique(slices.column("partition")).to_pylist())
    return [path for path in paths if path not in gone]


def _in_struct(kind: DataType, parts: Sequence[str]) -> tuple[str, ...] | None:
    """Names of a field and of those that it is in, as the type writes them; None if there is none."""
    if not parts:
        return ()
    if not isinstance(kind, StructType):
        return None
    for inner in kind.fields:
        if inner.name.lower() == parts[0].lower():
            below = _in_struct(inner.dataType, parts[1:])
            return None if below is None else (inner.name, *below)
    return None


__all__ = ["WriteTarget", "checked_options", "existing_partitions", "write_options", "write_settings"]
