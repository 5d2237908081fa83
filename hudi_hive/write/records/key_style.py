"""The key generator of a table as its files have it: releases wrote complex keys of one field in two ways.

A client and write options in, a generator out. Version 9 tells the way; in versions 6 and 8 some releases write ``a``
and some ``id:a``, and rows of the other way would be other records.

Source: docs/format.md#record-keys.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.keys import NEW_COMPLEX_ENCODING, KeyGenerator
from hudi_hive.write.index import KeySource, slices_of

_LOCAL_PATH_BYTES: Final = 4095
"""``PATH_MAX`` of Linux without its NUL."""

_OBJECT_KEY_BYTES: Final = 1024
"""Bytes of a key in S3, Google Cloud Storage and Azure."""

_OWN_BYTES: Final = 256
"""Room for ``.hoodie/.temp/<instant>/`` before a partition path, and a file's name and its marker's suffix after it."""


def table_generator(client: MetaClient, options: Mapping[str, str]) -> KeyGenerator:
    """The generator whose keys are like those that the table has.

    Args:
        client: the table.
        options: write options.

    Raises:
        UnsupportedTableError: a key generator that we do not know.
        InvalidOptionError: an option of it is missing, has a value that it does not take, or asks for keys of another
            way than the table's.
    """
    longest = longest_partition_path(client.storage)
    generator = replace(KeyGenerator.of(client.config, options), longest_path=longest)
    config = client.config
    if (
        generator.kind != "COMPLEX"
        or len(generator.record_fields) != 1
        or config.version >= 9
        or not config.populate_meta_fields
    ):
        return generator
    named = has_named_keys(client, generator.record_fields[0])
    if named is None or named == generator.named:
        return generator
    if NEW_COMPLEX_ENCODING in options:
        raise InvalidOptionError(
            f"option {NEW_COMPLEX_ENCODING}={options[NEW_COMPLEX_ENCODING]} contradicts the table, whose keys are "
            + (f"{generator.record_fields[0]}:value" if named else "values alone"),
            path=client.base_path,
            remedy="leave the option out",
        )
    return replace(KeyGenerator.of(config, options, named=named), longest_path=longest)


def longest_partition_path(storage: Storage) -> int:
    """Bytes that a partition path may have for the paths of its files and of their markers to be taken.

    Args:
        storage: rooted at the base path.
    """
    limit = _LOCAL_PATH_BYTES if storage.is_local else _OBJECT_KEY_BYTES
    return limit - len(os.fsencode(storage.root)) - _OWN_BYTES


def has_named_keys(client: MetaClient, field: str) -> bool | None:
    """Whether the table's keys begin with the name of their field, by the first keys found; None for an empty table."""
    source = KeySource.of(client)
    for partition in client.partition_paths():
        for part in slices_of(client.file_system_view([partition]).latest_merged_file_slices()):
            for keys in source.keys(part):
                if len(keys):
                    return bool(pc.all(pc.starts_with(keys, f"{field}:")).as_py())
    return None
