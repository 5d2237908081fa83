"""Storage: listings, reads, atomic creation, path safety and counts, on the local disk and through fsspec."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_hive.errors import (
    InvalidOptionError,
    PathExistsError,
    PathNotFoundError,
    StorageError,
    StoreAccessDeniedError,
    StoreUnreachableError,
    UnsafePathError,
)
from hudi_hive.storage import LISTING_SCHEMA, Storage, local_files, local_listing

KEYS = {"access_key": "k", "secret_key": "s", "region": "r"}


@pytest.fixture(params=["local", "memory"])
def storage(request, tmp_path):
    if request.param == "local":
        return Storage(tmp_path)
    return Storage(f"memory://{tmp_path.name}")


def test_write_read_and_list(storage):
    storage.write_bytes("a/b/c.txt", b"0123456789")
    storage.write_bytes("a/d.txt", b"xy")
    assert storage.read_bytes("a/b/c.txt") == b"0123456789"
    assert storage.read_bytes("a/b/c.txt", 4, 3) == b"456"
    assert storage.read_bytes("a/b/c.txt", 8, 30) == b"89"
    flat = storage.list("a")
    assert flat.schema == LISTING_SCHEMA
    rows = sorted(zip(flat["path"].to_pylist(), flat["size"].to_pylist(), flat["is_dir"].to_pylist(), strict=True))
    assert rows == [("a/b", 0, True), ("a/d.txt", 2, False)]
    files = storage.list(recursive=True)
    assert sorted(files.filter(~files["is_dir"].to_numpy())["path"].to_pylist()) == ["a/b/c.txt", "a/d.txt"]
    assert storage.size("a/d.txt") == 2
    assert storage.exists("a") and storage.is_dir("a") and not storage.exists("z")


@pytest.mark.parametrize(
    ("text", "root", "uri"),
    [
        ("abfss://box@lake.dfs.core.windows.net/a/b", "box/a/b", "abfss://box@lake.dfs.core.windows.net/a/b"),
        ("s3://bucket/a#b?c/", "bucket/a#b?c", "s3://bucket/a#b?c"),
        ("file:///a/b#c?d", "/a/b#c?d", "file:/a/b#c?d"),
        ("file://localhost/a%20b", "/a b", "file:/a b"),
    ],
)
def test_uris_keep_account_and_odd_characters(text, root, uri):
    storage = Storage(text)
    assert (storage.root, storage.uri(), storage.child("x").uri("y")) == (root, uri, f"{uri}/x/y")
    copy = pickle.loads(pickle.dumps(storage))
    assert (copy.root, copy.uri()) == (root, uri)


def test_every_call_is_counted(tmp_path):
    storage = Storage(tmp_path)
    for name in ("x/1", "x/2", "y/1"):
        storage.write_bytes(name, b"abc")
    with storage.counters.measure() as cost:
        storage.list("x")
        storage.list(recursive=True)
        storage.read_bytes("x/1")
    assert cost == {"lists": 4, "opens": 1, "reads": 1, "bytes_read": 3}
    assert storage.counters.listed[storage.uri("x")] == 2
    assert storage.counters.opened == {storage.uri("x/1"): 1}


def test_children_share_counters(tmp_path):
    storage = Storage(tmp_path)
    child = storage.child("p")
    child.write_bytes("f", b"1")
    assert storage.read_bytes("p/f") == b"1"
    assert storage.counters["writes"] == 1


def test_create_if_absent_has_one_winner_and_leaves_nothing_behind(storage):
    storage.create_if_absent("t/commit", b"first")
    with pytest.raises(PathExistsError):
        storage.create_if_absent("t/commit", b"second")
    assert storage.read_bytes("t/commit") == b"first"
    assert storage.list("t").num_rows == 1


def test_a_file_is_replaced_in_one_step(tmp_path, monkeypatch):
    storage = Storage(tmp_path)
    storage.replace_bytes("a/defs", b"first")
    (tmp_path / "a" / ".defs.crc").write_bytes(b"of the first")
    seen = []
    replace = os.replace

    def spied(source, target):
        seen.append((Path(target).read_bytes(), Path(source).read_bytes()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", spied)
    storage.replace_bytes("a/defs", b"second")
    assert seen == [(b"first", b"second")]
    assert storage.read_bytes("a/defs") == b"second" and os.listdir(tmp_path / "a") == ["defs"]


@pytest.mark.parametrize("nameless", [True, False])
def test_new_file_has_no_name_of_its_own_until_it_is_whole(tmp_path, monkeypatch, nameless):
    """A temporary one, where there are no files without a name, is none that a table's reader takes up."""
    if not nameless:
        monkeypatch.setattr(local_files, "_open_nameless", lambda folder: None)
    seen = []
    link = os.link

    def spied(source, target, **options):
        seen.append((os.listdir(tmp_path), os.stat(source).st_size))
        link(source, target, **options)

    monkeypatch.setattr(os, "link", spied)
    Storage(tmp_path).create_if_absent(".group_001.log.1_0-0-0", b"abc")
    ((names, size),) = seen
    assert size == 3 and [name.startswith(".tmp-") for name in names] == ([] if nameless else [True])
    assert os.listdir(tmp_path) == [".group_001.log.1_0-0-0"]
    assert (tmp_path / ".group_001.log.1_0-0-0").read_bytes() == b"abc"


