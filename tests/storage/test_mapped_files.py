"""Files are seen through copies on the local disk, whose bytes are in memory while they are looked at only."""

from __future__ import annotations

import os
import uuid

import pytest

from hudi_hive.errors import PathNotFoundError, StorageError
from hudi_hive.storage import Storage, map_file, read_through, release_pages

DATA = os.urandom(20 << 20)


@pytest.fixture(params=["local", "memory"])
def storage(request, tmp_path):
    base = str(tmp_path / "lake") if request.param == "local" else f"memory://{uuid.uuid4()}"
    storage = Storage(base)
    storage.write_bytes("p/file", DATA)
    storage.write_bytes("p/empty", b"")
    return storage


def test_the_view_has_the_bytes_and_leaves_no_file(storage, tmp_path):
    folder = tmp_path / "spilled"
    view = map_file(storage, "p/file", str(folder))
    storage.write_bytes("p/file", b"other")
    assert not list(folder.iterdir())
    assert view == DATA
    release_pages(view)
    assert b"".join(read_through(view[5:-5])) == DATA[5:-5]
    assert view[-5:] == DATA[-5:]
    assert bytes(map_file(storage, "p/empty", str(folder))) == b""
    assert storage.counters["bytes_read"] == len(DATA)


def test_other_views_are_read_through_at_once():
    assert list(read_through(memoryview(DATA))) == [DATA]
    release_pages(memoryview(DATA))


def test_what_is_not_there_is_named(storage, tmp_path):
    with pytest.raises(PathNotFoundError, match="p/none"):
        map_file(storage, "p/none", str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=str(tmp_path / "file")):
        map_file(storage, "p/file", str(tmp_path / "file"))
