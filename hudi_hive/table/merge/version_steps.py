"""Changes of a table's merge properties when its version changes, as Hudi's upgrade and downgrade handlers make them.

Source: docs/format.md#changes-of-the-table-version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hudi_hive.errors import UnsupportedTableError
from hudi_hive.names import (
    HOODIE_COMPACTION_PAYLOAD_CLASS,
    HOODIE_COMPACTION_RECORD_MERGER_STRATEGY,
    HOODIE_RECORD_MERGE_MODE,
    HOODIE_RECORD_MERGE_PROPERTY_PREFIX,
    HOODIE_RECORD_MERGE_STRATEGY_ID,
    HOODIE_TABLE_LEGACY_PAYLOAD_CLASS,
    HOODIE_TABLE_ORDERING_FIELDS,
    HOODIE_TABLE_PARTIAL_UPDATE_MODE,
    HOODIE_TABLE_PRECOMBINE_FIELD,
)
from hudi_hive.table.merge.properties import (
    COMMIT_TIME,
    CUSTOM,
    EVENT_TIME,
    MODE_OF_PAYLOAD,
    PAYLOAD_OF_MODE,
    STRATEGY_OF_MODE,
    VERSION_9_OF_PAYLOAD,
)
from hudi_hive.table.properties import TableConfig

Changes = dict[str, str | None]
"""Keys and their new values; None removes a key."""

_MYSQL: Final = "org.apache.hudi.common.model.debezium.MySqlDebeziumAvroPayload"


def merge_changes(config: TableConfig, target: int) -> Changes:
    """The changes of one step: between 5 and 6, 6 and 8, 8 and 9.

    Args:
        config: the table's properties.
        target: the version of after.

    Raises:
        UnsupportedTableError: the table merges in a way that the target version does not have, or that is not known.
    """
    if config.version >= 8 and _mode(config) not in (CUSTOM, *PAYLOAD_OF_MODE):
        raise _refused(config, f"{HOODIE_RECORD_MERGE_MODE}={config.merge_mode}", target)
    steps = {(6, 8): _to_8, (8, 9): _to_9, (9, 8): _from_9, (8, 6): _from_8}
    step = steps.get((config.version, target))
    return {} if step is None else step(config)


def _of_mode(mode: str, payload: str) -> Changes:
    return {
        HOODIE_RECORD_MERGE_MODE: mode,
        HOODIE_RECORD_MERGE_STRATEGY_ID: STRATEGY_OF_MODE[mode],
        HOODIE_COMPACTION_RECORD_MERGER_STRATEGY: STRATEGY_OF_MODE[mode],
        HOODIE_COMPACTION_PAYLOAD_CLASS: payload,
    }


def _mode(config: TableConfig) -> str:
    return (config.merge_mode or (EVENT_TIME if config.ordering_fields else COMMIT_TIME)).upper()


def _to_8(config: TableConfig) -> Changes:
    """Classes of their own way stay, as custom; merge-on-read tables with ordering fields get event time."""
    payload = config.payload_class
    if payload is not None and payload not in MODE_OF_PAYLOAD:
        return _of_mode(CUSTOM, payload)
    is_latest = payload == PAYLOAD_OF_MODE[COMMIT_TIME]
    ordered = config.is_merge_on_read and bool(config.ordering_fields)
    mode = COMMIT_TIME if is_latest and not ordered else EVENT_TIME
    if not config.ordering_fields and payload is None:
        mode = COMMIT_TIME
    return _of_mode(mode, PAYLOAD_OF_MODE[mode])


def _from_8(config: TableConfig) -> Changes:
    """Version 6 goes by the payload class alone."""
    if config.payload_class is not None:
        return {}
    mode = _mode(config)
    if mode == CUSTOM:
        raise _refused(config, "merge mode CUSTOM without a payload class", 6)
    return {HOODIE_COMPACTION_PAYLOAD_CLASS: PAYLOAD_OF_MODE[mode]}


def _to_9(config: TableConfig) -> Changes:
    payload = config.payload_class
    changes: Changes = {}
    if config.ordering_fields:
        changes[HOODIE_TABLE_ORDERING_FIELDS] = ",".join(config.ordering_fields)
        changes[HOODIE_TABLE_PRECOMBINE_FIELD] = None
    if (config.merge_mode or "").upper() != CUSTOM:
        changes[HOODIE_RECORD_MERGE_STRATEGY_ID] = None
    if payload is None:
        return changes
    converted = VERSION_9_OF_PAYLOAD.get(payload)
    if payload in MODE_OF_PAYLOAD:
        # Not said in version 8: by what there is to order by. The class does not count once there is a mode.
        converted = {HOODIE_RECORD_MERGE_MODE: config.merge_mode or MODE_OF_PAYLOAD[payload]}
    if converted is None or payload == _MYSQL:
        raise _refused(config, f"payload class {payload}", 9)
    changes.update(converted)
    if payload not in MODE_OF_PAYLOAD:
        changes[HOODIE_RECORD_MERGE_STRATEGY_ID] = STRATEGY_OF_MODE[converted[HOODIE_RECORD_MERGE_MODE]]
    changes[HOODIE_COMPACTION_PAYLOAD_CLASS] = None
    changes[HOODIE_TABLE_LEGACY_PAYLOAD_CLASS] = payload
    return changes


def _from_9(config: TableConfig) -> Changes:
    if len(config.ordering_fields) > 1:
        raise _refused(config, f"{len(config.ordering_fields)} ordering fields", 8)
    properties: Mapping[str, str] = config.properties
    legacy = (properties.get(HOODIE_TABLE_LEGACY_PAYLOAD_CLASS) or "").strip()
    mode = _mode(config)
    changes: Changes = {
        HOODIE_TABLE_ORDERING_FIELDS: None,
        HOODIE_TABLE_LEGACY_PAYLOAD_CLASS: None,
        HOODIE_TABLE_PARTIAL_UPDATE_MODE: None,
        **dict.fromkeys(key for key in properties if key.startswith(HOODIE_RECORD_MERGE_PROPERTY_PREFIX)),
    }
    if config.ordering_fields:
        changes[HOODIE_TABLE_PRECOMBINE_FIELD] = config.ordering_fields[0]
    if legacy and legacy not in MODE_OF_PAYLOAD:
        return {**changes, **_of_mode(CUSTOM, legacy)}
    payload = config.payload_class
    if mode == CUSTOM:
        if payload is None:
            raise _refused(config, "merge mode CUSTOM without a payload class", 8)
        return {**changes, **_of_mode(CUSTOM, payload)}
    if properties.get(HOODIE_TABLE_PARTIAL_UPDATE_MODE, "NONE").strip().upper() not in ("", "NONE"):
        raise _refused(config, "a partial update mode without the payload class that it stands for", 8)
    return {**changes, **_of_mode(mode, PAYLOAD_OF_MODE[mode])}


def _refused(config: TableConfig, what: str, target: int) -> UnsupportedTableError:
    return UnsupportedTableError(
        f"table {config.name} has {what}, which is not carried over to version {target}",
        path=config.path,
        remedy=f"copy the rows into a new table of version {target}",
    )
