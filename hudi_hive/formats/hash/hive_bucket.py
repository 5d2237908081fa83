"""Hive's bucket numbers of rows, by ``bucketing_version`` 2 (Murmur3) and 1 (Java's hash codes).

The hash of a row is ``31 * h + hash`` over its bucketing columns in table order, in 32 bits, and its bucket the lower
31 bits modulo the number of buckets (Hive's ``ObjectInspectorUtils.getBucketNumber``; HIVE-18910 for version 2).
Murmur3 is 32 bits wide with seed 104729 and has two quirks of Hive: the last bytes of a value that do not fill a word
are signed, and the bits of a floating point number are taken as a number that is made floating point once more.

Source: docs/format/hive.md#hive-bucket-hashes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import SchemaError, UnsupportedAcidValueError
from hudi_hive.formats.hash.java_hash import unit_hashes

if TYPE_CHECKING:
    from hudi_hive.formats.orc import HiveType

IntArray = npt.NDArray[np.int32]
_Bytes = npt.NDArray[np.uint8]
_Offsets = npt.NDArray[np.int64]

_SEED: Final = 104729
_C1: Final = np.uint32(0xCC9E2D51)
_C2: Final = np.uint32(0x1B873593)
_ROWS: Final = 1 << 16
"""Rows that are hashed at a time: the arrays made of them stay in the processor's caches."""


def bucket_numbers(columns: Sequence[pa.Array], hive_types: Sequence[str], buckets: int, version: int) -> IntArray:
    """Number of the bucket that Hive puts each row into.

    Args:
        columns: the bucketing columns in the table's order, arrays or chunked arrays of equal length.
        hive_types: their types as the metastore names them: ``int``, ``varchar(10)``, ``decimal(10,2)``.
        buckets: number of buckets of the table.
        version: the table's ``bucketing_version``; 1 where it has none.

    Raises:
        UnsupportedAcidValueError: a type whose hash Hive itself does not compute alike everywhere (binary; timestamp in
            version 1, which hangs on the zone of the JVM), a nested type, or values that do not fit their type.
    """
    if buckets < 1 or version not in (1, 2) or not columns or len(columns) != len(hive_types):
        raise UnsupportedAcidValueError(
            f"bucketing version {version!r}, {buckets} buckets and {len(columns)} columns of {len(hive_types)} types",
            remedy="take the version, the number of buckets and the bucketing columns of the table",
        )
    if len({len(column) for column in columns}) != 1:
        raise UnsupportedAcidValueError("bucketing columns of different lengths")
    total = np.zeros(len(columns[0]), np.uint32)
    for column, text in zip(columns, hive_types, strict=True):
        total = total * np.uint32(31) + hive_hashes(column, text, version).view(np.uint32)
    return ((total & np.uint32(0x7FFFFFFF)) % np.uint32(buckets)).astype(np.int32)


def hive_hashes(column: pa.Array, hive_type: str, version: int) -> IntArray:
    """Hive's hash of each value of one bucketing column; 0 for null.

    Args:
        column: an array or chunked array.
        hive_type: its type as the metastore names it.
        version: ``bucketing_version``, 1 or 2.

    Raises:
        UnsupportedAcidValueError: as :func:`bucket_numbers`.
    """
    from hudi_hive.formats.orc import parse_hive_type

    try:
        kind = parse_hive_type(hive_type)
    except SchemaError as error:
        raise UnsupportedAcidValueError(f"bucketing by a column of type {hive_type!r}: {error.message}") from error
    hasher = (_MURMUR if version == 2 else _JAVA).get(kind.kind)
    if hasher is None:
        raise UnsupportedAcidValueError(
            f"bucketing by a column of type {hive_type!r} with bucketing_version {version}",
            remedy="bucket the table by columns whose hash does not hang on Hive's buffers or the zone of a JVM",
        )
    values = _typed(column, kind, hive_type)
    hashes = np.empty(len(values), np.int32)
    for start in range(0, len(values), _ROWS):
        part = values.slice(start, _ROWS)
        place = hashes[start : start + len(part)]
        if not part.null_count:
            place[:] = hasher(part)
            continue
        # Nulls are taken out, not filled: what their slots hold is anything.
        place[:] = 0
        place[pc.is_valid(part).to_numpy(zero_copy_only=False)] = hasher(part.drop_null())
    return hashes


