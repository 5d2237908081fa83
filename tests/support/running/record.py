"""Records how long each test file takes, by the report of a run: ``python -m tests.support.running.record junit.xml``.

The report comes from ``pytest --junitxml=junit.xml``. Files that take less than a second are left out.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

from tests.support.running.schedule import SECONDS


def main() -> None:
    """Read the report and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    seconds: defaultdict[str, float] = defaultdict(float)
    for case in ElementTree.parse(parser.parse_args().report).iter("testcase"):
        seconds[file_of(case.attrib["classname"])] += float(case.attrib["time"])
    with SECONDS.open("w", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(["file", "seconds"])
        table.writerows([file, f"{total:.0f}"] for file, total in sorted(seconds.items()) if total >= 1)


def file_of(name: str) -> str:
    """The file of a report's class name, which is the dotted module and perhaps a class in it."""
    parts = name.split(".")
    end = next(at for at, part in enumerate(parts) if part.startswith("test_")) + 1
    return "/".join(parts[:end]) + ".py"


if __name__ == "__main__":
    main()
