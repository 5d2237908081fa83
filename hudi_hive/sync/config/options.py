"""Hive-sync's options under Hudi's and Hive's own names: which field each one sets, and which are refused and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hudi_hive.errors import InvalidOptionError
from hudi_hive.metastore.connection import SECURITY, URIS, secured_uris

HIVE_SYNC = "hoodie.datasource.hive_sync."

BASE_FILE_FORMATS = ("PARQUET", "HFILE", "ORC")
STRATEGIES = ("ALL", "RO", "RT")

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII)
_SYNC_TOOLS = ("org.apache.hudi.hive.HiveSyncTool", "HiveSyncTool")


@dataclass(frozen=True, slots=True)
class Option:
    """One option: the field of the configuration that it sets, and how its text is read."""

    key: str
    field: str
    read: Callable[[str, str], Any]


def _text(key: str, value: str) -> str:
    return value.strip()


def _raw(key: str, value: str) -> str:
    return value


def _flag(key: str, value: str) -> bool:
    text = value.strip().lower()
    if text not in ("true", "false"):
        raise InvalidOptionError(f"{key}={value!r} is not true or false")
    return text == "true"


def _positive(key: str, value: str) -> int:
    if not _WHOLE_NUMBER.fullmatch(value.strip()) or int(value) < 1:
        raise InvalidOptionError(f"{key}={value!r} is not a positive whole number")
    return int(value)


def _not_negative(key: str, value: str) -> int:
    if not _WHOLE_NUMBER.fullmatch(value.strip()) or int(value) < 0:
        raise InvalidOptionError(f"{key}={value!r} is not a whole number")
    return int(value)


def _items(key: str, value: str) -> tuple[str, ...]:
    # The custom key generator writes ``field:SIMPLE``: the suffix says how the value is made, it is not in the name.
    return tuple(item.strip().partition(":")[0] for item in value.split(",") if item.strip())


def _uris(key: str, value: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in value.split(",") if item.strip())


def _properties(key: str, value: str) -> tuple[tuple[str, str], ...]:
    return parse_property_lines(value, key)


def parse_property_lines(text: str, key: str) -> tuple[tuple[str, str], ...]:
    """Lines ``name=value`` of ``table_properties`` and ``serde_properties``: both sides trimmed, blank lines skipped.

    A name without ``=`` has an empty value.

    Raises:
        InvalidOptionError: a line with more than one ``=``, or without a name.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("=")]
        if len(parts) > 2 or not parts[0]:
            raise InvalidOptionError(f"{key}: line {line.strip()!r} is not of the form name=value")
        found[parts[0]] = parts[1] if len(parts) == 2 else ""
    return tuple(found.items())


_K = HIVE_SYNC
OPTIONS: dict[str, Option] = {
    option.key: option
    for option in (
        Option("hoodie.datasource.meta.sync.base.path", "base_path", _text),
        Option(_K + "metastore.uris", "metastore_uris", _uris),
        Option(_K + "database", "database", _text),
        Option(_K + "table", "table", _text),
        Option(_K + "mode", "mode", _text),
        Option(_K + "jdbcurl", "jdbc_url", _text),
        Option(_K + "username", "username", _text),
        Option(_K + "password", "password", _raw),
        Option(_K + "base_file_format", "base_file_format", _text),
        Option(_K + "partition_fields", "partition_fields", _items),
        Option(_K + "partition_extractor_class", "partition_extractor", _text),
        Option("hoodie.datasource.write.hive_style_partitioning", "hive_style_partitioning", _flag),
        Option("hoodie.meta.sync.decode_partition", "decode_partition", _flag),
        Option(_K + "use_pre_apache_input_format", "use_pre_apache_input_format", _flag),
        Option(_K + "auto_create_database", "auto_create_database", _flag),
        Option(_K + "skip_ro_suffix", "skip_ro_suffix", _flag),
        Option(_K + "support_timestamp", "support_timestamp", _flag),
        Option(_K + "table_properties", "table_properties", _properties),
        Option(_K + "serde_properties", "serde_properties", _properties),
        Option(_K + "sync_as_datasource", "sync_as_datasource", _flag),
        Option(_K + "schema_string_length_thresh", "schema_string_length", _positive),
        Option(_K + "create_managed_table", "create_managed_table", _flag),
        Option(_K + "omit_metadata_fields", "omit_metadata_fields", _flag),
        Option(_K + "batch_num", "batch_size", _positive),
        Option(_K + "sync_comment", "sync_comment", _flag),
        Option(_K + "table.strategy", "strategy", _text),
        Option(_K + "filter_pushdown_enabled", "filter_pushdown", _flag),
        Option(_K + "filter_pushdown_max_size", "filter_pushdown_max_size", _not_negative),
        Option(_K + "recreate_table_on_error", "recreate_on_error", _flag),
        Option("hoodie.datasource.meta_sync.condition.sync", "conditional", _flag),
        Option("hoodie.meta_sync.spark.version", "spark_version", _text),
        Option("hoodie.meta.sync.sync_snapshot_with_table_name", "snapshot_with_table_name", _flag),
        Option("hoodie.meta.sync.incremental", "incremental", _flag),
        Option("hoodie.meta.sync.no_partition_metadata", "no_partition_metadata", _flag),
        Option("hoodie.meta.sync.metadata_file_listing", "metadata_file_listing", _flag),
        Option("hoodie.meta.sync.touch.partitions.enabled", "touch_partitions", _flag),
        Option("hoodie.meta.sync.force.recreate.table", "force_recreate", _flag),
        Option(_K + "bucket_sync", "bucket_sync", _flag),
        Option(_K + "bucket_sync_spec", "bucket_spec", _text),
    )
}
"""Option name -> what it sets."""

