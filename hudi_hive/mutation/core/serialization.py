"""Text forms of values for driver and workers: JSON after a tag of their type."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, TypeVar

from hudi_hive.errors import MutationError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Made = TypeVar("Made")


def encode_text(type_tag: str, value: DataclassInstance) -> str:
    """Encode a value as text."""
    return type_tag + json.dumps(asdict(value), separators=(",", ":"), sort_keys=True)


def decode_text(type_tag: str, text: str, noun: str, whose: str, make: Callable[[dict[str, Any]], Made]) -> Made:
    """Decode the text form of a value.

    Args:
        type_tag: what the text must begin with.
        text: from :func:`encode_text`.
        noun, whose: the kind of value, for errors: ``table``, ``of a mutation``.
        make: makes the value of its fields.

    Raises:
        MutationError: no such text.
    """
    if not text.startswith(type_tag):
        raise MutationError(f"no {noun} {whose}: the text does not begin with {type_tag}")
    try:
        return make(json.loads(text[len(type_tag) :]))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise MutationError(f"the text of a {noun} cannot be read: {error}") from error


def check_fields(kind: type[DataclassInstance], values: Mapping[str, Any]) -> None:
    """Refuse unknown and missing fields of a value.

    Raises:
        ValueError: there are such.
    """
    odd = {field.name for field in fields(kind)} ^ set(values)
    if odd:
        raise ValueError(f"fields {sorted(odd)} are missing or unknown")
