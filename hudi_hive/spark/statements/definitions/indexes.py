"""``CREATE``, ``DROP``, ``SHOW`` and ``REFRESH INDEX``: partitions of the metadata table that find records.

The record index and secondary and expression indexes are made and dropped by statement; column statistics and bloom
filters of columns themselves are kept by options of writes.

Source: Hudi's ``CreateIndexCommand``, ``DropIndexCommand``, ``ShowIndexesCommand``, ``RefreshIndexCommand``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from hudi_hive.errors import MetadataTableError
from hudi_hive.metadata.reader import index_definitions
from hudi_hive.options import write as options_of_writes
from hudi_hive.spark.bridge import JavaValue, python_session, scala_items
from hudi_hive.spark.statements.definitions.answers import answer
from hudi_hive.spark.statements.writes import WriteTarget, command
from hudi_hive.spark.write import table_services
from hudi_hive.table import MetaClient

_RECORD_INDEX: Final = "record_index"
_IS_PARTITIONED: Final = "ispartitioned"
_FILES: Final = "files"
_MADE_BY_OTHERS: Final = ("secondary_index_", "expr_index_", "func_index_")
_PREFIXES: Final = ("secondary_index_", "expr_index_")
_SECONDARY: Final = "secondary_index"
_KINDS_OF_COLUMNS: Final = (_SECONDARY, "column_stats", "bloom_filters")
_SYNTAX: Final = re.compile(
    r"\s*(SHOW\s+INDEXES\s+(FROM|IN)|REFRESH\s+INDEX\s+(`[^`]+`|\w+)\s+ON)\s+(?:TABLE\s+)?(?P<table>.+?)\s*;?\s*$",
    re.IGNORECASE | re.DOTALL,
)


def index_statement(text: str) -> tuple[str, str] | None:
    """What a statement in Hudi's own syntax does, ``SHOW`` or ``REFRESH``, and the name of its table; None for others.

    Spark's parser has no ``SHOW INDEXES`` and no ``REFRESH INDEX``.
    """
    match = _SYNTAX.match(text)
    return None if match is None else (match[1].split()[0].upper(), match["table"])


class TableIndex(NamedTuple):
    """An index of a table.

    Attributes:
        name: the partition of the metadata table that holds it.
        kind: ``record_index``, ``column_stats``, ``secondary_index`` …
        columns: joined by commas; empty but for secondary and expression indexes.
    """

    name: str
    kind: str
    columns: str


def indexes_of(client: MetaClient) -> list[TableIndex]:
    """The indexes of a table, sorted by their names."""
    defined = {one.name: one for one in index_definitions(client)}
    rows = []
    for name in sorted(client.config.metadata_partitions):
        if name == _FILES:
            continue
        one = defined.get(name)
        if name.startswith(_MADE_BY_OTHERS) and one is not None:
            rows.append(TableIndex(name, one.kind.lower(), ",".join(one.columns)))
        else:
            rows.append(TableIndex(name, name, ""))
    return rows


def show_indexes_plan(target: WriteTarget) -> JavaValue:
    """``SHOW INDEXES``; columns are called as Hudi calls them."""
    return answer(target, ("index_name", "col_name", "index_type"), indexes_of(target.client))


def refresh_index_plan(target: WriteTarget) -> JavaValue:
    """``REFRESH INDEX``: nothing is to be done, as each commit brings the indexes up to date."""
    return command(target.hook.environment.jvm, f"REFRESH INDEX ON {target.name}", lambda: None)


def create_index_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``CREATE INDEX``: the record index, or a secondary or expression index of one column.

    Raises:
        MetadataTableError: the index is there, or cannot be made.
    """
    name, kind = str(node.indexName()), str(node.indexType()).lower()
    columns = [".".join(str(part) for part in scala_items(item._1().name())) for item in scala_items(node.columns())]
    options = {str(item._1()): str(item._2()) for item in scala_items(node.properties().toSeq())}
    if_not_exists = bool(node.ignoreIfExists())
    of_column = _is_of_column(target, name, kind, columns)
    if not of_column:
        _refuse_index(target, name, kind, columns)

    def run() -> None:
        existing = target.client.reload().config.metadata_partitions
        if {name, *(f"{prefix}{name}" for prefix in _PREFIXES)} & set(existing):
            if if_not_exists:
                return
            raise MetadataTableError(f"{target.name} has the index {name} already", path=target.location)
        made = {**target.settings, options_of_writes.METADATA_ENABLE.name: "true"}
        if of_column:
            services = table_services(python_session(target.hook.session), target.location, made)
            services.metadata.create_index(name, kind or _SECONDARY, columns, options)
            return
        made = _with_record_index(made, options)
        services = table_services(python_session(target.hook.session), target.location, made)
        services.metadata.init([*target.client.config.metadata_partitions, name])

    return command(target.hook.environment.jvm, f"CREATE INDEX {name} ON {target.name}", run)


