"""Options and small conversions that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from hudi_hive.cli.output import FORMATS, Output
from hudi_hive.errors import InvalidOptionError

F = TypeVar("F", bound=Callable[..., Any])


def with_output(function: F) -> F:
    """Add ``--format`` to a command; the command gets an :class:`Output` as ``output``, closed for it."""
    from functools import wraps

    @click.option(
        "--format",
        "output_format",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="How to print.",
    )
    @wraps(function)
    def wrapper(*args: Any, output_format: str, **kwargs: Any) -> Any:  # noqa: ANN401
        output = Output(output_format)
        result = function(*args, output=output, **kwargs)
        output.close()
        return result

    return wrapper  # type: ignore[return-value]


def storage_options(function: F) -> F:
    """Add ``--storage-option k=v`` (repeatable)."""
    return click.option(
        "--storage-option",
        "storage_option",
        multiple=True,
        metavar="K=V",
        help="Key, region, endpoint … of the storage.",
    )(function)


def pairs(values: tuple[str, ...], option: str) -> dict[str, str]:
    """``k=v`` words as a dict.

    Raises:
        InvalidOptionError: a word without ``=``.
    """
    result: dict[str, str] = {}
    for value in values:
        key, separator, text = value.partition("=")
        if not separator or not key:
            raise InvalidOptionError(f"{option} takes key=value, not {value!r}")
        result[key.strip()] = text
    return result
