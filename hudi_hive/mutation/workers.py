"""What a worker does without knowing which kind of table it writes: the texts that it is given and gives back tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hudi_hive.errors import MutationError
from hudi_hive.mutation.acid_table import TABLE_TAG as ACID_TABLE
from hudi_hive.mutation.acid_table import AcidTable
from hudi_hive.mutation.acid_write import MANIFEST_TAG as ACID_MANIFEST
from hudi_hive.mutation.acid_write import MutationManifest, MutatorCoordinator
from hudi_hive.mutation.hudi import HUDI_MANIFEST_TAG as HUDI_MANIFEST
from hudi_hive.mutation.hudi import HUDI_TABLE_TAG as HUDI_TABLE
from hudi_hive.mutation.hudi import HudiManifest, HudiMutationTable, HudiMutatorCoordinator


def decode_table(text: str) -> AcidTable | HudiMutationTable:
    """The table of a text form, of whichever kind.

    Raises:
        MutationError: no such text.
    """
    if text.startswith(HUDI_TABLE):
        return HudiMutationTable.decode(text)
    if text.startswith(ACID_TABLE):
        return AcidTable.decode(text)
    raise MutationError("this is the text of no table of a mutation", remedy="encode it with the handle's encode()")


def decode_manifest(text: str) -> MutationManifest | HudiManifest:
    """The manifest of a text form, of whichever kind.

    Raises:
        MutationError: no such text.
    """
    if text.startswith(HUDI_MANIFEST):
        return HudiManifest.decode(text)
    if text.startswith(ACID_MANIFEST):
        return MutationManifest.decode(text)
    raise MutationError("this is the text of no manifest", remedy="encode it with the manifest's encode()")


def open_coordinator(
    table: AcidTable | HudiMutationTable,
    *,
    attempt: str | None = None,
    statement: int = 0,
    writer: int = 0,
    storage_options: Mapping[str, Any] | None = None,
) -> MutatorCoordinator | HudiMutatorCoordinator:
    """A coordinator of a table of either kind.

    Args:
        table: of a transaction that has begun.
        attempt: name of this attempt at the task, unlike that of any other; by default a random one.
        statement, writer: of ACID tables; see :class:`MutatorCoordinator`.
        storage_options: of the file system.

    Raises:
        MutationStateError: the table is no sink, or its transaction has not begun.
    """
    if isinstance(table, HudiMutationTable):
        return HudiMutatorCoordinator(table, attempt=attempt, storage_options=storage_options)
    return MutatorCoordinator(
        table, attempt=attempt, statement=statement, writer=writer, storage_options=storage_options
    )
