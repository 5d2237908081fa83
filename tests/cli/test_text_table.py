"""Tables in a pipe: what is printed without rich is what rich prints, and rich is not imported for it."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from hudi_hive.cli import text_table
from hudi_hive.cli.text_table import plain_lines, print_table
from tests.support.fixture_tables import unzip_fixture

LETTERS = "abc  de-_/.[]"


@pytest.fixture
def by_rich(monkeypatch, capsys):
    """What rich prints of a table, into something that is no terminal."""

    def call(title: str, names: list[str], rows: list[list[str]]) -> str:
        with monkeypatch.context() as patched:
            patched.setattr(text_table, "plain_lines", lambda *_: None)
            print_table(title, names, rows)
        return capsys.readouterr().out

    return call


def _text(source: random.Random, least: int, most: int) -> str:
    return "".join(source.choice(LETTERS) for _ in range(source.choice([source.randint(least, 5), most])))


@pytest.mark.parametrize("most", [3, 20, 60, 400])
@pytest.mark.parametrize("columns", [1, 2, 5, 12, 40])
def test_tables_of_plain_text_are_printed_as_by_rich(by_rich, capsys, columns, most):
    source = random.Random(columns * 1_000 + most)
    plain = 0
    for count in (0, 1, 1, 3, 3):
        title = _text(source, 0, 12)
        names = [_text(source, 1, source.choice([5, 30])) for _ in range(columns)]
        rows = [[_text(source, 0, source.randint(0, most)) for _ in names] for _ in range(count)]
        expected = by_rich(title, names, rows)
        print_table(title, names, rows)
        assert capsys.readouterr().out == expected
        plain += plain_lines(title, names, rows) is not None
    assert plain == 5 or columns == 40  # columns without room are left to rich


@pytest.mark.parametrize(
    ("names", "cell"), [([], ""), ([""], "a"), (["a"], "été"), (["a"], "表"), (["a"], "a\nb"), (["a"] * 80, "abcdef")]
)
def test_other_tables_are_left_to_rich(by_rich, capsys, names, cell):
    rows = [[cell for _ in names]]
    assert plain_lines("rows", names, rows) is None
    print_table("rows", names, rows)
    assert capsys.readouterr().out == by_rich("rows", names, rows)


@pytest.mark.parametrize(("variable", "value"), [("FORCE_COLOR", "1"), ("TTY_COMPATIBLE", "1")])
def test_tables_are_printed_in_bold_where_the_environment_wants_it(monkeypatch, capsys, variable, value):
    monkeypatch.setenv(variable, value)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_table("rows", ["a"], [["b"]])
    assert "\x1b[1m" in capsys.readouterr().out


def test_a_command_in_a_pipe_does_without_rich():
    path = unzip_fixture("v8_cow_part_mdt")
    code = f"""
import sys
from hudi_hive.cli.main import cli
cli.main(["read", {str(path)!r}, "--where", "visit_id = 100"], standalone_mode=False)
print("rich" in sys.modules)
"""
    text = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    *table, loaded = text.splitlines()
    assert loaded == "False" and table[0].startswith("rows") and table[-1].startswith("└")