FALLBACKS: dict[str, tuple[str, ...]] = {
    "metastore_uris": URIS,
    "database": ("hoodie.database.name",),
    "table": ("hoodie.table.name", "hoodie.datasource.write.table.name"),
    "base_file_format": ("hoodie.table.base.file.format",),
    "partition_fields": ("hoodie.table.partition.fields", "hoodie.datasource.write.partitionpath.field"),
    "decode_partition": ("hoodie.datasource.write.partitionpath.urlencode",),
    "metadata_file_listing": ("hoodie.metadata.enable",),
}
"""Field -> options of the table or its writer that stand in for the field's own, first one given first."""

_WITHOUT_EFFECT = frozenset(
    {
        _K + "enable",
        "hoodie.datasource.meta.sync.enable",
        # Partitions are always sent in batches of batch_num, which is what this option turns on in Hudi.
        _K + "batching.enabled",
    }
)
"""Options that change nothing here: they say whether a writer syncs, or ask for what is done anyway; checked."""

_FOR_SQL = {
    _K + "username": "a user of the SQL server",
    _K + "password": "a password of the SQL server",
    _K + "jdbcurl": "the address of the SQL server",
}
"""Options of the modes that send DDL statements; a warning says so in ``hms`` mode."""

_TWO_CLUSTERS = "hoodie.meta_sync.global.replicate.timestamp"

_REFUSED = {
    _TWO_CLUSTERS: "syncing two clusters is not supported",
    _K + "use_spark_catalog": "it is not supported: the metastore is called directly",
    _K + "assume_date_partitioning": "Hudi removed it",
}
"""Options that are refused, but for a ``false`` that asks for nothing."""


def read_options(options: Mapping[str, object]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Field values and warnings out of options under Hudi's names; later layers fill what is not given.

    Raises:
        InvalidOptionError: an option that is unknown or not supported, or a value that it does not take.
    """
    texts = {key: value if isinstance(value, str) else _as_text(key, value) for key, value in options.items()}
    values: dict[str, Any] = {}
    warnings: list[str] = []
    standing_in = {key for keys in FALLBACKS.values() for key in keys}
    for key, text in texts.items():
        if key in OPTIONS:
            option = OPTIONS[key]
            if text.strip() or option.field == "partition_fields":
                values[option.field] = option.read(key, text)
        elif key in _WITHOUT_EFFECT:
            _flag(key, text)
        elif key not in standing_in and key not in SECURITY:
            _check_other(key, text)
    for field, keys in FALLBACKS.items():
        given = next((key for key in keys if key in texts), None)
        if field not in values and given is not None:
            read = next(option.read for option in OPTIONS.values() if option.field == field)
            values[field] = read(given, texts[given])
    security = {key: texts[key] for key in SECURITY if key in texts}
    if security:
        values["metastore_uris"] = secured_uris(security, values.get("metastore_uris", ()))
    _choose_mode(texts, values)
    if values.get("mode", "hms").lower() == "hms":
        unused = [key for key in _FOR_SQL if key in texts]
        warnings.extend(f"{key} is {_FOR_SQL[key]}, which the hms mode does not use" for key in unused)
    return values, tuple(warnings)


def _as_text(key: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    if value is None:
        raise InvalidOptionError(f"{key} has no value")
    return str(value)


def _check_other(key: str, value: str) -> None:
    if key == _K + "ignore_exceptions":
        if _flag(key, value):
            raise InvalidOptionError(
                f"{key}=true is not supported: a sync that did not do what it says fails",
                remedy="leave it out and catch hudi_hive.errors.HudiHiveError around the sync",
            )
    elif key == "hoodie.meta.sync.client.tool.class":
        tools = [item.strip() for item in value.split(",") if item.strip()]
        others = [tool for tool in tools if tool not in _SYNC_TOOLS]
        if others:
            raise InvalidOptionError(f"{key}: {', '.join(others)} is not supported", remedy="HiveSyncTool is")
    elif key in _REFUSED and key != _TWO_CLUSTERS and value.strip().lower() == "false":
        return
    elif key in _REFUSED or key.startswith("hivesyncglobal."):
        raise InvalidOptionError(f"{key}: {_REFUSED.get(key, 'syncing two clusters is not supported')}")
    elif key != _K + "use_jdbc":
        raise InvalidOptionError(
            f"unknown option {key}", remedy="give the sync only options of hive-sync; a typing error would be ignored"
        )


def _choose_mode(options: Mapping[str, str], values: dict[str, Any]) -> None:
    """``use_jdbc`` chooses the mode, as in Hudi, when it is given and ``mode`` is not."""
    key = _K + "use_jdbc"
    if key in options:
        use_jdbc = _flag(key, options[key])
        values.setdefault("mode", "jdbc" if use_jdbc else "hiveql")