def _with_record_index(settings: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    """Settings that make a record index: of each partition with ``OPTIONS (isPartitioned = 'true')``."""
    of_table, of_each = options_of_writes.RECORD_INDEX, options_of_writes.RECORD_LEVEL_INDEX
    given = next((text for name, text in options.items() if name.lower() == _IS_PARTITIONED), None)
    is_partitioned = of_each.of(settings) if given is None else given.strip().lower() == "true"
    left = {name: text for name, text in settings.items() if name not in (*of_table.names, *of_each.names)}
    return {**left, (of_each if is_partitioned else of_table).name: "true"}


def _is_of_column(target: WriteTarget, name: str, kind: str, columns: list[str]) -> bool:
    """Whether a statement is about a secondary or expression index, and not the record index."""
    keys = {one.lower() for one in target.client.config.record_keys}
    if kind in _KINDS_OF_COLUMNS:
        return True
    return kind == "" and name != _RECORD_INDEX and not keys & {one.lower() for one in columns}


def drop_index_plan(target: WriteTarget, node: JavaValue) -> JavaValue:
    """``DROP INDEX [IF EXISTS]``: of secondary and expression indexes with or without the prefix of their names."""
    name, if_exists = str(node.indexName()), bool(node.ignoreIfNotExists())

    def run() -> None:
        existing = [one.name for one in indexes_of(target.client.reload())]
        found = next((one for one in (name, *(f"{each}{name}" for each in _MADE_BY_OTHERS)) if one in existing), None)
        if found is not None:
            session = python_session(target.hook.session)
            table_services(session, target.location, target.settings).metadata.delete([found])
        elif not if_exists:
            shown = ", ".join(existing) or "none"
            raise MetadataTableError(
                f"{target.name} has no index {name}", path=target.location, remedy=f"indexes of the table: {shown}"
            )

    return command(target.hook.environment.jvm, f"DROP INDEX {name} ON {target.name}", run)


def _refuse_index(target: WriteTarget, name: str, kind: str, columns: list[str]) -> None:
    """Refuse what is no record index of the table's key."""
    keys = target.client.config.record_keys
    if kind not in ("", _RECORD_INDEX):
        message, remedy = (
            f"CREATE INDEX … USING {kind}: there is no such index",
            f"one of {', '.join(_KINDS_OF_COLUMNS)}",
        )
    elif {one.lower() for one in columns} == {one.lower() for one in keys} and keys:
        if name == _RECORD_INDEX:
            return
        message, remedy = f"the index of the record key cannot be called {name}", f"call it {_RECORD_INDEX}"
    else:
        message = f"{_RECORD_INDEX} is the index of the whole record key"
        remedy = f"give its columns: {', '.join(keys)}" if keys else "the table has no record key"
    raise MetadataTableError(f"{message} ({target.name})", path=target.location, remedy=remedy)


__all__ = [
    "create_index_plan",
    "drop_index_plan",
    "index_statement",
    "indexes_of",
    "refresh_index_plan",
    "show_indexes_plan",
]
