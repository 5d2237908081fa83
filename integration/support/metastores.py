"""Real Hive metastores of other versions than the embedded one, from Maven Central, on Derby or another database.

The first start on a machine downloads the release (its official archive and what that leaves out, all pinned by
SHA-256) into a cache folder and lets Hive's own tool make the database there; later starts copy that database.
Everything needs Java 17 and plain HTTPS only; jars of a local Maven repository are taken where they are.

``HUDI_HIVE_CACHE`` names another cache folder than ``~/.cache/hudi_hive``, ``HUDI_HIVE_MAVEN`` another repository.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.error import HTTPError
from xml.sax.saxutils import escape

from hudi_hive.metastore import find_java

_START_SECONDS = 300.0
_CLASS = "org.apache.hadoop.hive.metastore."
_OPENS = tuple(
    argument
    for package in ("java.net", "java.lang", "java.util", "java.util.regex", "java.nio", "java.util.concurrent")
    for argument in ("--add-opens", f"java.base/{package}=ALL-UNNAMED")
)
_SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_PAUSES = (0.5, 2.0, 5.0)
_PART = ".part-"
_STALE_SECONDS = 3600.0
_failed: dict[str, str] = {}
_UNPACKED = ("lib/", "scripts/metastore/upgrade/derby/")
_LOG4J = """status=error
appender.c.type=Console
appender.c.name=c
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=%d %p %c{1}: %m%n
rootLogger.level=warn
rootLogger.appenderRef.c.ref=c
"""


@dataclass(frozen=True)
class Artifact:
    """A file of a Maven repository."""

    group: str
    name: str
    version: str
    sha256: str
    ending: str = ".jar"

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}{self.ending}"

    @property
    def path(self) -> str:
        """Path below the root of any Maven repository."""
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{self.file_name}"


def _jars(*lines: str) -> tuple[Artifact, ...]:
    return tuple(Artifact(*line.split()) for line in lines)


# What the archives leave out.
_EXTRAS = _jars(
    "org.apache.hadoop hadoop-client-api 3.3.6 f3d2347a6e1c6885d5bcfd4f60c3ac3810ec11068fc161e04329baabf412d963",
    "org.apache.hadoop hadoop-client-runtime 3.3.6 15f01bc804294df06d2effc87de363a83cf589f50558bdbf48f72541ad8de854",
    "commons-cli commons-cli 1.4 fd3c7c9545a9cdb2051d1f9155c4f76b1e4ac5a57304404a6eedb578ffba7328",
    "commons-collections commons-collections 3.2.2 eeeae917917144a68a741d4c0dff66aa5c5c5fd85593ff217bced3fc8ca783b8",
    "commons-io commons-io 2.11.0 961b2f6d87dbacc5d54abf45ab7a6e2495f89b75598962d8c723cea9bc210908",
    "commons-lang commons-lang 2.6 50f11b09f877c294d56f24463f47d28f929cf5044f648661c0f0cfbae9a2f49c",
    "commons-logging commons-logging 1.1.3 70903f6fc82e9908c8da9f20443f61d90f0870a312642991fe8462a0b9391784",
    "javax.servlet javax.servlet-api 3.1.0 af456b2dd41c4e82cf54f3e743bc678973d9fe35bd4d3071fa05c7e5333b8482",
    "org.slf4j slf4j-api 1.7.36 d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0",
)


@dataclass(frozen=True)
class Release:
    """One release of the standalone metastore."""

    version: str
    archive: Artifact
    schema_tool: str
    extras: tuple[Artifact, ...] = field(default=_EXTRAS)


RELEASES: Mapping[str, Release] = {
    "3.1.3": Release(
        "3.1.3",
        Artifact(
            "org.apache.hive",
            "hive-standalone-metastore",
            "3.1.3",
            "83ddf76717eeb789091d845c069a631c25cad561c3d31ec0843a1ddf21f29409",
            "-bin.tar.gz",
        ),
        f"{_CLASS}tools.MetastoreSchemaTool",
    ),
    "4.0.1": Release(
        "4.0.1",
        Artifact(
            "org.apache.hive",
            "hive-standalone-metastore-server",
            "4.0.1",
            "ed96f577df0a4dc800648a7f941d832f42409f89fa4af10c9d7540c8a1f8e24b",
            "-bin.tar.gz",
        ),
        f"{_CLASS}tools.schematool.MetastoreSchemaTool",
        # Creating a table loads a class of HDFS, starting loads those of the other two.
        _EXTRAS
        + _jars(
            "org.apache.hadoop hadoop-hdfs 3.3.6 075fc48fd4ae299a58a9f26fb529671854689b215483b595fed4a56d77cb4c4d",
            "org.apache.httpcomponents httpclient 4.5.13"
            " 6fe9026a566c6a5001608cf3fc32196641f6c1e5e1986d1037ccdbd5f31ef743",
            "com.google.code.gson gson 2.9.0 c96d60551331a196dac54b745aa642cd078ef89b6f267146b705f2c2cbef052d",
        ),
    ),
}


@dataclass(frozen=True)
class Store:
    """A database in a database server, made for one metastore.

    Attributes:
        server: what kind of server it is.
        name: the database.
        properties: the metastore's properties that lead to it.
        driver: of JDBC.
    """

    server: str
    name: str
    properties: Mapping[str, str]
    driver: Artifact


HIVE_EXEC: Mapping[str, Artifact] = {
    artifact.version: artifact
    for artifact in _jars(
        "org.apache.hive hive-exec 3.1.3 de86f70a73d05070c01f902ed1293b5dfbc4c0fb4d2232d9e218dc7d13ff8d6a",
        "org.apache.hive hive-exec 4.0.1 dd5e22aed78a7e62d8351e314fb438d90219f5c10014391448d30878c3ed3b03",
    )
}
"""Hive itself, by version: a metastore without it makes no ACID tables, because it loads their input format."""


QUICK_RETRIES: Final = {"metastore.hmshandler.retry.interval": "1ms"}
"""Of a metastore that does not wait for two seconds before it tries again what the database refused."""

_QUICK: Final = {"system.durability": "test", "language.statementCache.size": 1000, "optimizer.noTimeout": "true"}
QUICK_DERBY: Final = "".join(f"derby.{key}={value}\n" for key, value in _QUICK.items())
"""``derby.properties`` of a database for a test: it waits for no disk, and its plans depend on no clock."""

TRANSACTIONS: Final = {
    "hive.support.concurrency": "true",
    "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
    "metastore.txn.timeout": "240s",  # not the default, so that clients are seen to use what the metastore says
    **QUICK_RETRIES,
}
"""Of a metastore that keeps transactions, and ends none of them while a test runs."""


def dying(timeout_s: int, interval_s: int = 1) -> dict[str, str]:
    """Of one that ends transactions without a beat for so many seconds, and looks for them that often."""
    return {
        **TRANSACTIONS,
        "metastore.txn.timeout": f"{timeout_s}s",
        # What ends dead transactions: in 3.1 it runs only beside the compactor's initiator, in 4.0 only if allowed.
        "metastore.compactor.initiator.on": "true",
        "metastore.timedout.txn.reaper.start": "1s",
        "metastore.timedout.txn.reaper.interval": f"{interval_s}s",
        "metastore.housekeeping.threads.on": "true",
        "metastore.acid.housekeeper.interval": f"{interval_s}s",
        # What forgets aborted transactions: in 3.1 the initiator, in 4.0 a cleaner of its own.
        "hive.compactor.check.interval": f"{interval_s}s",
        "metastore.acid.txn.cleaner.interval": f"{interval_s}s",
    }


class ReleasedMetastore:
    """A Hive metastore of a given release; from 4.0 on it listens on the loopback address only.

    Args:
        version: a key of ``RELEASES``.
        directory: its own folder, made when missing: database, warehouse, configuration, log.
        heap: largest heap of the Java process.
        properties: metastore properties on top of its own.
        jars: more for its class path.
        java_options: of the Java machine.
        store: the database that it keeps everything in; None for Derby in its folder.

    However this process ends, the Java process ends too: a shell between the two waits for the end of a pipe.
    """

    def __init__(
        self,
        version: str,
        directory: str | os.PathLike[str],
        *,
        heap: str = "512m",
        properties: Mapping[str, str] | None = None,
        jars: Sequence[Artifact] = (),
        java_options: Sequence[str] = (),
        store: Store | None = None,
    ) -> None:
        self._jars = tuple(jars)
        self._java_options = tuple(java_options)
        self.store = store
        self.release = RELEASES[version]
        self.directory = Path(directory).absolute()
        self._heap = heap
        self._properties = dict(properties or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def uri(self) -> str:
        """``thrift://127.0.0.1:PORT``."""
        return f"thrift://127.0.0.1:{self._port}"

    @property
    def database(self) -> str:
        """What it keeps everything in: ``derby``, ``postgres`` or ``mariadb``."""
        return self.store.server if self.store is not None else "derby"

    @property
    def warehouse(self) -> Path:
        """Folder where databases without a location of their own put their tables."""
        return self.directory / "warehouse"

    @property
    def log_path(self) -> Path:
        """The server's log."""
        return self.directory / "metastore.log"

    def start(self) -> Self:
        """Start it and wait until its port is open.

        Raises:
            RuntimeError: it did not come up; the end of its log is quoted.
        """
        home = prepare(self.release)
        self.warehouse.mkdir(parents=True, exist_ok=True)
        database = self.directory / "derby"
        if self.store is None and not database.exists():
            shutil.copytree(home / "derby", database)
        self._port = _free_port()
        properties = {
            "metastore.warehouse.dir": f"file:{self.warehouse}",
            "metastore.warehouse.external.dir": f"file:{self.warehouse}",
            "metastore.thrift.bind.host": "127.0.0.1",
            "metastore.metrics.enabled": "false",
        }
        if self.store is not None:
            properties |= self.store.properties
        _write_configuration(self.directory, database, properties | self._properties)
        settings = QUICK_DERBY
        if self._jars:  # Hive's own threads in it, of compaction, read only this file
            shutil.copyfile(self.directory / "metastore-site.xml", self.directory / "hive-site.xml")
            # Metastore 4.0 now and then keeps a commit and a client that polls for its lock waiting for one another,
            # one for Derby, the other for the Java lock of the first, which tries eleven times before it gives up.
            settings += "derby.locks.waitTimeout=1\nderby.locks.deadlockTimeout=1\n"
        (self.directory / "derby.properties").write_text(settings)
        jars = [fetch(jar) for jar in (*self._jars, *([self.store.driver] if self.store else []))]
        arguments = (f"-Xmx{self._heap}", *self._java_options, _CLASS + "HiveMetaStore", "-p", str(self._port))
        java = _java(home, self.directory, *arguments, jars=jars)
        # The shell leaves when its input ends (we are gone or stop) and takes the server with it.
        script = '"$@" </dev/null & child=$!; { read -r _ <&3; kill "$child"; } & wait "$child"; kill $! 2>/dev/null'
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", f"exec 3<&0; {script}", "sh", *java],
                cwd=self.directory,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def _wait(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _START_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                return
            time.sleep(0.1)
        log = self.log_path.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"metastore {self.release.version} did not start: {log}")

    def stop(self) -> None:
        """Stop it and wait until it is gone; does nothing when it does not run."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


# -- the release on this machine -----------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Where downloads are kept."""
    return Path(os.environ.get("HUDI_HIVE_CACHE") or Path.home() / ".cache" / "hudi_hive")


