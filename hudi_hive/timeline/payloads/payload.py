"""Decodes the payloads of instants' files to records with checked fields.

A payload is an Avro object container with one record, or the same record as JSON in timeline layout 1. Either is
written by other programs and may be damaged, so the type of each field is checked on access.

Source: docs/format.md#states-and-payloads, docs/format.md#avro-records-of-the-timeline.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from hudi_hive.errors import CorruptFileError, CorruptInstantError
from hudi_hive.formats.avro import describe, is_container, read_container

_T = TypeVar("_T")

_REMEDY = "restore the file, or roll the instant back with the engine that wrote it"


def corrupt(message: str, path: str, instant: str) -> CorruptInstantError:
    """Make the error for an instant whose file cannot be decoded."""
    return CorruptInstantError(message, path=path, instant=instant, remedy=_REMEDY)


def decode_payload(data: bytes, path: str, instant: str) -> dict[str, Any] | None:
    """Decode the record of an instant's file; None for an empty file.

    Args:
        data: the file's bytes.
        path: the file, for errors.
        instant: requested time, for errors.

    Raises:
        CorruptInstantError: neither JSON nor an Avro container with one record.
    """
    if not data:
        return None
    if is_container(data):
        try:
            records = read_container(data, path)
        except CorruptFileError as error:
            raise corrupt(error.message, path, instant) from error
        if len(records) != 1:
            raise corrupt(f"Avro container holds {len(records)} records where one is due", path, instant)
        return records[0]
    if data[:1] != b"{":
        raise corrupt("payload is neither JSON nor an Avro container", path, instant)
    try:
        record = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise corrupt(f"JSON payload cannot be decoded: {describe(error)}", path, instant) from error
    if not isinstance(record, dict):
        raise corrupt("JSON payload is not an object", path, instant)
    return record


@dataclass(frozen=True, slots=True)
class Fields:
    """A decoded record with typed access to its fields; absent fields are like null ones.

    Args:
        record: field name -> value.
        path: file it came from.
        instant: requested time.
    """

    record: Mapping[str, Any]
    path: str
    instant: str

    def text(self, name: str) -> str | None:
        """A nullable string field."""
        return self._take(name, str)

    def integer(self, name: str) -> int | None:
        """A nullable integer field."""
        return self._take(name, int)

    def flag(self, name: str) -> bool:
        """A boolean field; null is false."""
        return bool(self._take(name, bool))

    def mapping(self, name: str) -> dict[str, Any]:
        """A map field; null is empty."""
        return self._take(name, dict) or {}

    def texts(self, name: str) -> list[str]:
        """An array of strings; null is empty."""
        values = self.sequence(name)
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(name)
        return values

    def text_map(self, name: str) -> dict[str, str]:
        """A map of strings; null is empty, null values are left out."""
        values = {key: value for key, value in self.mapping(name).items() if value is not None}
        if not all(isinstance(value, str) for value in values.values()):
            raise self.wrong(name)
        return values

    def int_map(self, name: str) -> dict[str, int]:
        """A map of integers; null is empty."""
        values = self.mapping(name)
        if not all(isinstance(value, int) for value in values.values()):
            raise self.wrong(name)
        return values

    def sequence(self, name: str) -> list[Any]:
        """An array field; null is empty."""
        return self._take(name, list) or []

    def child(self, name: str) -> Fields | None:
        """A nullable record field."""
        value = self._take(name, dict)
        return None if value is None else self.of(value)

    def children(self, name: str) -> list[Fields]:
        """An array of records; null is empty, null items are left out."""
        values = [value for value in self.sequence(name) if value is not None]
        if not all(isinstance(value, dict) for value in values):
            raise self.wrong(name)
        return [self.of(value) for value in values]

    def child_map(self, name: str) -> dict[str, Fields]:
        """A map of records; null is empty."""
        values = self.mapping(name)
        if not all(isinstance(value, dict) for value in values.values()):
            raise self.wrong(name)
        return {key: self.of(value) for key, value in values.items()}

    def require(self, names: Iterable[str], what: str) -> Fields:
        """Return these fields if the record has all of the names and none is null.

        Raises:
            CorruptInstantError: it lacks one, so that it is no record of ``what``.
        """
        missing = [name for name in names if self.record.get(name) is None]
        if missing:
            raise corrupt(f"the record lacks {', '.join(missing)}: it is not that of {what}", self.path, self.instant)
        return self

    def require_time(self, name: str, what: str) -> Fields:
        """Return these fields if one of them is the requested time of the instant that they belong to.

        Raises:
            CorruptInstantError: it is missing or another time: the record is that of another instant.
        """
        if self.text(name) != self.instant:
            raise corrupt(
                f"{name} is {self.record.get(name)!r}: the record is not that of this {what}", self.path, self.instant
            )
        return self

    def of(self, record: Mapping[str, Any]) -> Fields:
        """Typed access to another record of the same file."""
        return Fields(record, self.path, self.instant)

    def wrong(self, name: str) -> CorruptInstantError:
        """Make the error for a field whose type is not that of the format."""
        return corrupt(f"field {name!r} is missing or of the wrong type", self.path, self.instant)

    def _take(self, name: str, kind: type[_T]) -> _T | None:
        value = self.record.get(name)
        if value is None:
            return None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.wrong(name)
        return value
