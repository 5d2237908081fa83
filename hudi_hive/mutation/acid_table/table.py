"""``AcidTable``: the table of a mutation, checked once, with a text form for workers.

Source: ``AcidTable`` and ``AcidTableSerializer`` of HIVE-10165. The text form is ours: JSON behind a mark of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import pyarrow as pa

from hudi_hive.errors import MutationError, UnsupportedAcidTableError
from hudi_hive.formats.orc import parse_hive_type
from hudi_hive.metastore.client import Table
from hudi_hive.mutation.acid_table.acid_names import MAX_BUCKETS
from hudi_hive.mutation.core import check_fields, decode_text, encode_text
from hudi_hive.options import parse_java_boolean

TABLE_TAG: Final = "HudiHiveAcidTableV1:"
"""What the text form begins with."""

_CODECS: Final = {"SNAPPY": "snappy", "NONE": "uncompressed"}
_JAVA_TABLE_TAG: Final = "AcidTableV1:"
ORC_INPUT: Final = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"
"""What reads tables and partitions that are stored as ORC."""

_ORC_OUTPUT: Final = "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat"


@dataclass(frozen=True, slots=True)
class AcidColumn:
    """A column or partition key: its name, in lower case as Hive keeps it, and its Hive type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class AcidTable:
    """A full ACID table that a transaction reads (a source) or writes (a sink).

    Args:
        database: name of the database.
        name: name of the table.
        location: URI of the table's folder.
        columns: the table's columns, without the partition keys.
        partition_keys: the partition keys; empty for a table without partitions.
        bucket_columns: columns that the bucket is computed from, in the order of ``CLUSTERED BY``.
        buckets: number of buckets; 0 for a table without them, whose "bucket" is the number of a writer.
        bucketing_version: 1 (Java hash) or 2 (murmur), as the table says.
        sink: whether the transaction writes it.
        create_partitions: register unknown partitions in the metastore when the transaction commits; otherwise their
            folders are only made in the warehouse.
        transaction_id: of the transaction; 0 before it begins.
        write_id: this table's id of the transaction; 0 before it begins, and for sources.
        codec: compression of new files, as ``orc.compress`` says: zlib, snappy or uncompressed. Others, which not every
            Hive from 3.1 on reads, become zlib.
    """

    database: str
    name: str
    location: str
    columns: tuple[AcidColumn, ...]
    partition_keys: tuple[AcidColumn, ...] = ()
    bucket_columns: tuple[str, ...] = ()
    buckets: int = 0
    bucketing_version: int = 2
    sink: bool = True
    create_partitions: bool = False
    transaction_id: int = 0
    write_id: int = 0
    codec: str = "zlib"

    @classmethod
    def of(cls, table: Table, *, sink: bool = True, create_partitions: bool = False) -> Self:
        """Make the table of a metastore table.

        Args:
            table: the metastore's answer.
            sink: whether it is to be written.
            create_partitions: see the class.

        Raises:
            UnsupportedAcidTableError: it cannot be mutated: not transactional, insert-only, external, legacy, sorted,
                not ORC, a view, or with more buckets than Hive 3 can number.
            SchemaError: a column type that is not supported.
        """
        check_table(table)
        sd = table.sd
        buckets = max(0, sd.numBuckets or 0)
        made = cls(
            table.dbName,
            table.tableName,
            sd.location or "",
            tuple(AcidColumn(field.name.lower(), field.type) for field in sd.cols),
            tuple(AcidColumn(field.name.lower(), field.type) for field in table.partitionKeys or ()),
            tuple(name.lower() for name in sd.bucketCols or ()) if buckets else (),
            buckets,
            _bucketing_version(table),
            sink,
            create_partitions and sink,
            codec=_CODECS.get(_parameters(table).get("orc.compress", "").upper(), "zlib"),
        )
        made.row_schema  # noqa: B018 - refuses unknown types now, not in a worker
        return made

    @property
    def qualified_name(self) -> str:
        """``database.table`` in lower case."""
        return f"{self.database}.{self.name}".lower()

    @property
    def row_schema(self) -> pa.Schema:
        """Arrow schema of the rows, without the partition keys.

        Raises:
            SchemaError: a column type that is not supported.
        """
        return pa.schema([(column.name, parse_hive_type(column.type).arrow) for column in self.columns])

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the partition keys."""
        return tuple(key.name for key in self.partition_keys)

    @property
    def bucket_types(self) -> tuple[str, ...]:
        """Hive types of the bucket columns."""
        types = {column.name: column.type for column in self.columns}
        return tuple(types[name] for name in self.bucket_columns)

    def in_transaction(self, transaction_id: int, write_id: int) -> AcidTable:
        """The table with the ids of a transaction."""
        return replace(self, transaction_id=transaction_id, write_id=write_id)

    def encode(self) -> str:
        """Encode as text, for ``decode`` in another process."""
        return encode_text(TABLE_TAG, self)

    @classmethod
    def decode(cls, text: str) -> Self:
        """Decode the text form of a table.

        Raises:
            MutationError: no such text, or one of Hive's own ``AcidTableSerializer``.
        """
        if text.startswith(_JAVA_TABLE_TAG):
            raise MutationError(
                "this is a table as Hive's own mutation API encodes it", remedy="encode it with AcidTable.encode()"
            )
        return decode_text(TABLE_TAG, text, "table", "of a mutation", cls._from_json)

    @classmethod
    def _from_json(cls, values: Mapping[str, Any]) -> Self:
        check_fields(cls, values)
        return cls(
            **{
                **values,
                "columns": tuple(AcidColumn(**column) for column in values["columns"]),
                "partition_keys": tuple(AcidColumn(**key) for key in values["partition_keys"]),
                "bucket_columns": tuple(values["bucket_columns"]),
            }
        )


def check_table(table: Table) -> None:
    """Refuse a table that cannot be mutated.

    Raises:
        UnsupportedAcidTableError: it says why.
    """
    what = _refusal(table, _parameters(table))
    if what is not None:
        reason, remedy = what
        raise UnsupportedAcidTableError(
            f"table {table.dbName}.{table.tableName} {reason}", path=table.sd.location, remedy=remedy
        )


def _refusal(table: Table, parameters: Mapping[str, str]) -> tuple[str, str] | None:
    """Why a table cannot be mutated, and what helps; None if it can."""
    full_acid = "only managed, fully transactional ORC tables can be mutated"
    properties = parameters.get("transactional_properties", "").lower()
    if table.tableType != "MANAGED_TABLE" or parse_java_boolean(parameters.get("external", "")):
        return f"is no managed table but {table.tableType}", full_acid
    if not parse_java_boolean(parameters.get("transactional", "")):
        return "is not transactional", "create it with 'transactional'='true'"
    if properties == "insert_only":
        return "is insert-only: rows in it have no identifiers", full_acid
    if properties != "default":
        return (
            f"has the legacy ACID layout (transactional_properties is {properties or 'missing'})",
            "set 'transactional_properties'='default' and let Hive compact it (major)",
        )
    return _storage_refusal(table, parameters, full_acid)


def _storage_refusal(table: Table, parameters: Mapping[str, str], full_acid: str) -> tuple[str, str] | None:
    sd = table.sd
    if sd.inputFormat != ORC_INPUT or sd.outputFormat != _ORC_OUTPUT:
        return f"is not stored as ORC but read by {sd.inputFormat}", full_acid
    if not sd.location:
        return "has no location", "look at its definition"
    if sd.storedAsSubDirectories:
        return "has folders of skewed values below its partitions", "create it without STORED AS DIRECTORIES"
    if sd.sortCols:
        return "is sorted (SORTED BY), which ACID tables cannot be", "create it without SORTED BY"
    if (sd.numBuckets or 0) > MAX_BUCKETS:
        return f"has {sd.numBuckets} buckets, more than the {MAX_BUCKETS} that Hive 3 can number", "use fewer buckets"
    names = {column.name.lower() for column in sd.cols}
    if (sd.numBuckets or 0) > 0 and not sd.bucketCols:
        return f"has {sd.numBuckets} buckets but no bucket columns", "create it with CLUSTERED BY"
    missing = [name for name in sd.bucketCols or () if name.lower() not in names]
    if missing:
        return f"is bucketed by {', '.join(missing)}, which it does not have", "look at its definition"
    if parameters.get("bucketing_version", "1") not in ("1", "2"):
        return f"has bucketing_version {parameters['bucketing_version']!r}", "versions 1 and 2 are known"
    return None


def _bucketing_version(table: Table) -> int:
    return int(_parameters(table).get("bucketing_version", "1"))


def _parameters(table: Table) -> dict[str, str]:
    return {key.lower(): value for key, value in (table.parameters or {}).items()}
