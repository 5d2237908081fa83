"""A Java process of Hive that answers questions, line by line, for as long as a test needs it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from hudi_hive.metastore import find_java
from integration.support.metastores import _LOG4J, _OPENS, HIVE_EXEC, RELEASES, _jars, fetch, prepare

# Compiles the sources of these processes, and the statistics of Hive's own planner.
_COMPILER = _jars(
    "org.codehaus.janino janino 3.0.11 9237b71d2329180e59210e9aaa100ee313454ef0ae588608c75cb19319591be1",
    "org.codehaus.janino commons-compiler 3.0.11 0f1a4f5f265c701a31933244ae7045fcef18b4fa5950417e25ee70be50dddacf",
)


class HiveError(RuntimeError):
    """Hive refuses, and says why."""


class HiveProcess:
    """A warm Java process with the classes of one release of Hive; a context manager.

    Args:
        version: a key of ``metastores.RELEASES``.
        main: Java source of what it does: "rows N" and N lines, or "error TEXT", for each line of its input.
        heap: largest heap.
        jars: jars on top of ``hive-exec`` and those of the metastore of that release.
        options: of the Java machine.
        arguments: of the program.
    """

    def __init__(
        self,
        version: str,
        main: Path,
        *,
        heap: str = "512m",
        jars: Sequence[Path] = (),
        options: Sequence[str] = (),
        arguments: Sequence[str] = (),
    ) -> None:
        self.version = version
        self._main = main
        self._heap = heap
        self._jars = tuple(jars)
        self._options = tuple(options)
        self._arguments = tuple(arguments)
        self._temporary = tempfile.TemporaryDirectory(prefix="hive_process_")
        self.folder = Path(self._temporary.name)
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        (self.folder / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
        home = prepare(RELEASES[self.version])
        jars = [fetch(HIVE_EXEC[self.version]), f"{home}/lib/*", *map(fetch, _COMPILER), *self._jars]
        command = [str(find_java().executable), f"-Xmx{self._heap}", "-XX:+UseSerialGC"]
        command += ["-XX:TieredStopAtLevel=1", *_OPENS, *self._options]  # it does not live long
        command += ["-cp", os.pathsep.join(map(str, [self.folder, *jars])), "org.codehaus.janino.SimpleCompiler"]
        self._errors = (self.folder / "errors.log").open("w")
        self._process = subprocess.Popen(
            [*command, str(self._main), self._main.stem, *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=self.folder,
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
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
        self._errors.close()
        self._temporary.cleanup()

    def ask(self, question: str) -> list[str]:
        """The lines of an answer.

        Args:
            question: one line.

        Raises:
            HiveError: the answer is that it cannot.
        """
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        assert "\n" not in question and "\r" not in question
        process.stdin.write(f"{question}\n")
        process.stdin.flush()
        kind, _, rest = process.stdout.readline().rstrip("\n").partition(" ")
        if kind == "rows":
            return [process.stdout.readline().rstrip("\n") for _ in range(int(rest))]
        if kind == "error":
            raise HiveError(f"Hive {self.version}, {question[:300]!r}: {rest}")
        log = (self.folder / "errors.log").read_text(errors="replace")[-3000:]
        raise RuntimeError(f"Hive {self.version} gave no answer: {log}")
