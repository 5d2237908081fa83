"""A ZooKeeper server on loopback for tests, from Maven Central's jars, pinned by SHA-256."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from hudi_hive.metastore import find_java
from integration.support.metastores import Artifact, fetch

_START_SECONDS: Final = 300.0
_JARS: Final = tuple(
    Artifact(*line.split())
    for line in (
        "org.apache.zookeeper zookeeper 3.9.3 ad6570105768d18382a762325b4460368b7089a5a77c053e682b17942e0e72b5",
        "org.apache.zookeeper zookeeper-jute 3.9.3 be72e2c9099413a9878ce830b65bb22e0be755dc2a22b290550ab9e03b5b4cfa",
        "org.slf4j slf4j-api 1.7.30 cdba07964d1bb40a0761485c6b1e8c2f8fd9eb1d19c53928ac0d7f9510105c57",
        "io.dropwizard.metrics metrics-core 4.1.12.1 cec34936faa625039f4e46123eccaa10a9eb9d9a40c6075830cd81330e259cf9",
        "org.xerial.snappy snappy-java 1.1.10.5 0f3f1857ed33116583f480b4df5c0218836c47bfbc9c6221c0d73f356decf37b",
    )
)
_SCRIPT: Final = '"$@" </dev/null & child=$!; { read -r _ <&3; kill "$child"; } & wait "$child"; kill $! 2>/dev/null'
"""The shell leaves when its input ends (we are gone, or stop) and takes the server with it."""

_CLASS: Final = "org.apache.zookeeper.server.ZooKeeperServerMain"
_TICK_MS: Final = 200
"""The server looks for silent sessions this often, and allows sessions of two ticks."""


class ZookeeperServer:
    """A running server; a context manager that stops it."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="hudi-hive-zookeeper-"))
        self._process: subprocess.Popen[bytes] | None = None
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = int(probe.getsockname()[1])

    @property
    def hosts(self) -> str:
        """What clients connect to."""
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        jars = os.pathsep.join(str(fetch(jar)) for jar in _JARS)
        configuration = self._folder / "zoo.cfg"
        configuration.write_text(
            f"tickTime={_TICK_MS}\ndataDir={self._folder}/data\nclientPortAddress=127.0.0.1\n"
            f"clientPort={self.port}\nmaxSessionTimeout=600000\nadmin.enableServer=false\n"
        )
        java = [str(find_java().executable), "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", jars]
        with (self._folder / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", f"exec 3<&0; {_SCRIPT}", "sh", *java, _CLASS, str(configuration)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self._serves():
            if self._process.poll() is not None or time.monotonic() > deadline:
                text = (self._folder / "server.log").read_text(errors="replace")[-2000:]
                self.__exit__(None, None, None)
                raise RuntimeError(f"ZooKeeper did not start: {text}")
            time.sleep(0.05)
        return self

    def _serves(self) -> bool:
        """Whether the server says so: it accepts connections before, and drops them."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            connection.sendall(b"srvr")
            return b"Mode: standalone" in connection.makefile("rb").read()
        return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
            process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
