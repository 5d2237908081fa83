"""A cluster of Spark's own Master and Workers on loopback, whose executors' Python has PySpark and PyArrow alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import venv
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from integration.support.spark_options import START_SECONDS
from tests.support.running.waiting import wait_until

_MEMORY: Final = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_PACKAGES: Final = ("pyspark", "py4j", "pyarrow")
PANDAS: Final = ("pandas", "numpy", "dateutil", "pytz", "tzdata", "six")
"""What a driver needs besides: PySpark asks for pandas there."""


def clean_python(folder: Path, more: Sequence[str] = ()) -> Path:
    """Make an environment of Python that has PySpark and PyArrow, and nothing else; the path of its interpreter.

    Args:
        folder: of the environment.
        more: modules and packages that it has, too.
    """
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in (*_PACKAGES, *more):
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None
        origin = Path(spec.origin)
        found = origin.parent if origin.name == "__init__.py" else origin
        (packages / found.name).symlink_to(found)
    return folder / "bin" / "python"


class SparkCluster:
    """A Master and Workers, each with a core or more, which run until the end of the block.

    Args:
        folder: for logs, and what the workers keep of applications.
        workers: their number.
    """

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder, self._workers = folder, workers
        self._running: list[subprocess.Popen[bytes]] = []
        self.url = ""

    def __enter__(self) -> SparkCluster:
        try:
            self._start("master", "master.Master", "--port", "0", "--webui-port", "0")
            self.url = self._logged("master", r"Starting Spark master at (spark://[^ \n]+)")
            for number in range(self._workers):
                name = f"worker{number}"
                kept = self._folder / "work"
                size = ("--cores", "2", "--memory", "1g")
                self._start(name, "worker.Worker", "--port", "0", "--webui-port", "0", *size, "-d", str(kept), self.url)
            for number in range(self._workers):
                self._logged(f"worker{number}", r"Successfully registered with (master)")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for process in reversed(self._running):
            process.terminate()
        for process in self._running:
            process.wait(START_SECONDS)

    def executors(self) -> list[int]:
        """Numbers of the processes of executors that run on this cluster now."""
        folder = str(self._folder / "work")
        executors = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes()
                inside = os.readlink(process / "cwd").startswith(folder)
            except OSError:
                continue
            if inside and b"CoarseGrainedExecutorBackend" in command:
                executors.append(int(process.name))
        return executors

    def _start(self, name: str, kind: str, *arguments: str) -> None:
        spec = find_spec("pyspark")
        assert spec is not None and spec.origin is not None
        home = Path(spec.origin).parent
        java = Path(os.environ["JAVA_HOME"]) / "bin" / "java" if "JAVA_HOME" in os.environ else shutil.which("java")
        scala = re.search(r"_(2\.\d+)-", next(path.name for path in home.glob("jars/spark-core_*.jar")))
        assert java is not None and scala is not None
        environment = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK"))}
        environment |= {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SCALA_VERSION": scala[1]}
        command = [str(java), *_MEMORY, "-cp", f"{home}/jars/*", f"org.apache.spark.deploy.{kind}"]
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._log(name).open("wb") as log:
            self._running.append(
                subprocess.Popen(
                    [*command, "--host", "127.0.0.1", *arguments],
                    env=environment,
                    cwd=self._folder,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _logged(self, name: str, pattern: str) -> str:
        def said() -> re.Match[str] | None:
            text = self._log(name).read_text(errors="replace")
            assert all(process.poll() is None for process in self._running), text
            return re.search(pattern, text)

        match = wait_until(said, f"{pattern} in the log of {name}")
        assert match is not None
        return match[1]
