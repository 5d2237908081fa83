"""A real Hive metastore 2.3 of one's own: Java process, Derby database, loopback address, a folder.

The jars are those that PySpark ships; pyspark itself is not imported. However the Python process ends, the Java process
ends too: it reads a pipe from its parent and looks at who its parent is.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import weakref
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from hudi_hive.errors import InvalidOptionError, MetastoreConnectError, MetastoreError, MissingDependencyError
from hudi_hive.metastore.embedded import embedded_files as files
from hudi_hive.metastore.embedded.embedded_lock import WarehouseLock
from hudi_hive.metastore.embedded.java import find_java
from hudi_hive.metastore.embedded.java_process import end_process, wait_for_port
from hudi_hive.metastore.embedded.private_files import PRIVATE_UMASK, open_private

_SERVER = Path(__file__).with_name("EmbeddedMetastoreServer.java")

_running: weakref.WeakSet[EmbeddedMetastore] = weakref.WeakSet()


class EmbeddedMetastore:
    """A real Hive metastore (2.3.10 with PySpark 4.3) on Derby, reachable from this machine only.

    Args:
        directory: its own folder, made when missing: database, warehouse, configuration, log. A second start on the
            same folder finds what the first one stored.
        port: TCP port on 127.0.0.1; 0 takes a free one.
        heap: largest heap of the Java process, ``512m`` or ``1g``.
        properties: Hive properties (``hive.…``) on top of its own.
        timeout: seconds until it must be ready.
        progress: told the current stage in a few words, from the starting thread.

    Example:
        >>> from hudi_hive.metastore import HiveMetastore
        >>> with EmbeddedMetastore("/tmp/metastore") as metastore:
        ...     HiveMetastore(metastore.uri).databases()
        ['default']
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        port: int = 0,
        heap: str = "512m",
        properties: Mapping[str, str] | None = None,
        timeout: float = 120.0,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        if not 0 <= port <= 65535:
            raise InvalidOptionError(f"not a TCP port: {port}")
        self.directory = Path(directory).absolute()
        self._requested_port = port
        self._heap = heap
        self._properties = dict(properties or {})
        self._timeout = timeout
        self._progress = progress or (lambda stage: None)
        self._lock = WarehouseLock(self.directory)
        self._process: subprocess.Popen[bytes] | None = None
        self._port: int | None = None
        self._owner = os.getpid()

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def uri(self) -> str:
        """``thrift://127.0.0.1:PORT``.

        Raises:
            MetastoreConnectError: it is not running.
        """
        if self._port is None:
            raise MetastoreConnectError(
                "the embedded metastore is not running", path=str(self.directory), remedy="call start() first"
            )
        return f"thrift://127.0.0.1:{self._port}"

    @property
    def port(self) -> int | None:
        """TCP port of the server; None while it is not running."""
        return self._port

    @property
    def pid(self) -> int | None:
        """Process id of the Java process, None while it does not run."""
        return None if self._process is None else self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the Java process is running and was ready."""
        return self._port is not None and self._process is not None and self._process.poll() is None

    @property
    def warehouse(self) -> Path:
        """Folder where databases without a location of their own put their tables."""
        return self.directory / files.WAREHOUSE

    @property
    def log_path(self) -> Path:
        """The server's log."""
        return self.directory / files.LOG

    def __repr__(self) -> str:
        return f"EmbeddedMetastore({str(self.directory)!r}, {self.uri if self._port is not None else 'stopped'})"

    # -- start and stop ------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start the server and wait until it is ready; does nothing if it is running.

        Raises:
            JavaNotFoundError: no Java 17 or newer.
            MissingDependencyError: PySpark's jars are not installed.
            MetastoreError: the folder is in use, the port is taken, or the server did not come up (the log's last error
                is quoted).
        """
        if self.is_running:
            return self
        java = find_java()
        jars = find_jars()
        self._lock.acquire()
        try:
            files.write(self.directory, self._properties)
            self._launch(str(java.executable), jars)
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def _launch(self, java: str, jars: Path) -> None:
        self._progress("starting Java")
        command = [
            java,
            f"-Xmx{self._heap}",
            *files.JAVA_OPTIONS,
            *files.log_options(self.directory),
            "-cp",
            f"{self.directory / files.CONFIGURATION}{os.pathsep}{jars}/*",
            # Janino's own command line: compile the source in memory, call its main.
            "org.codehaus.janino.SimpleCompiler",
            str(_SERVER),
            _SERVER.stem,
            str(self._requested_port),
            str(os.getpid()),
        ]
        with open_private(self.directory / files.CONSOLE) as console:
            # A session of its own: Ctrl-C in the terminal is for us, we stop the server when we are done. It inherits
            # the lock, so that nobody else starts on the folder before it is really gone.
            self._process = subprocess.Popen(
                command,
                cwd=self.directory,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=console,
                start_new_session=True,
                pass_fds=(self._lock.descriptor,),
                umask=PRIVATE_UMASK,
            )
        self._owner = os.getpid()
        _running.add(self)

    def _wait_until_ready(self) -> None:
        process = self._process
        assert process is not None
        self._port = wait_for_port(process, self._timeout, progress=self._progress, failure=self._failure)
        self._lock.note(process.pid, self.uri)
        self._progress("ready")

    def _failure(self, what: str) -> MetastoreError:
        in_use = "BindException" in what or "Could not create ServerSocket" in what
        if self._requested_port and in_use:
            return MetastoreError(
                f"port {self._requested_port} on 127.0.0.1 is in use",
                path=str(self.directory),
                remedy="choose another port, or 0 for a free one",
            )
        cause = files.last_error(self.directory)
        return MetastoreError(
            f"the embedded metastore {what}" + (f" ({cause})" if cause else ""),
            path=str(self.directory),
            remedy=f"see {files.LOG} and {files.CONSOLE} there; a folder that a crash damaged can be deleted",
        )

    def stop(self) -> None:
        """Stop the server and wait until it has ended; does nothing if it is not running."""
        process, self._process, self._port = self._process, None, None
        _running.discard(self)
        if process is None or os.getpid() != self._owner:
            # A forked child must not stop its parent's server.
            if os.getpid() == self._owner:
                self._lock.release()
            return
        try:
            end_process(process)  # it closes Derby in good order
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def find_jars() -> Path:
    """The folder with PySpark's jars, found without importing pyspark (``SPARK_HOME`` counts when it is not installed).

    Raises:
        MissingDependencyError: no such folder, or it lacks Hive's metastore.
    """
    remedy = "pip install 'hudi_hive[spark]'"
    spec = find_spec("pyspark")
    homes = [Path(spec.origin).parent] if spec is not None and spec.origin else []
    if os.environ.get("SPARK_HOME"):
        homes.append(Path(os.environ["SPARK_HOME"]))
    for home in homes:
        jars = home / "jars"
        if all(any(jars.glob(f"{name}-*.jar")) for name in ("hive-metastore", "derby", "janino")):
            return jars
    if homes:
        raise MissingDependencyError(
            "PySpark's jars lack hive-metastore, derby or janino", path=str(homes[0] / "jars"), remedy=remedy
        )
    raise MissingDependencyError(
        "the embedded metastore runs on PySpark's jars: pyspark is not installed", remedy=remedy
    )


def _stop_all() -> None:
    for metastore in list(_running):
        metastore.stop()


atexit.register(_stop_all)
