"""Rules for symbolic and hard links on the local disk, below the root of a storage.

The root itself may be a link. Below it, a link to a place inside the root is read through; one that leads out of it is
not, unless the storage option ``follow_links`` says so. Nothing is ever written or deleted through a link.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from hudi_hive.errors import InvalidOptionError, UnsafePathError
from hudi_hive.options import parse_boolean

FOLLOW_LINKS: Final = "follow_links"
"""Storage option of local folders: read through symbolic links that leave the root."""

_REMEMBERED: Final = 1 << 16
"""Folders that a storage remembers to be inside its root; then it begins anew."""

_PEEKED: Final = 64
"""Folders behind a link that are searched for partitions."""

_FOLDER: Final = os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)


def follows_links(options: Mapping[str, Any]) -> bool:
    """Whether storage options allow reading through links that lead out of the root.

    Raises:
        InvalidOptionError: the value is neither true nor false.
    """
    text = str(options.get(FOLLOW_LINKS, False))
    value = parse_boolean(text)
    if value is None:
        raise InvalidOptionError(f"storage option {FOLLOW_LINKS} is true or false, not {text!r}")
    return value


class LinkRules:
    """The rules of what may be read, written and deleted through links below a local root.

    Args:
        root: absolute path; it may be a link.
        follow: read through links that leave the root.
        above: rules of a folder around it that hold as well, and the path of the root in there.
    """

    def __init__(self, root: str, *, follow: bool = False, above: tuple[LinkRules, str] | None = None) -> None:
        self.root = root
        self._above = above
        self.follow = follow
        self.leaving: dict[str, str] = {}
        """Links to files, or to nothing, outside the root that listings have met, and where they lead."""
        self._real: str | None = None
        self._inside = {""}

    def child(self, path: str) -> LinkRules:
        """The rules of a folder below the root."""
        return LinkRules(self._full(path), follow=self.follow, above=(self, path))

    def _is_inside(self, target: str) -> bool:
        if self._real is None:
            self._real = os.path.realpath(self.root)
        return target == self._real or target.startswith(self._real.rstrip("/") + "/")

    def _full(self, path: str) -> str:
        return f"{self.root.rstrip('/')}/{path}" if path else self.root

    # -- reading ---------------------------------------------------------------------------------------------------

    def check_read(self, path: str) -> None:
        """Refuse to read a file or folder through a link that leaves the root.

        Folders that were looked at are remembered: reading the files of one costs a single ``lstat`` each.

        Raises:
            UnsafePathError: the path leaves the root through a symbolic link.
        """
        if self.follow:
            return
        if self._above is not None:
            rules, place = self._above
            rules.check_read(place)
        if not path:
            return
        folder = path.rpartition("/")[0]
        if folder not in self._inside and not self._look(folder):
            return
        self._stays(path)

    def _look(self, folder: str) -> bool:
        """Whether a folder exists, all of whose parents stay inside."""
        parent = folder.rpartition("/")[0]
        if parent not in self._inside and not self._look(parent):
            return False
        if not self._stays(folder):
            return False
        if len(self._inside) >= _REMEMBERED:
            self._inside = {""}
        self._inside.add(folder)
        return True

    def _stays(self, path: str) -> bool:
        """Whether a path exists.

        Raises:
            UnsafePathError: it is a link that leaves the root.
        """
        full = self._full(path)
        try:
            mode = os.lstat(full).st_mode
        except OSError:
            return False  # the call itself says what is wrong
        if stat.S_ISLNK(mode):
            target = os.path.realpath(full)
            if not self._is_inside(target):
                raise UnsafePathError(
                    f"a symbolic link leads out of the table, to {target}",
                    path=f"file:{full}",
                    remedy="put the folder itself in its place (a bind mount is one), remove the link, or pass the "
                    f"storage option {FOLLOW_LINKS}=true to read, but not write, through it",
                )
        return True

    def passes_over(self, entry: os.DirEntry[str], path: str) -> bool:
        """Whether a listing skips an entry that is a symbolic link.

        A folder inside the root is listed under its own name; so each is listed once, whatever links lead to it.

        Args:
            entry: the link.
            path: relative to the root.

        Raises:
            UnsafePathError: links are followed, and this one lies behind another that left the root.
        """
        target = os.path.realpath(entry.path)
        if self._is_inside(target):
            return os.path.isdir(target)
        if not os.path.isdir(target):
            self.leaving[path] = target
            return False
        if not self.follow:
            return False
        folder = os.path.realpath(os.path.dirname(entry.path))
        if (folder + "/").startswith(target.rstrip("/") + "/"):
            return True  # back up to where the walk came from
        if not self._is_inside(folder):
            raise UnsafePathError(
                f"a symbolic link behind a link that has left the table, to {target}", path=f"file:{entry.path}"
            )
        return False

    def is_alias(self, path: str) -> bool:
        """Whether a path goes through a symbolic link to another folder inside the root."""
        while path:
            full = self._full(path)
            if os.path.islink(full) and self._is_inside(os.path.realpath(full)):
                return True
            path = path.rpartition("/")[0]
        return False

    def may_hold(self, path: str, names: Collection[str]) -> bool:
        """Whether the folder that a link leads to holds a file of one of some names, at any depth.

        Names alone are looked at, of a bounded number of folders; where there are more, the answer is yes.
        """
        walked = os.walk(os.path.realpath(self._full(path)))
        for count, (_, folders, files) in enumerate(walked):
            if count >= _PEEKED or not set(names).isdisjoint(files):
                return True
            folders.sort()
        return False

    # -- writing ---------------------------------------------------------------------------------------------------

    def check_write(self, path: str) -> None:
        """Refuse to write a file through a symbolic link, and separate a hard-linked file from its other names.

        Raises:
            UnsafePathError: the file, or a folder on the way to it, is a symbolic link.
        """
        self.check_folder(path.rpartition("/")[0])
        full = self._full(path)
        with suppress(FileNotFoundError, NotADirectoryError):
            status = os.lstat(full)
            if stat.S_ISLNK(status.st_mode):
                raise _through(full)
            if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
                os.unlink(full)  # or writing would change the file under its other names

    def check_folder(self, folder: str) -> None:
        """Refuse to write below a folder that is a symbolic link, or lies behind one.

        Raises:
            UnsafePathError: it is.
        """
        if self._above is not None:
            rules, place = self._above
            rules.check_folder(place)
        current = self.root.rstrip("/")
        for part in folder.split("/") if folder else ():
            current = f"{current}/{part}"
            try:
                mode = os.lstat(current).st_mode
            except FileNotFoundError:
                return
            if stat.S_ISLNK(mode):
                raise _through(current)

    def delete_file(self, path: str) -> None:
        """Delete a file; of a symbolic link the link itself."""
        folder, _, name = path.rpartition("/")
        with self._folder(folder) as descriptor:
            with suppress(FileNotFoundError):
                os.unlink(f".{name}.crc", dir_fd=descriptor)  # what Hadoop's local file system wrote beside it
            os.unlink(name, dir_fd=descriptor)

    def delete_tree(self, path: str) -> None:
        """Delete a folder and its content; of links the links themselves, never their targets."""
        folder, _, name = path.strip("/").rpartition("/")
        with self._folder(folder) as descriptor:
            if stat.S_ISLNK(os.lstat(name, dir_fd=descriptor).st_mode):
                os.unlink(name, dir_fd=descriptor)
                return
            while True:
                try:
                    shutil.rmtree(name, dir_fd=descriptor)
                    return
                except FileNotFoundError:  # another process deletes the same
                    os.lstat(name, dir_fd=descriptor)

    @contextmanager
    def _folder(self, folder: str) -> Iterator[int]:
        """Descriptor of a folder, which no link that is put in its way meanwhile can lead elsewhere."""
        if self._above is not None:
            rules, place = self._above
            with rules._folder(f"{place}/{folder}".rstrip("/")) as descriptor:
                yield descriptor
            return
        descriptor = os.open(os.path.realpath(self.root), _FOLDER)
        current = self.root.rstrip("/")
        try:
            for part in folder.split("/") if folder else ():
                current = f"{current}/{part}"
                try:
                    inner = os.open(part, _FOLDER, dir_fd=descriptor)
                except OSError:
                    if stat.S_ISLNK(os.lstat(part, dir_fd=descriptor).st_mode):
                        raise _through(current) from None
                    raise
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)


def _through(full: str) -> UnsafePathError:
    return UnsafePathError(
        "nothing is written or deleted through a symbolic link",
        path=f"file:{full}",
        remedy="put the folder or file itself in the place of the link (a bind mount is one)",
    )
