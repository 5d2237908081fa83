"""Mergers that users register: Python functions in place of Java classes that say how records of one key merge.

A table names such a class in ``hoodie.compaction.payload.class``, or its strategy in
``hoodie.record.merge.strategy.id``. A merger gets two versions of many keys as columns and gives the merged ones.

Source: docs/reading.md#mergers-of-your-own, RFC-46 (``HoodieRecordMerger``).
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudi_hive.errors import InvalidOptionError, MergerError
from hudi_hive.options import read

Flags: TypeAlias = npt.NDArray[np.bool_]

_MODELS: Final = ("org.apache.hudi.common.model.", "com.uber.hoodie.common.model.")
_BUILT_IN: Final = (
    "OverwriteWithLatestAvroPayload",
    "DefaultHoodieRecordPayload",
    "EventTimeAvroPayload",
    "HoodieAvroPayload",
    "AWSDmsAvroPayload",
    "OverwriteNonDefaultsWithLatestAvroPayload",
    "PartialUpdateAvroPayload",
    "FirstValueAvroPayload",
    "debezium.PostgresDebeziumAvroPayload",
    "debezium.MySqlDebeziumAvroPayload",
)
"""Classes of Hudi whose way of merging there is here."""


@dataclass(frozen=True, slots=True)
class RecordVersions:
    """One version of each of some records, as columns.

    Attributes:
        keys: record key of each record, text without nulls.
        rows: the table's columns without Hudi's meta columns. A delete that names nothing but its key has nulls in all
            columns but those of the ordering fields, and there too if it has no ordering value.
        deletes: whether each version is a delete; booleans without nulls.
    """

    keys: pa.Array
    rows: pa.RecordBatch
    deletes: pa.Array


@dataclass(frozen=True, slots=True)
class MergedRecords:
    """What a merger gives.

    Attributes:
        rows: a row for each record, in the order of the versions and with their schema; a table or a batch. Rows of
            records that are deleted do not count.
        deletes: whether each record is deleted; None for no record.
        unchanged: whether the older version stands as it was, so that its meta columns, such as the commit time, stay;
            None for no record, which then have those of the newer version.
    """

    rows: pa.RecordBatch | pa.Table
    deletes: pa.Array | pa.ChunkedArray | None = None
    unchanged: pa.Array | pa.ChunkedArray | None = None


RecordMerger: TypeAlias = Callable[[RecordVersions, RecordVersions], MergedRecords]
"""Merges an older and a newer version of each of some records: same keys, row by row, same schema."""


@dataclass(frozen=True, slots=True)
class CheckedMerge:
    """A merger's answer after its checks: rows of the versions' schema, and flags of their number."""

    rows: pa.RecordBatch
    deletes: Flags
    unchanged: Flags


@dataclass(frozen=True, slots=True)
class CustomMerger:
    """A registered merger as a table's merge rules have it; it goes to other processes in their pickles.

    Attributes:
        class_name: the Java class that it stands for.
        table: name of the table, for errors.
        function: the merger.
        key_fields: columns of the record key, which it must leave as they are; dotted for fields of structs.
    """

    class_name: str
    table: str
    function: RecordMerger = field(repr=False)
    key_fields: tuple[str, ...] = ()

    def merge(self, older: RecordVersions, newer: RecordVersions, path: str | None = None) -> CheckedMerge:
        """Call the merger and check its answer.

        Args:
            older, newer: two versions of the same records.
            path: the table's base path, for errors.

        Raises:
            MergerError: the merger raised an exception, or its answer does not fit.
        """
        try:
            merged = self.function(older, newer)
        except Exception as error:
            what = f"raised {type(error).__name__}: {error}"
            raise self.error(what, path) from error
        if not isinstance(merged, MergedRecords):
            raise self.error(f"gave {type(merged).__name__}, not MergedRecords", path)
        rows = self._rows(merged.rows, newer.rows, path)
        deletes = self._flags("deletes", merged.deletes, rows.num_rows, path)
        unchanged = self._flags("unchanged", merged.unchanged, rows.num_rows, path)
        self._check_required(rows, deletes, path)
        return CheckedMerge(rows, deletes, unchanged)

    def error(self, what: str, path: str | None) -> MergerError:
        """An error that names the class and the table."""
        return MergerError(
            f"merger {self.class_name} of table {self.table} {what}",
            path=path,
            remedy="correct the function that is registered for it",
        )

    def _rows(self, rows: object, newer: pa.RecordBatch, path: str | None) -> pa.RecordBatch:
        if isinstance(rows, pa.Table):
            batches = rows.combine_chunks().to_batches()
            rows = batches[0] if batches else pa.RecordBatch.from_pylist([], schema=rows.schema)
        if not isinstance(rows, pa.RecordBatch):
            raise self.error(f"gave rows as {type(rows).__name__}, not as a pyarrow Table or RecordBatch", path)
        if rows.num_rows != newer.num_rows:
            raise self.error(f"gave {rows.num_rows} rows for {newer.num_rows} records", path)
        if rows.schema.names != newer.schema.names:
            raise self.error(f"gave the columns {rows.schema.names}, not {newer.schema.names}", path)
        for mine, theirs in zip(rows.schema, newer.schema, strict=True):
            if mine.type != theirs.type:
                raise self.error(f"gave column {mine.name!r} as {mine.type}, not as {theirs.type}", path)
        try:
            rows.validate()
        except pa.ArrowInvalid as error:
            raise self.error(f"gave rows that are not valid: {error}", path) from error
        return pa.RecordBatch.from_arrays(rows.columns, schema=newer.schema)

    def _flags(self, name: str, values: Any, rows: int, path: str | None) -> Flags:  # noqa: ANN401 - the user's
        if values is None:
            return np.zeros(rows, np.bool_)
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if not isinstance(values, pa.Array) or not pa.types.is_boolean(values.type) or values.null_count:
            raise self.error(f"gave {name} that are no array of booleans without nulls", path)
        if len(values) != rows:
            raise self.error(f"gave {len(values)} {name} for {rows} records", path)
        flags: Flags = np.asarray(values.to_numpy(zero_copy_only=False), np.bool_)
        return flags

    def _check_required(self, rows: pa.RecordBatch, deletes: Flags, path: str | None) -> None:
        for item, column in zip(rows.schema, rows.columns, strict=True):
            if item.nullable or not column.null_count:
                continue
            missing = column.is_null().to_numpy(zero_copy_only=False) & ~deletes
            if missing.any():
                raise self.error(f"gave {int(missing.sum())} nulls in column {item.name!r}, which takes none", path)


@dataclass(frozen=True, slots=True)
class _Registration:
    class_name: str
    strategy_id: str | None
    function: RecordMerger


_guard: Final = threading.Lock()
_registered: Final[dict[str, _Registration]] = {}


def register_merger(class_name: str, merger: RecordMerger | str, *, strategy_id: str | None = None) -> None:
    """Register a Python function for a Java class that says how records of tables merge, in this process.

    Tables whose ``hoodie.compaction.payload.class`` is the class, or whose ``hoodie.record.merge.strategy.id`` is the
    strategy's, are then read, written and compacted with it. Tasks of Spark get the function in their pickles.

    Args:
        class_name: full name of the payload or merger class. Registered again, the later function counts.
        merger: gets the older and the newer version of each of some records (two :class:`RecordVersions`) and gives
            :class:`MergedRecords`; or the text ``module:attribute``, where it is imported from. It must be
            associative, as Hudi asks of mergers, and must not depend on how many records it gets at once.
        strategy_id: what the class's ``getMergingStrategy()`` gives, for merger classes of Hudi 1.0 and later.

    Raises:
        InvalidOptionError: a class that this package merges by itself, or a text that names no function.
    """
    name = class_name.strip()
    if not takes_merger(name):
        raise InvalidOptionError(
            f"{class_name!r} cannot have a merger", remedy="give the full name of a class that is not Hudi's own"
        )
    function = _imported(merger) if isinstance(merger, str) else merger
    if not callable(function):
        raise InvalidOptionError(f"the merger of {name} is {type(function).__name__}", remedy="give a function")
    with _guard:
        _registered[name] = _Registration(name, _normal(strategy_id), function)


def takes_merger(class_name: str) -> bool:
    """Whether a merger may be registered for a class: it is none that is merged without."""
    return bool(class_name) and class_name not in {package + name for package in _MODELS for name in _BUILT_IN}


def registration_remedy(class_name: str | None, strategy_id: str | None = None) -> str:
    """How a merger is registered from each face, for remedies.

    Args:
        class_name: full name of the class; None if the table names its strategy alone.
        strategy_id: id of the strategy; None for a payload class.
    """
    shown = class_name or "<class>"
    argument = "" if strategy_id is None else f', strategy_id="{strategy_id}"'
    entry = (shown if strategy_id is None else f"{shown}@{strategy_id}") + "=module:attribute"
    return (
        f'hudi_hive.register_merger("{shown}", …{argument}), or by the entry {entry} in the setting '
        f"{read.SPARK_MERGERS} of a Spark that no Python of yours drives, or in hudi-hive --merger"
    )


def unregister_merger(class_name: str) -> None:
    """Take a registration back; nothing if there is none."""
    with _guard:
        _registered.pop(class_name.strip(), None)


def register_mergers(entries: Iterable[str]) -> None:
    """Register mergers as an option names them: ``class=module:attribute`` or ``class@strategy-id=module:attribute``.

    Raises:
        InvalidOptionError: an entry of another form, or that names no function.
    """
    for entry in entries:
        names, equals, reference = entry.partition("=")
        class_name, at, strategy_id = names.partition("@")
        if not equals or not class_name.strip() or (at and not strategy_id.strip()):
            raise InvalidOptionError(
                f"{entry!r} is no registration of a merger", remedy="give class=module:attribute, separated by commas"
            )
        register_merger(class_name, reference.strip(), strategy_id=strategy_id or None)


def registered_merger(
    table: str, *, class_name: str | None = None, strategy_id: str | None = None
) -> CustomMerger | None:
    """The merger that is registered for a class, or for a strategy; None if there is none.

    Args:
        table: name of the table, for errors.
        class_name: full name of the class.
        strategy_id: id of the strategy.

    Raises:
        InvalidOptionError: several classes are registered for the strategy.
    """
    with _guard:
        if class_name is not None:
            one = _registered.get(class_name)
            return None if one is None else CustomMerger(one.class_name, table, one.function)
        wanted = _normal(strategy_id)
        several = [one for one in _registered.values() if wanted is not None and one.strategy_id == wanted]
    if len(several) > 1:
        raise InvalidOptionError(
            f"classes {', '.join(one.class_name for one in several)} are registered for the strategy {strategy_id}",
            remedy="take back all but one with hudi_hive.unregister_merger",
        )
    return CustomMerger(several[0].class_name, table, several[0].function) if several else None


def registered_strategy(class_name: str) -> str | None:
    """The strategy id that a class was registered with; None without one or without a registration."""
    with _guard:
        one = _registered.get(class_name.strip())
    return None if one is None else one.strategy_id


def _normal(strategy_id: str | None) -> str | None:
    return None if strategy_id is None else strategy_id.strip().lower()


def _imported(reference: str) -> RecordMerger:
    module, colon, attribute = reference.partition(":")
    if not (module and colon and attribute):
        raise InvalidOptionError(f"{reference!r} names no function", remedy="give module:attribute")
    try:
        place: Any = importlib.import_module(module)
        for name in attribute.split("."):
            place = getattr(place, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidOptionError(
            f"the merger {reference} cannot be imported: {error}", remedy="install its module, or correct its name"
        ) from error
    function: RecordMerger = place
    return function
