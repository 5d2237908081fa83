"""``SliceColumns``: reads the columns of file slices that secondary and expression indexes are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.metadata.reader import column_type
from hudi_hive.names import RECORD_KEY_COLUMN
from hudi_hive.plan.core import plan_of_slices
from hudi_hive.plan.model import Query, with_paths
from hudi_hive.read.scan import read_plan
from hudi_hive.table import MetaClient
from hudi_hive.table.view import SLICE_SCHEMA
from hudi_hive.timeline import Instant, State
from hudi_hive.timeline.instants import comparable_action

_BEHIND_ALL: Final = "9" * 17
"""A completion time behind all others, of an action that is about to complete."""


class SliceColumns:
    """Reads merged rows by the plans of queries."""

    def rows(self, client: MetaClient, slices: pa.Table, columns: Sequence[str]) -> pa.Table:
        """Read record keys and columns of slices; see ``RowSource``.

        Raises:
            UnknownColumnError: the table has no such column.
            CorruptFileError, FileVanishedError: a file cannot be read.
        """
        schema = client.schema()
        kinds = [column_type(schema, name) for name in columns]
        empty = pa.schema([("key", pa.string()), *zip(columns, kinds, strict=True)]).empty_table()
        if not slices.num_rows:
            return empty
        plan = plan_of_slices(client, Query(), with_paths(slices.select(SLICE_SCHEMA.names)))
        roots = [name if name in schema.names else name.split(".")[0] for name in columns]
        wanted = list(dict.fromkeys([RECORD_KEY_COLUMN, *roots]))
        parts = [empty]
        for batch in read_plan(client.storage, plan, wanted):
            arrays = [batch.column(RECORD_KEY_COLUMN).cast(pa.string())]
            for name, root in zip(columns, roots, strict=True):
                values = batch.column(root)
                arrays.append(values if name == root else pc.struct_field(values, name.split(".")[1:]))
            parts.append(pa.table(arrays, schema=empty.schema))
        return pa.concat_tables(parts)


def left_by(instant: str, action: str, payload: bytes) -> Callable[[MetaClient], MetaClient]:
    """Gives of a table the one that an action leaves, whose files are written and whose instant is not complete.

    Args:
        instant: requested time of the action.
        action: the action.
        payload: what its completed file holds.
    """

    def behind(client: MetaClient) -> MetaClient:
        completed = _BEHIND_ALL if client.config.layout == 2 else None
        name = f"{instant}_{_BEHIND_ALL}.{comparable_action(action)}"
        done = Instant(instant, comparable_action(action), State.COMPLETED, completed, name, name)
        return client.at(client.timeline.with_completed(done, payload))

    return behind
