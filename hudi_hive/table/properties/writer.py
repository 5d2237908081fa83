"""Writes ``hoodie.properties``, with a backup that readers fall back to.

Source: docs/format.md#table-properties.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from hudi_hive.errors import (
    InvalidPropertiesError,
    PathExistsError,
    PathNotFoundError,
    StorageError,
    TableNotFoundError,
)
from hudi_hive.formats import format_properties, parse_properties
from hudi_hive.names import HOODIE_DATABASE_NAME, HOODIE_TABLE_CHECKSUM, HOODIE_TABLE_NAME
from hudi_hive.storage import FileVersion, Storage, run_together
from hudi_hive.table.properties.config import BACKUP_PATH, PROPERTIES_PATH, TableConfig
from hudi_hive.table.properties.damage import refuse_damaged

NAME = HOODIE_TABLE_NAME
DATABASE = HOODIE_DATABASE_NAME
CHECKSUM = HOODIE_TABLE_CHECKSUM


def table_checksum(properties: Mapping[str, str]) -> str:
    """``hoodie.table.checksum``: CRC-32 of database and name alone."""
    return str(zlib.crc32(f"{properties.get(DATABASE, '')}.{properties.get(NAME, '')}".encode()))


def properties_bytes(properties: Mapping[str, str], remark: str) -> bytes:
    """Make the bytes of the file, with the checksum and the two comment lines that Hudi writes.

    Args:
        properties: keys and values.
        remark: what happened: ``Properties saved on`` or ``Updated at``.
    """
    now = datetime.now(UTC)
    stamp = now.isoformat(timespec="microseconds").replace("+00:00", "Z")
    remarks = (f"{remark} {stamp}", now.strftime("%a %b %d %H:%M:%S UTC %Y"))
    return format_properties({**properties, CHECKSUM: table_checksum(properties)}, remarks)


def update_properties(
    storage: Storage, changes: Mapping[str, str | None], *, metadata_table: bool = False
) -> TableConfig:
    """Change keys of a table's ``hoodie.properties``.

    The old content goes to the backup, the file is deleted and written anew, then the backup goes. A death in between
    leaves a backup that readers use and that the next call puts back first. A store that replaces files atomically is
    given the new content in one step instead. The caller holds the table's lock.

    Args:
        storage: rooted at the table's base path.
        changes: key -> new value; None removes the key. Keys that are not named stay as they are.
        metadata_table: the table is another one's metadata table.

    Returns:
        The table's properties as they stand now.

    Raises:
        TableNotFoundError: there is no table.
        InvalidPropertiesError: the changed properties would be none of a table; nothing was written.
        UnsupportedTableError: they would be of a table that is not supported; nothing was written.
    """
    recovered = recover_properties(storage, metadata_table=metadata_table)
    data = recovered.data
    old = parse_properties(data, path=storage.uri(PROPERTIES_PATH))
    new = {key: value for key, value in {**old, **changes}.items() if value is not None}
    new[CHECKSUM] = table_checksum(new)
    path = storage.uri(PROPERTIES_PATH)
    config = TableConfig.from_properties(new, path, metadata_table=metadata_table)
    if new == old:
        return config
    content = properties_bytes(new, "Updated at")
    _refuse_what_readers_refuse(content, new, path)
    if recovered.version is not None:
        try:
            storage.write_version(PROPERTIES_PATH, content, recovered.version)
            return config
        except PathExistsError as error:
            raise _changed_meanwhile(path) from error
        except StorageError:
            if storage.replaces_atomically:
                raise  # otherwise the store has just turned out not to, and nothing was written
    storage.write_bytes(BACKUP_PATH, data)
    storage.flush([BACKUP_PATH])
    storage.delete(PROPERTIES_PATH)
    storage.create_if_absent(PROPERTIES_PATH, content)
    written = parse_properties(storage.read_bytes(PROPERTIES_PATH), path=path)
    if written != new:
        raise _changed_meanwhile(path)
    storage.delete(BACKUP_PATH)
    return config


def _refuse_what_readers_refuse(content: bytes, new: Mapping[str, str], path: str) -> None:
    try:
        refuse_damaged(content, new, path)
    except InvalidPropertiesError as error:
        message = f"nothing was changed, since every reader would say then: {error.message}"
        raise InvalidPropertiesError(message, path=path, remedy="leave these keys as they are") from error


def _changed_meanwhile(path: str) -> InvalidPropertiesError:
    return InvalidPropertiesError(
        "hoodie.properties was changed by another writer at the same time",
        path=path,
        remedy="configure one lock provider for all writers, look at the file, and try again",
    )


class RecoveredProperties(NamedTuple):
    """The properties of a table, whose last update is complete or undone.

    Attributes:
        data: the bytes of the file.
        version: by which the store replaces the file, where it does so atomically and the file was whole.
    """

    data: bytes
    version: FileVersion | None


def recover_properties(storage: Storage, *, metadata_table: bool = False) -> RecoveredProperties:
    """Complete or undo an interrupted update, and read the properties.

    Raises:
        TableNotFoundError: there are neither properties nor a backup.
        InvalidPropertiesError: neither of them can be read.
    """
    there, backup = run_together(storage, [partial(_current, storage), partial(_backup, storage)])
    data = None if there is None else there.data
    if data is not None and (backup is None or _is_whole(data, storage, metadata_table)):
        if backup is not None:  # the update had written the file, or had only begun: either is a whole state
            storage.delete(BACKUP_PATH)
        return RecoveredProperties(data, None if there is None else there.version)
    if backup is None:
        raise TableNotFoundError(
            "not a Hudi table: no .hoodie/hoodie.properties", path=storage.uri(), remedy="create the table first"
        )
    if not _is_whole(backup.data, storage, metadata_table):
        raise InvalidPropertiesError(
            "neither hoodie.properties nor its backup can be read",
            path=storage.uri(PROPERTIES_PATH),
            remedy="write hoodie.properties anew from another copy",
        )
    storage.delete(PROPERTIES_PATH)
    storage.create_if_absent(PROPERTIES_PATH, backup.data)
    storage.delete(BACKUP_PATH)
    return RecoveredProperties(backup.data, None)


def _current(storage: Storage) -> RecoveredProperties | None:
    try:
        if not storage.replaces_atomically:
            return RecoveredProperties(storage.read_bytes(PROPERTIES_PATH), None)
        version = storage.read_version(PROPERTIES_PATH)
        return RecoveredProperties(version.data, version)
    except PathNotFoundError:
        return None


def _backup(storage: Storage) -> RecoveredProperties | None:
    try:
        return RecoveredProperties(storage.read_bytes(BACKUP_PATH), None)
    except PathNotFoundError:
        return None


def _is_whole(data: bytes, storage: Storage, metadata_table: bool) -> bool:
    """Whether bytes are the properties of a table: a torn file lacks keys or the checksum."""
    try:
        config = TableConfig.from_bytes(data, storage.uri(PROPERTIES_PATH), metadata_table=metadata_table)
    except InvalidPropertiesError:
        return False
    return CHECKSUM in config.properties
