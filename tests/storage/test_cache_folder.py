"""The folder of a cache: pieces come back whole or not at all, its bound holds, processes share it."""

from __future__ import annotations

import fcntl
import logging
import os
import random
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from hudi_hive.storage.cache import cache_folder
from hudi_hive.storage.cache.cache_folder import CacheFolder, FileKey

KEY = FileKey("s3 lake", "lake/t/f_0-1-0_20240101000000000.parquet", 1000)
MOST = 100_000


@pytest.fixture
def folder(tmp_path):
    return CacheFolder(str(tmp_path / "cache"), MOST)


def key(number):
    return FileKey("s3 lake", f"lake/t/{number}", 1000)


def files(folder):
    """Sizes of all files of the folder by their names, without that of the bytes in use."""
    paths = [os.path.join(at, name) for at, _, names in os.walk(folder.folder) for name in names]
    return {path: os.path.getsize(path) for path in paths if not path.endswith("/usage")}


def used(folder):
    with open(os.path.join(folder.folder, "hudi-hive-cache-1", "usage")) as file:
        return int(file.read())


def damage(path, content):
    with open(path, "wb") as file:
        file.write(content)


def test_pieces_come_back_with_their_place_and_content(folder):
    folder.write(KEY, 10, b"hello", '"tag"')
    folder.write(KEY, 0, b"he", None)
    assert folder.ranges(KEY) == [(0, 2), (10, 15)]
    piece = folder.read(KEY, 10, 15)
    assert (bytes(piece.data), piece.e_tag) == (b"hello", '"tag"')
    assert folder.read(KEY, 0, 2).e_tag is None
    for other in (KEY._replace(size=1001), KEY._replace(store="gs lake"), KEY._replace(path="lake/t/x")):
        assert folder.ranges(other) == [] and folder.read(other, 10, 15) is None
    folder.drop(KEY)
    assert folder.ranges(KEY) == []


def test_only_this_user_may_read_it(folder):
    folder.write(KEY, 0, b"he", None)
    assert os.stat(os.path.join(folder.folder, "hudi-hive-cache-1")).st_mode & 0o077 == 0
    assert all(os.stat(path).st_mode & 0o077 == 0 for path in files(folder))


def test_the_bound_holds_and_what_was_used_last_stays(folder):
    sizes = random.Random(7)
    folder.write(key("hot"), 0, bytes(1000), None)
    for number in range(150):
        (hot,) = (path for path in files(folder) if path.endswith("0-1000") and key("hot").folder in path)
        folder.write(key(number), 0, bytes(sizes.randrange(1, 16_000)), None)
        for path in files(folder):  # a clock that is as coarse as one likes
            if path != hot and os.stat(path).st_mtime > 1_000_000:
                os.utime(path, (number, number))
        os.utime(hot, (number + 1, number + 1))
        assert sum(files(folder).values()) <= MOST
        assert sum(files(folder).values()) <= used(folder)
    assert len(files(folder)) > 5 and folder.ranges(key("hot"))
    assert folder.ranges(key(149)) and not folder.ranges(key(0))
    root = os.path.join(folder.folder, "hudi-hive-cache-1")
    assert all(names for at, _, names in os.walk(root) if len(os.path.relpath(at, root)) > 10)  # folders of files


def test_what_is_larger_than_the_bound_is_not_cached(folder):
    folder.write(KEY, 0, bytes(1000), None)
    folder.write(KEY, 1000, bytes(MOST), None)
    assert folder.ranges(KEY) == [(0, 1000)]


def test_any_damage_is_noticed(folder):
    folder.write(KEY, 0, b"0123456789", "tag")
    (path,) = files(folder)
    with open(path, "rb") as file:
        good = file.read()
    other = CacheFolder(f"{folder.folder}-2", MOST)
    other.write(KEY, 1, b"0123456789", "tag")
    other.write(KEY._replace(size=7), 0, b"0123456789", "tag")
    damaged = [good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in range(len(good))]
    damaged += [good[:at] for at in range(len(good))] + [good + b"x", good * 2, b"\0" * len(good), bytes(100_000)]
    for strange in files(other):
        with open(strange, "rb") as file:
            damaged.append(file.read())
    for content in damaged:
        damage(path, content)
        with pytest.raises(ValueError, match="0-10"):
            folder.read(KEY, 0, 10)
        assert not os.path.exists(path)
    damage(path, good)
    assert bytes(folder.read(KEY, 0, 10).data) == b"0123456789"


