"""HDFS on this machine: Hadoop's own cluster for tests, one name node and one data node in one Java process."""

from __future__ import annotations

import itertools
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from hudi_hive.metastore import find_java
from integration.support.metastores import _jars, fetch
from integration.support.stores.kerberos import REALM, KerberosRealm

HADOOP: Final = _jars(
    "org.apache.hadoop hadoop-client-api 3.4.2 607c0299f4df33013bd0a0f37c8cf255c635bbaddd247b8fec68c210cc17d19f",
    "org.apache.hadoop hadoop-client-runtime 3.4.2 18d071c7f72f8a946677b398a57af9c7afa2dd41a81023c310f99373fec200b3",
    "org.apache.hadoop hadoop-client-minicluster 3.4.2"
    " ae2406c544825b7734b8aad4f87eff60d9ec422284f0b16c2856032083b63c77",
    "commons-logging commons-logging 1.3.0 66d3c980470b99b0c511dad3dfc0ae7b265ec1fb144e96bc0253a8a175fd34d9",
    "com.google.code.findbugs jsr305 3.0.2 766ad2a0783f2687962c8ad74ceecc38a28b9f72a2d085ee438b7813e928d0c7",
    "junit junit 4.13.2 8e495b634469d64fb8acfa3495a065cbacc8a0fff55ce1e31007be4c16dc57d3",
    "org.hamcrest hamcrest-core 1.3 66fdef91e9739348df7a096aa384a5685f4e875584cce89386a7a47251c4d8e9",
    "org.mockito mockito-core 4.11.0 4b909690cab288c761eb94c0bf0e814496cf3921d8affac84cd87774530351e5",
    "net.bytebuddy byte-buddy 1.12.19 030704139e46f32c38d27060edee9e0676b0a0fff8a8be53461515154ba8a7be",
    "net.bytebuddy byte-buddy-agent 1.12.19 3a70240de7cdcde04e7c504c2327d7035b9c25ae0206881e3bf4e6798a273ed8",
    "org.objenesis objenesis 3.3 02dfd0b0439a5591e35b708ed2f5474eb0948f53abf74637e959b8e4ef69bfeb",
    "org.slf4j slf4j-api 1.7.36 d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0",
    "org.xerial.snappy snappy-java 1.1.10.4 55b30c94e5c4cc2d4b6976916098d0678a8a6cc7427fa8c875621bd94e731ac8",
    "javax.xml.bind jaxb-api 2.3.1 88b955a0df57880a26a74708bc34f74dcaf8ebf4e78843a28b50eae945732b06",
)
_COMPILER: Final = _jars(
    "org.codehaus.janino janino 3.0.11 9237b71d2329180e59210e9aaa100ee313454ef0ae588608c75cb19319591be1",
    "org.codehaus.janino commons-compiler 3.0.11 0f1a4f5f265c701a31933244ae7045fcef18b4fa5950417e25ee70be50dddacf",
)
_SERVICE: Final = "hdfs/localhost"
_MAIN: Final = Path(__file__).with_name("HdfsMain.java")
_JAVA: Final = (
    *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    *("--add-opens", "java.base/java.lang=ALL-UNNAMED"),
)


class HdfsServer:
    """A running HDFS; a context manager that stops it and deletes what is in it.

    Args:
        hosts: names of data nodes, each in a rack of its own, with blocks of 1 MiB in one copy; one node without them.
        realm: where clients log in by Kerberos; it runs already. The address is that of ``localhost`` then.
        protection: of what goes over the wire with a realm: ``authentication``, ``integrity`` or ``privacy``.
    """

    def __init__(
        self, hosts: Sequence[str] = (), realm: KerberosRealm | None = None, protection: str = "privacy"
    ) -> None:
        self._hosts = hosts
        self._login: tuple[str, ...] = ()
        self._host = "127.0.0.1"
        if realm is not None:
            keytab = realm.keytab(_SERVICE)
            if not keytab.exists():
                realm.add(_SERVICE)
            self._host = "localhost"
            own = {"hdfs.principal": f"{_SERVICE}@{REALM}", "hdfs.keytab": keytab, "hdfs.protection": protection}
            self._login = (*realm.java_options, *(f"-D{name}={value}" for name, value in own.items()))
        self._temporary = tempfile.TemporaryDirectory(prefix="hdfs_", ignore_cleanup_errors=True)
        self._folder = Path(self._temporary.name)
        self._process: subprocess.Popen[str] | None = None
        self._numbers = itertools.count(1)
        self.uri = ""
        """``hdfs://127.0.0.1:PORT``."""
        self.web = ""
        """The name node's web address, ``host:port``."""

    def __enter__(self) -> Self:
        jars = [str(fetch(artifact)) for artifact in (*HADOOP, *_COMPILER)]
        command = [
            str(find_java().executable),
            *_JAVA,
            *self._login,
            "-cp",
            os.pathsep.join([*jars, str(self._folder)]),
        ]
        command += [
            "org.codehaus.janino.SimpleCompiler",
            str(_MAIN),
            _MAIN.stem,
            str(self._folder / "data"),
            *self._hosts,
        ]
        self._errors = (self._folder / "errors.log").open("w")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, cwd=self._folder, text=True
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("ready "):
                _, port, web = line.split()
                self.uri, self.web = f"hdfs://{self._host}:{port}", web.partition("://")[2]
                return self
        self.__exit__(None, None, None)
        raise RuntimeError("HDFS did not start")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()  # nothing in it is to last
            process.communicate()
        self._errors.close()
        self._temporary.cleanup()

    def blocks(self, path: str) -> list[tuple[int, int, tuple[str, ...]]]:
        """Offset, length and hosts of a file's blocks, by Hadoop's own client."""
        assert self._process is not None and self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        line = next(line for line in self._process.stdout if line.startswith("blocks"))
        parts = (text.split(":") for text in line.split()[1:])
        return [(int(offset), int(length), tuple(hosts.split(","))) for offset, length, hosts in parts]

    def folder(self) -> str:
        """URI of a folder that nobody has used."""
        return f"{self.uri}/lake/f{next(self._numbers)}"
