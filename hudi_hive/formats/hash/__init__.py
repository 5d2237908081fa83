"""Hashes that decide where a record goes: bloom filters, Java's ``hashCode``, xxHash, Hive's bucket numbers.

Source: docs/format.md#bloom-filters, docs/format.md#bucket-index, docs/format.md#consistent-hashing,
docs/format/hive.md#hive-bucket-hashes.
"""

from __future__ import annotations

from hudi_hive.formats.hash.bloom import SIMPLE, BloomBuilder, BloomFilter, BloomSettings, key_hashes
from hudi_hive.formats.hash.hash_id import hash_id
from hudi_hive.formats.hash.hive_bucket import bucket_numbers
from hudi_hive.formats.hash.java_hash import string_hashes
from hudi_hive.formats.hash.text_hash import text_hashes
from hudi_hive.formats.hash.xx_hash import xxhash32

__all__ = [
    "SIMPLE",
    "BloomBuilder",
    "BloomFilter",
    "BloomSettings",
    "bucket_numbers",
    "hash_id",
    "key_hashes",
    "string_hashes",
    "text_hashes",
    "xxhash32",
]
