"""``MergeSpec``: how records of one key merge, by merge mode or payload class, with deletes and keys.

A table's properties in, one immutable value out. What it does not know is refused by name: a guess would be wrong rows.

Source: docs/format.md#merge-modes, docs/format.md#payload-classes, docs/format.md#deleted-records,
docs/format.md#record-keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import pyarrow as pa

from hudi_hive.errors import InvalidPropertiesError, UnknownColumnError, UnsupportedTableError
from hudi_hive.names import (
    HOODIE_PAYLOAD_DELETE_FIELD,
    HOODIE_PAYLOAD_DELETE_MARKER,
    HOODIE_RECORD_MERGE_PROPERTY_PREFIX,
    HOODIE_TABLE_LEGACY_PAYLOAD_CLASS,
    HOODIE_TABLE_PARTIAL_UPDATE_MODE,
    HOODIE_WRITE_PARTIAL_UPDATE_UNAVAILABLE_VALUE,
    IS_DELETED_COLUMN,
    OPERATION_COLUMN,
    RECORD_KEY_COLUMN,
)
from hudi_hive.table.merge.mergers import CustomMerger, registered_merger, registration_remedy, takes_merger
from hudi_hive.table.properties import TableConfig

RECORD_KEY: Final = RECORD_KEY_COLUMN
IS_DELETED: Final = IS_DELETED_COLUMN
OPERATION: Final = OPERATION_COLUMN
UNAVAILABLE_VALUE: Final = "__debezium_unavailable_value"

_COMMIT_TIME_STRATEGY: Final = "ce9acb64-bde0-424c-9b91-f6ebba25356d"
_EVENT_TIME_STRATEGY: Final = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
_PAYLOAD_STRATEGY: Final = "00000000-0000-0000-0000-000000000000"
_MODEL: Final = "org.apache.hudi.common.model."
_OLD_MODEL: Final = "com.uber.hoodie.common.model."
"""Package of the same classes before Hudi came to Apache."""
_DELETE_FIELD: Final = HOODIE_PAYLOAD_DELETE_FIELD
_DELETE_MARKER: Final = HOODIE_PAYLOAD_DELETE_MARKER
_PROPERTY: Final = HOODIE_RECORD_MERGE_PROPERTY_PREFIX


class Order(Enum):
    """The ordering by which one of two records of a key is kept."""

    COMMIT_TIME = "COMMIT_TIME_ORDERING"
    EVENT_TIME = "EVENT_TIME_ORDERING"


class Partial(Enum):
    """The partial update mode: which values of the newer record are replaced by the older one's."""

    IGNORE_DEFAULTS = "IGNORE_DEFAULTS"
    FILL_UNAVAILABLE = "FILL_UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class MergeSpec:
    """The merge rules of a table: how records of one key become one record.

    Attributes:
        version: table version.
        in_log: order among log records.
        on_base: order between what the log holds of a key and its base record.
        deletes_yield: version 6: any log record replaces a log delete before it, and a delete block's entry deletes the
            base record whatever their ordering values are.
        ordering_fields: columns whose values order records; dotted for fields of structs.
        partial: the values that do not replace older ones, or None.
        partial_in_log: whether log records fill one another so, too, not only the base record.
        loser_fills: whether a record that loses fills the winner's values so.
        newest_meta: whether the meta columns are those of the later record even if it loses.
        deletes_in_order: deletes win and lose by ordering value even where data records do not.
        first_of_equals: whether of records with equal ordering values the earlier one stays.
        equal_deletes: whether that is so among data records alone: a delete and an equal record go by who comes later.
        sequence: on the base, ordering values are texts ``file.position``, compared as numbers, and the base record
            stays among equals; in the log they are compared as texts.
        marks_delete: whether ``_hoodie_is_deleted`` deletes.
        unavailable_value: the text that stands for "as before" under ``FILL_UNAVAILABLE``.
        delete_field, delete_marker: a record whose column has this value, as text, deletes; or None.
        key_fields: the columns that make up the key of a table without meta columns; empty if it has them.
        named_key: such keys are written as ``field:value``.
        merger: the registered function that merges records in place of the rules above; it gets deletes, too.
    """

    version: int
    in_log: Order
    on_base: Order
    deletes_yield: bool = False
    ordering_fields: tuple[str, ...] = ()
    partial: Partial | None = None
    partial_in_log: bool = True
    loser_fills: bool = True
    newest_meta: bool = False
    deletes_in_order: bool = False
    first_of_equals: bool = False
    equal_deletes: bool = False
    sequence: bool = False
    marks_delete: bool = True
    unavailable_value: str = UNAVAILABLE_VALUE
    delete_field: str | None = None
    delete_marker: str | None = None
    key_fields: tuple[str, ...] = ()
    named_key: bool = False
    merger: CustomMerger | None = None

    @classmethod
    def from_config(cls, config: TableConfig) -> MergeSpec:
        """Derive the merge rules from a table's properties.

        Raises:
            UnsupportedTableError: a merge mode, strategy, payload class or key that we do not know.
            InvalidPropertiesError: the properties contradict one another.
        """
        way, payload = _version_6(config) if config.version < 8 else _version_8(config)
        field, marker = _delete_marker(config, payload)
        fields, named = _keys(config)
        return replace(
            way,
            unavailable_value=_unavailable_value(config),
            delete_field=field,
            delete_marker=marker,
            key_fields=fields,
            named_key=named,
        )

    @property
    def needs_ordering(self) -> bool:
        """Whether ordering values are compared, here or by a registered merger."""
        told = self.deletes_in_order or self.merger is not None or Order.EVENT_TIME in (self.in_log, self.on_base)
        return told and bool(self.ordering_fields)

    @property
    def compares_deletes(self) -> bool:
        """Whether a delete that is older than the record is lost, by ordering values alone."""
        by_event = self.deletes_in_order or (self.in_log is Order.EVENT_TIME and self.on_base is Order.EVENT_TIME)
        simple = self.merger is None and not self.deletes_yield and not self.sequence
        return by_event and simple and bool(self.ordering_fields)

    @property
    def makes_rows(self) -> bool:
        """Whether a merged row may be another one than each of its versions."""
        return self.partial is not None or self.merger is not None

    @classmethod
    def makes_values(cls, config: TableConfig) -> bool:
        """Whether reading merges log files by a registered merger, whose rows may have values that no file has."""
        try:
            return config.is_merge_on_read and cls.from_config(config).merger is not None
        except (UnsupportedTableError, InvalidPropertiesError):
            return False  # which is said when there are log files to merge

    def columns(self, schema: pa.Schema) -> list[str]:
        """The columns that merging reads in addition to those of the query, each once: all for a registered merger.

        Raises:
            UnknownColumnError: the schema has no column of a key.
        """
        keys = list(self.key_fields) or [RECORD_KEY]
        for name in keys:
            if _column(schema, name) is None:
                raise UnknownColumnError(f"no column {name!r}, which records are merged by")
        if self.merger is not None:
            return list(schema.names)
        names = [*keys, IS_DELETED, OPERATION]
        names += [] if self.delete_field is None else [self.delete_field]
        return list(dict.fromkeys([*_columns(schema, names), *self.ordering_columns(schema)]))

    def ordering_columns(self, schema: pa.Schema) -> list[str]:
        """The columns with ordering values that merging compares, each once; none where it compares none."""
        return _columns(schema, self.ordering_fields) if self.needs_ordering else []


