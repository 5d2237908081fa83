"""Writes ``docs/commands.md`` from the declarations of ``hudi-hive``: ``python -m tools.commands_page``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from hudi_hive.cli import cli
from hudi_hive.cli.help import EXAMPLES

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"

_HEAD = """# Commands

Made by `python -m tools.commands_page` from the commands themselves; do not edit. `hudi-hive COMMAND --help` shows
the same. Every command that shows something takes `--format table|json|csv|csv-raw` (in `csv` a text that a
spreadsheet would take for a formula gets a `'` in front; `csv-raw` has texts as they are). A command exits 0, or 1
after an error, which is one line on standard error that says [what to do about it](errors.md), or 2 if it was not
called rightly.

`hudi-hive completion bash|zsh|fish` prints a script with which the shell completes commands and options.
"""


def page() -> str:
    """The text of the page."""
    return "\n".join([_HEAD, *(_section(context) for context in commands())])


def commands() -> Iterator[click.Context]:
    """The contexts of ``hudi-hive`` and all commands below it, in the order of the help."""
    yield from _walk(click.Context(cli, info_name="hudi-hive"))


def words_of(context: click.Context) -> str:
    """What is typed behind ``hudi-hive`` to call the command of a context."""
    names: list[str] = []
    at: click.Context | None = context
    while at is not None and at.parent is not None:
        names.insert(0, str(at.info_name))
        at = at.parent
    return " ".join(names)


def _walk(context: click.Context) -> Iterator[click.Context]:
    yield context
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _walk(click.Context(below, parent=context, info_name=name))


def _section(context: click.Context) -> str:
    words = words_of(context)
    command = context.command
    depth = len(words.split()) or 1
    pieces = " ".join(command.collect_usage_pieces(context))
    usage = " ".join([*f"hudi-hive {words}".split(), pieces])
    lines = [f"{'#' * min(depth + 1, 4)} `{'hudi-hive ' + words if words else 'hudi-hive'}`", ""]
    lines += [_help(command), "", f"Usage: `{usage}`", ""]
    if isinstance(command, click.Group):
        names = command.list_commands(context)
        lines += ["Commands: " + ", ".join(f"`{name}`" for name in names), ""]
    if options := _options(context):
        lines += ["| option | what it does |", "|---|---|", *options, ""]
    lines += ["```bash", *EXAMPLES.get(words, ()), "```", ""]
    return "\n".join(lines)


def _help(command: click.Command) -> str:
    text = (command.help or command.short_help or "").replace("\b\n", "")
    return "\n\n".join(" ".join(part.split()).replace("|", "\\|").replace("<", "\\<") for part in text.split("\n\n"))


def _options(context: click.Context) -> list[str]:
    rows = []
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or "--help" in parameter.opts:
            continue
        name, text = record
        rows.append(f"| `{_cell(name)}` | {_cell(text).replace('<', chr(92) + '<')} |")
    return rows


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace(str(Path.home()), "~")


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
