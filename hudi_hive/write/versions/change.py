"""Changes the version of a table, step by step, under its lock.

Source: docs/format.md#changes-of-the-table-version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from hudi_hive.errors import InvalidOptionError, UnsupportedTableError, WriteError
from hudi_hive.metadata.writer import MetadataWriter
from hudi_hive.names import (
    HOODIE_ARCHIVELOG_FOLDER,
    HOODIE_DATASOURCE_WRITE_PARTITIONPATH_FIELD,
    HOODIE_TABLE_INDEX_DEFS_PATH,
    HOODIE_TABLE_INITIAL_VERSION,
    HOODIE_TABLE_KEYGENERATOR_CLASS,
    HOODIE_TABLE_KEYGENERATOR_TYPE,
    HOODIE_TABLE_PARTITION_FIELDS,
    HOODIE_TABLE_VERSION,
    HOODIE_TIMELINE_HISTORY_PATH,
    HOODIE_TIMELINE_LAYOUT_VERSION,
    HOODIE_TIMELINE_PATH,
)
from hudi_hive.options import KEY_GENERATOR_CLASSES, as_texts
from hudi_hive.options import services as clean
from hudi_hive.options import table as table_options
from hudi_hive.table import MetaClient
from hudi_hive.table.core import refuse_external_files
from hudi_hive.table.merge import merge_changes
from hudi_hive.table.properties import LAYOUT_OF_VERSION, TableConfig, refuse_format, update_properties
from hudi_hive.timeline import Instant
from hudi_hive.timeline.instants import CLEAN, CLUSTERING, INDEXING, REPLACE_COMMIT, SAVEPOINT
from hudi_hive.write.coordination import LocalExecutor, MetastoreLockFactory, TaskExecutor, table_lock
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import TableServices
from hudi_hive.write.versions.layouts import copy_timeline, pending_slices, remove_timeline

VERSIONS: Final = (5, 6, 8, 9)
"""The versions between which a table is changed, each a step from the next; 7 is no more than a name on the way."""

_MAY_BE_PENDING: Final = frozenset({CLEAN, CLUSTERING, REPLACE_COMMIT})
_LAYOUTS: Final = {6, 8}
"""Versions between which the layout of the timeline changes."""

_CUSTOM: Final = ("CUSTOM", "CUSTOM_AVRO")
_COMPLEX: Final = ("COMPLEX", "COMPLEX_AVRO")


@dataclass(frozen=True)
class VersionChange:
    """What a change of a table's version did.

    Attributes:
        before, after: the versions.
        compacted: compactions that it ran.
        metadata_dropped: partitions of the metadata table that went; the next write makes them again.
    """

    before: int
    after: int
    compacted: tuple[Instant, ...] = ()
    metadata_dropped: tuple[str, ...] = ()


def change_version(
    client: MetaClient,
    target: int,
    options: Mapping[str, Any] | None = None,
    *,
    executor: TaskExecutor | None = None,
    metastore_lock: MetastoreLockFactory | None = None,
) -> VersionChange:
    """Upgrade or downgrade a table; where it is of the version already, finish what a change that died left.

    What dead writers left is rolled back, log files are compacted, the metadata table goes. Then the timeline is copied
    into the other layout where that differs, the properties change in one step, and the former timeline is deleted.

    Args:
        client: the table.
        target: the version: 5, 6, 8 or 9.
        options: Hudi's write options: of the lock, of compactions; ``hoodie.datasource.write.partitionpath.field`` with
            the kinds of the fields, which an upgrade to 8 puts into the properties of a custom key generator.
        executor: where compactions run; threads of this process without it.
        metastore_lock: makes the metastore's lock.

    Raises:
        InvalidOptionError: another version.
        UnsupportedTableError: the table is of a version before 5, or has what the target version lacks.
        WriteError: a write is at work.
        LockTimeoutError: the table is locked by another writer.
    """
    if target not in VERSIONS:
        raise InvalidOptionError(f"table version {target} is not one of {', '.join(map(str, VERSIONS))}")
    client = client.reload()
    before = client.config.version
    if before not in VERSIONS:
        raise UnsupportedTableError(
            f"tables of version {before} are not upgraded",
            path=client.base_path,
            remedy="a write of Hudi 0.15 upgrades them to version 6",
        )
    if client.config.is_bootstrapped and before != target:
        raise UnsupportedTableError(
            "the version of a bootstrapped table is not changed", path=client.base_path, remedy="let Hudi change it"
        )
    refuse_format(client.config, client.base_path)
    refuse_external_files(client)
    texts = as_texts(options or {})
    context = ServiceContext(
        client,
        texts,
        executor or LocalExecutor(),
        lock=_lock_of(client, texts, metastore_lock),
    )
    compacted: list[Instant] = []
    dropped = client.config.metadata_partitions
    steps = _steps(before, target)
    for earlier, version in zip((before, *steps), steps, strict=False):  # all of them ahead of the first change
        _check(client, earlier, version)
    for version in steps:
        now = context.reload().client
        _check(now, now.config.version, version)
        compacted += _prepare(context, version)
        _step(context, version)
    if not steps:
        _finish(context)
    return VersionChange(before, target, tuple(compacted), dropped if steps else ())


def upgrade_for_write(
    client: MetaClient,
    options: Mapping[str, Any],
    *,
    executor: TaskExecutor | None = None,
    metastore_lock: MetastoreLockFactory | None = None,
) -> MetaClient:
    """Upgrade a table ahead of a write that asks for it; the table as it is then.

    It does by ``hoodie.write.auto.upgrade=true`` and a ``hoodie.write.table.version`` above the table's own.

    Args:
        client: the table.
        options: of the write.
        executor: as of :func:`change_version`.
        metastore_lock: as of :func:`change_version`.

    Raises:
        UnsupportedTableError: as of :func:`change_version`; or another project wrote the table's files.
    """
    refuse_format(client.config, client.base_path)
    refuse_external_files(client)
    texts = as_texts(options)
    wanted = table_options.VERSION.of(texts)
    if not table_options.AUTO_UPGRADE.of(texts) or wanted is None or wanted <= client.config.version:
        return client
    named = (table_options.VERSION.name, *table_options.VERSION.aliases)
    others = {name: text for name, text in texts.items() if name not in named}
    change_version(client, wanted, others, executor=executor, metastore_lock=metastore_lock)
    return client.reload()


def _lock_of(client: MetaClient, options: Mapping[str, str], metastore: MetastoreLockFactory | None) -> Any:  # noqa: ANN401
    if client.config.version >= 6:
        options = WriteConfig.of(options, client.config).options
    lock = table_lock(options, client.storage, metastore=metastore)
    return lambda: lock


def _steps(before: int, target: int) -> tuple[int, ...]:
    first, last = VERSIONS.index(before), VERSIONS.index(target)
    if first <= last:
        return VERSIONS[first + 1 : last + 1]
    return tuple(reversed(VERSIONS[last:first]))


def _check(client: MetaClient, before: int, target: int) -> None:
    """Refuse what the target version of a step lacks, ahead of any change."""
    config = client.config
    if 9 in (before, target) and config.key_generator in _COMPLEX and len(config.record_keys) == 1:
        raise UnsupportedTableError(
            "a complex key of one field is written in another form by version 9",
            path=client.base_path,
            remedy="copy the rows into a new table",
        )
    if config.is_merge_on_read and {before, target} == _LAYOUTS and client.timeline.completed({SAVEPOINT}):
        raise UnsupportedTableError(
            "a savepoint of a merge-on-read table could not be restored in the other layout of the timeline",
            path=client.base_path,
            remedy="delete the savepoints first",
        )
    if config.key_generator == "USER_PROVIDED" and {before, target} == {6, 8}:
        raise UnsupportedTableError(
            "a key generator that is not Hudi's has no type in version 8",
            path=client.base_path,
            remedy="copy the rows into a new table",
        )
    try:
        merge_changes(config, target)
    except UnsupportedTableError as error:
        raise UnsupportedTableError(error.message, path=client.base_path, remedy=error.remedy) from error


def _prepare(context: ServiceContext, target: int) -> list[Instant]:
    """Roll back what dead writers left, and merge all log files into base files where Hudi does."""
    client = context.reload().client
    if client.config.version < 6:
        return []  # version 6 reads and rolls back what version 5 wrote
    services = TableServices(context.reload())
    services.rollback()
    if not client.config.is_merge_on_read:
        return []
    compacted = services.compact()
    if {client.config.version, target} == _LAYOUTS:
        # Log files of older slices belong to other slices by the rules of the other version: no query may read them.
        options = {**context.options, clean.CLEAN_POLICY.name: "KEEP_LATEST_COMMITS", clean.CLEAN_COMMITS.name: "1"}
        TableServices(replace(context.reload(), options=options)).clean()
    return compacted


def _step(context: ServiceContext, target: int) -> None:
    """Change the version by one step."""
    with context.lock() as held:
        client = context.client.reload()
        _refuse_busy(client)
        if client.config.is_merge_on_read and client.config.version >= 6 and (left := pending_slices(client)):
            raise WriteError(
                "a write added log files while the table was compacted",
                path=client.storage.uri(left[0]),
                remedy="stop the writers, and try again",
            )
        MetadataWriter.drop(client)
        client = client.reload()
        layout = LAYOUT_OF_VERSION.get(target, 1)
        moves = layout != client.config.layout
        if moves:
            copy_timeline(client, layout)
        if client.config.version == 5:
            _remove_plans_aside(client)
        if held is not None:
            held.verify()
        update_properties(client.storage, _changes(client.config, target, context.options))
        if moves:
            remove_timeline(client.storage, client.config.layout)


def _finish(context: ServiceContext) -> None:
    """Delete the former timeline and properties, which a change that died behind its last step has left."""
    with context.lock():
        client = context.client.reload()
        update_properties(client.storage, {})
        remove_timeline(client.storage, 3 - client.config.layout)


def _refuse_busy(client: MetaClient) -> None:
    for instant in client.timeline.pending():
        if instant.action not in _MAY_BE_PENDING:
            raise WriteError(
                "the version of a table is not changed while it is written to",
                path=client.base_path,
                instant=instant.requested,
                remedy="delete the index that is being built, or wait"
                if instant.action == INDEXING
                else "wait for the write to end, or roll it back",
            )


def _remove_plans_aside(client: MetaClient) -> None:
    """Delete the second copies of compaction plans, which version 5 keeps in the auxiliary folder."""
    listing = client.storage.list(".hoodie/.aux", missing_ok=True)["path"].to_pylist()
    client.storage.delete_files([path for path in listing if path.endswith(".compaction.requested")])


def _changes(config: TableConfig, target: int, options: Mapping[str, str]) -> dict[str, str | None]:
    """The properties of the target version."""
    changes: dict[str, str | None] = {HOODIE_TABLE_VERSION: str(target), **merge_changes(config, target)}
    if config.version == 6 and target == 8:
        changes.update(
            {
                HOODIE_TIMELINE_LAYOUT_VERSION: "2",
                HOODIE_TIMELINE_PATH: "timeline",
                HOODIE_TIMELINE_HISTORY_PATH: "history",
                HOODIE_TABLE_INITIAL_VERSION: config.properties.get(HOODIE_TABLE_INITIAL_VERSION, "6"),
            }
        )
        if config.key_generator is not None:
            changes[HOODIE_TABLE_KEYGENERATOR_TYPE] = config.key_generator
        fields = options.get(HOODIE_DATASOURCE_WRITE_PARTITIONPATH_FIELD)
        if config.key_generator in _CUSTOM and fields:
            changes[HOODIE_TABLE_PARTITION_FIELDS] = fields
    if config.version == 8 and target == 6:
        changes.update(
            {
                HOODIE_TIMELINE_LAYOUT_VERSION: "1",
                HOODIE_ARCHIVELOG_FOLDER: "archived",
                HOODIE_TABLE_INDEX_DEFS_PATH: None,
                HOODIE_TABLE_PARTITION_FIELDS: ",".join(config.partition_fields),
            }
        )
        names = {kind: f"org.apache.hudi.keygen.{name}" for name, kind in KEY_GENERATOR_CLASSES.items()}
        if config.key_generator in names:
            changes[HOODIE_TABLE_KEYGENERATOR_CLASS] = names[config.key_generator]
    return changes
