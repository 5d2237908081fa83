"""Commits changes of a table's id-based schema (``ALTER TABLE``), without writing data.

The first change binds all files of before to a version 0, made of the table's Avro schema of then. A change is a
transaction like a write, and conflicts with others that change the schema: a write that began before it with the old
columns and has not completed by then is refused at its own commit and can be made again.

Source: docs/format.md#id-based-schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from hudi_hive.errors import HudiHiveError, InvalidOptionError, SchemaError, UnsupportedTableError, WriteConflictError
from hudi_hive.names import HOODIE_DATASOURCE_WRITE_OPERATION
from hudi_hive.schema import (
    Difference,
    InternalSchema,
    SchemaUpdate,
    differences,
    from_avro,
    may_become,
    refuse_unreadable,
    type_name,
)
from hudi_hive.table import MetaClient
from hudi_hive.table.core import refuse_external_files
from hudi_hive.table.merge import IS_DELETED, MergeSpec
from hudi_hive.table.properties import refuse_to_write
from hudi_hive.timeline import Instant
from hudi_hive.timeline.instants import COMMIT, DELTA_COMMIT
from hudi_hive.write.alter.by_name import avro_text_by_name, by_name
from hudi_hive.write.alter.check_data import check_data
from hudi_hive.write.alter.indexed_columns import refuse_indexed
from hudi_hive.write.commit import WriteTransaction
from hudi_hive.write.coordination import TableLock, TaskExecutor
from hudi_hive.write.files import WRITE_STATUS_SCHEMA
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.rollback import remove_outlived
from hudi_hive.write.schema import avro_text, read
from hudi_hive.write.service_base import ServiceContext

Change: TypeAlias = Callable[[SchemaUpdate], SchemaUpdate]
"""One change: takes the columns as they are, gives them as they shall be."""

Check: TypeAlias = Callable[[InternalSchema, InternalSchema], None]
"""Refuses a change: takes the columns as they are, and as they shall be."""

OPERATION: Final = "ALTER_SCHEMA"
_WRITE_OPERATION: Final = HOODIE_DATASOURCE_WRITE_OPERATION
_ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True)
class AlterReport:
    """Result of a schema change: the commit, and the versions before and after it.

    Attributes:
        instant: the completed instant; None for a trial.
        before: the version of before.
        after: the new version.
        failed: steps behind the commit that failed, and why; the commit stands.
    """

    instant: Instant | None
    before: InternalSchema
    after: InternalSchema
    failed: Mapping[str, HudiHiveError] = field(default_factory=dict)

    @property
    def changes(self) -> tuple[Difference, ...]:
        """The changes, column by column."""
        return differences(self.before, self.after)


def schema_update(client: MetaClient) -> SchemaUpdate:
    """Start changes of a table's columns; key, partition and ordering columns are protected.

    Raises:
        SchemaError: the table has no schema, columns of types that have no id-based form, or lost its history.
        UnsupportedTableError: the schema of such a table cannot change.
    """
    _refuse(client)
    evolved = client.evolved_schema()
    if evolved is not None and not evolved.history:
        raise SchemaError(
            "the history of the table's columns is lost: nothing tells what older files call them",
            path=client.base_path,
            remedy="restore .hoodie/.schema",
        )
    return SchemaUpdate(_baseline(client) if evolved is None else evolved.query, protected=_protected(client))


def changed(client: MetaClient, update: Change | Sequence[Change]) -> SchemaUpdate:
    """Apply changes to a table's columns without writing anything.

    Raises:
        SchemaError: a change that has no rule, or changes that leave everything as it is.
        UnsupportedTableError: the schema of such a table cannot change.
    """
    made = schema_update(client)
    try:
        for change in [update] if callable(update) else update:
            made = change(made)
        if not by_name(client, made):
            refuse_unreadable(made.before)  # which the history keeps, too
            made.apply(0)
            _refuse_unreadable_files(made, read(client))
            refuse_indexed(client, made)
    except SchemaError as error:
        raise SchemaError(error.message, path=client.base_path, remedy=error.remedy) from error
    return made


def _refuse_unreadable_files(update: SchemaUpdate, history: Sequence[InternalSchema]) -> None:
    """Refuse a type that does not follow from that of each earlier version.

    Each step may be a promotion, but readers go from the type of a file to the newest one: a number that became a text
    is read as a text, and there is no way from it to a date.

    Raises:
        SchemaError: there is one.
    """
    before = {item.id: item for _, item in update.before.walk()}
    for name, item in update.schema.walk():
        if not isinstance(item.type, str) or item.id not in before or before[item.id].type == item.type:
            continue
        for version in history:
            earlier = version.find(version.name_of(item.id) or "")
            if earlier is not None and not may_become(earlier.type, item.type):
                raise SchemaError(
                    f"column {name!r} cannot become {type_name(item.type)}: files of before have it as "
                    f"{type_name(earlier.type)}, and could not be read",
                    remedy="add a column of the new type",
                )


def alter_schema(
    client: MetaClient,
    update: Change | Sequence[Change],
    options: Mapping[str, Any] | None = None,
    *,
    executor: TaskExecutor | None = None,
    lock: TableLock | None = None,
) -> Instant:
    """Change a table's schema in one commit.

    Args:
        client: the table; it is read anew.
        update: the changes, one after the other.
        options: Hudi's write options (locks, concurrency, metadata table …).
        executor: where tasks run.
        lock: the table's lock; that of the options without it.

    Returns:
        The completed instant.

    Raises:
        SchemaError: a change that has no rule, or changes that leave everything as it is.
        UnsupportedTableError: the schema of such a table cannot change.
        WriteConflictError: another writer changed the schema meanwhile.
        HudiHiveError: as of :class:`~hudi_hive.write.commit.WriteTransaction`.
    """
    instant = alter(client, update, options, executor=executor, lock=lock).instant
    assert instant is not None
    return instant


def alter(
    client: MetaClient,
    update: Change | Sequence[Change],
    options: Mapping[str, Any] | None = None,
    *,
    executor: TaskExecutor | None = None,
    lock: TableLock | None = None,
    dry_run: bool = False,
    check: Check | None = None,
    check_values: bool = False,
) -> AlterReport:
    """Change a schema as :func:`alter_schema`, and report the changes; a dry run checks and writes nothing.

    ``check`` may refuse them, too: it gets the columns as they are and as they shall be, before anything is written.
    With ``check_values``, or ``hoodie.schema.alter.check.data`` among the options, the columns whose types change are
    read, and values that do not fit are refused.
    """
    client = client.reload()
    config = write_config(client, options)
    try:
        begun = changed(client, update)
    except SchemaError:
        if not dry_run:  # a change that died behind its commit is refused when it is repeated, and no write follows
            tidy(client, config)
        raise
    if check is not None:
        check(begun.before, begun.schema)
    if check_values or config.rows.alter_check_data:
        check_data(client, begun.before, begun.schema)
    if dry_run:
        return AlterReport(None, begun.before, begun.schema)
    for attempt in range(_ATTEMPTS):
        try:
            return _alter(client, update, config, executor, lock)
        except WriteConflictError:
            # A write with a later instant that completed first would hide the new schema: a new instant mends that.
            client = client.reload()
            if attempt + 1 == _ATTEMPTS or schema_update(client).before.fields != begun.before.fields:
                raise
    raise AssertionError


def tidy(client: MetaClient, config: WriteConfig) -> None:
    """Remove what a writer that died behind its commit left of its instant, where a change has nothing to commit."""
    with suppress(HudiHiveError):
        remove_outlived(ServiceContext(client, config.options, lock=nullcontext))


def write_config(client: MetaClient, options: Mapping[str, Any] | None) -> WriteConfig:
    """Typed write options of a schema change.

    Raises:
        InvalidOptionError: one is unknown, not supported, or contradicts the table.
    """
    config = WriteConfig.of({_WRITE_OPERATION: "upsert", **(options or {})}, client.config)
    if config.rows.schema_on_read is False:
        raise InvalidOptionError(
            "hoodie.schema.on.read.enable=false contradicts a change of the schema, which gives columns ids",
            path=client.base_path,
            remedy="leave the option out",
        )
    return config


def _alter(
    client: MetaClient,
    update: Change | Sequence[Change],
    config: WriteConfig,
    executor: TaskExecutor | None,
    lock: TableLock | None,
) -> AlterReport:
    action = DELTA_COMMIT if client.config.is_merge_on_read else COMMIT
    transaction = WriteTransaction(client, config, action=action, operation=OPERATION, executor=executor, lock=lock)
    transaction.validate = lambda staged: None  # pre-commit validators look at partitions that are written to
    with transaction:
        table = transaction.client
        made = changed(table, update)
        statuses = WRITE_STATUS_SCHEMA.empty_table()
        if by_name(table, made):
            after, versions = made.schema, None
            schema = avro_text_by_name(table, made.before, after)
        else:
            after = made.apply(int(transaction.instant))
            schema, versions = avro_text(table, after), (after, *(read(table) or (made.before,)))
        with transaction.standing():
            transaction.commit(statuses, schema=schema, versions=versions)
        return AlterReport(transaction.completed, made.before, after, dict(transaction.failed))


def _baseline(client: MetaClient) -> InternalSchema:
    """Version 0: what all files of before are read by."""
    avro = client.avro_schema()
    if avro is None:
        raise SchemaError(
            "the table has no schema that could change", path=client.base_path, remedy="write rows to it first"
        )
    config = client.config
    try:
        return from_avro(avro, meta_columns=config.populate_meta_fields, table_version=config.version)
    except SchemaError as error:
        raise SchemaError(error.message, path=client.base_path, remedy=error.remedy) from error


def _protected(client: MetaClient) -> dict[str, str]:
    config = client.config
    roles = dict.fromkeys(config.ordering_fields, "ordering column")
    marker = MergeSpec.from_config(config).delete_field
    roles.update(dict.fromkeys([IS_DELETED] if marker is None else [IS_DELETED, marker], "delete marker"))
    roles.update(dict.fromkeys(config.partition_fields, "partition column"))
    roles.update(dict.fromkeys(config.record_keys, "record key"))
    return roles


def _refuse(client: MetaClient) -> None:
    config = client.config
    refuse_to_write(config, client.base_path)
    refuse_external_files(client)
    reasons = {
        f"with base files of the format {config.base_file_format.upper()}": config.base_file_format == "hfile",
        "that was bootstrapped": config.is_bootstrapped,
    }
    for reason, holds in reasons.items():
        if holds:
            raise UnsupportedTableError(
                f"changing the schema of a table {reason} is not supported: its files are read by name",
                path=client.base_path,
                remedy="write a new table",
            )
