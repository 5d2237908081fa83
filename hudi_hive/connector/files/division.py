"""Divides a plan into files whose rows an engine's own Parquet reader returns, and slices that are read here.

A slice goes to the engine if it is a local Parquet file without log files in which each column of the table is as it
is, is missing, is told by the partition path, or is of a type that a plain cast widens as we do. Files with the same
columns are one set, with one projection. All else (log files, ORC and HFile, object stores, promotions with rules of
their own, timestamps with wrong labels) stays with our readers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.connector.files.footers import Footer, FooterCache
from hudi_hive.errors import HudiHiveError, SchemaError
from hudi_hive.names import COMMIT_TIME_COLUMN
from hudi_hive.plan import ScanPlan
from hudi_hive.plan.model import has_logs
from hudi_hive.read.columns import BY_NAME, ColumnMapping, Reconciler, same_kind
from hudi_hive.read.scan import ReplacedRows, mapping_at, partition_columns
from hudi_hive.storage import Storage

FOOTERS: Final = FooterCache()
"""Of this process."""

_MOST_SETS: Final = 64
"""Sets of files that an engine gets; files of further ones are read here."""

_MOST_COMMITS: Final = 4_096
"""Commit times of a range that an engine gets as a list."""


class Origin(Enum):
    """Where the values of a column of a file set come from."""

    SAME = "the file, as they are"
    WIDER = "the file, cast to a wider type"
    NOWHERE = "nowhere: they are null"
    PATH = "the partition path"


@dataclass(frozen=True, slots=True)
class SetColumn:
    """A column of the table in the files of a set.

    Attributes:
        name, type: of the table.
        origin: where its values come from.
        source: the column's name in the files, if it is in them.
        value: the value of all rows, if the partition path says it.
    """

    name: str
    type: pa.DataType
    origin: Origin
    source: str = ""
    value: pa.Scalar | None = None


@dataclass
class FileSet:
    """Files that have the same columns.

    Attributes:
        columns: those that are shown, in their order.
        layout: the files' Parquet schema as text.
        schema: their Arrow schema.
        paths: full paths of the files, in the order of the plan.
        rows: rows of all files.
        places: the places of the files' slices in the plan.
        replaced: for each file what its log files do to it; nothing for files without.
    """

    columns: tuple[SetColumn, ...]
    layout: str
    schema: pa.Schema
    paths: list[str] = field(default_factory=list)
    rows: int = 0
    places: list[int] = field(default_factory=list)
    replaced: list[ReplacedRows] = field(default_factory=list)

    @property
    def merged_rows(self) -> int:
        """Rows of all slices: of the files those that are not left out, and those of log files."""
        return self.rows + sum(one.rows.num_rows - len(one.left_out) for one in self.replaced)

    @cached_property
    def left_out(self) -> pa.Array:
        """For each file a bit for each row, the first in the highest place of a byte: 1 for rows that are left out."""
        blobs = []
        for one in self.replaced:
            flags = np.zeros(one.base_rows, np.bool_)
            flags[one.left_out] = True
            blobs.append(np.packbits(flags).tobytes())
        return pa.array(blobs, pa.binary())


@dataclass(frozen=True)
class DividedPlan:
    """A plan whose rows are those of ``sets`` and those of ``rest``.

    Attributes:
        sets: files for the engine.
        rest: the plan of the other slices, without a filter of its own.
        by_engine: the plan of the slices of ``sets``, for our reader to say which file is damaged.
        commit_times: rows of ``sets`` that count, by their commit time; None for all.
    """

    sets: tuple[FileSet, ...]
    rest: ScanPlan
    by_engine: ScanPlan
    commit_times: Sequence[str] | None

    @property
    def has_rest(self) -> bool:
        """Whether slices are left to be read here."""
        return self.rest.slices.num_rows > 0

    @property
    def rows(self) -> int | None:
        """Rows of the plan; None where they have to be read to be counted."""
        if self.has_rest or self.commit_times is not None:
            return None
        return sum(one.merged_rows for one in self.sets)


class EngineReader(Protocol):
    """What an engine's own Parquet reader can read."""

    def accepts_path(self, path: str) -> bool:
        """Whether the engine takes a full path for that of one file."""

    def accepts(self, files: FileSet) -> bool:
        """Whether the engine reads the columns of a set with the types of our Arrow columns."""


