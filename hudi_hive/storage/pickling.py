"""Pickles of storages: a place and options without secrets, which are looked for where the pickle is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hudi_hive.errors import MissingSecretError, StoreCredentialsError
from hudi_hive.metrics import IoCounters
from hudi_hive.redaction import redact, without_credentials
from hudi_hive.secret_references import is_reference, reference_to, secret_behind
from hudi_hive.storage.stores import Credentials

_UNOPENED = "_unopened"


class OpenedWhenUsed:
    """A storage that, if its secrets are nowhere when its pickle is loaded, looks for them when it is used.

    A pool of processes would come to a halt if the task itself could not be loaded; so the task raises the error.
    """

    counters: IoCounters
    storage_options: Credentials
    _origin: str

    def uri(self, path: str = "") -> str:
        """Full URI of a relative path."""
        raise NotImplementedError

    def __repr__(self) -> str:
        state = self.__dict__.get(_UNOPENED)
        return f"Storage({redact(self.uri() if state is None else state['root'])!r})"

    def __getstate__(self) -> dict[str, Any]:
        if _UNOPENED in self.__dict__:
            return dict(self.__dict__[_UNOPENED])
        root = self._origin or self.uri()
        return {
            "root": reference_to(root) if without_credentials(root) != root else root,
            "storage_options": Credentials(self.storage_options),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.counters = IoCounters()
        try:
            self._open(state)
        except StoreCredentialsError:
            self.__dict__[_UNOPENED] = state

    def _open(self, state: Mapping[str, Any]) -> None:
        root = secret_behind(state["root"])
        if is_reference(root):
            raise MissingSecretError(
                "pickles have no secrets, and a password stood in this storage's URI",
                remedy="open it anew, with the password among the storage options",
            )
        self.__init__(root, state["storage_options"], counters=self.counters)  # type: ignore[misc]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute
            """Open the storage when an attribute is asked for that it has only then."""
            state = self.__dict__.get(_UNOPENED)
            if state is None and name in self.__dict__:  # another thread opened it
                return self.__dict__[name]
            if state is None or name.startswith("__"):
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            self._open(state)
            self.__dict__.pop(_UNOPENED, None)
            return getattr(self, name)
