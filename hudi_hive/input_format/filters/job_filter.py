"""The filter of a Hive job: which partitions, files and row groups it leaves to read."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import PartitionValueError, PredicateError
from hudi_hive.input_format.filters.expressions import (
    Call,
    Expression,
    HiveColumn,
    Other,
    Reading,
    read_expression,
    read_search_argument,
)
from hudi_hive.input_format.filters.text import read_text
from hudi_hive.input_format.filters.translation import Translator
from hudi_hive.options import jobs
from hudi_hive.predicate import Node, RowFilter, Unknown, conjunction
from hudi_hive.table import MetaClient, TableConfig
from hudi_hive.table.keys import DEFAULT_PARTITION, partition_value_columns

FILTER_EXPRESSION: Final = jobs.FILTER_EXPRESSION.name
FILTER_TEXT: Final = jobs.FILTER_TEXT.name
SARG: Final = jobs.SARG.name

_NOTHING: Final = Other()

_log = logging.getLogger(__name__)

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NAMES_OF_TEXTS: Final = frozenset({"and", "or", "not", "in", "is", "between", "null", "true", "false"})
_PATH_TYPES: Final[Mapping[str, pa.DataType]] = {
    **dict.fromkeys(("string", "varchar", "char"), pa.string()),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), pa.int64()),
    "date": pa.date32(),
    "boolean": pa.bool_(),
}
"""Hive's types of partition columns whose values the text in a path tells."""


@dataclass(frozen=True)
class JobFilter:
    """The condition on rows that a job's keys hold.

    Attributes:
        condition: the condition; :class:`~hudi_hive.input_format.filters.expressions.Other` where there is none, or
            none that is understood.
        types: Hive's types of columns, by name in lower case.
        partition_columns: the partition columns that the job names, in lower case.
        is_text: the condition was read from its text alone.
        in_utc: as of :class:`~hudi_hive.input_format.filters.expressions.Reading`.
    """

    condition: Expression = _NOTHING
    types: Mapping[str, str] | None = None
    partition_columns: frozenset[str] = frozenset()
    is_text: bool = False
    in_utc: bool = False

    @classmethod
    def of(cls, conf: Mapping[str, str]) -> JobFilter:
        """The filter of a job: its serialised expression, else its search argument, else its text.

        What is not understood filters nothing, and is told in the log.
        """
        reading = Reading(Other(), in_utc=False)
        is_text = False
        if conf.get(FILTER_EXPRESSION, "").strip():
            reading = _read(FILTER_EXPRESSION, conf)
        elif conf.get(SARG, "").strip():
            reading = _read(SARG, conf)
        if isinstance(reading.condition, Other) and conf.get(FILTER_TEXT, "").strip():
            reading, is_text = Reading(read_text(conf[FILTER_TEXT]), in_utc=False), True
        names = conf.get(jobs.PARTITION_COLUMNS.name, "").replace(",", "/").split("/")
        partition_columns = frozenset(name.strip().lower() for name in names if name.strip())
        return cls(reading.condition, column_types(conf), partition_columns, is_text, reading.in_utc)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of the rows that the job wants."""
        return isinstance(self.condition, Other)

    def on_files(
        self, schema: pa.Schema, config: TableConfig | None = None, partitions: Sequence[str] = ()
    ) -> RowFilter | None:
        """The filter for what files hold; None if it tells nothing of them.

        It serves to leave files and row groups out, and cannot be evaluated on rows: parts of it are unknown.

        Args:
            schema: the table's, as the query shows it.
            config: the table's properties.
            partitions: the paths of all partitions that are looked into.
        """
        if self.is_empty or (self.is_text and not _is_safe_for_texts(schema)):
            return None
        hidden, nulls = self._partition_columns(config, partitions)
        translator = Translator(schema, self.types, hidden=hidden, never_null_test=nulls, in_utc=self.in_utc)
        return _filter(translator.node(self.condition), schema)

    def _partition_columns(
        self, config: TableConfig | None, partitions: Sequence[str]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Columns whose values in files are not those that Hive sees, and those of which that holds for nulls."""
        fields = {} if config is None else _fields(config)
        in_paths = all(path.count("/") + 1 == len(fields) for path in partitions)
        hidden, nulls = set[str](), set[str]()
        for column in _columns(self.condition):
            name = column.path[0].lower()
            of_hive = bool(column.is_partition) or name in self.partition_columns
            if name not in fields:
                hidden |= {name} if of_hive else set()
            elif of_hive or column.is_partition is None:
                (nulls if in_paths and fields[name] == "SIMPLE" else hidden).add(name)
        return frozenset(hidden), frozenset(nulls)

    def partitions_left(self, client: MetaClient, paths: Sequence[str]) -> list[str]:
        """The partitions among ``paths`` that may hold rows that the job wants, in their order.

        Hive takes values of partition columns from the metastore, where they are the text in the path, whatever type
        the column has in the files; they are compared as the type that Hive has for them.
        """
        config = client.config
        if self.is_empty or not paths or not config.is_partitioned:
            return list(paths)
        if self.is_text and not _is_safe_for_texts(client.partition_schema()):
            return list(paths)
        values = self._path_values(client, paths)
        if values is None:
            return list(paths)
        root = Translator(values.schema, self.types).node(self.condition)
        row_filter = _filter(root, values.schema)
        if row_filter is None:
            return list(paths)
        keep = row_filter.partitions_that_may_match(values)
        for variant in _variants(values):
            keep = pc.or_(keep, row_filter.partitions_that_may_match(variant))
        return [path for path, kept in zip(paths, keep.to_pylist(), strict=True) if kept]

    def _path_values(self, client: MetaClient, paths: Sequence[str]) -> pa.Table | None:
        """The values of the partition columns that the condition names and paths tell, as Hive's types."""
        config = client.config
        fields = _fields(config)
        kinds: dict[str, set[str]] = {}
        for column in _columns(self.condition):
            name = column.path[0].lower()
            if fields.get(name) == "SIMPLE" and len(column.path) == 1:
                told = column.type or (self.types or {}).get(name) or _hive_kind(client, name)
                kinds.setdefault(name, set()).add(told.partition("(")[0])
        try:
            texts = partition_value_columns(
                pa.array(paths, pa.string()),
                config.partition_fields,
                hive_style=config.hive_style_partitioning,
                url_encoded=config.url_encode_partitioning,
            )
        except PartitionValueError:
            return None
        columns: dict[str, pa.ChunkedArray] = {}
        for field in config.partition_fields:
            kind = kinds.get(field.lower(), set())
            arrow = _PATH_TYPES.get(next(iter(kind))) if len(kind) == 1 else None
            if arrow is None:
                continue
            try:
                columns[field] = texts.column(field).cast(arrow)
            except pa.ArrowInvalid:  # a text that is no such value: Hive has null there
                continue
        return pa.table(columns) if columns else None


