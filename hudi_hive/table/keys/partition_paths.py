"""Makes partition paths of values and parses the values in paths, one or a column at a time.

A path has one folder per partition field, ``value`` or ``field=value``; a field whose values hold slashes (dates
written ``yyyy/MM/dd``) takes several. Values come out as text: typing them is the schema's business.

Source: docs/format.md#partition-paths.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import PartitionValueError

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""Folder of null and of empty values."""

METAFOLDER: Final = ".hoodie"
"""Folder of a table's own metadata, below which no partition lies; other names that begin so are partitions'."""

PARTITION_METAFILE: Final = ".hoodie_partition_metadata"
PARTITION_METAFILES: Final = (PARTITION_METAFILE, PARTITION_METAFILE + ".parquet", PARTITION_METAFILE + ".orc")
"""Files whose presence makes a folder a partition, as Hudi's listing has it."""

ALL_PARTITIONS: Final = "__all_partitions__"
"""Key of the metadata table's record that names all partitions, among keys that are partition paths."""

MAX_FOLDER_BYTES: Final = 255
"""Bytes of one folder's name that local file systems and HDFS take."""

MAX_DEPTH: Final = 128
"""Folders of one partition path; each level costs Hudi's listing a round of its own."""

_NO_FOLDER: Final = frozenset(("", ".", "..", METAFOLDER))

_ESCAPED = frozenset([*map(chr, range(0x20)), "\x7f", *"\"#%'*/:=?\\{[]^"])
_TO_ESCAPE = re.compile("[" + re.escape("".join(sorted(_ESCAPED))) + "]")
_ESCAPE_SEQUENCE = re.compile("%([0-9A-Fa-f]{2})")


