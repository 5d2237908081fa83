"""Reads one HFile: full scans, look-ups of keys, scans of prefixes.

Source: docs/format.md#hfile-indexes, docs/format.md#hfile-entries.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import CorruptFileError, UnsupportedFormatError
from hudi_hive.formats.hfile import blocks
from hudi_hive.formats.hfile.blocks import HFileBlock, parse_block, parse_trailer
from hudi_hive.formats.hfile.entries import as_table, decode_entries
from hudi_hive.formats.hfile.index import BlockIndex, parse_branch, parse_root
from hudi_hive.formats.hfile.wire import delimited_message, protobuf_message
from hudi_hive.storage import RangeStream

_PROTOBUF_INFO: Final = b"PBUF"
# The tail is read in one go: the load-on-open section of most files fits before the trailer.
_TAIL_BYTES: Final = 64 << 10
# Neighbouring blocks of a scan are read together up to this many bytes.
_SCAN_BYTES: Final = 8 << 20
# Blocks of a remote file are fetched together up to this many bytes.
_FETCHED_BYTES: Final = 64 << 20

_Location = tuple[int, int]  # offset and size of a block
_T = TypeVar("_T")


class HFileReader:
    """An open HFile: its end is read at once in one or two reads, blocks when they are needed.

    Args:
        source: a random-access stream, which stays open as long as the reader is used, or the file's bytes.
        path: the file, for errors.

    Attributes:
        blocks_read: data and leaf index blocks read so far.
        bytes_read: bytes read so far, the tail included.

    Raises:
        CorruptFileError: trailer, indexes or file info do not follow the format.
        UnsupportedFormatError: another major version, encryption, block encoding, tags, an unknown codec.
    """

    def __init__(self, source: pa.NativeFile | bytes | memoryview, path: str) -> None:
        self._file = source if isinstance(source, pa.NativeFile) else None
        self._memory = pa.py_buffer(b"" if isinstance(source, pa.NativeFile) else source)
        self._path = path
        self.blocks_read = 0
        self.bytes_read = 0
        size = int(self._file.size()) if self._file is not None else self._memory.size
        if size < blocks.TRAILER_SIZE:
            raise CorruptFileError(f"not an HFile: {size} bytes are less than a trailer", path=path)
        self._most_inflated = self._left_to_inflate = blocks.most_inflated(size)
        tail_start = max(0, size - _TAIL_BYTES)
        tail = self._read(tail_start, size - tail_start)
        trailer = parse_trailer(memoryview(tail).cast("B")[-blocks.TRAILER_SIZE :], size, path)
        self._trailer = trailer
        start = trailer.load_on_open_offset
        section_end = size - blocks.TRAILER_SIZE
        if start < tail_start:
            section = self._read(start, section_end - start)
        else:
            section = tail.slice(start - tail_start, section_end - start)
        self._load(section)

    def _load(self, section: pa.Buffer) -> None:
        """Read the load-on-open section: root index, meta index, file info."""
        trailer, path = self._trailer, self._path
        root = self._next(section, 0, blocks.ROOT_INDEX)
        meta = self._next(section, root.size, blocks.ROOT_INDEX)
        info_at = trailer.file_info_offset - trailer.load_on_open_offset
        info = self._next(section, info_at if info_at > 0 else root.size + meta.size, blocks.FILE_INFO)
        limit = trailer.load_on_open_offset
        self._root = parse_root(memoryview(root.content).cast("B"), trailer.root_count, limit, path)
        self._metas = parse_root(memoryview(meta.content).cast("B"), trailer.meta_count, limit, path, raw_keys=True)
        self.info: Mapping[str, bytes] = _file_info(memoryview(info.content).cast("B"), path)
        """Entries of the file info: name → value."""
        self._mvcc = self.info.get("KEY_VALUE_VERSION", b"") == b"\x00\x00\x00\x01"
        if "hfile.MAX_TAGS_LEN" in self.info:
            raise UnsupportedFormatError("HFile with tags", path=path)
        if self.info.get("DATA_BLOCK_ENCODING", b"NONE") != b"NONE":
            raise UnsupportedFormatError("HFile with encoded data blocks", path=path)
        if bool(trailer.entry_count) != bool(self._root.keys):
            indexed = len(self._root.keys)
            raise CorruptFileError(f"HFile: {trailer.entry_count} entries in {indexed} indexed blocks", path=path)

    def _next(self, section: pa.Buffer, position: int, magic: bytes) -> HFileBlock:
        if position > section.size:
            raise CorruptFileError("HFile: a block would begin behind its section", path=self._path)
        return self._inflate(section.slice(position), magic)

    def _expect(self, block: HFileBlock, *magics: bytes) -> HFileBlock:
        if block.magic not in magics:
            wanted = magics[0].decode()
            raise CorruptFileError(f"HFile: a block that is not {wanted} where one is due", path=self._path)
        return block

    # -- file info and meta blocks ------------------------------------------------------------------------------------

    @property
    def num_entries(self) -> int:
        """Number of entries, from the trailer."""
        return self._trailer.entry_count

    @cached_property
    def schema(self) -> dict[str, Any] | None:
        """Avro schema of the values, from the file info; None if there is none.

        Raises:
            CorruptFileError: it is not JSON.
        """
        text = self.info.get("schema")
        if text is None:
            return None
        try:
            schema = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CorruptFileError("HFile: the schema is not JSON", path=self._path) from error
        if not isinstance(schema, dict):
            raise CorruptFileError("HFile: the schema is not that of a record", path=self._path)
        return schema

    def meta(self, name: str) -> bytes | None:
        """Content of a meta block (``bloomFilter``), or None.

        Raises:
            CorruptFileError: the block does not follow the format.
        """
        block_name = name.encode()
        if block_name not in self._metas.keys:
            return None
        self._left_to_inflate = self._most_inflated
        offset, size = self._metas.locations[self._metas.keys.index(block_name)]
        return bytes(self._block(self._read(offset, size), blocks.META).content)

    # -- entries -------------------------------------------------------------------------------------------------------

    def scan(self) -> pa.Table:
        """Read all entries in file order: columns ``key`` (string) and ``value`` (binary), one chunk for each block.

        Raises:
            CorruptFileError: a block does not follow the format, or the number of entries is not that of the trailer.
        """
        self._left_to_inflate = self._most_inflated
        rows: list[pa.Array] = []
        values: list[pa.Array] = []
        for keys, found in self._data_blocks():
            rows.append(keys)
            values.append(found)
        count = sum(len(block) for block in rows)
        if count != self.num_entries:
            raise CorruptFileError(f"HFile of {self.num_entries} entries holds {count}", path=self._path)
        return as_table(rows, values, self._path)

    def lookup(self, keys: Sequence[str] | pa.Array) -> pa.Table:
        """Read the entries of keys, in file order; a key that is not in the file gives no row.

        Args:
            keys: sought keys, in any order.
        """
        sought = keys if isinstance(keys, pa.Array) else pa.array(keys, pa.string())
        sought = sought.cast(pa.binary()).unique()
        sought = sought.take(pc.sort_indices(sought))
        self._left_to_inflate = self._most_inflated
        rows: list[pa.Array] = []
        values: list[pa.Array] = []
        if len(sought) and self.num_entries:
            end = 0
            places = self._spread(self._root, self._trailer.levels, sought, 0, len(sought))
            for location, (begin, beyond) in self._fetched(places):
                end = self._behind(location, end)
                block_rows, block_values = self._entries(self._read(*location))
                mask = pc.is_in(block_rows, value_set=sought[begin:beyond])
                rows.append(block_rows.filter(mask))
                values.append(block_values.filter(mask))
        return as_table(rows, values, self._path)

    def _spread(
        self, index: BlockIndex, levels: int, sought: pa.Array, begin: int, beyond: int
    ) -> Iterator[tuple[_Location, tuple[int, int]]]:
        """The data blocks below an index that can hold some of the sorted rows, each with the range of those rows."""
        entries = index.entries_of_rows(sought, begin, beyond)
        places = ((index.locations[place], (first, last)) for place, first, last in entries)
        if levels == 1:
            yield from places
            return
        for location, (first, last) in self._fetched(places):
            yield from self._spread(self._branch(location), levels - 1, sought, first, last)

    def scan_prefixes(self, prefixes: Sequence[str]) -> pa.Table:
        """Read the entries whose key begins with one of the prefixes, in file order, each entry once.

        Args:
            prefixes: sought prefixes, in any order.
        """
        sought = sorted({prefix.encode() for prefix in prefixes})
        return self._select(
            sought, lambda index, prefix: index.entries_between(prefix, successor(prefix)), _begins_with_any
        )

    def _select(
        self,
        sought: list[bytes],
        entries_of: Callable[[BlockIndex, bytes], range],
        matches: Callable[[pa.Array, list[bytes]], pa.Array],
    ) -> pa.Table:
        """Read the entries of the blocks that can hold the rows or prefixes."""
        self._left_to_inflate = self._most_inflated
        rows: list[pa.Array] = []
        values: list[pa.Array] = []
        if sought and self.num_entries:
            end = 0
            places = self._locate(self._root, self._trailer.levels, sought, entries_of)
            for location, few in self._fetched(places):
                end = self._behind(location, end)
                block_rows, block_values = self._entries(self._read(*location))
                mask = matches(block_rows, few)
                rows.append(block_rows.filter(mask))
                values.append(block_values.filter(mask))
        return as_table(rows, values, self._path)

    def _locate(
        self, index: BlockIndex, levels: int, sought: list[bytes], entries_of: Callable[[BlockIndex, bytes], range]
    ) -> Iterator[tuple[_Location, list[bytes]]]:
        """The data blocks below an index that can hold the rows or prefixes, each with those that it can hold."""
        by_entry: dict[int, list[bytes]] = {}
        for item in sought:
            for entry in entries_of(index, item):
                by_entry.setdefault(entry, []).append(item)
        places = ((index.locations[entry], by_entry[entry]) for entry in sorted(by_entry))
        if levels == 1:
            yield from places
            return
        for location, few in self._fetched(places):
            yield from self._locate(self._branch(location), levels - 1, few, entries_of)

    def _fetched(self, places: Iterator[tuple[_Location, _T]]) -> Iterator[tuple[_Location, _T]]:
        """Give places of blocks as they come; those of a remote file are fetched together."""
        if not isinstance(self._file, RangeStream):
            yield from places
            return
        fetched: list[tuple[_Location, _T]] = []
        size = 0
        for place in places:
            fetched.append(place)
            size += place[0][1]
            if size >= _FETCHED_BYTES:
                self._file.prefetch([(start, start + length) for (start, length), _ in fetched])
                yield from fetched
                fetched, size = [], 0
        self._file.prefetch([(start, start + length) for (start, length), _ in fetched])
        yield from fetched

    def _branch(self, location: tuple[int, int]) -> BlockIndex:
        block = self._block(self._read(*location), blocks.LEAF_INDEX, blocks.INTERMEDIATE_INDEX)
        # What an index leads to lies before it: so a damaged one cannot lead in circles.
        return parse_branch(memoryview(block.content).cast("B"), location[0], self._path)

    def _data_blocks(self) -> Iterator[tuple[pa.Array, pa.Array]]:
        """Read the entries of all data blocks, adjacent blocks in one read if they were not fetched together before."""
        group: list[_Location] = []
        end, most = 0, 0 if isinstance(self._file, RangeStream) else _SCAN_BYTES
        locations = self._all_locations(self._root, self._trailer.levels)
        for location, _ in self._fetched((location, None) for location in locations):
            end = self._behind(location, end)
            if group and (location[0] < sum(group[-1]) or sum(location) - group[0][0] > most):
                yield from self._read_group(group)
                group = []
            group.append(location)
        if group:
            yield from self._read_group(group)

    def _read_group(self, group: list[_Location]) -> Iterator[tuple[pa.Array, pa.Array]]:
        start = group[0][0]
        data = self._read(start, sum(group[-1]) - start)
        for offset, size in group:
            yield self._entries(data.slice(offset - start, size))

    def _behind(self, location: tuple[int, int], end: int) -> int:
        """The end of a data block; raises if it begins before the end of the one before, so that none is read twice."""
        if location[0] < end:
            raise CorruptFileError("HFile: the index does not lead to the data blocks in their order", path=self._path)
        return sum(location)

    def _all_locations(self, index: BlockIndex, levels: int) -> Iterator[tuple[int, int]]:
        if not self.num_entries:
            return
        if levels == 1:
            yield from index.locations
            return
        for location, _ in self._fetched((location, None) for location in index.locations):
            yield from self._all_locations(self._branch(location), levels - 1)

    def _entries(self, data: pa.Buffer) -> tuple[pa.Array, pa.Array]:
        return decode_entries(self._block(data, blocks.DATA).content, self._mvcc, self._path)

    def _block(self, data: pa.Buffer, *magics: bytes) -> HFileBlock:
        self.blocks_read += 1
        return self._inflate(data, *magics)

    def _inflate(self, data: pa.Buffer, *magics: bytes) -> HFileBlock:
        codec = self._trailer.codec
        block = self._expect(parse_block(data, codec, self._path, self._left_to_inflate), *magics)
        if codec != "NONE":
            self._left_to_inflate -= block.content.size
        return block

    def _read(self, offset: int, length: int) -> pa.Buffer:
        self.bytes_read += length
        if self._file is None:
            return self._memory.slice(offset, length)
        data = self._file.read_at(length, offset)
        if len(data) != length:
            raise CorruptFileError("HFile: the file ends early", path=self._path)
        return pa.py_buffer(data)

    def __repr__(self) -> str:
        return f"HFileReader({self._path!r}, {self.num_entries} entries, {self._trailer.codec})"


def _file_info(data: memoryview, path: str) -> dict[str, bytes]:
    """Entries of the file info (docs/format.md#hfile-file-info)."""
    if bytes(data[:4]) != _PROTOBUF_INFO:
        raise UnsupportedFormatError("HFile whose file info is not protobuf", path=path)
    info: dict[str, bytes] = {}
    for entry in delimited_message(data[4:], path).get(1, []):
        pair = protobuf_message(memoryview(entry), path) if isinstance(entry, bytes) else {}
        name, value = pair.get(1, [b""])[-1], pair.get(2, [b""])[-1]
        if not isinstance(name, bytes) or not isinstance(value, bytes):
            raise CorruptFileError("HFile: an entry of the file info is no pair of names and bytes", path=path)
        info[name.decode("utf-8", "replace")] = value
    return info


def _begins_with_any(rows: pa.Array, prefixes: list[bytes]) -> pa.Array:
    by_length: dict[int, list[bytes]] = {}
    for prefix in prefixes:
        by_length.setdefault(len(prefix), []).append(prefix)
    mask = pa.array([False] * len(rows), pa.bool_())
    for length, some in by_length.items():
        heads = pc.binary_slice(rows, 0, length) if length else pa.array([b""] * len(rows), pa.binary())
        mask = pc.or_(mask, pc.is_in(heads, value_set=pa.array(some, pa.binary())))
    return mask


def successor(prefix: bytes) -> bytes | None:
    """The smallest byte string that is greater than all with a prefix; None if there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
