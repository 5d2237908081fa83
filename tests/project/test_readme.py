"""README keeps its promises: the support matrix is what the tests ran, and every command it names exists."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import click

from hudi_hive.cli import cli

ROOT = Path(__file__).resolve().parents[2]


def test_support_matrix_is_up_to_date():
    spec = importlib.util.spec_from_file_location("support_matrix", ROOT / "tools" / "support_matrix.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert tool.with_matrix(text) == text, "run: python tools/support_matrix.py"


def test_readme_names_the_commands_that_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^hudi-hive ([a-z|\- ]+)", text, re.MULTILINE)
    first = {word.strip() for line in lines for word in line.split(" --")[0].split("  ")[0].split("|")}
    assert {words.split(" ")[0] for words in first} - {"status", "stop"} == set(cli.list_commands(click.Context(cli)))


def test_make_targets_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`?make ([a-z]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
