"""A dry run of a sync: the difference between a table and its entry in the metastore."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from hudi_hive.errors import HudiHiveError
from hudi_hive.names import HOODIE_DATASOURCE_HIVE_SYNC_PREFIX as PREFIX
from hudi_hive.options import sync as declared
from hudi_hive.ui.lake import METASTORE, Lake, TableEntry

_STEPS: Final = 200
_LOCAL: Final = "file:"


def sync_page(lake: Lake, entry: TableEntry, parameters: Mapping[str, str]) -> dict[str, Any]:
    """The steps that a sync would take; the form alone until it is sent. Nothing is changed."""
    settings = lake.settings
    database, _, name = entry.sql_name.rpartition(".") if entry.source == METASTORE else ("", "", "")
    form = {
        "metastore_uris": parameters.get("metastore_uris", settings.metastore_uris or "").strip(),
        "database": parameters.get("database", database).strip(),
        "table": parameters.get("table", name).strip(),
    }
    page: dict[str, Any] = {**form, "error": None, "steps": None, "others": settings.shown_sync_options()}
    if parameters.get("compare") is None:
        return page
    try:
        steps, calls = _steps(lake, entry, form)
    except HudiHiveError as error:
        page["error"] = str(error)
        return page
    return {**page, "steps": steps[:_STEPS], "steps_total": len(steps), "calls": calls}


def _steps(lake: Lake, entry: TableEntry, form: Mapping[str, str]) -> tuple[list[dict[str, str]], int]:
    from hudi_hive.sync import HiveSyncConfig, HiveSyncTool

    named = {
        "metastore.uris": form["metastore_uris"],
        "database": form["database"],
        "table": form["table"],
    }
    options = {
        **lake.settings.sync_options,
        declared.BASE_PATH.name: _as_synced(entry, form),
        **{PREFIX + name: text for name, text in named.items() if text},
    }
    storage = dict(lake.settings.storage_options) or None
    report = HiveSyncTool(HiveSyncConfig.from_options(options, storage_options=storage)).sync(dry_run=True)
    return report.plan.rows(), report.total_calls


def _as_synced(entry: TableEntry, form: Mapping[str, str]) -> str:
    """The base path as the entry's last sync had it: a metastore spells local paths otherwise (``file:/``)."""
    if entry.source != METASTORE or not entry.path.startswith(_LOCAL):
        return entry.path
    from hudi_hive.metastore import HiveMetastore
    from hudi_hive.sync.table import path_of, same_location

    # No entry, or a metastore that wants a login: the sync says what is wrong.
    database, _, name = entry.sql_name.rpartition(".")
    with suppress(HudiHiveError), HiveMetastore(form["metastore_uris"]) as metastore:
        information = metastore.table(form["database"] or database, form["table"] or name).sd.serdeInfo
        path = str(((information and information.parameters) or {}).get("path", ""))
        if same_location(path, entry.path):
            return path
    return path_of(entry.path)
