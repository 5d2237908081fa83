"""Hudi's write options as one typed, immutable value; what is not honoured is refused by name, typos with a hint.

Options of the table itself (key fields, type, merge mode) must agree with ``hoodie.properties`` of a table that is
there; of one that is not they say how it is made.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.table.properties import TableConfig
from hudi_hive.write.options.option_fields import Read, fill, known
from hudi_hive.write.options.settings import (
    ArchiveSettings,
    CleanSettings,
    ClusteringSettings,
    CompactionSettings,
    ConcurrencySettings,
    DuplicatePolicy,
    FileSettings,
    IndexSettings,
    MetadataSettings,
    Operation,
    RowSettings,
)
from hudi_hive.write.options.table_settings import TableSettings
from hudi_hive.write.options.unsupported_options import ENGINE_ONLY, MERGE_PROPERTIES, PASSED_ON, REFUSED, TIME_FORMATS

__all__ = ["Operation", "WriteConfig"]

_GROUPS: Final[tuple[type[Any], ...]] = (
    RowSettings,
    TableSettings,
    FileSettings,
    IndexSettings,
    MetadataSettings,
    CompactionSettings,
    CleanSettings,
    ArchiveSettings,
    ClusteringSettings,
    ConcurrencySettings,
)
_KNOWN: Final = known(_GROUPS)


@dataclass(frozen=True, slots=True)
class WriteConfig:
    """How one write goes, and how the table is made if there is none yet.

    Attributes:
        rows: operation, duplicates, schema changes.
        table: name, type, version, keys, partitioning, ordering, merge mode, change data capture.
        files: sizes, compression, log blocks, order of bulk inserts.
        index: kind of index, bloom filters.
        metadata, compaction, clean, archive, clustering, concurrency: the services and the locks.
        sync_options: options of hive-sync as they were given; the sync checks them.
        passed_on: options that are handed to others as they are (key generator, lock provider, merge properties).
        commit_metadata: options that go into the commit: those that begin with the prefix for it.
        options: all options as given, each under all of its names, and what follows from them for dead writers.
    """

    rows: RowSettings
    table: TableSettings
    files: FileSettings
    index: IndexSettings
    metadata: MetadataSettings
    compaction: CompactionSettings
    clean: CleanSettings
    archive: ArchiveSettings
    clustering: ClusteringSettings
    concurrency: ConcurrencySettings
    sync_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    passed_on: Mapping[str, str] = field(default_factory=dict, repr=False)
    commit_metadata: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def operation(self) -> Operation:
        """What the write does."""
        return self.rows.operation

    @property
    def sync_enabled(self) -> bool:
        """Whether the table is synced to the metastore after the write."""
        names = ("hoodie.datasource.hive_sync.enable", "hoodie.datasource.meta.sync.enable")
        return any(self.sync_options.get(name, "").lower() == "true" for name in names)

    @property
    def combines(self) -> bool:
        """Whether incoming rows of one key become one before they are written."""
        if self.operation is Operation.UPSERT:
            return self.rows.combine_before_upsert
        if self.operation is Operation.DELETE:
            return self.rows.combine_before_delete
        return self.operation.is_insert and self.rows.combine_before_insert

    @property
    def duplicate_policy(self) -> DuplicatePolicy:
        """What an insert does with rows whose keys the table has."""
        return DuplicatePolicy.DROP if self.rows.insert_drop_duplicates else self.rows.duplicate_policy

    @property
    def table_properties(self) -> dict[str, str]:
        """What a new table's properties hold beyond its fields: how partition paths show times, what marks deletes."""
        found = {MERGE_PROPERTIES[key]: value for key, value in self.passed_on.items() if key in MERGE_PROPERTIES}
        if self.table.key_generator in ("TIMESTAMP", "CUSTOM"):
            named, older = TIME_FORMATS
            for key, value in self.passed_on.items():
                if key.startswith((named, older)):
                    found.setdefault(named + key.removeprefix(named).removeprefix(older), value)
        if self.table.drop_partition_columns:
            found["hoodie.datasource.write.drop.partition.columns"] = "true"
        return found

    def with_operation(self, operation: Operation | str) -> WriteConfig:
        """The same configuration for another operation."""
        return replace(self, rows=replace(self.rows, operation=Operation(operation)))

    @classmethod
    def of(cls, options: Mapping[str, Any], table: TableConfig | None = None) -> WriteConfig:
        """Typed configuration of options under Hudi's names.

        Args:
            options: names and values; values may be text, numbers or booleans.
            table: the table to be written; None for one that is still to be made.

        Raises:
            InvalidOptionError: an option is unknown, not supported, has a value that it does not take, or contradicts
                the table or another option.
        """
        given = _texts(options)
        rows = fill(RowSettings, given)
        noted = {key: value for key, value in given.items() if key.startswith(rows.commit_metadata_prefix)}
        sync, passed = _sort_out(given, noted)
        if table is not None:
            _check_merge(passed, table)
        made = TableSettings.of(given, table)
        if not made.record_keys and "hoodie.datasource.write.operation" not in given:
            rows = replace(rows, operation=Operation.BULK_INSERT)  # as Hudi; rows with keys of before are upserted
        elif rows.insert_drop_duplicates and rows.operation is Operation.UPSERT:
            rows = replace(rows, operation=Operation.INSERT)  # as Hudi: nothing would be left to update
        concurrency = fill(ConcurrencySettings, given)
        clean = _clean(given, concurrency)
        config = cls(
            rows=rows,
            table=made,
            files=fill(FileSettings, given),
            index=fill(IndexSettings, given),
            metadata=fill(MetadataSettings, given),
            compaction=fill(CompactionSettings, given),
            clean=clean,
            archive=_archive(given, clean),
            clustering=fill(ClusteringSettings, given),
            concurrency=concurrency,
            sync_options=sync,
            passed_on=passed,
            commit_metadata=noted,
            options=_under_all_names(given, clean, concurrency),
        )
        _check(config)
        return config