def _typed(column: pa.Array, kind: HiveType, hive_type: str) -> pa.Array:
    """Cast a column to the Arrow type of its Hive type; text to ``large_string``, timestamps stay as they are."""
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(values, pa.ChunkedArray):  # what holds more than 2 GiB stays in chunks
        values = pa.concat_arrays(values.cast(pa.large_string()).chunks)
    if kind.kind == "timestamp":
        if not pa.types.is_timestamp(values.type) or values.type.tz is not None:
            raise UnsupportedAcidValueError(f"{values.type} values for a bucketing column of type {hive_type!r}")
        return values
    wanted = pa.large_string() if kind.arrow == pa.string() else kind.arrow
    try:
        values = values if values.type == wanted else values.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnsupportedAcidValueError(f"values for a bucketing column of type {hive_type!r}: {error}") from error
    if kind.kind == "char":
        values = pc.utf8_rtrim(values, " ")
    if kind.length and (pc.max(pc.utf8_length(values)).as_py() or 0) > kind.length:
        raise UnsupportedAcidValueError(f"text longer than {hive_type} in a bucketing column")
    return values


# -- Murmur3


def _murmur(data: _Bytes, offsets: _Offsets) -> IntArray:
    """Hive's Murmur3 of concatenated values: value i is ``data[offsets[i]:offsets[i + 1]]``."""
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")  # the values that have a k-th word are then the first ones
    starts, sizes = offsets[:-1][order], lengths[order]
    hashes = np.full(len(sizes), _SEED, np.uint32)
    counts = sizes // 4
    words = _words(data)
    # How many values have more than k words, for each k.
    having = np.searchsorted(-counts, -np.arange(int(counts.max(initial=0))), "left")
    for k, many in enumerate(having.tolist()):
        hashes[:many] = _mixed(hashes[:many], words[starts[:many] + 4 * k])
    _mix_tails(hashes, data, starts + 4 * counts, sizes - 4 * counts)
    result = np.empty_like(hashes)
    result[order] = _finished(hashes ^ sizes.astype(np.uint32))
    return result.view(np.int32)


def _words(data: _Bytes) -> npt.NDArray[np.uint32]:
    """The little-endian 32-bit word at each byte offset."""
    if len(data) < 4:
        return np.zeros(0, np.uint32)
    words = data[:-3].astype(np.uint32)
    for i in (1, 2, 3):
        words |= data[i : len(data) - 3 + i].astype(np.uint32) << np.uint32(8 * i)
    return words


