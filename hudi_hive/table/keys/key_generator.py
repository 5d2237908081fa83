"""Makes the record keys and partition paths of rows, as Hudi's key generators do.

Only distinct partition values are looked at one by one. What no generator of Hudi does is refused, never guessed.

Source: docs/format.md#record-keys, docs/format.md#key-generators.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import (
    InvalidOptionError,
    KeyGenerationError,
    PartitionValueError,
    UnknownColumnError,
    UnsupportedTableError,
)
from hudi_hive.names import (
    HOODIE_CONSISTENT_LOGICAL_TIMESTAMP_ENABLED,
    HOODIE_DATASOURCE_WRITE_PARTITIONPATH_FIELD,
    HOODIE_HIVE_TIMESTAMP_FOLDERS,
    HOODIE_TABLE_PARTITION_FIELDS,
    HOODIE_WRITE_COMPLEX_KEYGEN_NEW_ENCODING,
)
from hudi_hive.options import parse_java_boolean
from hudi_hive.schema import java_text, text_or
from hudi_hive.table.keys.partition_paths import DEFAULT_PARTITION, escape_value, partition_values, path_defect
from hudi_hive.table.keys.timestamp_path import TimestampFormat
from hudi_hive.table.properties import TableConfig

NULL_KEY: Final = "__null__"
EMPTY_KEY: Final = "__empty__"
CONSISTENT_TIMESTAMPS: Final = HOODIE_CONSISTENT_LOGICAL_TIMESTAMP_ENABLED
TIMESTAMP_FOLDERS: Final = HOODIE_HIVE_TIMESTAMP_FOLDERS
NEW_COMPLEX_ENCODING: Final = HOODIE_WRITE_COMPLEX_KEYGEN_NEW_ENCODING

_SHOWN: Final = 200
"""Characters of a partition path that an error shows."""

_KINDS: Final = ("SIMPLE", "COMPLEX", "NON_PARTITION", "TIMESTAMP", "CUSTOM", "GLOBAL_DELETE", "AUTO_RECORD")


@dataclass(frozen=True, slots=True)
class _PathField:
    """One partition field: its name and, if its values are times to be formatted, how."""

    name: str
    timestamp: TimestampFormat | None


@dataclass(frozen=True, slots=True)
class KeyGenerator:
    """The key generator of a table: makes record keys and partition paths of its rows.

    Attributes:
        kind: name in ``hoodie.table.keygenerator.type``, without ``_AVRO``.
        record_fields: key fields, dotted below structs; none for keys that are made up.
        named: keys are ``field:value`` pairs even for a single field.
        path_fields: partition fields and how each value is made.
        hive_style, url_encoded: how partition paths are written.
        consistent_timestamps: timestamps stand in keys and paths as text, not as numbers.
        timestamp_folders: timestamps stand in paths as Hudi's SQL writes them, ``2024-01-31 10%3A00%3A00``.
        version: of the table.
        longest_path: bytes that a partition path may have where the table lies; None for no such limit.
        longest_key: bytes that a record key may have; None for no limit.
    """

    kind: str
    record_fields: tuple[str, ...]
    named: bool
    path_fields: tuple[_PathField, ...]
    hive_style: bool
    url_encoded: bool
    consistent_timestamps: bool = False
    timestamp_folders: bool = False
    version: int = 8
    longest_path: int | None = None
    longest_key: int | None = None

    @classmethod
    def of(
        cls, config: TableConfig, options: Mapping[str, str] | None = None, *, named: bool | None = None
    ) -> KeyGenerator:
        """The key generator of a table's properties.

        Args:
            config: the table's properties.
            options: write options; those of the key generator that the properties do not hold are taken from them.
            named: whether a complex key of a single field is written with the field's name, where the table's files
                tell; None for the way of the table version's release.

        Raises:
            UnsupportedTableError: a key generator that we do not know.
            InvalidOptionError: an option of it is missing or has a value that it does not take.
        """
        settings = {**(options or {}), **config.properties}
        kind = (config.key_generator or _inferred(config)).removesuffix("_AVRO")
        if kind not in _KINDS:
            raise UnsupportedTableError(
                f"key generator {config.key_generator} of table {config.name}: its keys are not known",
                remedy="Hudi's simple, complex, nonpartitioned, timestamp, custom and global delete generators are",
            )
        if kind == "SIMPLE" and len(config.record_keys) > 1:
            raise _needs("SIMPLE", "a single record key field", config.record_keys)
        if kind in ("SIMPLE", "TIMESTAMP") and len(config.partition_fields) > 1:
            raise _needs(kind, "a single partition field", config.partition_fields)
        return cls(
            kind=kind,
            record_fields=() if kind == "AUTO_RECORD" else config.record_keys,
            named=_is_named(config, kind, settings, named),
            path_fields=_path_fields(config, kind, settings),
            hive_style=config.hive_style_partitioning,
            url_encoded=config.url_encode_partitioning,
            consistent_timestamps=parse_java_boolean(settings.get(CONSISTENT_TIMESTAMPS, "false")),
            timestamp_folders=parse_java_boolean(settings.get(TIMESTAMP_FOLDERS, "false")),
            version=config.version,
        )

    @property
    def makes_up_keys(self) -> bool:
        """Whether record keys are generated because the table has no key fields."""
        return not self.record_fields

    def record_keys(
        self, table: pa.Table | pa.RecordBatch, *, instant: str | None = None, task: int = 0, first: int = 0
    ) -> pa.Array:
        """Make the record key of each row.

        Args:
            table: rows with the key fields.
            instant, task, first: for keys that are made up: requested time of the write, number of the task, running
                number of the first row in it.

        Raises:
            KeyGenerationError: a row whose key fields are null or empty.
            UnknownColumnError: a key field that the rows do not have.
            UnsupportedTableError: a key field of a type that makes no key.
        """
        if self.makes_up_keys:
            return _made_up(table.num_rows, instant, task, first)
        texts = [self._text(table, name) for name in self.record_fields]
        if len(texts) == 1 and not self.named:
            _check_single(texts[0], self.record_fields[0])
            return self._of_length(texts[0])
        _check_all(texts, self.record_fields)
        _check_unambiguous(texts, self.record_fields)
        if self.version >= 8:
            _check_structs(table, self.record_fields)
        parts = [
            pc.binary_join_element_wise(f"{name}:", text_or(text, NULL_KEY, EMPTY_KEY), "")
            for name, text in zip(self.record_fields, texts, strict=True)
        ]
        return self._of_length(parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, ","))

    def _of_length(self, keys: pa.Array) -> pa.Array:
        """Record keys, none of them longer than the table's indexes take."""
        if self.longest_key is None:
            return keys
        length = pc.max(pc.binary_length(keys)).as_py() or 0
        if length > self.longest_key:
            row = pc.index(pc.equal(pc.binary_length(keys), length), True).as_py()
            raise KeyGenerationError(
                f"the record key of row {row} has {length} bytes, a record index takes {self.longest_key}",
                remedy="give shorter keys, or write to a table without record index",
            )
        return keys

    def partition_paths(self, table: pa.Table | pa.RecordBatch) -> pa.Array:
        """Make the partition path of each row; the empty text for a table that is not partitioned.

        Raises:
            KeyGenerationError: a value that the timestamp format cannot read, or that leads out of the table.
            UnknownColumnError: a partition field that the rows do not have.
            UnsupportedTableError: a partition field of a type that makes no path.
        """
        if not self.path_fields:
            return pa.repeat(pa.scalar("", pa.string()), table.num_rows)
        parts = [self._folders(table, field) for field in self.path_fields]
        joined = parts[0] if len(parts) == 1 else _joined(parts)
        for path in joined.dictionary.to_pylist():
            self._check(path)
        return joined.dictionary.take(joined.indices)

    def matcher(self, table: pa.Table, names: Collection[str]) -> Callable[[str], bool]:
        """Make what says of a partition path whether some of its values are those of a row.

        Args:
            table: one row with all partition fields.
            names: the partition fields whose values count, in lower case.
        """
        parts = []
        for field in self.path_fields:
            if field.name.lower() in names:
                parts.append(re.escape(self._folders(table, field)[0].as_py()))
            else:
                parts.append(re.escape(f"{field.name}=") + ".*" if self.hive_style else ".*")
        pattern = re.compile("/".join(parts), re.DOTALL)
        return lambda path: pattern.fullmatch(path) is not None

    def path_of(self, values: Sequence[str | None]) -> str:
        """Make a partition path of one text for each partition field; of formatted times the formatted text.

        Raises:
            KeyGenerationError: not one for each field, or one that leads out of the table.
        """
        if len(values) != len(self.path_fields):
            raise KeyGenerationError(f"{len(values)} partition values for {len(self.path_fields)} partition fields")
        path = "/".join(self._folder(item.name, value) for item, value in zip(self.path_fields, values, strict=True))
        self._check(path)
        return path

    def _text(self, table: pa.Table | pa.RecordBatch, name: str) -> pa.Array:
        return java_text(field_values(table, name), name, consistent_timestamps=self.consistent_timestamps)

    def _folders(self, table: pa.Table | pa.RecordBatch, field: _PathField) -> pa.DictionaryArray:
        """Folder of each row for one field."""
        values = field_values(table, field.name)
        escaped = False
        if field.timestamp is not None:
            texts = field.timestamp.texts(values, field.name, consistent=self.consistent_timestamps)
        elif self.timestamp_folders and pa.types.is_timestamp(values.type) and values.type.tz is not None:
            times = java_text(values, field.name, consistent_timestamps=True)
            texts, escaped = pc.replace_substring_regex(times, r"\.\d+$", ""), True
        else:
            texts = java_text(values, field.name, consistent_timestamps=self.consistent_timestamps)
        coded = texts.dictionary_encode(null_encoding="encode")
        folders = [self._folder(field.name, value, escaped=escaped) for value in coded.dictionary.to_pylist()]
        return pa.DictionaryArray.from_arrays(coded.indices, pa.array(folders, pa.string()))

    def _folder(self, name: str, value: str | None, *, escaped: bool = False) -> str:
        text = (escape_value(value) if self.url_encoded or escaped else value) if value else DEFAULT_PARTITION
        return f"{name}={text}" if self.hive_style else text

    def _check(self, path: str) -> None:
        """Refuse a partition path whose rows could not be read again; that of a table without partitions is empty."""
        if not self.path_fields:
            return
        defect = path_defect(path)
        if defect is None and self.longest_path is not None and (length := len(path.encode())) > self.longest_path:
            defect = f"it has {length} bytes, and paths of files below this table can have {self.longest_path} more"
        if defect is None:
            return
        raise self._unwritable(path, defect)

    def check_values(self, paths: pa.Array) -> None:
        """Refuse partition paths of several fields whose values cannot be told apart, as they have slashes in them.

        Hudi writes such paths, and then cannot read the table.

        Raises:
            KeyGenerationError: there is one.
        """
        names = [item.name for item in self.path_fields]
        if len(names) < 2:
            return
        for path in pc.unique(paths).to_pylist():
            try:
                partition_values(path, names, hive_style=self.hive_style, url_encoded=self.url_encoded)
            except PartitionValueError:
                raise self._unwritable(path, "values with slashes in them cannot be told apart again") from None

    def _unwritable(self, path: str, defect: str) -> KeyGenerationError:
        names = ", ".join(item.name for item in self.path_fields)
        shown = path if len(path) <= _SHOWN else f"{path[:_SHOWN]}…"
        return KeyGenerationError(
            f"partition path {shown!r}, made of {names}, cannot be written: {defect}",
            remedy="give other values"
            if self.url_encoded
            else "give other values, or set hoodie.datasource.write.partitionpath.urlencode when the table is made",
        )


