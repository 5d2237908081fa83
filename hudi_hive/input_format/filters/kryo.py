"""Decodes objects that Hive wrote with Kryo, of classes whose layout is known and no others.

Kryo's bytes do not say which fields an object has: :mod:`hudi_hive.input_format.filters.layouts` does, by release of
Hive. What is read is bounded: an object takes a byte at least, and there are limits of depth, objects and length.

Source: docs/format/hive.md#filters-in-a-job.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from hudi_hive.errors import PredicateError
from hudi_hive.input_format.filters.layouts import UNTYPED, ClassLayout, FieldLayout, Layouts

_MOST_OBJECTS: Final = 500_000
_MOST_DEPTH: Final = 80

_WRAPPERS: Final = {
    "java.lang.Integer": "int",
    "java.lang.Long": "long",
    "java.lang.Short": "short",
    "java.lang.Byte": "byte",
    "java.lang.Boolean": "boolean",
    "java.lang.Float": "float",
    "java.lang.Double": "double",
    "java.lang.Character": "char",
}
_PRIMITIVES: Final = frozenset(_WRAPPERS.values())


@dataclass(frozen=True, slots=True)
class KryoEnum:
    """A constant of an enum.

    Attributes:
        class_name: the enum.
        name: the constant.
    """

    class_name: str
    name: str


@dataclass(slots=True, eq=False)
class KryoObject:
    """An object by its fields.

    Attributes:
        class_name: its class.
        fields: values by name: None, numbers, texts, bytes, lists, :class:`KryoEnum`, :class:`KryoObject`.
    """

    class_name: str
    fields: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class SqlDate:
    """A ``java.sql.Date``: midnight in the writer's time zone, as milliseconds since the epoch."""

    millis: int


@dataclass(frozen=True, slots=True)
class SqlTimestamp:
    """A ``java.sql.Timestamp``: nanoseconds since the epoch."""

    nanos: int


@dataclass(frozen=True, slots=True)
class LocalDate:
    """A ``java.time.LocalDate``, which may lie beyond Python's years."""

    year: int
    month: int
    day: int


@dataclass(frozen=True, slots=True)
class LocalDateTime:
    """A ``java.time.LocalDateTime``: a date, and hour, minute, second and nanosecond."""

    date: LocalDate
    time: tuple[int, int, int, int]


def decode(data: bytes, class_name: str, layouts: Layouts) -> KryoObject:
    """Decode one object and nothing after it.

    Args:
        data: what Kryo's ``writeObject`` wrote.
        class_name: the class of the object, which is not written.
        layouts: of a release.

    Raises:
        PredicateError: the bytes are not those of such an object, or hold objects of classes without a layout.
    """
    reader = _Reader(data, layouts)
    try:
        value = reader.read_object(class_name)
    except (IndexError, struct.error, UnicodeError, OverflowError, ValueError, RecursionError) as error:
        raise PredicateError(f"the bytes end or break off at {reader.position} of {len(data)}") from error
    if reader.position != len(data):
        raise PredicateError(f"{len(data) - reader.position} of {len(data)} bytes are left after the object")
    assert isinstance(value, KryoObject)
    return value