def _columns(schema: pa.Schema, names: Iterable[str]) -> list[str]:
    """The top-level columns that names begin with, each once; those that the schema lacks are left out."""
    there = (_column(schema, name) for name in names)
    return list(dict.fromkeys(name for name in there if name is not None))


def _column(schema: pa.Schema, name: str) -> str | None:
    """The top-level column that a name, dotted maybe, begins with."""
    for candidate in (name, name.partition(".")[0]):
        if schema.get_field_index(candidate) >= 0:
            return candidate
    return None


_Way = tuple["MergeSpec", str | None]
"""How records merge, markers and keys left out, and the short payload class."""

_POSTGRES: Final = "PostgresDebeziumAvroPayload"
_MYSQL: Final = "MySqlDebeziumAvroPayload"
_FIRST_VALUE: Final = "FirstValueAvroPayload"
_DEBEZIUM_ORDER: Final = {_POSTGRES: "_event_lsn", _MYSQL: "_event_seq"}
_DEBEZIUM_MARKER: Final = ("_change_operation_type", "d")


def _payload(config: TableConfig, key: str | None = None) -> str | None:
    """Payload class without the package of Hudi's own ones."""
    name = config.payload_class if key is None else (config.properties.get(key) or "").strip() or None
    return None if name is None else name.removeprefix(_OLD_MODEL).removeprefix(_MODEL).removeprefix("debezium.")


