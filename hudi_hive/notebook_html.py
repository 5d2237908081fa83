"""Small HTML tables for notebooks: what ``_repr_html_`` of tables, queries, plans and reports shows, escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from hudi_hive.redaction import printable, redact

_ROWS: Final = 20
"""Rows of a table that are shown."""


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """Names and values below a title; values that are None or empty are left out."""
    rows = [(name, value) for name, value in facts.items() if value is not None and value != ""]
    body = "".join(f'<tr><th style="text-align: left">{_cell(n)}</th><td>{_cell(v)}</td></tr>' for n, v in rows)
    return f"<div><strong>{_cell(title)}</strong><table><tbody>{body}</tbody></table></div>"


def rows_html(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], total: int) -> str:
    """The first rows of a table below a title, and how many more there are.

    Args:
        title: what the rows are.
        columns: their names.
        rows: their values, in the order of ``columns``; no more than the first 20 are taken.
        total: number of all rows.
    """
    shown = [row for _, row in zip(range(_ROWS), rows, strict=False)]
    head = "".join(f"<th>{_cell(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in shown)
    more = f"<p>{total - len(shown):,} more</p>" if total > len(shown) else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div><strong>{_cell(title)}</strong>{table}{more}</div>"


def _cell(value: object) -> str:
    from html import escape  # not in every command: it loads a table of two thousand names

    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return escape(printable(redact(text)))
