"""References that stand for secrets in pickles: random texts, and the secrets behind them in this process.

The process that made a reference has its secret, and so have processes that got it by :func:`add_secrets`; nobody else
learns anything of a secret by its reference.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from datetime import date, timedelta
from enum import Enum
from typing import Any, ClassVar, Final, Self
from uuid import uuid4

from hudi_hive.errors import MissingSecretError
from hudi_hive.redaction import is_secret, redact, redact_options

_MARK: Final = "hudi-hive-secret-"
_MOST: Final = 4_096
"""Secrets of a process that have a reference; those that were pickled longest ago go first."""

_NO_SECRETS: Final = (".credentials.provider", ".credential.provider.path")
"""Ends of names that sound secret: classes and files of Hadoop."""

_PLAIN: Final = (int, float, date, timedelta, Enum, os.PathLike)

_guard: Final = threading.RLock()  # what is pickled for a key may have secrets of its own
_secrets: Final[OrderedDict[str, tuple[object, Any]]] = OrderedDict()
"""Key of :data:`_references` and secret by reference."""

_references: Final[dict[object, str]] = {}
_handed_out: Final = threading.local()


def is_reference(value: object) -> bool:
    """Whether a value stands for a secret."""
    return isinstance(value, str) and value.startswith(_MARK)


def reference_to(secret: Any) -> str:  # noqa: ANN401 - whatever a library takes as a credential
    """The reference of a secret: in one process the same one for equal secrets; that of a reference is itself."""
    if is_reference(secret):
        return str(secret)
    key = _key(secret)
    with _guard:
        reference = _references.get(key)
        if reference is None:
            reference = _MARK + uuid4().hex
            _put(reference, key, secret)
        else:
            _secrets.move_to_end(reference)
    for collected in getattr(_handed_out, "collected", ()):
        collected[reference] = secret
    return reference


def secret_behind(value: Any) -> Any:  # noqa: ANN401
    """The secret that a reference stands for; other values, and references whose secret is not here, as they are."""
    if not is_reference(value):
        return value
    with _guard:
        return _secrets[value][1] if value in _secrets else value


def add_secrets(secrets: Mapping[str, Any]) -> None:
    """Take over the secrets of another process, by their references."""
    with _guard:
        for reference, secret in secrets.items():
            if reference in _secrets:
                _secrets.move_to_end(reference)
            elif is_reference(reference):
                _put(reference, _key(secret), secret)


@contextmanager
def collected_secrets() -> Iterator[dict[str, Any]]:
    """Context manager that gives the secrets, by reference, of all that this thread pickles in the block."""
    collected: dict[str, Any] = {}
    before = getattr(_handed_out, "collected", ())
    _handed_out.collected = (*before, collected)
    try:
        yield collected
    finally:
        _handed_out.collected = before


def holds_secret(name: str, value: object) -> bool:
    """Whether an option is a secret, or has one in it: by its name, in its text, or among its parts."""
    if value is None or isinstance(value, bool):
        return False
    if isinstance(value, Mapping):
        return any(holds_secret(str(key), part) for key, part in value.items()) or bool(value and is_secret(name))
    if isinstance(value, list | tuple | set | frozenset):
        return any(holds_secret(name, part) for part in value)
    if name.lower().endswith(_NO_SECRETS):
        return False
    if is_secret(name):
        return value not in ("", b"")
    if isinstance(value, str):
        return redact(value) != value
    return not isinstance(value, _PLAIN)


class SecretOptions(dict[str, Any]):
    """Options that are printed and pickled without their secrets.

    A pickle holds references in place of them. Where it is loaded, those whose secret is there become secrets again.
    """

    def __repr__(self) -> str:
        return repr(redact_options(self))

    __str__ = __repr__

    def is_hidden(self, name: str) -> bool:
        """Whether pickles have a reference in place of an option."""
        return holds_secret(name, self[name])

    def __reduce__(self) -> tuple[Any, ...]:
        pickled = {name: reference_to(value) if self.is_hidden(name) else value for name, value in self.items()}
        return _restored, (type(self), pickled)

    def copy(self) -> Self:
        """A copy of the same class."""
        return type(self)(self)


class SecretFields:
    """A dataclass whose pickles have references in place of secrets.

    One with slots must name both methods itself, since :func:`dataclasses.dataclass` makes others for it.
    """

    __slots__ = ()
    _secret_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that are secrets, or texts that may have one in them."""

    def __getstate__(self) -> dict[str, Any]:
        items = fields(self)  # type: ignore[arg-type]
        state = {item.name: getattr(self, item.name) for item in items}
        for item in items:
            value = state[item.name]
            if item.name in self._secret_fields and value != item.default and holds_secret(item.name, value):
                state[item.name] = reference_to(value)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        opened = {name: secret_behind(value) for name, value in state.items()}
        missing = [name for name, value in opened.items() if is_reference(value)]
        if missing:
            raise MissingSecretError(
                f"pickles have no secrets, and this process has none for {', '.join(missing)}",
                remedy=f"make the {type(self).__name__} in the process that uses it",
            )
        for name, value in opened.items():
            object.__setattr__(self, name, value)


def _restored(kind: type[SecretOptions], pickled: Mapping[str, Any]) -> SecretOptions:
    return kind({name: secret_behind(value) for name, value in pickled.items()})


def _key(secret: Any) -> object:  # noqa: ANN401
    """Equal for equal secrets."""
    if isinstance(secret, str | bytes):
        return type(secret), secret
    try:
        return type(secret), pickle.dumps(secret)
    except Exception:  # of any library's object: it never leaves this process
        return type(secret), id(secret)


def _put(reference: str, key: object, secret: Any) -> None:  # noqa: ANN401
    """Called with the guard."""
    _references[key] = reference
    _secrets[reference] = key, secret
    while len(_secrets) > _MOST:
        _, (oldest, _secret) = _secrets.popitem(last=False)
        _references.pop(oldest, None)
