"""Prints the rows of commands in every format, and notes so that they never mix with data."""

from __future__ import annotations

import csv
import datetime
import decimal
import json
import math
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TextIO

import click

from hudi_hive.cli.text_table import print_table
from hudi_hive.redaction import escaped, printable

if TYPE_CHECKING:
    from _csv import Writer as CsvWriter

    import pyarrow as pa

FORMATS = ("table", "json", "csv", "csv-raw")

# What spreadsheets take for a formula; ' in front of it makes it text. A text that has such a ' of its own gets one
# more, so that the way back is clear: where the sign of a formula follows the first ' of a cell, one ' goes.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def csv_cell(value: object) -> str:
    """A value as ``--format csv`` prints it: safe for spreadsheets and terminals; ``csv-raw`` prints :func:`raw_cell`.

    Texts, names of columns too, that begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return get a ``'`` in
    front, unless they are a plain number; characters that steer terminals are shown by their number.
    """
    text = raw_cell(value)
    if isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool):
        return text
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    return printable(text)


def json_text(value: object, indent: int | None = None) -> str:
    """JSON text in which characters that control a terminal are escaped."""
    return escaped(json.dumps(value, indent=indent, ensure_ascii=False))


def csv_writer(stream: TextIO) -> CsvWriter:
    """A CSV writer that ends lines with a newline and quotes lone carriage returns."""
    return csv.writer(_Lines(stream), lineterminator="\r\n")  # what is in the end of lines is quoted


class _Lines:
    """A file-like object that ends each line of a CSV writer with a newline alone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> None:
        self._stream.write(line.removesuffix("\r\n") + "\n")


class Output:
    """Prints the result of one command.

    Args:
        output_format: ``table`` (for people), ``json`` (one object, keys are section titles when there are several
            sections), ``csv`` (sections one after the other, each with its header line) or ``csv-raw`` (the same with
            texts as they are, for programs that trust the table).
    """

    def __init__(self, output_format: str) -> None:
        self.format = output_format
        self._json: dict[str, Any] = {}
        self._sections = 0
        self._written = False  # whether the JSON document was written already

    def section(self, title: str, rows: Iterable[Mapping[str, object]], columns: Sequence[str] | None = None) -> None:
        """Print rows under a title; ``columns`` gives the header when there may be no rows."""
        self._sections += 1
        if self.is_csv and columns:
            self._write_csv(rows, columns)
            return
        materialised = [dict(row) for row in rows]
        names = list(columns or (materialised[0] if materialised else ()))
        if self.format == "json":
            self._json[title] = [{name: _plain(row.get(name)) for name in names} for row in materialised]
        elif self.is_csv:
            self._write_csv(materialised, names)
        else:
            cells = [[printable(raw_cell(row.get(name))) for name in names] for row in materialised]
            print_table(printable(title), [printable(name) for name in names], cells)

    def arrow(self, title: str, table: pa.Table) -> None:
        """Print an Arrow table."""
        self.section(title, arrow_rows(table), table.column_names)

    def stream(self, title: str, reader: pa.RecordBatchReader) -> None:
        """Print the batches of a reader as they come; it is the command's only section.

        JSON and CSV hold one batch at a time. A table needs all rows to know how wide its columns are.
        """
        names = reader.schema.names
        if self.format == "table":
            self.arrow(title, reader.read_all())
            return
        rows: Iterator[dict[str, object]] = (row for batch in reader for row in arrow_rows(batch))
        first = next(rows, None)  # before anything is printed: most errors come by then
        rows = iter(()) if first is None else chain((first,), rows)
        if self.is_csv:
            self.section(title, rows, names)
        else:
            self._write_json(rows)

    def pairs(self, title: str, values: Mapping[str, object]) -> None:
        """Print names and values, one a line."""
        if self.format == "json":
            self._sections += 1
            self._json[title] = {name: _plain(value) for name, value in values.items()}
        else:
            self.section(title, [{"name": name, "value": value} for name, value in values.items()], ["name", "value"])

    def note(self, text: str) -> None:
        """Print a note: to stdout between tables, to stderr when the output is JSON or CSV."""
        click.echo(printable(text), err=self.format != "table")

    @property
    def is_csv(self) -> bool:
        """Whether the format is ``csv`` or ``csv-raw``."""
        return self.format.startswith("csv")

    def cell(self, value: object) -> str:
        """A value as it is printed in the chosen CSV format."""
        return raw_cell(value) if self.format == "csv-raw" else csv_cell(value)

    def _write_csv(self, rows: Iterable[Mapping[str, object]], names: Sequence[str]) -> None:
        if self._sections > 1:
            click.echo("")
        writer = csv_writer(sys.stdout)
        writer.writerow([self.cell(name) for name in names])
        writer.writerows([self.cell(row.get(name)) for name in names] for row in rows)

    def _write_json(self, rows: Iterable[Mapping[str, object]]) -> None:
        self._written = True
        separator = "[\n"
        for row in rows:
            text = json_text(_plain(row), indent=2)
            click.echo(separator + textwrap.indent(text, "  "), nl=False)
            separator = ",\n"
        click.echo("[]" if separator == "[\n" else "\n]")

    def discard(self) -> None:
        """Drop the collected sections, so that ``close`` prints nothing."""
        self._json, self._written = {}, True

    def close(self) -> None:
        """Print the collected sections (JSON is one document)."""
        if self.format == "json" and not self._written:
            self._written = True
            only = next(iter(self._json.values())) if len(self._json) == 1 else self._json
            click.echo(json_text(only, indent=2))


class RowLines:
    """Prints rows as they occur: as text, as one JSON object a line, or as CSV rows, each with the time.

    Args:
        output: of the command, whose format is taken.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._first = True

    def show(self, row: Mapping[str, object], text: str, *, failed: bool = False) -> None:
        """Print one row.

        Args:
            row: the row, for JSON and CSV.
            text: the same for people.
            failed: the text goes to stderr.
        """
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        timed = {"time": now, **row}
        if self._output.format == "json":
            click.echo(json_text(timed))
        elif self._output.is_csv:
            writer = csv_writer(sys.stdout)
            if self._first:
                writer.writerow(list(timed))
            writer.writerow([self._output.cell(value) for value in timed.values()])
            sys.stdout.flush()
        else:
            click.echo(printable(f"{now} {text}"), err=failed)
        self._first = False


def arrow_rows(data: pa.Table | pa.RecordBatch) -> Iterator[dict[str, object]]:
    """Rows of Arrow data as dicts of Python values."""
    names = data.schema.names
    columns = [_values(column) for column in data.columns]
    if not columns:
        return iter([{} for _ in range(data.num_rows)])
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def _values(column: pa.Array | pa.ChunkedArray) -> list[object]:
    try:
        values: list[object] = column.to_pylist()
    except (ValueError, OverflowError):  # a date or time outside of Python's years 1 to 9999
        values = [_value(item) for item in column]
    return values


def _value(item: pa.Scalar) -> object:
    try:
        return item.as_py()
    except (ValueError, OverflowError):
        # Arrow's own text of such years is wrong; the number that is stored is not.
        return f"{item.type} {getattr(item, 'value', '(not printable)')}"


def raw_cell(value: object) -> str:
    """A value as text: empty for null, JSON for nested ones."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(_plain(value), ensure_ascii=False)
    return str(_plain(value))


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON values
    """Convert a value to one that JSON can represent."""
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
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no number for them
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
