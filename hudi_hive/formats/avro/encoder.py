"""Encodes Arrow rows to bare Avro binaries, column by column (Avro specification 1.11, "Binary Encoding").

The counterpart of :mod:`hudi_hive.formats.avro`: what it decodes to Arrow is encoded from it again. Small values of
neighbouring columns – numbers, lengths, branches of unions – are laid out as one matrix of bytes of which some are
used; Arrow's kernel then joins these with the texts, row by row, in one go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import SchemaError, UnsupportedFormatError
from hudi_hive.formats.avro.schema import (
    ArrayNode,
    EnumNode,
    FixedNode,
    MapNode,
    Node,
    PlainNode,
    RecordNode,
    UnionNode,
    parse_record,
)

Bytes: TypeAlias = npt.NDArray[np.uint8]
Flags: TypeAlias = npt.NDArray[np.bool_]
Offsets: TypeAlias = npt.NDArray[np.int64]

_CHUNK_ROWS: Final = 1 << 15
"""Rows encoded at a time: few enough for the matrices of bytes to stay in the processor's cache."""

_CHUNK_BYTES: Final = 1 << 28
_NARROW: Final = 32
"""Bytes up to which a fixed is laid out in the matrix."""


class _Cells(NamedTuple):
    """A matrix of bytes with one line for each row; ``used`` marks the bytes of the encoding (None: all)."""

    data: Bytes
    used: Flags | None


_Part: TypeAlias = "_Cells | pa.Array"
"""What a row has at one place: some bytes, or a binary of its own (null for nothing)."""


