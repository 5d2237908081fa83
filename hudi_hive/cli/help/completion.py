"""``completion``: the script by which a shell completes commands and options, as click makes it."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script by which bash, zsh or fish completes commands and options of hudi-hive.

    The shell sources it at its start: put it into a file and name that in ~/.bashrc or ~/.zshrc; fish finds it in
    ~/.config/fish/completions/hudi-hive.fish.
    """
    kind = get_completion_class(shell)
    assert kind is not None  # click has the three
    root = context.find_root().command
    click.echo(kind(root, {}, "hudi-hive", "_HUDI_HIVE_COMPLETE").source())
