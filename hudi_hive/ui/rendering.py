"""Renders the templates of the pages: every value is escaped, and rid of control characters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hudi_hive.redaction import printable


def render_template(name: str, values: Mapping[str, Any]) -> str:
    """A template of ``hudi_hive/ui/templates`` with its values, as HTML text."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("hudi_hive.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["bytes"] = _bytes
    environment.filters["number"] = _number
    environment.filters["moment"] = _moment
    environment.filters["query"] = _query
    return environment


def _shown(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _bytes(size: int | None) -> str:
    if size is None:
        return ""
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:,.3g} TB"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _moment(instant: str | None) -> str:
    """The requested time of an instant for people; what is none stays as it is."""
    if not instant or not instant.isdigit() or len(instant) < 14:
        return instant or ""
    date, clock = f"{instant[:4]}-{instant[4:6]}-{instant[6:8]}", f"{instant[8:10]}:{instant[10:12]}:{instant[12:14]}"
    return f"{date} {clock}" + (f".{instant[14:17]}" if len(instant) >= 17 else "")


def _query(parameters: Mapping[str, object]) -> str:
    """The query part of an address; parameters without a value are left out."""
    return urlencode({name: value for name, value in parameters.items() if value not in (None, "")})
