"""Rows ready to be placed: keys, partition paths, the table's columns, one row a key; and the job that writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import SchemaError
from hudi_hive.formats.base import BaseFileSettings, HFileSettings, OrcSettings, ParquetSettings
from hudi_hive.formats.hash import BloomSettings
from hudi_hive.formats.hfile import LONGEST_KEY
from hudi_hive.metadata.reader import COLUMN_STATS, RECORD_INDEX, written_partitions
from hudi_hive.read.merge import soft_deletes
from hudi_hive.schema import avro_to_arrow, with_meta_fields
from hudi_hive.table import MetaClient, TableConfig
from hudi_hive.table.keys import KeyGenerator
from hudi_hive.table.logs import one_batch
from hudi_hive.table.merge import MergeSpec
from hudi_hive.write.files import PARTITION_PATH, RECORD_KEY, FileStyle, WriteContext
from hudi_hive.write.index import KEYS_SCHEMA, IndexOptions, with_ordering
from hudi_hive.write.options import FileSettings, Operation, WriteConfig
from hudi_hive.write.records.carried_keys import carried_files, names_records
from hudi_hive.write.records.incoming import combine, prepare, prepare_keys
from hudi_hive.write.records.key_style import table_generator
from hudi_hive.write.records.operations import DELETE, OPERATION
from hudi_hive.write.records.staying_records import with_partitions
from hudi_hive.write.schema import evolved_after, with_meta_avro, writer_schema


@dataclass(frozen=True)
class KeyedRecords:
    """Rows of one write.

    Attributes:
        rows: record key, partition path and the table's data columns.
        avro: the writer's Avro schema without meta columns.
        spec: how records merge.
        generator: makes the keys, where they come from no column.
        named_files: files that the rows name as those of their records (``GROUPS_SCHEMA``); None for none.
        as_of: the schema is that of this requested time; the table's newest with the columns of the rows without it.
    """

    rows: pa.Table
    avro: Mapping[str, Any] = field(repr=False)
    spec: MergeSpec
    generator: KeyGenerator | None = None
    as_of: str | None = None
    named_files: pa.Table | None = field(default=None, repr=False)

    @classmethod
    def of_table(cls, client: MetaClient, as_of: str | None = None) -> KeyedRecords:
        """No rows, with the schema that the table has, or had at a requested time.

        Raises:
            SchemaError: it has none.
        """
        avro = client.avro_schema(as_of)
        if avro is None:
            raise SchemaError("the table has no schema yet", path=client.base_path, remedy="write rows first")
        empty = with_meta_fields(avro_to_arrow(avro)).empty_table()
        return cls(empty, avro, MergeSpec.from_config(client.config), as_of=as_of)

    @property
    def schema_text(self) -> str:
        """The writer's Avro schema as commits hold it."""
        return json.dumps(self.avro, separators=(",", ":"))

    def at(self, instant: str) -> KeyedRecords:
        """The rows with keys that are made up, where they have no others."""
        if self.generator is None or not self.generator.makes_up_keys:
            return self
        keys = pc.coalesce(self.rows.column(RECORD_KEY), self.generator.record_keys(self.rows, instant=instant))
        at = self.rows.schema.get_field_index(RECORD_KEY)
        return replace(self, rows=self.rows.set_column(at, self.rows.schema.field(at), keys))

    def where_tagged(self, client: MetaClient, tags: pa.Table) -> KeyedRecords:
        """With path and values of the partition that each row is written to: that of its record, if it stays."""
        line = np.full(self.rows.num_rows, -1, np.int64)
        line[tags.column("row").to_numpy()] = np.arange(tags.num_rows)
        there = tags.column("partition").combine_chunks().take(pa.array(line, mask=line < 0))
        paths = pc.coalesce(there, self.rows.column(PARTITION_PATH))
        return replace(self, rows=with_partitions(client, self.spec, self.rows, paths))

    def partitions(self) -> list[str]:
        """Partition paths of the rows."""
        paths: list[str] = pc.unique(self.rows.column(PARTITION_PATH)).to_pylist()
        return paths

    def marked(self) -> pa.Array:
        """Which rows delete."""
        marked = pa.array(soft_deletes(one_batch(self.rows), self.spec))
        if OPERATION not in self.rows.column_names:
            return marked
        return pc.or_(marked, pc.equal(self.rows.column(OPERATION), DELETE).fill_null(False).combine_chunks())

    def index_keys(self, *, deleted: bool = False) -> pa.Table:
        """Keys and partition paths for the index; ``deleted`` says that all rows delete."""
        count = self.rows.num_rows
        gone = pa.array(np.ones(count, np.bool_)) if deleted else self.marked()
        numbers = pa.array(np.arange(count, dtype=np.int64))
        columns = [self.rows.column(RECORD_KEY), self.rows.column(PARTITION_PATH), numbers, gone]
        keys = pa.table(columns, names=[*KEYS_SCHEMA.names, "deleted"])
        return keys if deleted else with_ordering(keys, self.rows, self.spec)


