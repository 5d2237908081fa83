"""How commands print: one call for rows, whatever the format, and notes that never mix with data."""

from __future__ import annotations

import csv
import datetime
import decimal
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("table", "json", "csv")


class Output:
    """Prints the result of one command.

    Args:
        output_format: ``table`` (for people), ``json`` (one object, keys are section titles when there are several
            sections) or ``csv`` (sections one after the other, each with its header line).
    """

    def __init__(self, output_format: str) -> None:
        self.format = output_format
        self._json: dict[str, Any] = {}
        self._sections = 0

    def section(self, title: str, rows: Iterable[Mapping[str, object]], columns: Sequence[str] | None = None) -> None:
        """Print rows under a title; ``columns`` fixes the header when there may be no rows."""
        materialised = [dict(row) for row in rows]
        names = list(columns or (materialised[0] if materialised else ()))
        self._sections += 1
        if self.format == "json":
            self._json[title] = [{name: _plain(row.get(name)) for name in names} for row in materialised]
        elif self.format == "csv":
            if self._sections > 1:
                click.echo("")
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(names)
            writer.writerows([_text(row.get(name)) for name in names] for row in materialised)
        else:
            _print_table(title, names, materialised)

    def arrow(self, title: str, table: pa.Table) -> None:
        """Print an Arrow table."""
        self.section(title, table.to_pylist(), table.column_names)

    def pairs(self, title: str, values: Mapping[str, object]) -> None:
        """Print names and values, one a line."""
        if self.format == "json":
            self._sections += 1
            self._json[title] = {name: _plain(value) for name, value in values.items()}
        else:
            self.section(title, [{"name": name, "value": value} for name, value in values.items()], ["name", "value"])

    def note(self, text: str) -> None:
        """A line for people: on stdout between tables, on stderr when the output is for machines."""
        click.echo(text, err=self.format != "table")

    def close(self) -> None:
        """Write what was collected (JSON is one document)."""
        if self.format == "json":
            only = next(iter(self._json.values())) if len(self._json) == 1 else self._json
            click.echo(json.dumps(only, indent=2, ensure_ascii=False))


def _print_table(title: str, names: list[str], rows: list[dict[str, object]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", expand=False)
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_text(row.get(name))) for name in names))
    # A pipe has no width of its own: 80 columns would fold paths and instants beyond reading.
    width = None if sys.stdout.isatty() else 200
    Console(width=width, highlight=False).print(table)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(_plain(value), ensure_ascii=False)
    return str(_plain(value))


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON values
    """A value as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