class SliceMerger(Protocol):
    """Says what log files do to base files."""

    def __call__(self, plan: ScanPlan, row: Mapping[str, Any], values: pa.Table | None) -> ReplacedRows | None:
        """What the log files of a slice do to its base file; None where the slice is to be read here."""


def divide(
    storage: Storage, plan: ScanPlan, shown: pa.Schema, reader: EngineReader, merger: SliceMerger | None = None
) -> DividedPlan:
    """Divide a plan that shows all rows of its slices.

    Args:
        storage: rooted at the table's base path.
        plan: its filter is no condition on rows, only what left out slices; without a limit.
        shown: the columns of the plan that are read.
        reader: of the engine.
        merger: for engines that leave rows of a file out by their numbers; without it slices with log files are rest.

    Raises:
        UnsafePathError: a file is a symbolic link out of the table.
    """
    plan = replace(plan, row_filter=None)
    nothing = DividedPlan((), plan, replace(plan, slices=plan.slices.slice(0, 0), merge=None), None)
    times = None if plan.commit_times is None else plan.commit_times.to_pylist()
    if (
        not storage.is_local
        or plan.changes is not None
        or plan.query.limit is not None
        or (times is not None and len(times) > _MOST_COMMITS)
    ):
        return nothing
    slices = plan.slices
    chosen = pc.is_valid(slices.column("path"))
    if merger is None or plan.merge is None:
        chosen = pc.and_(chosen, pc.equal(pc.list_value_length(slices.column("log_files")), 0))
    places = np.flatnonzero(chosen.to_numpy(zero_copy_only=False))
    if not len(places):
        return nothing
    try:
        sets = _Sets(storage, plan, slices.take(pa.array(places)), shown, reader, merger)
    except HudiHiveError:
        return nothing  # of a partition path, which reading reports
    for number, place in enumerate(places.tolist()):
        sets.add(number, place)
    accepted = tuple(one for one in sets.sets if reader.accepts(one))
    left = np.ones(slices.num_rows, np.bool_)
    for one in accepted:
        left[one.places] = False
    rest = replace(plan, slices=slices.filter(pa.array(left)))
    if not has_logs(rest.slices):
        rest = replace(rest, merge=None)
    return DividedPlan(accepted, rest, replace(plan, slices=slices.filter(pa.array(~left))), times)


@dataclass(frozen=True, slots=True)
class _Kind:
    """Files of one layout, written with one version of the schema.

    Attributes:
        footer, mapping: of the first of them; held so that nothing else gets their identity.
        columns: the table's columns in them, without the values of partition paths; None if there is no projection.
        from_path: columns whose values the partition path says.
    """

    footer: Footer
    mapping: ColumnMapping
    columns: tuple[SetColumn, ...] | None
    from_path: tuple[str, ...]


