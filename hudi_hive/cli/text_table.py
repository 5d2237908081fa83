"""Tables for people: columns of texts between lines, as wide as the terminal, or 200 characters where there is none."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Final

import click

# A pipe has no width of its own: 80 columns would fold paths and instants beyond reading.
_WIDTH: Final = 200
_WORD: Final = re.compile(r"\s*\S+\s*")
_EDGES: Final = 2
"""A blank on each side of a cell."""


def print_table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table.

    Args:
        title: stands above it.
        names: of the columns.
        rows: the texts of their cells, without characters that control a terminal.
    """
    lines = None if _is_styled() else plain_lines(title, names, rows)
    if lines is None:
        _print_styled(title, names, rows)
    else:
        click.echo("\n".join(lines))


def plain_lines(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str] | None:
    """The lines that rich would print into a pipe, without importing it, which is a tenth of a small command.

    Returns:
        None where characters may be of another width than one, or columns have no room: that is left to rich.
    """
    columns = [[name, *(row[number] for row in rows)] for number, name in enumerate(names)]
    if not all(names) or not all(
        _is_simple(text) for text in (title, *(cell for column in columns for cell in column))
    ):
        return None
    room = _WIDTH - len(columns) - 1
    widths = _narrowed([min(room, max(map(len, column)) + _EDGES) for column in columns], room)
    if min(widths, default=0) <= _EDGES:
        return None
    folded = [[_folded(cell, width - _EDGES) for cell in column] for column, width in zip(columns, widths, strict=True)]
    header, *cells = zip(*folded, strict=True)
    return [
        *(_folded(title, sum(widths) + len(widths) + 1) if title else ()),
        _rule(("┏", "┳", "┓"), "━", widths),
        *_row_lines(("┃", "┃", "┃"), header, at_bottom=True),
        _rule(("┡", "╇", "┩"), "━", widths),
        *(line for row in cells for line in _row_lines(("│", "│", "│"), row)),
        _rule(("└", "┴", "┘"), "─", widths),
    ]


def _is_simple(text: str) -> bool:
    return text.isascii() and (text.isprintable() or not text)


def _narrowed(widths: Sequence[int], room: int) -> list[int]:
    """Widths with the widest ones taken back, step by step, until all of them have room."""
    narrowed = list(widths)
    while (excess := sum(narrowed) - room) > 0:
        widest = max(narrowed)
        if widest <= _EDGES:
            break
        step = widest - max((width for width in narrowed if width < widest), default=0)
        wide = [number for number, width in enumerate(narrowed) if width == widest]
        for left, number in zip(range(len(wide), 0, -1), wide, strict=True):
            less = min(step, round(excess / left))
            narrowed[number] -= less
            excess -= less
    return narrowed


def _folded(text: str, width: int) -> list[str]:
    """A text as lines of one width: broken between words, and within those that are longer than a line."""
    breaks, taken = [], 0
    for word in _WORD.finditer(text) if len(text) > width else ():
        start, length = word.start(), len(word[0].rstrip())
        if length <= width - taken:
            taken += len(word[0])
        elif length > width:  # from the start of a line on
            breaks += [*range(start, word.end(), width)]
            taken = (len(word[0]) - 1) % width + 1
        else:
            breaks.append(start)
            taken = len(word[0])
    ends = [place for place in breaks if place]
    return [text[start:end].ljust(width)[:width] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


def _row_lines(bars: tuple[str, str, str], cells: Sequence[Sequence[str]], *, at_bottom: bool = False) -> Iterator[str]:
    """The lines of a row, whose cells have several when they are folded.

    Args:
        bars: in front of the first cell, between cells, and behind the last one.
        cells: the lines of each cell.
        at_bottom: cells of fewer lines than others stand at the bottom, otherwise at the top.
    """
    height = max(map(len, cells))
    filled = []
    for lines in cells:
        blank = [" " * len(lines[0])] * (height - len(lines))
        filled.append([*blank, *lines] if at_bottom else [*lines, *blank])
    left, between, right = bars
    for line in zip(*filled, strict=True):
        yield f"{left} " + f" {between} ".join(line) + f" {right}"


def _rule(corners: tuple[str, str, str], line: str, widths: Sequence[int]) -> str:
    left, between, right = corners
    return left + between.join(line * width for width in widths) + right


def _is_styled() -> bool:
    """Whether rich would print something else than plain text: to a terminal, or to what shall be one, or in ASCII."""
    return (
        sys.stdout.isatty()
        or bool(os.environ.get("FORCE_COLOR"))
        or os.environ.get("TTY_COMPATIBLE") == "1"
        or not (sys.stdout.encoding or "").lower().startswith("utf")
    )


def _print_styled(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    class Printer(Console):
        """A console that raises ``BrokenPipeError`` instead of ending the process."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    # Text, not str: brackets in a table's own names are no markup.
    table = Table(title=Text(title), title_justify="left", title_style="bold", header_style="bold", expand=False)
    for name in names:
        table.add_column(Text(name), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Printer(width=None if sys.stdout.isatty() else _WIDTH, highlight=False).print(table)
