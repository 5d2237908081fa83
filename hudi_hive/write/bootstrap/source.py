"""The source of a bootstrap: its partitions, files and columns, and the mode of each partition."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import pyarrow as pa

from hudi_hive.errors import InvalidOptionError, SchemaError, UnsupportedFormatError
from hudi_hive.formats.base import open_base_file
from hudi_hive.names import (
    HOODIE_BOOTSTRAP_MODE_SELECTOR,
    HOODIE_BOOTSTRAP_MODE_SELECTOR_REGEX,
    HOODIE_BOOTSTRAP_MODE_SELECTOR_REGEX_MODE,
)
from hudi_hive.storage import Storage
from hudi_hive.table.view import list_concurrently

_HIDDEN: Final = ("_", ".")
_METADATA_ONLY: Final = "MetadataOnlyBootstrapModeSelector"
_FULL_RECORD: Final = "FullRecordBootstrapModeSelector"
_REGEX: Final = "BootstrapRegexModeSelector"


class BootstrapMode(StrEnum):
    """How a partition of the source gets into the table."""

    METADATA_ONLY = "METADATA_ONLY"
    FULL_RECORD = "FULL_RECORD"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of the source.

    Attributes:
        partition: its folder, relative to the source's base path.
        path: relative to it.
        size: bytes.
        modified_ms: milliseconds since the epoch.
    """

    partition: str
    path: str
    size: int
    modified_ms: int


def list_source(storage: Storage) -> list[ListedFile]:
    """The files of a source, by their paths; names that begin with ``_`` or ``.`` do not count.

    Raises:
        InvalidOptionError: there are none.
        UnsupportedFormatError: one is not a Parquet file.
    """
    listing = storage.list("", recursive=True).to_pylist()
    files: list[ListedFile] = []
    for row in sorted(listing, key=lambda row: str(row["path"])):
        path = str(row["path"])
        if row["is_dir"] or any(part.startswith(_HIDDEN) for part in path.split("/")):
            continue
        if not path.lower().endswith(".parquet"):
            raise UnsupportedFormatError(
                "a file of the source is not Parquet", path=storage.uri(path), remedy="move it out of the source"
            )
        files.append(ListedFile(path.rpartition("/")[0], path, int(row["size"]), int(row["mtime_ms"] or 0)))
    if not files:
        raise InvalidOptionError("the source of the bootstrap has no files", path=storage.uri())
    return files


def source_schema(storage: Storage, files: Sequence[ListedFile]) -> pa.Schema:
    """The columns that all files of a source have.

    Raises:
        SchemaError: two files have different ones.
        CorruptFileError: a footer cannot be decoded.
    """

    def columns(path: str) -> pa.Schema:
        with open_base_file(storage, path) as file:
            return file.schema.remove_metadata()

    first, *others = list_concurrently(storage, columns, [one.path for one in files])
    for file, schema in zip(files[1:], others, strict=True):
        if not schema.equals(first):
            raise SchemaError(
                f"files of the source have different columns: {schema.names} and {first.names}, or types of them",
                path=storage.uri(file.path),
                remedy="write the source anew with one schema",
            )
    return first


def mode_selector(options: Mapping[str, str]) -> Callable[[str], BootstrapMode]:
    """What tells the mode of a partition of the source, by Hudi's selector classes; metadata only without one.

    Raises:
        InvalidOptionError: another class, or an expression or mode that is wrong.
    """
    name = options.get(HOODIE_BOOTSTRAP_MODE_SELECTOR, _METADATA_ONLY).rpartition(".")[2]
    if name == _METADATA_ONLY:
        return lambda _: BootstrapMode.METADATA_ONLY
    if name == _FULL_RECORD:
        return lambda _: BootstrapMode.FULL_RECORD
    if name != _REGEX:
        raise InvalidOptionError(
            f"{HOODIE_BOOTSTRAP_MODE_SELECTOR}={name} is not known",
            remedy=f"one of {_METADATA_ONLY}, {_FULL_RECORD}, {_REGEX}",
        )
    text = options.get(HOODIE_BOOTSTRAP_MODE_SELECTOR_REGEX, ".*")
    mode = options.get(HOODIE_BOOTSTRAP_MODE_SELECTOR_REGEX_MODE, BootstrapMode.METADATA_ONLY).upper()
    try:
        pattern, matching = re.compile(text), BootstrapMode(mode)
    except (re.error, ValueError) as error:
        raise InvalidOptionError(f"{HOODIE_BOOTSTRAP_MODE_SELECTOR_REGEX}: {error}") from error
    (other,) = set(BootstrapMode) - {matching}
    return lambda partition: matching if pattern.fullmatch(partition) else other
