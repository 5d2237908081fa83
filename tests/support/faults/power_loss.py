"""What is left of a local folder when the power fails: flushed bytes under flushed names, and nothing else.

The disk is as pessimistic as POSIX lets it be. Bytes of a file are those of its last ``fsync``, entries of a folder
those of the folder's last one: names that were made since are gone, and names that were deleted since are back.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

Entries = dict[str, tuple[int, bool]]
"""Name of an entry -> inode, and whether it is a folder."""


class Disk:
    """Watches ``os.fsync`` below a folder; what is there when it is made is on the disk.

    Args:
        root: the folder.
        at: end what goes on at this flush, ahead of it, by :class:`PowerLoss`.
    """

    def __init__(self, root: Path, at: int | None = None) -> None:
        self.root = root
        self.flushes: list[str] = []
        self._at = at
        self._files: dict[int, bytes] = {}
        self._folders: dict[int, Entries] = {}
        self._inode = os.stat(root).st_ino
        self._held: dict[int, int] = {}
        for folder, _, names in os.walk(root):
            self._folders[os.stat(folder).st_ino] = self._entries(folder)
            for name in names:
                path = os.path.join(folder, name)
                self._files[os.stat(path).st_ino] = Path(path).read_bytes()

    def fsync(self, descriptor: int) -> None:
        """In place of ``os.fsync``: takes what is there now to the disk."""
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if not path.startswith(str(self.root)):
            return
        if self._at is not None and len(self.flushes) >= self._at:
            raise PowerLoss
        self.flushes.append(os.path.relpath(path, self.root))
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            self._folders[found.st_ino] = self._entries(path)
        else:
            self._files[found.st_ino] = _bytes(descriptor)

    def _entries(self, folder: str) -> Entries:
        """Names in a folder. Their inodes are held open, so that none becomes another file's once its name is gone."""
        with os.scandir(folder) as found:
            entries = {entry.name: (entry.inode(), entry.is_dir(follow_symlinks=False)) for entry in found}
        for name, (inode, is_folder) in entries.items():
            if inode not in self._held and not is_folder:
                self._held[inode] = os.open(os.path.join(folder, name), os.O_RDONLY)
        return entries

    def close(self) -> None:
        """Let go of the files."""
        for descriptor in self._held.values():
            os.close(descriptor)
        self._held = {}

    def __del__(self) -> None:
        self.close()

    def after_power_loss(self, folder: Path) -> Path:
        """Write what is on the disk to a folder."""
        self._restore(self._inode, folder)
        return folder

    def _restore(self, inode: int, folder: Path) -> None:
        folder.mkdir()
        for name, (below, is_folder) in self._folders.get(inode, {}).items():
            if is_folder:
                self._restore(below, folder / name)
            else:
                (folder / name).write_bytes(self._files.get(below, b""))


class PowerLoss(BaseException):
    """The power has failed: nothing more comes to the disk."""


def _bytes(descriptor: int) -> bytes:
    """Of an open file, which may be open for writing alone."""
    with open(f"/proc/self/fd/{descriptor}", "rb") as stream:
        return stream.read()
