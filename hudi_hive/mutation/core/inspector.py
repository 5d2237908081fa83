"""Record inspectors: take the records of a caller apart, whatever their type.

Source: ``RecordInspector`` of HIVE-10165, whose object inspectors are a mapping of values by column here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final

from hudi_hive.errors import InvalidOptionError, RecordDecodingError

RECORD_ID: Final = "ROW__ID"
"""Name of the column of row identifiers, unless an inspector says another."""


class RecordInspector(ABC):
    """Takes single records apart; those that derive say what type of record they take.

    A coordinator calls it once for each record, when the record comes, and keeps what it returns.

    Args:
        record_id_column: where updates and deletes have the row's identifier, among the values of records and among
            the columns of batches, in any case.

    Raises:
        InvalidOptionError: no name of a column.
    """

    def __init__(self, record_id_column: str = RECORD_ID) -> None:
        if not isinstance(record_id_column, str) or not record_id_column.strip():
            raise InvalidOptionError(f"{record_id_column!r} is no name of a column of identifiers")
        self.record_id_column = record_id_column

    @abstractmethod
    def values(self, record: Any) -> Mapping[str, Any]:  # noqa: ANN401
        """The values of a record by column, the identifier among them.

        Raises:
            MutationWorkerError: it is no record of the inspector's type.
        """


class MappingInspector(RecordInspector):
    """Takes mappings of values by column, as they are: what coordinators use by default."""

    def values(self, record: Any) -> Mapping[str, Any]:  # noqa: ANN401
        """The record itself; that it is a mapping with the table's columns is checked with many of them at a time."""
        checked: Mapping[str, Any] = record
        return checked


class DecodingInspector(RecordInspector):
    """Takes bytes and has a function of the caller decode them.

    Args:
        decode: gives the values by column of one record's bytes; whatever it raises is an error of the record.
        record_id_column: as of :class:`RecordInspector`.

    Raises:
        InvalidOptionError: no name of a column.
    """

    def __init__(self, decode: Callable[[bytes], Mapping[str, Any]], record_id_column: str = RECORD_ID) -> None:
        super().__init__(record_id_column)
        self._decode = decode

    def values(self, record: Any) -> Mapping[str, Any]:  # noqa: ANN401
        """Decode a record.

        Raises:
            RecordDecodingError: it is not bytes, or the function cannot decode it or gives no values by column.
        """
        if not isinstance(record, bytes | bytearray | memoryview):
            raise RecordDecodingError(f"a record is a {type(record).__name__}, not bytes")
        encoded = bytes(record)
        try:
            values = self._decode(encoded)
        except Exception as error:
            raise RecordDecodingError(
                f"a record of {len(encoded)} bytes cannot be decoded: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(values, Mapping):
            raise RecordDecodingError(f"the decoder made a {type(values).__name__}, not values by column")
        return values
