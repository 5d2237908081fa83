"""The tutorials that need Java run from top to bottom, and print what they say."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from hudi_hive.metastore import HiveMetastore
from tests.support.tutorials import TUTORIALS, TutorialRun, needs_jvm, short_folder

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

PAGES = [page for page in TUTORIALS if needs_jvm(page)]
ADDRESS = "thrift://127.0.0.1:9083"
DATABASES = ("taxi", "moved")


@pytest.fixture
def no_databases(metastore: HiveMetastore) -> Any:
    yield
    for name in DATABASES:
        if name in metastore.databases():
            metastore.drop_database(name, cascade=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs(
    page: Path, metastore_uri: str, spark: Any, no_databases: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    starts_its_own = "metastore start" in page.read_text(encoding="utf-8")
    replaced = {"9083": _free_port()} if starts_its_own else {ADDRESS: metastore_uri}
    with short_folder() as folder, TutorialRun(page, folder, replaced, {"spark": spark}) as run:
        assert run.run() > 3


def _free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])
