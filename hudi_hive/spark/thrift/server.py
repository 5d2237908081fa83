"""``ThriftServer``: a Spark Thrift Server on loopback that reads synced Hudi tables.

It is a process of its own (:mod:`hudi_hive.spark.thrift.main`) with a PySpark session that knows synced tables, and
Java below it. However the process that started it ends, both end too: they read pipes from their parents, and the
server looks at who its parent is.
"""

from __future__ import annotations

import atexit
import errno
import os
import shlex
import shutil
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

from hudi_hive.errors import InvalidOptionError, MetastoreConnectError, SparkError
from hudi_hive.metastore import find_java
from hudi_hive.metastore.connection import Address, parse_addresses
from hudi_hive.metastore.embedded import (
    Java,
    end_process,
    find_jars,
    make_private_folder,
    open_private,
    wait_for_port,
    write_private,
)
from hudi_hive.spark.thrift.main import LaunchCommand

_MAIN = "from hudi_hive.spark.thrift.main import main; main()"
_AUTHENTICATIONS = ("NONE", "NOSASL", "KERBEROS")
_KERBEROS = ("spark.kerberos.principal", "spark.kerberos.keytab")
_METASTORE_SECONDS = 10.0
# Spark reads these from Java's command line, before it knows of any other.
_LAUNCH = (
    "spark.driver.",
    "spark.jars",
    "spark.submit.",
    "spark.files",
    "spark.archives",
    "spark.kerberos.",
    "spark.hadoop.hadoop.security.",
)
# How a PySpark process would find another Java than its own, or none.
_FOREIGN = (
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_GATEWAY_SECRET",
    "PYSPARK_PIN_THREAD",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_REMOTE",
    "SPARK_API_MODE",
)
_LOGGING = """status = error
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p [%t] %c{1}: %m%n%ex
logger.scheduler.name = org.apache.spark.scheduler.DAGScheduler
logger.scheduler.level = error
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""

_running: weakref.WeakSet[ThriftServer] = weakref.WeakSet()


class LaunchFields(TypedDict, total=False):
    """The fields of :class:`LaunchSettings` as arguments by name."""

    heap: str
    threads: int
    jars: Sequence[str | os.PathLike[str]]
    timeout: float
    progress: Callable[[str], None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSettings:
    """How a server's process is started.

    Attributes:
        heap: largest heap of the Java process, ``512m`` or ``1g``.
        threads: tasks that run at once.
        jars: more jars for its class path, such as one with Hudi's input formats, which Spark looks at when it makes a
            table that has them.
        timeout: seconds until it must be ready.
        progress: called with the current stage in a few words, from the starting thread.
    """

    heap: str = "1g"
    threads: int = 2
    jars: Sequence[str | os.PathLike[str]] = ()
    timeout: float = 180.0
    progress: Callable[[str], None] | None = None

    @property
    def class_path(self) -> str:
        """The jars as Java takes them."""
        return os.pathsep.join(os.fspath(jar) for jar in self.jars)

    def report(self, stage: str) -> None:
        """Call ``progress`` with a stage."""
        if self.progress is not None:
            self.progress(stage)


class ThriftServer:
    """A Spark Thrift Server on a metastore, reachable from this machine only.

    Args:
        metastore_uri: ``thrift://host:port`` of the metastore that it uses; several with commas between.
        port: TCP port on 127.0.0.1; 0 takes a free one.
        directory: folder for its log and scratch files; None for a temporary one that goes away with it.
        authentication: ``NONE`` (SASL PLAIN, any user), ``NOSASL``, or ``KERBEROS``: the settings
            ``spark.kerberos.principal`` (``hive/HOST@REALM``) and ``spark.kerberos.keytab`` are the server's own.
        settings: Spark's own settings (``spark.…``) on top of these. They reach the server through a pipe; no command
            line and no file shows a secret among them, but for those of the Java process itself (``spark.driver.…``,
            ``spark.jars…``, ``spark.submit.…``, ``spark.files``, ``spark.archives``, ``spark.kerberos.…``,
            ``spark.hadoop.hadoop.security.…``), which are on its command line.
        storage_options: credentials and settings for this package's own file access, as for
            :class:`~hudi_hive.storage.Storage`; through the pipe, too.
        launch: the fields of :class:`LaunchSettings` by name: ``heap``, ``threads``, ``jars``, ``timeout`` and
            ``progress``.

    Raises:
        InvalidOptionError: a port, an address, an authentication or a setting that it does not take.

    Example:
        >>> import pyhive.hive
        >>> with ThriftServer("thrift://127.0.0.1:9083") as server:
        ...     pyhive.hive.connect("127.0.0.1", server.port)
    """

    def __init__(
        self,
        metastore_uri: str,
        *,
        port: int = 0,
        directory: str | os.PathLike[str] | None = None,
        authentication: str = "NONE",
        settings: Mapping[str, str] | None = None,
        storage_options: Mapping[str, Any] | None = None,
        **launch: Unpack[LaunchFields],
    ) -> None:
        if not 0 <= port <= 65535:
            raise InvalidOptionError(f"not a TCP port: {port}")
        if authentication.upper() not in _AUTHENTICATIONS:
            raise InvalidOptionError(
                f"authentication {authentication} is not supported", remedy=f"{' and '.join(_AUTHENTICATIONS)} are"
            )
        wrong = [name for name in settings or {} if not name.startswith("spark.")]
        if wrong:
            raise InvalidOptionError(f"not settings of Spark: {', '.join(wrong)}")
        missing = [name for name in _KERBEROS if name not in (settings or {})]
        if authentication.upper() == "KERBEROS" and missing:
            raise InvalidOptionError(
                f"a login by Kerberos needs {' and '.join(missing)}", remedy="give them in settings"
            )
        self._addresses = parse_addresses(metastore_uri)
        if any(address.tls or address.sasl or address.http for address in self._addresses):
            raise InvalidOptionError(
                "the Thrift server does not take a metastore's TLS, login and HTTP from its address",
                remedy="write thrift://host:port, and give Spark's own settings (spark.hadoop.hive.metastore.…)",
            )
        self.metastore_uri = ",".join(map(str, self._addresses))
        self.authentication = authentication.upper()
        self._requested_port = port
        self._requested_directory = directory
        self._launch = LaunchSettings(**launch)
        self._settings = {name: str(value) for name, value in (settings or {}).items()}
        self._storage_options = dict(storage_options or {})
        self._temporary: weakref.finalize[..., ThriftServer] | None = None
        self._directory: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._port: int | None = None
        self._owner = os.getpid()

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def port(self) -> int | None:
        """TCP port of the server; None while it is not running."""
        return self._port

    @property
    def jdbc_url(self) -> str:
        """``jdbc:hive2://127.0.0.1:PORT/default``.

        Raises:
            SparkError: it is not running.
        """
        if self._port is None:
            raise SparkError("the Thrift server is not running", remedy="call start() first")
        suffix = ";auth=noSasl" if self.authentication == "NOSASL" else ""
        if self.authentication == "KERBEROS":
            suffix = f";principal={self._settings[_KERBEROS[0]]}"
        return f"jdbc:hive2://127.0.0.1:{self._port}/default{suffix}"

    @property
    def pid(self) -> int | None:
        """Process id of the server, whose child is Java; None while it does not run."""
        return None if self._process is None else self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the server is running and was ready."""
        return self._port is not None and self._process is not None and self._process.poll() is None

    @property
    def log_path(self) -> Path | None:
        """The server's log, None before the first start."""
        return None if self._directory is None else self._directory / "thriftserver.log"

    def __repr__(self) -> str:
        return f"ThriftServer({self.jdbc_url if self._port is not None else 'stopped'})"

    # -- start and stop --------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start the server and wait until it is ready; does nothing if it is running.

        Raises:
            JavaNotFoundError: no Java 17 or newer.
            MetastoreConnectError: nobody listens at the metastore's address.
            MissingDependencyError: PySpark's jars are not installed.
            SparkError: the server did not come up (its last error is quoted), or the port is taken.
        """
        if self.is_running:
            return self
        self.stop()  # What is left of one that ended by itself.
        java, jars = find_java(), find_jars()
        # Both would take Spark long to notice, and longer to say.
        if self._requested_port and _is_taken(self._requested_port):
            raise self._port_in_use()
        _check_metastore(self._addresses)
        self._make_directory()
        try:
            self._start(java, jars)
        except BaseException:
            self._end_process()
            self._remove_directory()
            raise
        return self

    def _make_directory(self) -> None:
        self._directory = None if self._requested_directory is None else Path(self._requested_directory).absolute()
        try:
            if self._directory is None:
                self._directory = Path(mkdtemp(prefix="thriftserver-"))
                self._temporary = weakref.finalize(self, _remove, self._directory, os.getpid())
                self._temporary.atexit = False  # Not before the server has stopped.
            make_private_folder(self._directory)
            for name in ("tmp", "scratch", "warehouse"):
                make_private_folder(self._directory / name)
            write_private(self._directory / "log4j2.properties", _LOGGING)
        except OSError as error:
            raise SparkError(
                f"cannot write the Thrift server's folder: {error.strerror}",
                path=str(self._directory or error.filename),
                remedy="choose another folder",
            ) from error

    def _launch_command(self, directory: Path) -> LaunchCommand:
        settings = {
            "spark.master": f"local[{self._launch.threads}]",
            "spark.app.name": "thriftserver",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": self._launch.heap,
            "spark.driver.extraClassPath": self._launch.class_path,
            "spark.driver.extraJavaOptions": _java_options(directory),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.local.dir": str(directory / "scratch"),
            "spark.sql.warehouse.dir": (directory / "warehouse").as_uri(),
            "spark.sql.catalogImplementation": "hive",
            "spark.hadoop.hive.metastore.uris": self.metastore_uri,
            "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
            "spark.hadoop.hive.server2.authentication": self.authentication,
            "spark.hadoop.hive.exec.scratchdir": str(directory / "scratch"),
            **self._kerberos(),
            **self._settings,
            "spark.hadoop.hive.server2.thrift.port": str(self._requested_port),
        }
        launch = {name: value for name, value in settings.items() if name.startswith(_LAUNCH) and value}
        others = {name: value for name, value in settings.items() if not name.startswith(_LAUNCH)}
        return LaunchCommand(launch, others, self._storage_options)

    def _kerberos(self) -> dict[str, str]:
        if self.authentication != "KERBEROS":
            return {}
        principal, keytab = (self._settings[name] for name in _KERBEROS)
        return {
            "spark.hadoop.hadoop.security.authentication": "kerberos",
            # Statements run with the server's own login: Spark's session has no tickets of its users.
            "spark.hadoop.hive.server2.enable.doAs": "false",
            "spark.hadoop.hive.server2.authentication.kerberos.principal": principal,
            "spark.hadoop.hive.server2.authentication.kerberos.keytab": keytab,
        }

    def _start(self, java: Java, jars: Path) -> None:
        assert self._directory is not None and self.log_path is not None
        self._launch.report("starting Java")
        environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
        environment |= {
            "JAVA_HOME": str(java.home),
            "SPARK_HOME": str(jars.parent),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "TMPDIR": str(self._directory / "tmp"),
        }
        try:
            with open_private(self.log_path) as log:
                # A session of its own: Ctrl-C in the terminal is for us, we stop the server when we are done.
                self._process = subprocess.Popen(
                    # The folder that it works in is not searched for modules.
                    [sys.executable, "-P", "-c", _MAIN, str(os.getpid())],
                    cwd=self._directory,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as error:
            raise SparkError(
                f"cannot start the Thrift server: {error.strerror}", path=str(error.filename or self._directory)
            ) from error
        self._owner = os.getpid()
        _running.add(self)
        assert self._process.stdin is not None
        # One that is gone already is noticed by what it says.
        with suppress(OSError):
            self._process.stdin.write(self._launch_command(self._directory).to_line())
            self._process.stdin.flush()
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        self._port = wait_for_port(
            self._process, self._launch.timeout, progress=self._launch.report, failure=self.failure
        )
        self._launch.report("ready")

    def _log_tail(self) -> str:
        assert self.log_path is not None
        with suppress(OSError):
            return self.log_path.read_text(encoding="utf-8", errors="replace")[-200_000:]
        return ""

    def _port_was_taken(self) -> bool:
        return "Address already in use" in self._log_tail()

    def _port_in_use(self) -> SparkError:
        return SparkError(
            f"port {self._requested_port} on 127.0.0.1 is in use", remedy="choose another port, or 0 for a free one"
        )

    def failure(self, what: str) -> SparkError:
        """An error about the server with the last one of its log."""
        if self._requested_port and self._port_was_taken():
            return self._port_in_use()
        causes = [line for line in self._log_tail().splitlines() if line.startswith(("Caused by: ", "Error: "))]
        return SparkError(
            f"the Thrift server {what}" + (f" ({causes[-1].strip()[:300]})" if causes else ""),
            path=str(self.log_path),
            remedy="see its log" if self._temporary is None else "give it a directory to keep its log",
        )

    def stop(self) -> None:
        """Stop the server and wait until it has ended; does nothing if it is not running."""
        try:
            self._end_process()
        finally:
            self._remove_directory()

    def _end_process(self) -> None:
        process, self._process, self._port = self._process, None, None
        _running.discard(self)
        if process is None or os.getpid() != self._owner:
            return  # A forked child must not stop its parent's server.
        try:
            end_process(process)
        finally:
            if process.stdout is not None and process.poll() is not None:
                process.stdout.close()

    def _remove_directory(self) -> None:
        temporary, self._temporary = self._temporary, None
        if temporary is not None:
            temporary()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _java_options(directory: Path) -> str:
    """Java's own options: log and scratch files in the server's folder. Spark splits the text as a shell would."""
    options = {
        "java.io.tmpdir": str(directory / "tmp"),
        "log4j2.configurationFile": (directory / "log4j2.properties").as_uri(),
        "java.net.preferIPv4Stack": "true",
        "java.awt.headless": "true",
        "file.encoding": "UTF-8",
    }
    # Java looks into /etc alone by itself.
    if configuration := os.environ.get("KRB5_CONFIG"):
        options["java.security.krb5.conf"] = configuration.partition(":")[0]
    # One that has no memory left is better gone than half alive.
    return " ".join(["-XX:+ExitOnOutOfMemoryError", *(shlex.quote(f"-D{key}={text}") for key, text in options.items())])


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: what is left of closed connections is in nobody's way.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


def _check_metastore(addresses: Sequence[Address]) -> None:
    for address in addresses:
        with suppress(OSError), socket.create_connection((address.host, address.port), _METASTORE_SECONDS):
            return
    raise MetastoreConnectError(
        "nobody listens at the metastore's address",
        path=",".join(map(str, addresses)),
        remedy="start the metastore first",
    )


def _remove(directory: Path, owner: int) -> None:
    """Remove a temporary folder, but never from a process that was forked off."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


def _stop_all() -> None:
    for server in list(_running):
        server.stop()


atexit.register(_stop_all)
