"""Statements about a whole table: ``DROP TABLE``, ``ALTER TABLE … RENAME TO`` and of table properties.

Source: Hudi's ``DropHoodieTableCommand``, ``AlterHoodieTableRenameCommand``, ``AlterTableCommand``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from hudi_hive.errors import InvalidOptionError, SparkError
from hudi_hive.metastore.transactions import MetastoreLock
from hudi_hive.names import HOODIE_PREFIX, HOODIE_QUERY_AS_RO_TABLE, HOODIE_TABLE_NAME
from hudi_hive.options import Face, OptionSet
from hudi_hive.spark.bridge import JavaValue, option, python_session, quoted, scala_items, store_options
from hudi_hive.spark.scan import location_of
from hudi_hive.spark.statements.entries import SessionEntry
from hudi_hive.spark.statements.writes import SHORT_NAMES, WriteTarget, command
from hudi_hive.storage import Storage
from hudi_hive.table.properties import PROPERTIES_PATH, update_properties
from hudi_hive.write.commit import finish_creation
from hudi_hive.write.coordination import table_lock
from hudi_hive.write.options import WriteConfig

_SHOWN_AS: Final = {"_rt": "false", "_ro": "true"}
"""Suffix of a further entry of a merge-on-read table -> its storage property that says which rows it shows."""

_COMMENT: Final = "comment"
_PATH: Final = "path"
_OPTIONS: Final = OptionSet("write", Face.WRITE)


def drop_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``DROP TABLE [PURGE]``: the entry goes; of what CREATE TABLE made the data too, if it is managed or with PURGE.

    Raises:
        SparkError: the catalog would delete data that others wrote.
    """
    entry = _entry(target, "DROP TABLE")
    if not entry.made_by_statement:
        _refuse_managed(target, entry)
    purge, if_exists = bool(node.purge()) and entry.made_by_statement, bool(node.ifExists())
    text = f"DROP TABLE {target.name}{' PURGE' if purge else ''}"
    return command(target.hook.environment.jvm, text, lambda: _drop(target, entry, if_exists, purge))


def _drop(target: WriteTarget, entry: SessionEntry, if_exists: bool, purge: bool) -> None:
    session, catalog = target.hook.session, entry.catalog
    stored = store_options(session, target.location)
    managed = str(entry.table().tableType().name()) == "MANAGED"
    others = _further_entries(target, entry) if purge or managed else []
    data = purge and Storage(target.location, stored).is_dir(".hoodie")
    finish_creation(target.location, stored)  # its entry is there
    with suppress(Exception):  # of a table whose folder is gone nothing can be looked up
        python_session(session).catalog.uncacheTable(quoted(entry.database, entry.name))
    catalog.invalidateCachedTable(entry.identifier())
    if data:  # the entry goes last: where the process dies on the way, the statement can be run again
        folder, _, name = target.location.rstrip("/").rpartition("/")
        Storage(target.location, stored).delete(PROPERTIES_PATH)  # from here on nobody reads a part of the table
        Storage(folder, stored).delete_tree(name)
    for name in others:
        catalog.dropTable(entry.identifier(name), True, False)
    catalog.dropTable(entry.identifier(), if_exists, purge)


def _refuse_managed(target: WriteTarget, entry: SessionEntry) -> None:
    if str(entry.table().tableType().name()) == "MANAGED":
        raise SparkError(
            f"DROP TABLE would delete the data of {entry.entry.declared.name}, managed in the metastore",
            path=target.location,
            remedy="drop the entry alone with hudi_hive.metastore.HiveMetastore.drop_table; delete data with Hudi",
        )


def _further_entries(target: WriteTarget, entry: SessionEntry) -> list[str]:
    """Names of the other entries of a table: its own, and those that show base files or all rows, behind a suffix."""
    shows = _SHOWN_AS.get(entry.name[-3:].lower())
    base = entry.name if shows is None or not _shows(target, entry, entry.name, shows) else entry.name[:-3]
    names = {base: None, **{f"{base}{suffix}": shown for suffix, shown in _SHOWN_AS.items()}}
    return [name for name, shown in names.items() if name != entry.name and _shows(target, entry, name, shown)]


def _shows(target: WriteTarget, entry: SessionEntry, name: str, shown: str | None) -> bool:
    """Whether an entry is of the same table, and says of which rows it shows what is asked; None for nothing."""
    if not entry.catalog.tableExists(entry.identifier(name)):
        return False
    table = entry.table(name)
    location = option(table.storage().locationUri())
    says = option(table.storage().properties().get(HOODIE_QUERY_AS_RO_TABLE))
    says = says if says is not None else option(table.properties().get(HOODIE_QUERY_AS_RO_TABLE))
    same = location is not None and location_of(str(location.toString())) == location_of(target.location)
    return same and (None if says is None else str(says).lower()) == shown


# -- names -------------------------------------------------------------------------------------------------------------


