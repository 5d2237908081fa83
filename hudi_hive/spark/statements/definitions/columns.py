"""``ALTER TABLE`` of the columns of a Hudi table: a commit that changes its schema by ids, then the catalog follows.

The parsed statement becomes a command, so that nothing changes before the statement runs. Locks and the sync take
Hudi's options from the session's settings (``SET hoodie.write.lock.provider = …``); how the table was synced is told
by its entries in the metastore. In a session without a metastore server the entry of the session's catalog is changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from hudi_hive.errors import HudiHiveError, SchemaError, SparkError, SyncError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.names import (
    HOODIE_DATASOURCE_HIVE_SYNC_PREFIX,
    HOODIE_DATASOURCE_META_SYNC_PREFIX,
    HOODIE_META_SYNC_PREFIX,
    HOODIE_METADATA_PREFIX,
    HOODIE_WRITE_CONCURRENCY_PREFIX,
    HOODIE_WRITE_LOCK_PREFIX,
)
from hudi_hive.options import parse_java_boolean
from hudi_hive.options.services import FAILED_WRITES_POLICY
from hudi_hive.options.table import ALTER_CHECK_DATA
from hudi_hive.options.write import SCHEMA_ON_READ
from hudi_hive.schema import ArrayType as ArrayOf
from hudi_hive.schema import InternalField, InternalSchema, InternalType, RecordType, SchemaUpdate, parse_type
from hudi_hive.schema import MapType as MapOf
from hudi_hive.spark.bridge import (
    JavaValue,
    class_name,
    metastore_settings,
    option,
    scala_items,
    session_settings,
    store_options,
)
from hudi_hive.spark.catalog import sync_config
from hudi_hive.spark.statements.entries import SessionEntry
from hudi_hive.spark.statements.writes import WriteTarget, command
from hudi_hive.spark.versions import SPARK
from hudi_hive.sync import HiveSyncTool
from hudi_hive.sync.config import read_options
from hudi_hive.sync.run import refuse_catalog_types
from hudi_hive.table import MetaClient
from hudi_hive.timeline import Instant
from hudi_hive.write.alter import Check, alter, alter_schema, schema_update, tidy, write_config
from hudi_hive.write.coordination import TableLock, reported, table_lock
from hudi_hive.write.options import WriteConfig

_OPTIONS: Final = (
    HOODIE_WRITE_CONCURRENCY_PREFIX,
    HOODIE_WRITE_LOCK_PREFIX,
    HOODIE_METADATA_PREFIX,
    ALTER_CHECK_DATA.name,
    FAILED_WRITES_POLICY.name,
)
_REPLACE: Final = "replace_columns"
_IDLE: Final = (_REPLACE, "change_type", "comment", "optional")
_SYNC_OPTIONS: Final = (HOODIE_DATASOURCE_HIVE_SYNC_PREFIX, HOODIE_DATASOURCE_META_SYNC_PREFIX, HOODIE_META_SYNC_PREFIX)


@dataclass(frozen=True, slots=True)
class Change:
    """One change: a method of :class:`SchemaUpdate` and its arguments.

    Attributes:
        if_exists: leave it out where there is no such column.
    """

    method: str
    name: str
    arguments: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)
    if_exists: bool = False

    def __call__(self, update: SchemaUpdate) -> SchemaUpdate:
        """Apply the change to a schema update."""
        if self.method == _REPLACE:
            return update.replace_columns(*self.arguments)
        if self.if_exists and self.name.lower() not in {path.lower() for path, _ in update.schema.walk()}:
            return update
        made: SchemaUpdate = getattr(update, self.method)(self.name, *self.arguments, **self.named)
        return made

    @property
    def comments(self) -> bool:
        """Whether it sets the comment of a column."""
        return self.method in ("comment", _REPLACE) or self.named.get("doc") is not None

    @property
    def may_be_idle(self) -> bool:
        """Whether a statement of such changes is carried out too where they leave the columns as they are."""
        return self.if_exists or self.method in _IDLE


def alter_columns(target: WriteTarget, node: JavaValue) -> JavaValue:
    """The command that makes the changes of a parsed statement when it runs.

    Args:
        target: the table.
        node: one of :data:`COLUMN_CHANGES` as Spark's parser gives it.

    Raises:
        SchemaError: a part of it that no change of a schema can do.
    """
    try:
        changes = list(_STATEMENTS[class_name(node)](node))
    except SchemaError as error:
        raise SchemaError(error.message, path=target.location, remedy=error.remedy) from error
    return command(target.hook.environment.jvm, f"ALTER TABLE {target.name}", lambda: _alter(target, changes))


# -- what runs -------------------------------------------------------------------------------------------------------


def _alter(target: WriteTarget, changes: list[Change]) -> None:
    settings = session_settings(target.hook.session)
    client = MetaClient.load(target.location, store_options(target.hook.session, target.location))
    stated = {} if target.entry is None else target.entry.properties
    options = {key: value for key, value in {**stated, **settings}.items() if key.startswith(_OPTIONS)}
    idle = all(change.may_be_idle for change in changes) and not _changes(client, changes)
    lock = table_lock(WriteConfig.of(options, client.config).options, client.storage, metastore=MetastoreLock.connect)
    commit = partial(_commit, client, [] if idle else changes, options, lock)
    if target.entry is None:
        commit()
        return
    entry = SessionEntry(target.hook, target.entry)
    if entry.made_by_statement and not idle:
        _refuse_without_evolution(target, changes)
    sync_options = {key: value for key, value in settings.items() if key.startswith(_SYNC_OPTIONS)}
    sync_options = {**metastore_settings(target.hook.session), **sync_options}
    uris = tuple(read_options(sync_options)[0].get("metastore_uris") or ())
    if uris:
        _alter_and_sync(target, changes, client, commit, uris, sync_options)
    elif entry.made_by_statement or idle:
        commit()
        if entry.made_by_statement:
            entry.set_columns(_renamed_comments(changes))
    else:
        raise SparkError(
            f"ALTER TABLE on {target.name}: the session has no metastore server, and the catalog could not follow",
            path=target.location,
            remedy="change the columns with HudiTable.update_schema or ALTER TABLE hudi.`path`; then sync the table",
        )
    entry.refresh()


def _commit(
    client: MetaClient,
    changes: list[Change],
    options: Mapping[str, str],
    lock: TableLock,
    check: Check | None = None,
) -> Instant | None:
    """Commit changes; where there are none, as a statement may be repeated that died behind its commit, tidy up."""
    if changes and check is None:
        return alter_schema(client, changes, options, lock=lock)
    if changes:
        return alter(client, changes, options, lock=lock, check=check).instant
    tidy(client, write_config(client, options))
    return None


def _alter_and_sync(
    target: WriteTarget,
    changes: list[Change],
    client: MetaClient,
    commit: Callable[..., Instant | None],
    uris: tuple[str, ...],
    sync_options: Mapping[str, str],
) -> None:
    """Commit, and bring the metastore's entries along."""
    assert target.entry is not None
    with HiveMetastore(uris) as metastore:
        config = sync_config(
            metastore, target.entry, client, sync_options, store_options(target.hook.session, target.location)
        )
        if any(change.comments for change in changes):
            config = replace(config, sync_comment=True)

        def check(before: InternalSchema, after: InternalSchema) -> None:
            refuse_catalog_types(metastore, config, client, before, after)

        try:
            instant = commit(check=check)
        except SchemaError:
            with suppress(HudiHiveError):  # a statement that died behind its commit may have made the changes
                HiveSyncTool(config, metastore=metastore, client=client.reload()).sync()
                SessionEntry(target.hook, target.entry).refresh()
            raise
        _sync(HiveSyncTool(config, metastore=metastore, client=client.reload()), target, instant)


