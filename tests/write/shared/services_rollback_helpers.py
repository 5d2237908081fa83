"""What tests of services rollback share with others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_hive.table import MetaClient
from hudi_hive.table_api import HudiTable
from hudi_hive.write.service_base.context import ServiceContext
from tests.support.fixture_tables import unzip_fixture

WITHOUT_METADATA = {"hoodie.metadata.enable": "false"}


VERSIONS = (6, 8, 9)


def copy_of(name: str, folder: Path) -> Path:
    """A fixture of one's own to change."""
    return Path(shutil.copytree(unzip_fixture(name), folder / name))


def context_of(path: Path, **options: str) -> ServiceContext:
    return ServiceContext(MetaClient.load(path), {**WITHOUT_METADATA, **options})


def rows(path: Path) -> list[dict[str, object]]:
    table = HudiTable.open(path).scan().to_arrow()
    names = [name for name in table.column_names if not name.startswith("_hoodie")]
    return sorted(table.select(names).to_pylist(), key=repr)


def files(path: Path) -> set[str]:
    """Data files of a table."""
    found = {str(p.relative_to(path)) for p in path.rglob("*") if p.is_file()}
    return {name for name in found if not name.startswith(".hoodie/")}


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> Iterator[int]:
    yield request.param
