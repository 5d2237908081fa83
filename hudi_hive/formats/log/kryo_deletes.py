"""Decodes what delete blocks of versions 1 and 2 hold: an array of keys or delete records that Kryo wrote.

Java's serialisation makes whatever object the bytes name. This decoder knows the two classes of records that stand in
these blocks, the classes of their ordering values, and nothing else: any other name or number is refused.

Source: docs/format.md#delete-blocks-of-versions-1-and-2.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeVar

from hudi_hive.errors import CorruptFileError, UnsupportedFormatError

OrderingValue = bool | int | float | str | Decimal | date | None
"""The values of ordering fields."""

_T = TypeVar("_T")

_NULL, _NEW = 0, 1
"""What stands ahead of an object in place of the number of one that was written before."""

_NAMED: Final = 1
"""Number of a class that is written by its name."""

_PACKAGES: Final = ("org.apache.hudi.common.model.", "com.uber.hoodie.common.model.")
_LONGEST_VARINT: Final = 10
_MOST_DIGITS: Final = 64


class OldDelete(NamedTuple):
    """One entry of a delete block of version 1 or 2.

    Attributes:
        record_key, partition_path: of the record.
        ordering: its ordering value; None where there is none.
    """

    record_key: str
    partition_path: str
    ordering: OrderingValue


def decode_old_deletes(data: bytes) -> list[OldDelete]:
    """Decode the payload of a delete block of version 1 (keys) or 2 (keys with ordering values).

    Args:
        data: the bytes that Kryo wrote.

    Raises:
        UnsupportedFormatError: they name a class that stands in no such block.
        CorruptFileError: they end or break off.
    """
    reader = _Reader(data)
    try:
        deletes = reader.deletes()
    except (IndexError, struct.error, UnicodeError, ValueError, OverflowError) as error:
        raise CorruptFileError(f"its records end or break off at {reader.at} of {len(data)}") from error
    if reader.at != len(data):
        raise CorruptFileError(f"{len(data) - reader.at} bytes are left behind its records")
    return deletes


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0
        self._names: list[str] = []
        self._objects: list[Any] = []  # by the number that a later mention has
        self._values: dict[str, Callable[[], OrderingValue]] = {
            "int": lambda: self._zigzag(32),
            "long": lambda: self._zigzag(64),
            "short": lambda: self._fixed(">h"),
            "byte": lambda: self._fixed(">b"),
            "float": lambda: self._fixed(">f"),
            "double": lambda: self._fixed(">d"),
            "boolean": lambda: self._fixed(">?"),
            "java.lang.String": lambda: self._object(self._text),
            "org.apache.avro.util.Utf8": lambda: self._object(self._utf8),
            "java.math.BigDecimal": lambda: self._object(self._decimal),
            "java.time.LocalDate": lambda: self._object(self._date),
        }

    def deletes(self) -> list[OldDelete]:
        """The records of the block."""
        name = self._class()
        kind = next((kind for kind in ("HoodieKey", "DeleteRecord") if name in _arrays_of(kind)), None)
        if kind is None:
            raise _unknown(name)
        if self._varint() != _NEW:
            raise CorruptFileError("there is no list of records")
        self._objects.append(None)
        count = self._varint() - 1
        if not 0 <= count <= len(self._data):
            raise CorruptFileError(f"there are no {count} records in {len(self._data)} bytes")
        return [self._record(kind) for _ in range(count)]

    def _record(self, kind: str) -> OldDelete:
        if kind == "HoodieKey":
            return OldDelete(*self._key(), None)
        self._expect("DeleteRecord")
        return self._object(self._delete_record)

    def _delete_record(self) -> OldDelete:
        return OldDelete(*self._key(), self._ordering())

    def _key(self) -> tuple[str, str]:
        self._expect("HoodieKey")
        partition, key = self._object(self._fields_of_key)
        return key, partition

    def _fields_of_key(self) -> tuple[str, str]:
        partition, key = self._object(self._text), self._object(self._text)
        if not isinstance(partition, str) or not isinstance(key, str):
            raise CorruptFileError("a key is no text")
        return partition, key

    def _ordering(self) -> OrderingValue:
        name = self._class(nullable=True)
        if name is None:
            return None
        read = self._values.get(name)
        if read is None:
            raise _unknown(name)
        return read()

    # -- classes and objects

    def _expect(self, kind: str) -> None:
        name = self._class()
        if name not in {package + kind for package in _PACKAGES}:
            raise _unknown(name)

    def _class(self, *, nullable: bool = False) -> str | None:
        number = self._varint()
        if number == 0 and nullable:
            return None
        if number == _NAMED:
            known = self._varint()
            if known == len(self._names):
                self._names.append(self._text())
            return self._names[known]
        name = _REGISTERED.get(number - 2)
        if name is None:
            raise UnsupportedFormatError(f"delete records with a value of the class number {number - 2}")
        return name

    def _object(self, read: Callable[[], _T]) -> _T:
        mention = self._varint()
        if mention == _NULL:
            raise CorruptFileError("an object is null")
        if mention > _NEW:
            known: _T = self._objects[mention - 2]
            return known
        place = len(self._objects)
        self._objects.append(None)
        value = read()
        self._objects[place] = value
        return value

    # -- values

    def _varint(self) -> int:
        value = 0
        for i in range(_LONGEST_VARINT):
            byte = self._data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << (7 * i)
            if byte < 0x80:
                return value
        raise CorruptFileError("a number has more than ten bytes")

    def _zigzag(self, bits: int) -> int:
        value = self._varint()
        if value >> bits:
            raise CorruptFileError(f"a number has more than {bits} bits")
        return (value >> 1) ^ -(value & 1)

    def _fixed(self, form: str) -> float:
        value: float = struct.unpack_from(form, self._data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def _bytes(self, length: int) -> bytes:
        if not 0 <= length <= len(self._data) - self.at:
            raise CorruptFileError(f"there are no {length} bytes")
        self.at += length
        return self._data[self.at - length : self.at]

    def _text(self) -> str:
        """A text: ASCII whose last byte has the highest bit, or the number of its UTF-16 units and each of them."""
        first = self._data[self.at]
        if first < 0x80:
            end = self.at
            while self._data[end] < 0x80:
                end += 1
            ascii_text = self._bytes(end - self.at) + bytes([self._data[end] & 0x7F])
            self.at += 1
            return ascii_text.decode("ascii")
        self.at += 1
        units = first & 0x3F
        if first & 0x40:
            units |= self._varint() << 6
        units -= 1
        if units < 0:
            raise CorruptFileError("a text is null")
        begin = self.at
        for _ in range(units):
            lead = self._data[self.at]
            self.at += 1 if lead < 0x80 else 2 if lead < 0xE0 else 3
        # Each unit is encoded by itself, so a character beyond the first plane as two.
        text = self._data[begin : self.at].decode("utf-8", "surrogatepass")
        return text.encode("utf-16", "surrogatepass").decode("utf-16")

    def _utf8(self) -> str:
        return self._bytes(self._varint() - 1).decode()

    def _decimal(self) -> Decimal:
        length = self._varint() - 1
        if length > _MOST_DIGITS:
            raise CorruptFileError("a decimal is too long")
        unscaled = int.from_bytes(self._bytes(length), "big", signed=True)
        return Decimal(unscaled).scaleb(-self._zigzag(32))

    def _date(self) -> date:
        year = self._varint()
        return date(year, int(self._fixed(">b")), int(self._fixed(">b")))


_REGISTERED: Final = {
    0: "int",
    1: "java.lang.String",
    2: "float",
    3: "boolean",
    4: "byte",
    6: "short",
    7: "long",
    8: "double",
    27: "org.apache.avro.util.Utf8",
}
"""Classes that are written by their numbers."""


def _arrays_of(kind: str) -> set[str]:
    return {f"[L{package}{kind};" for package in _PACKAGES}


def _unknown(name: str | None) -> UnsupportedFormatError:
    return UnsupportedFormatError(f"delete records of the class {name}")