def _refuse_without_evolution(target: WriteTarget, changes: list[Change]) -> None:
    """Refuse what Hudi's own SQL refuses without schema evolution, on a table that its SQL could have made.

    Raises:
        SchemaError: something else than new columns and comments, where the session does not ask for evolution.
    """
    text = target.setting(SCHEMA_ON_READ.name)
    if text is not None and parse_java_boolean(text):
        return
    for change in changes:
        if change.method not in ("add", "comment") and _changes(target.client, [change]):
            raise SchemaError(
                f"ALTER TABLE {target.name}: without schema evolution columns are added and get comments, no more",
                path=target.location,
                remedy=f"SET {SCHEMA_ON_READ.name}=true",
            )


def _changes(client: MetaClient, changes: list[Change]) -> bool:
    """Whether changes leave other columns.

    Raises:
        SchemaError: a change that has no rule.
    """
    update = schema_update(client)
    try:
        for change in changes:
            update = change(update)
    except SchemaError as error:
        raise SchemaError(error.message, path=client.base_path, remedy=error.remedy) from error
    return update.changed


def _renamed_comments(changes: list[Change]) -> dict[str, str]:
    """New name -> old name, in lower case, of the columns at the top that changes rename."""
    renamed: dict[str, str] = {}
    for change in changes:
        if change.method == "rename" and "." not in change.name:
            renamed[change.arguments[0].lower()] = change.name.lower()
        if change.method == _REPLACE:  # whose comments are those of its list alone
            renamed.update({item.name.lower(): "" for item in change.arguments[0]})
    return renamed


