"""Real Hudi beside ours: writes and reads tables in a process of its own, of the release that a table version asks for.

The bundles and PySpark 3.5 are fetched once into ``$HUDI_HIVE_CACHE`` (see ``tools/real_hudi.py``).
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tools.real_hudi import is_fetched, s3a_jars, spark_process

RELEASES: Mapping[int, str] = {6: "0.15.0", 8: "1.0.2", 9: "1.1.1"}
"""Table version -> the release that makes tables of it."""

NOT_THERE = "real Hudi is not in the cache, and HUDI_HIVE_TEST_REAL_HUDI=1 does not ask to fetch it"
"""Why tests are skipped: :func:`may_start` says no."""

_MAIN = Path(__file__).with_name("hudi_peer_main.py")
_S3_CLIENT = _MAIN.parent / "stores" / "S3StorageLockClient.java"
_S3_CLASS = "org.apache.hudi.aws.transaction.lock.S3StorageLockClient"
_SECONDS = 600.0


@cache
def may_start(*versions: int) -> bool:
    """Whether tests are to run real Hudi: it was fetched before, or ``HUDI_HIVE_TEST_REAL_HUDI=1`` asks for that.

    Args:
        versions: table versions; see :data:`RELEASES`.
    """
    asked = os.environ.get("HUDI_HIVE_TEST_REAL_HUDI") == "1"
    return asked or all(is_fetched(RELEASES[version]) for version in versions)


class HudiPeerError(RuntimeError):
    """Real Hudi refused, and says why."""


@dataclass(frozen=True)
class MetadataComparison:
    """A metadata table beside the table: what Hudi's ``HoodieMetadataTableValidator`` looks at.

    Args:
        counts: what was compared -> how many entries the table has of it.
        differences: entries that only one side has.
    """

    counts: Mapping[str, int]
    differences: tuple[str, ...]


class HudiPeer:
    """One warm process of a release; a context manager.

    Args:
        version: table version: 6, 8 or 9.
        hadoop: properties of Hadoop, for tables at ``s3a://``; its connector is on the class path then.
        storage_lock: bring what the bundle lacks of ``StorageBasedLockProvider``: requests to S3 without a signature,
            to the server that the write option ``endpoint`` names.
    """

    def __init__(self, version: int, hadoop: Mapping[str, str] | None = None, *, storage_lock: bool = False) -> None:
        self.version = version
        self._hadoop = dict(hadoop or {})
        self._classes = {_S3_CLASS: str(_S3_CLIENT)} if storage_lock else {}
        self.release = RELEASES[version]
        self._folder = tempfile.TemporaryDirectory(prefix="hudi_peer_")
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        bundle, environment = spark_process(self.release)
        environment |= {
            "TZ": "UTC",
            "HUDI_PEER_HADOOP": json.dumps(self._hadoop),
            "HUDI_PEER_CLASSES": json.dumps(self._classes),
        }
        if self._hadoop:
            bundle = os.pathsep.join([bundle, *map(str, s3a_jars())])
        self._errors = (Path(self._folder.name) / "errors.log").open("w")
        self._process = subprocess.Popen(
            [sys.executable, str(_MAIN), bundle, self._folder.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
            cwd=self._folder.name,
        )
        self._answer("start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._errors.close()
        self._folder.cleanup()

    @property
    def java_pid(self) -> int:
        """Number of its Java process."""
        assert self._process is not None
        own = self._process.pid
        (child,) = Path(f"/proc/{own}/task/{own}/children").read_text().split()
        return int(child)

    def write(
        self,
        path: str | os.PathLike[str],
        rows: Sequence[Mapping[str, Any]],
        schema: str,
        options: Mapping[str, str],
        mode: str = "append",
    ) -> None:
        """Write rows.

        Args:
            path: base path of the table.
            rows: JSON values by column.
            schema: columns and types as Spark's DDL names them.
            options: Hudi's write options.
            mode: Spark's save mode.

        Raises:
            HudiPeerError: it cannot.
        """
        self._ask(do="write", path=os.fspath(path), rows=list(rows), schema=schema, options=dict(options), mode=mode)

    def read(
        self, path: str | os.PathLike[str], columns: Sequence[str], options: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Rows of a query; null values are left out of them.

        Args:
            path: base path of the table.
            columns: Spark SQL expressions.
            options: Hudi's read options.

        Raises:
            HudiPeerError: it cannot.
        """
        rows: list[dict[str, Any]] = self._ask(
            do="read", path=os.fspath(path), columns=list(columns), options=dict(options or {})
        )
        return rows

    def sql(self, text: str) -> list[dict[str, Any]]:
        """Rows of a statement."""
        rows: list[dict[str, Any]] = self._ask(do="sql", text=text)
        return rows

    def compare_metadata(self, path: str | os.PathLike[str]) -> MetadataComparison:
        """Compare the metadata table of a table with its files and rows, both as real Hudi reads them.

        Args:
            path: base path of the table, which is partitioned.

        Returns:
            What was compared, and what differs.

        Raises:
            HudiPeerError: it cannot.
        """
        answer = self._ask(do="compare_metadata", path=os.fspath(path), release=self.release)
        return MetadataComparison(answer["counts"], tuple(answer["differences"]))

    def _ask(self, **request: object) -> Any:
        process = self._process
        assert process is not None and process.stdin is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        return self._answer(str(request["do"]))

    def _answer(self, what: str) -> Any:
        process = self._process
        assert process is not None and process.stdout is not None
        watch = select.poll()  # select itself takes no descriptor beyond 1,023
        watch.register(process.stdout, select.POLLIN)
        ready = watch.poll(_SECONDS * 1000)
        line = process.stdout.readline() if ready else ""
        if not line:
            raise RuntimeError(f"Hudi {self.release} gave no answer to {what}: {self._log()}")
        answer = json.loads(line)
        if "error" in answer:
            raise HudiPeerError(f"Hudi {self.release}, {what}: {answer['error']}")
        return answer["ok"]

    def _log(self) -> str:
        return (Path(self._folder.name) / "errors.log").read_text(errors="replace")[-2000:]
