"""The list of tables, the first page of a table, and its timeline."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from hudi_hive.errors import HudiHiveError
from hudi_hive.redaction import printable
from hudi_hive.table_api import HudiTable
from hudi_hive.ui.lake import Lake, TableEntry
from hudi_hive.ui.paging import Page, page_number
from hudi_hive.ui.timeline import collect, render_body

_TABLE_ROWS: Final = 25
"""Tables on a page of the list: each is opened."""
_THREADS: Final = 8
_LAST_INSTANTS: Final = 10
_DRAWN_INSTANTS, _DRAWN_GROUPS = 150, 200
_DRAWN_PARTITIONS: Final = 500
"""A table of more partitions is drawn without file groups: these take a listing of all of them."""


def tables_page(lake: Lake, parameters: Mapping[str, str]) -> dict[str, Any]:
    """A page of the list of tables; those of this page are opened, side by side."""
    asked = parameters.get("find", "").strip()
    entries = [entry for entry in lake.entries() if asked.lower() in f"{entry.sql_name} {entry.path}".lower()]
    page = Page.of(entries, page_number(parameters), _TABLE_ROWS)
    with ThreadPoolExecutor(_THREADS) as pool:
        rows = list(pool.map(lambda entry: _row(lake, entry), page.items))
    return {"page": page, "rows": rows, "find": asked, "problems": lake.problems}


def _row(lake: Lake, entry: TableEntry) -> dict[str, Any]:
    try:
        table = lake.open(entry)
        last = table.timeline.last_completed_write()
        return {
            "entry": entry,
            "name": table.name,
            "type": _type(table),
            "version": table.version,
            "last": last.requested if last else None,
            "pending": len(table.timeline.pending()),
            "error": None,
        }
    except HudiHiveError as error:  # one broken table hides no other
        return {"entry": entry, "error": str(error)}


def overview_page(table: HudiTable) -> dict[str, Any]:
    """What a table is, its newest instants, and what deserves a look."""
    config, timeline = table.config, table.timeline
    last = timeline.last_completed_write()
    partitions = table.partitions()
    facts = {
        "base path": table.path,
        "type": _type(table),
        "table version": config.version,
        "base file format": config.base_file_format,
        "record key": ", ".join(config.record_keys) or "none",
        "partition fields": ", ".join(config.partition_fields) or "none",
        "ordering fields": ", ".join(config.ordering_fields) or "none",
        "key generator": config.key_generator,
        "hive-style partitions": config.hive_style_partitioning,
        "meta columns": config.populate_meta_fields,
        "metadata table": ", ".join(config.metadata_partitions) or "off",
        "partitions": f"{len(partitions):,}",
        "active instants": f"{len(timeline.instants):,}",
        "last commit": last.requested if last else "none",
    }
    newest = [_instant_row(table, instant) for instant in reversed(timeline.instants[-_LAST_INSTANTS:])]
    return {"facts": facts, "newest": newest, "warnings": _warnings(table)}


def timeline_page(table: HudiTable, parameters: Mapping[str, str]) -> dict[str, Any]:
    """The timeline as a picture: the newest instants, or those up to ``until``, and the groups written last."""
    until = parameters.get("until", "")
    picture = collect(
        table.client,
        max_groups=_DRAWN_GROUPS,
        with_groups=not until and len(table.partitions()) <= _DRAWN_PARTITIONS,
        max_instants=_DRAWN_INSTANTS,
        until=until or None,
    )
    first = picture.instants[0].instant.requested if picture.instants else None
    return {
        "picture": printable(render_body(picture)),
        "drawn": len(picture.instants),
        "total": len(table.timeline.instants),
        "earlier": first if first is not None and picture.instants_before else None,
        "until": until,
    }


def _type(table: HudiTable) -> str:
    return table.type.replace("_", "-").lower()


def _instant_row(table: HudiTable, instant: Any) -> dict[str, Any]:  # noqa: ANN401 - an instant of the timeline
    operation = ""
    if instant.is_completed and instant.is_write:
        operation = table.timeline.commit_metadata(instant).operation.lower().replace("_", " ")
    return {
        "requested": instant.requested,
        "completed": instant.completed or "",
        "action": instant.action,
        "state": instant.state.name.lower(),
        "operation": operation,
    }


def _warnings(table: HudiTable) -> list[str]:
    """What deserves a look, as far as the timeline alone tells it."""
    timeline = table.timeline
    pending = timeline.pending()
    warnings = []
    if pending:
        oldest = min(instant.requested for instant in pending)
        warnings.append(f"{len(pending):,} pending instants, the oldest since {oldest}; see Services.")
    compactions = timeline.pending_compactions()
    if compactions.num_rows:
        warnings.append(f"{compactions.num_rows:,} file slices wait for a scheduled compaction.")
    if not table.config.metadata_partitions:
        warnings.append("There is no metadata table: planning lists folders.")
    if not timeline.write_instants():
        warnings.append("No commit is complete yet.")
    return warnings
