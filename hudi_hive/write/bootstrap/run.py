"""Runs a bootstrap: makes the table, writes skeletons and their index as one commit, and whole files as another.

Source: docs/format.md#bootstrapped-tables; Hudi's ``SparkBootstrapCommitActionExecutor``.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError, PartitionValueError, TableExistsError, UnknownColumnError, WriteError
from hudi_hive.formats.base import open_base_file
from hudi_hive.names import (
    HOODIE_BOOTSTRAP_BASE_PATH,
    HOODIE_BOOTSTRAP_INDEX_CLASS,
    HOODIE_BOOTSTRAP_INDEX_TYPE,
    HOODIE_BOOTSTRAP_MODE_SELECTOR,
    HOODIE_BOOTSTRAP_MODE_SELECTOR_REGEX,
    HOODIE_BOOTSTRAP_MODE_SELECTOR_REGEX_MODE,
)
from hudi_hive.options import as_texts, write
from hudi_hive.options import table as table_declared
from hudi_hive.schema import META_FIELDS
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient, TableConfig, create_table, is_hudi_table
from hudi_hive.table.bootstrap import SourceFile, write_index
from hudi_hive.table.keys import KeyGenerator, partition_value_columns
from hudi_hive.timeline import InstantClock, Timeline
from hudi_hive.timeline.instants import COMMIT, DELTA_COMMIT, FULL_BOOTSTRAP_INSTANT, METADATA_BOOTSTRAP_INSTANT
from hudi_hive.write.bootstrap.source import BootstrapMode, ListedFile, list_source, mode_selector, source_schema
from hudi_hive.write.commit import Creation, WriteTransaction, creating, remove_unfinished
from hudi_hive.write.coordination import LocalExecutor
from hudi_hive.write.files import (
    PARTITION_PATH,
    RECORD_KEY,
    Attempt,
    TargetSlice,
    WriteContext,
    joined,
    write_new_group,
)
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records import KeyedRecords, prepare_records, row_generator, write_context_of
from hudi_hive.write.schema import normal_schema
from hudi_hive.write.writers import LocalWriter

_OWN: Final = (
    HOODIE_BOOTSTRAP_BASE_PATH,
    HOODIE_BOOTSTRAP_MODE_SELECTOR,
    HOODIE_BOOTSTRAP_MODE_SELECTOR_REGEX,
    HOODIE_BOOTSTRAP_MODE_SELECTOR_REGEX_MODE,
)
_INDEX_CLASS: Final = "org.apache.hudi.common.bootstrap.index.hfile.HFileBootstrapIndex"
_OPERATION: Final = "BOOTSTRAP"


@dataclass(frozen=True, slots=True)
class BootstrapReport:
    """What a bootstrap has made.

    Attributes:
        instants: requested times of its commits.
        skeletons: number of skeletons, one for each source file of the partitions that are bootstrapped so.
        rows: rows of the table.
    """

    instants: tuple[str, ...]
    skeletons: int
    rows: int


class _FixedClock(InstantClock):
    """Draws the one instant of a bootstrap's commit."""

    def __init__(self, instant: str) -> None:
        super().__init__()
        self._instant = instant

    def new_instant(self, timeline: Timeline | None = None, timezone: str | None = None) -> str:
        """The instant; see :meth:`InstantClock.new_instant`."""
        del timeline, timezone
        return self._instant


