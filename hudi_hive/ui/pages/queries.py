"""The query box: rows of a SQL statement, and what planning a read leaves out."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import HudiHiveError, SqlError
from hudi_hive.table_api import HudiTable
from hudi_hive.ui.lake import Lake, TableEntry

if TYPE_CHECKING:
    from hudi_hive.sql import SqlEngine

ROWS: Final = 500
"""Rows of an answer that are shown."""
_CELL: Final = 300
"""Characters of a value that are shown."""
_SLICES: Final = 100
_MEMORY: Final = "1GB"


def query_page(lake: Lake, entry: TableEntry, parameters: Mapping[str, str]) -> dict[str, Any]:
    """The first rows of a statement over all tables of the list, or its plan; the form alone without a statement."""
    statement = parameters.get("sql", "").strip()
    is_explained = parameters.get("how") == "explain"
    page: dict[str, Any] = {
        "sql": statement or f"SELECT * FROM {_quoted(entry.sql_name)} LIMIT 100",
        "columns": [],
        "rows": [],
        "is_cut": False,
        "error": None,
        "plan": None,
        "scans": [],
        "names": [item.sql_name for item in lake.entries()][:50],
        "answered": False,
    }
    if not statement:
        return page
    try:
        engine = _engine(lake)
        with _stopped_after(engine.interrupt, lake.settings.query_seconds):
            answer = _first_rows(engine, f"EXPLAIN {statement}" if is_explained else statement)
            page["scans"] = engine.scans(statement) if is_explained else []
    except HudiHiveError as error:
        page["error"] = str(error)
        return page
    page["answered"] = True
    if is_explained:
        page["plan"] = "\n".join(str(text) for text in answer.column(answer.num_columns - 1).to_pylist())
    else:
        page |= {"columns": answer.column_names, "rows": _texts(answer.slice(0, ROWS))}
        page["is_cut"] = answer.num_rows > ROWS
    return page


def plan_page(table: HudiTable, parameters: Mapping[str, str]) -> dict[str, Any]:
    """What a read would open, and what each step of pruning left out."""
    asked = {name: parameters.get(name, "").strip() for name in ("where", "query_type", "as_of", "begin", "end")}
    page: dict[str, Any] = {**asked, "error": None, "plan": None}
    arguments: dict[str, Any] = {name: text for name, text in asked.items() if text and name != "where"}
    if asked["where"]:
        arguments["row_filter"] = asked["where"]
    try:
        scan = table.scan(**arguments)
        plan = scan.plan()
        steps = [*plan.steps, *scan.footer_steps()]
    except HudiHiveError as error:
        page["error"] = str(error)
        return page
    slices = plan.slices
    page["plan"] = plan
    page["steps"] = steps
    page["log_files"] = pc.sum(pc.list_value_length(slices["log_files"])).as_py() or 0
    page["base_files"] = slices.num_rows - slices["base_file"].null_count
    page["slices"] = slices.select(["partition", "file_id", "base_file", "base_size", "log_files"]).slice(0, _SLICES)
    page["slices"] = page["slices"].to_pylist()
    return page


def _engine(lake: Lake) -> SqlEngine:
    from hudi_hive.sql import SqlEngine

    return SqlEngine(
        tables={item.sql_name: item.path for item in lake.entries()},
        memory_limit=_MEMORY,
        storage_options=dict(lake.settings.storage_options),
    )


def _first_rows(engine: SqlEngine, statement: str) -> pa.Table:
    """Up to one row more than is shown."""
    batches: list[pa.RecordBatch] = []
    rows = 0
    with engine.query(statement) as reader:
        for batch in reader:
            batches.append(batch.slice(0, ROWS + 1 - rows))
            rows += batches[-1].num_rows
            if rows > ROWS:
                break
        return pa.Table.from_batches(batches, reader.schema)


@contextmanager
def _stopped_after(interrupt: Any, seconds: float) -> Iterator[None]:  # noqa: ANN401 - a function without arguments
    """Interrupt a statement that takes longer.

    Raises:
        SqlError: it was interrupted.
    """
    is_late = threading.Event()

    def stop() -> None:
        is_late.set()
        interrupt()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except HudiHiveError as error:
        if is_late.is_set():
            message = f"the statement was stopped after {seconds:g} s"
            raise SqlError(message, remedy="filter or aggregate more, or run it by `hudi-hive sql`") from error
        raise
    finally:
        timer.cancel()


def _texts(rows: pa.Table) -> list[list[str | None]]:
    """The values as text, null as None; long ones are cut."""
    columns = [[_text(value) for value in column.to_pylist()] for column in rows.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _text(value: object) -> str | None:
    if value is None:
        return None
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= _CELL else f"{text[:_CELL]}…"


def _quoted(name: str) -> str:
    return ".".join(part if part.isidentifier() and part.isascii() else f'"{part}"' for part in name.split("."))