def _scrambled(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    words = words * _C1
    words = (words << np.uint32(15)) | (words >> np.uint32(17))
    return words * _C2


def _mixed(hashes: npt.NDArray[np.uint32], words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    hashes = hashes ^ _scrambled(words)
    hashes = (hashes << np.uint32(13)) | (hashes >> np.uint32(19))
    return hashes * np.uint32(5) + np.uint32(0xE6546B64)


def _mix_tails(hashes: npt.NDArray[np.uint32], data: _Bytes, starts: _Offsets, sizes: _Offsets) -> None:
    """Mix in the one to three bytes after the last whole word of each value, sign and all."""
    signed = data.view(np.int8)
    tails = np.zeros(len(sizes), np.uint32)
    for i in range(3):
        rows = np.flatnonzero(sizes > i)
        tails[rows] ^= signed[starts[rows] + i].astype(np.uint32) << np.uint32(8 * i)
    rows = np.flatnonzero(sizes)
    hashes[rows] ^= _scrambled(tails[rows])


def _finished(hashes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))


def _murmur_fixed(numbers: npt.NDArray[np.generic]) -> IntArray:
    """Hive's Murmur3 of the big-endian bytes of numbers."""
    width = numbers.dtype.itemsize
    data = numbers.astype(numbers.dtype.newbyteorder(">"))
    if width % 4:
        return _murmur(data.view(np.uint8), np.arange(len(numbers) + 1, dtype=np.int64) * width)
    words = data.view("<u4").reshape(-1, width // 4)
    hashes = np.full(len(numbers), _SEED, np.uint32)
    for k in range(width // 4):
        hashes = _mixed(hashes, words[:, k].astype(np.uint32))
    return _finished(hashes ^ np.uint32(width)).view(np.int32)


def _murmur_rows(matrix: _Bytes, used: npt.NDArray[np.bool_]) -> IntArray:
    """Hive's Murmur3 of the used bytes of each row of a matrix."""
    offsets = np.zeros(len(matrix) + 1, np.int64)
    np.cumsum(used.sum(axis=1), out=offsets[1:])
    return _murmur(matrix[used], offsets)


# -- what is hashed of each type


def _numbers(values: pa.Array) -> npt.NDArray[np.generic]:
    result: npt.NDArray[np.generic] = values.to_numpy(zero_copy_only=False)
    return result


def _plain(values: pa.Array) -> IntArray:
    return _numbers(values).astype(np.int32)


def _days(values: pa.Array) -> npt.NDArray[np.int32]:
    return _numbers(values.cast(pa.int32())).astype(np.int32)


def _bits(values: pa.Array) -> npt.NDArray[np.generic]:
    """The bits of floating-point numbers as integers, with Java's canonical NaN for every NaN."""
    numbers = _numbers(values).copy()
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.int32 if numbers.dtype.itemsize == 4 else np.int64)


def _text(values: pa.Array) -> tuple[_Bytes, _Offsets]:
    """The concatenated UTF-8 bytes of texts, and their offsets."""
    _, offset_buffer, data_buffer = values.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[values.offset : values.offset + len(values) + 1]
    first, last = (int(offsets[0]), int(offsets[-1])) if len(values) else (0, 0)
    data = np.frombuffer(data_buffer if data_buffer is not None else b"", np.uint8)[first:last]
    return data, offsets - first


def _folded(numbers: npt.NDArray[np.generic]) -> IntArray:
    """Java's ``Long.hashCode``: the exclusive or of both halves."""
    bits = numbers.view(np.uint64)
    return ((bits >> np.uint64(32)) ^ bits).astype(np.uint32).view(np.int32)


def _java_text(first: int) -> Callable[[pa.Array], IntArray]:
    """Java's polynomial over signed bytes that begins with a number: 0 for string, 1 for varchar and char."""

    def hashes(values: pa.Array) -> IntArray:
        data, offsets = _text(values)
        result = unit_hashes(data.view(np.int8), offsets).view(np.uint32)
        powers = np.power(np.uint32(31), np.diff(offsets).astype(np.uint32), dtype=np.uint32)
        return (result + np.uint32(first) * powers).view(np.int32)

    return hashes


_UNITS: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _murmur_timestamp(values: pa.Array) -> IntArray:
    """Hash Hive's own serialisation of timestamps (``TimestampWritableV2``).

    It is the low 31 bits of the seconds and whether more follows, the nanoseconds with their nine digits reversed, and
    the upper bits of the seconds if there are any.
    """
    assert pa.types.is_timestamp(values.type)
    unit = _UNITS[values.type.unit]
    ticks = _numbers(values.cast(pa.int64())).astype(np.int64)
    seconds = ticks // unit
    nanos = (ticks - seconds * unit) * (10**9 // unit)
    reversed_nanos = np.zeros(len(ticks), np.int64)
    for _ in range(9):
        reversed_nanos = reversed_nanos * 10 + nanos % 10
        nanos //= 10
    large = (seconds < 0) | (seconds > 0x7FFFFFFF)
    more = large | (reversed_nanos != 0)
    head = (seconds & 0x7FFFFFFF).astype(np.uint32) | (more.astype(np.uint32) << np.uint32(31))
    nano_bytes, nano_used = _variable(np.where(large, -reversed_nanos - 1, reversed_nanos))
    upper_bytes, upper_used = _variable(seconds >> 31)
    matrix = np.concatenate([head.astype(">u4").view(np.uint8).reshape(-1, 4), nano_bytes, upper_bytes], axis=1)
    used = np.concatenate(
        [np.ones((len(ticks), 4), np.bool_), nano_used & more[:, None], upper_used & large[:, None]], axis=1
    )
    return _murmur_rows(matrix, used)


def _variable(numbers: npt.NDArray[np.int64]) -> tuple[_Bytes, npt.NDArray[np.bool_]]:
    """Hadoop's variable-length numbers (``WritableUtils.writeVLong``) as nine bytes each, and which of them count."""
    small = (numbers >= -112) & (numbers <= 127)
    negative = numbers < 0
    magnitude = np.where(negative, ~numbers, numbers)
    size = np.ones(len(numbers), np.int64)
    for i in range(1, 8):
        size += (magnitude >> (8 * i)) > 0
    first = np.where(small, numbers, np.where(negative, -120, -112) - size).astype(np.int8).view(np.uint8)
    tail = magnitude.astype(">i8").view(np.uint8).reshape(-1, 8)
    used = ~small[:, None] & (np.arange(8) >= 8 - size[:, None])
    return (
        np.concatenate([first[:, None], tail], axis=1),
        np.concatenate([np.ones((len(numbers), 1), np.bool_), used], axis=1),
    )


class _Decimals:
    """Decimals without trailing zeros in the fraction, as Hive normalises them.

    Attributes:
        limbs: four words of the magnitude, the highest first, as columns of 64-bit numbers.
        negative: whether the number is below zero.
        scale: digits of the fraction that are left.
    """

    def __init__(self, values: pa.Array) -> None:
        assert pa.types.is_decimal(values.type)
        raw = np.frombuffer(values.buffers()[1], "<u4")[4 * values.offset : 4 * (values.offset + len(values))]
        limbs = raw.reshape(-1, 4)[:, ::-1].astype(np.uint64)
        self.negative = limbs[:, 0] >= 1 << 31
        self.limbs = _negated(limbs, self.negative)
        self.scale = np.full(len(values), values.type.scale, np.int64)
        self.scale[~limbs.any(axis=1)] = 0
        rows = np.flatnonzero(self.scale)
        while len(rows):
            divided, rest = _tenth(self.limbs[rows])
            whole = rest == 0
            rows = rows[whole]
            self.limbs[rows] = divided[whole]
            self.scale[rows] -= 1
            rows = rows[self.scale[rows] > 0]


def _negated(limbs: npt.NDArray[np.uint64], where: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """Negate the marked rows in two's complement."""
    result = limbs.copy()
    carry = where.astype(np.uint64)
    for i in (3, 2, 1, 0):
        word = np.where(where, limbs[:, i] ^ np.uint64(0xFFFFFFFF), limbs[:, i]) + carry
        result[:, i] = word & np.uint64(0xFFFFFFFF)
        carry = word >> np.uint64(32)
    return result


def _tenth(limbs: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Divide numbers by ten: quotients and remainders."""
    result = np.empty_like(limbs)
    rest = np.zeros(len(limbs), np.uint64)
    for i in range(4):
        word = (rest << np.uint64(32)) | limbs[:, i]
        result[:, i] = word // np.uint64(10)
        rest = word % np.uint64(10)
    return result, rest


def _murmur_decimal(values: pa.Array) -> IntArray:
    """``BigInteger.toByteArray`` of the unscaled value: two's complement, big-endian, as short as can be."""
    numbers = _Decimals(values)
    words = _negated(numbers.limbs, numbers.negative)
    matrix = words.astype(">u4").view(np.uint8).reshape(-1, 16)
    sign = np.where(numbers.negative, 0xFF, 0).astype(np.uint8)[:, None]
    # The first byte that is kept tells the sign: one more than the first that is not the sign's, if that would lie.
    own = matrix != sign
    leading = np.where(own.any(axis=1), own.argmax(axis=1), 16)
    top = matrix[np.arange(len(matrix)), np.minimum(leading, 15)]
    lies = (leading == 16) | ((top ^ sign[:, 0]) >= 0x80)
    return _murmur_rows(matrix, np.arange(16) >= (leading - lies)[:, None])


def _java_decimal(values: pa.Array) -> IntArray:
    """``BigDecimal.hashCode``: ``31 * unscaled.hashCode() + scale``."""
    numbers = _Decimals(values)
    hashes = np.zeros(len(values), np.uint32)
    for i in range(4):
        hashes = hashes * np.uint32(31) + numbers.limbs[:, i].astype(np.uint32)
    hashes = np.where(numbers.negative, np.uint32(0) - hashes, hashes)
    return (hashes * np.uint32(31) + numbers.scale.astype(np.uint32)).astype(np.uint32).view(np.int32)


_Hasher = Callable[[pa.Array], IntArray]

_MURMUR: Final[dict[str, _Hasher]] = {
    "boolean": _plain,  # these two are their own hash
    "tinyint": _plain,
    "smallint": lambda values: _murmur_fixed(_numbers(values)),
    "int": lambda values: _murmur_fixed(_numbers(values)),
    "bigint": lambda values: _murmur_fixed(_numbers(values)),
    "float": lambda values: _murmur_fixed(_bits(values).astype(np.float32)),
    "double": lambda values: _murmur_fixed(_bits(values).astype(np.float64)),
    "string": lambda values: _murmur(*_text(values)),
    "varchar": lambda values: _murmur(*_text(values)),
    "char": lambda values: _murmur(*_text(values)),
    "date": lambda values: _murmur_fixed(_days(values)),
    "timestamp": _murmur_timestamp,
    "decimal": _murmur_decimal,
}
_JAVA: Final[dict[str, _Hasher]] = {
    "boolean": _plain,
    "tinyint": _plain,
    "smallint": _plain,
    "int": _plain,
    "bigint": lambda values: _folded(_numbers(values)),
    "float": lambda values: _bits(values).view(np.int32),
    "double": lambda values: _folded(_bits(values)),
    "string": _java_text(0),
    "varchar": _java_text(1),
    "char": _java_text(1),
    "date": _days,
    "decimal": _java_decimal,
}