class _Reader:
    def __init__(self, data: bytes, layouts: Layouts) -> None:
        self._data = data
        self._layouts = layouts
        self._later = layouts.kryo >= 5
        self._ends = "<" if self._later else ">"  # of numbers of a fixed length
        self._names: list[str] = []
        self._objects: list[Any] = []
        self._count = 0
        self._depth = 0
        self.position = 0

    # -- numbers and texts -------------------------------------------------------------------------------------------

    def _byte(self) -> int:
        value = self._data[self.position]
        self.position += 1
        return value

    def _take(self, length: int) -> bytes:
        end = self.position + length
        if length < 0 or end > len(self._data):
            raise PredicateError(f"{length} bytes at {self.position} of {len(self._data)}")
        taken = self._data[self.position : end]
        self.position = end
        return taken

    def _fixed(self, code: str) -> Any:  # noqa: ANN401 - a number of that code
        return struct.unpack(self._ends + code, self._take(struct.calcsize(code)))[0]

    def varint(self) -> int:
        """An unsigned number of up to five bytes."""
        value = self._var(5)
        if value >> 31:
            raise PredicateError(f"a negative length or number at {self.position}")
        return value

    def _var(self, most: int) -> int:
        value = 0
        for place in range(most):
            byte = self._byte()
            # The ninth byte of a long has all of its bits.
            value |= byte << (7 * place) if most == 9 and place == 8 else (byte & 0x7F) << (7 * place)
            if byte < 0x80 or (most == 9 and place == 8):
                return value
        raise PredicateError(f"a number without an end at {self.position}")

    def _signed(self, most: int) -> int:
        value = self._var(most)
        return (value >> 1) ^ -(value & 1)

    def flagged(self) -> tuple[bool, int]:
        """A flag and an unsigned number, as Kryo 5 and all texts have them."""
        first = self._byte()
        value = first & 0x3F
        if first & 0x40:
            for place in range(4):
                byte = self._byte()
                value |= (byte & 0x7F) << (6 + 7 * place)
                if byte < 0x80:
                    break
        return first >= 0x80, value

    def text(self) -> str | None:
        """A text: ASCII with a mark at its last character, or its length and its characters."""
        start = self.position
        if self._data[start] < 0x80:
            while self._byte() < 0x80:
                pass
            taken = self._data[start : self.position]
            return (taken[:-1] + bytes([taken[-1] & 0x7F])).decode("ascii")
        _, length = self.flagged()
        if length == 0:
            return None
        units = bytearray()
        for _ in range(length - 1):
            byte = self._byte()
            if byte < 0x80:
                unit = byte
            elif byte >> 5 == 0b110:
                unit = (byte & 0x1F) << 6 | self._byte() & 0x3F
            elif byte >> 4 == 0b1110:
                unit = (byte & 0x0F) << 12 | (self._byte() & 0x3F) << 6 | self._byte() & 0x3F
            else:
                raise PredicateError(f"no character at {self.position}")
            units += unit.to_bytes(2, "little")
        return units.decode("utf-16-le")  # characters beyond the first plane come as two

    # -- classes and references --------------------------------------------------------------------------------------

    def class_name(self) -> str | None:
        """The class that comes next; None for a null in its place."""
        number = self.varint()
        if number == 0:
            return None
        if number > 1:
            if number - 2 >= len(self._layouts.registered):
                raise PredicateError(f"no class has the number {number - 2}")
            return self._layouts.registered[number - 2]
        place = self.varint()
        if place > len(self._names):
            raise PredicateError(f"the name of class {place} is not there")
        if place == len(self._names):
            name = self.text()
            if not name:
                raise PredicateError("a class without a name")
            self._names.append(name)
        return self._names[place]

    def read_any(self) -> Any:  # noqa: ANN401 - whatever was written
        """An object that comes with its class."""
        name = self.class_name()
        return None if name is None else self.read_object(name)

    def _is_referenced(self, layout: ClassLayout | None, name: str) -> bool:
        if name in _WRAPPERS or name in _PRIMITIVES:
            return False
        return not (self._later and layout is not None and layout.kind == "EnumSerializer")

    def read_object(self, name: str, *, or_null: bool = False) -> Any:  # noqa: ANN401
        """An object of a class that is known.

        Args:
            name: the class.
            or_null: whether null was allowed in its place.
        """
        layout = None if name in _WRAPPERS or name in _PRIMITIVES else self._layouts.of(name)
        place: int | None = None
        if self._is_referenced(layout, name):
            number = self.varint()
            if number == 0:
                return None
            if number > 1:
                return self._objects[number - 2]
            place = len(self._objects)
            self._objects.append(None)
        elif or_null and self.varint() == 0:
            return None
        self._count += 1
        self._depth += 1
        if self._count > _MOST_OBJECTS or self._depth > _MOST_DEPTH:
            raise PredicateError("too many objects, or too deep in one another")
        value = self._primitive(_WRAPPERS.get(name, name)) if layout is None else self._content(name, layout, place)
        self._depth -= 1
        if place is not None:
            self._objects[place] = value
        return value

    def _primitive(self, name: str) -> Any:  # noqa: ANN401
        match name:
            case "int":
                return self._signed(5)
            case "long":
                return self._signed(9)
            case "boolean":
                return self._byte() == 1
            case "byte":
                return self._fixed("b")
            case "short":
                return self._fixed("h")
            case "float":
                return self._fixed("f")
            case "double":
                return self._fixed("d")
        return chr(self._fixed("H"))

    # -- contents ----------------------------------------------------------------------------------------------------

    def _content(self, name: str, layout: ClassLayout, place: int | None) -> Any:  # noqa: ANN401
        if layout.kind == "FieldSerializer":
            return self._fields(KryoObject(name), layout, place)
        if layout.kind == "EnumSerializer":
            return self._constant(name, layout)
        if layout.kind == "ObjectArraySerializer" and layout.constants == ("-",):
            return self._array()
        read = _CONTENTS.get(layout.kind)
        if read is None:
            raise PredicateError(f"objects of {name} are not decoded")
        return read(self)

    def _fields(self, result: KryoObject, layout: ClassLayout, place: int | None) -> KryoObject:
        if place is not None:
            self._objects[place] = result
        for one in layout.fields:
            result.fields[one.name] = self._field(one)
        return result

    def _field(self, one: FieldLayout) -> Any:  # noqa: ANN401
        if one.type in _PRIMITIVES:
            return self._primitive(one.type)
        if one.declared is not None:
            return self.read_object(one.declared, or_null=True)
        name = self.class_name()
        if name is None:
            return None
        if one.element == UNTYPED:
            raise PredicateError(f"fields of {one.type} are not decoded")
        if one.element is None or name in _WRAPPERS or self._layouts.of(name).kind != "CollectionSerializer":
            return self.read_object(name)
        return self._typed_list(one.element)

    def _typed_list(self, element: str) -> Any:  # noqa: ANN401
        """A list in a field that declares a class of its elements that has no sub-classes."""
        number = self.varint()
        if number != 1:
            return None if number == 0 else self._objects[number - 2]
        place = len(self._objects)
        result: list[Any] = []
        self._objects.append(result)
        nulls = True
        if self._later:
            nulls, length = self.flagged()
            if length == 0:
                raise PredicateError("a list that is not there")
            length -= 1
        else:
            length = self.varint()
        self._check_length(length)
        result += [self.read_object(element, or_null=nulls) for _ in range(length)]
        self._objects[place] = result
        return result

    def list_(self) -> list[Any]:
        """The content of a list whose elements come with their classes."""
        if not self._later:
            return self._elements(self.varint())
        alike, length = self.flagged()
        if length == 0:
            raise PredicateError("a list that is not there")
        length -= 1
        self._check_length(length)
        if not alike or not length:
            return self._elements(length)
        name = self.class_name()
        if name is None:
            return [None] * length
        nulls = self._byte() == 1
        return [self.read_object(name, or_null=nulls) for _ in range(length)]

    def _elements(self, length: int) -> list[Any]:
        self._check_length(length)
        return [self.read_any() for _ in range(length)]

    def _array(self) -> list[Any] | None:
        length = self.varint()
        return None if length == 0 else self._elements(length - 1)

    def as_list(self) -> list[Any]:
        """The content of what ``Arrays.asList`` made."""
        return self._elements(self.varint())

    def _check_length(self, length: int) -> None:
        if length > len(self._data) - self.position:
            raise PredicateError(f"a list of {length} in {len(self._data) - self.position} bytes")

    def map_(self) -> dict[Any, Any]:
        """The content of a map without types: pairs that come with their classes."""
        length = self.varint()
        if self._later:
            if length == 0:
                raise PredicateError("a map that is not there")
            length -= 1
        self._check_length(length)
        pairs = [(self.read_any(), self.read_any()) for _ in range(length)]
        return {repr(key): value for key, value in pairs}

    def bytes_(self) -> bytes | None:
        """The content of an array of bytes."""
        length = self.varint()
        return None if length == 0 else self._take(length - 1)

    def _constant(self, name: str, layout: ClassLayout) -> KryoEnum | None:
        number = self.varint()
        if number == 0:
            return None
        if number > len(layout.constants):
            raise PredicateError(f"{name} has no constant {number - 1}")
        return KryoEnum(name, layout.constants[number - 1])

    def sql_date(self) -> SqlDate:
        """The content of a ``java.sql.Date``."""
        return SqlDate(self._fixed("q"))

    def sql_timestamp(self) -> SqlTimestamp:
        """The content of a ``java.sql.Timestamp``: milliseconds, and nanoseconds of the second."""
        millis, nanos = self._fixed("q"), self._fixed("i")
        if not 0 <= nanos < 1_000_000_000:
            raise PredicateError(f"{nanos} nanoseconds of a second")
        return SqlTimestamp(millis // 1000 * 1_000_000_000 + nanos)

    def local_date(self) -> LocalDate:
        """The content of a ``java.time.LocalDate`` in Kryo 5."""
        return LocalDate(self.varint(), self._fixed("b"), self._fixed("b"))

    def local_date_time(self) -> LocalDateTime:
        """The content of a ``java.time.LocalDateTime`` in Kryo 5, whose last parts are left out if they are zero."""
        day = self.local_date()
        parts: list[int] = []
        while len(parts) < 3:
            part = self._fixed("b")
            parts.append(part if part >= 0 else ~part)
            if part < 0:
                hour, minute, second = [*parts, 0, 0][:3]
                return LocalDateTime(day, (hour, minute, second, 0))
        return LocalDateTime(day, (parts[0], parts[1], parts[2], self.varint()))

    def whole_number(self) -> int | None:
        """The content of a ``BigInteger``: big-endian, of two's complement."""
        content = self.bytes_()
        return None if content is None else int.from_bytes(content, "big", signed=True)


_CONTENTS: Final[dict[str, Callable[[_Reader], Any]]] = {
    "StringSerializer": _Reader.text,
    "CollectionSerializer": _Reader.list_,
    "ArraysAsListSerializer": _Reader.as_list,
    "CollectionsEmptyListSerializer": lambda reader: [],
    "CollectionsSingletonListSerializer": lambda reader: [reader.read_any()],
    "MapSerializer": _Reader.map_,
    "ByteArraySerializer": _Reader.bytes_,
    "SqlDateSerializer": _Reader.sql_date,
    "TimestampSerializer": _Reader.sql_timestamp,
    "LocalDateSerializer": _Reader.local_date,
    "LocalDateTimeSerializer": _Reader.local_date_time,
    "BigIntegerSerializer": _Reader.whole_number,
}