def _sync(tool: HiveSyncTool, target: WriteTarget, instant: Instant | None) -> None:
    try:
        tool.sync()
    except Exception as failure:
        if instant is None:
            raise
        error = reported(failure, target.location, instant.requested)
        raise SyncError(
            f"the table's columns are changed, the sync after it failed: {error.message}",
            path=error.path or target.location,
            instant=instant.requested,
            remedy=(error.remedy if error is failure else None) or "run `hudi-hive sync`",
        ) from failure


# -- what statements say -----------------------------------------------------------------------------------------------


def _added(node: JavaValue) -> Iterator[Change]:
    for column in scala_items(node.columnsToAdd()):
        name = _dotted(column.name())
        if not column.nullable():
            raise SchemaError(f"column {name!r} cannot be added as NOT NULL: rows of before have null in it")
        _refuse_default(column.default(), name)
        position = option(column.position())
        place = {} if position is None else _place(position)
        comment, kind = option(column.comment()), _type(column.dataType(), name)
        yield Change("add", name, (kind,), {"doc": None if comment is None else str(comment), **place})


def _dropped(node: JavaValue) -> Iterator[Change]:
    for column in scala_items(node.columnsToDrop()):
        yield Change("drop", _dotted(column.name()), if_exists=bool(node.ifExists()))


def _replaced(node: JavaValue) -> Iterator[Change]:
    listed = []
    for column in scala_items(node.columnsToAdd()):
        name = _dotted(column.name())  # of one part, always nullable and without place: Spark takes nothing else
        _refuse_default(column.default(), name)
        comment = option(column.comment())
        kind, doc = _type(column.dataType(), name), None if comment is None else str(comment)
        listed.append(InternalField(-1, name, True, parse_type(kind) if isinstance(kind, str) else kind, doc))
    yield Change(_REPLACE, "", (tuple(listed),))


def _renamed(node: JavaValue) -> Iterator[Change]:
    yield Change("rename", _dotted(node.column().name()), (_plain(str(node.newName())),))


def _altered(node: JavaValue) -> Iterator[Change]:
    for spec in scala_items(node.specs()):
        name = _dotted(spec.column().name())
        flags = {SPARK.element_name(spec, i): spec.productElement(i) for i in range(spec.productArity())}
        if "newDefaultExpression" in flags:
            _refuse_default(flags["newDefaultExpression"], name)
        if flags.get("dropDefault"):
            raise _no_default(name)
        yield from _changed(
            name,
            option(spec.newDataType()),
            option(spec.newNullability()),
            _Comment(option(spec.newComment()), bool(flags.get("dropComment"))),
            option(spec.newPosition()),
        )


