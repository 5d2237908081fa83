"""Parses names of data files, column by column.

A base file is ``<file id>_<write token>_<instant>.<extension>``, a log file
``.<file id>_<instant>.log.<version>[_<write token>[.cdc]]``. Base files that Hudi did not write keep their own names,
and metadata calls them ``<own name>_<instant>[_fg%3D<folder>]_hudiext``. Everything else (checksums, partition
metafiles, marker and temporary files) is of kind ``OTHER``.

Source: docs/format.md#file-names, docs/format.md#external-files.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.names import EXTERNAL_FILE_SUFFIX
from hudi_hive.table.view.ranks import IntArray, one_chunk

BASE_FILE_EXTENSIONS = ("parquet", "orc", "hfile", "lance")
"""Extensions of base files."""

_LOG_PATTERN = (
    r"^\.(?P<file_id>[^._]+)_(?P<instant>\d+)\.log\.(?P<version>\d{1,9})(?:_(?P<token>\d+-\d+-\d+)(?P<suffix>\.cdc)?)?$"
)
_INSTANT_AND_EXTENSION = r"^(?P<instant>\d+)\.(?P<extension>" + "|".join(BASE_FILE_EXTENSIONS) + r")$"

_EXTERNAL = (
    r"^(?P<name>[^./\\\x00][^/\\\x00]*\.(?P<extension>" + "|".join(BASE_FILE_EXTENSIONS) + r"))"
    r"_(?P<instant>\d+)(?:_fg%3D(?P<folder>.+))?" + EXTERNAL_FILE_SUFFIX + "$"
)

_TEXT_CODES = pa.dictionary(pa.int32(), pa.string())

FILE_NAMES_SCHEMA = pa.schema(
    [
        ("kind", pa.int8()),
        ("file_id", pa.string()),
        ("instant", _TEXT_CODES),
        ("write_token", pa.string()),
        ("log_version", pa.int32()),
        ("extension", _TEXT_CODES),
    ]
)
"""Columns of :func:`parse_file_names`; all but ``kind`` are null where the kind of file does not have them."""


class FileKind(IntEnum):
    """The kind of a file in a partition folder, by its name."""

    BASE = 0
    LOG = 1
    CDC = 2
    OTHER = 3


@dataclass(frozen=True, slots=True)
class SplitNames:
    """Parsed names of a listing, split into base and log files; ``rows`` are positions in the listing.

    ``logs`` holds CDC files as well, told apart by its ``cdc`` column.
    """

    base_rows: IntArray
    base: pa.Table  # file_id, write_token, instant (dictionary), extension (dictionary)
    log_rows: IntArray
    logs: pa.Table  # file_id, instant (dictionary), log_version, write_token, cdc


def split_file_names(names: pa.Array | pa.ChunkedArray) -> SplitNames:
    """Parse names to separate tables of base and log files.

    Args:
        names: file names without folders; nulls are of no kind.
    """
    array = _one_array(names)
    hidden = pc.starts_with(array, ".")
    base_rows, base = _split_base_names(array, hidden)
    external = pc.ends_with(array, EXTERNAL_FILE_SUFFIX)
    if pc.any(external, min_count=0).as_py():
        base_rows, base = _with_external(base_rows, base, array, _true_rows(external))
    log_rows, logs = _split_log_names(array, hidden) if pc.any(hidden).as_py() else _no_logs()
    return SplitNames(base_rows, base, log_rows, logs)


def parse_file_names(names: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Parse names to a table of :data:`FILE_NAMES_SCHEMA`, a row for each name in the given order.

    File id of a base file is the text before the first ``_``, its instant the text between the second ``_`` and the
    ``.`` after it; that of a file that Hudi did not write is its path in the partition, and it has no write token.
    ``extension`` of a log file is ``log``, of a change-data file ``cdc``.

    Args:
        names: file names without folders.
    """
    split = split_file_names(names)
    base, logs = split.base, split.logs
    cdc = logs["cdc"].to_numpy()
    parts = pa.table(
        [
            pa.array(np.concatenate([np.zeros(len(base), np.int8), np.where(cdc, 2, 1).astype(np.int8)]), pa.int8()),
            _concat(base["file_id"], logs["file_id"]),
            _concat(base["instant"], logs["instant"]),
            _concat(base["write_token"], logs["write_token"]),
            _concat(pa.nulls(len(base), pa.int32()), logs["log_version"]),
            _concat(base["extension"], pc.if_else(logs["cdc"], "cdc", "log").dictionary_encode()),
        ],
        schema=FILE_NAMES_SCHEMA,
    )
    rows = np.concatenate([split.base_rows, split.log_rows])
    if len(rows) == len(names) and (len(rows) < 2 or bool((np.diff(rows) > 0).all())):
        return parts
    where = np.full(len(names), -1, np.int64)
    where[rows] = np.arange(len(rows))
    table = parts.take(pa.array(where, pa.int64(), mask=where < 0))
    return table.set_column(0, "kind", pc.fill_null(table["kind"], pa.scalar(FileKind.OTHER.value, pa.int8())))