def column_types(conf: Mapping[str, str]) -> dict[str, str]:
    """Hive's types of a job's columns, by name in lower case; those that ``columns`` and ``columns.types`` tell."""
    names = [name.strip().lower() for name in conf.get(jobs.COLUMNS.name, "").split(",")]
    types = _split_types(conf.get(jobs.COLUMN_TYPES.name, ""))
    return dict(zip(names, types, strict=True)) if len(names) == len(types) else {}


def _split_types(text: str) -> list[str]:
    """The types of a list whose separators are colons or commas outside of brackets."""
    depth, start = 0, 0
    types: list[str] = []
    for place, character in enumerate(text):
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character in ":,;" and depth == 0:
            types.append(text[start:place])
            start = place + 1
    return ["".join(one.lower().split()) for one in [*types, text[start:]]]


def _read(key: str, conf: Mapping[str, str]) -> Reading:
    read = read_expression if key == FILTER_EXPRESSION else read_search_argument
    try:
        return read(conf[key])
    except PredicateError as error:
        _log.warning("%s leaves nothing out: %s", key, error)
        return Reading(Other(), in_utc=False)


def _filter(root: Node, schema: pa.Schema) -> RowFilter | None:
    """A filter, if anything of it is known."""
    parts: list[Node] = [part.root for part in RowFilter(root, schema).conjuncts]
    row_filter = RowFilter(conjunction([part for part in parts if not isinstance(part, Unknown)]), schema)
    return None if row_filter.is_trivial else row_filter


def _columns(tree: Expression) -> Iterator[HiveColumn]:
    if isinstance(tree, HiveColumn):
        yield tree
    elif isinstance(tree, Call):
        for argument in tree.arguments:
            yield from _columns(argument)


def _fields(config: TableConfig) -> dict[str, str]:
    """Partition fields in lower case, and how their values become paths."""
    pairs = zip(config.partition_fields, config.partition_field_types, strict=True)
    return {name.lower(): kind for name, kind in pairs}


def _hive_kind(client: MetaClient, name: str) -> str:
    """The type in Hive of a partition column of which the job tells nothing: the table's own."""
    schema = client.partition_schema()
    for field in schema:
        if field.name.lower() == name:
            for kind in ("bigint", "date", "boolean"):
                if field.type == _PATH_TYPES[kind] or (kind == "bigint" and pa.types.is_integer(field.type)):
                    return kind
            return "string" if pa.types.is_string(field.type) else str(field.type)
    return "none"


def _variants(values: pa.Table) -> Iterator[pa.Table]:
    """The same partitions with other values that Hive may have for them, in any combination of columns.

    The default partition holds nulls, empty texts and texts of its own name. Where a value has slashes, sync may have
    registered a date with dashes.
    """
    variants = [values]
    for index, name in enumerate(values.column_names):
        column = values.column(name)
        if not pa.types.is_string(column.type):
            continue
        others = []
        if column.null_count:
            others = [pc.fill_null(column, text) for text in ("", DEFAULT_PARTITION)]
        if pc.any(pc.match_substring(column, "/")).as_py():
            others.append(pc.replace_substring_regex(column, "/", "-"))
        variants += [one.set_column(index, name, other) for one in variants for other in others]
    yield from variants[1:]


def _is_safe_for_texts(schema: pa.Schema) -> bool:
    """Whether names of columns cannot be taken for anything else, and no constant stands in the text as its bytes."""
    for field in schema:
        name = field.name
        if _PLAIN_NAME.fullmatch(name) is None or name.lower() in _NAMES_OF_TEXTS or "binary" in str(field.type):
            return False
    return True