def _texts(options: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for key, value in options.items():
        if value is None:
            raise InvalidOptionError(f"option {key} has no value")
        found[str(key)] = str(value).lower() if isinstance(value, bool) else str(value).strip()
    return found


def _under_all_names(
    given: Mapping[str, str], clean: CleanSettings, concurrency: ConcurrencySettings
) -> dict[str, str]:
    """The options for those who read them by one name, whichever they were given by."""
    found = dict(given)
    for key, value in given.items():
        if key in _KNOWN:
            item = _KNOWN[key].metadata
            for name in (item["key"], *item["aliases"]):
                found.setdefault(name, value)
    if concurrency.is_multi_writer:
        found |= dict.fromkeys(_FAILED_WRITES, clean.failed_writes)
    return found


def _sort_out(given: Mapping[str, str], noted: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Options of the sync, and those that are handed on as they are; all others are checked to be known."""
    sync: dict[str, str] = {}
    passed: dict[str, str] = {}
    for key, value in given.items():
        if key in _KNOWN:
            continue
        if key.startswith(_SYNC):
            sync[key] = value
        elif key in ENGINE_ONLY:
            _checked(key, value, ENGINE_ONLY[key])
        elif key in REFUSED:
            harmless, remedy = REFUSED[key]
            if value.lower() not in harmless:
                raise InvalidOptionError(f"option {key}={value} is not supported", remedy=remedy)
        elif key in PASSED_ON:
            passed[key] = value
        elif key not in noted:
            raise InvalidOptionError(f"unknown option {key!r}", remedy=_nearest(key))
    return sync, passed


_SYNC: Final = (
    "hoodie.datasource.hive_sync.",
    "hoodie.datasource.meta.sync.",
    "hoodie.datasource.meta_sync.",
    "hoodie.meta.sync.",
    "hoodie.meta_sync.",
    "hivesyncglobal.",
    "hive.metastore.",
)


def _check_merge(passed: Mapping[str, str], table: TableConfig) -> None:
    """Readers merge by the table's properties: options that say something else would be followed by nobody."""
    for key, value in passed.items():
        name = MERGE_PROPERTIES.get(key)
        if name is None:
            continue
        there = (table.properties.get(name) or table.properties.get(name.removeprefix(_MERGE_START)) or "").strip()
        if value != there:
            raise InvalidOptionError(
                f"option {key}={value} contradicts the table, which has {there or 'none'}",
                remedy="leave the option out, or write another table",
            )


_MERGE_START: Final = "hoodie.record.merge.property."


def _checked(key: str, value: str, read: Read) -> None:
    read(key, value)


def _nearest(key: str) -> str:
    close = difflib.get_close_matches(key, [*_KNOWN, *ENGINE_ONLY, *PASSED_ON], n=1, cutoff=0.75)
    return f"did you mean {close[0]}?" if close else "see the documentation for the write options"


def _clean(given: Mapping[str, str], concurrency: ConcurrencySettings) -> CleanSettings:
    """Of several writers, none may roll back what it takes for a dead one's while that one is at work."""
    clean = fill(CleanSettings, given)
    if concurrency.is_multi_writer and not any(name in given for name in _FAILED_WRITES):
        return replace(clean, failed_writes="LAZY")
    return clean


def _archive(given: Mapping[str, str], clean: CleanSettings) -> ArchiveSettings:
    """Unless they are given, the bounds are lifted above the commits that the cleaner keeps."""
    archive = fill(ArchiveSettings, given)
    lift = clean.commits_retained + 10 - archive.min_commits
    if lift <= 0 or clean.policy != "KEEP_LATEST_COMMITS" or any(name in given for name in _KEEP):
        return archive
    return replace(archive, min_commits=archive.min_commits + lift, max_commits=archive.max_commits + lift)


_KEEP: Final = ("hoodie.keep.min.commits", "hoodie.keep.max.commits")


def _check(config: WriteConfig) -> None:
    """What options may not say together."""
    if not 0 < config.index.bloom_fpp < 1:
        raise InvalidOptionError(f"hoodie.index.bloom.fpp={config.index.bloom_fpp} must be above 0 and below 1")
    if config.archive.min_commits >= config.archive.max_commits:
        raise InvalidOptionError(
            f"hoodie.keep.max.commits={config.archive.max_commits} must be greater than "
            f"hoodie.keep.min.commits={config.archive.min_commits}"
        )
    if config.clean.policy == "KEEP_LATEST_COMMITS" and config.archive.min_commits <= config.clean.commits_retained:
        raise InvalidOptionError(
            f"hoodie.keep.min.commits={config.archive.min_commits} must be greater than "
            f"hoodie.cleaner.commits.retained={config.clean.commits_retained}",
            remedy="raise hoodie.keep.min.commits, or incremental queries would miss instants whose files are there",
        )
    if config.concurrency.is_multi_writer and config.clean.failed_writes == "EAGER":
        raise InvalidOptionError(
            f"{_FAILED_WRITES[0]}=EAGER would roll back writers that are at work under "
            f"hoodie.write.concurrency.mode={config.concurrency.mode}",
            remedy="set it to LAZY",
        )
    if config.concurrency.is_multi_writer and not config.concurrency.lock_provider:
        raise InvalidOptionError(
            f"hoodie.write.concurrency.mode={config.concurrency.mode} needs hoodie.write.lock.provider",
            remedy="name FileSystemBasedLockProvider, HiveMetastoreBasedLockProvider or, when all writers are threads "
            "of one process, InProcessLockProvider",
        )
    if not config.table.record_keys:
        _check_without_key(config)


_FAILED_WRITES: Final = ("hoodie.cleaner.policy.failed.writes", "hoodie.clean.failed.writes.policy")


def _check_without_key(config: WriteConfig) -> None:
    """A table without key fields makes keys up, which are in the meta columns alone."""
    if not config.table.populate_meta_fields:
        raise InvalidOptionError(
            "a table without record key fields needs its meta columns: its keys are nowhere else",
            remedy="give hoodie.datasource.write.recordkey.field, or leave hoodie.populate.meta.fields on",
        )
    if config.operation.is_insert and config.duplicate_policy is not DuplicatePolicy.NONE:
        raise InvalidOptionError("a table without record key fields has no duplicates to drop or to fail at")
