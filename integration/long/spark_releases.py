"""Everyday statements on each release of Spark: ``python -m integration.long.spark_releases [--release 3.5.9]``.

The statements are those of ``integration/support/everyday.py``. PySpark of each release comes from PyPI into
``$HUDI_HIVE_CACHE`` once; Spark 3.5 runs on Java 11, too, which comes from there as well. Prints a table of features
and releases, how many statements of each ended well, and the errors of the others.
"""

from __future__ import annotations

import argparse
import sys

from integration.support.spark_releases import RELEASES, ended_statements, java_11_folder


def main() -> int:
    """Print the table; 1 if any statement failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", action="append", choices=RELEASES, help="only these")
    releases = parser.parse_args().release or list(RELEASES)
    of_release = {release: ended_statements(release) for release in releases}
    if RELEASES[0] in releases:
        of_release |= {f"{RELEASES[0]} on Java 11": ended_statements(RELEASES[0], java_11_folder())}
    print("| feature | " + " | ".join(of_release) + " |")
    print("|---" * (1 + len(of_release)) + "|")
    for feature in of_release[releases[0]]:
        steps = [list(features[feature].values()) for features in of_release.values()]
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
