"""How Hive's releases set Kryo up: which classes have numbers, and the fields of each class in the order of writing.

Read from the classes of the releases themselves: ``python -m integration.long.hive_filters --record``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from hudi_hive.errors import PredicateError

UNTYPED: Final = "!"
"""In place of an element class: the field declares something that is not decoded."""


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """A field of a class.

    Attributes:
        name: its name.
        type: the class that it declares.
        declared: the class of its objects, where no sub-class can be in it: it is not written then.
        element: of a collection that declares it: the class of its elements, likewise.
    """

    name: str
    type: str
    declared: str | None
    element: str | None


@dataclass(frozen=True, slots=True)
class ClassLayout:
    """How objects of a class are written.

    Attributes:
        kind: Kryo's serializer, by its simple name.
        fields: of a ``FieldSerializer``.
        constants: of an enum; of an array its elements' class, if that has no sub-classes.
    """

    kind: str
    fields: tuple[FieldLayout, ...] = ()
    constants: tuple[str, ...] = ()


@dataclass(frozen=True)
class Layouts:
    """The classes of one release of Hive.

    Attributes:
        release: its version.
        kryo: the major version of Kryo.
        registered: classes by their number.
        classes: how objects are written, by class.
    """

    release: str
    kryo: int
    registered: tuple[str, ...]
    classes: Mapping[str, ClassLayout]

    def of(self, name: str) -> ClassLayout:
        """The layout of a class.

        Raises:
            PredicateError: it is not known.
        """
        layout = self.classes.get(name)
        if layout is None:
            raise PredicateError(f"objects of {name[:200]} are not decoded")
        return layout


@cache
def releases() -> tuple[Layouts, ...]:
    """The layouts of all releases that are decoded, the newest first."""
    text = files(__package__).joinpath("hive_classes.json").read_text(encoding="utf-8")
    return tuple(_parsed(release, one) for release, one in json.loads(text).items())


def _parsed(release: str, content: Mapping[str, Any]) -> Layouts:
    names: list[str] = content["names"]

    def name(number: int | None) -> str | None:
        return None if number is None else names[number]

    def layout(one: list[Any]) -> ClassLayout:
        kind, *parts = one
        if kind != "FieldSerializer":
            return ClassLayout(kind, constants=tuple(parts))
        fields = tuple(FieldLayout(part[0], names[part[1]], name(part[2]), name(part[3])) for part in parts)
        return ClassLayout(kind, fields)

    classes = {names[int(number)]: layout(one) for number, one in content["classes"].items()}
    return Layouts(release, content["kryo"], tuple(names[number] for number in content["registered"]), classes)
