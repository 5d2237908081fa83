"""Filters as Hive's own classes of three releases write them into a job, and what Hive makes of them."""

from __future__ import annotations

import os
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from hudi_hive.metastore import find_java
from integration.support.metastores import _LOG4J, HIVE_EXEC, RELEASES, _jars, fetch, prepare

VERSIONS: Final = ("2.3.10", "3.1.3", "4.0.1")

_MAIN = Path(__file__).with_name("HiveFilters.java")
_STUB = Path(__file__).with_name("SubListStub.java")
_EARLY = _jars("org.apache.hive hive-exec 2.3.10 dfee92fe36317d303286ed5df1ce1fb8cdf32ffc55f1df4fc7eb88713baab223")[0]
_LIBRARIES = _jars(
    "commons-codec commons-codec 1.15 b3e9f6d63a790109bf0d056611fbed1cf69055826defeb9894a71369d246ed63",
    "org.apache.commons commons-math3 3.6.1 1e56d7b058d28b65abd256b8458e3885b674c1d588fa43cd7d1cbb9c7ef2b308",
    "org.apache.calcite calcite-core 1.10.0 04c0930c033a66f89862f6f0e6212731c9cb13cd4cb19600bf207991aa2ee79c",
    "org.apache.calcite calcite-druid 1.10.0 e1b0ec37464455e56aadbb0b8aed6ff5d5c8d90c914baddcfc1767dd2e29c953",
)
_HADOOP_ONLY = ("hive-standalone-metastore", "hive-storage-api", "orc-", "protobuf")
_OPENED = (
    *("java.lang", "java.lang.invoke", "java.lang.ref", "java.lang.reflect", "java.io", "java.math", "java.net"),
    *("java.nio", "java.nio.charset", "java.security", "java.text", "java.time", "java.time.chrono"),
    *("java.time.format", "java.time.temporal", "java.time.zone", "java.util", "java.util.concurrent"),
    *("java.util.concurrent.atomic", "java.util.concurrent.locks", "java.util.function", "java.util.regex"),
    *("java.util.stream", "sun.nio.ch", "sun.util.calendar"),
)


class WrittenFilter(NamedTuple):
    """What Hive writes of a condition, and which rows it finds true.

    Attributes:
        serialized: ``hive.io.filter.expr.serialized``.
        text: ``hive.io.filter.text``.
        sarg: ``sarg.pushdown``; empty where Hive makes none.
        rows: numbers of the rows for which it is true.
    """

    serialized: str
    text: str
    sarg: str
    rows: tuple[int, ...]


class HiveFilters:
    """A Java process with the classes of one release; a context manager. It needs a JDK.

    Args:
        version: one of :data:`VERSIONS`.
        timezone: of the process.
    """

    def __init__(self, version: str, timezone: str = "UTC") -> None:
        self.version = version
        self._timezone = timezone
        self._temporary = tempfile.TemporaryDirectory(prefix="hive_filters_")
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        folder = Path(self._temporary.name)
        (folder / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
        release = "3.1.3" if self.version == _EARLY.version else self.version
        hive = fetch(_EARLY if self.version == _EARLY.version else HIVE_EXEC[self.version])
        jars = sorted((prepare(RELEASES[release]) / "lib").glob("*.jar"))
        if self.version == _EARLY.version:  # brings classes of its own for these
            jars = [jar for jar in jars if not jar.name.startswith(_HADOOP_ONLY)]
        path = os.pathsep.join(map(str, [folder, hive, *jars, *map(fetch, _LIBRARIES)]))
        java = find_java().executable
        for source in (_MAIN, *([_STUB] if self.version == "3.1.3" else [])):
            command = [str(java.with_name("javac")), "-nowarn", "-cp", path, "-d", str(folder), str(source)]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        opens = [part for name in _OPENED for part in ("--add-opens", f"java.base/{name}=ALL-UNNAMED")]
        self._errors = (folder / "errors.log").open("w")
        self._process = subprocess.Popen(
            [
                *(str(java), "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *opens),
                *("--add-opens", "java.sql/java.sql=ALL-UNNAMED", f"-Duser.timezone={self._timezone}"),
                *("-cp", path, "HiveFilters"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=folder,
            text=True,
            encoding="utf-8",
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.close()
            process.wait(60)
            process.stdout.close()
        self._errors.close()
        self._temporary.cleanup()

    def layouts(self, classes: Sequence[str]) -> list[list[str]]:
        """Lines of ``HiveFilters.java``, in parts: how Kryo writes these classes and those in their fields."""
        return [line.split("\t") for line in self._ask("layouts", ",".join(classes))]

    def classes(self, package: str) -> list[str]:
        """Names of the classes of a package that this release brings."""
        folder = package.replace(".", "/") + "/"
        jar = fetch(_EARLY if self.version == _EARLY.version else HIVE_EXEC[self.version])
        with zipfile.ZipFile(jar) as names:
            inside = [name.removeprefix(folder) for name in names.namelist() if name.startswith(folder)]
        return [
            f"{package}.{name.removesuffix('.class')}" for name in inside if name.endswith(".class") and "/" not in name
        ]

    def rows(self, columns: str, rows: Sequence[Sequence[str | None]]) -> None:
        """Rows that later filters are tried on.

        Args:
            columns: ``name:type;…``, types as Hive writes them.
            rows: values as text.
        """
        lines = (",".join("\\N" if value is None else value for value in row) for row in rows)
        self._ask("rows", columns, "|".join(lines))

    def write(self, columns: str, condition: str) -> WrittenFilter:
        """Have Hive compile and write a condition.

        Raises:
            RuntimeError: Hive does not take it, and says why.
        """
        serialized, text, sarg, rows = self._ask("filter", columns, condition)
        return WrittenFilter(serialized, text, sarg, tuple(map(int, rows.split(","))) if rows else ())

    def _ask(self, *request: str) -> list[str]:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        process.stdin.write("\t".join(request) + "\n")
        process.stdin.flush()
        kind, _, rest = process.stdout.readline().rstrip("\n").partition(" ")
        if kind != "rows":
            raise RuntimeError(f"Hive {self.version}, {request[-1][:300]!r}: {rest}")
        return [process.stdout.readline().rstrip("\n") for _ in range(int(rest))]
