"""Files and folders that their owner alone can read, whatever the umask is: configurations may hold passwords."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

PRIVATE_UMASK = 0o077
"""For processes whose files are to be private."""


def make_private_folder(path: Path) -> None:
    """Make a folder, with its parents, that only the owner can enter; one that is there keeps its mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)


def open_private(path: Path) -> IO[bytes]:
    """Open a file to write it anew; it is private before its first byte is written, also if it was not before."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    os.fchmod(descriptor, 0o600)
    os.ftruncate(descriptor, 0)
    return os.fdopen(descriptor, "wb")


def write_private(path: Path, text: str) -> None:
    """Write a private file in UTF-8."""
    with open_private(path) as stream:
        stream.write(text.encode())
