"""Definitions of secondary and expression indexes that are to be made: names, columns and functions checked.

Source: Hudi's ``CreateIndexCommand``, docs/format.md#expression-indexes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from hudi_hive.errors import MetadataTableError
from hudi_hive.metadata.reader import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    EXPRESSION_PREFIX,
    SECONDARY_PREFIX,
    IndexDefinition,
    column_type,
    indexed_function,
)
from hudi_hive.table import MetaClient

SECONDARY_INDEX: Final = "secondary_index"
KINDS: Final = (SECONDARY_INDEX, COLUMN_STATS, BLOOM_FILTERS)
"""Kinds of indexes of single columns."""

_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
_EXPRESSION: Final = "expr"
_NOT_OF_HUDI: Final = frozenset({"abs", "ceil", "floor"})
"""Functions that no release of Hudi up to 1.1.1 makes an index of: each of its writes on the table would fail."""

_REQUIRED_BY_HUDI: Final = {"substring": "len", "regexp_extract": "idx"}
"""Options that Spark's functions do without, and Hudi's indexes of them do not."""


def new_index(
    client: MetaClient, name: str, kind: str, columns: Sequence[str], options: Mapping[str, str]
) -> IndexDefinition:
    """Define an index.

    Args:
        client: the table.
        name: of the index, without the prefix of its partition of the metadata table.
        kind: one of :data:`KINDS`.
        columns: one column, a field of structs by its dotted name.
        options: ``expr``, the function of an expression index, and its further arguments; none of a secondary index.
            Bloom filters without a function are of the column itself.

    Raises:
        MetadataTableError: the table, the column or the function cannot have such an index.
        UnknownColumnError: the table has no such column.
    """
    version = client.config.version
    if kind not in KINDS:
        raise _refused(client, name, f"there is no kind {kind!r}", f"one of {', '.join(KINDS)}")
    if version < 8:
        raise _refused(client, name, f"the table has version {version}", "indexes of columns exist from version 8 on")
    if _NAME.fullmatch(name) is None:
        raise _refused(client, name, "its name is none", "letters, digits and underscores")
    if len(columns) != 1:
        raise _refused(client, name, f"it is of {len(columns)} columns", "give one column")
    if not client.config.populate_meta_fields:
        raise _refused(
            client, name, "the table has no record keys in its files (hoodie.populate.meta.fields=false)", ""
        )
    kind_of_column = column_type(client.schema(), columns[0])
    label = "V2" if version >= 9 else "V1"
    if kind == SECONDARY_INDEX:
        if options:
            raise _refused(client, name, "a secondary index takes no options", "leave OPTIONS out")
        if not _has_text(kind_of_column, version):
            raise _refused(client, name, f"{columns[0]} is {kind_of_column}", "text, numbers, dates or timestamps")
        return IndexDefinition(SECONDARY_PREFIX + name, kind, "identity", tuple(columns), {}, label)
    function = str(options.get(_EXPRESSION, "")).lower() or ("identity" if kind == BLOOM_FILTERS else "")
    definition = IndexDefinition(EXPRESSION_PREFIX + name, kind, function, tuple(columns), dict(options), label)
    if not function or (function == "identity" and kind == COLUMN_STATS):
        remedy = "give expr, a function; statistics of columns themselves follow options of writes"
        raise _refused(client, name, "it has no function", remedy)
    known = indexed_function(definition)
    if known is None or not _is_of_hudi(function, options):
        raise _refused(
            client, name, f"{function} with these options is no function of an index", "docs/format.md has them"
        )
    result = known.result_type(kind_of_column)
    if result is None or (kind == BLOOM_FILTERS and not pa.types.is_string(result)):
        raise _refused(client, name, f"{function} of {columns[0]}, which is {kind_of_column}, cannot be indexed so", "")
    return definition


def _is_of_hudi(function: str, options: Mapping[str, str]) -> bool:
    required = _REQUIRED_BY_HUDI.get(function)
    return function not in _NOT_OF_HUDI and (required is None or required in options)


def _has_text(kind: pa.DataType, version: int) -> bool:
    if pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        return version == 8  # Hudi 1.1 refuses them
    tests = (pa.types.is_string, pa.types.is_signed_integer, pa.types.is_floating, pa.types.is_date32)
    return any(test(kind) for test in tests) or pa.types.is_timestamp(kind)


def _refused(client: MetaClient, name: str, what: str, remedy: str) -> MetadataTableError:
    return MetadataTableError(f"the index {name} is not made: {what}", path=client.base_path, remedy=remedy or None)
