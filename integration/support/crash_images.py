"""Images of a folder, one before each call that changes it: what a SIGKILL of all processes at that moment would leave.

The calls of any process, Spark's JVM and its Python workers too, are met by a preloaded library, ``crash_images.c``,
which waits for the image. Files' contents are stored once however many images have them.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_SOURCE = Path(__file__).with_name("crash_images.c")
_WRITES_SEEN = 2
"""Images at writes into one file: empty, and half-way."""


@dataclass(frozen=True)
class CrashImage:
    """A folder at a moment.

    Attributes:
        call: that comes next, with its path.
        folders: paths below the folder.
        files: path -> name of the content.
        beside: what else was there at that moment.
    """

    call: str
    folders: frozenset[str]
    files: Mapping[str, str] = field(hash=False)
    beside: Any = field(default=None, compare=False)


class CrashImages:
    """Takes images of one folder at a time below a root; a context manager.

    Args:
        folder: its own: library, socket and contents of files.
        root: below which processes ask.
        beside: is called for each image, for what is beside the folder.
    """

    def __init__(self, folder: Path, root: Path, beside: Callable[[Path], Any] | None = None) -> None:
        self.cases: dict[str, list[CrashImage]] = {}
        self.images: list[CrashImage] = []
        self._folder, self._root, self._beside = folder, root, beside
        self._contents = folder / "contents"
        self._contents.mkdir(parents=True)
        self._library = folder / "crash_images.so"
        command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(self._library), str(_SOURCE), "-ldl"]
        subprocess.run(command, check=True)
        self._armed: Path | None = None
        self._writes: dict[str, int] = {}
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(folder / "socket"))
        self._server.listen(256)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.failed: list[str] = []

    def environment(self) -> dict[str, str]:
        """Variables of the processes that ask."""
        return {
            "LD_PRELOAD": str(self._library),
            "CRASH_IMAGES_ROOT": str(self._root),
            "CRASH_IMAGES_SOCKET": str(self._folder / "socket"),
        }

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._server.close()

    def _serve(self) -> None:
        while True:
            try:
                asking, _ = self._server.accept()
            except OSError:
                return
            with asking:
                try:
                    call, _, path = asking.recv(8192).decode(errors="replace").rstrip("\n").partition(" ")
                    self._met(call, path)
                    asking.sendall(b"g")
                    asking.settimeout(600)  # against hanging alone: who asked says that the call is done, or is dead
                    asking.recv(1)
                    if self._beside is not None and call not in ("arm", "disarm", "write"):
                        self._met(f"behind {call}", path)  # what is beside may change before the next call
                except OSError:
                    continue
                except Exception as error:  # which must not stop the processes that ask
                    self.failed.append(repr(error))

    def _met(self, call: str, path: str) -> None:
        if call == "arm":
            self._armed, self._writes = Path(path), {}
            self.images = []
            self.images.append(self.taken("before"))
        elif call == "disarm":
            self.images.append(self.taken("after"))
            self._armed = None
            self.cases[path] = self.images
        elif self._armed is not None and (path == str(self._armed) or path.startswith(f"{self._armed}/")):
            if call == "write":
                if "#" in path:  # a file that has no name yet
                    return
                self._writes[path] = self._writes.get(path, 0) + 1
                if self._writes[path] > _WRITES_SEEN:
                    return
            image = self.taken(f"{call} {path[len(str(self._armed)) + 1 :]}")
            last = self.images[-1]
            if (last.folders, last.files, last.beside) != (image.folders, image.files, image.beside):
                self.images.append(image)

    def taken(self, call: str) -> CrashImage:
        """The folder as it is."""
        assert self._armed is not None
        folders, files = set(), {}
        for place, names, entries in os.walk(self._armed):
            under = os.path.relpath(place, self._armed)
            folders |= {os.path.normpath(f"{under}/{name}") for name in names}
            for name in entries:
                full = os.path.join(place, name)
                found = os.stat(full)
                content = f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"
                if not (self._contents / content).exists():
                    shutil.copy2(full, self._contents / content)
                files[os.path.normpath(f"{under}/{name}")] = content
        beside = None if self._beside is None else self._beside(self._armed)
        return CrashImage(call, frozenset(folders), files, beside)

    def restore(self, image: CrashImage, folder: Path) -> None:
        """Make a folder that is what the image shows."""
        folder.mkdir(parents=True)
        for name in sorted(image.folders):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name, content in image.files.items():
            shutil.copy2(self._contents / content, folder / name)  # with its time, by which Spark knows files


def tell(call: str, path: Path) -> None:
    """Say something to the images' server of this process: ``arm`` or ``disarm``."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.connect(os.environ["CRASH_IMAGES_SOCKET"])
        asking.sendall(f"{call} {path}\n".encode())
        assert asking.recv(1) == b"g"
        asking.sendall(b"d")
