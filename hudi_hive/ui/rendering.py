"""Renders the templates of the pages: every value is escaped, and rid of control characters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hudi_hive.redaction import printable
from hudi_hive.ui.timeline import moment_text, size_text


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
    return "" if size is None else size_text(size)


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _moment(instant: str | None) -> str:
    """The requested time of an instant for people; what is none stays as it is."""
    if not instant or not instant.isdigit() or len(instant) < 14:
        return instant or ""
    return moment_text(instant)


def _query(parameters: Mapping[str, object]) -> str:
    """The query part of an address; parameters without a value are left out."""
    return urlencode({name: value for name, value in parameters.items() if value not in (None, "")})
