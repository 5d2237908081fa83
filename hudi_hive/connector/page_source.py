"""Reads splits as Arrow batches, with log files merged, and columns and filters pushed down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.connector.handle import TableHandle
from hudi_hive.connector.hive_types import key_value
from hudi_hive.connector.split_manager import SplitSource
from hudi_hive.errors import InvalidOptionError, MetastoreError
from hudi_hive.formats.base import BATCH_ROWS, select
from hudi_hive.plan import Query, ScanPlan
from hudi_hive.plan.core import Filter
from hudi_hive.plan.model import with_commit_versions
from hudi_hive.plan.splits import HudiSplit, split_changes, split_files, split_slices
from hudi_hive.predicate import RowFilter, conjunction, parse_filter
from hudi_hive.read.scan import output_schema, read_plan
from hudi_hive.schema import EvolvedSchema


class PageSources:
    """Reads splits of one query for one projection and filter; safe to use from several threads, can be pickled.

    Args:
        handle: the query that the splits are of, of the same moment.
        columns: columns to give, in this order, in any case; None for all, none for batches that only count rows.
        row_filter: rows to give beyond what the handle asks for.
        batch_size: greatest number of rows of a batch.

    Attributes:
        schema: schema of the batches.

    Raises:
        UnknownColumnError: a column that the table does not have.
        PredicateError: a filter that does not fit the columns.
        InvalidOptionError: a column is asked for twice, or batches of no row.
    """

    def __init__(
        self,
        handle: TableHandle,
        columns: Sequence[str] | None = None,
        row_filter: Filter = None,
        *,
        batch_size: int = BATCH_ROWS,
    ) -> None:
        if batch_size < 1:
            raise InvalidOptionError(f"batch_size must be at least 1, not {batch_size}")
        self._handle = handle
        self.schema = output_schema(handle.schema, columns)
        self._filter = handle.filter_of(row_filter)
        self._batch_size = batch_size
        self._selection = self._select(handle.template_for(self._filter), self._filter)
        self._last: tuple[RowFilter, _Selection] | None = None
        self._evolved: EvolvedSchema | None = None

    def read(self, split: HudiSplit) -> Iterator[pa.RecordBatch]:
        """Read the rows of a split that pass filter and predicate; no batch is empty.

        Raises:
            InvalidOptionError: the split is of another table, or of another query of it.
            FileVanishedError: a file was cleaned since it was planned.
            CorruptFileError: a file cannot be decoded.
            SchemaError: a file's column cannot become the table's type.
        """
        if split.base_path != self._handle.base_path:
            raise InvalidOptionError(f"the split is of another table than {self._handle.full_name}", path=split.path)
        if _question(split.query) != _question(self._handle.query):
            raise InvalidOptionError(
                f"the split answers another query of {self._handle.full_name}: {_question(split.query)}",
                path=split.path,
                remedy="read it with the handle that it was made of",
            )
        selection = self._with_predicate(split.predicate)
        template = _template_of(selection.template, split)
        batches = self._rows(selection, template, [split], merged=bool(split.log_files))
        if not selection.has_keys:
            return batches
        return self._with_keys(selection, batches, self._key_values(split.partition_keys))

    def read_table(self, splits: pa.Table, source: SplitSource) -> Iterator[pa.RecordBatch]:
        """Read the rows of a batch of splits, small files together.

        It is sooner done than one split after the other. Rows that the source's dynamic filter rules out by now are
        left out. The order of the rows is not defined.

        Args:
            splits: a table of ``SPLIT_SCHEMA``.
            source: where the splits are from.

        Raises:
            As :meth:`read`.
        """
        selection = self._with_predicate(source.predicate)
        if selection.has_keys:
            for split in source.to_splits(splits):
                yield from self.read(split)
            return
        template = selection.template
        if self._handle.query.query_type.has_range:  # as those splits were planned, which may have been later
            of_source = source.template()
            template = replace(template, commit_times=of_source.commit_times, merge=of_source.merge)
        with_logs = pc.greater(pc.list_value_length(splits.column("log_files")), 0)
        merged = splits.filter(with_logs)
        yield from self._rows(selection, template, splits.filter(pc.invert(with_logs)), merged=False)
        yield from self._rows(selection, template, merged, merged=True)

    def _select(self, template: ScanPlan, row_filter: RowFilter | None) -> _Selection:
        """How to read with a filter."""
        keys = set(self._handle.extra_keys.names)
        behind = _behind(row_filter, keys)
        needed = [name for name in self.schema.names if name not in keys]
        if behind is not None:
            needed += [name for name in behind.columns if name not in keys]
        has_keys = behind is not None or not keys.isdisjoint(self.schema.names)
        template = replace(template, row_filter=self._handle.own_filter(row_filter))
        return _Selection(template, behind, tuple(dict.fromkeys(needed)), has_keys)

    def _with_predicate(self, predicate: RowFilter | None) -> _Selection:
        """How to read with a split's predicate, too."""
        if predicate is None:
            return self._selection
        last = self._last
        if last is None or last[0] is not predicate:
            roots = [] if self._filter is None else [part.root for part in self._filter.conjuncts]
            more = [part.root for part in predicate.conjuncts if part.root not in roots]
            total = parse_filter(RowFilter(conjunction([*roots, *more]), predicate.schema), self._handle.schema)
            selection = self._select(self._selection.template, total) if more else self._selection
            last = self._last = predicate, selection
        return last[1]

    def _rows(
        self, selection: _Selection, template: ScanPlan, splits: pa.Table | Sequence[HudiSplit], *, merged: bool
    ) -> Iterator[pa.RecordBatch]:
        """Rows of splits all of which have log files, or none of which has."""
        if not len(splits):
            return iter(())
        plan: ScanPlan = replace(template, slices=split_slices(splits))
        if plan.changes is not None:
            plan = replace(plan, changes=_changes_of(splits, plan))
        if plan.evolved_schema is not None:
            plan = replace(plan, evolved_schema=self._versions(plan.evolved_schema, plan.slices, plan.changes))
        # Files are read by row groups, of which a split may have a part; slices with log files are never cut.
        files = None if merged or plan.changes is not None else split_files(splits)
        return read_plan(
            self._handle.client.storage, plan, selection.needed, files=files, batch_size=self._batch_size, threads=1
        )

    def _versions(self, evolved: EvolvedSchema, slices: pa.Table, changes: pa.Table | None) -> EvolvedSchema:
        """The versions that the files of splits were written with; what is known of earlier splits is kept."""
        versions = self._evolved if self._evolved is not None else evolved
        self._evolved = versions = with_commit_versions(self._handle.client, versions, slices, changes)
        return versions

    def _key_values(self, texts: Mapping[str, str | None]) -> dict[str, pa.Scalar]:
        values = {}
        for key in self._handle.extra_keys:
            if key.name not in texts:
                raise MetastoreError(
                    f"the split does not tell the value of partition key {key.name}", path=self._handle.base_path
                )
            values[key.name] = key_value(texts[key.name], key.type, key.name)
        return values

    def _with_keys(
        self, selection: _Selection, batches: Iterator[pa.RecordBatch], values: Mapping[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            arrays = [*batch.columns, *(pa.repeat(value, batch.num_rows) for value in values.values())]
            fields = [*batch.schema, *self._handle.extra_keys]
            batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, batch.schema.metadata))
            if selection.behind is not None:
                batch = batch.filter(selection.behind.evaluate(batch))
            if batch.num_rows:
                batch = select(batch, self.schema.names)
                yield batch.cast(self.schema) if self.schema.names else batch


