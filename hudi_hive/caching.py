"""Cached properties that are computed once, also with several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Generic, Self, TypeVar, overload

_T = TypeVar("_T")

_LOCKS: Final = 64


class cached_property(Generic[_T]):  # noqa: N801
    """A ``functools.cached_property`` for what is slow to work out, such as reading a file or planning a query.

    That of Python 3.11 lets one thread in at a time for all objects of a class, so that all wait for one that reads
    from a slow store; those of later versions let several work out the same. This one has a thread wait for another
    that works out the property of the same object (or, seldom, of one that shares its lock).

    Args:
        make: works the value out; an error that it raises is not cached.
    """

    def __init__(self, make: Callable[[Any], _T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__
        # Not one in each object: it could not be pickled.
        self._locks = [threading.RLock() for _ in range(_LOCKS)]

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> _T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Self | _T:
        if instance is None:
            return self
        attributes = instance.__dict__
        with self._locks[id(instance) // 16 % _LOCKS]:
            if self._name not in attributes:
                attributes[self._name] = self._make(instance)
            value: _T = attributes[self._name]
            return value
