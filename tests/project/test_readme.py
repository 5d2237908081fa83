"""README keeps its promises: the support matrix is what the tests ran, it is short, and what it names exists."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_support_matrix_is_up_to_date():
    spec = importlib.util.spec_from_file_location("support_matrix", ROOT / "tools" / "support_matrix.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    text = (ROOT / "docs" / "reference" / "support.md").read_text(encoding="utf-8")
    assert tool.with_matrix(text) == text, "run: python tools/support_matrix.py"


def test_readme_is_short():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 600
    for language in ("python", "bash"):
        for block in re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            assert len(block.split("\n")) - block.count("\n\n") <= 11


def test_readme_and_the_site_show_only_pictures_that_are_there():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / picture).exists(), f"{page}: {picture}"


def test_each_page_of_the_ui_has_a_picture_that_is_shown():
    shown = (ROOT / "docs" / "ui.md").read_text(encoding="utf-8")
    pictures = {path.name for path in (ROOT / "docs" / "img").glob("ui-*.png")}
    templates = {path.stem for path in (ROOT / "hudi_hive" / "ui" / "templates").glob("*.html")}
    pages = templates - {"base", "error", "parts", "metadata"} | {"metadata-table"}
    assert {f"ui-{page}.png" for page in pages} <= pictures
    assert [picture for picture in sorted(pictures) if f"](img/{picture})" not in shown] == []


def test_make_targets_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z-]+)[ `\n]", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
