"""Tables that scenarios of the walk through all options begin with: each made once, and copied for each scenario."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def new_folder() -> Path:
    """A folder that is there until the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="option-walk-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def made_once(make: Callable[[Path], None]) -> Callable[[Path], None]:
    """Make a table by calling a function once, and copy it from then on.

    Args:
        make: makes a table at a path, always the same.
    """

    @functools.cache
    def made() -> Path:
        path = new_folder() / "t"
        make(path)
        return path

    @functools.wraps(make)
    def copy(path: Path) -> None:
        shutil.copytree(made(), path, dirs_exist_ok=True)

    return copy
