"""MariaDB of Debian's packages, on loopback."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar, Final, Self

from integration.support.metastores import Artifact
from integration.support.stores.database import USER, DatabaseServer
from integration.support.stores.debian import need_program
from integration.support.stores.server_process import ServerProcess, free_port

_PACKAGES: Final = ("mariadb-server-core", "mariadb-client-core")
_SETTINGS: Final = {
    "bind-address": "127.0.0.1",
    "skip-name-resolve": "ON",
    "skip-log-bin": None,
    "max-connections": "150",
    "performance-schema": "OFF",
    "key-buffer-size": "1M",
    "innodb-buffer-pool-size": "64M",
    "innodb-log-file-size": "16M",
    "innodb-flush-log-at-trx-commit": "0",
    "innodb-doublewrite": "OFF",
    "innodb-flush-method": "nosync",
}


class MariaDbServer(DatabaseServer):
    """A MariaDB server, which runs as the system user ``nobody`` where we are root.

    The driver calls itself and the server MySQL, as Hive 3 wants it: to that release MariaDB is an unknown database.
    """

    name = "mariadb"
    dialect = "mysql"
    driver: ClassVar[Artifact] = Artifact(
        "org.mariadb.jdbc",
        "mariadb-java-client",
        "2.7.12",
        "ccf16f38a7bc5bd55e59aa5e3590d74faebb2fb92d111ed5641d5175c4a3624a",
    )
    driver_class = "org.mariadb.jdbc.Driver"

    def __init__(self) -> None:
        self._server = need_program(["/usr/sbin/mariadbd"], _PACKAGES)
        self._client = need_program(["/usr/bin/mariadb"], _PACKAGES)
        super().__init__(ServerProcess(self.name, user="nobody"))

    def start(self) -> Self:
        folder = self._process.folder
        install = need_program(["/usr/bin/mariadb-install-db"], _PACKAGES)
        where = ("--no-defaults", f"--datadir={folder / 'data'}", f"--tmpdir={folder}")
        options = [f"--{name}" if value is None else f"--{name}={value}" for name, value in _SETTINGS.items()]
        self._process.run(
            install, *where, *options, "--auth-root-authentication-method=normal", "--skip-test-db", "--force"
        )
        self.port = free_port()
        files = (f"--socket={folder / 'sock'}", f"--pid-file={folder / 'pid'}", f"--port={self.port}")
        self._process.start([self._server, *where, *options, *files], self._is_ready)
        self.query(f"CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{USER}'")
        return self

    def _is_ready(self) -> bool:
        try:
            return self.query("SELECT 1") == [["1"]]
        except RuntimeError:
            return False

    def query(self, statement: str, database: str | None = None) -> list[list[str]]:
        out = self._mariadb(database or "", text=statement)
        return [line.split("\t") for line in out.splitlines() if line]

    def _mariadb(self, database: str, *words: str, text: str) -> str:
        where = ("--no-defaults", "-u", "root", "--batch", "--skip-column-names", "--default-character-set=utf8mb4")
        place = [f"--socket={self._process.folder / 'sock'}", *filter(None, [database])]
        return self._process.run(self._client, *where, *words, *place, text=text)

    def end_connections(self, database: str) -> int:
        rows = self.query(f"SELECT id FROM information_schema.processlist WHERE db = '{database}'")
        self.query("".join(f"KILL {row[0]};" for row in rows))
        return len(rows)

    def _create(self, database: str) -> None:
        self.query(f"CREATE DATABASE {database}; GRANT ALL ON {database}.* TO {USER}@'127.0.0.1'")

    def _load(self, database: str, script: Path) -> None:
        text = script.read_text()
        # The client reads further scripts itself, from where it runs, which is not the script's folder.
        text = re.sub(r"(?mi)^SOURCE +(\S+?);?$", lambda match: (script.parent / match[1]).read_text(), text)
        self._mariadb(database, text=text)

    def _url(self, database: str) -> str:
        return f"jdbc:mysql://127.0.0.1:{self.port}/{database}?useMysqlMetadata=true"
