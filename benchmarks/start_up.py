"""What it costs to start: the import, and small commands as whole processes, beside bare imports of what they stand on.

    python benchmarks/start_up.py [--repeat 7] [--only import,read]

Every run is a process of its own, all of them by turns; printed are the least and the median of CPU seconds (user and
system, all threads) and the modules that a process has imported when it ends. The tables are fixtures of the tests,
the metastore is the fake one, in this process; modules are compiled beforehand, as where pip has installed them. Goals:
0.25 s for ``import hudi_hive`` and 0.6 s for each command: a sync with nothing to do, a read of one key, and a SELECT
over a table at a path. Exit status 1: one of them is missed, or a command fails. CPU seconds grow with what else the
machine does: on a busy one only the ratios to the bare imports say anything.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hudi_hive.testing import FakeMetastore

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "data" / "fixtures"
COW, MOR = "v8_cow_part_mdt", "v9_mor_event_time"
HUDI_HIVE = "from hudi_hive.cli.main import main; main({0!r})"
GROUPS = "SELECT city, count(*) FROM {0} GROUP BY 1"
DUCKDB = "import duckdb; print(duckdb.sql({0!r}).fetchall())"
COUNT_AT_EXIT = "import atexit, sys; atexit.register(lambda: print(len(sys.modules))); "


class Contender:
    """One kind of process.

    Args:
        name: what is printed.
        code: what Python runs.
        goal: most CPU seconds; None for a peer.
    """

    def __init__(self, name: str, code: str, goal: float | None = None) -> None:
        self.name, self.code, self.goal = name, code, goal
        self.environment: dict[str, str] = {}
        self.seconds: list[float] = []
        self.modules = 0

    def run(self) -> None:
        """Run it once and keep its CPU seconds."""
        command = [sys.executable, "-c", self.code]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=self.environment) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{self.name} ended with status {process.returncode}")
        self.seconds.append(usage.ru_utime + usage.ru_stime)

    def count_modules(self) -> None:
        """Run it once more and keep how many modules it has imported when it ends."""
        command = [sys.executable, "-c", COUNT_AT_EXIT + self.code]
        text = subprocess.run(command, check=True, capture_output=True, text=True, env=self.environment).stdout
        self.modules = int(text.splitlines()[-1])


def installed(folder: Path) -> dict[str, str]:
    """The environment of processes that keep modules compiled, as pip leaves those that it installs."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return environment | {"PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONPATH": str(ROOT)}


def contenders(folder: Path, uri: str) -> list[Contender]:
    """The processes, those of ours in front of the peers that they are compared with."""
    cow, mor = (str(folder / name) for name in (COW, MOR))

    def command(*words: str) -> str:
        return HUDI_HIVE.format(list(words))

    synced = ("--metastore-uris", uri)
    return [
        Contender("bare python", "pass"),
        Contender("import hudi_hive", "import hudi_hive", 0.25),
        Contender("from hudi_hive import HudiTable", "from hudi_hive import HudiTable"),
        Contender("import pyarrow.parquet", "import pyarrow.parquet"),
        Contender("import pyarrow.dataset, click", "import pyarrow.dataset, click"),
        Contender("sync, nothing to do", command("sync", "--base-path", cow, *synced), 0.6),
        Contender("sync, nothing to do, merge-on-read", command("sync", "--base-path", mor, *synced), 0.6),
        Contender("read one key", command("read", cow, "--where", "visit_id = 100"), 0.6),
        Contender("read one key, merge-on-read", command("read", mor, "--where", "dev = 'dev0'"), 0.6),
        Contender("sql", command("sql", GROUPS.format("t"), "--table", f"t={cow}"), 0.6),
        Contender("sql, merge-on-read", command("sql", "SELECT count(*) FROM t", "--table", f"t={mor}"), 0.6),
        Contender("DuckDB's read_parquet", DUCKDB.format(GROUPS.format(f"read_parquet('{cow}/*/*.parquet')"))),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7, help="runs of each process")
    parser.add_argument("--only", default="", help="words, separated by commas: only processes whose names have one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, FakeMetastore() as metastore:
        for fixture in (COW, MOR):
            with zipfile.ZipFile(FIXTURES / f"{fixture}.zip") as archive:
                archive.extractall(name)
        words = arguments.only.split(",")
        chosen = [item for item in contenders(Path(name), metastore.uri) if any(word in item.name for word in words)]
        environment = installed(Path(name))
        for item in chosen:
            item.environment = environment
            item.count_modules()  # the first run of a command also syncs, and fills the cache of the file system
        for _ in range(arguments.repeat):
            for item in chosen:
                item.run()
    missed = False
    print(f"{'':38} {'least':>7} {'median':>7} {'goal':>5} {'modules':>8}")
    for item in chosen:
        least, median = min(item.seconds), statistics.median(item.seconds)
        late = item.goal is not None and least > item.goal
        missed |= late
        goal = "" if item.goal is None else f"{item.goal:.2f}"
        print(f"{item.name:38} {least:7.3f} {median:7.3f} {goal:>5} {item.modules:8}{'  MISSED' if late else ''}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
