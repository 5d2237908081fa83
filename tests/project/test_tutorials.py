"""The tutorials that need no JVM run from top to bottom, and print what they say."""

from __future__ import annotations

import pytest

from tests.support.tutorials import TUTORIALS, TutorialRun, needs_jvm, short_folder

PAGES = [page for page in TUTORIALS if not needs_jvm(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    with short_folder() as folder, TutorialRun(page, folder, {}) as run:
        assert run.run() > 3


def test_what_a_tutorial_prints_is_compared(tmp_path):
    page = tmp_path / "wrong.md"
    page.write_text("```python\nprint(1, 2)\n```\n\n```text\n1 3\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="it prints"):
        TutorialRun(page, tmp_path, {}).run()


def test_tutorials_were_met():
    assert len(PAGES) >= 3
