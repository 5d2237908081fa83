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
from hudi_hive.read.merge_fold import soft_deletes
from hudi_hive.read.merge_order import ordering_columns, ranks
from hudi_hive.read.reconcile import Reconciler
from hudi_hive.schema import META_FIELDS, avro_to_arrow, with_meta_fields
from hudi_hive.schema.from_arrow import arrow_to_avro, record_name
from hudi_hive.table import MetaClient
from hudi_hive.table.key_generator import KeyGenerator
from hudi_hive.table.log_data import one_batch
from hudi_hive.table.merge_spec import MergeSpec
from hudi_hive.write.config import WriteConfig
from hudi_hive.write.job import PARTITION_PATH, RECORD_KEY, FileStyle, WriteJob
from hudi_hive.write.settings import Operation


@dataclass(frozen=True)
class Prepared:
    """Rows of one write.

    Attributes:
        rows: record key, partition path and the table's data columns.
        avro: the writer's Avro schema without meta columns.
        spec: how records merge.
        generator: makes the keys, where they come from no column.
    """

    rows: pa.Table
    avro: Mapping[str, Any] = field(repr=False)
    spec: MergeSpec
    generator: KeyGenerator | None = None

    @classmethod
    def of_table(cls, client: MetaClient) -> Prepared:
        """No rows, with the schema that the table has.

        Raises:
            SchemaError: it has none.
        """
        avro = client.avro_schema()
        if avro is None:
            raise SchemaError("the table has no schema yet", path=client.base_path, remedy="write rows first")
        empty = with_meta_fields(avro_to_arrow(avro)).empty_table()
        return cls(empty, avro, MergeSpec.from_config(client.config))

    @property
    def schema_text(self) -> str:
        """The writer's Avro schema as commits hold it."""
        return json.dumps(self.avro, separators=(",", ":"))

    def at(self, instant: str) -> Prepared:
        """The rows with keys that are made up, if they have no others."""
        if self.generator is None or not self.generator.makes_up_keys:
            return self
        keys = self.generator.record_keys(self.rows, instant=instant)
        at = self.rows.schema.get_field_index(RECORD_KEY)
        return replace(self, rows=self.rows.set_column(at, self.rows.schema.field(at), keys))

    def partitions(self) -> list[str]:
        """Partition paths of the rows."""
        paths: list[str] = pc.unique(self.rows.column(PARTITION_PATH)).to_pylist()
        return paths

    def marked(self) -> pa.BooleanArray:
        """Which rows delete."""
        return pa.array(soft_deletes(one_batch(self.rows), self.spec))

    def index_keys(self, *, deleted: bool = False) -> pa.Table:
        """What the index is asked; ``deleted`` tells that all rows delete."""
        count = self.rows.num_rows
        gone = pa.array(np.ones(count, np.bool_)) if deleted else self.marked()
        numbers = pa.array(np.arange(count, dtype=np.int64))
        columns = [self.rows.column(RECORD_KEY), self.rows.column(PARTITION_PATH), numbers, gone]
        return pa.table(columns, names=["key", "partition", "row", "deleted"])


def prepared_rows(client: MetaClient, config: WriteConfig, rows: pa.Table) -> Prepared:
    """Rows of an insert, upsert or overwrite.

    Raises:
        SchemaError: columns that do not fit the table's.
        KeyGenerationError: a row without a record key.
    """
    spec = MergeSpec.from_config(client.config)
    generator = KeyGenerator.of(client.config, config.options)
    avro = client.avro_schema()
    if avro is None:
        name, namespace = record_name(client.config.name)
        data = [entry for entry in rows.schema if entry.name not in META_FIELDS]
        avro = arrow_to_avro(pa.schema(data), name, namespace)
    ready = _keyed(_fitted(rows, avro_to_arrow(avro), client.base_path), generator)
    if config.combines:
        ready = _one_a_key(ready, spec)
    return Prepared(ready, avro, spec, generator)