def test_missing_files_are_errors_or_empty(storage):
    with pytest.raises(PathNotFoundError) as caught:
        storage.read_bytes("nope")
    assert "nope" in str(caught.value)
    with pytest.raises(PathNotFoundError):
        storage.size("nope")
    storage.delete("nope")
    with pytest.raises(PathNotFoundError):
        Storage(storage.uri()).delete("nope", missing_ok=False)


def test_listing_a_missing_folder(tmp_path):
    storage = Storage(tmp_path)
    with pytest.raises(PathNotFoundError):
        storage.list("nope")
    assert storage.list("nope", missing_ok=True).num_rows == 0


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "a/.."])
def test_paths_may_not_leave_the_root(tmp_path, path):
    with pytest.raises(UnsafePathError):
        Storage(tmp_path).read_bytes(path)


def test_uris_of_local_paths(tmp_path):
    folder = tmp_path / "ünï 100%"
    folder.mkdir()
    assert Storage(folder).uri("f") == f"file:{folder}/f"
    assert Storage(f"file:{folder}").root == str(folder)
    assert Storage(folder.as_uri()).root == str(folder)
    assert Storage(f"{folder}/").root == str(folder)


def test_unknown_scheme_and_empty_path():
    with pytest.raises(StorageError):
        Storage("nosuchscheme://bucket/x")
    with pytest.raises(InvalidOptionError):
        Storage("")


def test_storage_travels_to_workers(tmp_path):
    storage = Storage(tmp_path)
    storage.write_bytes("f", b"1")
    copy = pickle.loads(pickle.dumps(storage.child("")))
    assert copy.read_bytes("f") == b"1"


def test_hadoop_checksums_of_a_file_go_with_it(tmp_path):
    storage = Storage(tmp_path)
    (tmp_path / "a").mkdir()
    checksum = tmp_path / "a" / ".f.crc"
    changes = {
        "write_bytes": lambda: storage.write_bytes("a/f", b"2"),
        "open_output": lambda: storage.open_output("a/f").close(),
        "delete": lambda: storage.delete("a/f"),
    }
    for change in changes.values():
        storage.write_bytes("a/f", b"1")
        checksum.write_bytes(b"crc\0")
        change()
        assert not checksum.exists()
    storage.delete("nowhere/f")
    storage.delete("a/f/below")


def test_a_mistyped_option_of_a_local_table_is_refused(tmp_path):
    with pytest.raises(InvalidOptionError, match="did you mean follow_links"):
        Storage(tmp_path, {"folow_links": "true"})
    with pytest.raises(InvalidOptionError, match="did you mean access_key"):
        Storage(tmp_path.as_uri(), {"acess_key": "k"})
    Storage(tmp_path, {"access_key": "k", "secret_key": "s", "fs.s3a.endpoint": "e", "dfs.replication": 1})


@pytest.mark.parametrize("uri", ["file://tmp/t", "file://host/", "s3://b/a/../t", "s3a://b/./t", "hdfs://h:1/a/.."])
def test_uris_that_are_somewhere_else_than_they_look(uri):
    with pytest.raises(InvalidOptionError):
        Storage(uri, {"region": "r"} if uri.startswith("s3") else None)


