"""Texts that a metastore's database cannot hold, or takes for the same.

Hive's own schema for MySQL and MariaDB has columns of latin1: what they cannot hold becomes ``?`` there, or is an error
of the database. MySQL, MariaDB and Derby compare without trailing blanks.

Source: docs/format/hive.md#metastore-databases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hudi_hive.errors import MetastoreServerError, MetastoreTextError
from hudi_hive.metastore.client.partition_names import DEFAULT_PARTITION, parse_partition_name
from hudi_hive.metastore.client.types import Partition, Table

_LATIN_REMEDY = (
    "change the character set of these columns of its database to utf8mb4 with a binary collation: Hive's schema for"
    " MySQL and MariaDB has latin1"
)
_BLANKS_REMEDY = "use values that differ in more than trailing blanks, or keep the metastore on PostgreSQL"
_SAME_NAME = "Expecting a partition with name"
_OTHER_CHARACTERS = ("Illegal mix of collations", "Incorrect string value", "Exception thrown when executing query")


def is_latin(text: str) -> bool:
    """Whether MySQL's latin1 can hold a text."""
    if text.isascii():
        return True
    try:
        text.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def text_error(error: MetastoreServerError, names: Iterable[str], table: str) -> MetastoreServerError:
    """The plain error, if a refusal is about names that the database cannot hold or tell apart; else the error itself.

    Args:
        error: the metastore's answer to a call on partitions.
        names: the partitions' names.
        table: ``database.table``.
    """
    if _SAME_NAME in error.message:
        return MetastoreTextError(
            f"the metastore's database takes two partitions of {table} for the same: {error.message}",
            path=error.path,
            remedy=_BLANKS_REMEDY,
        )
    if any(mark in error.message for mark in _OTHER_CHARACTERS):
        name = next((name for name in names if not is_latin(name)), None)
        if name is not None:
            return MetastoreTextError(
                f"the metastore's database cannot hold the name of partition {name} of {table}",
                path=error.path,
                remedy=f"{_LATIN_REMEDY} (PARTITIONS.PART_NAME, PARTITION_KEY_VALS.PART_KEY_VAL, SDS.LOCATION)",
            )
    return error


def only_named(partitions: Sequence[Partition], names: Sequence[str]) -> list[Partition]:
    """Those of ``partitions`` that ``names`` names exactly, in its order.

    The metastore answers in any order, and some databases answer with what differs in trailing blanks or case.
    """
    place = {parse_partition_name(name): index for index, name in enumerate(names)}
    found = [(place.get(_values(partition)), partition) for partition in partitions]
    known = [(index, partition) for index, partition in found if index is not None]
    return [partition for _, partition in sorted(known, key=lambda item: item[0])]


def _values(partition: Partition) -> tuple[str, ...]:
    return tuple(value or DEFAULT_PARTITION for value in partition.values)


def fits_values(name: str, values: Sequence[str]) -> bool:
    """Whether a partition's name begins with values of its first keys; an empty text stands for any value."""
    of_name = parse_partition_name(name)
    return all(value in ("", found) for value, found in zip(values, of_name, strict=False))


def ends_in_blank(name: str) -> bool:
    """Whether a partition's name has a value that ends in a blank."""
    return " " in name and any(value.endswith(" ") for value in parse_partition_name(name))


def texts_of(table: Table) -> Iterator[tuple[str, str]]:
    """What a table's definition says, and where: its location, columns, keys and parameters."""
    if table.sd is not None:
        yield "location (SDS.LOCATION)", _plain_path(table.sd.location or "")
        for column in table.sd.cols or ():
            yield "column (COLUMNS_V2.COLUMN_NAME)", column.name
            yield f"type of column {column.name} (COLUMNS_V2.TYPE_NAME)", column.type
            yield f"comment of column {column.name} (COLUMNS_V2.COMMENT)", column.comment or ""
    for key in table.partitionKeys or ():
        yield "partition key (PARTITION_KEYS.PKEY_NAME)", key.name
        yield f"comment of partition key {key.name} (PARTITION_KEYS.PKEY_COMMENT)", key.comment or ""
    for name, value in (table.parameters or {}).items():
        yield f"parameter {name} (TABLE_PARAMS.PARAM_VALUE)", value


def needs_reading_back(table: Table) -> bool:
    """Whether a table's definition has texts that some metastores' databases do not keep."""
    return not all(is_latin(text) for _, text in texts_of(table))


def lost_text(written: Table, stored: Table) -> str | None:
    """What of a written definition the stored one does not have; None when all texts were kept.

    Only texts beyond latin1 are compared: the metastore changes others by itself.
    """
    kept = {text.lower() for _, text in texts_of(stored)}
    for what, text in texts_of(written):
        if not is_latin(text) and text.lower() not in kept:
            return f"{what} {text if len(text) <= 80 else text[:77] + '...'}"
    return None


def lost_error(lost: str, table: str, uri: str) -> MetastoreTextError:
    """The error of a text that was not kept."""
    return MetastoreTextError(
        f"the metastore's database did not keep the characters of table {table}: {lost}", path=uri, remedy=_LATIN_REMEDY
    )


def _plain_path(location: str) -> str:
    """A location without scheme, authority and closing slash, which the metastore may add or leave out."""
    head, colon, rest = location.partition(":")
    path = rest if colon and "/" not in head else location
    if path.startswith("//"):
        _, _, path = path[2:].partition("/")
        path = f"/{path}"
    return path.rstrip("/")
