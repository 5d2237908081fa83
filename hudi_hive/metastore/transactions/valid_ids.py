"""Lists of valid transactions and valid write ids, which decide what a reader of ACID tables sees.

In come the metastore's answers or Hive's text forms; out come the same as values that are asked one id, a range of ids
or a whole column at once. Source: Hive's ``ValidReadTxnList`` and ``ValidReaderWriteIdList``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from hudi_hive.errors import TransactionError

NONE_OPEN: Final = 2**63 - 1
"""The lowest open id where none is open: the largest number of the wire."""


class RangeState(Enum):
    """How many ids of a range are valid."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class ValidIds:
    """Ids up to a high-water mark, without open and aborted ones.

    Args:
        high_water: the largest id that can be valid.
        open: ids of transactions that have not ended, ascending.
        aborted: ids of aborted transactions, ascending.
        min_open: the lowest open id; ``NONE_OPEN`` if there is none.

    Raises:
        TransactionError: ids that do not ascend, or one that is open and aborted.
    """

    high_water: int
    open: tuple[int, ...] = ()
    aborted: tuple[int, ...] = ()
    min_open: int = NONE_OPEN

    def __post_init__(self) -> None:
        for ids in (self.open, self.aborted):
            if any(after <= before for before, after in pairwise(ids)):
                raise TransactionError(f"a list of ids must ascend: {_quoted(','.join(map(str, ids)))}")
        if not set(self.open).isdisjoint(self.aborted):
            raise TransactionError(f"ids that are both open and aborted: {_quoted(self._tail())}")

    def is_valid(self, number: int) -> bool:
        """True if what was written under this id is visible."""
        return number <= self.high_water and number not in self.open and number not in self.aborted

    def valid_mask(self, numbers: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """``is_valid`` of a column of ids."""
        column = np.asarray(numbers, dtype=np.int64)
        invalid: npt.NDArray[np.bool_] = np.isin(column, np.array(self.open + self.aborted, dtype=np.int64))
        return np.asarray((column <= self.high_water) & ~invalid)

    def range_state(self, first: int, last: int) -> RangeState:
        """How many of the ids from ``first`` to ``last``, both included, are valid (of a compacted delta's folder)."""
        top = min(last, self.high_water)
        valid = max(0, top - first + 1) - sum(first <= number <= top for number in self.open + self.aborted)
        if valid <= 0:
            return RangeState.NONE
        return RangeState.ALL if valid == last - first + 1 else RangeState.SOME

    def is_valid_base(self, number: int) -> bool:
        """True if a base of all rows up to this id can be read: nothing in it is open; aborted rows were left out."""
        return number <= self.high_water and number < min((self.min_open, *self.open[:1]))

    def has_more_than(self, earlier: ValidIds, but: Collection[int] = ()) -> bool:
        """True if something is visible here that was not in an earlier list.

        Args:
            earlier: the earlier list.
            but: ids that are left out.
        """
        later = np.arange(earlier.high_water + 1, max(earlier.high_water, self.high_water) + 1, dtype=np.int64)
        ids = np.concatenate([np.array(earlier.open, np.int64), later])
        return bool((self.valid_mask(ids) & ~np.isin(ids, np.array(list(but), np.int64))).any())

    def _tail(self) -> str:
        opened, aborted = (",".join(map(str, ids)) for ids in (self.open, self.aborted))
        return f"{self.high_water}:{self.min_open}:{opened}:{aborted}"


@dataclass(frozen=True, slots=True)
class ValidTransactions(ValidIds):
    """The transactions whose writes a reader may see; text form ``high:lowest open:open,…:aborted,…``."""

    def format(self) -> str:
        """Hive's text form."""
        return self._tail()

    @classmethod
    def parse(cls, text: str) -> Self:
        """From Hive's text form.

        Raises:
            TransactionError: it is none.
        """
        return cls(*_parse_tail(text.split(":"), text))

    def seen_by(self, transaction: int) -> Self:
        """The same for a reader inside a transaction: its own writes are visible, nothing that began later is."""
        opened = tuple(number for number in self.open if number < transaction)
        return type(self)(
            min(self.high_water, transaction),
            opened,
            tuple(number for number in self.aborted if number < transaction),
            opened[0] if opened else NONE_OPEN,
        )


@dataclass(frozen=True, slots=True)
class ValidWriteIds(ValidIds):
    """The write ids of one table that a reader may see; text form ``db.table:high:lowest open:open,…:aborted,…``.

    Args:
        table: ``database.table``; empty in a list of no particular table.
    """

    table: str = ""

    def format(self) -> str:
        """Hive's text form."""
        return f"{self.table or 'null'}:{self._tail()}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """From Hive's text form.

        Raises:
            TransactionError: it is none.
        """
        table, *rest = text.split(":")
        if not rest:
            raise TransactionError(f"no list of write ids: {_quoted(text)}")
        return cls(*_parse_tail(rest, text), table="" if table.lower() == "null" else table)


def split_aborted(ids: Sequence[int], bits: bytes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Open and aborted ids of the metastore's one list: bit ``i``, the least first in each byte, marks entry ``i``.

    Args:
        ids: both kinds, as they came.
        bits: the marks of the aborted ones; trailing zero bytes may be left out.

    Returns:
        open ids, aborted ids, both ascending.
    """
    numbers = np.array(list(ids), dtype=np.int64)
    marks = np.zeros(len(numbers), dtype=bool)
    unpacked = np.unpackbits(np.frombuffer(bits or b"", dtype=np.uint8), bitorder="little")[: len(numbers)]
    marks[: len(unpacked)] = unpacked.astype(bool)
    return _ascending(numbers[~marks]), _ascending(numbers[marks])


def _ascending(numbers: npt.NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(int(number) for number in np.unique(numbers))


def _parse_tail(parts: Sequence[str], text: str) -> tuple[int, tuple[int, ...], tuple[int, ...], int]:
    try:
        if len(parts) > 4:
            raise ValueError
        high, lowest, opened, aborted = (*parts, *("",) * (4 - len(parts)))
        open_ids = _numbers(opened)
        return int(high), open_ids, _numbers(aborted), int(lowest) if lowest else min(open_ids, default=NONE_OPEN)
    except ValueError as error:
        raise TransactionError(f"no list of valid ids: {_quoted(text)}") from error


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted({int(part) for part in _parts(text)}))


def _parts(text: str) -> Iterable[str]:
    return text.split(",") if text else ()


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
