"""Avro records and Arrow columns: decodes many bare Avro binaries to Arrow batches, and encodes Arrow rows to Avro.

Also the one mapping of Avro to Arrow types. Bytes that do not follow the schema raise ``CorruptFileError``.

Source: Avro specification 1.11 ("Binary Encoding"); docs/format.md#avro-schemas.
"""

from hudi_hive.formats.avro.codecs import snappy_length
from hudi_hive.formats.avro.container import checked_schema, describe, is_container, read_container, write_container
from hudi_hive.formats.avro.decoder import decode_records
from hudi_hive.formats.avro.encoder import encode_binaries
from hudi_hive.formats.avro.object_count import count_objects, density
from hudi_hive.formats.avro.schema import (
    ArrayNode,
    EnumNode,
    FixedNode,
    MapNode,
    Node,
    PlainNode,
    RecordNode,
    UnionNode,
    avro_to_arrow,
    parse_record,
)

__all__ = [
    "ArrayNode",
    "EnumNode",
    "FixedNode",
    "MapNode",
    "Node",
    "PlainNode",
    "RecordNode",
    "UnionNode",
    "avro_to_arrow",
    "checked_schema",
    "count_objects",
    "decode_records",
    "density",
    "describe",
    "encode_binaries",
    "is_container",
    "parse_record",
    "read_container",
    "snappy_length",
    "write_container",
]
