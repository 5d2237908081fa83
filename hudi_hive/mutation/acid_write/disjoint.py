"""Checks that attempts which wrote to the same bucket did not change the same rows.

A row that two of them update would be there twice. Deletes alone may name a row as often as they like (Hive's readers
take them for a set). Source: the rule of HIVE-10165 that all records of a partition and bucket are one writer's.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

import numpy as np

from hudi_hive.errors import GroupRevisitedError
from hudi_hive.mutation.acid_table import (
    AcidDirectory,
    AcidFile,
    AcidTable,
    OpenAcidFile,
    RowIdColumns,
    key_order,
    staging_folder,
)
from hudi_hive.mutation.acid_write.manifest import BucketFiles
from hudi_hive.storage import Storage


def check_disjoint(storage: Storage, table: AcidTable, files: Iterable[tuple[str, BucketFiles]]) -> None:
    """Refuse rows that several attempts changed; files are read only where that is possible.

    Args:
        storage: of the table's location.
        table: the table, with its write id.
        files: what ``check_manifests`` gave.

    Raises:
        GroupRevisitedError: it names such a row.
        StorageError: a staged file cannot be read.
    """
    together: dict[tuple[tuple[str | None, ...], int], list[tuple[str, BucketFiles]]] = {}
    for attempt, group in files:
        if group.delete_delta:
            together.setdefault((group.partition, group.bucket), []).append((attempt, group))
    for (partition, bucket), written in together.items():
        if len(written) < 2 or not any(group.updates for _, group in written):
            continue
        keys = [_keys(storage, table, attempt, group) for attempt, group in written]
        stacked = np.array([np.concatenate([one[place] for one in keys]) for place in range(3)])
        ordered = stacked[:, key_order(RowIdColumns(stacked[0], stacked[1], stacked[2]))]
        twice = (ordered[:, 1:] == ordered[:, :-1]).all(axis=0)
        if twice.any():
            row = tuple(ordered[:, int(np.argmax(twice))].tolist())
            raise GroupRevisitedError(
                f"row {row} in bucket {bucket} of partition {partition} of {table.qualified_name} is changed by "
                f"several of the attempts {', '.join(attempt for attempt, _ in written)}",
                remedy="give all changes of a partition and bucket to one task, and count one attempt at each task",
            )


def _keys(storage: Storage, table: AcidTable, attempt: str, group: BucketFiles) -> RowIdColumns:
    path = posixpath.join(staging_folder(table.write_id, attempt), group.delete_delta)
    name = posixpath.basename(posixpath.dirname(path))
    directory = AcidDirectory(name, "delete_delta", table.write_id, table.write_id, group.statement)
    with OpenAcidFile(storage, AcidFile(path, group.bucket, directory)) as opened:
        parts = [events.keys for events in opened.deletes()]
    write_ids, properties, row_ids = (np.concatenate([keys[place] for keys in parts]) for place in range(3))
    return RowIdColumns(write_ids, properties, row_ids)
