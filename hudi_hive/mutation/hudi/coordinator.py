"""``HudiMutatorCoordinator``: takes the records of one task of a transaction over a Hudi table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hudi_hive.errors import InvalidOptionError
from hudi_hive.mutation.core import RECORD_ID, Coordinator, RecordInspector
from hudi_hive.mutation.hudi.manifest import HudiManifest
from hudi_hive.mutation.hudi.staging_sink import StagingSink
from hudi_hive.mutation.hudi.table import HudiMutationTable


class HudiMutatorCoordinator(Coordinator[HudiManifest]):
    """Takes the records of one task in any order; each record is identified by its key and changed once.

    What breaks a rule raises an error of its own, and the coordinator is of no use any more: without its manifest
    nothing that it took counts. Records one by one lack the meta columns and may lack partition columns, which the
    partition values tell. Whether the table has the record is found out when the transaction commits.

    Args:
        table: of a transaction that has begun, from ``HudiTransaction.table`` or ``HudiMutationTable.decode``.
        attempt: name of this attempt at the task, unlike that of any other; by default a random one.
        storage_options: of the table's file system.
        inspector: takes single records apart; without one they are mappings of values by column.

    Raises:
        MutationStateError: its transaction has not begun.
        InvalidOptionError: the inspector names a column of identifiers, which records with keys do not have.
    """

    def __init__(
        self,
        table: HudiMutationTable,
        *,
        attempt: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        inspector: RecordInspector | None = None,
    ) -> None:
        if inspector is not None and inspector.record_id_column != RECORD_ID:
            raise InvalidOptionError(
                f"records of the Hudi table {table.name} are identified by their keys, not by a column "
                f"{inspector.record_id_column}",
                remedy="leave record_id_column out",
            )
        self.table = table
        super().__init__(StagingSink(table, attempt=attempt, storage_options=storage_options), inspector)