def test_doubled_slashes_of_a_uri_are_one():
    assert Storage("s3://b//a///t//", {"region": "r"}).uri("x") == "s3://b/a/t/x"


def _in_child(storage: Storage, answers) -> None:
    for call in (lambda: storage.exists("x"), lambda: Storage("s3://b/other", storage.storage_options)):
        try:
            answers.put(str(call()))
        except Exception as error:
            answers.put(str(error))


def test_a_store_of_the_parent_in_a_forked_process_is_an_error_that_names_spawn():
    storage = Storage("s3://b/t", {"endpoint": "http://127.0.0.1:1", "retry_timeout": 0, **KEYS})
    with pytest.raises(StoreUnreachableError, match="Connection refused"):
        storage.exists("x")
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_in_child, args=(storage, answers))
    child.start()
    assert ["spawn" in answers.get() for _ in range(2)] == [True, True]
    child.join()


def test_a_name_node_without_a_port_has_hadoops():
    assert Storage("hdfs://localhost/t").uri("x") == "hdfs://localhost/t/x"
    with pytest.raises(StorageError, match=r"fs\.defaultFS"):
        Storage("hdfs:///t")


# -- many local folders ------------------------------------------------------------------------------------------------


def folders_with_files(root, folders=30, files=7):
    for number in range(folders):
        folder = root / f"p{number:02d}"
        folder.mkdir()
        for name in range(files):
            (folder / f"f{name}").write_bytes(b"x" * name)
    (root / "p00" / "inner").mkdir()
    (root / "p01" / "link").symlink_to(root / "p02" / "f3")
    return [f"p{number:02d}" for number in range(folders)]


@pytest.mark.parametrize("waits", [[0, 0], [0, 10_000], [None]], ids=["quick", "slow", "not counted"])
@pytest.mark.parametrize("batch", [1, 20, 4096])
def test_many_local_folders_are_listed_as_each_by_itself(tmp_path, monkeypatch, waits, batch):
    paths = folders_with_files(tmp_path)
    answers = iter(waits)
    monkeypatch.setattr(local_listing, "_waits", lambda: next(answers))
    monkeypatch.setattr(local_listing, "_BATCH", batch)
    monkeypatch.setattr(local_listing, "_ROWS", 50)
    storage = Storage(tmp_path)
    listed = storage.list_local_folders([*paths, "missing"])
    assert storage.counters["lists"] == len(paths) + 1
    for number, path in enumerate(paths):
        rows = listed.filter(pc.equal(listed.column("folder"), number)).drop_columns("folder")
        alone = storage.list(path, walk=True)
        names = [name.rpartition("/")[2] for name in alone.column("path").to_pylist()]
        assert rows == alone.set_column(0, "name", pa.array(names))
    assert listed.num_rows == 30 * 7 + 2


def test_a_folder_among_many_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    paths = folders_with_files(tmp_path, 3)
    scandir = os.scandir

    def refusing(path):
        if str(path).endswith("p01"):
            raise PermissionError(13, "no", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(StoreAccessDeniedError, match="p01"):
        Storage(tmp_path).list_local_folders(paths)


def test_a_folder_among_many_whose_name_is_no_text_is_named(tmp_path):
    paths = folders_with_files(tmp_path, 3)
    (tmp_path / "p02" / os.fsdecode(b"file\xff")).touch()
    assert Storage(tmp_path).list_local_folders(paths).num_rows == 3 * 7 + 2
    (tmp_path / "p01" / os.fsdecode(b"odd\xff")).mkdir()
    with pytest.raises(StorageError, match="p01/odd"):
        Storage(tmp_path).list_local_folders(paths)


def test_a_file_that_is_gone_when_it_is_looked_at_is_not_listed(tmp_path, monkeypatch):
    paths = folders_with_files(tmp_path, 3)[:2]
    scan = local_listing.LocalFolders._scan

    def scan_then_delete(self, path, *, missing_ok):
        entries = scan(self, path, missing_ok=missing_ok)
        (tmp_path / path / "f2").unlink()
        return entries

    monkeypatch.setattr(local_listing.LocalFolders, "_scan", scan_then_delete)
    listed = Storage(tmp_path).list_local_folders(paths)
    left = [f"f{number}" for number in (0, 1, 3, 4, 5, 6)]
    assert sorted(listed.column("name").to_pylist()) == sorted([*left, *left, "inner", "link"])
