"""Names of Hive's ACID folders and files, of partitions, and of the staging folders of attempts.

Source: Hive's ORC ACID format as of Hive 3 (HIVE-14035, split update) and the folder names of HIVE-10165;
docs/format/hive.md#hive-acid-folders.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Final

from hudi_hive.errors import MutationError
from hudi_hive.metastore.client import DEFAULT_PARTITION, format_partition_name

STAGING: Final = "_hudi_hive_mutation"
"""Folder below a table's location where attempts wait. Hive ignores names that begin with an underscore."""

VERSION_FILE: Final = "_orc_acid_version"
"""Name of the file in each delta folder that tells the format's version."""

VERSION: Final = b"2"
"""All that the version file holds."""

MAX_BUCKETS: Final = 4096
"""Buckets that Hive 3's bucket property can number; Hive 4 may borrow bits for more, which Hive 3 cannot read."""

MAX_STATEMENT: Final = 4095
"""The largest statement id that the bucket property can hold."""


def delta_folder(write_id: int, *, statement: int = 0, delete: bool = False) -> str:
    """Name of the folder of the events of one statement of a transaction: ``delta_0000005_0000005_0000``.

    Args:
        write_id: the table's write id of the transaction.
        statement: number of the statement in the transaction, from 0.
        delete: the folder of the deletes (``delete_delta_…``).
    """
    kind = "delete_delta" if delete else "delta"
    return f"{kind}_{write_id:07d}_{write_id:07d}_{statement:04d}"


def bucket_file(bucket: int) -> str:
    """Name of the file of a bucket: ``bucket_00003``, without the attempt number of Hive 4, on which Hive 3.1 fails."""
    return f"bucket_{bucket:05d}"


def partition_path(keys: Sequence[str], values: Sequence[str | None]) -> str:
    """Folder of a partition below its table, which is also its name: ``k1=v1/k2=v2``; empty without keys.

    Args:
        keys: names of the partition keys, in the table's order.
        values: a value each, not escaped; None for Hive's default partition.

    Raises:
        MutationError: not one value for each key.
    """
    if len(keys) != len(values):
        raise MutationError(
            f"{len(values)} partition values for {len(keys)} partition keys",
            remedy=f"give one value each for: {', '.join(keys) or '(the table is not partitioned)'}",
        )
    if not keys:
        return ""
    return format_partition_name(keys, [stored_value(value) for value in values])


def stored_value(value: str | None) -> str:
    """A partition value in the form that the metastore stores."""
    return DEFAULT_PARTITION if value is None or value == "" else value


def staging_folder(write_id: int, attempt: str = "") -> str:
    """Staging folder of the files of an attempt, relative to the table's location.

    Args:
        write_id: of the transaction.
        attempt: name of the attempt; empty for the folder of all the transaction's attempts.
    """
    return posixpath.join(STAGING, f"{write_id:07d}", attempt).rstrip("/")
