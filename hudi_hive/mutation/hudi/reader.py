"""Reads the table of a transaction as of its beginning."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from hudi_hive.mutation.hudi.table import HudiMutationTable
from hudi_hive.plan import Query, plan_scan
from hudi_hive.plan.core import Filter
from hudi_hive.read.scan import output_schema, read_plan
from hudi_hive.table import MetaClient


class HudiReader:
    """Reads one table as of the moment that its client was made.

    Args:
        client: the table.
        table: the same, as workers know it.
    """

    def __init__(self, client: MetaClient, table: HudiMutationTable) -> None:
        self._client = client
        self.table = table

    def read(self, columns: Sequence[str] | None = None, row_filter: Filter = None) -> pa.Table:
        """Read rows, with the meta columns unless they are left out; coordinators ignore these.

        Args:
            columns: columns to return, in this order; all without it.
            row_filter: SQL text, DNF tuples or an Arrow expression.

        Raises:
            PredicateError, UnknownColumnError: the filter or a column is wrong.
            FileVanishedError: a file was cleaned meanwhile.
        """
        plan = plan_scan(self._client, Query(), row_filter)
        schema = output_schema(plan.schema, columns)
        batches = read_plan(self._client.storage, plan, None if columns is None else list(columns))
        return pa.Table.from_batches(batches, schema)
