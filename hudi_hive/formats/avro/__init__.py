"""Avro records by column: in come bare binaries, their spans and the writer's schema, out come Arrow batches.

Also the one mapping of Avro to Arrow types. Bytes that do not follow the schema raise ``CorruptFileError``.
"""

from hudi_hive.formats.avro.decoder import decode_records
from hudi_hive.formats.avro.schema import avro_to_arrow

__all__ = ["avro_to_arrow", "decode_records"]