def _version_6(config: TableConfig) -> _Way:
    """By the payload class alone. All of these classes order log records by ordering value (their ``preCombine``)."""
    payload = _payload(config) or "OverwriteWithLatestAvroPayload"
    event, commit = Order.EVENT_TIME, Order.COMMIT_TIME
    way = MergeSpec(6, event, event, deletes_yield=True, ordering_fields=config.ordering_fields)
    _check_debezium(config, payload)
    if payload in ("DefaultHoodieRecordPayload", "EventTimeAvroPayload"):
        return way, payload
    if payload in ("OverwriteWithLatestAvroPayload", "AWSDmsAvroPayload"):
        return replace(way, on_base=commit), payload
    if payload == "HoodieAvroPayload":  # the default of merge-on-read tables before 0.6.0
        return replace(way, in_log=commit, on_base=commit, marks_delete=False), payload
    if payload == "OverwriteNonDefaultsWithLatestAvroPayload":
        return replace(way, on_base=commit, partial=Partial.IGNORE_DEFAULTS, partial_in_log=False), payload
    if payload == "PartialUpdateAvroPayload":
        return replace(way, partial=Partial.IGNORE_DEFAULTS, newest_meta=True), payload
    if payload == _POSTGRES:
        return replace(way, partial=Partial.FILL_UNAVAILABLE, partial_in_log=False, loser_fills=False), payload
    if payload == _MYSQL:
        return replace(way, sequence=True), payload
    if payload == _FIRST_VALUE and config.ordering_fields:
        return replace(way, first_of_equals=True), payload
    return _registered(config, config.payload_class), payload


def _registered(config: TableConfig, class_name: str | None) -> MergeSpec:
    """The rules of a payload class that is not Hudi's own, by the merger that is registered for it."""
    merger = None if class_name is None else registered_merger(config.name, class_name=class_name)
    if merger is None:
        takes = class_name is not None and takes_merger(class_name)
        call = registration_remedy(class_name) if takes else None
        raise _refused(config, f"payload class {class_name}", call)
    return _by_merger(config, merger)


def _by_merger(config: TableConfig, merger: CustomMerger) -> MergeSpec:
    commit, merger = Order.COMMIT_TIME, replace(merger, key_fields=config.record_keys)
    return MergeSpec(config.version, commit, commit, ordering_fields=config.ordering_fields, merger=merger)


def _check_debezium(config: TableConfig, payload: str | None) -> None:
    """These classes read their own column on the base, whatever the ordering field is."""
    field = _DEBEZIUM_ORDER.get(payload or "")
    if field is not None and config.ordering_fields != (field,):
        raise _refused(config, f"payload class {config.payload_class} with an ordering field other than {field}")


def _version_8(config: TableConfig) -> _Way:
    payload = _payload(config, HOODIE_TABLE_LEGACY_PAYLOAD_CLASS) or _payload(config)
    partial = _partial_mode(config)
    mode = (config.merge_mode or _inferred_mode(config)).upper()
    if mode == "CUSTOM":
        return _custom(config, payload), payload
    try:
        order = Order(mode)
    except ValueError:
        raise _refused(config, f"hoodie.record.merge.mode={config.merge_mode}") from None
    way = MergeSpec(config.version, order, order, ordering_fields=config.ordering_fields, partial=partial)
    return way, payload


def _inferred_mode(config: TableConfig) -> str:
    """The mode of a table that does not name it: by strategy, else by whether there are ordering fields."""
    by_strategy: dict[str, str] = {
        _COMMIT_TIME_STRATEGY: Order.COMMIT_TIME.value,
        _EVENT_TIME_STRATEGY: Order.EVENT_TIME.value,
    }
    if config.merge_strategy_id is not None:
        return by_strategy.get(config.merge_strategy_id, "CUSTOM")
    order = Order.EVENT_TIME if config.ordering_fields else Order.COMMIT_TIME
    return str(order.value)


