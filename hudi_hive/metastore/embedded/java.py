"""Finds the Java that the embedded metastore and Spark run on.

``JAVA_HOME`` decides when it is set, because Spark obeys it too: a wrong one is an error and no other Java is taken in
its place. Without it the first ``java`` on ``PATH`` counts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hudi_hive.errors import JavaNotFoundError

MINIMUM_VERSION = 17
_REMEDY = f"install a Java {MINIMUM_VERSION} runtime (openjdk-{MINIMUM_VERSION}-jre-headless) or point JAVA_HOME at one"
_PROBE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: its executable, feature version (17, 21 …) and full version text."""

    executable: Path
    version: int
    version_text: str

    @property
    def home(self) -> Path:
        """The folder that ``JAVA_HOME`` would name."""
        return self.executable.resolve().parent.parent


def find_java(minimum: int = MINIMUM_VERSION, *, environment: Mapping[str, str] | None = None) -> Java:
    """The Java runtime to use.

    Args:
        minimum: the oldest feature version that will do.
        environment: where ``JAVA_HOME`` and ``PATH`` are looked up; None for the process's own.

    Raises:
        JavaNotFoundError: none found, too old, or one that does not run; ``JAVA_HOME`` is named if it is to blame.
    """
    variables = os.environ if environment is None else environment
    home = variables.get("JAVA_HOME", "").strip()
    if home:
        executable, origin = Path(home) / "bin" / "java", f"JAVA_HOME={home}"
        if not os.access(executable, os.X_OK) or executable.is_dir():
            raise JavaNotFoundError(
                f"{origin} holds no bin/java",
                path=str(executable),
                remedy="unset JAVA_HOME or point it at a Java runtime",
            )
    else:
        found = shutil.which("java", path=variables.get("PATH", os.defpath))
        if found is None:
            raise JavaNotFoundError("no Java found: JAVA_HOME is not set and PATH has no java", remedy=_REMEDY)
        executable, origin = Path(found), "PATH"
    text = _version_text(executable)
    version = _feature_version(text)
    if version is None:
        raise JavaNotFoundError(
            f"cannot tell the version of the Java of {origin}", path=str(executable), remedy=_REMEDY
        )
    if version < minimum:
        raise JavaNotFoundError(
            f"the Java of {origin} has version {text}, {minimum} or newer is needed",
            path=str(executable),
            remedy=_REMEDY,
        )
    return Java(executable, version, text)


def _version_text(executable: Path) -> str:
    """``17.0.15``: from the runtime's ``release`` file, or else by asking the executable."""
    release = executable.resolve().parent.parent / "release"
    try:
        match = re.search(
            r'^JAVA_VERSION="([^"]+)"', release.read_text(encoding="utf-8", errors="replace"), re.MULTILINE
        )
    except OSError:
        match = None
    if match is None:
        try:
            run = subprocess.run(
                [str(executable), "-version"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
                text=True,
                errors="replace",
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise JavaNotFoundError(f"java does not run: {error}", path=str(executable), remedy=_REMEDY) from error
        match = re.search(r'version "([^"]+)"', run.stderr + run.stdout)
    return match[1] if match else ""


def _feature_version(text: str) -> int | None:
    """17 of ``17.0.15``, 8 of ``1.8.0_392``, 21 of ``21-ea``."""
    match = re.match(r"(?:1\.)?(\d+)", text)
    return int(match[1]) if match else None
