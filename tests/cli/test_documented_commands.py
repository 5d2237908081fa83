"""The commands of README and docs have the options that the pages show."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from hudi_hive.cli.main import cli
from tests.support.code_blocks import page_blocks

COMMANDS = [
    (block.where, line)
    for block in page_blocks("", "bash", "sh")
    for line in re.findall(r"^hudi-hive ((?:.*\\\n)*.*)$", block.text, re.MULTILINE)
]


@pytest.mark.parametrize(("where", "line"), COMMANDS, ids=[f"{where} {line[:30]}" for where, line in COMMANDS])
def test_options_of_a_command_exist(where, line):
    words = shlex.split(re.split(r"(?:  +|\s#)", line.replace("\\\n", " "))[0].replace("…", ""))
    for first in words[0].split("|"):
        command, rest = command_of([first, *words[1:]])
        options = options_below(command)
        named = {word.split("=")[0].strip("[]") for word in rest if re.match(r"\[?--?[a-z]", word)}
        assert named <= options | {"--help"}


def command_of(words):
    """The command that words lead to, and the words behind it."""
    command, context = cli, click.Context(cli)
    for place, word in enumerate(words):
        below = command.get_command(context, word) if isinstance(command, click.Group) else None
        if below is None:
            return command, words[place:]
        command, context = below, click.Context(below, parent=context)
    return command, []


def options_below(command):
    """The options of a command and of those below it: ``schema PATH`` is short for a command of its own."""
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        options.update(*(options_below(command.get_command(context, name)) for name in command.list_commands(context)))
    return options


def test_commands_were_met():
    assert len(COMMANDS) > 20
