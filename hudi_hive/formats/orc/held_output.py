"""A Python file that keeps what Arrow's ORC writer writes until it is taken."""

from __future__ import annotations


class HeldOutput:
    """A Python file that buffers the output of the ORC writer until :meth:`take`.

    The tail of a file, which the writer writes when it is closed, can so be put together anew before it goes anywhere.
    """

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        """Keep bytes, and tell how many."""
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing; the file has no other buffer."""

    def close(self) -> None:
        """Do nothing; Arrow closes its target, but the buffered bytes are still needed."""

    def take(self) -> list[bytes]:
        """The bytes that were written since the last time."""
        parts, self._parts = self._parts, []
        return parts