class _Sets:
    """Puts files into sets."""

    def __init__(
        self,
        storage: Storage,
        plan: ScanPlan,
        slices: pa.Table,
        shown: pa.Schema,
        reader: EngineReader,
        merger: SliceMerger | None,
    ) -> None:
        self._merger = merger
        self._slices = slices
        self._with_logs = pc.greater(pc.list_value_length(slices.column("log_files")), 0).to_pylist()
        self._reader = reader
        self._storage = storage
        self._plan = plan
        self._shown = shown
        files = replace(plan, slices=slices).files
        self._paths = files.column("path").to_pylist()
        self._sizes = files.column("size").to_pylist()
        self._instants = files.column("instant").to_pylist()
        self._values = partition_columns(plan, files)
        names = () if self._values is None else self._values.column_names
        self._texts = {name: self._values.column(name).to_pylist() for name in names} if self._values else {}
        self._mappings: dict[str, ColumnMapping] = {}
        self._kinds: dict[tuple[int, int, int], _Kind] = {}
        self._by_columns: dict[tuple[object, ...], FileSet] = {}

    @property
    def sets(self) -> list[FileSet]:
        """The sets so far."""
        return list(self._by_columns.values())

    def add(self, number: int, place: int) -> None:
        """Put a file into its set; leave it out if no engine can read it.

        Args:
            number: its place among the files.
            place: its slice's place in the plan.
        """
        path = self._paths[number]
        if not path.lower().endswith(".parquet") or not self._reader.accepts_path(self._storage.full_path(path)):
            return
        footer = FOOTERS.footer(self._storage, path, self._sizes[number])
        if footer is None:
            return
        kind = self._kind(footer, self._instants[number], path)
        if kind.columns is None:
            return
        replaced = None
        if self._with_logs[number]:
            replaced = self._replaced(number)
            if replaced is None or replaced.base_rows != footer.rows:
                return
        key = (id(kind), replaced is None, *(self._texts[name][number] for name in kind.from_path))
        one = self._by_columns.get(key)
        if one is None:
            if len(self._by_columns) >= _MOST_SETS:
                return
            columns = tuple(self._with_value(column, number) for column in kind.columns)
            one = self._by_columns[key] = FileSet(columns, footer.layout, footer.schema)
        one.paths.append(self._storage.full_path(path))
        one.places.append(place)
        one.rows += footer.rows
        if replaced is not None:
            one.replaced.append(replaced)

    def _replaced(self, number: int) -> ReplacedRows | None:
        if self._merger is None:
            return None
        values = None if self._values is None else self._values.slice(number, 1)
        return self._merger(self._plan, self._slices.slice(number, 1).to_pylist()[0], values)

    def _with_value(self, column: SetColumn, number: int) -> SetColumn:
        if column.origin is not Origin.PATH or self._values is None:
            return column
        return replace(column, value=self._values.column(column.name)[number].cast(column.type))

    def _kind(self, footer: Footer, instant: str, path: str) -> _Kind:
        mapping = self._mappings.get(instant)
        if mapping is None:
            mapping = self._mappings[instant] = mapping_at(self._plan.evolved_schema, instant, path) or BY_NAME
        # Footers with the same layout share one text and one schema.
        key = (id(footer.layout), id(footer.schema), id(mapping))
        if key not in self._kinds:
            columns = self._columns_of(footer, mapping, path)
            told = () if columns is None else tuple(one.name for one in columns if one.origin is Origin.PATH)
            self._kinds[key] = _Kind(footer, mapping, columns, told)
        return self._kinds[key]

    def _columns_of(self, footer: Footer, mapping: ColumnMapping, path: str) -> tuple[SetColumn, ...] | None:
        """The table's columns in a file; None if one needs more than a projection."""
        plan = self._plan
        if "int96" in footer.layout:
            return None
        try:
            reconciler = Reconciler(footer.schema, self._shown, mapping, path)
        except SchemaError:
            return None  # reported when it is read, if one of these columns is needed
        if plan.commit_times is not None and footer.schema.get_field_index(COMMIT_TIME_COLUMN) < 0:
            return None
        columns = [self._column(footer, reconciler, field) for field in self._shown]
        complete = tuple(column for column in columns if column is not None)
        return complete if len(complete) == len(columns) else None

    def _column(self, footer: Footer, reconciler: Reconciler, field: pa.Field) -> SetColumn | None:
        source = reconciler.sources[field.name]
        if field.name in self._texts and (self._plan.path_columns or source is None):
            return SetColumn(field.name, field.type, Origin.PATH)
        if source is None:
            missing = field.name in self._plan.partition_fields  # reading reports it
            return None if missing else SetColumn(field.name, field.type, Origin.NOWHERE)
        kind = footer.schema.field(source).type
        by_name = reconciler.mapping.below(field.name) == BY_NAME
        if reconciler.same_values(field.name) or (by_name and same_kind(kind, field.type)):
            return SetColumn(field.name, field.type, Origin.SAME, source)
        if _widens(kind, field.type):
            return SetColumn(field.name, field.type, Origin.WIDER, source)
        return None


def _widens(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether every engine's cast gives the values of our promotion: whole numbers to wider ones, and decimals."""
    types = pa.types
    if types.is_signed_integer(source):
        return bool((types.is_signed_integer(target) and source.bit_width < target.bit_width) or target == pa.float64())
    if types.is_decimal128(source) and types.is_decimal128(target):
        whole = target.precision - target.scale >= source.precision - source.scale
        return bool(target.scale >= source.scale and whole)
    return False
