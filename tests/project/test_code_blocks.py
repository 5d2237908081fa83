"""README, docs and docstrings: their code runs as it stands; what needs Spark runs in ``integration``."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from hudi_hive.cli.main import cli
from hudi_hive.testing import FakeMetastore
from tests.support.code_blocks import CodeBlock, Names, docstring_blocks, page_blocks

PYTHON = page_blocks("python")
DOCSTRINGS = docstring_blocks()
COMMANDS = [
    (block.where, line)
    for block in page_blocks("", "bash")
    for line in re.findall(r"^hudi-hive ((?:.*\\\n)*.*)$", block.text, re.MULTILINE)
]


@pytest.fixture
def names(tmp_path):
    with FakeMetastore(tmp_path / "warehouse") as metastore:
        made = Names(tmp_path, metastore.uri)
        yield made
        made.close()


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.where)
def test_python_of_a_page(block, names):
    assert block.run(names, jvm=False) or block.needs_jvm


@pytest.mark.parametrize("block", DOCSTRINGS, ids=lambda block: block.where)
def test_example_of_a_docstring(block, names):
    assert block.run(names, jvm=False) or block.needs_jvm


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


def test_blocks_were_met():
    assert {block.where.split(":")[0] for block in PYTHON} >= {"README.md"}
    assert DOCSTRINGS and COMMANDS


def test_a_block_that_is_wrong_fails(names):
    with pytest.raises(NameError):
        CodeBlock("x", "python", "scan = nothing.scan()\n").run(names, jvm=False)
