"""A step as executors get it: a pickle without secrets, which come beside it in a variable of the engine.

The variable is masked by random bytes that stand in the step: neither of the two tells anything of the secrets.
"""

from __future__ import annotations

import gc
import itertools
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from hudi_hive._version import __version__
from hudi_hive.metrics import METADATA_METRICS, Totals
from hudi_hive.read.remote.receiving import receive_step
from hudi_hive.secret_references import add_secrets

_step_numbers = itertools.count(1)


class SharedVariable(Protocol):
    """The interface of a value that an engine brings to its executors, beside what it runs there."""

    @property
    def value(self) -> bytes:
        """The value."""


class MaskedSecrets(NamedTuple):
    """Secrets for executors.

    Attributes:
        mask: random bytes, which go with the step.
        variable: the secrets under the mask.
    """

    mask: bytes
    variable: SharedVariable


class Tally(Protocol):
    """The interface of a sum that an engine brings from its executors back to the driver."""

    def add(self, term: Totals, /) -> None:
        """Add to the sum."""


class ShippedStep:
    """A function of one argument as executors get it; what it counts of metadata tables comes back.

    Args:
        pickled: the function, with references in place of secrets.
        secrets: those behind the references in it, and in what it works on; None if there are none.
        name: of the function, for the engine's plans.
        tally: gets what the executor's process counted meanwhile, which works on nothing else.
    """

    def __init__(self, pickled: bytes, secrets: MaskedSecrets | None, name: str, tally: Tally) -> None:
        self._pickled = pickled
        self._secrets = secrets
        self._tally = tally
        self.__name__ = name
        self._function: Callable[[Any], Any] | None = None

    def __call__(self, work: Any) -> Any:  # noqa: ANN401 - whatever the function takes and gives
        """What the function makes of it."""
        if self._function is None:
            if self._secrets is not None:
                mask, variable = self._secrets
                add_secrets(pickle.loads(_exclusive_or(variable.value, mask)))
            self._function = pickle.loads(self._pickled)
            _freeze_imports()
        before = METADATA_METRICS.totals()
        result = self._function(work)
        self._tell(before)
        return self._counted(result) if isinstance(result, Iterator) else result

    def _counted(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The batches, which are made when they are asked for."""
        before = METADATA_METRICS.totals()
        try:
            yield from batches
        finally:
            self._tell(before)

    def _tell(self, before: Totals) -> None:
        counted = METADATA_METRICS.since(before)
        if counted:
            self._tally.add(counted)

    def __reduce__(self) -> tuple[Any, ...]:
        # Nothing of a class that an executor may not have.
        secrets = None if self._secrets is None else tuple(self._secrets)
        return receive_step, (__version__, self._pickled, secrets, self.__name__, pickle.dumps(self._tally))


def _freeze_imports() -> None:
    """Exempt what an executor's process has imported from garbage collection, which Spark runs after each task.

    Going through the modules takes longer than many a task. The first step of a process has made most imports when it
    is loaded; those that it makes while it runs are there when the second one is.
    """
    if next(_step_numbers) <= 2:
        gc.freeze()


def mask_secrets(secrets: Mapping[str, Any], share: Callable[[bytes], SharedVariable]) -> MaskedSecrets:
    """Hand secrets to an engine, which is to bring them to its executors.

    Args:
        secrets: by reference.
        share: makes the engine's variable of bytes.
    """
    data = pickle.dumps(dict(secrets))
    mask = os.urandom(len(data))
    return MaskedSecrets(mask, share(_exclusive_or(data, mask)))


def _exclusive_or(data: bytes, mask: bytes) -> bytes:
    number = int.from_bytes(data, "big") ^ int.from_bytes(mask, "big")
    return number.to_bytes(len(data), "big")
