"""The shell blocks of README and docs run as they stand, on real tables."""

from __future__ import annotations

import os
import re
from unittest.mock import patch

import pytest

from hudi_hive.testing import FakeMetastore
from tests.support.code_blocks import PAGES, ROOT, CodeBlock, Names, page_blocks
from tests.support.glue.glue_server import GlueServer
from tests.support.shell_blocks import run_block

SHELL = [block for block in page_blocks("bash") if not block.where.startswith("docs/stores.md")]
LANGUAGES = {"python", "bash", "text", "diff", "sql", "scala", "py", "sh"}
"""``py`` and ``sh`` stand for what needs a store, a server or secrets of its own; tests beside those of it run them."""


@pytest.fixture
def names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # In its place: modules that are imported meanwhile keep the mapping for good.
    environment = patch.dict(os.environ, {"HOME": str(tmp_path), "COLUMNS": "120"})
    with environment, FakeMetastore(tmp_path / "warehouse") as metastore:
        made = Names(tmp_path, metastore.uri)
        yield made
        made.close()


@pytest.fixture(scope="module")
def glue():
    with GlueServer() as server:
        yield {"AWS_ENDPOINT_URL_GLUE": server.url, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}


@pytest.mark.parametrize("block", SHELL, ids=lambda block: block.where)
def test_commands_of_a_page(block: CodeBlock, names: Names, glue: dict[str, str]) -> None:
    os.environ.update(glue)
    assert run_block(block.text, names)


def test_every_block_has_a_language_that_something_runs():
    for page in PAGES:
        fences = re.findall(r"^```(\w*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        opening = fences[::2]
        assert set(opening) <= LANGUAGES, f"{page.relative_to(ROOT)}: {sorted(set(opening) - LANGUAGES)}"


def test_a_command_that_is_wrong_fails(names):
    with pytest.raises(AssertionError, match="no such"):
        run_block("hudi-hive show /nothing/here\n", names)
    with pytest.raises(AssertionError, match="nothing runs"):
        run_block("rm -rf x\n", names)