def field_values(table: pa.Table | pa.RecordBatch, name: str) -> pa.Array:
    """Get a column, or a field of structs by its dotted name, as one array.

    Raises:
        UnknownColumnError: there is none.
    """
    index = table.schema.get_field_index(name)
    if index >= 0:
        return _whole(table.column(index))
    head, _, rest = name.partition(".")
    index = table.schema.get_field_index(head)
    if index >= 0 and rest:
        try:
            return pc.struct_field(_whole(table.column(index)), rest.split("."))
        except (pa.ArrowException, KeyError):
            pass
    raise UnknownColumnError(
        f"the rows have no column {name!r}, which keys or partition paths are made of",
        remedy="columns are " + ", ".join(table.schema.names),
    )


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _inferred(config: TableConfig) -> str:
    if not config.partition_fields:
        return "NON_PARTITION"
    return "SIMPLE" if len(config.partition_fields) == 1 and len(config.record_keys) <= 1 else "COMPLEX"


def _is_named(config: TableConfig, kind: str, settings: Mapping[str, str], named: bool | None) -> bool:
    """Whether a single key field is written with its name: releases differ for the complex generator."""
    if len(config.record_keys) != 1:
        return True
    if kind == "GLOBAL_DELETE":
        return True
    if kind != "COMPLEX":
        return False
    if config.version >= 9:
        return True
    if named is not None:
        return named
    return not parse_java_boolean(settings.get(NEW_COMPLEX_ENCODING, "true"))


