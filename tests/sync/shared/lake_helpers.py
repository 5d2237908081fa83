"""A metastore for tests, and a folder of several tables to sync to it."""

from __future__ import annotations

import pytest

from hudi_hive.testing import FakeMetastore
from tests.support.fixture_tables import unzip_fixture

NAMES = ("v8_cow_nonpart", "v8_cow_part_mdt", "v8_mor_part_rli")


@pytest.fixture
def server(tmp_path):
    with FakeMetastore(tmp_path / "metastore") as fake:
        yield fake


# -- many ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    for name in NAMES[:2]:
        unzip_fixture(name, folder / "a")
    unzip_fixture(NAMES[2], folder / "b" / "deep")
    (folder / "b" / "_hidden" / "t" / ".hoodie").mkdir(parents=True)
    (folder / "a" / "no_table" / "x").mkdir(parents=True)
    return folder
