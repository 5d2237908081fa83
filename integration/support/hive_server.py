"""A real HiveServer2 2.3: PySpark's jars of Hive and the few from Maven Central that Spark leaves out.

With a release of Hudi, that release's bundle is what reads Hudi's tables, on PySpark 3.5's jars (Hive 2.3.9, Hadoop
3.3.4); statements that need more than a fetch run as MapReduce jobs inside the server.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from hudi_hive.metastore import find_java
from hudi_hive.metastore.embedded import JAVA_OPTIONS, find_jars
from integration.support.metastores import _LOG4J, _free_port, _jars, fetch, write_properties
from tools.real_hudi import class_path

_MAIN = Path(__file__).with_name("HiveServer2Main.java")
_START_SECONDS = 300.0

# In front of Spark's jars: Spark has an edition of its own of this one.
_SERVICE = _jars("org.apache.hive hive-service 2.3.10 9d5e88ea1c01e9b3e34d31295bc11176e115ce926c2083b30b8f5ad97b1b4675")
# Behind them: Avatica brings an old Jackson along.
_LIBRARIES = _jars(
    "org.apache.calcite calcite-core 1.10.0 04c0930c033a66f89862f6f0e6212731c9cb13cd4cb19600bf207991aa2ee79c",
    "org.apache.calcite.avatica avatica 1.8.0 5093d452cfae7f71a6df5de6d0e7aadf48e6fee3c23a2c675bcbad5bbd452466",
    "org.apache.calcite calcite-linq4j 1.10.0 11142146d05c8204b900cb32574eb2f703ab9f024624d5fce7b62f08cc7a9d8c",
    "org.apache.calcite calcite-druid 1.10.0 e1b0ec37464455e56aadbb0b8aed6ff5d5c8d90c914baddcfc1767dd2e29c953",
    "net.hydromatic eigenbase-properties 1.1.5 9394a752411d9729a083cf578ed9666ec9a7f59c18c9ca889127480a44c7285c",
    "org.apache.hive hive-llap-common 2.3.10 34b9c057b4460b9930746ad663be14aee8a5b3676eeff62129301745072152d7",
    "org.apache.hive hive-llap-client 2.3.10 8c77d0afb92939ee0758761422f20bf2f484e091baa857e337194a5dade2e7df",
)
# Input formats of Hudi's tables and what they are made of: servers load a table's classes when they make it.
_HUDI = _jars(
    "org.apache.hudi hudi-hadoop-mr 1.0.2 d7febdfff8153df7fd3b3bd54472efe7c6166b670b3f15c7338d3a8a5131faf0",
    "org.apache.hudi hudi-common 1.0.2 661ab7cf0be755e50ad6ad65230db6d9a793643360ba4f550b23b3edfb65177f",
    "org.apache.hudi hudi-io 1.0.2 4921d34cc8f538a5e455bf4dc857bd7a9a783e43187d452857ff394a6b580d07",
    "org.apache.hudi hudi-hadoop-common 1.0.2 8fbdb17f3966156a037cc8937405e571c1da6e779eca11921b35d07a3ff9c97e",
)


def hudi_jars() -> list[Path]:
    """Jars with Hudi's input formats."""
    return [fetch(jar) for jar in _HUDI]


