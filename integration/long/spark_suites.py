"""The Spark tests on other releases of Spark: ``python -m integration.long.spark_suites [--release 3.5.9]``.

PySpark of each release comes from PyPI into ``$HUDI_HIVE_CACHE`` once, and stands first on ``PYTHONPATH`` of ``pytest
integration/spark``. Tests are written for the newest release: those that fail on another one, each for a reason, are in
``integration/data/spark_suites/differences.json``. Prints how many tests of each folder passed on each release; ends
with status 1 where another test failed, or one of those passed. ``--only`` takes the folders or files to run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

from integration.support.spark_releases import RELEASES, REPOSITORY, environment_of
from tests.support.running.record import file_of

SUITE: Final = "integration/spark"
DIFFERENCES: Final = REPOSITORY / "integration" / "data" / "spark_suites" / "differences.json"
"""Release -> reason -> tests that fail for it, as ``file::name``."""

_ALONE: Final = ("test_spark_releases.py", "jar/test_spark_jar.py")
"""Below the suite: start releases themselves."""


class Ended(NamedTuple):
    """Tests of one run by how they ended, as ``file::name``."""

    passed: set[str]
    failed: set[str]


def main() -> int:
    """Run the suite on each release and print the table; 1 where something differs that has no reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", action="append", choices=RELEASES[:-1], help="only these")
    parser.add_argument("--only", action="append", help=f"folders and files, not all of {SUITE}")
    options = parser.parse_args()
    releases = options.release or list(RELEASES[:-1])
    ended = {release: run(release, options.only or [SUITE]) for release in releases}
    print(*_table(ended), sep="\n")
    differences = json.loads(DIFFERENCES.read_text(encoding="utf-8"))
    wrong = [line for release, one in ended.items() for line in _unexpected(release, one, differences.get(release, {}))]
    print(*wrong, f"{len(wrong)} tests ended otherwise than was known", sep="\n")
    return int(bool(wrong))


def run(release: str, what: Sequence[str]) -> Ended:
    """Run tests on a release of Spark, in a process of their own.

    Args:
        release: of PySpark.
        what: folders and files.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "--disable-warnings", "-n", "2", "--dist", "loadfile"]
        command += [f"--junitxml={report}", *(f"--ignore={SUITE}/{name}" for name in _ALONE), *what]
        print(f"== PySpark {release}", flush=True)
        subprocess.run(command, env=environment_of(release), cwd=REPOSITORY, check=False)
        return _read(report)


def _read(report: Path) -> Ended:
    passed: set[str] = set()
    failed: set[str] = set()
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        if "skipped" not in kinds:
            name = f"{file_of(case.attrib['classname'])}::{case.attrib['name']}"
            (failed if kinds & {"failure", "error"} else passed).add(name)
    return Ended(passed - failed, failed)  # a test whose end fails has two entries


def _table(ended: dict[str, Ended]) -> Iterable[str]:
    yield "| tests | " + " | ".join(ended) + " |"
    yield "|---" * (1 + len(ended)) + "|"
    counts = {release: _by_folder(one) for release, one in ended.items()}
    for folder in sorted({folder for of_release in counts.values() for folder in of_release}):
        cells = [of_release.get(folder, (0, 0)) for of_release in counts.values()]
        yield f"| {folder} | " + " | ".join(f"{passed} of {run}" for passed, run in cells) + " |"


def _by_folder(ended: Ended) -> dict[str, tuple[int, int]]:
    """Folder -> how many of its tests passed, and how many ran."""
    passed = Counter(map(_folder_of, ended.passed))
    ran = passed + Counter(map(_folder_of, ended.failed))
    return {folder: (passed[folder], count) for folder, count in ran.items()}


def _folder_of(name: str) -> str:
    parts = Path(name.partition("::")[0]).relative_to(SUITE).parts
    return parts[0] if len(parts) > 1 else "documents"


def _unexpected(release: str, ended: Ended, reasons: dict[str, list[str]]) -> Iterable[str]:
    differ = {name for names in reasons.values() for name in names}
    yield from (f"{release}: failed: {name}" for name in sorted(ended.failed - differ))
    yield from (f"{release}: passed: {name}" for name in sorted(ended.passed & differ))


if __name__ == "__main__":
    sys.exit(main())
