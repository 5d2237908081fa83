"""Writes an object in parts, by a client that tries again by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import obstore

from hudi_hive.storage.stores.object_faults import store_error
from hudi_hive.storage.stores.retry import TransientFault

if TYPE_CHECKING:
    from obstore import WritableFile


class PartsWriter:
    """A writer of a file in parts, whose client tries again by itself; its errors as ours.

    Args:
        writer: ``obstore``'s.
        uri: of the file.
    """

    def __init__(self, writer: WritableFile, uri: str) -> None:
        self._writer = writer
        self._uri = uri

    def write(self, data: bytes) -> None:
        """Append bytes."""
        with self._mapped():
            self._writer.write(data)

    def close(self) -> None:
        """Complete the file."""
        with self._mapped():
            self._writer.close()

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except (obstore.exceptions.BaseError, OSError) as error:
            failure = store_error(error, self._uri)
            raise (failure.error if isinstance(failure, TransientFault) else failure) from None
