"""Learns from DuckDB's optimised plan which rows of each table a statement reads, before their files are chosen.

The statement is planned over tables without rows whose columns have names of their own, so that each scan in the plan
says which table it is of. Nothing is run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.dataset as ds

from hudi_hive.connector.files import quoted
from hudi_hive.errors import HudiHiveError
from hudi_hive.predicate import RowFilter, conjunction, disjunction, parse_filter

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SCAN: Final = "PYTHON_ARROW_SCAN"
_NAME: Final = re.compile(r"hudi-hive (\d+) ")
_TOKEN: Final = re.compile(
    r"""(?P<text>'(?:[^']|'')*')|(?P<name>"(?:[^"]|"")*")|(?P<double>::DOUBLE\b)|(?P<instant>\bTIMESTAMPTZ\b)"""
)


class PlannedTable(ds.Dataset):
    """A table of a statement that is only planned: its columns, and no rows.

    Args:
        number: of the table in the statement.
        schema: its columns.
    """

    def __init__(self, number: int, schema: pa.Schema) -> None:
        self.number = number
        self.columns = schema
        self._schema = pa.schema([field.with_name(self._name(field.name)) for field in schema])

    @property
    def schema(self) -> pa.Schema:
        """The columns, under names that no other table has."""
        return self._schema

    def scanner(self, **_: object) -> Any:  # noqa: ANN401 - as in Arrow
        """Refused: a plan is made without rows."""
        raise NotImplementedError("the table is only planned")

    def select(self, handle: str) -> str:
        """A SELECT of the columns under the table's own names from a registered handle."""
        names = [f"{quoted(self._name(name))} AS {quoted(name)}" for name in self.columns.names]
        return f"SELECT {', '.join(names)} FROM {quoted(handle)}"

    def _name(self, name: str) -> str:
        return f"hudi-hive {self.number} {name}"


def scan_filters(
    connection: DuckDBPyConnection, text: str, tables: Mapping[int, PlannedTable]
) -> dict[int, RowFilter | None]:
    """The rows of each table that a statement can use: a filter, None for all.

    Args:
        connection: in which the statement's names are those of ``tables``; its ``explain_output`` is ``all``.
        text: the statement, without EXPLAIN.
        tables: by their numbers.

    Raises:
        duckdb.Error: the statement is wrong.
    """
    plans = {kind: json.loads(plan) for kind, plan in connection.execute(f"EXPLAIN (FORMAT json) {text}").fetchall()}
    # The columns of scans stand in the physical plan, which does not show the scans below some operators.
    scans = list(_scans(plans["physical_plan"]))
    if len(scans) != sum(1 for _ in _scans(plans["logical_opt"])):
        return dict.fromkeys(tables)
    filters: dict[int, list[RowFilter | None]] = {number: [] for number in tables}
    for scan in scans:
        parts = _lines(scan, "Filters")
        numbers = {int(one) for one in _NAME.findall(" ".join([*parts, *_lines(scan, "Projections")]))}
        if len(numbers) != 1 or not numbers <= filters.keys():
            return dict.fromkeys(tables)  # of whichever table
        (number,) = numbers
        filters[number].append(_filter(parts, tables[number]))
    return {number: _either(of_scans) for number, of_scans in filters.items()}


def _lines(scan: Mapping[str, Any], name: str) -> list[str]:
    lines = scan["extra_info"].get(name) or []
    return [lines] if isinstance(lines, str) else list(lines)


def _scans(node: object) -> Iterator[dict[str, Any]]:
    todo = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, list):
            todo.extend(one)
        elif isinstance(one, dict):
            todo.extend(one.get("children") or ())
            if one.get("name") == _SCAN:
                yield one


def _either(filters: list[RowFilter | None]) -> RowFilter | None:
    """What one of several scans can use."""
    complete = [one for one in filters if one is not None]
    if not complete or len(complete) < len(filters):
        return None
    return complete[0] if len(complete) == 1 else RowFilter(disjunction([f.root for f in complete]), complete[0].schema)


def _filter(parts: list[str], table: PlannedTable) -> RowFilter | None:
    """The conjuncts of a scan that we understand; None if there are none."""
    roots = []
    for part in parts:
        if part.count("'") % 2 or part.count('"') % 2:
            return None  # a text with a line break, which stands in two parts
        try:
            bound = parse_filter(_TOKEN.sub(_as_ours, part), table.columns)
        except (HudiHiveError, pa.ArrowException):
            continue
        if not bound.is_trivial:
            roots.append(bound.root)
    return RowFilter(conjunction(roots), table.columns) if roots else None


def _as_ours(match: re.Match[str]) -> str:
    if match["name"] is not None:
        return '"' + _NAME.sub("", match["name"][1:], count=1)
    if match["double"] is not None:
        return ""
    return "TIMESTAMP" if match["instant"] is not None else match.group()
