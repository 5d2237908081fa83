"""The pages' addresses, and what is answered there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from hudi_hive.errors import HudiHiveError, PathNotFoundError, TableNotFoundError
from hudi_hive.redaction import redact
from hudi_hive.table_api import HudiTable
from hudi_hive.ui import pages
from hudi_hive.ui.lake import Lake, TableEntry
from hudi_hive.ui.rendering import render_template
from hudi_hive.ui.settings import UiSettings
from hudi_hive.ui.timeline import style_sheet

_FORM_BYTES: Final = 100_000
_STATIC: Final = {"ui.css": "text/css", "icon.svg": "image/svg+xml"}
"""Files of the folder ``static`` and their types."""

Parameters = Mapping[str, str]
TABS: Final = {
    "overview": "Overview",
    "timeline": "Timeline",
    "partitions": "Partitions",
    "schema": "Schema",
    "query": "Query",
    "plan": "Plan",
    "sync": "Sync",
    "services": "Services",
    "metadata": "Metadata table",
}
"""The pages of a table: the last part of their address, and their name."""


class Pages:
    """The application without its gate: renders the pages of a lake.

    Args:
        settings: which tables, and limits of statements.
    """

    def __init__(self, settings: UiSettings) -> None:
        self.lake = Lake(settings)

    def application(self) -> Starlette:
        """The routes as an ASGI application."""
        table = "/tables/{key:str}"
        routes = [
            Route("/", self._tables),
            Route("/refresh", self._refresh, methods=["POST"]),
            Route("/static/{name:str}", self._static),
            Route(table, self._on_table("overview")),
            Route(f"{table}/files", self._on_table("files")),
        ]
        routes += [Route(f"{table}/{name}", self._on_table(name), methods=["GET", "POST"]) for name in TABS]
        handlers: dict[Any, Any] = {HTTPException: _http_error, Exception: _unexpected_error}
        return Starlette(routes=routes, exception_handlers=handlers)

    async def _tables(self, request: Request) -> Response:
        parameters = dict(request.query_params)
        return await run_in_threadpool(
            lambda: _page("tables.html", pages.tables_page(self.lake, parameters), title="Tables", root=True)
        )

    async def _refresh(self, request: Request) -> Response:
        self.lake.refresh()
        return RedirectResponse("/", 303)

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name == "timeline.css":
            return Response(style_sheet(), media_type="text/css")
        if name in _STATIC:
            text = (resources.files("hudi_hive.ui") / "static" / name).read_text(encoding="utf-8")
            return Response(text, media_type=_STATIC[name])
        raise HTTPException(404)

    def _on_table(self, tab: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            parameters = dict(request.query_params)
            if request.method == "POST":
                parameters |= await _form(request)
            return await run_in_threadpool(self._table_page, tab, request.path_params["key"], parameters)

        return answer

    def _table_page(self, tab: str, key: str, parameters: Parameters) -> Response:
        entry: TableEntry | None = None
        try:
            entry = self.lake.entry(key)
            values = self._values(tab, entry, parameters)
        except HudiHiveError as error:
            missing = isinstance(error, (TableNotFoundError, PathNotFoundError))
            return _error(str(error), 404 if missing else 422, entry)
        shown_tab = "partitions" if tab == "files" else tab
        title = f"{entry.sql_name}: {TABS[shown_tab]}"
        return _page(f"{tab}.html", values, title=title, entry=entry, tab=shown_tab)

    def _values(self, tab: str, entry: TableEntry, parameters: Parameters) -> dict[str, Any]:
        if tab == "query":
            return pages.query_page(self.lake, entry, parameters)
        if tab == "sync":
            return pages.sync_page(self.lake, entry, parameters)
        table = self.lake.open(entry)
        of_table: dict[str, Callable[[HudiTable], dict[str, Any]]] = {
            "overview": pages.overview_page,
            "timeline": lambda table: pages.timeline_page(table, parameters),
            "partitions": lambda table: pages.partitions_page(table, parameters),
            "files": lambda table: pages.files_page(table, parameters),
            "schema": pages.schema_page,
            "plan": lambda table: pages.plan_page(table, parameters),
            "services": pages.services_page,
            "metadata": lambda table: pages.metadata_page(table, validate="validate" in parameters),
        }
        return of_table[tab](table)


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; 413 for one that is too long."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _FORM_BYTES:
            raise HTTPException(413)
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def _page(
    template: str,
    values: Mapping[str, Any],
    *,
    title: str,
    entry: TableEntry | None = None,
    tab: str | None = None,
    root: bool = False,
    status: int = 200,
) -> Response:
    frame = {"title": title, "entry": entry, "tab": tab, "tabs": TABS, "root": root}
    return HTMLResponse(render_template(template, {**frame, **values}), status)


def _error(text: str, status: int, entry: TableEntry | None = None) -> Response:
    return _page("error.html", {"text": text}, title="Error", entry=entry, status=status)


async def _http_error(request: Request, error: HTTPException) -> Response:
    return _error(
        {404: "there is no such page", 413: "the form is too long"}.get(error.status_code, error.detail),
        error.status_code,
    )


async def _unexpected_error(request: Request, error: Exception) -> Response:
    return _error(f"unexpected {redact(f'{type(error).__name__}: {error}')}; please report it", 500)