def holds_partitions(names: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Whether each folder name can be, or contain, partitions: all but :data:`METAFOLDER`, as in Hudi's listing.

    Args:
        names: names of folders without those above them.
    """
    return pc.not_equal(names, METAFOLDER)


def path_defect(path: str) -> str | None:
    """The reason why rows in a partition path could not be read again; None if they can.

    Args:
        path: partition path relative to the base path.

    Returns:
        The reason; None for a path that can be written.
    """
    folders = path.split("/")
    try:
        longest = max(len(folder.encode()) for folder in folders)
    except UnicodeEncodeError:
        return "it holds half of a surrogate pair, which is no text"
    if not _NO_FOLDER.isdisjoint(folders):
        return "it is no folder of the table"
    if "\x00" in path:
        return "it is no folder of the table: no name holds a NUL"
    if any(folder.startswith(PARTITION_METAFILE) for folder in folders):
        return f"a folder named like {PARTITION_METAFILE} makes the folder above it a partition"
    if longest > MAX_FOLDER_BYTES:
        return f"a folder's name of {longest} bytes is longer than the {MAX_FOLDER_BYTES} that file systems take"
    if len(folders) > MAX_DEPTH:
        return f"it is {len(folders)} folders deep, more than {MAX_DEPTH}"
    if path == ALL_PARTITIONS:
        return "the metadata table has a record of that name that is no partition's"
    return None


def escape_value(value: str) -> str:
    """Url-encode a partition value: Hive's set of special characters becomes ``%XX``.

    Spaces, ``,``, ``+``, ``&``, ``}`` and everything beyond ASCII stay as they are.
    """
    return _TO_ESCAPE.sub(lambda match: f"%{ord(match[0]):02X}", value)


def unescape_value(text: str) -> str:
    """Undo :func:`escape_value`; a ``%`` without two hex digits after it stays."""
    if "%" not in text:
        return text
    return _ESCAPE_SEQUENCE.sub(lambda match: chr(int(match[1], 16)), text)


def partition_path(values: Sequence[str | None], fields: Sequence[str], *, hive_style: bool, url_encoded: bool) -> str:
    """Make the partition path of values; the inverse of :func:`partition_values`.

    Args:
        values: one text per field; None and ``""`` go to :data:`DEFAULT_PARTITION`.
        fields: partition columns in order.
        hive_style: folders are ``field=value``.
        url_encoded: values are escaped; otherwise a slash in a value makes a folder of its own.

    Raises:
        PartitionValueError: not as many values as fields.
    """
    if len(values) != len(fields):
        raise PartitionValueError(f"{len(values)} partition values for {len(fields)} partition fields")
    folders = []
    for field, value in zip(fields, values, strict=True):
        text = (escape_value(value) if url_encoded else value) if value else DEFAULT_PARTITION
        folders.append(f"{field}={text}" if hive_style else text)
    return "/".join(folders)


def partition_values(path: str, fields: Sequence[str], *, hive_style: bool, url_encoded: bool) -> list[str | None]:
    """Parse the values of the partition fields in a partition path; None for :data:`DEFAULT_PARTITION`.

    With more folders than fields, a single field takes them all (``2024/01/05``); of several fields in hive style each
    takes the folders up to the next ``field=``.

    Args:
        path: relative partition path.
        fields: partition columns in order, without key generator suffixes; none for a table that is not partitioned.
        hive_style: folders are ``field=value``.
        url_encoded: values are to be unescaped.

    Raises:
        PartitionValueError: the path does not fit the fields, or fits them in more than one way.
    """
    if not fields:
        return []
    folders = path.split("/")
    if len(fields) == 1:
        texts = [path]
    elif len(folders) == len(fields):
        texts = folders
    elif hive_style and len(folders) > len(fields):
        texts = _by_field_names(path, folders, fields)
    else:
        raise _misfit(path, fields)
    return [
        _value(path, text, field, fields, hive_style, url_encoded) for text, field in zip(texts, fields, strict=True)
    ]


def partition_value_columns(
    paths: pa.Array | pa.ChunkedArray, fields: Sequence[str], *, hive_style: bool, url_encoded: bool
) -> pa.Table:
    """Parse a column of partition paths: a string column for each field, a row for each path.

    Raises:
        PartitionValueError: a path does not fit the fields.
    """
    if not fields:
        # A table without columns forgets its length, but here that is all there is to tell.
        return pa.table({"row": pa.nulls(len(paths))}).select([])
    if isinstance(paths, pa.ChunkedArray):
        paths = paths.combine_chunks()
    encoded = paths if isinstance(paths, pa.DictionaryArray) else paths.dictionary_encode()
    unique = encoded.dictionary
    columns = _split_evenly(unique, fields, hive_style)
    if columns is None:
        return _one_by_one(unique, fields, hive_style, url_encoded).take(encoded.indices)
    result = []
    for column in columns:
        value = pc.if_else(pc.equal(column, DEFAULT_PARTITION), pa.scalar(None, pa.string()), column)
        result.append(_unescape_column(value) if url_encoded else value)
    return pa.table(result, names=list(fields)).take(encoded.indices)


def _split_evenly(paths: pa.Array, fields: Sequence[str], hive_style: bool) -> list[pa.Array] | None:
    """Texts per field if every path has one folder per field, in order; None if any needs a closer look."""
    if len(fields) == 1:
        columns = [paths]
    elif not len(paths) or not pc.all(pc.equal(pc.count_substring(paths, "/"), len(fields) - 1)).as_py():
        return None
    else:
        folders = pc.split_pattern(paths, "/")
        columns = [pc.list_element(folders, index) for index in range(len(fields))]
    if hive_style:
        prefixes = [f"{field}=" for field in fields]
        if not all(
            pc.all(pc.starts_with(column, prefix), min_count=0).as_py()
            for column, prefix in zip(columns, prefixes, strict=True)
        ):
            return None
        columns = [
            pc.utf8_slice_codeunits(column, len(prefix)) for column, prefix in zip(columns, prefixes, strict=True)
        ]
    elif any(
        pc.any(pc.starts_with(column, f"{field}="), min_count=0).as_py()
        for field, column in zip(fields, columns, strict=True)
    ):
        return None
    if any(pc.any(pc.equal(column, ""), min_count=0).as_py() for column in columns):
        return None
    return columns


def _unescape_column(values: pa.Array) -> pa.Array:
    escaped = pc.fill_null(pc.match_substring(values, "%"), False)
    if not pc.any(escaped, min_count=0).as_py():
        return values
    distinct = values.filter(escaped).dictionary_encode()
    plain = pa.array([unescape_value(text) for text in distinct.dictionary.to_pylist()], pa.string())
    return pc.replace_with_mask(values, escaped, plain.take(distinct.indices))


def _one_by_one(paths: pa.Array, fields: Sequence[str], hive_style: bool, url_encoded: bool) -> pa.Table:
    rows = [
        partition_values(path, fields, hive_style=hive_style, url_encoded=url_encoded) for path in paths.to_pylist()
    ]
    columns = [pa.array([row[index] for row in rows], pa.string()) for index in range(len(fields))]
    return pa.table(columns, names=list(fields))


def _by_field_names(path: str, folders: list[str], fields: Sequence[str]) -> list[str]:
    starts = []
    for field in fields:
        positions = [index for index, folder in enumerate(folders) if folder.startswith(f"{field}=")]
        if len(positions) != 1:
            raise _misfit(path, fields)
        starts.append(positions[0])
    if starts[0] != 0 or starts != sorted(starts):
        raise _misfit(path, fields)
    return ["/".join(folders[start:end]) for start, end in pairwise([*starts, len(folders)])]


def _value(path: str, text: str, field: str, fields: Sequence[str], hive_style: bool, url_encoded: bool) -> str | None:
    if hive_style:
        if not text.startswith(f"{field}="):
            raise _misfit(path, fields)
        text = text[len(field) + 1 :]
    elif text.startswith(f"{field}="):
        # The table's properties do not tell that its folders are in hive style: the name is no part of a value.
        raise _misfit(path, fields)
    if not text:
        raise _misfit(path, fields)
    if text == DEFAULT_PARTITION:
        return None
    return unescape_value(text) if url_encoded else text


def _misfit(path: str, fields: Sequence[str]) -> PartitionValueError:
    return PartitionValueError(
        f"partition path {path!r} does not fit the partition fields {', '.join(fields)}",
        remedy="check hoodie.table.partition.fields and hoodie.datasource.write.hive_style_partitioning",
    )
