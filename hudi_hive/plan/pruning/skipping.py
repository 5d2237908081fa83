"""The steps of data skipping, one index after the other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import HudiHiveError, MetadataTableError
from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    PARTITION_STATS,
    RECORD_INDEX,
    has_column_indexes,
    index_definitions,
    is_partitioned_index,
)
from hudi_hive.plan.model import PlanStep
from hudi_hive.plan.pruning.expressions import (
    ExpressionLookup,
    by_expression_filters,
    by_expression_stats,
    expression_lookups,
)
from hudi_hive.plan.pruning.keys import by_bloom_filters, by_record_index, required_record_keys
from hudi_hive.plan.pruning.secondary import SecondaryLookup, by_secondary_index, secondary_lookups
from hudi_hive.plan.pruning.statistics import by_column_stats, by_partition_stats, is_nested, prunable_columns
from hudi_hive.plan.pruning.versions import MovedColumns, has_one_meaning, may_match_by_version, stays
from hudi_hive.predicate import RowFilter
from hudi_hive.schema import EvolvedSchema
from hudi_hive.storage import run_together
from hudi_hive.table import MetaClient
from hudi_hive.table.bootstrap import of_skeletons

_OPERATIONS = (("inserted", "i"), ("deleted", "d"))
"""Cases of change data whose rows all have one operation."""

_Test = Callable[[pa.Table], npt.NDArray[np.bool_]]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SkipContext:
    """Which indexes a query may use, and what they are compared with.

    Args:
        path_columns: columns whose values come from the partition path: statistics of files say nothing of them.
        renamed: columns may have had other names in older files, so that statistics by name are not theirs.
        evolved: tells what the files of the slices call the columns, if they were renamed.
        newest: the slices are the newest of the table with all their log files, of which the record index and the
            partition statistics tell.
        in_part: the slices are what a range of commits wrote: one with log files may be read with older files of its
            group, so that nothing is known of it.
        record_index: the caller relies on each record key being in the table once; without that the record index,
            which knows one place for each key, is not asked.
        record_level_index: the caller relies on each record key being in each partition once, which is enough for a
            record index of each partition.
        secondary_index: secondary indexes are asked.
        expression_index: expression indexes are asked.
        has_skeletons: the table was bootstrapped: base files may be skeletons.
        makes_values: a registered merger makes rows of log files: their values may be in none of the files. Their keys
            are.
    """

    path_columns: tuple[str, ...] = ()
    renamed: bool = False
    newest: bool = False
    in_part: bool = False
    record_index: bool = False
    evolved: EvolvedSchema | None = None
    secondary_index: bool = True
    expression_index: bool = True
    record_level_index: bool = False
    has_skeletons: bool = False
    makes_values: bool = False

    @property
    def by_name(self) -> bool:
        """Whether all files have the column names of the table."""
        return self.evolved is None and not self.renamed


class _Prunable(NamedTuple):
    """What of a filter the metadata table can judge."""

    columns: list[str]
    """Columns under the names that all files have."""
    moved: dict[str, pa.DataType]
    """Columns that changed their name or type."""
    keys: tuple[str, ...] | None
    """Record keys of the rows that can pass; None if the filter does not limit them."""
    secondary: Sequence[SecondaryLookup] = ()
    """Secondary indexes of columns that the filter limits to some values."""
    expressions: Sequence[ExpressionLookup] = ()
    """Expression indexes of functions that the filter calls."""

    @property
    def is_empty(self) -> bool:
        """Whether no index can leave a file out."""
        return not (self.columns or self.moved or self.keys is not None or self.secondary or self.expressions)


def _prunable(client: MetaClient, row_filter: RowFilter, context: SkipContext) -> _Prunable:
    evolved = context.evolved
    if not context.by_name and evolved is None:
        return _Prunable([], {}, None)
    if context.makes_values:
        of_fields = evolved is None or _keys_stay(client, evolved)
        return _Prunable([], {}, required_record_keys(client, row_filter, by_fields=of_fields))
    columns = prunable_columns(client, row_filter, context.path_columns, by_name=evolved is None)
    moved = {} if evolved is None else {name: kind for name, kind in columns.items() if not stays(evolved, name)}
    keys = required_record_keys(client, row_filter, by_fields=evolved is None or _keys_stay(client, evolved))
    named = [name for name in columns if name not in moved]
    return _Prunable(named, moved, keys, *_column_indexes(client, row_filter, context))


def _column_indexes(
    client: MetaClient, row_filter: RowFilter, context: SkipContext
) -> tuple[list[SecondaryLookup], list[ExpressionLookup]]:
    """The secondary and expression indexes that can judge a filter."""
    if not has_column_indexes(client):
        return [], []
    try:
        definitions = index_definitions(client)
    except HudiHiveError as error:
        _log.warning("secondary and expression indexes prune nothing: %s", error)
        return [], []
    schema, evolved = client.schema(), context.evolved
    # The filter may be bound to an older schema than the one that the index goes by.
    same = [
        field.name
        for field in row_filter.schema
        if field.name in schema.names
        and schema.field(field.name).type == field.type
        and field.name not in context.path_columns
        and (evolved is None or stays(evolved, field.name))
    ]
    asks = context.newest and context.secondary_index
    secondary = secondary_lookups(client, definitions, row_filter, same) if asks else []
    expressions = expression_lookups(client, definitions, row_filter, same) if context.expression_index else []
    return secondary, expressions


def list_statistics(client: MetaClient) -> None:
    """List the statistics in the metadata table, before a filter is known to be one that they judge.

    Nothing where there are none, or where they cannot be had: :func:`prune` says so.
    """
    with suppress(HudiHiveError):
        metadata = MetadataTable.open(client)
        indexes = filter(metadata.has, (PARTITION_STATS, COLUMN_STATS))
        run_together(client.storage, [partial(metadata.prefixed_groups, index) for index in indexes])


def _read_together(client: MetaClient, metadata: MetadataTable, indexes: Sequence[str]) -> None:
    """Ask a remote store for several indexes at the same time; those that cannot be read say so when they are used."""
    if client.storage.is_local:
        return
    with suppress(HudiHiveError):
        prefixed = [metadata.prefixed_groups(index) for index in indexes if metadata.has(index)]
        groups = [group for one in prefixed for many in one.values() for group in many]
        run_together(client.storage, [read for group in groups for read in (group.fetch_base, group.fetch_logs)])


def _in_partitions(
    client: MetaClient, named: Sequence[str], moved: Mapping[str, pa.DataType], context: SkipContext
) -> dict[str, pa.DataType]:
    """Columns whose partition statistics are theirs alone; none for older slices, which may lie outside of those."""
    if not context.newest:
        return {}
    schema, evolved = client.schema() if named else pa.schema([]), context.evolved
    wide = {name: schema.field(name).type for name in named if not is_nested(name)}
    if evolved is not None:
        wide |= {name: kind for name, kind in moved.items() if has_one_meaning(evolved, name)}
    return wide


def prune(
    client: MetaClient, slices: pa.Table, row_filter: RowFilter | None, context: SkipContext
) -> tuple[pa.Table, list[PlanStep]]:
    """The slices that can hold a row passing a filter, in their order, and a step for each index that was used.

    Sound for rows as they stand in base and log files, merged or not: a merged row's values all come from files of its
    slice, unless the context says ``makes_values``. An index that is missing is passed over; one that cannot be read is
    reported in the log and prunes nothing.

    Args:
        client: the table.
        slices: a table of ``PLAN_SCHEMA``.
        row_filter: the filter, bound to the schema that the query shows; None keeps all.
        context: what the query says.
    """
    steps: list[PlanStep] = []
    if row_filter is None or not slices.num_rows:
        return slices, steps
    evolved = context.evolved
    if evolved is not None and not context.makes_values:
        slices, steps = _by_versions(client, evolved, slices, row_filter, context)
    prunable = _prunable(client, row_filter, context)
    if not slices.num_rows or prunable.is_empty:
        return slices, steps
    try:
        metadata = MetadataTable.open(client)
    except MetadataTableError as error:
        _log.debug("no data skipping: %s", error)
        return slices, steps

    tests = _tests(client, metadata, row_filter, context, prunable)
    _read_together(client, metadata, [index for _, index, _ in tests if index in (PARTITION_STATS, COLUMN_STATS)])
    for name, index, keep in tests:
        if not metadata.has(index) or not slices.num_rows:
            continue
        try:
            remaining = slices.filter(pa.array(_verdict(keep, slices, context), pa.bool_()))
        except HudiHiveError as error:
            _log.warning("the %s prune nothing: %s", name, error)
            continue
        steps.append(PlanStep(f"{name} that the filter leaves", "files", _files(slices), _files(remaining)))
        slices = remaining
    return slices, steps


def _tests(
    client: MetaClient, metadata: MetadataTable, row_filter: RowFilter, context: SkipContext, prunable: _Prunable
) -> list[tuple[str, str, _Test]]:
    """What the indexes are called in plans, their partitions of the metadata table, and what they tell of slices."""
    named, moved, keys = prunable.columns, prunable.moved, prunable.keys
    wide = _in_partitions(client, named, moved, context)
    tests: list[tuple[str, str, _Test]] = []
    if wide and not metadata.is_ahead:
        of_partitions: _Test = partial(by_partition_stats, metadata, row_filter=row_filter, columns=wide)
        tests.append(("partition statistics", PARTITION_STATS, of_partitions))
    if named or moved:
        others = None if context.evolved is None else MovedColumns(context.evolved, moved)
        of_files: _Test = partial(by_column_stats, client, metadata, row_filter=row_filter, columns=named, moved=others)
        tests.append(("column statistics", COLUMN_STATS, of_files))
    tests += [
        (f"expression index {one.name}", one.name, _expression_test(metadata, row_filter, one))
        for one in prunable.expressions
    ]
    for other in prunable.secondary:
        of_values: _Test = partial(by_secondary_index, client, metadata, lookup=other)
        tests.append((f"secondary index {other.name}", other.name, of_values))
    if keys is not None:
        tests.append(("bloom filters", BLOOM_FILTERS, partial(by_bloom_filters, metadata, keys=keys)))
        if context.newest and _trusts_keys(client, context):
            tests.append(("record index", RECORD_INDEX, partial(by_record_index, metadata, keys=keys)))
    return tests


def _trusts_keys(client: MetaClient, context: SkipContext) -> bool:
    """Whether the record index, of the kind that the table has, may leave files out."""
    if context.record_index or not context.record_level_index:
        return context.record_index
    try:
        return is_partitioned_index(client)
    except HudiHiveError as error:
        _log.warning("the record index prunes nothing: %s", error)
        return False


def _expression_test(metadata: MetadataTable, row_filter: RowFilter, lookup: ExpressionLookup) -> _Test:
    if lookup.values:
        return partial(by_expression_filters, metadata, lookup=lookup)
    return partial(by_expression_stats, metadata, row_filter=row_filter, lookup=lookup)


def _by_versions(
    client: MetaClient, evolved: EvolvedSchema, slices: pa.Table, row_filter: RowFilter, context: SkipContext
) -> tuple[pa.Table, list[PlanStep]]:
    """Slices left by what the versions of their files say, and the step if it left any out."""
    keep = may_match_by_version(client, evolved, slices, row_filter, context.path_columns)
    if keep.all():
        return slices, []
    kept = slices.filter(pa.array(keep))
    return kept, [PlanStep("versions of the schema that the filter leaves", "files", _files(slices), _files(kept))]


def _keys_stay(client: MetaClient, evolved: EvolvedSchema) -> bool:
    return all(stays(evolved, name) for name in client.config.record_keys)


def _verdict(keep: _Test, slices: pa.Table, context: SkipContext) -> npt.NDArray[np.bool_]:
    """For each slice whether an index leaves it; those that it must not be asked about stay.

    Skeletons are such: what indexes say of them is of the skeleton alone, without the columns of its source file.
    """
    judged = np.ones(slices.num_rows, np.bool_)
    if context.in_part:
        judged &= pc.equal(pc.list_value_length(slices.column("log_files")), 0).to_numpy()
    if context.has_skeletons:
        judged &= ~of_skeletons(slices).to_numpy(zero_copy_only=False)
    if judged.all():
        return keep(slices)
    result = np.ones(slices.num_rows, np.bool_)
    if judged.any():
        result[judged] = keep(slices.filter(pa.array(judged)))
    return result


def prune_changes(slices: pa.Table, changes: pa.Table, row_filter: RowFilter | None) -> npt.NDArray[np.bool_]:
    """Whether a change of each slice of a change data query can pass, by its time and operation.

    Args:
        slices: a table of ``PLAN_SCHEMA``.
        changes: the rows of ``CHANGE_SCHEMA`` that go with them.
        row_filter: the filter, bound to the schema of changes; None keeps all.
    """
    keep: npt.NDArray[np.bool_] = np.ones(slices.num_rows, np.bool_)
    if row_filter is None or not slices.num_rows:
        return keep
    times = changes.column("instant")
    for case, operation in (*_OPERATIONS, (None, None)):
        of_case = np.ones(len(keep), np.bool_) if case is None else pc.equal(changes.column("case"), case).to_numpy()
        values = pa.table({"ts_ms": times})
        if operation is not None:
            values = values.append_column("op", pa.repeat(pa.scalar(operation), len(keep)))
        keep &= ~of_case | row_filter.partitions_that_may_match(values).to_numpy(zero_copy_only=False)
    return keep


def _files(slices: pa.Table) -> int:
    """Base and log files of slices."""
    logs = pc.sum(pc.list_value_length(slices.column("log_files"))).as_py() or 0
    return int(slices.num_rows - slices.column("base_file").null_count + logs)
