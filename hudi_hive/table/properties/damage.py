"""Detects damage in a table's properties: nearly right keys, bytes that no writer writes, lost lines.

``hoodie.table.checksum`` guards the names alone, and an absent key has a default: a flipped bit in
``hoodie.table.type`` would make a table copy-on-write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from hudi_hive.errors import InvalidPropertiesError
from hudi_hive.names import (
    DEFINING_PROPERTIES,
    HOODIE_ARCHIVELOG_FOLDER,
    HOODIE_COMPACTION_PAYLOAD_CLASS,
    HOODIE_RECORD_MERGE_MODE,
    HOODIE_TABLE_CHECKSUM,
    HOODIE_TABLE_INITIAL_VERSION,
    HOODIE_TABLE_LEGACY_PAYLOAD_CLASS,
    HOODIE_TABLE_ORDERING_FIELDS,
    HOODIE_TABLE_PRECOMBINE_FIELD,
    HOODIE_TABLE_TYPE,
    HOODIE_TABLE_VERSION,
    HOODIE_TIMELINE_HISTORY_PATH,
    HOODIE_TIMELINE_LAYOUT_VERSION,
    HOODIE_TIMELINE_PATH,
)

_ALWAYS: Final = (HOODIE_TABLE_TYPE, HOODIE_TABLE_CHECKSUM, HOODIE_TIMELINE_LAYOUT_VERSION)
_VERSION_WITH_CHECKSUM: Final = 4
_ALWAYS_FROM_8: Final = (HOODIE_TIMELINE_PATH, HOODIE_TIMELINE_HISTORY_PATH, HOODIE_RECORD_MERGE_MODE)
_FOLDERS: Final = {
    HOODIE_ARCHIVELOG_FOLDER: ("archived", "history"),
    HOODIE_TIMELINE_HISTORY_PATH: ("history",),
    HOODIE_TIMELINE_PATH: ("timeline",),
}
_PAYLOADS: Final = (HOODIE_COMPACTION_PAYLOAD_CLASS, HOODIE_TABLE_LEGACY_PAYLOAD_CLASS)
_PAYLOAD_OF_FLINK: Final = ".EventTimeAvroPayload"
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_KEY = re.compile(r".(hoodie\.[a-z_.]+)=", re.DOTALL)
_REMARKS = re.compile(rb"#[^\n]*\n#[^\n]*\n")
_REMARK_WITH_INSTANT = re.compile(rb"#[^\n]* [0-9]{4}-[0-9]{2}-[0-9]{2}T[^\n]*Z\n")
_REMEDY: Final = "restore the file from another copy"


def refuse_damaged(data: bytes, properties: Mapping[str, str], path: str) -> None:
    """Refuse properties that show damage, even where each value by itself is valid.

    Args:
        data: the file.
        properties: what it holds.
        path: the file, for errors.

    Raises:
        InvalidPropertiesError: naming what is wrong.
    """
    control = _CONTROL.search(data)
    if control is not None:
        raise _damaged(f"the byte {control[0][0]:#04x} at {control.start()}, which no writer leaves unescaped", path)
    absent = DEFINING_PROPERTIES.difference(properties)
    for key in properties:
        if key in DEFINING_PROPERTIES or not absent:
            continue
        lost = next((name for name in sorted(absent) if _nearly(key, name)), None)
        if lost is not None:
            raise _damaged(f"the key {key!r} where {lost} is missing", path)
    for key, value in properties.items():
        within = _KEY.search(value)
        if within is not None:
            raise _damaged(f"the key {within[1]} within the value of {key}", path)
    for key, names in _FOLDERS.items():
        folder = properties.get(key, names[0])
        if folder not in names and any(_one_bit(folder, name) for name in names):
            raise _damaged(f"{key}={folder!r}, one bit off {names[0]}", path)
    if _REMARKS.match(data):
        _refuse_cut(data, properties, path)


def _refuse_cut(data: bytes, properties: Mapping[str, str], path: str) -> None:
    """Refuse a file that begins as Java and we store it, with two remarks, and lacks what is then always there."""
    if not data.endswith(b"\n"):
        raise _damaged("no end of its last line", path)
    # A downgrade takes keys of version 8 away, an upgrade leaves the older ones as they were.
    versions = [properties.get(name, "0") for name in (HOODIE_TABLE_INITIAL_VERSION, HOODIE_TABLE_VERSION)]
    due = _due(versions[1], data, properties)
    from_8 = all(version.isdecimal() and int(version) >= 8 for version in versions)
    if from_8:
        due += _ALWAYS_FROM_8
        if properties.get(HOODIE_RECORD_MERGE_MODE) == "EVENT_TIME_ORDERING" and not _has_order(properties):
            due.append(HOODIE_TABLE_ORDERING_FIELDS)
    missing = _missing(due, properties)
    if missing:
        raise _damaged(f"no {', '.join(missing)}", path)
    folders = [properties.get(key) for key in (HOODIE_ARCHIVELOG_FOLDER, HOODIE_TIMELINE_HISTORY_PATH)]
    # From version 8 on, both keys hold the one folder; "archived" is what an upgrade leaves.
    if from_8 and None not in folders and folders[0] not in (folders[1], "archived"):
        raise _damaged(f"two folders of archived instants, {folders[0]!r} and {folders[1]!r}", path)


def _due(version: str, data: bytes, properties: Mapping[str, str]) -> list[str]:
    """What a file always has, by the release: those before 0.6.0 write no version, those before 0.11 no checksum."""
    since = int(version) if version.isdecimal() else 0
    if since >= _VERSION_WITH_CHECKSUM or HOODIE_TABLE_CHECKSUM in properties:
        return [HOODIE_TABLE_VERSION, *_ALWAYS]
    if since == 0 and _REMARK_WITH_INSTANT.match(data) is None:
        return []  # releases that write no version say the time as Java's Date does
    return [HOODIE_TABLE_VERSION, HOODIE_TABLE_TYPE, HOODIE_TIMELINE_LAYOUT_VERSION]


def _has_order(properties: Mapping[str, str]) -> bool:
    payloads = [properties.get(key, "") for key in _PAYLOADS]
    if any(payload.endswith(_PAYLOAD_OF_FLINK) for payload in payloads):
        return True  # Flink's default, and with it the merge mode, whether there is an ordering field or not
    return bool(properties.get(HOODIE_TABLE_ORDERING_FIELDS) or properties.get(HOODIE_TABLE_PRECOMBINE_FIELD))


def _missing(keys: Iterable[str], properties: Mapping[str, str]) -> list[str]:
    return [key for key in keys if not properties.get(key, "").strip()]


def _nearly(key: str, name: str) -> bool:
    """Whether a key is a name with a flipped bit, without its end, or with more behind it than a separator."""
    return _one_bit(key, name) or name.startswith(key) or (key.startswith(name) and key[len(name)] != ".")


def _one_bit(text: str, other: str) -> bool:
    if len(text) != len(other):
        return False
    changed = [ord(a) ^ ord(b) for a, b in zip(text, other, strict=True) if a != b]
    return len(changed) == 1 and changed[0].bit_count() == 1


def _damaged(what: str, path: str) -> InvalidPropertiesError:
    return InvalidPropertiesError(f"hoodie.properties is damaged: it has {what}", path=path, remedy=_REMEDY)
