"""Rescaling of buckets: writes the partitions whose number of buckets changes anew, and keeps the rules with the table.

It is a replacecommit, whose rules count from its completion on. Rows keep their commit times, for none is changed.
Of a partition as many rows are in memory as ``hoodie.memory.compaction.max.size`` has room for, in its half.

Source: RFC-89, Hudi's ``PartitionBucketIndexManager``, docs/format.md#bucket-index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import InvalidOptionError, WriteConflictError
from hudi_hive.options.buckets import BUCKET_COUNT, BUCKET_ENGINE, BUCKET_RULES
from hudi_hive.options.write import INDEX_TYPE
from hudi_hive.plan import ScanPlan
from hudi_hive.read.merge import record_keys
from hudi_hive.table import MetaClient
from hudi_hive.table.keys import BucketRules, every_bucket_rules, rescaling_instants, save_bucket_rules
from hudi_hive.timeline import Instant
from hudi_hive.timeline.instants import REPLACE_COMMIT
from hudi_hive.timeline.payloads import RollbackMetadata
from hudi_hive.write.commit import WriteTransaction
from hudi_hive.write.coordination import COMMIT, TableLock
from hudi_hive.write.files import Attempt, WriteContext, joined
from hudi_hive.write.index import BucketIndex, IndexOptions, bucket_numbers, uncounted_rescalings
from hudi_hive.write.options import IndexType, Operation, WriteConfig
from hudi_hive.write.records import KeyedRecords
from hudi_hive.write.rollback import rollback
from hudi_hive.write.service_base import ServiceContext, refuse_pending_restore, refuse_pending_undo
from hudi_hive.write.services.compaction import busy_groups
from hudi_hive.write.services.rescaling.bucket_rows import BucketRows
from hudi_hive.write.services.rewrite import NewBase, plan_of, service_write_context, slice_rows, write_group

_REMEDY: Final = "give the rules as EXPRESSION,BUCKETS;EXPRESSION,BUCKETS …"


@dataclass(frozen=True)
class Rescaling:
    """A rescaling that may be done, or was.

    Attributes:
        rules: the table's rules behind it.
        partitions: partition path -> its new number of buckets, of those whose number changes.
        instant: the completed replacecommit; None of one that was only planned.
    """

    rules: BucketRules
    partitions: Mapping[str, int]
    instant: Instant | None = None


def rescaling_rules(client: MetaClient) -> list[tuple[str, BucketRules]]:
    """All rules that rescalings gave a table, with their instants, the oldest first.

    Rules of rescalings that are pending, or have begun since the client read the timeline, are left out.

    Raises:
        CorruptFileError: a file of them cannot be decoded.
    """
    return every_bucket_rules(client.storage, *uncounted_rescalings(client))


def added_rules(client: MetaClient, expressions: str) -> tuple[str, int]:
    """The table's newest rules with others before them, and the number of buckets of all other partitions.

    Args:
        client: the table.
        expressions: the rules to add.

    Raises:
        InvalidOptionError: the table has no rules.
        CorruptFileError: they cannot be decoded.
    """
    stored = rescaling_rules(client)
    if not stored:
        raise InvalidOptionError(
            "there are no rules to which others could be added",
            path=client.base_path,
            remedy="overwrite them, with the number of buckets that the partitions have now",
        )
    rules = stored[-1][1]
    return f"{expressions.rstrip(';')};{rules.expressions}", rules.default


def plan_rescaling(context: ServiceContext, expressions: str, buckets: int | None = None) -> Rescaling:
    """What a rescaling would do; nothing is changed.

    Args:
        context: the table.
        expressions: rules, ``EXPRESSION,BUCKETS`` with semicolons between.
        buckets: buckets of partitions that no rule is about; of a table without rules also how many its partitions
            have now. Those of the newest rules without it.

    Raises:
        InvalidOptionError: rules that are not understood, no number of buckets, or options of another index.
        UnsupportedTableError: file groups, or keys in them, that are of none of the buckets of now.
        CorruptFileError: the table's rules cannot be decoded.
    """
    context = context.reload()
    change = _Change.of(context, expressions, buckets)
    change.look(context.client)
    return change.planned()


def rescale_partitions(context: ServiceContext, expressions: str, buckets: int | None = None) -> Rescaling:
    """Give partitions other numbers of buckets, in one replacecommit; arguments and further errors as above.

    The rules are kept even if no partition changes: they count for those to come.

    Args:
        context: the table; its lock must not be held.
        expressions, buckets: as of :func:`plan_rescaling`.

    Raises:
        WriteConflictError: another writer wrote to such a partition and completed first, or a table service is at it;
            the table is as it was.
        LockTimeoutError: the table is locked by another writer.
        HudiHiveError: rows cannot be read or written; the table is as it was.
    """
    context = context.reload()
    change = _Change.of(context, expressions, buckets)
    lock = context.lock()
    transaction = WriteTransaction(
        context.client,
        change.config,
        action=REPLACE_COMMIT,
        operation=Operation.INSERT_OVERWRITE.commit_name,
        executor=context.executor,
        lock=lock if isinstance(lock, TableLock) else None,
        clock=context.clock,
        precondition=partial(change.begin, context),
    )
    transaction.annotate = change.refuse_others
    with transaction:
        client = transaction.client
        save_bucket_rules(client.storage, transaction.instant, change.rules)
        own = replace(context, client=client)
        write_context, _ = service_write_context(own, transaction.instant)
        tasks, replaced = _tasks(own, change, write_context)
        statuses = joined(context.executor.map(_rescale_partition, tasks))
        schema = KeyedRecords.of_table(client).schema_text
        with transaction.standing():
            transaction.commit(statuses, schema=schema, replaced=replaced, overwrites=frozenset(change.partitions))
    context.failed.update({f"{COMMIT} of the rescaling: {step}": why for step, why in transaction.failed.items()})
    return replace(change.planned(), instant=transaction.completed)


def roll_back_rescaling(context: ServiceContext, instant: str) -> RollbackMetadata:
    """Undo a rescaling, which must be the last write: partitions have the buckets of before again.

    Args:
        context: the table; its lock must not be held.
        instant: requested time of the rescaling.

    Raises:
        InvalidOptionError: no rescaling is of this time.
        WriteError: it cannot be undone; nothing was changed.
        LockTimeoutError: the table is locked by another writer.
    """
    if instant not in rescaling_instants(context.client.storage):
        raise InvalidOptionError(
            f"{instant} has given the table no rules of buckets",
            path=context.client.base_path,
            remedy="show_config lists the instants that have",
        )
    return rollback(context.reload(), instant)


# -- what changes ------------------------------------------------------------------------------------------------------


@dataclass
class _Change:
    """The rules of before and behind a rescaling, and the partitions that they tell apart.

    Attributes:
        config: of the write.
        before: the rules of now: those of the options for a table without its own.
        rules: those of behind.
        rescalings: instants whose rules the table has.
        index: that of now.
        partitions: partition path -> its new number of buckets.
    """

    config: WriteConfig
    before: BucketRules
    rules: BucketRules
    rescalings: frozenset[str]
    index: BucketIndex
    partitions: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, context: ServiceContext, expressions: str, buckets: int | None) -> _Change:
        client = context.client
        stored = rescaling_rules(client)
        before = stored[-1][1] if stored else None
        default = buckets if buckets is not None else None if before is None else before.default
        if default is None:
            raise InvalidOptionError(
                "the table has no rules of buckets, and nothing tells how many its partitions have",
                path=client.base_path,
                remedy="give the number of buckets of now (bucket_number)",
            )
        rules = _parsed(client, expressions, default)
        config = _config(context, before, default)
        options = IndexOptions.of(config.index, client.config)
        if before is None:
            of_options = BUCKET_RULES.of(context.options) if BUCKET_RULES.name in context.options else None
            before = _parsed(client, of_options, default) if of_options else BucketRules((), default)
            options = replace(options, rules=before)
        options = replace(options, buckets=before.default)
        index = BucketIndex(client, options)
        return cls(config, before, rules, frozenset(instant for instant, _ in stored), index)

    def planned(self) -> Rescaling:
        return Rescaling(self.rules, dict(self.partitions))

    def look(self, client: MetaClient) -> None:
        """Find the partitions that change, by the table as it is."""
        self.partitions = self._different(client)
        self.index = BucketIndex(client, self.index.options)
        # Refuses partitions of other buckets: without rules the number that is given counts for those that stay, too.
        self.index.learn(list(self.partitions) if self.rescalings else client.partition_paths())

    def begin(self, context: ServiceContext, client: MetaClient) -> None:
        """Under the lock, before the rescaling is announced: the same, and that nothing is in its way."""
        refuse_pending_restore(client)
        refuse_pending_undo(replace(context, client=client))
        self._refuse_other_rules(client)
        self.look(client)
        busy = next((place for place in sorted(busy_groups(client)) if place[0] in self.partitions), None)
        if busy is not None:
            raise WriteConflictError(
                f"a table service is at file group {busy[1]} of partition {busy[0]!r}, which is to be rescaled",
                path=client.base_path,
                remedy="run what is planned, then rescale",
            )

    def refuse_others(self, now: MetaClient) -> Mapping[str, str]:
        """Under the lock, before it completes: nobody has made partitions, or given rules, that it does not know."""
        self._refuse_other_rules(now)
        new = sorted(set(self._different(now)) - set(self.partitions))
        if new:
            raise WriteConflictError(
                f"another writer made partition {new[0]!r} by the rules of before",
                path=now.base_path,
                remedy="rescale again: the table is as it was",
            )
        return {}

    def _refuse_other_rules(self, client: MetaClient) -> None:
        if {instant for instant, _ in rescaling_rules(client)} != self.rescalings:
            raise WriteConflictError(
                "another rescaling completed first",
                path=client.base_path,
                remedy="look at its rules, and rescale again",
            )

    def _different(self, client: MetaClient) -> dict[str, int]:
        counts = {path: self.rules.buckets(path) for path in client.partition_paths()}
        return {path: count for path, count in sorted(counts.items()) if count != self.before.buckets(path)}


def _parsed(client: MetaClient, expressions: str, default: int) -> BucketRules:
    try:
        return BucketRules.parse(expressions, default)
    except ValueError as error:
        raise InvalidOptionError(f"rules of buckets: {error}", path=client.base_path, remedy=_REMEDY) from error


def _config(context: ServiceContext, stored: BucketRules | None, default: int) -> WriteConfig:
    """The configuration of the write: that of a bucket index, which tables do not tell."""
    options = {name: value for name, value in context.options.items() if name != BUCKET_RULES.name}
    told = BUCKET_COUNT.of(options) if BUCKET_COUNT.name in options else None
    if stored is None and told not in (None, default):
        raise InvalidOptionError(
            f"{BUCKET_COUNT}={told} is not the number of buckets that is given, {default}",
            path=context.client.base_path,
            remedy="give the number that the partitions have now",
        )
    config = WriteConfig.of(
        {INDEX_TYPE.name: IndexType.BUCKET.value, **options, BUCKET_COUNT.name: str(default)}, context.client.config
    )
    if not config.index.numbers_buckets:
        raise InvalidOptionError(
            f"{INDEX_TYPE}={config.index.kind.value} has no buckets of a fixed number",
            path=context.client.base_path,
            remedy=f"rescale tables of {INDEX_TYPE}=BUCKET and {BUCKET_ENGINE}=SIMPLE",
        )
    return config.with_operation(Operation.INSERT_OVERWRITE)


# -- writing -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """One partition: how it is read, and its new buckets."""

    write_context: WriteContext
    plan: ScanPlan
    index: BucketIndex
    partition: str
    buckets: int
    number: int


def _tasks(
    context: ServiceContext, change: _Change, write_context: WriteContext
) -> tuple[list[_Task], dict[str, list[str]]]:
    client = context.client
    slices = client.file_system_view(list(change.partitions)).latest_merged_file_slices()
    tasks: list[_Task] = []
    replaced: dict[str, list[str]] = {}
    for number, (path, count) in enumerate(change.partitions.items()):
        own = slices.filter(pc.equal(slices["partition"], path))
        if not own.num_rows:
            continue
        replaced[path] = own["file_id"].to_pylist()
        tasks.append(_Task(write_context, plan_of(context, write_context, own), change.index, path, count, number))
    return tasks, replaced


def _rescale_partition(task: _Task) -> pa.Table:
    """Write the rows of a partition to its new buckets, one after the other."""
    context, in_memory, hashed = task.write_context, task.plan.query.options, task.index.options
    on_spill, statuses = partial(context.storage.counters.add, "bytes_spilled"), []
    # The other half is for merging a slice that is read meanwhile.
    with BucketRows(in_memory.merge_memory // 2, in_memory.spill_folder, on_spill) as rows:
        for batch in slice_rows(context, task.plan):
            keys = record_keys(batch, context.spec)
            rows.add(batch, bucket_numbers(keys, hashed.hash_fields, task.buckets, version=context.config.version))
        for at, bucket in enumerate(rows.buckets()):
            file_id = task.index.new_file_id(task.partition, bucket)
            base = NewBase(task.partition, file_id, Attempt(task=task.number, attempt=at))
            statuses.append(write_group(context, base, rows.of(bucket)))
    return joined(statuses)
