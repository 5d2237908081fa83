"""Tries a store's requests again after transient faults, with growing waits under one deadline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

_T = TypeVar("_T")

_FIRST_WAIT_S: Final = 0.1
_LONGEST_WAIT_S: Final = 10.0


class TransientFault(Exception):  # noqa: N818 - it never leaves the stores
    """A request failed in a way that may pass: throttled, a fault of the server, no connection.

    Args:
        error: what is raised when the deadline has passed.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long requests are tried again.

    Attributes:
        timeout_s: seconds after the first try in which another one may begin.
    """

    timeout_s: float = 60.0

    def run(self, attempt: Callable[[int], _T]) -> _T:
        """Run an attempt until it does not raise :class:`TransientFault`, waiting longer each time.

        Args:
            attempt: called with the number of the try, from 1.

        Raises:
            Exception: what the attempt raised; of the last :class:`TransientFault` its error.
        """
        import tenacity  # brings asyncio, and tornado where it is installed: files on local disk do without

        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_delay(self.timeout_s),
            wait=tenacity.wait_random_exponential(multiplier=_FIRST_WAIT_S, max=_LONGEST_WAIT_S),
            retry=tenacity.retry_if_exception_type(TransientFault),
            reraise=True,
        )
        try:
            for state in retrying:
                with state:
                    return attempt(state.retry_state.attempt_number)
        except TransientFault as fault:
            raise fault.error from fault.__cause__
        raise AssertionError("tenacity gives up by raising")
