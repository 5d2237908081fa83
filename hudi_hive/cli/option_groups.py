"""Passes options that belong together to a command as one value."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

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