def bootstrap(
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    options: Mapping[str, Any],
    storage_options: Mapping[str, Any] | None = None,
) -> BootstrapReport:
    """Make a table of a folder of Parquet files, which stay where they are and must not change afterwards.

    Args:
        source: base path of the files; its folders are the partitions.
        path: base path of the new table.
        options: Hudi's write options, which define the table; ``hoodie.bootstrap.mode.selector`` (a class:
            ``MetadataOnlyBootstrapModeSelector``, ``FullRecordBootstrapModeSelector``, ``BootstrapRegexModeSelector``
            with ``….regex`` and ``….regex.mode``).
        storage_options: for both paths.

    Raises:
        TableExistsError: there is a table already.
        InvalidOptionError: the source is empty, or an option is wrong.
        SchemaError: its files have different columns.
        PartitionValueError, UnknownColumnError: its folders do not fit the partition columns of the options.
        WriteError: rows of a file are not of its partition, or have no record key.
    """
    texts = {name: text.strip() for name, text in as_texts(options).items()}
    storage = Storage(source, storage_options)
    if texts.get(HOODIE_BOOTSTRAP_BASE_PATH, os.fspath(source)).rstrip("/") != os.fspath(source).rstrip("/"):
        raise InvalidOptionError(f"{HOODIE_BOOTSTRAP_BASE_PATH} names another source than {os.fspath(source)}")
    selected = mode_selector(texts)
    table_options = {name: text for name, text in texts.items() if name not in _OWN}
    config = WriteConfig.of(table_options)
    remove_unfinished(os.fspath(path), storage_options)
    if is_hudi_table(path, storage_options):
        raise TableExistsError("there is a Hudi table already", path=os.fspath(path), remedy="give another path")
    files = list_source(storage)
    schema = source_schema(storage, files)
    modes = {one.partition: selected(one.partition) for one in files}
    skeletons = [one for one in files if modes[one.partition] is BootstrapMode.METADATA_ONLY]
    whole = [one for one in files if modes[one.partition] is BootstrapMode.FULL_RECORD]
    _refuse_other_skeletons(config, skeletons)
    base = os.fspath(path)
    with creating(base, lambda: _new_table(storage, path, config, storage_options), storage_options) as creation:
        client = MetaClient.load(base, storage_options)
        job = _Bootstrap(storage, client, _of_bootstrap(table_options, client.config, skeletons), schema, creation)
        job.check_partitions(files)
        rows = 0
        if skeletons:
            rows += job.write_skeletons(skeletons)
        if whole:
            rows += job.write_whole(whole)
    instants = [METADATA_BOOTSTRAP_INSTANT] * bool(skeletons) + [FULL_BOOTSTRAP_INSTANT] * bool(whole)
    return BootstrapReport(tuple(instants), len(skeletons), rows)


def _new_table(
    storage: Storage, path: str | os.PathLike[str], config: WriteConfig, storage_options: Mapping[str, Any] | None
) -> MetaClient:
    definition = config.table_definition()
    if not definition.record_keys or not definition.populate_meta_fields:
        raise InvalidOptionError("a bootstrapped table wants record key columns and meta columns")
    index = {HOODIE_BOOTSTRAP_INDEX_TYPE: "HFILE"}
    if definition.version == 6:
        index = {HOODIE_BOOTSTRAP_INDEX_CLASS: _INDEX_CLASS}
    properties = {**(definition.properties or {}), HOODIE_BOOTSTRAP_BASE_PATH: storage.uri(), **index}
    return create_table(path, replace(definition, properties=properties), storage_options=storage_options)


def _refuse_other_skeletons(config: WriteConfig, skeletons: Sequence[ListedFile]) -> None:
    """Skeletons stand beside Parquet files, row by row."""
    if skeletons and config.table.base_file_format != "PARQUET":
        raise InvalidOptionError(
            f"option {table_declared.BASE_FILE_FORMAT}={config.table.base_file_format} is not supported for skeletons "
            "of Parquet files",
            remedy=f"set {HOODIE_BOOTSTRAP_MODE_SELECTOR} to FullRecordBootstrapModeSelector, or leave the option out",
        )


def _of_bootstrap(options: Mapping[str, str], config: TableConfig, skeletons: Sequence[ListedFile]) -> dict[str, str]:
    """The options of the commits: column statistics would be of skeletons alone, and Hudi refuses them here."""
    texts = dict(options)
    if skeletons and config.version >= 8:
        asked = write.COLUMN_STATS.name
        if texts.get(asked, "false").lower() == "true":
            raise InvalidOptionError(f"{asked}=true does not go with a bootstrap", remedy="set it for a later write")
        texts[asked] = "false"
    return texts


