"""Events of Hive's ACID files: their columns, row identifiers, bucket properties and footer metadata.

A row of such a file is an event: operation, the write id, bucket property and row id that identify the row for ever,
the write id of the event, and the row itself, null for deletes (HIVE-10165, HIVE-14035, Hive's ORC ACID format).

Source: docs/format/hive.md#hive-acid-events, docs/format/hive.md#hive-acid-orc-footer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import RecordIdentifierError, UnsupportedAcidTableError

INSERT: Final = 0
UPDATE: Final = 1
DELETE: Final = 2

ACID_FIELDS: Final = (
    pa.field("operation", pa.int32()),
    pa.field("originalTransaction", pa.int64()),
    pa.field("bucket", pa.int32()),
    pa.field("rowId", pa.int64()),
    pa.field("currentTransaction", pa.int64()),
)
"""The columns before ``row``. Names, order and types are what Hive looks for."""

KEY_INDEX: Final = "hive.acid.key.index"
STATS: Final = "hive.acid.stats"
VERSION: Final = "hive.acid.version"

_MOST: Final = 4096
Ints = npt.NDArray[np.integer]
Key = tuple[int, int, int]


class BucketProperty:
    """Hive's bucket property, which packs the bucket and the statement of a row into one number.

    Bits 29 to 31 are the version, 1; bits 16 to 27 the bucket; bits 0 to 11 the statement (Hive's ``BucketCodec``). In
    version 0, of rows from before Hive 3, the number is the bucket.
    """

    @staticmethod
    def encode(buckets: int | Ints, statements: int | Ints = 0) -> npt.NDArray[np.int32]:
        """Pack buckets and statements into bucket properties of version 1.

        Raises:
            UnsupportedAcidTableError: a bucket or statement that is not in 0 to 4095.
        """
        bucket, statement = np.asarray(buckets, np.int64), np.asarray(statements, np.int64)
        for name, part in (("bucket", bucket), ("statement", statement)):
            if part.size and not 0 <= part.min() <= part.max() < _MOST:
                raise UnsupportedAcidTableError(
                    f"{name} numbers from {part.min()} to {part.max()}, not within 0 to 4095"
                )
        return (np.int64(1 << 29) | bucket << 16 | statement).astype(np.int32)

    @staticmethod
    def decode(properties: int | Ints) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Unpack bucket properties to buckets and statements.

        Raises:
            RecordIdentifierError: a number that is no property of version 0 or 1.
        """
        number = np.asarray(properties, np.int64)
        if number.size > 1 and (number == number.flat[0]).all():  # one statement's rows, which is the rule
            bucket, statement = BucketProperty.decode(int(number.flat[0]))
            return np.full(number.shape, bucket), np.full(number.shape, statement)
        version = number >> 29
        reserved = (version == 1) & (number & 0x1000F000 != 0)
        wrong = (version < 0) | (version > 1) | reserved | ((version == 0) & (number >= _MOST))
        if wrong.any():
            raise RecordIdentifierError(f"{number[wrong].flat[0]} is no bucket property of a row")
        bucket = np.where(version == 1, number >> 16 & 0xFFF, number)
        return bucket.astype(np.int32), np.where(version == 1, number & 0xFFF, 0).astype(np.int32)


def first_descent(keys: Sequence[Ints]) -> int | None:
    """Index of the first row identifier that is not greater than the one before it; None if all ascend.

    Args:
        keys: write ids, bucket properties and row ids, at least one of each.
    """
    write, bucket, row = keys
    after = row[1:] > row[:-1]
    if not all(part[0] == part[-1] and (part == part[0]).all() for part in (write, bucket)):
        after &= bucket[1:] == bucket[:-1]
        after |= bucket[1:] > bucket[:-1]
        after &= write[1:] == write[:-1]
        after |= write[1:] > write[:-1]
    return None if after.all() else int(np.argmin(after)) + 1