def _path_fields(config: TableConfig, kind: str, settings: Mapping[str, str]) -> tuple[_PathField, ...]:
    if kind in ("NON_PARTITION", "GLOBAL_DELETE"):
        return ()
    if kind == "TIMESTAMP":
        return tuple(_PathField(name, TimestampFormat.of(settings, config.version)) for name in config.partition_fields)
    if kind == "CUSTOM":
        return tuple(_custom_field(entry, settings, config.version) for entry in _custom_entries(config, settings))
    return tuple(_PathField(name, None) for name in config.partition_fields)


def _custom_entries(config: TableConfig, settings: Mapping[str, str]) -> list[str]:
    """Partition fields with their kinds: version 6 keeps the bare names, the kinds come with each write."""
    for key in (HOODIE_TABLE_PARTITION_FIELDS, HOODIE_DATASOURCE_WRITE_PARTITIONPATH_FIELD):
        entries = [entry.strip() for entry in settings.get(key, "").split(",") if entry.strip()]
        names = tuple(entry.partition(":")[0] for entry in entries)
        if names == config.partition_fields and all(":" in entry for entry in entries):
            return entries
    raise InvalidOptionError(
        f"table {config.name} does not tell how the custom key generator makes its partition paths",
        remedy="give hoodie.datasource.write.partitionpath.field as a list of field:SIMPLE and field:TIMESTAMP",
    )


