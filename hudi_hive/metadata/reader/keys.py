"""Makes the keys of the metadata table's records, and the numbers of their file groups.

Source: docs/format.md#metadata-partitions, docs/format.md#metadata-file-groups.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.batches import rows_by_number
from hudi_hive.formats.hash import hash_id, string_hashes
from hudi_hive.schema import java_text
from hudi_hive.table.keys import ALL_PARTITIONS as PATHS_ALL_PARTITIONS
from hudi_hive.table.keys import escape_value, unescape_value

ALL_PARTITIONS: Final = PATHS_ALL_PARTITIONS
"""Key of the record that names all partitions."""

NULL_KEY: Final = "\0"
"""The secondary key of records that have null in the indexed column, in table version 9; before, they are left out."""

_VERSION_WITH_NULLS: Final = 9
"""From this table version on secondary indexes have null, and days for dates."""

RECORD_INDEX_PREFIX: Final = "record-index"
"""What the file groups of a record index of the whole table are called before their number."""

_OF_PARTITION: Final = f"{RECORD_INDEX_PREFIX}-"

ROOT_PARTITION: Final = "."
"""How the partition of a table without partition columns is called here; its path is empty."""


def partition_identifier(path: str) -> str:
    """The identifier of a partition path in keys: ``.`` for the empty path."""
    return path or ROOT_PARTITION


def partition_path(identifier: str) -> str:
    """The partition path of an identifier; the inverse of :func:`partition_identifier`."""
    return "" if identifier == ROOT_PARTITION else identifier


def index_prefix(path: str) -> str:
    """What the file groups of a partition's own record index are called before their number.

    Source: docs/format.md#metadata-file-groups, ``PartitionPathEncodeUtils.escapeFileName``.
    """
    escaped = escape_value(path).replace("_", "%5F").replace("-", "%2D")
    return f"{_OF_PARTITION}{escaped}"


def indexed_path(prefix: str) -> str | None:
    """The partition path of such a prefix; None for one that is not :func:`index_prefix`'s."""
    if not prefix.startswith(_OF_PARTITION):
        return None
    return unescape_value(prefix.removeprefix(_OF_PARTITION))


def paths_below(partitions: Iterable[str], below: Sequence[str]) -> list[str]:
    """The partition paths that are one of some paths or below one of them, in their order; all without any.

    Source: ``HoodieTableMetadata.getPartitionPathWithPathPrefixes``.
    """
    roots = [path.strip("/") for path in below]
    if not roots or "" in roots:
        return list(partitions)
    heads = tuple(f"{root}/" for root in roots)
    return [path for path in partitions if path in roots or path.startswith(heads)]


def column_key(column: str) -> str:
    """The part (12 characters) of keys of column and partition statistics that identifies a column."""
    return _text(hash_id(column))


def partition_key(path: str) -> str:
    """The part (12 characters) of keys that identifies a partition path."""
    return _text(hash_id(partition_identifier(path)))


def file_key(name: str) -> str:
    """The part (24 characters) of keys that identifies the bare name of a base or log file."""
    return _text(hashlib.md5(name.encode(), usedforsecurity=False).digest())


def escape_secondary(value: str) -> str:
    """Escape a secondary key or record key, as it stands before or behind the ``$`` of a secondary index key."""
    return value.replace("\\", "\\\\").replace("$", "\\$").replace(NULL_KEY, f"\\{NULL_KEY}")


def secondary_texts(values: pa.Array, version: int) -> pa.Array | None:
    """Values of a column as a secondary index has them; None for types whose texts are not certain.

    Args:
        values: texts, whole numbers or dates.
        version: table version.
    """
    if pa.types.is_date32(values.type):
        days = values.cast(pa.int32())
        return days.cast(pa.string()) if version >= _VERSION_WITH_NULLS else values.cast(pa.string())
    if pa.types.is_string(values.type) or pa.types.is_signed_integer(values.type):
        return values.cast(pa.string())
    return None


def secondary_index_keys(values: pa.Array, keys: pa.Array, version: int, index: str) -> pa.Array:
    """Keys of a secondary index's records (docs/format.md#secondary-indexes).

    Args:
        values: the indexed column.
        keys: record keys of the same rows.
        version: table version; before 9 rows with null have no key.
        index: name of the index, for messages.

    Raises:
        UnsupportedTableError: values of a type that has no text.
    """
    days = secondary_texts(values, version) if pa.types.is_date32(values.type) else None
    texts = _escaped(java_text(values, index) if days is None else days)
    if version >= _VERSION_WITH_NULLS:
        texts = pc.fill_null(texts, NULL_KEY)
    joined = pc.binary_join_element_wise(texts, _escaped(keys), "$")
    return joined.drop_null()


def _escaped(texts: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(texts, r"([\\$\x00])", r"\\\1")


def secondary_heads(keys: pa.Array) -> pa.Array:
    """What stands before the record keys in keys of a secondary index, the ``$`` included: what version 2 hashes."""
    return pc.replace_substring_regex(keys, r"(?s)^((?:[^\\$]|\\.)*\$).*$", r"\1")


_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SPLIT = re.compile(r"((?:[^\\$]|\\.)*)\$(.*)", re.DOTALL)


def split_secondary(key: str) -> tuple[str | None, str] | None:
    """Split a secondary index key to secondary key (None for null) and record key, unescaped; None if it is not one."""
    match = _SPLIT.fullmatch(key)
    if match is None:
        return None
    secondary = None if match[1] == NULL_KEY else _ESCAPED.sub(r"\1", match[1])
    return secondary, _ESCAPED.sub(r"\1", match[2])


def group_indexes(keys: Sequence[str] | pa.Array, groups: int) -> npt.NDArray[np.int64]:
    """The number of the file group that holds each key in a partition of the metadata table.

    The hash is Java's of a string, over UTF-16 units, with Java's remainder.

    Args:
        keys: record keys.
        groups: number of file groups of the partition of the metadata table.
    """
    values = keys if isinstance(keys, pa.Array) else pa.array(keys, pa.string())
    signed = string_hashes(values).astype(np.int64)
    least = np.int64(-(2**31))
    absolute = np.where(signed == least, least, np.abs(signed))  # Java's abs leaves the least int negative
    return np.abs(np.fmod(absolute, groups)).astype(np.int64)


def rows_of_groups(keys: Sequence[str] | pa.Array, groups: int) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Give the file groups that hold any of some keys, each with the positions of its keys, in ascending order.

    Args:
        keys: record keys.
        groups: number of file groups of the partition of the metadata table.
    """
    return rows_by_number(group_indexes(keys, groups))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
