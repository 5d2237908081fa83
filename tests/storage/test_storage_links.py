"""Symbolic and hard links below a storage's root: what is read through them, and that nothing is written so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hudi_hive.errors import HudiHiveError, InvalidOptionError, PathNotFoundError, StorageError, UnsafePathError
from hudi_hive.storage import Storage


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A root with a folder and a file, and a neighbour that nobody may change."""
    (tmp_path / "table" / "p").mkdir(parents=True)
    (tmp_path / "table" / "p" / "own").write_bytes(b"own")
    (tmp_path / "outside" / "sub").mkdir(parents=True)
    (tmp_path / "outside" / "precious.txt").write_bytes(b"precious")
    (tmp_path / "outside" / "sub" / "deep").write_bytes(b"deep")
    return tmp_path


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


LINKS = {
    "folder": lambda root: (root / "table" / "l").symlink_to(root / "outside"),
    "relative": lambda root: (root / "table" / "l").symlink_to("../outside"),
    "two steps": lambda root: (
        (root / "step").symlink_to(root / "outside"),
        (root / "table" / "l").symlink_to(root / "step"),
    ),
}
CHANGES = {
    "write": lambda storage, path: storage.write_bytes(path, b"x"),
    "replace": lambda storage, path: storage.replace_bytes(path, b"x"),
    "output": lambda storage, path: storage.open_output(path).close(),
    "create": lambda storage, path: storage.create_if_absent(path, b"x"),
    "folder": lambda storage, path: storage.create_dir(path + "/new"),
    "delete": lambda storage, path: storage.delete(path),
    "delete tree": lambda storage, path: storage.delete_tree(path),
}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("path", ["l/precious.txt", "l/sub", "l/new", "l/sub/deep"])
@pytest.mark.parametrize("follow", [False, True])
def test_nothing_is_changed_through_a_linked_folder(place, link, change, path, follow):
    LINKS[link](place)
    before = tree(place / "outside")
    with pytest.raises(UnsafePathError, match="symbolic link"):
        CHANGES[change](Storage(place / "table", {"follow_links": follow}), path)
    assert tree(place / "outside") == before


@pytest.mark.parametrize("change", CHANGES)
def test_a_linked_file_is_not_changed(place, change):
    (place / "table" / "p" / "f").symlink_to(place / "outside" / "precious.txt")
    before = tree(place / "outside")
    try:
        CHANGES[change](Storage(place / "table"), "p/f")
    except HudiHiveError:
        assert change != "delete"
    assert tree(place / "outside") == before
    assert (place / "table" / "p" / "f").is_symlink() == (change not in ("delete", "delete tree"))


@pytest.mark.parametrize("change", ["write", "replace", "output", "delete"])
def test_hard_links_outside_keep_their_bytes(place, change):
    os.link(place / "outside" / "precious.txt", place / "table" / "p" / "f")
    before = tree(place / "outside")
    CHANGES[change](Storage(place / "table"), "p/f")
    assert tree(place / "outside") == before


def test_deleting_a_tree_does_not_go_through_the_links_in_it(place):
    (place / "table" / "p" / "l").symlink_to(place / "outside")
    (place / "table" / "l").symlink_to(place / "outside")
    before = tree(place / "outside")
    storage = Storage(place / "table")
    storage.delete_tree("p")
    storage.delete_tree("l")
    assert tree(place / "outside") == before and not os.listdir(place / "table")
    with pytest.raises(PathNotFoundError):
        storage.delete_tree("p", missing_ok=False)
    for path in (".", "./.", "/", ""):
        with pytest.raises(UnsafePathError):
            storage.delete_tree(path)


@pytest.mark.parametrize("path", ["l/precious.txt", "l/sub/deep", "f"])
def test_reading_out_of_the_root_is_an_option(place, path):
    (place / "table" / "l").symlink_to(place / "outside")
    (place / "table" / "f").symlink_to(place / "outside" / "precious.txt")
    with pytest.raises(UnsafePathError, match="follow_links") as caught:
        Storage(place / "table").read_bytes(path)
    assert str(place / "outside") in str(caught.value)
    if path != "f":
        with pytest.raises(UnsafePathError):
            Storage(place / "table").list(path.rpartition("/")[0])
    assert Storage(place / "table", {"follow_links": "true"}).read_bytes(path)
    with pytest.raises(InvalidOptionError):
        Storage(place / "table", {"follow_links": "yes"})


def test_a_root_that_is_a_link_and_links_inside_it_are_read(place):
    (place / "base").symlink_to(place / "table")
    (place / "table" / "again").symlink_to("p")
    storage = Storage(place / "base")
    assert storage.read_bytes("again/own") == storage.read_bytes("p/own") == b"own"
    storage.write_bytes("p/new", b"n")
    storage.delete("p/new")
    assert storage.list("p")["path"].to_pylist() == ["p/own"]


@pytest.mark.parametrize("links", [1, 2, 12])
def test_a_walk_lists_each_real_folder_once(place, links):
    for number in range(links):
        (place / "table" / f"l{number}").symlink_to(".")
        (place / "table" / "p" / f"up{number}").symlink_to(place / "table")
        (place / "table" / f"self{number}").symlink_to(f"self{number}")
    storage = Storage(place / "table")
    with storage.counters.measure() as cost:
        paths = storage.list(recursive=True)["path"].to_pylist()
    assert cost["lists"] == 2
    assert [path for path in paths if "self" not in path] == ["p", "p/own"]


def test_folders_outside_that_lead_to_each_other_end(place):
    for name, other in (("outside", "second"), ("second", "outside")):
        (place / name).mkdir(exist_ok=True)
        (place / name / "up").symlink_to(".")
        (place / name / "other").symlink_to(place / other)
    (place / "table" / "l").symlink_to(place / "outside")
    storage = Storage(place / "table", {"follow_links": True})
    assert "l" in storage.list(walk=True)["path"].to_pylist()
    with pytest.raises(UnsafePathError, match="behind a link"):
        storage.list("l", walk=True)


@pytest.mark.parametrize("path", ["a\0b", "p/\0", "..", "p/../../x", "/p", "//p"])
@pytest.mark.parametrize("call", ["read_bytes", "list", "exists", "delete", "size"])
def test_paths_that_no_file_can_have_are_refused_by_name(place, path, call):
    with pytest.raises(UnsafePathError):
        getattr(Storage(place / "table"), call)(path)


def test_names_that_are_not_utf8(place):
    (Path(os.fsdecode(os.fsencode(place / "table") + b"/\xff.txt"))).write_bytes(b"")
    storage = Storage(place / "table")
    assert storage.list()["path"].to_pylist() == ["p"]
    os.mkdir(os.fsencode(place / "table") + b"/\xfe")
    with pytest.raises(StorageError, match="UTF-8"):
        storage.list()