def _custom_field(entry: str, settings: Mapping[str, str], version: int) -> _PathField:
    name, _, kind = entry.partition(":")
    if kind.strip().upper() == "TIMESTAMP":
        return _PathField(name, TimestampFormat.of(settings, version))
    if kind.strip().upper() == "SIMPLE":
        return _PathField(name, None)
    raise InvalidOptionError(f"partition field {entry!r} is neither of kind SIMPLE nor TIMESTAMP")


def _needs(kind: str, what: str, fields: tuple[str, ...]) -> InvalidOptionError:
    return InvalidOptionError(
        f"key generator {kind} takes {what}, not {', '.join(fields)}", remedy="use the complex key generator"
    )


def _check_single(text: pa.Array, name: str) -> None:
    bad = pc.fill_null(pc.equal(pc.binary_length(text), 0), True)
    if pc.any(bad, min_count=0).as_py():
        raise KeyGenerationError(
            f"record key field {name!r} is null or empty in row {pc.index(bad, True).as_py()}",
            remedy="each row needs a record key",
        )


def _check_all(texts: list[pa.Array], names: tuple[str, ...]) -> None:
    """At least one of several key fields must have a value in each row."""
    bad = None
    for text in texts:
        void = pc.fill_null(pc.equal(pc.binary_length(text), 0), True)
        bad = void if bad is None else pc.and_(bad, void)
    if bad is not None and pc.any(bad, min_count=0).as_py():
        raise KeyGenerationError(
            f"record key fields {', '.join(names)} are all null or empty in row {pc.index(bad, True).as_py()}",
            remedy="each row needs a record key",
        )


