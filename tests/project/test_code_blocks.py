"""README, docs and docstrings: their code runs as it stands; what needs Spark runs in ``integration``."""

from __future__ import annotations

import pytest

from hudi_hive.testing import FakeMetastore
from tests.support.code_blocks import CodeBlock, Names, docstring_blocks, page_blocks
from tests.support.glue.glue_server import GlueServer

PYTHON = page_blocks("python")
DOCSTRINGS = docstring_blocks()


@pytest.fixture(autouse=True)
def glue(monkeypatch):
    """AWS Glue, where an example goes there."""
    with GlueServer() as server:
        keys = {"AWS_ENDPOINT_URL_GLUE": server.url, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
        for name, text in keys.items():
            monkeypatch.setenv(name, text)
        yield


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


def test_blocks_were_met():
    assert {block.where.split(":")[0] for block in PYTHON} >= {"README.md"}
    assert DOCSTRINGS


def test_a_block_that_is_wrong_fails(names):
    with pytest.raises(NameError):
        CodeBlock("x", "python", "scan = nothing.scan()\n").run(names, jvm=False)
