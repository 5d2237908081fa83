"""The definition of the table of a write: its properties if it exists, else the options that create it.

Options that say something else than the properties are refused: rows would go where no reader looks for them.

Source: docs/format/rules.md#precedence-of-options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options import fill, options_of
from hudi_hive.options import table as declared
from hudi_hive.table.merge import registered_merger, registration_remedy
from hudi_hive.table.properties import TableConfig
from hudi_hive.write.options.merger_classes import strategy_of_table


@dataclass(frozen=True, slots=True)
class TableSettings:
    """The definition of the table that is written; None and empty values are not specified.

    Attributes:
        name, database: of the table.
        table_type: ``COPY_ON_WRITE`` or ``MERGE_ON_READ``.
        version: 6, 8 or 9; None for the default of new tables.
        record_keys: key fields; none for keys that are made up.
        partition_fields: as they are written, with ``:SIMPLE`` and ``:TIMESTAMP`` for the custom key generator.
        ordering_fields: fields that decide which of two rows of a key is kept.
        key_generator: its name as in ``hoodie.table.keygenerator.type``.
        merge_mode, merge_strategy_id, payload_class: how rows merge.
        cdc_enabled, cdc_logging_mode: change data capture.
    """

    name: str | None = declared.NAME.field()
    database: str | None = declared.DATABASE.field()
    table_type: str = declared.TYPE.field()
    version: int | None = declared.VERSION.field()
    record_keys: tuple[str, ...] = declared.RECORD_KEY_FIELDS.field()
    partition_fields: tuple[str, ...] = declared.PARTITION_FIELDS.field()
    ordering_fields: tuple[str, ...] = declared.ORDERING_FIELDS.field()
    key_generator: str | None = declared.KEY_GENERATOR.field()
    hive_style_partitioning: bool = declared.HIVE_STYLE_PARTITIONING.field()
    url_encode_partitioning: bool = declared.URL_ENCODE_PARTITIONING.field()
    drop_partition_columns: bool = declared.DROP_PARTITION_COLUMNS.field()
    populate_meta_fields: bool = declared.POPULATE_META_FIELDS.field()
    base_file_format: str = declared.BASE_FILE_FORMAT.field()
    merge_mode: str | None = declared.MERGE_MODE.field()
    merge_strategy_id: str | None = declared.MERGE_STRATEGY_ID.field()
    payload_class: str | None = declared.PAYLOAD_CLASS.field()
    cdc_enabled: bool = declared.CDC_ENABLED.field()
    cdc_logging_mode: str = declared.CDC_LOGGING_MODE.field()
    timezone: str = declared.TIMEZONE.field()

    @classmethod
    def of(
        cls, options: Mapping[str, str], table: TableConfig | None, strategies: tuple[str, ...] = ()
    ) -> TableSettings:
        """The definition of an existing table, checked against the options; or that of the options alone.

        Args:
            options: under Hudi's names.
            table: the table's properties; None for a new one.
            strategies: merge strategies of merger classes that options name, one of which must be the table's.

        Raises:
            InvalidOptionError: a value that does not fit, or that the table's properties contradict.
        """
        requested = fill(cls, options)
        if table is None:
            id_ = strategy_of_table(strategies, requested.merge_mode, requested.merge_strategy_id, exists=False)
            requested = replace(requested, merge_strategy_id=id_)
            return replace(
                _with_mode(requested), key_generator=requested.key_generator or inferred_key_generator(requested)
            )
        there = _of_table(table)
        strategy_of_table(strategies, there.merge_mode, there.merge_strategy_id, exists=True)
        for name, values in _names_by_field(options).items():
            _compare(name, values, getattr(requested, name), getattr(there, name), there)
        return there


def inferred_key_generator(table: TableSettings) -> str:
    """The default key generator of a table, which Hudi infers from the numbers of its fields."""
    if not table.partition_fields:
        return "NON_PARTITION"
    if ":" in table.partition_fields[0]:
        return "CUSTOM"
    return "SIMPLE" if len(table.partition_fields) == 1 and len(table.record_keys) <= 1 else "COMPLEX"


def _of_table(table: TableConfig) -> TableSettings:
    written = (table.properties.get(declared.PARTITION_FIELDS.aliases[0]) or "").split(",")
    return TableSettings(
        name=table.name,
        database=table.database,
        table_type=table.table_type,
        version=table.version,
        record_keys=table.record_keys,
        partition_fields=tuple(item.strip() for item in written if item.strip()),
        ordering_fields=table.ordering_fields,
        key_generator=table.key_generator,
        hive_style_partitioning=table.hive_style_partitioning,
        url_encode_partitioning=table.url_encode_partitioning,
        drop_partition_columns=table.drop_partition_columns,
        populate_meta_fields=table.populate_meta_fields,
        base_file_format=table.base_file_format.upper(),
        merge_mode=table.merge_mode or _merge_mode(table),
        merge_strategy_id=table.merge_strategy_id,
        payload_class=table.payload_class,
        cdc_enabled=table.cdc_enabled,
        cdc_logging_mode=table.cdc_logging_mode,
        timezone=table.timezone,
    )


def _with_mode(requested: TableSettings) -> TableSettings:
    """A new table's merge mode, where its maker names the strategy in place of it."""
    if requested.merge_strategy_id is None:
        return requested
    mode = _MODE_OF_STRATEGY.get(requested.merge_strategy_id)
    if mode is None and registered_merger("", strategy_id=requested.merge_strategy_id) is not None:
        mode = "CUSTOM"
    if mode is None or requested.merge_mode not in (None, mode):
        raise InvalidOptionError(
            f"merge strategy {requested.merge_strategy_id} is not supported",
            remedy=f"set {declared.MERGE_MODE} to EVENT_TIME_ORDERING or COMMIT_TIME_ORDERING, or register a Python "
            f"merger for it by {registration_remedy(None, requested.merge_strategy_id)}",
        )
    return replace(requested, merge_mode=mode)


