"""PostgreSQL of Debian's package, on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final, Self

from integration.support.metastores import Artifact
from integration.support.stores.database import USER, DatabaseServer
from integration.support.stores.debian import need_program
from integration.support.stores.server_process import ServerProcess, free_port

_SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "150",
    "logging_collector": "off",
}
_SHORT_LIVED: Final = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "48MB",
    "jit": "off",
}


class PostgresServer(DatabaseServer):
    """A PostgreSQL server, which runs as the package's user ``postgres`` where we are root.

    Args:
        lasting: keep the package's own settings, with which it waits for the disk; otherwise those of a short test.
    """

    name = "postgres"
    dialect = "postgres"
    driver: ClassVar[Artifact] = Artifact(
        "org.postgresql",
        "postgresql",
        "42.7.4",
        "188976721ead8e8627eb6d8389d500dccc0c9bebd885268a3047180274a6031e",
    )
    driver_class = "org.postgresql.Driver"

    def __init__(self, *, lasting: bool = False) -> None:
        self._more = {} if lasting else _SHORT_LIVED
        self._programs = need_program(["/usr/lib/postgresql/*/bin/postgres"], ["postgresql"]).parent
        super().__init__(ServerProcess(self.name, user="postgres", end_signal="INT"))

    def start(self) -> Self:
        folder = self._process.folder
        self._process.run(
            self._programs / "initdb",
            *("--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "-U", USER, "-D", folder / "data"),
            *("--locale-provider=icu", "--icu-locale=en-US"),  # the order of texts that most servers have
        )
        self.port = free_port()
        settings = _SETTINGS | self._more | {"port": str(self.port), "unix_socket_directories": str(folder)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self._process.start([self._programs / "postgres", "-D", folder / "data", *options], self._is_ready)
        return self

    def _is_ready(self) -> bool:
        try:
            return self.query("SELECT 1") == [["1"]]
        except RuntimeError:
            return False

    def query(self, statement: str, database: str | None = None) -> list[list[str]]:
        out = self._psql(database or "postgres", "-A", "-t", "-F", "\t", text=statement)
        return [line.split("\t") for line in out.splitlines() if line]

    def _psql(self, database: str, *words: str | Path, text: str = "") -> str:
        program = self._programs / "psql"
        where = ("-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", self._process.folder, "-p", str(self.port), "-U", USER)
        return self._process.run(program, *where, "-d", database, *words, text=text)

    def end_connections(self, database: str) -> int:
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
        return len(self.query(f"{ended}'{database}' AND pid <> pg_backend_pid()"))

    def _create(self, database: str) -> None:
        self.query(f"CREATE DATABASE {database}")

    def _load(self, database: str, script: Path) -> None:
        self._psql(database, "-o", "/dev/null", text=script.read_text())

    def _url(self, database: str) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{database}"