@pytest.mark.parametrize("content", [b"", b"x" * 20, b"1", b"0" * 19 + b"-", b"9" * 20])
def test_a_damaged_count_is_made_anew(folder, content):
    folder.write(KEY, 0, bytes(1000), None)
    right = used(folder)
    damage(os.path.join(folder.folder, "hudi-hive-cache-1", "usage"), content)
    folder.write(KEY, 1000, bytes(1000), None)
    assert used(folder) == sum(files(folder).values()) > right


def test_what_a_killed_writer_left_goes_with_the_next_eviction(folder):
    folder.write(KEY, 0, bytes(1000), None)
    damage(os.path.join(folder.folder, "hudi-hive-cache-1", "tmp-1"), bytes(90_000))
    stranger = Path(folder.folder, "hudi-hive-cache-1", "somebody's")
    stranger.touch()
    for number in range(200):
        folder.write(key(number), 0, bytes(1000), None)
    assert not [path for path in files(folder) if "tmp-" in path] and stranger.exists()
    assert sum(files(folder).values()) <= MOST


@contextmanager
def largest_file(size):
    """Writes beyond a size fail, as on a disk that is full in the middle of a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_one_warning(folder, caplog):
    folder.write(KEY, 0, b"hello", None)
    before, count = files(folder), used(folder)
    with largest_file(5_000), caplog.at_level(logging.WARNING):
        folder.write(KEY, 5, bytes(10_000), None)
        folder.write(KEY, 5, bytes(10_000), None)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert folder.folder in caplog.text
    assert (files(folder), used(folder)) == (before, count)
    assert bytes(folder.read(KEY, 0, 5).data) == b"hello"


def test_a_folder_that_cannot_be_made_is_one_warning(tmp_path, caplog):
    (tmp_path / "file").write_bytes(b"")
    folder = CacheFolder(str(tmp_path / "file" / "cache"), MOST)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert folder.ranges(KEY) == [] and folder.read(KEY, 0, 5) is None
            folder.write(KEY, 0, b"hello", None)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_process_that_stands_still_with_the_lock_keeps_nobody(folder, monkeypatch):
    monkeypatch.setattr(cache_folder, "_LOCK_WAIT_S", 0.0)
    folder.write(KEY, 0, b"hello", None)
    with open(os.path.join(folder.folder, "hudi-hive-cache-1", "usage")) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        folder.write(KEY, 5, b"x", None)
        assert folder.ranges(KEY) == [(0, 5)] and bytes(folder.read(KEY, 0, 5).data) == b"hello"
    folder.write(KEY, 5, b"x", None)
    assert folder.ranges(KEY) == [(0, 5), (5, 6)]


SHARED = """
import random, sys
from hudi_hive.storage.cache.cache_folder import CacheFolder, FileKey

folder, numbers = CacheFolder(sys.argv[1], int(sys.argv[2])), random.Random(int(sys.argv[3]))
given = 0
for _ in range(600):
    number = numbers.randrange(60)
    key = FileKey("s3", str(number), 2000)
    if (piece := folder.read(key, 0, 2000)) is None:
        folder.write(key, 0, bytes([number]) * 2000, None)
    else:
        assert bytes(piece.data) == bytes([number]) * 2000
        given += 1
print(given)
"""


def test_two_processes_share_it(folder):
    arguments = [sys.executable, "-c", SHARED, folder.folder, str(MOST)]
    running = [subprocess.Popen([*arguments, str(seed)], stdout=subprocess.PIPE, text=True) for seed in (1, 2)]
    most = 0
    while any(process.poll() is None for process in running):
        most = max(most, sum(_size(path) for path in _paths(folder)))
    assert [int(process.communicate()[0]) > 0 and process.returncode == 0 for process in running] == [True, True]
    assert 0 < sum(files(folder).values()) <= used(folder) <= MOST
    assert most <= MOST


def _paths(folder):
    return [os.path.join(at, name) for at, _, names in os.walk(folder.folder) for name in names if "-" in name]


def _size(path):
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0