def encode_binaries(batch: pa.RecordBatch | pa.Table, schema: Mapping[str, Any] | str) -> pa.ChunkedArray:
    """Encode rows as a column of bare Avro binaries, which HFiles and log blocks take.

    Args:
        batch: the rows; columns are found by name, in any order. A field without column is null.
        schema: Avro schema of a record, parsed or as JSON. Unions of several types are structs ``member0, …``, as
            :func:`hudi_hive.formats.avro.avro_to_arrow` gives them; the first member that is not null counts.

    Raises:
        SchemaError: a column that the schema does not have, a null where its type has none, or a value that its type
            cannot hold without loss.
        UnsupportedFormatError: a row of more than 2 GiB.
    """
    root = parse_record(schema)
    known = {field.name for field in root.fields}
    if extra := [name for name in batch.schema.names if name not in known]:
        raise SchemaError(f"the Avro schema has no column {extra[0]!r}", remedy="evolve the schema, or drop the column")
    rows = batch.num_rows
    step = _CHUNK_ROWS
    if rows and batch.nbytes // rows * step > _CHUNK_BYTES:
        step = max(1, _CHUNK_BYTES * rows // batch.nbytes)
    chunks = []
    for start in range(0, rows, step):
        piece = batch.slice(start, step)
        columns = {name: _one(piece.column(at)) for at, name in enumerate(piece.schema.names)}
        try:
            chunks.append(_join(_fields(root, columns, piece.num_rows, ""), piece.num_rows))
        except pa.ArrowCapacityError as error:
            raise UnsupportedFormatError("rows of more than 2 GiB cannot be encoded") from error
    return pa.chunked_array(chunks, pa.binary())


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


# -- types of several values -----------------------------------------------------------------------------------------


def _fields(node: RecordNode, columns: Mapping[str, pa.Array], rows: int, path: str) -> list[_Part]:
    parts: list[_Part] = []
    for field, child in zip(node.fields, node.children, strict=True):
        column = columns.get(field.name)
        parts += _encode(
            child, pa.nulls(rows) if column is None else column, f"{path}.{field.name}" if path else field.name
        )
    return parts


def _encode(node: Node, array: pa.Array, path: str) -> list[_Part]:
    """Encode values of any type; nulls are allowed only if the type has null."""
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    if isinstance(node, UnionNode):
        return _union(node, array, path)
    if array.null_count and not (isinstance(node, PlainNode) and node.kind == "null"):
        raise SchemaError(f"column {path!r} is null in a row, but its Avro type has no null")
    return _values(node, array, path)


def _values(node: Node, array: pa.Array, path: str) -> list[_Part]:
    """Encode values of a type other than a union; what nulls are encoded to is ignored by the caller."""
    if isinstance(node, RecordNode):
        if not isinstance(array, pa.StructArray):
            raise _mismatch(path, array.type, node.arrow)
        names = [field.name for field in array.type]
        if extra := set(names) - {field.name for field in node.fields}:
            raise SchemaError(f"the Avro schema has no field {min(extra)!r} in column {path!r}")
        return _fields(node, {name: array.field(at) for at, name in enumerate(names)}, len(array), path)
    if isinstance(node, (ArrayNode, MapNode)):
        return _items(node, array, path)
    if isinstance(node, EnumNode):
        return [_enum(node, _cast(array, node.arrow, path), path)]
    array = _cast(array, node.arrow, path)
    if isinstance(node, FixedNode):
        return [_decimals(array, path, node.size)] if pa.types.is_decimal(node.arrow) else [_fixed(node, array)]
    if isinstance(node, PlainNode):
        return _plain(node, array, path)
    raise AssertionError(node)


def _union(node: UnionNode, array: pa.Array, path: str) -> list[_Part]:
    rows = len(array)
    if array.null_count and node.null_at < 0:
        raise SchemaError(f"column {path!r} is null in a row, but its Avro type has no null")
    if array.null_count == rows and node.null_at >= 0:
        return [_constant(2 * node.null_at, rows)]
    if len(node.members) != 1:
        return _several(node, array, path)
    at = node.members[0]
    member = node.branches[at]
    if not array.null_count:
        return [_constant(2 * at, rows), *_encode(member, array, path)]
    valid = _flags(array.is_valid())
    branch: _Part = _Cells(np.where(valid, 2 * at, 2 * node.null_at).astype(np.uint8)[:, None], None)
    if isinstance(member, (PlainNode, EnumNode, FixedNode)):
        return [branch, *(_only(part, valid) for part in _values(member, array, path))]
    return [branch, _spread(member, array, valid, path)]


def _several(node: UnionNode, array: pa.Array, path: str) -> list[_Part]:
    """Encode a union of several types beside null, which is a struct with a field for each in Arrow."""
    if not isinstance(array, pa.StructArray) or array.type.num_fields != len(node.members):
        raise _mismatch(path, array.type, node.arrow)
    free = _flags(array.is_valid())
    branch = np.full(len(array), 2 * max(node.null_at, 0), np.uint8)
    parts: list[_Part] = []
    for number, at in enumerate(node.members):
        member = array.field(number)
        rows = free & _flags(member.is_valid())
        if rows.any():
            branch[rows] = 2 * at
            free &= ~rows
            parts.append(_spread(node.branches[at], member, rows, f"{path}.member{number}"))
    if node.null_at < 0 and free.any():
        raise SchemaError(f"column {path!r} has a row without any of its types, but its Avro type has no null")
    return [_Cells(branch[:, None], None), *parts]


def _spread(node: Node, array: pa.Array, rows: Flags, path: str) -> pa.Array:
    """Spread the encoded values of some rows to all rows, null in the others."""
    some = array.filter(pa.array(rows))
    binaries = _join(_encode(node, some, path), len(some))
    return binaries if rows.all() else binaries.take(pa.array(np.cumsum(rows) - 1, mask=~rows))


def _items(node: ArrayNode | MapNode, array: pa.Array, path: str) -> list[_Part]:
    """Encode lists as a block (count and items), unless they are empty, and a zero."""
    kind = array.type
    if isinstance(node, MapNode) != bool(pa.types.is_map(kind)):
        raise _mismatch(path, kind, node.arrow)
    if isinstance(node, ArrayNode) and not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        if not pa.types.is_fixed_size_list(kind):
            raise _mismatch(path, kind, node.arrow)
        array = array.cast(pa.list_(kind.value_type))
    bounds = _offsets(array)
    begin, count = int(bounds[0]), int(bounds[-1] - bounds[0])
    if isinstance(node, MapNode):
        assert isinstance(array, pa.MapArray)
        key, value = array.keys.slice(begin, count), array.items.slice(begin, count)
        parts = _encode(node.entry.children[0], key, f"{path}.key")
        parts += _encode(node.entry.children[1], value, f"{path}.value")
    else:
        assert isinstance(array, (pa.ListArray, pa.LargeListArray))
        parts = _encode(node.item, array.values.slice(begin, count), f"{path}.element")
    items = _join(parts, count)
    ends = _offsets(items)[bounds - begin].astype(np.int32)
    content = pa.Array.from_buffers(pa.binary(), len(array), [None, pa.py_buffer(ends), items.buffers()[2]])
    counts = np.diff(bounds)
    return [_only(_varints(counts), counts > 0), content, _constant(0, len(array))]


# -- plain values ----------------------------------------------------------------------------------------------------


def _plain(node: PlainNode, array: pa.Array, path: str) -> list[_Part]:
    kind = node.kind
    if kind == "null":
        return []
    if kind in ("string", "bytes"):
        if pa.types.is_decimal(node.arrow):
            return _prefixed_decimals(array, path)
        lengths = np.diff(_offsets(array))
        if array.null_count:
            lengths[~_flags(array.is_valid())] = 0
        return [_varints(lengths), array.cast(pa.binary())]
    if kind == "boolean":
        bits = np.unpackbits(np.frombuffer(array.buffers()[1], np.uint8), bitorder="little")
        return [_Cells(bits[array.offset : array.offset + len(array)][:, None], None)]
    if kind in ("int", "long"):
        return [_varints(_raw(array, np.int32 if kind == "int" else np.int64))]
    width = 4 if kind == "float" else 8
    return [_Cells(_raw(array, np.dtype(f"<f{width}")).view(np.uint8).reshape(-1, width), None)]


def _enum(node: EnumNode, array: pa.Array, path: str) -> _Cells:
    symbol_numbers = pc.index_in(array, value_set=pa.array(node.symbols, pa.string()))
    if symbol_numbers.null_count > array.null_count:
        wrong = array.filter(pc.and_(pc.is_null(symbol_numbers), pc.is_valid(array)))[0].as_py()
        raise SchemaError(f"column {path!r} has the word {wrong!r}, which its Avro enum has not")
    return _varints(_raw(symbol_numbers, np.int32))


def _fixed(node: FixedNode, array: pa.Array) -> _Part:
    if node.size > _NARROW:
        return array.cast(pa.binary())
    start = array.offset * node.size
    data = np.frombuffer(array.buffers()[1] or b"", np.uint8)[start : start + len(array) * node.size]
    return _Cells(data.reshape(len(array), node.size), None)


def _big_endian(array: pa.Array) -> Bytes:
    """Unscaled values of decimals as lines of 16 or 32 bytes, big-endian."""
    width = array.type.bit_width // 8
    start = array.offset * width
    data = np.frombuffer(array.buffers()[1], np.uint8)[start : start + len(array) * width]
    return data.reshape(-1, width)[:, ::-1]


def _decimals(array: pa.Array, path: str, size: int) -> _Cells:
    """Encode decimals in a fixed number of bytes."""
    lines = _big_endian(array)
    width = lines.shape[1]
    sign = np.where(lines[:, :1] > 127, 255, 0).astype(np.uint8)
    if size > width:
        return _Cells(np.concatenate([np.repeat(sign, size - width, axis=1), lines], axis=1), None)
    high_bytes, low_bytes = lines[:, : width - size], lines[:, width - size :]
    wrong = (
        (high_bytes != sign).any(axis=1) | ((low_bytes[:, :1] > 127) != (sign > 127)).ravel()
        if size
        else lines.any(axis=1)
    )
    if array.null_count:
        wrong &= _flags(array.is_valid())
    if wrong.any():
        raise SchemaError(f"column {path!r} has a decimal of more than {size} bytes")
    return _Cells(low_bytes, None)


def _prefixed_decimals(array: pa.Array, path: str) -> list[_Part]:
    """Encode decimals in the fewest bytes after their length, as Java's ``BigInteger.toByteArray``."""
    del path
    lines = _big_endian(array)
    width = lines.shape[1]
    sign = np.where(lines[:, :1] > 127, 255, 0).astype(np.uint8)
    # The first byte that tells more than the sign, or the one before it where its highest bit is not the sign's.
    differs = lines != sign
    first = np.where(differs.any(axis=1), differs.argmax(axis=1), width - 1)
    wrong_bit = (np.take_along_axis(lines, first[:, None], axis=1) > 127) != (sign > 127)
    first = np.maximum(first - wrong_bit.ravel(), 0)
    return [_varints(width - first), _Cells(lines, np.arange(width) >= first[:, None])]


def _varints(values: npt.NDArray[Any]) -> _Cells:
    """Encode numbers as zig-zag varints: seven bits a byte, lowest first."""
    wide = values.astype(np.int64, copy=False)
    rest = ((wide << 1) ^ (wide >> 63)).view(np.uint64)
    width = max(1, -(-int(rest.max(initial=0)).bit_length() // 7))
    data = np.empty((len(values), width), np.uint8)
    if width == 1:
        data[:, 0] = rest
        return _Cells(data, None)
    used = np.empty((len(values), width), np.bool_)
    used[:, 0] = True
    for place in range(width):
        low = (rest & np.uint64(0x7F)).astype(np.uint8)
        if place < width - 1:
            rest = rest >> np.uint64(7)
            more = rest != 0
            used[:, place + 1] = more
            low |= more.view(np.uint8) << np.uint8(7)
        data[:, place] = low
    return _Cells(data, None if used.all() else used)


# -- parts to binaries -----------------------------------------------------------------------------------------------


def _constant(value: int, rows: int) -> _Cells:
    return _Cells(np.full((rows, 1), value, np.uint8), None)


def _only(part: _Part, rows: Flags) -> _Part:
    """The part with no bytes in the rows that are not chosen."""
    if isinstance(part, _Cells):
        wide = np.broadcast_to(rows[:, None], part.data.shape)
        return _Cells(part.data, wide if part.used is None else part.used & wide)
    return part if part.null_count else pc.if_else(pa.array(rows), part, pa.scalar(None, part.type))


def _join(parts: Sequence[_Part], rows: int) -> pa.Array:
    """Concatenate the parts of each row to one binary, without nulls."""
    if not parts or not rows:
        return pa.Array.from_buffers(
            pa.binary(), rows, [None, pa.py_buffer(np.zeros(rows + 1, np.int32)), pa.py_buffer(b"")]
        )
    pieces: list[pa.Array] = []
    cells: list[_Cells] = []
    for part in parts:
        if isinstance(part, _Cells):
            cells.append(part)
            continue
        if cells:
            pieces.append(_pack(cells, rows))
            cells = []
        pieces.append(part)
    if cells:
        pieces.append(_pack(cells, rows))
    if len(pieces) == 1 and not pieces[0].null_count:
        return pieces[0]
    return pc.binary_join_element_wise(*pieces, b"", null_handling="replace", null_replacement=b"")


def _pack(cells: Sequence[_Cells], rows: int) -> pa.Array:
    """Make binaries of the used bytes of each line of several matrices."""
    data = np.concatenate([cell.data for cell in cells], axis=1) if len(cells) > 1 else cells[0].data
    width = data.shape[1]
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(width)
    if any(cell.used is not None for cell in cells):
        used = np.ones(data.shape, np.bool_)
        at = 0
        for cell in cells:
            end = at + cell.data.shape[1]
            if cell.used is not None:
                used[:, at:end] = cell.used
            at = end
        np.cumsum(np.count_nonzero(used, axis=1), out=offsets[1:])
        data = data[used]
    content = np.ascontiguousarray(data).reshape(-1)
    return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(content)])


# -- Arrow's buffers -------------------------------------------------------------------------------------------------

_NOTHING: Final[Bytes] = np.empty(0, np.uint8)


def _flags(array: pa.Array) -> Flags:
    return np.asarray(array.to_numpy(zero_copy_only=False), np.bool_)


def _raw(array: pa.Array, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Values of fixed width, undefined for nulls."""
    data = array.buffers()[1]
    values = np.frombuffer(data if data is not None else b"", kind)
    return values[array.offset : array.offset + len(array)]


def _offsets(array: pa.Array) -> Offsets:
    """Offsets of values of variable length, one more than there are values."""
    kind = array.type
    wide = pa.types.is_large_list(kind) or pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.zeros(1, np.int64)
    offsets = np.frombuffer(data, np.int64 if wide else np.int32)
    return offsets[array.offset : array.offset + len(array) + 1].astype(np.int64)


def _content(array: pa.Array) -> Bytes:
    """The concatenated bytes of binaries."""
    bounds = _offsets(array)
    data = array.buffers()[2]
    return np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]] if data is not None and len(array) else _NOTHING


def _cast(array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
    """Cast an array to the Arrow type of an Avro type; raises where values would change."""
    if array.type == kind:
        return array
    text = (pa.types.is_string(array.type), pa.types.is_string(kind) or pa.types.is_binary(kind))
    if text[0] and not text[1] and not pa.types.is_fixed_size_binary(kind):
        raise _mismatch(path, array.type, kind)
    try:
        return array.cast(kind)
    except pa.ArrowException as error:
        raise _mismatch(path, array.type, kind, str(error)) from error


def _mismatch(path: str, actual: pa.DataType, expected: pa.DataType, reason: str = "") -> SchemaError:
    detail = f": {' '.join(reason.split())[:150]}" if reason else ""
    return SchemaError(f"column {path!r} of type {actual} does not fit the Avro type, which is {expected}{detail}")
