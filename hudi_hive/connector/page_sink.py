"""Page sinks: inserts of a query engine, from many tasks into one commit of the local writer.

An engine begins an insert, gives it (pickled) to its tasks, each of which appends pages to a sink of its own and hands
back a fragment (pickled); the fragments are finished together as one commit. Rows travel in the fragments: nothing is
stored before the commit, so that an insert that is aborted, or whose processes die, leaves nothing behind.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_hive.connector.assignment import assigned
from hudi_hive.errors import InvalidOptionError, SchemaError, UnknownColumnError, WriteError
from hudi_hive.options import write as declared
from hudi_hive.schema import META_FIELDS
from hudi_hive.table import MetaClient

if TYPE_CHECKING:
    from hudi_hive.write.writers import LocalWriter, WriteReport

_OPERATIONS = ("insert", "upsert", "bulk_insert")


@dataclass(frozen=True)
class InsertHandle:
    """An insert into one table, which can be pickled for sinks elsewhere; it is finished where it was begun.

    Attributes:
        insert_id: tells inserts apart.
        base_path: the table's base path, a URI.
        schema: the columns that pages have, in this order, with the table's names and types.
        options: Hudi's write options, which may hold secrets: None in a copy that was pickled.
    """

    insert_id: str
    base_path: str
    schema: pa.Schema
    options: Mapping[str, Any] | None = field(repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return InsertHandle, (self.insert_id, self.base_path, self.schema, None)


@dataclass(frozen=True, slots=True)
class InsertFragment:
    """The rows of one sink, which can be pickled.

    Attributes:
        insert_id: of the insert.
        sink_id: tells sinks apart.
        rows: number of rows.
        data: the rows, an Arrow stream.
    """

    insert_id: str
    sink_id: str
    rows: int
    data: bytes = field(repr=False)


def begin_insert(
    client: MetaClient, columns: Sequence[str] | None = None, options: Mapping[str, Any] | None = None
) -> InsertHandle:
    """Begin an insert: nothing is written yet.

    Args:
        client: the table.
        columns: the columns that pages will have, in any case; others become null. None: all of the table's but for
            Hudi's meta columns.
        options: Hudi's write options; ``hoodie.datasource.write.operation`` may be ``insert`` (the default),
            ``upsert`` or ``bulk_insert``.

    Raises:
        UnknownColumnError: the table has no such column.
        InvalidOptionError: a column is named twice, an option is unknown or contradicts the table, another operation.
        SchemaError: the table has no schema yet.
        UnsupportedTableError: the table is of a kind that is not written.
    """
    options = dict(options or {})
    operation = str(options.setdefault(declared.OPERATION.name, _OPERATIONS[0])).strip().lower()
    if operation not in _OPERATIONS:
        raise InvalidOptionError(
            f"an insert does not do {declared.OPERATION}={operation}", remedy=f"one of {', '.join(_OPERATIONS)}"
        )
    by_name = {item.name.lower(): item for item in client.schema() if item.name not in META_FIELDS}
    names = list(by_name) if columns is None else [name.lower() for name in columns]
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise UnknownColumnError(
            f"the table has no column {unknown[0]} to insert into",
            path=client.base_path,
            remedy=f"it has {', '.join(item.name for item in by_name.values())}",
        )
    if len(set(names)) != len(names):
        raise InvalidOptionError(f"a column is inserted into twice: {', '.join(names)}", path=client.base_path)
    _writer(client, options)
    return InsertHandle(uuid.uuid4().hex, client.base_path, pa.schema([by_name[name] for name in names]), options)


class PageSink:
    """Takes the pages of one task of an insert; a failed :meth:`append` leaves the sink as it was.

    Args:
        insert: the insert.
    """

    def __init__(self, insert: InsertHandle) -> None:
        self._insert = insert
        self._sink_id = uuid.uuid4().hex
        self._pages: list[pa.RecordBatch] | None = []

    def append(self, page: pa.RecordBatch | pa.Table) -> None:
        """Append a page.

        Args:
            page: columns of the insert in its order, under their names in any case.

        Raises:
            SchemaError: other columns, types that do not go into the table's, or values that do not fit.
            WriteError: the sink was finished or aborted.
        """
        pages = self._open()
        schema = self._insert.schema
        if [name.lower() for name in page.schema.names] != [name.lower() for name in schema.names]:
            raise SchemaError(
                f"the page has the columns {', '.join(page.schema.names)}, the insert has {', '.join(schema.names)}",
                path=self._insert.base_path,
            )
        batches = page.to_batches() if isinstance(page, pa.Table) else [page]
        made = []
        for batch in batches:
            columns = [assigned(batch.column(number), item) for number, item in enumerate(schema)]
            made.append(pa.RecordBatch.from_arrays(columns, schema=schema))
        pages += made

    def finish(self) -> InsertFragment:
        """End the sink.

        Returns:
            What the insert is finished with.

        Raises:
            WriteError: the sink was finished or aborted.
        """
        pages = self._open()
        self._pages = None
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, self._insert.schema) as writer:
            for page in pages:
                writer.write_batch(page)
        rows = sum(page.num_rows for page in pages)
        return InsertFragment(self._insert.insert_id, self._sink_id, rows, stream.getvalue().to_pybytes())

    def abort(self) -> None:
        """End the sink without its rows; nothing happens to one that has ended."""
        self._pages = None

    def _open(self) -> list[pa.RecordBatch]:
        if self._pages is None:
            raise WriteError("the sink was finished or aborted", path=self._insert.base_path)
        return self._pages


def finish_insert(client: MetaClient, insert: InsertHandle, fragments: Sequence[InsertFragment]) -> WriteReport:
    """Write the rows of all sinks of an insert as one commit.

    Args:
        client: the table.
        insert: of :func:`begin_insert`.
        fragments: one of each sink that counts.

    Raises:
        InvalidOptionError: a fragment is of another insert, or is there twice; the handle was pickled.
        HudiHiveError: as of :meth:`hudi_hive.write.writers.LocalWriter.write`; the table is as it was.
    """
    if client.base_path != insert.base_path:
        raise InvalidOptionError("the insert is into another table", path=insert.base_path)
    if insert.options is None:
        raise InvalidOptionError("an insert is finished where it was begun", path=insert.base_path)
    if any(one.insert_id != insert.insert_id for one in fragments):
        raise InvalidOptionError("a fragment is of another insert", path=insert.base_path)
    if len({one.sink_id for one in fragments}) != len(fragments):
        raise InvalidOptionError("a fragment of the insert is there twice", path=insert.base_path)
    tables = [pa.ipc.open_stream(one.data).read_all() for one in fragments]
    rows = pa.concat_tables([insert.schema.empty_table(), *tables])
    return _writer(client, insert.options).write(rows)


def _writer(client: MetaClient, options: Mapping[str, Any]) -> LocalWriter:
    from hudi_hive.metastore.transactions import MetastoreLock
    from hudi_hive.write.coordination import table_lock
    from hudi_hive.write.options import WriteConfig
    from hudi_hive.write.writers import LocalWriter

    config = WriteConfig.of(options, client.config)
    lock = table_lock(config.options, client.storage, metastore=MetastoreLock.connect)
    return LocalWriter(client, options, lock=lock)
