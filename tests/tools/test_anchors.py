"""References to documents: what the check of anchors reports, and that the rules which tests name are headings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fixture_tables import named_gaps
from tests.support.metastore.sync_golden import ADJUSTMENTS
from tools.checks import anchors
from tools.checks.tree import REPOSITORY

PAGE = """# Log files

## Delete blocks

Text with [a link](other.md#a-heading) and [one
over two lines](#log-files).

```
# not a heading
[not a link](nowhere.md)
```

## `code` and *stars*
## Delete blocks
"""


def problems(tmp_path: Path, **files: str) -> list[str]:
    """What the check says of a repository of these files, ``__`` in whose names is a slash and ``_md`` a suffix."""
    names = []
    for name, text in files.items():
        path = name.replace("__", "/").replace("_md", ".md").replace("_py", ".py")
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
        names.append(path)
    anchors._anchors.cache_clear()
    return [str(problem) for problem in anchors.problems_in(tmp_path, names)]


def test_headings_have_the_slugs_of_github():
    assert anchors.anchors_of(PAGE) == {"log-files", "delete-blocks", "code-and-stars", "delete-blocks-1"}
    assert anchors.github_slug("Hive's [ACID](x.md) folders: `delta_1`, §2") == "hives-acid-folders-delta_1-2"


def test_what_leads_somewhere_is_not_reported(tmp_path):
    code = '"""Source: docs/page.md#delete-blocks, docs/other.md#a-heading; https://example.org/x.md#y."""\n'
    assert problems(tmp_path, docs__page_md=PAGE, docs__other_md="# A heading\n", code_py=code) == []


def test_links_that_lead_nowhere_are_reported_with_their_line(tmp_path):
    page = "# A\n[x](#b)\n\n[y](gone.md) [z](../code.py) [site](https://example.org)\n"
    assert problems(tmp_path, docs__page_md=page, code_py="") == [
        "docs/page.md:2: link to #b, which has no such heading",
        "docs/page.md:4: link to gone.md, which is no file",
    ]


def test_references_in_code_that_lead_nowhere_are_reported(tmp_path):
    code = "# docs/page.md#log-files\n# docs/page.md#log-file\n# docs/format/gone.md#x\n"
    assert problems(tmp_path, docs__page_md=PAGE, docs__other_md="# A heading\n", code_py=code) == [
        "code.py:2: docs/page.md#log-file: the page has no such heading",
        "code.py:3: docs/format/gone.md#x: no such page",
    ]


def test_files_and_modules_that_do_not_exist_are_reported(tmp_path):
    code = "# tests/a.py and tests/gone.py\n# python -m tests.a, python -m tests.gone\n# python -m tools.checks.NAME\n"
    assert problems(tmp_path, tests__a_py="", code_py=code) == [
        "code.py:1: tests/gone.py: no such file",
        "code.py:2: python -m tests.gone: no such module",
    ]


@pytest.mark.parametrize(
    "text",
    ["(section 7.5)", "sections 2.3 and 10", "Appendix A", "§ 4", "decisions.md 3", "decision 12", "format rules"],
)
def test_references_to_documents_that_are_not_here_are_reported(tmp_path, text):
    (problem,) = problems(tmp_path, code_py=f'"""Reads blocks {text}."""\n')
    assert problem.startswith("code.py:1: ")


def test_other_sections_are_not_reported(tmp_path):
    assert problems(tmp_path, code_py="section = size - 1  # the load-on-open section, an appendix to it\n") == []


def test_rules_that_tests_name_are_headings_of_the_format_reference():
    rules = anchors.anchors_of((REPOSITORY / "docs" / "format" / "rules.md").read_text())
    named = {reason.partition(":")[0] for reason in named_gaps().values()}
    named = {name for name in named if not name.startswith(("release ", "fixtures/"))}
    named |= {name for names, _ in ADJUSTMENTS.values() for name in names}
    assert named
    assert named <= rules
