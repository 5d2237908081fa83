"""What a table is: its own properties if it is there, the options that make it if it is not.

Options that say something else than the properties are refused: rows would go where no reader looks for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ, SUPPORTED_VERSIONS, TableConfig, key_generator_name
from hudi_hive.write.options.option_fields import fill, flag, items, option, optional_text, text, word

_MODES: Final = ("COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING", "CUSTOM")


def _version(key: str, value: str) -> int:
    versions = ", ".join(map(str, SUPPORTED_VERSIONS))
    if not value.isdigit() or int(value) not in SUPPORTED_VERSIONS:
        raise InvalidOptionError(f"option {key}={value!r} is not a table version that is written", remedy=versions)
    return int(value)


def _generator(key: str, value: str) -> str:
    found = key_generator_name(text(key, value))
    if found == "USER_PROVIDED":
        raise InvalidOptionError(f"option {key}={value}: this key generator is not known", remedy="use one of Hudi's")
    return found


@dataclass(frozen=True, slots=True)
class TableSettings:
    """The table that is written. ``None`` and empty stand for what nobody has said.

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

    name: str | None = option("hoodie.table.name", None, text, "hoodie.datasource.write.table.name")
    database: str | None = option("hoodie.database.name", None, optional_text)
    table_type: str = option(
        "hoodie.datasource.write.table.type", COPY_ON_WRITE, word(COPY_ON_WRITE, MERGE_ON_READ), "hoodie.table.type"
    )
    version: int | None = option("hoodie.write.table.version", None, _version, "hoodie.table.version")
    record_keys: tuple[str, ...] = option(
        "hoodie.datasource.write.recordkey.field", (), items, "hoodie.table.recordkey.fields"
    )
    partition_fields: tuple[str, ...] = option(
        "hoodie.datasource.write.partitionpath.field", (), items, "hoodie.table.partition.fields"
    )
    ordering_fields: tuple[str, ...] = option(
        "hoodie.datasource.write.precombine.field",
        (),
        items,
        "hoodie.table.precombine.field",
        "hoodie.table.ordering.fields",
        "hoodie.payload.ordering.field",
    )
    key_generator: str | None = option(
        "hoodie.datasource.write.keygenerator.class",
        None,
        _generator,
        "hoodie.datasource.write.keygenerator.type",
        "hoodie.table.keygenerator.class",
        "hoodie.table.keygenerator.type",
    )
    hive_style_partitioning: bool = option("hoodie.datasource.write.hive_style_partitioning", False, flag)
    url_encode_partitioning: bool = option("hoodie.datasource.write.partitionpath.urlencode", False, flag)
    drop_partition_columns: bool = option("hoodie.datasource.write.drop.partition.columns", False, flag)
    populate_meta_fields: bool = option("hoodie.populate.meta.fields", True, flag)
    base_file_format: str = option(
        "hoodie.table.base.file.format", "PARQUET", word("PARQUET", "ORC", "HFILE"), "hoodie.base.file.format"
    )
    merge_mode: str | None = option("hoodie.write.record.merge.mode", None, word(*_MODES), "hoodie.record.merge.mode")
    merge_strategy_id: str | None = option(
        "hoodie.write.record.merge.strategy.id",
        None,
        optional_text,
        "hoodie.record.merge.strategy.id",
        "hoodie.datasource.write.record.merger.strategy",
    )
    payload_class: str | None = option(
        "hoodie.datasource.write.payload.class", None, optional_text, "hoodie.compaction.payload.class"
    )
    cdc_enabled: bool = option("hoodie.table.cdc.enabled", False, flag)
    cdc_logging_mode: str = option(
        "hoodie.table.cdc.supplemental.logging.mode",
        "DATA_BEFORE_AFTER",
        word("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"),
    )
    timezone: str = option("hoodie.table.timeline.timezone", "LOCAL", word("LOCAL", "UTC"))

    @classmethod
    def of(cls, options: Mapping[str, str], table: TableConfig | None) -> TableSettings:
        """The settings of a table that is there, checked against the options; or those of the options alone.

        Raises:
            InvalidOptionError: a value that does not fit, or that the table's properties contradict.
        """
        asked = fill(cls, options)
        if table is None:
            return replace(_with_mode(asked), key_generator=asked.key_generator or inferred_key_generator(asked))
        there = _of_table(table)
        for name, values in _given(options).items():
            _compare(name, values, getattr(asked, name), getattr(there, name), there)
        return there


def inferred_key_generator(table: TableSettings) -> str:
    """The key generator of a table whose maker does not name one: by the numbers of its fields, as Hudi infers it."""
    if not table.partition_fields:
        return "NON_PARTITION"
    if ":" in table.partition_fields[0]:
        return "CUSTOM"
    return "SIMPLE" if len(table.partition_fields) == 1 and len(table.record_keys) <= 1 else "COMPLEX"


def _of_table(table: TableConfig) -> TableSettings:
    written = (table.properties.get("hoodie.table.partition.fields") or "").split(",")
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


def _with_mode(asked: TableSettings) -> TableSettings:
    """A new table's merge mode, where its maker names the strategy in place of it."""
    if asked.merge_strategy_id is None:
        return asked
    mode = _MODE_OF_STRATEGY.get(asked.merge_strategy_id)
    if mode is None or asked.merge_mode not in (None, mode):
        raise InvalidOptionError(
            f"merge strategy {asked.merge_strategy_id} is not supported",
            remedy="set hoodie.write.record.merge.mode to EVENT_TIME_ORDERING or COMMIT_TIME_ORDERING",
        )
    return replace(asked, merge_mode=mode)


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


def _given(options: Mapping[str, str]) -> dict[str, list[str]]:
    """Field → the options that say something of it."""
    found: dict[str, list[str]] = {}
    for item in TableSettings.__dataclass_fields__.values():
        names = [name for name in (item.metadata["key"], *item.metadata["aliases"]) if name in options]
        if names:
            found[item.name] = names
    return found


def _compare(name: str, keys: list[str], asked: object, there: object, table: TableSettings) -> None:
    if name == "partition_fields":
        asked, there = _bare(asked), _bare(there)  # version 6 does not keep the suffixes
    if name in _MAY_DIFFER and not there:
        return  # the properties say nothing of it
    if name == "key_generator" and isinstance(asked, str) and isinstance(there, str):
        asked, there = asked.removesuffix("_AVRO"), there.removesuffix("_AVRO")
    if name == "cdc_logging_mode" and not table.cdc_enabled:
        return
    if asked != there:
        raise InvalidOptionError(
            f"option {keys[0]}={_shown(asked)} contradicts the table, which has {_shown(there) or 'none'}",
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
