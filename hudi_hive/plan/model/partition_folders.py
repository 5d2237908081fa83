"""Judges folders on the way down to partitions by a row filter, before they are listed.

A folder is left out when no partition at or below it can hold a row that passes, whatever the rest of the path is. What
a path's first folders say of the partition columns depends on how values are written: a text that is not url-encoded
may hold slashes, so that ``2024`` is the beginning of ``2024/01/05``, and ``a=x/b=1`` may be the column ``a`` alone.
All ways to cut the folders into values are therefore judged, and one that may pass is enough.

Source: docs/format.md#partition-paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.plan.model.partitions import may_match, prunable_fields
from hudi_hive.predicate import ColumnRange, RowFilter
from hudi_hive.table import MetaClient
from hudi_hive.table.keys import DEFAULT_PARTITION, partition_value_columns
from hudi_hive.table.view import FolderFilter

_MAX_CUTS: Final = 64
"""Ways to cut paths into values that are judged; with more of them the folders are kept."""

_MAX_DEPTH: Final = 16
"""Folders of a path that are cut; deeper ones are kept."""

_Mask: TypeAlias = npt.NDArray[np.bool_]


def folder_filter(client: MetaClient, row_filter: RowFilter | None) -> FolderFilter | None:
    """The filter of folders that leaves out those without rows passing a row filter.

    Args:
        client: the table.
        row_filter: bound to the table's schema.

    Returns:
        None if no folder can be left out: the filter reads no partition column whose value its path tells.
    """
    if row_filter is None or not client.config.is_partitioned:
        return None
    fields = [name for name in prunable_fields(client) if name in row_filter.columns]
    return _Folders(client, row_filter, fields) if fields else None


class _Folders:
    """A filter of folders.

    Args:
        client: the table.
        row_filter: reads some of the fields.
        fields: the partition fields whose values decide.
    """

    def __init__(self, client: MetaClient, row_filter: RowFilter, fields: Sequence[str]) -> None:
        config = client.config
        schema = client.partition_schema()
        self._filter = row_filter
        self._names = config.partition_fields
        self._types = {name: schema.field(name).type for name in fields}
        self._prefixes = [f"{name}=" for name in self._names]
        self._hive_style = config.hive_style_partitioning
        # The partitions of a bootstrapped table are called as in its source.
        self._url_encoded = config.url_encode_partitioning
        is_encoded = self._url_encoded and not config.is_bootstrapped
        numbers = {name for name in prunable_fields(client) if not _is_text(schema.field(name).type)}
        self._holds_slashes = [not is_encoded and name not in numbers for name in self._names]

    def __call__(self, folders: Sequence[str]) -> _Mask:
        """For each folder whether it may hold what passes."""
        keep = np.ones(len(folders), np.bool_)
        paths = pa.array(folders, pa.string())
        depths = pc.add(pc.count_substring(paths, "/"), 1).to_numpy()
        for depth in np.unique(depths).tolist():
            places = np.flatnonzero(depths == depth)
            keep[places] = self._judge(paths.take(pa.array(places)), depth)
        return keep

    def _judge(self, paths: pa.Array, depth: int) -> _Mask:
        """As a call, of folders of one depth."""
        cuts = list(islice(self._cuts(0, 0, depth), _MAX_CUTS + 1)) if depth <= _MAX_DEPTH else []
        if not 0 < len(cuts) <= _MAX_CUTS:
            return np.ones(len(paths), np.bool_)
        split = pc.split_pattern(paths, "/")
        names = [pc.list_element(split, place) for place in range(depth)]
        keep, is_cut = np.zeros(len(paths), np.bool_), np.zeros(len(paths), np.bool_)
        for cut in cuts:
            starts = (0, *cut[:-1])
            texts = [_joined(names[start:end]) for start, end in zip(starts, cut, strict=True)]
            fits, is_odd = self._fit(texts)
            is_cut |= fits
            keep |= is_odd
            rows = np.flatnonzero(fits & ~keep)
            if len(rows):
                taken = pa.array(rows)
                values = [self._values(place, text.take(taken)) for place, text in enumerate(texts)]
                keep[rows] = self._may_match(values)
        return keep | ~is_cut

    def _cuts(self, field: int, start: int, depth: int) -> Iterator[tuple[int, ...]]:
        """Yield the ways to cut folders into values of fields: for each field the end of its folders.

        The last of them may go on below; later fields are all below.
        """
        if field == len(self._names):
            return
        last = depth if self._holds_slashes[field] else start + 1
        for end in range(start + 1, last + 1):
            if end == depth:
                yield (end,)
            else:
                yield from ((end, *rest) for rest in self._cuts(field + 1, end, depth))

    def _fit(self, texts: Sequence[pa.Array]) -> tuple[_Mask, _Mask]:
        """Which paths can be cut so, and which are not written as the table's properties tell."""
        fits, is_odd = np.ones(len(texts[0]), np.bool_), np.zeros(len(texts[0]), np.bool_)
        for text, prefix in zip(texts, self._prefixes, strict=False):
            is_named = _mask(pc.starts_with(text, prefix))
            if self._hive_style:
                fits &= is_named
                is_odd |= _mask(pc.equal(text, prefix))
            else:
                is_odd |= is_named
        return fits & ~is_odd, is_odd

    def _values(self, place: int, folders: pa.Array) -> pa.Array:
        """The texts of a field's folders as texts of its values; null for the default partition."""
        style = {"hive_style": self._hive_style, "url_encoded": self._url_encoded}
        return partition_value_columns(folders, [self._names[place]], **style).column(0).combine_chunks()

    def _may_match(self, texts: Sequence[pa.Array]) -> _Mask:
        """Whether rows can pass whose first partition columns have these values, or a last one that begins so."""
        last = len(texts) - 1
        values, whole = {}, np.ones(len(texts[0]), np.bool_)
        for name, text in zip(self._names, texts, strict=False):
            if name in self._types:
                values[name], is_read = _typed(text, self._types[name])
                whole &= is_read
        keep = ~whole | self._passes(values, len(whole))
        name = self._names[last]
        if not self._holds_slashes[last] or name not in values:
            return keep
        del values[name]
        return keep | self._passes(values, len(whole), {(name,): _beginning_with(texts[last], self._types[name])})

    def _passes(
        self, values: dict[str, pa.Array], count: int, ranges: dict[tuple[str, ...], ColumnRange] | None = None
    ) -> _Mask:
        if not values and not ranges:
            return np.ones(count, np.bool_)
        # A table without columns forgets its length.
        table = pa.table(values) if values else pa.table({"": pa.nulls(count)})
        return may_match(self._filter, table, ranges)