def _merge_mode(table: TableConfig) -> str | None:
    """What the payload class or the strategy of a table that does not name its mode comes to."""
    if table.version == 6 and table.payload_class is not None:
        return _MODE_OF_PAYLOAD.get(table.payload_class.rpartition(".")[2], "CUSTOM")
    return None if table.merge_strategy_id is None else _MODE_OF_STRATEGY.get(table.merge_strategy_id, "CUSTOM")


_MODE_OF_PAYLOAD: Final = {
    "DefaultHoodieRecordPayload": "EVENT_TIME_ORDERING",
    "OverwriteWithLatestAvroPayload": "COMMIT_TIME_ORDERING",
}
_MODE_OF_STRATEGY: Final = {
    "ce9acb64-bde0-424c-9b91-f6ebba25356d": "COMMIT_TIME_ORDERING",
    "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5": "EVENT_TIME_ORDERING",
}


def _names_by_field(options: Mapping[str, str]) -> dict[str, list[str]]:
    """Field → the names by which the options give it."""
    fields = {field: option.present_in(options) for field, option in options_of(TableSettings)}
    return {field: names for field, names in fields.items() if names}


def _compare(name: str, keys: list[str], requested: object, there: object, table: TableSettings) -> None:
    if name == "partition_fields":
        requested, there = _bare(requested), _bare(there)  # version 6 does not keep the suffixes
    if name in _MAY_DIFFER and not there:
        return  # the properties say nothing of it
    if name == "key_generator" and isinstance(requested, str) and isinstance(there, str):
        requested, there = requested.removesuffix("_AVRO"), there.removesuffix("_AVRO")
    if name == "cdc_logging_mode" and not table.cdc_enabled:
        return
    if requested != there:
        raise InvalidOptionError(
            f"option {keys[0]}={_shown(requested)} contradicts the table, which has {_shown(there) or 'none'}",
            remedy="leave the option out, or write another table",
        )


_MAY_DIFFER: Final = ("database", "key_generator", "merge_mode", "merge_strategy_id", "payload_class")
"""Settings that a table's properties may leave out because they follow from others."""


def _bare(fields: object) -> tuple[str, ...]:
    return tuple(str(item).partition(":")[0] for item in fields) if isinstance(fields, tuple) else ()


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
