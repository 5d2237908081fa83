"""Collects schema changes and commits them as one; and lists the versions of a schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self, TypeAlias

import pyarrow as pa

from hudi_hive.errors import SchemaError, WriteError
from hudi_hive.schema import Difference, InternalField, InternalSchema, InternalType, differences, to_arrow, type_name
from hudi_hive.table import MetaClient
from hudi_hive.write.alter.alter_table import AlterReport, Change, schema_update
from hudi_hive.write.schema import read

Commit: TypeAlias = Callable[[Sequence[Change], bool, bool], AlterReport]
"""Commits changes, or only tries them; and looks for values that do not fit their new types, or not."""

VERSIONS_SCHEMA: Final = pa.schema(
    [
        ("version", pa.int64()),
        ("instant", pa.string()),
        ("column", pa.string()),
        ("id", pa.int32()),
        ("type", pa.string()),
        ("optional", pa.bool_()),
        ("doc", pa.string()),
    ]
)
"""A row per column of each version; ``instant`` is null for the version before all changes."""


class SchemaBuilder:
    """Schema changes for one commit; each is checked when it is added, against those before it.

    As a context manager it commits when the block ends, and does nothing if that ends with an error.

    >>> with table.update_schema() as update:
    ...     update.add("tip", "double", after="fare").rename("rider", "passenger")

    Args:
        client: the table.
        commit: what to do with the changes in the end.

    Attributes:
        report: what the commit came to; None before.
    """

    def __init__(self, client: MetaClient, commit: Commit) -> None:
        self._client = client
        self._commit = commit
        self._update = schema_update(client)
        self._changes: list[Change] = []
        self.report: AlterReport | None = None

    def add(
        self,
        name: str,
        type: pa.DataType | InternalType,
        *,
        doc: str | None = None,
        first: bool = False,
        after: str | None = None,
    ) -> Self:
        """Add a nullable column: ``add("info.c", "double", after="info.a")``.

        Args:
            name: its name; that of a struct's field with the struct's in front.
            type: an Arrow type, or the text of a Hive or Spark type.
            doc: its comment.
            first: in front of its siblings, in a struct alone. Else it comes behind them all.
            after: behind this sibling.

        Raises:
            SchemaError: the name is taken or none for a column, the struct is missing, or the type is none.
        """
        return self._with(lambda update: update.add(name, type, doc=doc, first=first, after=after))

    def drop(self, name: str) -> Self:
        """Drop a column; a column of the same name that is added later has another id.

        Raises:
            SchemaError: there is no such column, the table needs it, or nothing would be left.
        """
        return self._with(lambda update: update.drop(name))

    def rename(self, name: str, new: str) -> Self:
        """Give a column another name; ``new`` is without those of the structs around it.

        Raises:
            SchemaError: there is no such column, the table needs it, or the new name is taken or none for a column.
        """
        return self._with(lambda update: update.rename(name, new))

    def move(self, name: str, *, first: bool = False, after: str | None = None, before: str | None = None) -> Self:
        """Move a column to another position among its siblings.

        Raises:
            SchemaError: there is no such column or sibling, or not exactly one place is given.
        """
        return self._with(lambda update: update.move(name, first=first, after=after, before=before))

    def change_type(self, name: str, type: pa.DataType | InternalType) -> Self:
        """Give a column a wider type: int to long, float, double, decimal or string, and so on.

        Raises:
            SchemaError: there is no such column, the table needs it, or its type cannot become the new one.
        """
        return self._with(lambda update: update.change_type(name, type))

    def optional(self, name: str) -> Self:
        """Make a column nullable.

        Raises:
            SchemaError: there is no such column, or it is a meta column or the key of a map.
        """
        return self._with(lambda update: update.optional(name))

    def required(self, name: str) -> Self:
        """Make a column not nullable; refused unless it is not nullable already.

        Raises:
            SchemaError: there is no such column, or it takes null.
        """
        return self._with(lambda update: update.required(name))

    def comment(self, name: str, text: str | None) -> Self:
        """Set or remove the comment of a column.

        Raises:
            SchemaError: there is no such column, or it is what a list or map holds.
        """
        return self._with(lambda update: update.comment(name, text))

    def replace_columns(self, columns: pa.Schema | Sequence[InternalField] | str) -> Self:
        """Have the columns of a list, in its order, and no others beside the meta columns.

        Those whose names are there keep their values, all others are new; see :meth:`SchemaUpdate.replace_columns`.

        Args:
            columns: an Arrow schema, whose fields may have a comment under ``comment`` in their metadata, fields whose
                ids do not count, or a text as in SQL (``id int, name string COMMENT 'who'``).

        Raises:
            SchemaError: a column that the table needs is not among them or has another type, a type does not follow
                from that of the column of its name, a name is there twice or none for a column, or the list is empty.
        """
        return self._with(lambda update: update.replace_columns(columns))

    def _with(self, change: Change) -> Self:
        try:
            self._update = change(self._update)
        except SchemaError as error:
            raise SchemaError(error.message, path=self._client.base_path, remedy=error.remedy) from error
        self._changes.append(change)
        return self

    @property
    def changes(self) -> tuple[Difference, ...]:
        """The changes so far, column by column."""
        return differences(self._update.before, self._update.schema)

    @property
    def schema(self) -> pa.Schema:
        """The columns with all changes applied, meta columns first."""
        return to_arrow(self._update.schema)

    def commit(self, *, dry_run: bool = False, check_data: bool = False) -> AlterReport:
        """Commit the changes.

        Args:
            dry_run: only check them.
            check_data: read the columns whose types change, and refuse values that the new type cannot take.

        Raises:
            SchemaError: nothing would change, the table changed meanwhile so that a change has no rule, or a value does
                not fit its new type.
            WriteConflictError: another writer changed the schema meanwhile.
            HudiHiveError: as of :func:`hudi_hive.write.alter.alter_table.alter_schema`.
        """
        if self.report is not None:
            raise WriteError("the changes are committed already", path=self._client.base_path)
        report = self._commit(self._changes, dry_run, check_data)
        if not dry_run:
            self.report = report
        return report

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self.report is None:
            self.commit()


def versions_table(client: MetaClient) -> pa.Table:
    """List the versions of a table's id-based schema, newest first, without those that repeat the one before.

    Returns:
        :data:`VERSIONS_SCHEMA`; without rows for a table whose columns have no ids.

    Raises:
        SchemaError: the history cannot be decoded.
    """
    rows = []
    for version in _distinct(read(client)):
        instant = str(version.version_id) if version.version_id else None
        for name, item in version.walk():
            kind = type_name(item.type)
            rows.append((version.version_id, instant, name, item.id, kind, item.optional, item.doc))
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(VERSIONS_SCHEMA)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, VERSIONS_SCHEMA, strict=True)], VERSIONS_SCHEMA)


def _distinct(versions: Sequence[InternalSchema]) -> list[InternalSchema]:
    """Of versions with the same columns in a row only the oldest: data commits repeat what they were written with."""
    older = [version.fields for version in versions[1:]]
    return [version for at, version in enumerate(versions) if at == len(older) or version.fields != older[at]]
