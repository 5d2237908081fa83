"""The files in an embedded metastore's folder, and the configuration of its Java process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from hudi_hive.errors import MetastoreError
from hudi_hive.metastore.embedded.private_files import make_private_folder, write_private

CONFIGURATION = "conf"
WAREHOUSE = "warehouse"
DATABASE = "metastore_db"
LOG = "metastore.log"
CONSOLE = "console.log"

_LOG_LIMIT = 4 << 20
_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/sun.nio.ch",
)

JAVA_OPTIONS = (
    # A short life on few cores: the quick compiler and the simplest collector start fastest.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.net.preferIPv4Stack=true",
    "-Djava.awt.headless=true",
    "-Dfile.encoding=UTF-8",
    # Derby ends its search for a plan by the clock, and some plans of a busy machine cast values of other partitions
    # than a filter on typed keys is about: the filter fails, and all partitions are fetched in its place.
    "-Dderby.optimizer.noTimeout=true",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
)


def log_options(directory: Path) -> tuple[str, ...]:
    """Java options that keep all logs inside the folder."""
    return (
        f"-Dlog4j2.configurationFile={(directory / CONFIGURATION / 'log4j2.properties').as_uri()}",
        f"-Dderby.stream.error.file={directory / 'derby.log'}",
        f"-Djava.io.tmpdir={directory / 'tmp'}",
    )


def write(directory: Path, properties: Mapping[str, str]) -> None:
    """Write the configuration and make the folders, readable by their owner alone.

    Args:
        directory: the metastore's folder.
        properties: Hive properties that go before our own.

    Raises:
        MetastoreError: the folder cannot be written.
    """
    ours = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={directory / DATABASE};create=true",
        "hive.metastore.warehouse.dir": (directory / WAREHOUSE).as_uri().replace("file:///", "file:/"),
        "hive.metastore.uris": "",
        "datanucleus.schema.autoCreateAll": "true",
        "datanucleus.connectionPoolingType": "HikariCP",
        "hive.metastore.schema.verification": "false",
        # Hive repeats a call that its database refused ten times, two seconds apart; Derby never changes its mind.
        "hive.hmshandler.retry.attempts": "2",
        "hive.hmshandler.retry.interval": "100ms",
        "hive.metastore.schema.verification.record.version": "true",
        **properties,
    }
    items = "".join(
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in ours.items()
    )
    log = directory / LOG
    try:
        for name in (CONFIGURATION, WAREHOUSE, "tmp"):
            make_private_folder(directory / name)
        write_private(directory / CONFIGURATION / "hive-site.xml", f"<configuration>\n{items}</configuration>\n")
        write_private(directory / CONFIGURATION / "log4j2.properties", _log4j2(log))
        if log.exists() and log.stat().st_size > _LOG_LIMIT:
            log.replace(log.with_suffix(".log.1"))
    except OSError as error:
        raise MetastoreError(
            f"cannot write the embedded metastore's folder: {error.strerror}",
            path=str(directory),
            remedy="choose another folder",
        ) from error


def _log4j2(log: Path) -> str:
    return f"""status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p [%t] %c{{1}}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
"""


def last_error(directory: Path) -> str | None:
    """The last cause that console or log name, in one line, or None."""
    for name in (CONSOLE, LOG):
        try:
            text = (directory / name).read_text(encoding="utf-8", errors="replace")[-200_000:]
        except OSError:
            continue
        errors: list[str] = re.findall(
            r"^(?:Caused by: |ERROR |Error: |Exception in thread \S+ )(.+)$", text, re.MULTILINE
        )
        if errors:
            return errors[-1].strip()[:300]
    return None
