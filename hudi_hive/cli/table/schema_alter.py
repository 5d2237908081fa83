"""``schema PATH`` and ``schema alter PATH add|drop|…|replace``: columns and their changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from hudi_hive.cli.common import pairs, storage_options, with_output
from hudi_hive.cli.output import Output
from hudi_hive.cli.timeline import schema as inspect_schema

if TYPE_CHECKING:
    from hudi_hive.write.alter import SchemaBuilder

F = TypeVar("F", bound=Callable[..., Any])

_SHOW: Final = "show"


class _ShowByDefault(click.Group):
    """A command group that prints the columns when no subcommand is named: ``schema PATH``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_SHOW, *args]
        return super().parse_args(ctx, args)


@click.group(cls=_ShowByDefault)
def schema() -> None:
    """The columns of a table with their Arrow types, and changes of them.

    `schema PATH` is short for `schema show PATH`, which takes --as-of and --history.
    """


@schema.group()
@click.argument("path")
@click.pass_context
def alter(ctx: click.Context, path: str) -> None:
    """Change the columns of a table, in one commit that writes no rows.

    Columns below others are named with dots: info.a, tags.element.x, scores.value.x. Types are written as in Hive and
    Spark: int, bigint, decimal(10,2), struct<a:int,b:string>, array<string>.
    """
    ctx.obj = path


schema.add_command(inspect_schema, _SHOW)


def _alter_options(function: F) -> F:
    """Add the options that all changes of a schema share."""
    wrapped = storage_options(click.pass_obj(function))
    wrapped = click.option("--conf", multiple=True, metavar="K=V", help="One of Hudi's write options (repeatable).")(
        wrapped
    )
    wrapped = click.option("--check-data", is_flag=True, help="Refuse values that a new type cannot take.")(wrapped)
    return click.option("--dry-run", is_flag=True, help="Only check the change.")(wrapped)  # type: ignore[return-value]


def _places(function: F) -> F:
    """Add the options that say where a column is placed."""
    function = click.option("--after", metavar="COLUMN", help="Behind this sibling.")(function)
    return click.option("--first", is_flag=True, help="In front of its siblings, in a struct.")(function)


def _altered(
    path: str,
    change: Callable[[SchemaBuilder], object],
    output: Output,
    *,
    dry_run: bool,
    check_data: bool,
    conf: tuple[str, ...],
    storage_option: tuple[str, ...],
) -> None:
    """Make a change, commit it and print the result."""
    from hudi_hive.table_api import HudiTable

    table = HudiTable.open(path, pairs(storage_option, "--storage-option"))
    builder = table.update_schema(pairs(conf, "--conf"))
    change(builder)
    report = builder.commit(dry_run=dry_run, check_data=check_data)
    rows = [
        {"column": row.column, "change": row.change, "before": row.before, "after": row.after} for row in report.changes
    ]
    output.section("changes", rows, ["column", "change", "before", "after"])
    output.note("nothing was written" if report.instant is None else f"committed as {report.instant.requested}")
    for step, error in report.failed.items():
        output.note(f"{step} failed, the change stands: {error}")


@alter.command()
@click.argument("column")
@click.argument("type_", metavar="TYPE")
@click.option("--comment", metavar="TEXT", help="What the column is.")
@_places
@_alter_options
@with_output
def add(
    path: str,
    column: str,
    type_: str,
    comment: str | None,
    first: bool,
    after: str | None,
    output: Output,
    **common: Any,  # noqa: ANN401 - of _alter_options
) -> None:
    """Add a column that takes null; rows that are there have null in it."""
    _altered(path, lambda b: b.add(column, type_, doc=comment, first=first, after=after), output, **common)


@alter.command()
@click.argument("column")
@_alter_options
@with_output
def drop(path: str, column: str, output: Output, **common: Any) -> None:  # noqa: ANN401
    """Drop a column; one of its name that is added later is another."""
    _altered(path, lambda b: b.drop(column), output, **common)


@alter.command()
@click.argument("column")
@click.argument("name")
@_alter_options
@with_output
def rename(path: str, column: str, name: str, output: Output, **common: Any) -> None:  # noqa: ANN401
    """Give a column another name."""
    _altered(path, lambda b: b.rename(column, name), output, **common)


@alter.command(name="type")
@click.argument("column")
@click.argument("type_", metavar="TYPE")
@_alter_options
@with_output
def change_type(path: str, column: str, type_: str, output: Output, **common: Any) -> None:  # noqa: ANN401
    """Give a column a type that holds what it has: int to bigint, float, double, decimal or string and so on."""
    _altered(path, lambda b: b.change_type(column, type_), output, **common)


@alter.command()
@click.argument("column")
@_places
@click.option("--before", metavar="COLUMN", help="In front of this sibling.")
@_alter_options
@with_output
def move(
    path: str,
    column: str,
    first: bool,
    after: str | None,
    before: str | None,
    output: Output,
    **common: Any,  # noqa: ANN401 - of _alter_options
) -> None:
    """Put a column elsewhere among its siblings."""
    _altered(path, lambda b: b.move(column, first=first, after=after, before=before), output, **common)


@alter.command()
@click.argument("column")
@_alter_options
@with_output
def nullable(path: str, column: str, output: Output, **common: Any) -> None:  # noqa: ANN401
    """Let a column take null."""
    _altered(path, lambda b: b.optional(column), output, **common)


@alter.command()
@click.argument("column")
@click.argument("text", required=False)
@_alter_options
@with_output
def comment(path: str, column: str, text: str | None, output: Output, **common: Any) -> None:  # noqa: ANN401
    """Set the comment of a column; without a text, take it away."""
    _altered(path, lambda b: b.comment(column, text), output, **common)


@alter.command()
@click.argument("columns")
@_alter_options
@with_output
def replace(path: str, columns: str, output: Output, **common: Any) -> None:  # noqa: ANN401
    """Have the columns of a list and no others: "id int, name string COMMENT 'who'".

    Those whose names are there keep their values; all others are new. Columns that the table needs must be named.
    """
    _altered(path, lambda b: b.replace_columns(columns), output, **common)