def prepare_records(client: MetaClient, config: WriteConfig, rows: pa.Table) -> KeyedRecords:
    """Rows of an insert, upsert or overwrite.

    Raises:
        SchemaError: columns that do not fit the table's.
        KeyGenerationError: a row without a record key.
    """
    spec = MergeSpec.from_config(client.config)
    generator = row_generator(client, config)
    schema = writer_schema(rows.schema, client, config)
    ready = prepare(rows, config, generator, schema)
    if config.combines:
        is_global = IndexOptions.of(config.index, client.config).is_global
        ready = combine(ready, spec, across_partitions=is_global, schema=schema)
    dropped = client.config.partition_fields if client.config.drop_partition_columns else ()
    files = carried_files(rows) if names_records(config, rows.column_names) else None
    return KeyedRecords(ready, physical_schema(schema.avro, dropped), spec, generator, named_files=files)


def row_generator(client: MetaClient, config: WriteConfig) -> KeyGenerator:
    """The key generator of rows to write, which makes no key that an index of the table cannot hold.

    Raises:
        UnsupportedTableError: a key generator that we do not know.
        InvalidOptionError: an option of it is missing, or asks for other keys than the table has.
    """
    generator = table_generator(client, config.options)
    return replace(generator, longest_key=LONGEST_KEY) if tracks_keys(client, config) else generator


def tracks_keys(client: MetaClient, config: WriteConfig) -> bool:
    """Whether the write keeps a record index."""
    return config.metadata.enable and (config.metadata.keeps_keys or RECORD_INDEX in written_partitions(client.config))


def prepare_deletes(client: MetaClient, config: WriteConfig, rows: pa.Table) -> KeyedRecords:
    """Rows that name records to delete: the columns of key and partition are enough.

    Raises:
        KeyGenerationError: a row without a record key.
        UnknownColumnError: a column of key or partition is missing.
    """
    table = KeyedRecords.of_table(client)
    generator = table_generator(client, config.options)
    is_global = IndexOptions.of(config.index, client.config).is_global
    files = carried_files(rows) if names_records(config, rows.column_names) else None
    # With the partition columns, also where they are in no file.
    keys = prepare_keys(rows, generator, client.schema(), across_partitions=is_global)
    return replace(table, rows=keys, named_files=files)


def write_context_of(client: MetaClient, config: WriteConfig, instant: str, ready: KeyedRecords) -> WriteContext:
    """The job that writes prepared rows."""
    table = client.config
    avro = dict(ready.avro)
    if table.populate_meta_fields:
        avro = with_meta_avro(avro)
    _refuse_key_column(client, avro)
    files, there = config.files, written_partitions(table)
    # Statistics are on by default from version 8 on; the metadata table may be made by this very write.
    stats = table.version >= 8 if config.metadata.column_stats is None else config.metadata.column_stats
    return WriteContext(
        storage=client.storage,
        config=table,
        instant=instant,
        schema=avro_to_arrow(avro),
        avro_schema=avro,
        spec=ready.spec,
        files=FileStyle(
            base=_base_settings(files),
            bloom=_bloom(config),
            log_format=files.log_block_format or "avro",
            log_block_bytes=files.log_block_size,
            record_positions=files.record_positions and _takes_positions(client.config),
        ),
        tracks_keys=tracks_keys(client, config),
        ranges=config.metadata.enable and (stats or COLUMN_STATS in there),
        allows_duplicates=config.operation is Operation.INSERT and config.rows.merge_allow_duplicates_on_inserts,
        evolved=evolved_after(client, ready.avro, ready.as_of),
    )


def _takes_positions(table: TableConfig) -> bool:
    """Whether log blocks of a table may have record positions that its readers use."""
    return table.version >= 8 and table.base_file_format == "parquet" and table.populate_meta_fields


def _refuse_key_column(client: MetaClient, avro: Mapping[str, Any]) -> None:
    """Readers of Hudi put the record key in the place of a column ``key`` of HFiles."""
    if client.config.base_file_format == "hfile" and any(entry["name"] == "key" for entry in avro["fields"]):
        raise SchemaError(
            "base files of the format HFILE cannot have a column 'key': readers take it for the record key",
            path=client.base_path,
            remedy="rename the column, or write a table of Parquet files",
        )


def _base_settings(files: FileSettings) -> BaseFileSettings:
    return BaseFileSettings(
        ParquetSettings(files.compression, files.block_size, files.page_size, files.dictionary),
        OrcSettings(files.orc_compression, files.orc_stripe_size),
        HFileSettings(files.hfile_compression),
    )


def _bloom(config: WriteConfig) -> BloomSettings | bool:
    index = config.index
    if not config.files.bloom_enabled:
        return False
    return BloomSettings(index.bloom_entries, index.bloom_fpp, index.bloom_max_entries, index.bloom_kind)


def physical_schema(avro: Mapping[str, Any], dropped: tuple[str, ...]) -> dict[str, Any]:
    """The schema of data files, without the partition columns that they leave out."""
    return {**avro, "fields": [entry for entry in avro["fields"] if entry["name"] not in dropped]}