def stored_names(names: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Paths below a partition's folder of the files that metadata names; most are the names themselves.

    Args:
        names: of files, null where there is none.
    """
    array = one_chunk(names) if isinstance(names, pa.ChunkedArray) else names
    external = pc.fill_null(pc.ends_with(array, EXTERNAL_FILE_SUFFIX), False)
    if not pc.any(external, min_count=0).as_py():
        return array
    parts = parse_file_names(array.filter(external))
    stored = pc.coalesce(one_chunk(parts["file_id"]), array.filter(external))
    return pc.replace_with_mask(array, external, stored)


def _with_external(base_rows: IntArray, base: pa.Table, names: pa.Array, rows: IntArray) -> tuple[IntArray, pa.Table]:
    """Parsed names of base files, with those among some rows that name files Hudi did not write."""
    matched = pc.extract_regex(names.take(pa.array(rows)), _EXTERNAL)
    folders = matched.field("folder").dictionary_encode()
    decoded = pa.array([_folder(text) for text in folders.dictionary.to_pylist()], pa.string())
    file_ids = pc.binary_join_element_wise(
        _through(decoded, folders.indices).cast(pa.string()), matched.field("name"), ""
    )
    keep = pc.and_(pc.is_valid(matched), pc.is_valid(file_ids))
    external = pa.table(
        {
            "file_id": file_ids,
            "write_token": pa.nulls(len(rows), pa.string()),
            "instant": matched.field("instant").dictionary_encode(),
            "extension": matched.field("extension").dictionary_encode(),
        }
    ).filter(keep)
    rows = np.concatenate([base_rows, rows[_true_rows(keep)]])
    order = np.argsort(rows, kind="stable")
    return rows[order], pa.concat_tables([base, external]).unify_dictionaries().take(pa.array(order)).combine_chunks()


def _folder(text: str | None) -> str | None:
    """The folder in the partition that an escaped text of a name means, with a slash; None for one outside of it."""
    if not text:
        return text
    folder = unquote(text)
    return None if "\0" in folder or not {"", ".", ".."}.isdisjoint(folder.split("/")) else f"{folder}/"


def _split_base_names(names: pa.Array, hidden: pa.Array) -> tuple[IntArray, pa.Table]:
    parts = pc.split_pattern(names, "_")
    fits = pc.and_(pc.invert(hidden), pc.equal(pc.list_value_length(parts), 3))
    rows = _true_rows(fits)
    if len(rows) < len(names):
        parts = parts.filter(fits)
    # Tokens and file ids are nearly all different, but the last parts are as few as the commits: work on a dictionary.
    tails = pc.list_element(parts, 2).dictionary_encode() if len(rows) else _empty_codes()
    matched = pc.extract_regex(tails.dictionary, _INSTANT_AND_EXTENSION)
    values = parts.flatten()
    firsts = np.arange(len(rows), dtype=np.int64) * 3
    file_ids = values.take(pa.array(firsts))
    keep = pc.and_(pc.is_valid(matched).take(tails.indices), pc.not_equal(file_ids, ""))
    if not pc.all(keep, min_count=0).as_py():
        chosen = _true_rows(keep)
        rows, firsts = rows[chosen], firsts[chosen]
        file_ids, tails = file_ids.filter(keep), tails.filter(keep)
    table = pa.table(
        {
            "file_id": file_ids,
            "write_token": values.take(pa.array(firsts + 1)),
            "instant": _through(matched.field("instant"), tails.indices),
            "extension": _through(matched.field("extension"), tails.indices),
        }
    )
    return rows, table


def _split_log_names(names: pa.Array, hidden: pa.Array) -> tuple[IntArray, pa.Table]:
    rows = _true_rows(hidden)
    matched = pc.extract_regex(names.take(pa.array(rows)), _LOG_PATTERN)
    keep = pc.is_valid(matched)
    rows, matched = rows[_true_rows(keep)], matched.filter(keep)
    tokens = matched.field("token")
    table = pa.table(
        {
            "file_id": matched.field("file_id"),
            "instant": matched.field("instant").dictionary_encode(),
            "log_version": matched.field("version").cast(pa.int32()),
            "write_token": pc.if_else(pc.equal(tokens, ""), pa.scalar(None, pa.string()), tokens),
            "cdc": pc.equal(matched.field("suffix"), ".cdc"),
        }
    )
    return rows, table


def _through(values: pa.Array, indices: pa.Array) -> pa.DictionaryArray:
    """Dictionary array of ``values[codes]`` whose dictionary has no value twice."""
    encoded = values.dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices.take(indices), encoded.dictionary)


def _empty_codes() -> pa.DictionaryArray:
    return pa.array([], pa.string()).dictionary_encode()


def _one_array(names: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(names, pa.ChunkedArray):
        names = one_chunk(names)
    if isinstance(names, pa.DictionaryArray):
        names = names.dictionary_decode()
    return pc.fill_null(names, "") if names.null_count else names


def _concat(*columns: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    chunks: list[Any] = []
    for column in columns:
        chunks.extend(column.chunks if isinstance(column, pa.ChunkedArray) else [column])
    return pa.chunked_array(chunks).unify_dictionaries()


def _true_rows(mask: pa.Array) -> IntArray:
    return np.flatnonzero(mask.to_numpy(zero_copy_only=False)).astype(np.int64)


@cache  # not at import: Arrow's first array of Python values brings pandas
def _no_logs() -> tuple[IntArray, pa.Table]:
    return _split_log_names(pa.array([], pa.string()), pa.array([], pa.bool_()))