def _fitted(rows: pa.Table, schema: pa.Schema, path: str) -> pa.Table:
    """Rows with the table's columns: missing ones null, narrower types widened."""
    unknown = [name for name in rows.column_names if name not in schema.names and name not in META_FIELDS]
    if unknown:
        raise SchemaError(f"the table has no column {', '.join(unknown)}", path=path, remedy="leave it out")
    reconciler = Reconciler(rows.schema, schema, path=path)
    return pa.Table.from_batches([reconciler.apply(batch) for batch in rows.to_batches()], schema=schema)


def _keyed(rows: pa.Table, generator: KeyGenerator) -> pa.Table:
    """Rows with record keys and partition paths before the other columns."""
    count = rows.num_rows
    keys = pa.nulls(count, pa.string()) if generator.makes_up_keys else generator.record_keys(rows)
    return rows.add_column(0, RECORD_KEY, keys).add_column(1, PARTITION_PATH, generator.partition_paths(rows))


def _one_a_key(rows: pa.Table, spec: MergeSpec) -> pa.Table:
    """Of rows of one key and partition the one with the greatest ordering value, the last one among equals."""
    parts = [rows.column(name).combine_chunks().dictionary_encode().indices for name in (RECORD_KEY, PARTITION_PATH)]
    key, path = (part.to_numpy(zero_copy_only=False) for part in parts)
    rank = ranks(ordering_columns(one_batch(rows), spec.ordering_fields), rows.num_rows)
    order = np.lexsort((np.arange(rows.num_rows), rank, path, key))
    last = np.ones(len(order), np.bool_)
    last[:-1] = (np.diff(key[order]) != 0) | (np.diff(path[order]) != 0)
    chosen = np.sort(order[last])
    return rows if len(chosen) == rows.num_rows else rows.take(pa.array(chosen))


def prepared_keys(client: MetaClient, config: WriteConfig, rows: pa.Table) -> Prepared:
    """Rows that name records to delete: the columns of key and partition are enough.

    Raises:
        KeyGenerationError: a row without a record key.
        UnknownColumnError: a column of key or partition is missing.
    """
    table = Prepared.of_table(client)
    generator = KeyGenerator.of(client.config, config.options)
    keys, paths = generator.record_keys(rows), generator.partition_paths(rows)
    found = pa.table([keys, paths], names=[RECORD_KEY, PARTITION_PATH]).group_by([RECORD_KEY, PARTITION_PATH])
    return replace(table, rows=found.aggregate([]))


def job_of(client: MetaClient, config: WriteConfig, instant: str, ready: Prepared) -> WriteJob:
    """The job that writes prepared rows."""
    table = client.config
    avro = physical_schema(ready.avro, table.partition_fields if table.drop_partition_columns else ())
    if table.populate_meta_fields:
        avro = with_meta_avro(avro)
    files = config.files
    return WriteJob(
        storage=client.storage,
        config=table,
        instant=instant,
        schema=avro_to_arrow(avro),
        avro_schema=avro,
        spec=ready.spec,
        files=FileStyle(
            codec=files.compression,
            bloom=files.bloom_enabled,
            max_file_size=files.max_file_size,
            row_group_bytes=files.block_size,
            page_bytes=files.page_size,
        ),
        tracks_keys="record_index" in table.metadata_partitions,
        ranges="column_stats" in table.metadata_partitions,
        allows_duplicates=config.operation is Operation.INSERT and config.rows.merge_allow_duplicates_on_inserts,
    )


def physical_schema(avro: Mapping[str, Any], dropped: tuple[str, ...]) -> dict[str, Any]:
    """The schema of data files without partition columns that are not kept in them."""
    return {**avro, "fields": [entry for entry in avro["fields"] if entry["name"] not in dropped]}


def with_meta_avro(avro: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with the meta columns before the others (table format, section 4)."""
    meta = [{"name": name, "type": ["null", "string"], "doc": "", "default": None} for name in META_FIELDS]
    return {**avro, "fields": [*meta, *(entry for entry in avro["fields"] if entry["name"] not in META_FIELDS)]}