@dataclass(frozen=True, slots=True)
class _Bootstrap:
    """A bootstrap at work.

    Attributes:
        source: storage of the source.
        client: the new table.
        options: of the writes.
        schema: columns of the source's files.
        creation: of the table, which goes again if the bootstrap fails.
    """

    source: Storage
    client: MetaClient
    options: Mapping[str, str]
    schema: pa.Schema
    creation: Creation

    def check_partitions(self, files: Sequence[ListedFile]) -> None:
        """Refuse folders that do not fit the partition columns."""
        fields = self.client.config.partition_fields
        if not fields and any(one.partition for one in files):
            raise PartitionValueError(
                "the source has folders, and the options name no partition columns", path=self.source.uri()
            )
        for name in self.client.config.record_keys:
            if name.partition(".")[0] not in (*self.schema.names, *fields):
                raise UnknownColumnError(f"the source has no column {name!r}, which is a record key")
        self._path_values(sorted({one.partition for one in files}))

    def _path_values(self, partitions: Sequence[str]) -> pa.Table:
        config = self.client.config
        return partition_value_columns(
            pa.array(partitions, pa.string()),
            config.partition_fields,
            hive_style=config.hive_style_partitioning,
            url_encoded=config.url_encode_partitioning,
        )

    def rows(self, file: ListedFile, columns: Sequence[str] | None = None) -> pa.Table:
        """Rows of a source file, with the partition columns that it lacks, as text from its folder."""
        with open_base_file(self.source, file.path, size=file.size) as opened:
            names = [name for name in self.schema.names if columns is None or name in columns]
            names = [name for name in names if name not in META_FIELDS]
            table = pa.Table.from_batches(
                list(opened.batches(names)), pa.schema([self.schema.field(name) for name in names])
            )
            count = opened.num_rows
        if not self.client.config.partition_fields:
            return table
        values = self._path_values([file.partition])
        for name in self.client.config.partition_fields:
            if name not in self.schema.names:
                table = table.append_column(name, pa.repeat(values.column(name)[0], count))
        return table

    def _empty(self) -> pa.Table:
        """No rows, with all columns of the table."""
        fields = [field for field in self.schema if field.name not in META_FIELDS]
        missing = [name for name in self.client.config.partition_fields if name not in self.schema.names]
        return normal_schema(pa.schema([*fields, *((name, pa.string()) for name in missing)])).empty_table()

    def write_skeletons(self, files: Sequence[ListedFile]) -> int:
        """Commit a skeleton for each file, and the index; returns the number of rows."""
        config = WriteConfig.of(self.options, self.client.config)
        records = prepare_records(self.client, config, self._empty())
        generator = row_generator(self.client, config)
        action = DELTA_COMMIT if self.client.config.is_merge_on_read else COMMIT
        clock = _FixedClock(METADATA_BOOTSTRAP_INSTANT)
        ids = [str(uuid.uuid4()) for _ in files]
        transaction = WriteTransaction(self.client, config, action=action, operation=_OPERATION, clock=clock)
        transaction.annotate = self.creation.annotate
        with transaction:
            context = self._context(transaction, config, records)
            tasks = [
                _Skeleton(self, context, generator, number, file, file_id)
                for number, (file, file_id) in enumerate(zip(files, ids, strict=True))
            ]
            statuses = joined(LocalExecutor().map(_write_skeleton, tasks))
            write_index(self.client.storage, self.source.uri(), self._sources(files, ids))
            transaction.commit(statuses, schema=records.schema_text)
        return int(pc.sum(statuses.column("num_writes")).as_py())

    def _context(self, transaction: WriteTransaction, config: WriteConfig, records: KeyedRecords) -> WriteContext:
        context = write_context_of(transaction.client, config, transaction.instant, records)
        fields = [field for field in context.avro_schema["fields"] if field["name"] in META_FIELDS]
        schema = pa.schema([context.schema.field(field["name"]) for field in fields])
        avro = {"type": "record", "name": "HoodieRecordKey", "doc": "", "fields": fields}
        return replace(context, schema=schema, avro_schema=avro, ranges=False)

    def _sources(self, files: Sequence[ListedFile], ids: Sequence[str]) -> list[SourceFile]:
        return [
            SourceFile(
                one.partition, file_id, one.partition, one.path, self.source.uri(one.path), one.size, one.modified_ms
            )
            for one, file_id in zip(files, ids, strict=True)
        ]

    def write_whole(self, files: Sequence[ListedFile]) -> int:
        """Commit the rows of files as new base files; returns their number."""
        rows = pa.concat_tables([self.rows(one) for one in files])
        writer = LocalWriter(self.client.reload(), {**self.options, write.OPERATION.name: "bulk_insert"})
        writer.clock = _FixedClock(FULL_BOOTSTRAP_INSTANT)
        writer.annotate = self.creation.annotate
        writer.write(rows)
        return rows.num_rows


@dataclass(frozen=True, slots=True)
class _Skeleton:
    """The skeleton of one file, to be written."""

    job: _Bootstrap
    context: WriteContext
    generator: KeyGenerator
    number: int
    file: ListedFile
    file_id: str


def _write_skeleton(task: _Skeleton) -> pa.Table:
    """Write a skeleton; returns its status."""
    job, file = task.job, task.file
    config = job.client.config
    names = {name.partition(".")[0] for name in (*config.record_keys, *config.partition_fields)}
    rows = job.rows(file, sorted(names))
    keys = task.generator.record_keys(rows)
    paths = task.generator.partition_paths(rows)
    elsewhere = pc.unique(paths).to_pylist()
    if rows.num_rows and elsewhere != [file.partition]:
        raise WriteError(
            f"rows of a file of the source are of the partitions {elsewhere[:3]}, and it lies in {file.partition!r}",
            path=job.source.uri(file.path),
            remedy="the options of the key generator must make the source's folders, or bootstrap it by FULL_RECORD",
        )
    table = pa.table({RECORD_KEY: keys, PARTITION_PATH: paths})
    target = TargetSlice(file.partition, task.file_id)
    return write_new_group(task.context, Attempt(task.number), target, [table])
