"""Hudi's own sync tools to measure ours against: its environment, one warm process of it, and whole processes of it.

The environment is Hudi's bundle for Spark 3.5 and PySpark 3.5's jars as the class path. It is made once, by pip and
Maven, in ``$HUDI_HIVE_CACHE`` (``~/.cache/hudi_hive`` when not set).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from hudi_hive.metastore.embedded import find_java

PYSPARK, HUDI = "3.5.9", "1.0.2"
_BUNDLE = "hudi-spark3.5-bundle_2.12"
S3A = ("org.apache.hadoop:hadoop-aws:3.3.4", "com.amazonaws:aws-java-sdk-bundle:1.12.262")
"""Hadoop's S3A connector for PySpark 3.5, and the SDK that it was built with."""

_DRIVER = Path(__file__).with_name("HiveSyncDriver.java")
_LOG = """status=OFF
rootLogger.level=ERROR
rootLogger.appenderRef.a.ref=a
appender.a.type=Console
appender.a.name=a
appender.a.target=SYSTEM_ERR
appender.a.layout.type=PatternLayout
"""
_PACKAGES = ("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util", "util.concurrent")


def cache() -> Path:
    """The folder of things that are fetched once."""
    return Path(os.environ.get("HUDI_HIVE_CACHE") or Path.home() / ".cache" / "hudi_hive")


def is_fetched(release: str = HUDI, home: Path | None = None) -> bool:
    """Whether :func:`class_path` would fetch nothing."""
    home = home or cache() / "real_hudi"
    return all(next(home.glob(f"**/{name}"), None) for name in ("pyspark/jars", f"{_BUNDLE}-{release}.jar"))


def class_path(home: Path | None = None, release: str = HUDI) -> str:
    """The class path of a release, fetched when missing: the bundle's jar, then PySpark's jars."""
    home = home or cache() / "real_hudi"
    home.mkdir(parents=True, exist_ok=True)
    jars = next(iter(home.glob("**/pyspark/jars")), None)
    if jars is None:
        print(f"fetching pyspark {PYSPARK}", file=sys.stderr)
        target = home / f"pyspark-{PYSPARK}"
        install = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*install, "--target", str(target), f"pyspark=={PYSPARK}"], check=True, stdout=sys.stderr)
        jars = target / "pyspark" / "jars"
    bundle = _jar(f"org.apache.hudi:{_BUNDLE}:{release}", home)
    return f"{bundle}{os.pathsep}{jars}/*"


def spark_process(release: str = HUDI, folders: Iterable[Path] = ()) -> tuple[str, dict[str, str]]:
    """What a Python process needs to run a release on PySpark 3.5: the bundle's jar, and its environment.

    Args:
        release: of Hudi.
        folders: more to import from, besides PySpark.
    """
    bundle, _, jars = class_path(release=release).partition(os.pathsep)
    package = Path(jars).parents[1]
    bridge = next((package / "python" / "lib").glob("py4j-*.zip"))
    paths = [bridge, package.parent, *folders]
    return bundle, {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(package),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def is_s3a_fetched(home: Path | None = None) -> bool:
    """Whether :func:`s3a_jars` would fetch nothing."""
    home = home or cache() / "real_hudi"
    return all(next(home.glob(f"**/{_name(artifact)}"), None) is not None for artifact in S3A)


def s3a_jars(home: Path | None = None) -> list[Path]:
    """The jars that let real Hudi use ``s3a://`` paths, fetched when missing."""
    home = home or cache() / "real_hudi"
    return [_jar(artifact, home) for artifact in S3A]


def _name(artifact: str) -> str:
    _, name, version = artifact.split(":")
    return f"{name}-{version}.jar"


def _jar(artifact: str, home: Path) -> Path:
    """A jar of Maven Central, fetched when missing."""
    jar = next(iter(home.glob(f"**/{_name(artifact)}")), None)
    if jar is None:
        print(f"fetching {_name(artifact)}", file=sys.stderr)
        copy = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={home}"]
        subprocess.run(copy, check=True, stdout=sys.stderr)
        jar = home / _name(artifact)
    return jar


class RealSync:
    """The real tool; as a context manager it keeps one process warm.

    Args:
        classes: see :func:`class_path`.
        heap: largest heap of its Java processes.
        tool: class of the tool in the warm process.
    """

    def __init__(self, classes: str, heap: str = "1g", tool: str = "org.apache.hudi.hive.HiveSyncTool") -> None:
        self._tool = tool
        self._folder = tempfile.TemporaryDirectory(prefix="real_sync_")
        log = Path(self._folder.name) / "log4j2.properties"
        log.write_text(_LOG)
        self.log_path = Path(self._folder.name) / "errors.log"
        self._java = [str(find_java().executable), f"-Xmx{heap}"]
        self._java += [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _PACKAGES]
        # Without the first option it spends seconds on attaching an agent that measures objects.
        self._java += ["-Djol.skipHotspotSAAttach=true", f"-Dlog4j2.configurationFile={log.as_uri()}"]
        self._java += ["-cp", classes]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        command = [*self._java, "org.codehaus.janino.SimpleCompiler", str(_DRIVER), _DRIVER.stem, self._tool]
        self._errors = self.log_path.open("w")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._errors.close()
        self._folder.cleanup()

    def warm(self, options: Mapping[str, str]) -> float:
        """One sync in the warm process; gives its seconds, measured inside."""
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        process.stdin.write("\t".join(f"{key}={value}" for key, value in options.items()) + "\n")
        process.stdin.flush()
        word, _, rest = process.stdout.readline().partition(" ")
        if word != "done":
            raise RuntimeError(f"the real tool failed: {rest.strip()}\n{self.log_path.read_text()[-2000:]}")
        return int(rest) / 1e9

    def whole(self, options: Mapping[str, str]) -> float:
        """One sync as a process of its own; gives its seconds from start to exit."""
        prefix = "hoodie.datasource.hive_sync."
        arguments = {
            "--base-path": options["hoodie.datasource.meta.sync.base.path"],
            "--database": options[prefix + "database"],
            "--table": options[prefix + "table"],
            "--metastore-uris": options[prefix + "metastore.uris"],
            "--sync-mode": options[prefix + "mode"],
            "--partitioned-by": options[prefix + "partition_fields"],
            "--partition-value-extractor": options[prefix + "partition_extractor_class"],
        }
        flat = [text for pair in arguments.items() for text in pair]
        begin = time.perf_counter()
        done = subprocess.run([*self._java, "org.apache.hudi.hive.HiveSyncTool", *flat], capture_output=True, text=True)
        seconds = time.perf_counter() - begin
        if done.returncode:
            raise RuntimeError(f"the real tool failed: {done.stderr[-2000:]}")
        return seconds
