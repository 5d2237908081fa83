"""Makes the merge properties of new tables, as the release of each table version writes them.

Source: docs/format.md#merge-modes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.names import (
    HOODIE_COMPACTION_PAYLOAD_CLASS,
    HOODIE_COMPACTION_RECORD_MERGER_STRATEGY,
    HOODIE_PAYLOAD_DELETE_FIELD,
    HOODIE_PAYLOAD_DELETE_MARKER,
    HOODIE_RECORD_MERGE_MODE,
    HOODIE_RECORD_MERGE_PROPERTY_PREFIX,
    HOODIE_RECORD_MERGE_STRATEGY_ID,
    HOODIE_TABLE_LEGACY_PAYLOAD_CLASS,
    HOODIE_TABLE_ORDERING_FIELDS,
    HOODIE_TABLE_PARTIAL_UPDATE_MODE,
    HOODIE_TABLE_PRECOMBINE_FIELD,
    HOODIE_WRITE_PARTIAL_UPDATE_UNAVAILABLE_VALUE,
)
from hudi_hive.table.merge.mergers import takes_merger

COMMIT_TIME: Final = "COMMIT_TIME_ORDERING"
EVENT_TIME: Final = "EVENT_TIME_ORDERING"
CUSTOM: Final = "CUSTOM"
MODES: Final = (COMMIT_TIME, EVENT_TIME, CUSTOM)

_MODEL: Final = "org.apache.hudi.common.model."
_DEBEZIUM: Final = f"{_MODEL}debezium."
PAYLOAD_OF_MODE: Final = {
    COMMIT_TIME: f"{_MODEL}OverwriteWithLatestAvroPayload",
    EVENT_TIME: f"{_MODEL}DefaultHoodieRecordPayload",
}
MODE_OF_PAYLOAD: Final = {payload: mode for mode, payload in PAYLOAD_OF_MODE.items()}
STRATEGY_OF_MODE: Final = {
    COMMIT_TIME: "ce9acb64-bde0-424c-9b91-f6ebba25356d",
    EVENT_TIME: "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
    CUSTOM: "00000000-0000-0000-0000-000000000000",
}
_PARTIAL: Final = HOODIE_TABLE_PARTIAL_UPDATE_MODE
_MERGE: Final = HOODIE_RECORD_MERGE_PROPERTY_PREFIX
_UNAVAILABLE: Final = f"{_MERGE}{HOODIE_WRITE_PARTIAL_UPDATE_UNAVAILABLE_VALUE}"

# Deprecated payloads -> what version 9 writes in place of them.
VERSION_9_OF_PAYLOAD: Final[Mapping[str, Mapping[str, str]]] = {
    f"{_MODEL}EventTimeAvroPayload": {HOODIE_RECORD_MERGE_MODE: EVENT_TIME},
    f"{_MODEL}PartialUpdateAvroPayload": {HOODIE_RECORD_MERGE_MODE: EVENT_TIME, _PARTIAL: "IGNORE_DEFAULTS"},
    f"{_MODEL}OverwriteNonDefaultsWithLatestAvroPayload": {
        HOODIE_RECORD_MERGE_MODE: COMMIT_TIME,
        _PARTIAL: "IGNORE_DEFAULTS",
    },
    f"{_MODEL}AWSDmsAvroPayload": {
        HOODIE_RECORD_MERGE_MODE: COMMIT_TIME,
        f"{_MERGE}{HOODIE_PAYLOAD_DELETE_FIELD}": "Op",
        f"{_MERGE}{HOODIE_PAYLOAD_DELETE_MARKER}": "D",
    },
    f"{_DEBEZIUM}PostgresDebeziumAvroPayload": {
        HOODIE_RECORD_MERGE_MODE: EVENT_TIME,
        _PARTIAL: "FILL_UNAVAILABLE",
        _UNAVAILABLE: "__debezium_unavailable_value",
        f"{_MERGE}{HOODIE_PAYLOAD_DELETE_FIELD}": "_change_operation_type",
        f"{_MERGE}{HOODIE_PAYLOAD_DELETE_MARKER}": "d",
    },
}


def merge_properties(
    version: int, table_type: str, ordering_fields: Sequence[str], mode: str | None, payload_class: str | None
) -> dict[str, str]:
    """Make the properties of merge mode, strategy id, payload class and ordering fields.

    Args:
        version: table version, 6, 8 or 9.
        table_type: ``COPY_ON_WRITE`` or ``MERGE_ON_READ``.
        ordering_fields: columns; versions 6 and 8 take one.
        mode: one of :data:`MODES`; without it that of the payload class, else event time where there are ordering
            fields and commit time where there are none, but in version 6, whose default is commit time.
        payload_class: full name of the class, or None.

    Raises:
        InvalidOptionError: the arguments contradict one another, or the version has no such mode.
    """
    if mode is not None and mode not in MODES:
        raise InvalidOptionError(f"merge mode {mode!r} is not one of {', '.join(MODES)}")
    implied = MODE_OF_PAYLOAD.get(payload_class or "", CUSTOM if payload_class else None)
    if mode is not None and implied is not None and mode != implied:
        raise InvalidOptionError(f"merge mode {mode} does not go with payload class {payload_class}")
    if mode == CUSTOM and payload_class is None:
        raise InvalidOptionError("merge mode CUSTOM wants a payload class")
    _refuse_several(version, ordering_fields)
    chosen = mode or implied
    if chosen == EVENT_TIME and not ordering_fields:
        raise InvalidOptionError("event-time ordering wants an ordering field")
    if version == 6:
        return _version_6(table_type, ordering_fields, chosen, payload_class)
    chosen = chosen or (EVENT_TIME if ordering_fields else COMMIT_TIME)
    return (_version_8 if version == 8 else _version_9)(ordering_fields, chosen, payload_class)


def strategy_properties(version: int, ordering_fields: Sequence[str], strategy_id: str) -> dict[str, str]:
    """Make the properties of a table that merges by a strategy with a registered merger.

    Args:
        version: table version, 8 or 9.
        ordering_fields: columns; version 8 takes one.
        strategy_id: what the merger class's ``getMergingStrategy()`` gives.

    Raises:
        InvalidOptionError: the version goes by payload classes, or takes one ordering field.
    """
    if version == 6:
        raise InvalidOptionError("table version 6 merges by payload class", remedy="register a merger for a class")
    _refuse_several(version, ordering_fields)
    key = HOODIE_TABLE_PRECOMBINE_FIELD if version == 8 else HOODIE_TABLE_ORDERING_FIELDS
    return {
        **({key: ",".join(ordering_fields)} if ordering_fields else {}),
        HOODIE_RECORD_MERGE_MODE: CUSTOM,
        HOODIE_RECORD_MERGE_STRATEGY_ID: strategy_id,
    }


def _refuse_several(version: int, ordering_fields: Sequence[str]) -> None:
    if len(ordering_fields) > 1 and version < 9:
        raise InvalidOptionError(
            f"table version {version} takes one ordering field", remedy="use version 9 for several"
        )


def _version_6(
    table_type: str, ordering_fields: Sequence[str], mode: str | None, payload_class: str | None
) -> dict[str, str]:
    """0.15.0 writes class and strategy for merge-on-read tables only; one that was asked for is kept in any case."""
    result = {HOODIE_TABLE_PRECOMBINE_FIELD: ordering_fields[0]} if ordering_fields else {}
    if table_type == "MERGE_ON_READ" or (mode not in (None, COMMIT_TIME)):
        result[HOODIE_COMPACTION_PAYLOAD_CLASS] = payload_class or PAYLOAD_OF_MODE[mode or COMMIT_TIME]
        # The release writes this strategy whatever the class; the class decides.
        result[HOODIE_COMPACTION_RECORD_MERGER_STRATEGY] = STRATEGY_OF_MODE[EVENT_TIME]
    return result


def _version_8(ordering_fields: Sequence[str], mode: str, payload_class: str | None) -> dict[str, str]:
    return {
        **({HOODIE_TABLE_PRECOMBINE_FIELD: ordering_fields[0]} if ordering_fields else {}),
        HOODIE_RECORD_MERGE_MODE: mode,
        HOODIE_RECORD_MERGE_STRATEGY_ID: STRATEGY_OF_MODE[mode],
        HOODIE_COMPACTION_PAYLOAD_CLASS: payload_class or PAYLOAD_OF_MODE[mode],
    }


def _version_9(ordering_fields: Sequence[str], mode: str, payload_class: str | None) -> dict[str, str]:
    result = {HOODIE_TABLE_ORDERING_FIELDS: ",".join(ordering_fields)} if ordering_fields else {}
    if mode != CUSTOM:
        return {**result, HOODIE_RECORD_MERGE_MODE: mode}
    converted = VERSION_9_OF_PAYLOAD.get(payload_class or "")
    if converted is None and payload_class is not None and takes_merger(payload_class):
        strategy = {HOODIE_RECORD_MERGE_STRATEGY_ID: STRATEGY_OF_MODE[CUSTOM]}
        return {**result, HOODIE_RECORD_MERGE_MODE: CUSTOM, **strategy, HOODIE_COMPACTION_PAYLOAD_CLASS: payload_class}
    if converted is None:
        raise InvalidOptionError(f"payload class {payload_class} is not known to table version 9")
    return {**result, HOODIE_TABLE_LEGACY_PAYLOAD_CLASS: payload_class or "", **converted}
