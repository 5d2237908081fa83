"""The interface of locks that one writer holds at a time."""

from __future__ import annotations

from typing import Protocol


class LockProvider(Protocol):
    """The interface of a lock, which one holder has at a time."""

    def try_acquire(self) -> bool:
        """Take the lock if it is free; False if it is held."""

    def verify(self) -> None:
        """Verify that the lock is still held.

        Raises:
            LockLostError: it is not.
        """

    def release(self) -> None:
        """Release the lock; a lock that another holder has taken since is left alone."""

    def holder(self) -> str:
        """The holder and how to remove a stale lock, for error messages."""
