"""Locations of a fake metastore: only local folders are accessed, others are stored unchanged."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit


def qualify(location: str) -> str:
    """A location the way Hadoop qualifies it: ``file:/path`` for a local path, anything with a scheme as it is."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", location):
        if location.startswith("file:"):
            return "file:" + _normal(re.sub(r"^file:/*", "/", location))
        return location
    return "file:" + _normal(location)


def _normal(path: str) -> str:
    shorter = re.sub(r"/+", "/", path)
    return shorter.rstrip("/") or "/"


def local_path(location: str) -> Path | None:
    """The local folder of a location, None for other file systems."""
    parts = urlsplit(location) if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", location) else None
    if parts is not None and parts.scheme != "file":
        return None
    return Path(re.sub(r"^file:/*", "/", location))


def make_folder(location: str) -> bool:
    """Make a folder; True if it was not there.

    Raises:
        NotADirectoryError: something else is there, or the folder cannot be made.
    """
    folder = local_path(location)
    if folder is None or folder.is_dir():
        return False
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise NotADirectoryError(f"{location} is not a directory or unable to create one") from error
    return True


def quick_stats(location: str) -> dict[str, str]:
    """``numFiles`` and ``totalSize`` (bytes) of the visible files below a location; zeros if there is nothing.

    The root folder counts as nothing: below it is the whole machine, and counting that takes minutes.
    """
    folder = local_path(location)
    count = size = 0
    for current, folders, names in os.walk(folder) if folder not in (None, Path("/")) else ():
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        for name in names:
            if not name.startswith((".", "_")):
                with suppress(OSError):  # a link that leads nowhere
                    size += os.path.getsize(os.path.join(current, name))
                    count += 1
    return {"numFiles": str(count), "totalSize": str(size)}
