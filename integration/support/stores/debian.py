"""Programs of Debian packages that tests need, installed where that can be done."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

_APT = ("apt-get", "-o", "DPkg::Lock::Timeout=300", "-qq")
_QUIET = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}


class NotInstalledError(RuntimeError):
    """A program is missing, and cannot be installed here; the text says why."""


def need_program(patterns: Sequence[str], packages: Sequence[str]) -> Path:
    """As ``installed_program``, but the test is skipped where the program cannot be had."""
    try:
        return installed_program(patterns, packages)
    except NotInstalledError as error:
        pytest.skip(str(error))


def installed_program(patterns: Sequence[str], packages: Sequence[str]) -> Path:
    """The newest program that a pattern fits; its packages are installed where it is missing.

    Args:
        patterns: absolute paths, in which ``*`` stands for any text.
        packages: Debian packages that bring it.

    Raises:
        NotInstalledError: it is missing, and only another user or machine can install it.
    """
    found = _find(patterns)
    if found is None:
        with _installing_alone():
            found = _find(patterns) or _install(patterns, packages)
    return found


@contextmanager
def _installing_alone() -> Iterator[None]:
    """Hold back other processes of the tests that install packages: apt refuses a second one."""
    with Path(tempfile.gettempdir(), f"hudi-hive-apt-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _find(patterns: Sequence[str]) -> Path | None:
    found = [path for pattern in patterns for path in Path("/").glob(pattern.lstrip("/")) if os.access(path, os.X_OK)]
    return max(found, key=lambda path: [int(part) if part.isdigit() else 0 for part in path.parts], default=None)


def _install(patterns: Sequence[str], packages: Sequence[str]) -> Path:
    needed = f"needs {' or '.join(patterns)} of the Debian packages {' '.join(packages)}"
    if os.getuid() != 0 or shutil.which("apt-get") is None:
        raise NotInstalledError(f"{needed}: only root installs them, with apt-get")
    environment = {**os.environ, **_QUIET}
    install = [*_APT, "install", "-y", "--no-install-recommends", *packages]
    for command in (install, [*_APT, "update"], install):
        run = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        found = _find(patterns)
        if found is not None:
            return found
    raise NotInstalledError(f"{needed}, which apt-get does not get: {(run.stdout + run.stderr)[-300:].strip()}")