def _check_unambiguous(texts: list[pa.Array], names: tuple[str, ...]) -> None:
    """Values of several key fields must stand in the key so that no other values make the same one.

    Hudi writes ``a:1,b:2`` without escapes and makes one record of what comes out alike: of ``1,b:2`` beside ``3`` and
    ``1`` beside ``2,b:3``, of null and ``__null__``. Rows would be lost, so such values are refused.
    """
    if len(texts) < 2:
        return
    for text, name, following in zip(texts, names, (*names[1:], None), strict=True):
        bad = pc.or_(pc.equal(text, NULL_KEY), pc.equal(text, EMPTY_KEY))
        if following is not None and _holds_somewhere(text, f",{following}:"):
            bad = pc.or_(bad, pc.match_substring(text, f",{following}:"))
        if pc.any(bad, min_count=0).as_py():
            row = pc.index(bad, True).as_py()
            raise KeyGenerationError(
                f"record key field {name!r} has the value {text[row].as_py()[:_SHOWN]!r} in row {row}, which other "
                f"values of {', '.join(names)} would make the same record key of",
                remedy=f"give values other than {NULL_KEY} and {EMPTY_KEY}, and without a comma before a field's name",
            )


def _holds_somewhere(texts: pa.Array, part: str) -> bool:
    """Whether a part may be in any of the texts: one search through the bytes of all, where a search a text costs."""
    data = texts.buffers()[2]
    return data is not None and part.encode() in data.to_pybytes()


def _check_structs(table: pa.Table | pa.RecordBatch, names: tuple[str, ...]) -> None:
    """Releases from 1.0 on take no key field of a struct that is null, though they take null fields."""
    for name in names:
        outer, _, below = name.rpartition(".")
        if below == name or table.schema.get_field_index(name) >= 0:
            continue
        void = pc.is_null(field_values(table, outer))
        if pc.any(void, min_count=0).as_py():
            raise KeyGenerationError(
                f"record key field {name!r} is in a struct that is null in row {pc.index(void, True).as_py()}",
                remedy="each row needs a record key",
            )


def _made_up(rows: int, instant: str | None, task: int, first: int) -> pa.Array:
    """``<instant>_<task>_<row>``, as in ``_hoodie_commit_seqno``."""
    if instant is None:
        raise KeyGenerationError("keys of rows without key fields need the instant of their write")
    numbers = pa.array(np.arange(first, first + rows)).cast(pa.string())
    return pc.binary_join_element_wise(f"{instant}_{task}_", numbers, "")


def _joined(parts: list[pa.DictionaryArray]) -> pa.DictionaryArray:
    """Folders of several fields, one below the other; each combination is joined once."""
    codes = np.zeros(len(parts[0]), np.int64)
    for part in parts:
        codes = codes * len(part.dictionary) + part.indices.to_numpy()
    unique, indices = np.unique(codes, return_inverse=True)
    paths = np.full(len(unique), "", object)
    rest = unique.copy()
    for part in reversed(parts):
        rest, code = np.divmod(rest, max(len(part.dictionary), 1))
        folders = np.asarray(part.dictionary.to_pylist(), object)[code]
        paths = folders + np.where(paths == "", "", "/") + paths
    return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32)), pa.array(paths, pa.string()))
