"""Passes options that belong together to a command as one value."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


def option_group(parameter: str, make: Callable[..., object], *options: Decorator) -> Callable[[F], F]:
    """Add options and arguments to a command, which gets all of them as one argument.

    Args:
        parameter: the command's parameter that takes the value.
        make: makes the value, from the options by their names.
        options: ``click.option(…)`` and ``click.argument(…)`` in the order of the help.

    Example:
        >>> import click
        >>> option_group("target", dict, click.argument("path"), click.option("--threads"))
    """

    def empty() -> None:
        """A function without a body, to which the options are attached to learn their names."""

    for option in options:
        option(empty)
    names = [option.name for option in empty.__click_params__ if option.expose_value]  # type: ignore[attr-defined]

    def decorate(function: F) -> F:
        @wraps(function)
        def command(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - click's values
            value = make(**{name: kwargs.pop(name) for name in names})
            return function(*args, **{parameter: value}, **kwargs)

        for option in reversed(options):
            command = option(command)
        return command  # type: ignore[return-value]

    return decorate


_METRICS = "--metrics"


def add_metrics_option(command: click.Command) -> None:
    """Add ``--metrics`` to a command and to those below it. Idempotent."""
    if isinstance(command, click.Group):
        for one in command.commands.values():
            add_metrics_option(one)
    elif not any(_METRICS in parameter.opts for parameter in command.params):
        command.params.append(
            click.Option(
                [_METRICS],
                is_flag=True,
                expose_value=False,
                callback=_print_at_end,
                help="Print counts and durations (ms) of metadata tables on standard error.",
            )
        )


def _print_at_end(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        context.find_root().call_on_close(_print)


def _print() -> None:
    from hudi_hive.metrics import METADATA_METRICS, metric_lines

    lines = metric_lines(METADATA_METRICS.snapshot())
    click.echo("\n".join(lines) if lines else "no metadata table was looked into", err=True)
