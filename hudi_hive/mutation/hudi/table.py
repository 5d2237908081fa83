"""``HudiMutationTable``: the Hudi table of a mutation, with a text form for workers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from hudi_hive.errors import SchemaError
from hudi_hive.mutation.core import check_fields, decode_text, encode_text
from hudi_hive.schema import META_FIELDS
from hudi_hive.table import MetaClient, TableConfig
from hudi_hive.table.keys import KeyGenerator
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records import row_generator
from hudi_hive.write.schema import WriterSchema, merged_schema

HUDI_TABLE_TAG: Final = "HudiHiveHudiTableV1:"
"""What the text form begins with."""

_KEY_OPTIONS: Final = "keygen"
"""What names of options of the key generator have in common; other options, and secrets in them, stay at home."""


@dataclass(frozen=True, slots=True)
class HudiMutationTable:
    """A Hudi table that a transaction changes.

    Args:
        location: URI of the base path.
        name: ``hoodie.table.name``, behind the database if the table tells one.
        schema: Avro schema of its columns as JSON, partition columns among them.
        properties: ``hoodie.properties``.
        key_options: write options of the key generator.
        named_keys: whether keys are written with the names of their fields.
        longest_key, longest_path: bytes that record keys and partition paths may have.
        instant: requested time of the transaction's write; empty before it begins.
    """

    location: str
    name: str
    schema: str
    properties: Mapping[str, str]
    key_options: Mapping[str, str]
    named_keys: bool
    longest_key: int | None
    longest_path: int | None
    instant: str = ""

    @classmethod
    def of(cls, client: MetaClient, options: Mapping[str, str]) -> Self:
        """The table of a client.

        Args:
            client: the table.
            options: write options.

        Raises:
            SchemaError: the table has no schema yet.
            UnsupportedTableError: a key generator that we do not know.
        """
        config = client.config
        generator = row_generator(client, WriteConfig.of(options, config))
        avro = client.avro_schema()
        if avro is None:
            raise SchemaError(
                "the table has no schema yet", path=client.base_path, remedy="write rows, or create it with a schema"
            )
        schema = client.schema()
        columns = schema.empty_table().drop_columns([name for name in META_FIELDS if name in schema.names]).schema
        # Partition columns that files do not have are columns of records all the same.
        avro = dict(merged_schema(columns, avro, config.name).avro)
        return cls(
            location=client.base_path,
            name=f"{config.database}.{config.name}" if config.database else config.name,
            schema=json.dumps(avro, separators=(",", ":")),
            properties=dict(config.properties),
            key_options={key: value for key, value in options.items() if _KEY_OPTIONS in key},
            named_keys=generator.named,
            longest_key=generator.longest_key,
            longest_path=generator.longest_path,
        )

    @property
    def qualified_name(self) -> str:
        """The name."""
        return self.name

    @property
    def writer_schema(self) -> WriterSchema:
        """The schema of records."""
        return WriterSchema.of(json.loads(self.schema))

    @property
    def config(self) -> TableConfig:
        """The configuration of the table (``hoodie.properties``)."""
        return TableConfig.from_properties(self.properties, self.location)

    @property
    def generator(self) -> KeyGenerator:
        """Makes the keys of records."""
        made = KeyGenerator.of(self.config, self.key_options, named=self.named_keys)
        return replace(made, longest_key=self.longest_key, longest_path=self.longest_path)

    def in_transaction(self, instant: str) -> HudiMutationTable:
        """The table with the instant of a transaction."""
        return replace(self, instant=instant)

    def encode(self) -> str:
        """Encode as text, for ``decode`` in another process."""
        return encode_text(HUDI_TABLE_TAG, self)

    @classmethod
    def decode(cls, text: str) -> Self:
        """Decode the text form of a table.

        Raises:
            MutationError: no such text.
        """
        return decode_text(HUDI_TABLE_TAG, text, "table", "of a Hudi mutation", cls._from_json)

    @classmethod
    def _from_json(cls, values: dict[str, Any]) -> Self:
        check_fields(cls, values)
        return cls(**values)