def _altered_one(node: JavaValue) -> Iterator[Change]:
    """Spark 3.5's node, which changes one column; an empty default there means ``DROP DEFAULT``."""
    name = _dotted(node.column().name())
    default = option(node.setDefaultExpression())
    if default is not None and not str(default):
        raise _no_default(name)
    _refuse_default(node.setDefaultExpression(), name)
    comment = _Comment(option(node.comment()), False)
    yield from _changed(name, option(node.dataType()), option(node.nullable()), comment, option(node.position()))


class _Comment(NamedTuple):
    """What a statement says of a column's comment: another one, none any more, or nothing."""

    text: JavaValue | None
    dropped: bool


def _changed(
    name: str, kind: JavaValue | None, nullable: JavaValue | None, comment: _Comment, position: JavaValue | None
) -> Iterator[Change]:
    if kind is not None:
        yield Change("change_type", name, (_type(kind, name),))
    if nullable is not None:
        yield Change("optional" if nullable else "required", name)
    if comment.text is not None or comment.dropped:
        yield Change("comment", name, (None if comment.text is None else str(comment.text),))
    if position is not None:
        yield Change("move", name, (), _place(position))


def _no_default(name: str) -> SchemaError:
    return SchemaError(f"column {name!r} has no default value: columns of Hudi tables have none in Spark SQL")


_STATEMENTS: Final[dict[str, Callable[[JavaValue], Iterator[Change]]]] = {
    "AddColumns": _added,
    "AlterColumn": _altered_one,
    "AlterColumns": _altered,
    "DropColumns": _dropped,
    "RenameColumn": _renamed,
    "ReplaceColumns": _replaced,
}

COLUMN_CHANGES: Final = frozenset(_STATEMENTS)
"""Nodes of parsed statements that change columns."""


def _dotted(parts: JavaValue) -> str:
    return ".".join(_plain(str(part)) for part in scala_items(parts))


def _plain(part: str) -> str:
    if "." in part:
        raise SchemaError(f"{part!r} is no name for a column: it has a dot")
    return part


def _place(position: JavaValue) -> dict[str, Any]:
    """``FIRST`` or ``AFTER column`` as arguments of a change."""
    where = position.position()
    return {"after": _plain(str(where.column()))} if class_name(where) == "After" else {"first": True}


def _refuse_default(value: JavaValue, name: str) -> None:
    if option(value) is not None:
        raise SchemaError(
            f"column {name!r} cannot have a default value: files of before have none in them",
            remedy="leave DEFAULT out; rows of before show null",
        )


def _type(kind: JavaValue, name: str) -> InternalType:
    """A type of Spark's for a change: a text, or a type of a schema with ids, which has the comments inside it."""
    found = StructType.fromJson({"type": "struct", "fields": [_field_json(name, str(kind.json()))]}).fields[0].dataType
    nested = isinstance(found, StructType | ArrayType | MapType)
    return _converted(found, name) if nested else str(found.simpleString())


def _field_json(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "type": json.loads(kind), "nullable": True, "metadata": {}}


def _converted(kind: DataType, name: str) -> InternalType:
    if isinstance(kind, StructType):
        return RecordType(tuple(_inside(item, name) for item in kind.fields))
    if isinstance(kind, ArrayType):
        return ArrayOf(-1, _converted(kind.elementType, f"{name}.element"), True)
    if isinstance(kind, MapType) and _converted(kind.keyType, f"{name}.key") == "string":
        return MapOf(-1, "string", -1, _converted(kind.valueType, f"{name}.value"), True)
    return parse_type(kind.simpleString())


def _inside(item: StructField, name: str) -> InternalField:
    if not item.nullable:
        raise SchemaError(
            f"column {name!r}: NOT NULL inside a type is not supported, for {item.name!r}", remedy="leave it out"
        )
    return InternalField(
        -1, item.name, True, _converted(item.dataType, f"{name}.{item.name}"), item.metadata.get("comment")
    )