def _custom(config: TableConfig, payload: str | None) -> MergeSpec:
    """Payload classes whose way is one of ours, and classes or strategies with a registered merger."""
    strategy = config.merge_strategy_id
    if strategy not in (None, _PAYLOAD_STRATEGY):
        merger = registered_merger(config.name, strategy_id=strategy)
        if merger is None:
            raise _refused(config, f"hoodie.record.merge.strategy.id={strategy}", registration_remedy(None, strategy))
        return _by_merger(config, merger)
    _check_debezium(config, payload)
    event, commit = Order.EVENT_TIME, Order.COMMIT_TIME
    in_order = MergeSpec(config.version, event, event, ordering_fields=config.ordering_fields)
    replaces = replace(in_order, in_log=commit, on_base=commit, deletes_in_order=True)
    if payload == "AWSDmsAvroPayload":
        return replaces
    if payload == "OverwriteNonDefaultsWithLatestAvroPayload":
        return replace(replaces, partial=Partial.IGNORE_DEFAULTS)
    if payload == "EventTimeAvroPayload":
        return in_order
    if payload == "PartialUpdateAvroPayload":
        return replace(in_order, partial=Partial.IGNORE_DEFAULTS, newest_meta=True)
    if payload == _POSTGRES:
        return replace(in_order, partial=Partial.FILL_UNAVAILABLE, loser_fills=False)
    if payload == _FIRST_VALUE and config.version == 8 and config.ordering_fields:
        return replace(in_order, first_of_equals=True, equal_deletes=config.is_merge_on_read)
    legacy = (config.properties.get(HOODIE_TABLE_LEGACY_PAYLOAD_CLASS) or "").strip()
    return _registered(config, legacy or config.payload_class)


def _partial_mode(config: TableConfig) -> Partial | None:
    mode = (config.properties.get(HOODIE_TABLE_PARTIAL_UPDATE_MODE) or "").strip().upper()
    if mode in ("", "NONE"):
        return None
    try:
        return Partial(mode)
    except ValueError:
        raise _refused(config, f"hoodie.table.partial.update.mode={mode}") from None


def _property(config: TableConfig, key: str) -> str | None:
    for name in (_PROPERTY + key, key):
        value = (config.properties.get(name) or "").strip()
        if value:
            return value
    return None


def _delete_marker(config: TableConfig, payload: str | None) -> tuple[str | None, str | None]:
    field, marker = _property(config, _DELETE_FIELD), _property(config, _DELETE_MARKER)
    if field is None and payload == "AWSDmsAvroPayload":
        return "Op", "D"
    if field is None and payload in _DEBEZIUM_ORDER and config.version < 9:
        return _DEBEZIUM_MARKER
    if (field is None) != (marker is None):
        raise InvalidPropertiesError(
            f"{_DELETE_FIELD} and {_DELETE_MARKER} go together, one is missing",
            path=config.path,
            remedy="set both or none",
        )
    return field, marker


def _unavailable_value(config: TableConfig) -> str:
    value = _property(config, HOODIE_WRITE_PARTIAL_UPDATE_UNAVAILABLE_VALUE)
    return value if value is not None else UNAVAILABLE_VALUE


def _keys(config: TableConfig) -> tuple[tuple[str, ...], bool]:
    """Key columns of a table without meta columns, and whether a single one is written with its name."""
    if config.populate_meta_fields:
        return (), False
    if not config.record_keys:
        raise _refused(config, "a table with neither meta columns nor record key fields")
    generator = config.key_generator or ""
    named = len(config.record_keys) > 1
    # Releases differ on a complex key of one field; version 9 writes its name.
    named = named or (config.version >= 9 and generator.startswith("COMPLEX"))
    return config.record_keys, named


def _refused(config: TableConfig, what: str, call: str | None = None) -> UnsupportedTableError:
    """The error; with the call that registers a merger, where one may be registered."""
    remedy = "query read_optimized, which shows base files alone"
    remedy = remedy if call is None else f"register a Python merger by {call}, or {remedy}"
    message = f"{what}: how records of table {config.name} merge is not known"
    return UnsupportedTableError(message, path=config.path, remedy=remedy)