def _joined(folders: Sequence[pa.Array]) -> pa.Array:
    return folders[0] if len(folders) == 1 else pc.binary_join_element_wise(*folders, "/")


def _mask(values: pa.Array) -> _Mask:
    result: _Mask = values.to_numpy(zero_copy_only=False)
    return result


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _typed(texts: pa.Array, kind: pa.DataType) -> tuple[pa.Array, _Mask]:
    """Texts in paths as values, and which of them are values of the type; null for others."""
    try:
        return texts.cast(kind), np.ones(len(texts), np.bool_)
    except pa.ArrowInvalid:
        pass
    distinct = texts.dictionary_encode()
    values, is_read = [], []
    for text in distinct.dictionary:
        try:
            values.append(text.cast(kind))
            is_read.append(True)
        except pa.ArrowInvalid:
            values.append(pa.scalar(None, kind))
            is_read.append(False)
    column = pa.array([value.as_py() for value in values], kind).take(distinct.indices)
    return column, _mask(pc.fill_null(pa.array(is_read, pa.bool_()).take(distinct.indices), True))


def _beginning_with(texts: pa.Array, kind: pa.DataType) -> ColumnRange:
    """The range of texts that begin with one and a slash."""
    beginnings = pc.binary_join_element_wise(pc.fill_null(texts, DEFAULT_PARTITION), "", "/")
    # No text has the byte 0xFF: it comes after all that begin so. Bytes are what texts are compared by.
    beyond = pc.binary_join_element_wise(
        pc.cast(beginnings, pa.binary()), pa.scalar(b"\xff", pa.binary()), pa.scalar(b"", pa.binary())
    ).view(pa.string())
    count = len(texts)
    nulls = pa.array(np.zeros(count, np.int64))
    return ColumnRange(beginnings.cast(kind), _as_kind(beyond, kind), nulls, pa.nulls(count, pa.int64()), False)


def _as_kind(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts that are no valid UTF-8 as another type of texts."""
    return texts if texts.type == kind else pc.cast(texts.view(pa.binary()), pa.large_binary()).view(kind)
