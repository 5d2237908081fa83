"""An LDAP server of UnboundID's SDK on loopback, with its entries in memory."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

from hudi_hive.metastore import find_java
from integration.support.metastores import Artifact, fetch
from integration.support.stores.server_process import ServerProcess, accepts, free_port

_SDK: Final = Artifact(
    "com.unboundid", "unboundid-ldapsdk", "7.0.3", "7f1b9141f2c955d3a03b3f5da2c450bd616826e921a87fc19264a3f22b35e2fb"
)
_BASE: Final = "dc=test,dc=local"
_PEOPLE: Final = f"ou=people,{_BASE}"


class LdapServer:
    """A directory of people with passwords; a context manager.

    Args:
        people: password by user.
    """

    def __init__(self, people: Mapping[str, str]) -> None:
        self._people = dict(people)
        self._process = ServerProcess("ldap")
        self._port = free_port()

    @property
    def properties(self) -> dict[str, str]:
        """Properties by which HiveServer2 and Spark's server ask it."""
        prefix = "hive.server2.authentication.ldap."
        return {f"{prefix}url": f"ldap://127.0.0.1:{self._port}", f"{prefix}baseDN": _PEOPLE}

    def __enter__(self) -> Self:
        entries = [
            f"dn: {_BASE}\nobjectClass: domain\ndc: test\n",
            f"dn: {_PEOPLE}\nobjectClass: organizationalUnit\nou: people\n",
            *(
                f"dn: uid={user},{_PEOPLE}\nobjectClass: inetOrgPerson\nuid: {user}\ncn: {user}\nsn: {user}\n"
                f"userPassword: {password}\n"
                for user, password in self._people.items()
            ),
        ]
        entries_file = self._process.folder / "people.ldif"
        entries_file.write_text("\n".join(entries), encoding="utf-8")
        tool = "com.unboundid.ldap.listener.InMemoryDirectoryServerTool"
        java = [find_java().executable, "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", fetch(_SDK)]
        options = ["--port", str(self._port), "--baseDN", _BASE, "--ldifFile", entries_file]
        self._process.start([*java, tool, *options], lambda: accepts(self._port))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.stop()