def prepare(release: Release) -> Path:
    """The folder with a release's jars (``lib``) and its empty database (``derby``); made when missing.

    Raises:
        RuntimeError: a download failed, or Hive's own tool could not make the database.
    """
    pins = "".join(artifact.sha256 for artifact in (release.archive, *release.extras))
    home = cache_folder() / f"metastore-{release.version}-{hashlib.sha256(pins.encode()).hexdigest()[:8]}"
    with locked(home.with_name(f"{home.name}.lock")):
        if not home.exists():
            for left in home.parent.glob(f"{home.name}-*"):  # of processes that were killed
                shutil.rmtree(left, ignore_errors=True)
            fresh = Path(tempfile.mkdtemp(dir=home.parent, prefix=f"{home.name}-"))
            try:
                _unpack(release, fresh)
                _make_database(release, fresh)
                os.replace(fresh, home)
            except BaseException:
                shutil.rmtree(fresh, ignore_errors=True)
                raise
    return home


def _unpack(release: Release, home: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        archive, *jars = threads.map(fetch, (release.archive, *release.extras))
    with tarfile.open(archive) as packed:
        for member in packed:
            _, _, inside = member.name.partition("/")
            if member.isfile() and inside.startswith(_UNPACKED):
                member.name = inside
                packed.extract(member, home)  # names below lib/ and scripts/, no links
    for jar in jars:
        shutil.copyfile(jar, home / "lib" / jar.name)


def _make_database(release: Release, home: Path) -> None:
    _write_configuration(home, home / "derby", {})
    run = subprocess.run(
        _java(home, home, "-Xmx512m", release.schema_tool, "-dbType", "derby", "-initSchema"),
        cwd=home,
        env={**os.environ, "METASTORE_HOME": str(home), "METASTORE_CONF_DIR": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if run.returncode != 0:
        raise RuntimeError(
            f"cannot make the database of metastore {release.version}: {(run.stdout + run.stderr)[-2000:]}"
        )


def _java(home: Path, configuration: Path, *arguments: str, jars: Sequence[Path] = ()) -> list[str]:
    classes = os.pathsep.join((str(configuration), f"{home}/lib/*", *map(str, jars)))
    return [str(find_java().executable), *_SHORT_LIVED, *_OPENS, "-cp", classes, *arguments]


def _write_configuration(folder: Path, database: Path, properties: Mapping[str, str]) -> None:
    own = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={database};create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        # The defaults of these two name classes that only hive-exec has.
        "metastore.task.threads.always": f"{_CLASS}events.EventCleanerTask",
        **QUICK_RETRIES,
        "metastore.expression.proxy": f"{_CLASS}DefaultPartitionExpressionProxy",
    }
    write_properties(folder / "metastore-site.xml", own | dict(properties))
    (folder / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write a configuration file of Hadoop or Hive."""
    lines = (
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
        for name, value in properties.items()
    )
    path.write_text("\n".join(("<configuration>", *lines, "</configuration>", "")), encoding="utf-8")


def fetch(artifact: Artifact) -> Path:
    """A pinned file on this machine: from the cache, a local Maven repository, or the network.

    A download that breaks off or is not the pinned file is tried again. A repository that was asked in vain is not
    asked again by this process.

    Raises:
        RuntimeError: the download failed for good.
    """
    kept = cache_folder() / "maven" / artifact.path
    local = Path.home() / ".m2" / "repository" / artifact.path
    for path in (kept, local):
        if path.exists() and _sha256(path) == artifact.sha256:
            return path
    repository = os.environ.get("HUDI_HIVE_MAVEN", "https://repo.maven.apache.org/maven2").rstrip("/")
    reason = _failed.get(repository)
    for seconds in () if reason else (*_PAUSES, None):
        try:
            _download(f"{repository}/{artifact.path}", artifact, kept)
            return kept
        except (OSError, HTTPException) as error:
            reason = str(error) or type(error).__name__
            # What the repository does not have it will not have a moment later.
            if isinstance(error, HTTPError) and error.code in (401, 403, 404, 407):
                break
            if seconds is None:
                _failed[repository] = reason
            else:
                time.sleep(seconds)
    raise RuntimeError(
        f"cannot download {artifact.path} from {repository}: {reason}; it is needed once and kept in {cache_folder()} "
        "(HUDI_HIVE_CACHE names another folder, HUDI_HIVE_MAVEN another repository)"
    )


def _download(url: str, artifact: Artifact, target_path: Path) -> None:
    target_path.parent.mkdir(parents=True, exist_ok=True)
    for left in target_path.parent.glob(f"{_PART}*"):  # of processes that were killed
        with suppress(FileNotFoundError):
            if left.stat().st_mtime < time.time() - _STALE_SECONDS:
                left.unlink()
    descriptor, fresh = tempfile.mkstemp(dir=target_path.parent, prefix=_PART)
    try:
        with os.fdopen(descriptor, "wb") as target, urllib.request.urlopen(url, timeout=60) as source:
            shutil.copyfileobj(source, target, 1 << 20)
        if _sha256(Path(fresh)) != artifact.sha256:
            raise OSError(f"what came ({os.path.getsize(fresh):,} bytes) is not the pinned file")
        os.replace(fresh, target_path)
    except BaseException:
        os.unlink(fresh)
        raise


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock of all processes by a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
