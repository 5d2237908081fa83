"""The documentation site: its generated pages are those of the code, its navigation has all, and it builds strictly."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from hudi_hive import errors
from hudi_hive.cli import cli
from hudi_hive.cli.help import EXAMPLES, remedy_for
from tests.support.running.long import long_case
from tools import commands_page, errors_page
from tools.site.api import FACES, public_names
from tools.site.docstrings import as_markdown

ROOT = Path(__file__).resolve().parents[2]
NAVIGATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]


def test_the_page_of_commands_is_up_to_date():
    assert commands_page.PAGE.read_text(encoding="utf-8") == commands_page.page(), "run: python -m tools.commands_page"


def test_the_page_of_errors_is_up_to_date():
    assert errors_page.PAGE.read_text(encoding="utf-8") == errors_page.page(), "run: python -m tools.errors_page"


def test_the_site_shows_what_the_places_that_raise_say():
    assert "Places that raise it say" in errors_page.page(with_places=True)
    assert "Places that raise it say" not in errors_page.page()


def test_every_error_has_a_remedy():
    classes = errors_page.classes()
    assert len(classes) > 50 and classes[0] is errors.HudiHiveError
    assert [kind.__name__ for kind in classes[1:] if "HUDI_HIVE_DEBUG" in remedy_for(kind(""))] == []


def test_help_of_every_command_shows_an_example():
    for context in commands_page.commands():
        words = commands_page.words_of(context)
        assert words in EXAMPLES, f"hudi-hive {words}: add an example to hudi_hive/cli/help/examples.py"
        assert EXAMPLES[words][0] in context.command.get_help(context)
        assert all(set(words.split()) <= set(line.split()) for line in EXAMPLES[words])


def test_every_page_is_in_the_navigation():
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    named = set(re.findall(r"([\w/.-]+\.md)", NAVIGATION))
    assert pages <= named
    assert {page for page in named if not page.startswith(("api/", "project/"))} <= pages


def test_every_face_has_a_page_of_the_api():
    packages = {
        f"hudi_hive.{path.parent.name}"
        for path in (ROOT / "hudi_hive").glob("*/__init__.py")
        if "__all__ = [" in path.read_text(encoding="utf-8")
    }
    assert packages - set(FACES) <= {"hudi_hive.cli", "hudi_hive.names"}
    for face in FACES:
        assert f"api/{face.replace('.', '-')}.md" in NAVIGATION
        assert public_names(face)


def test_what_pages_import_is_in_the_api():
    names = {face: set(public_names(face)) for face in FACES}
    imported = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]:
        for face, words in re.findall(r"from (hudi_hive[\w.]*) import ([\w, ]+)", page.read_text(encoding="utf-8")):
            imported |= {(face, name) for name in re.findall(r"\w+", words.split(" as ")[0])}
    assert len(imported) > 20
    assert {(face, name) for face, name in imported if name not in names.get(face, ())} == set()


def test_docstrings_become_markdown():
    text = "See :class:`~hudi_hive.plan.ScanPlan`, as in::\n\n    scan.plan()\n"
    assert as_markdown(text) == "See `ScanPlan`, as in:\n\n    scan.plan()\n"


@pytest.mark.parametrize("strict", [long_case(True, name="strict")])
def test_the_site_builds_without_the_network(strict, tmp_path):
    """As `make docs` does it: no warning, every public name, nothing that a browser would fetch from elsewhere."""
    environment = {
        **os.environ,
        "NO_MKDOCS_2_WARNING": "1",
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
    }
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=900)
    text = "".join(page.read_text(encoding="utf-8") for page in (tmp_path / "site" / "api").glob("*.html"))
    for face in FACES:
        assert [name for name in public_names(face) if f"{name}</" not in text and f'.{name}"' not in text] == []


def test_the_shell_completes_commands(monkeypatch):
    monkeypatch.setenv("COMP_WORDS", "hudi-hive time")
    monkeypatch.setenv("COMP_CWORD", "1")
    environment = {**os.environ, "_HUDI_HIVE_COMPLETE": "bash_complete"}
    command = [sys.executable, "-c", "from hudi_hive.cli.main import main; main()"]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300).stdout
    assert printed.split() == ["plain,timeline"]
    assert isinstance(cli.get_command(click.Context(cli), "completion"), click.Command)
