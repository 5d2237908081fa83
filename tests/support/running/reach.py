"""Records which branches of the package each test reaches: ``pytest -p tests.support.running.reach --reach FOLDER``.

Each process that runs tests writes one Parquet file; ``python -m tests.support.running.repeats FOLDER`` chooses by them
which tests only repeat what others reach. What a test's own processes (Spark's workers, commands) reach is not seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

import coverage
import coverage.exceptions
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

REACHED: Final = pa.schema({"test": pa.string(), "seconds": pa.float64(), "branches": pa.list_(pa.int64())})
"""A test, how long it took without its fixtures, and the branches that it reached with them, by their hashes."""


class Recorder:
    """Measures the tests of one process.

    Args:
        folder: where its record goes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._coverage = coverage.Coverage(branch=True, source=["hudi_hive"], data_file=None, config_file=False)
        self._coverage.set_option("run:disable_warnings", ["no-data-collected"])
        self._seconds: dict[str, float] = {}
        self._branches: dict[str, pa.Array] = {}
        self._coverage.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Record what a test and its fixtures reach."""
        self._coverage.erase()
        result = yield
        self._branches[item.nodeid] = pa.array(self._reached(), pa.int64())
        return result

    def _reached(self) -> list[int]:
        """The branches that were reached since data were erased: none by tests of the suite itself."""
        try:
            data = self._coverage.get_data()
        except coverage.exceptions.DataError:
            return []
        return [_hash(file, *arc) for file in data.measured_files() for arc in data.arcs(file) or ()]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how long a test took."""
        if report.when == "call":
            self._seconds[report.nodeid] = report.duration

    def pytest_sessionfinish(self) -> None:
        """Write the record."""
        self._coverage.stop()
        rows = [
            {"test": test, "seconds": self._seconds.get(test, 0.0), "branches": branches.to_numpy()}
            for test, branches in self._branches.items()
        ]
        self._folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, REACHED), self._folder / f"{os.getpid()}.parquet")


@cache
def _hash(file: str, line: int, following: int) -> int:
    """The same number for the same branch in each process of each checkout."""
    text = f"{file.rpartition('hudi_hive/')[2]}:{line}:{following}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), signed=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the folder of the records."""
    parser.addoption("--reach", type=Path, help="folder for records of the branches that tests reach")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in each process that runs tests: the workers, or the only one."""
    folder = config.getoption("reach")
    if folder is not None and (hasattr(config, "workerinput") or not config.getoption("numprocesses", None)):
        config.pluginmanager.register(Recorder(folder))
