"""Rollback of tables that real Hudi wrote: pending and completed instants, markers or none, both layouts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_hive.api import HudiTable
from hudi_hive.errors import WriteError
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.timeline.instant import ROLLBACK
from hudi_hive.write.markers import MarkerKind, create_marker, marker_folder
from hudi_hive.write.services.context import ServiceContext
from hudi_hive.write.services.rollback import rollback, rollback_failed_writes
from tests.support import unzip_fixture

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


def test_leftovers_of_a_dead_writer_go(version: int, tmp_path: Path) -> None:
    path = copy_of(f"v{version}_cow_crash_leftover", tmp_path)
    before, seen = rows(path), files(path)
    done = rollback_failed_writes(context_of(path))
    assert len(done) == 1
    gone = {f"{p}/{n}" for p, part in done[0].partitions.items() for n in part.deleted}
    assert gone and files(path) == seen - gone
    assert all(done[0].rolled_back[0] in name for name in gone)
    client = MetaClient.load(path)
    assert not client.timeline.pending()
    assert [i.requested for i in client.timeline.completed({ROLLBACK})] == [done[0].instant.requested]
    assert client.timeline.rollback_metadata(done[0].instant).partitions == done[0].partitions
    assert rows(path) == before
    assert rollback_failed_writes(context_of(path)) == []
