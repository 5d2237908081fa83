"""Everyday statements on each release of Spark: ``python -m integration.long.spark_releases [--release 3.5.9]``.

The statements are those of ``integration/support/everyday.py``. PySpark of each release comes from PyPI into
``$HUDI_HIVE_CACHE`` once. Prints a table of features and releases, how many statements of each ended well, and the
errors of the others.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

RELEASES: Final = ("3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0")
"""The newest patch of each minor release."""
REPOSITORY: Final = Path(__file__).parents[2]
LIMIT_SECONDS: Final = 3600.0
"""For a release: only one that hangs comes to it."""


def pyspark_folder(release: str) -> Path:
    """The folder with PySpark and py4j of a release, which is made where it is not there."""
    cache = Path(os.environ.get("HUDI_HIVE_CACHE") or Path.home() / ".cache" / "hudi_hive")
    folder = cache / "pyspark" / release
    if not (folder / "pyspark" / "version.py").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), f"pyspark=={release}"]
        subprocess.run(command, check=True)
    return folder


def ended_statements(release: str) -> dict[str, dict[str, str | None]]:
    """Feature -> statement -> its error, or None, on one release; in a process of its own.

    Raises:
        RuntimeError: the program itself ended with an error.
    """
    paths = os.pathsep.join([str(pyspark_folder(release)), str(REPOSITORY)])
    environment = {name: text for name, text in os.environ.items() if name != "SPARK_HOME"} | {"PYTHONPATH": paths}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "integration.support.everyday", folder]
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
    if done.returncode:
        raise RuntimeError(f"PySpark {release}: {done.stderr[-2000:]}")
    ended: dict[str, dict[str, str | None]] = json.loads(done.stdout.splitlines()[-1])
    return ended


def main() -> int:
    """Print the table; 1 if any statement failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", action="append", choices=RELEASES, help="only these")
    releases = parser.parse_args().release or list(RELEASES)
    of_release = {release: ended_statements(release) for release in releases}
    print("| feature | " + " | ".join(releases) + " |")
    print("|---" * (1 + len(releases)) + "|")
    for feature in of_release[releases[0]]:
        steps = [list(of_release[release][feature].values()) for release in releases]
        print(f"| {feature} | " + " | ".join(f"{errors.count(None)} of {len(errors)}" for errors in steps) + " |")
    failed = [
        f"{release}: {feature}: {name}: {error}"
        for release, features in of_release.items()
        for feature, errors in features.items()
        for name, error in errors.items()
        if error is not None
    ]
    print("\n".join(failed), f"{len(failed)} statements failed", sep="\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
