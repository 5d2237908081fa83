"""Every option that is accepted anywhere, declared once: in come names and texts, out come typed values or errors.

Options are grouped by subject in the modules ``table``, ``write``, ``base_files``, ``buckets``, ``services``,
``metrics``, ``locks``, ``read``, ``jobs``, ``sync``, ``metastore``, ``storage``, ``harmless`` and ``unsupported``; an
:class:`OptionSet` is what one face accepts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_hive.lazy_names import lazy_names
from hudi_hive.options import (
    base_files,
    buckets,
    jobs,
    locks,
    metastore,
    metrics,
    read,
    services,
    storage,
    sync,
    table,
    write,
)
from hudi_hive.options.declaration import Face, Option, Outcome, Refused
from hudi_hive.options.kinds import (
    KEY_GENERATOR_CLASSES,
    CurveBuildMethod,
    DuplicatePolicy,
    HollowCommitPolicy,
    IncrementalFormat,
    IndexType,
    LayoutStrategy,
    MergeType,
    Operation,
    PartitionFilterMode,
    QueryType,
    key_generator_name,
)
from hudi_hive.options.parsers import as_text, as_texts, parse_boolean, parse_java_boolean
from hudi_hive.options.registry import (
    ALL_OPTIONS,
    GROUPS,
    OptionSet,
    field_values,
    fill,
    options_of,
    outcomes,
    remedy_of_habit,
)

if TYPE_CHECKING:
    from hudi_hive.options.typed import ReadOptions, WriteOptions

__all__ = [
    "ALL_OPTIONS",
    "GROUPS",
    "KEY_GENERATOR_CLASSES",
    "CurveBuildMethod",
    "DuplicatePolicy",
    "Face",
    "HollowCommitPolicy",
    "IncrementalFormat",
    "IndexType",
    "LayoutStrategy",
    "MergeType",
    "Operation",
    "Option",
    "OptionSet",
    "Outcome",
    "PartitionFilterMode",
    "QueryType",
    "ReadOptions",
    "Refused",
    "WriteOptions",
    "as_text",
    "as_texts",
    "base_files",
    "buckets",
    "field_values",
    "fill",
    "jobs",
    "key_generator_name",
    "locks",
    "metastore",
    "metrics",
    "options_of",
    "outcomes",
    "parse_boolean",
    "parse_java_boolean",
    "read",
    "remedy_of_habit",
    "services",
    "storage",
    "sync",
    "table",
    "write",
]

_HOMES = {
    "ReadOptions": "typed",
    "WriteOptions": "typed",
}

# Loaded on first use: types for type checkers alone.
__getattr__ = lazy_names(__name__, _HOMES)