def rename_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``ALTER TABLE … RENAME TO``: of the entry and in the table's properties; a managed table's folder moves along."""
    entry = _entry(target, "ALTER TABLE … RENAME TO")
    parts = [str(part) for part in scala_items(node.newName())]
    if len(parts) == 3 and parts[0].lower() == "spark_catalog":
        parts = parts[1:]
    if len(parts) > 2:
        raise SparkError(f"RENAME TO {'.'.join(parts)}: another catalog", remedy="give database.table")
    text = f"ALTER TABLE {target.name} RENAME TO {'.'.join(parts)}"
    return command(target.hook.environment.jvm, text, lambda: _rename(target, entry, parts))


def _rename(target: WriteTarget, entry: SessionEntry, parts: list[str]) -> None:
    jvm, session = target.hook.environment.jvm, target.hook.session
    commands = jvm.package("execution.command")
    database = parts[0] if len(parts) == 2 else entry.database
    settings = target.settings  # which are read from the table, while it is in its old folder
    if entry.metastore_uris:
        _refuse_taken(entry, parts[-1], database)
        location = location_of(entry.rename_in_metastore(database, parts[-1]))
    else:
        new = entry.identifier(parts[-1], database)
        commands.AlterTableRenameCommand(entry.identifier(), new, False).run(session)
        table = entry.catalog.getTableMetadata(new)
        location = location_of(str(table.storage().locationUri().get().toString()))
        recorded = option(table.storage().properties().get(_PATH))
        if recorded is not None and location_of(str(recorded)) != location:
            changed = jvm.some(jvm.map({_PATH: location}))
            commands.AlterTableSerDePropertiesCommand(new, jvm.none(), changed, jvm.none()).run(session)
    stored = store_options(session, location)
    storage = Storage(location, stored)
    with table_lock(settings, storage, metastore=MetastoreLock.connect):
        update_properties(storage, {HOODIE_TABLE_NAME: parts[-1]})


def _refuse_taken(entry: SessionEntry, name: str, database: str) -> None:
    if entry.catalog.tableExists(entry.identifier(name, database)):
        raise SparkError(f"ALTER TABLE … RENAME TO {database}.{name}: the name is taken", remedy="give another name")


# -- properties --------------------------------------------------------------------------------------------------------


def set_properties_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``ALTER TABLE … SET TBLPROPERTIES``, which Spark carries out; what the table is made of does not change by it.

    Raises:
        SparkError: a property that contradicts the table, or a table by path.
    """
    entry = _entry(target, "ALTER TABLE … SET TBLPROPERTIES")
    properties = {str(item._1()): str(item._2()) for item in scala_items(node.properties().toSeq())}
    for name, value in properties.items():
        known = SHORT_NAMES.get(name.lower(), name if name.startswith(HOODIE_PREFIX) and name in _OPTIONS else None)
        if known is None:
            continue
        text = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}.get(value.lower(), value)
        try:
            WriteConfig.of({known: text}, target.client.config)
        except InvalidOptionError as error:
            raise InvalidOptionError(
                f"ALTER TABLE {target.name} SET TBLPROPERTIES: {error.message}",
                path=target.location,
                remedy=error.remedy or "write the rows to a new table with this property",
            ) from error
    return _changed_properties(target, entry, properties, node)


def unset_properties_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``ALTER TABLE … UNSET TBLPROPERTIES``, which Spark carries out.

    Raises:
        SparkError: a property that the table does not have, without IF EXISTS, or a table by path.
    """
    entry = _entry(target, "ALTER TABLE … UNSET TBLPROPERTIES")
    keys = [str(key) for key in scala_items(node.propertyKeys())]
    missing = [key for key in keys if key not in entry.entry.properties and key != _COMMENT]
    if missing and not node.ifExists():
        raise SparkError(
            f"{target.name} has no property {missing[0]}",
            path=target.location,
            remedy="use UNSET TBLPROPERTIES IF EXISTS",
        )
    return _changed_properties(target, entry, dict.fromkeys(keys), node)


def comment_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``COMMENT ON TABLE``: the comment is a property of the entry; an empty one, or ``NULL``, takes it away.

    Raises:
        SparkError: a table by path.
    """
    entry = _entry(target, "COMMENT ON TABLE")
    text = str(node.comment())
    jvm, session = target.hook.environment.jvm, target.hook.session

    def run() -> None:
        if entry.metastore_uris:
            entry.change_parameters({_COMMENT: text or None})
            return
        commands = jvm.package("execution.command")
        commands.AlterTableSetPropertiesCommand(entry.identifier(), jvm.map({_COMMENT: text}), False).run(session)

    return command(jvm, f"COMMENT ON TABLE {target.name}", run)


def _changed_properties(
    target: WriteTarget, entry: SessionEntry, changes: Mapping[str, str | None], node: JavaValue
) -> JavaValue:
    """A command for the entry in a metastore server; else Spark's own statement."""
    if not entry.metastore_uris:
        return node
    text = f"ALTER TABLE {target.name}: properties"
    return command(target.hook.environment.jvm, text, lambda: entry.change_parameters(changes))


def _entry(target: WriteTarget, what: str) -> SessionEntry:
    if target.entry is None:
        raise SparkError(
            f"{what} by path: {target.name} is no table of a catalog",
            path=target.location,
            remedy="name the table as the catalog has it",
        )
    return SessionEntry(target.hook, target.entry)


__all__ = ["comment_plan", "drop_plan", "rename_plan", "set_properties_plan", "unset_properties_plan"]