class HiveServer2:
    """HiveServer2 on a metastore, reachable from this machine only.

    Args:
        metastore_uri: the metastore's address.
        directory: folder for configuration, scratch files and the log.
        authentication: of ``hive.server2.authentication``.
        properties: Hive's and Hadoop's, on top of its own.
        java_options: of the Java machine.
        session: what its address has behind the database: ``;name=value``.
        hudi: release of the bundle that reads Hudi's tables (``tools.real_hudi``); empty: classes of tables alone.
    """

    def __init__(
        self,
        metastore_uri: str,
        directory: Path,
        *,
        authentication: str = "NONE",
        properties: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
        session: str = "",
        hudi: str = "",
    ) -> None:
        self._metastore_uri = metastore_uri
        self._directory = directory
        self._authentication = authentication
        self._properties = dict(properties or {})
        self._java_options = tuple(java_options)
        self._session = session
        self._hudi = hudi
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def jdbc_url(self) -> str:
        """Its address."""
        suffix = ";auth=noSasl" if self._authentication == "NOSASL" else ""
        return f"jdbc:hive2://127.0.0.1:{self._port}/default{suffix}{self._session}"

    @property
    def port(self) -> int:
        """Its port of Thrift."""
        return self._port

    def start(self) -> Self:
        """Start it and wait until its port is open.

        Raises:
            RuntimeError: it did not come up; the end of its log is quoted.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        self._port = _free_port()
        self._configure()
        front, behind = [str(fetch(jar)) for jar in _SERVICE], [str(fetch(jar)) for jar in _LIBRARIES]
        if self._hudi:
            front.append(class_path(release=self._hudi))
        else:
            behind = [f"{find_jars()}/*", *behind, *map(str, hudi_jars())]
        command = [
            str(find_java().executable),
            "-Xmx512m",
            *JAVA_OPTIONS,
            *self._java_options,
            f"-Djava.io.tmpdir={self._directory}",
            "-cp",
            os.pathsep.join([str(self._directory), *front, *behind]),
            "org.codehaus.janino.SimpleCompiler",
            str(_MAIN),
            _MAIN.stem,
        ]
        with (self._directory / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self._directory,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def _configure(self) -> None:
        properties = {
            "hive.metastore.uris": self._metastore_uri,
            "hive.server2.thrift.bind.host": "127.0.0.1",
            "hive.server2.thrift.port": str(self._port),
            "hive.server2.authentication": self._authentication,
            "hive.server2.enable.doAs": "false",
            "hive.server2.logging.operation.enabled": "false",
            "hive.exec.scratchdir": str(self._directory / "scratch"),
            "hive.exec.local.scratchdir": str(self._directory / "scratch"),
            **(self._jobs() if self._hudi else {}),
            **self._properties,
        }
        write_properties(self._directory / "hive-site.xml", properties)
        hadoop = {name: value for name, value in properties.items() if name.startswith(("hadoop.", "mapreduce."))}
        write_properties(self._directory / "core-site.xml", hadoop)
        (self._directory / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")

    def _jobs(self) -> Mapping[str, str]:
        """Jobs run in this process, one task after the other, with the splits of each table's input format."""
        return {
            "hive.input.format": "org.apache.hadoop.hive.ql.io.HiveInputFormat",
            "hive.execution.engine": "mr",
            "mapreduce.framework.name": "local",
            "hive.exec.submitviachild": "false",
            "hive.exec.submit.local.task.via.child": "false",
            "hive.auto.convert.join": "false",
            "hive.stats.autogather": "false",
            "hive.compute.query.using.stats": "false",
            "hadoop.tmp.dir": str(self._directory / "hadoop"),
            "mapreduce.cluster.local.dir": str(self._directory / "mapreduce"),
            "mapreduce.jobtracker.staging.root.dir": str(self._directory / "staging"),
        }

    def _wait(self) -> None:
        process = self._process
        assert process is not None and process.stdout is not None
        # The line comes when the service was told to start; the thread that accepts may be a moment later.
        deadline = time.monotonic() + _START_SECONDS
        watch = select.poll()  # select itself takes no descriptor beyond 1,023
        watch.register(process.stdout, select.POLLIN)
        ready = bool(watch.poll(_START_SECONDS * 1000)) and process.stdout.readline().startswith(b"ready")
        while ready and process.poll() is None and time.monotonic() < deadline:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                return
            time.sleep(0.05)
        log = (self._directory / "server.log").read_text(errors="replace")[-3000:]
        raise RuntimeError(f"HiveServer2 did not start: {log}")

    def stop(self) -> None:
        """Stop it and wait until it is gone; does nothing when it does not run."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