@dataclass(frozen=True, slots=True)
class _Selection:
    """How to read with one filter.

    Attributes:
        template: the plan without slices.
        behind: the part of the filter that is evaluated over rows with the metastore's keys.
        needed: columns to read.
        has_keys: the metastore's keys are selected, in rows or by the filter.
    """

    template: ScanPlan
    behind: RowFilter | None
    needed: tuple[str, ...]
    has_keys: bool


def _question(query: Query) -> tuple[object, ...]:
    """What makes two queries those of the same rows, but for options of how they are read."""
    return str(query.query_type), query.as_of, query.begin, query.end


def _template_of(template: ScanPlan, split: HudiSplit) -> ScanPlan:
    """How one split is read: the range of commits and of log blocks is what it was planned with."""
    if split.commit_times is not None:
        template = replace(template, commit_times=pa.array(split.commit_times, pa.string()))
    if template.merge is None and split.log_files:
        raise InvalidOptionError("the split has log files, and the handle knows of none", path=split.path)
    if split.merge_instant is None or template.merge is None:
        return template
    merge = replace(template.merge, max_instant=split.merge_instant, range_first=split.range_first)
    return replace(template, merge=merge)


def _changes_of(splits: pa.Table | Sequence[HudiSplit], plan: ScanPlan) -> pa.Table:
    changes = split_changes(splits)
    if changes is None:
        raise InvalidOptionError("splits of change data do not tell their changes", path=plan.base_path)
    return changes


def _behind(row_filter: RowFilter | None, keys: set[str]) -> RowFilter | None:
    """The part of a filter that reads partition keys which no file has."""
    if row_filter is None or not keys:
        return None
    parts = [part for part in row_filter.conjuncts if not keys.isdisjoint(part.columns)]
    if not parts:
        return None
    return RowFilter(conjunction([part.root for part in parts]), row_filter.schema)
