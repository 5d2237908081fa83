"""A realm of Kerberos for tests: Debian's KDC on the loopback address, with all of its files in one folder.

Where Debian's packages are missing they are installed with ``apt-get`` when this process may do so (on CI it is root on
Debian); elsewhere ``why_not`` has the reason for which tests are left out.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from integration.support.metastores import Artifact, ReleasedMetastore, write_properties
from integration.support.stores.debian import NotInstalledError, installed_program

REALM: Final = "TEST.LOCAL"
SERVICE: Final = f"hive/localhost@{REALM}"
"""Principal of servers in the realm."""

# Of delegation tokens, which the archive of 3.1.3 leaves out.
_CODEC: Final = (
    Artifact(
        "commons-codec", "commons-codec", "1.15", "b3e9f6d63a790109bf0d056611fbed1cf69055826defeb9894a71369d246ed63"
    ),
)
_PACKAGES: Final = ("krb5-kdc", "krb5-admin-server", "krb5-user", "libkrb5-dev")
_PROGRAMS: Final = ("krb5kdc", "kadmin.local", "kdb5_util", "kinit", "kdestroy")
_START_SECONDS: Final = 120.0
_CLIENT: Final = """[libdefaults]
    default_realm = {realm}
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
    permitted_enctypes = aes256-cts-hmac-sha1-96
    clockskew = {clock_skew_s}
[realms]
    {realm} = {{
        kdc = 127.0.0.1:{port}
    }}
[domain_realm]
    localhost = {realm}
"""
_SERVER: Final = """[kdcdefaults]
    kdc_listen = ""
    kdc_tcp_listen = 127.0.0.1:{port}
[realms]
    {realm} = {{
        database_name = {folder}/principal
        key_stash_file = {folder}/stash
        max_life = 10h
        max_renewable_life = 7d
        supported_enctypes = aes256-cts-hmac-sha1-96:normal
    }}
[logging]
    kdc = FILE:{folder}/kdc.log
    admin_server = FILE:{folder}/kadmin.log
    default = FILE:{folder}/default.log
"""


@cache
def why_not() -> str | None:
    """Why no realm can be started on this machine; None when one can."""
    if importlib.util.find_spec("gssapi") is None:
        return "the package gssapi is not installed (tools/bootstrap.sh builds it where libkrb5-dev is)"
    for name in _PROGRAMS:
        if _program(name) is None:
            try:
                installed_program([f"/usr/{folder}/{name}" for folder in ("sbin", "bin")], _PACKAGES)
            except NotInstalledError as error:
                return str(error)
    return None


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


class KerberosRealm:
    """A realm with its KDC, which runs between ``start`` and ``stop``; a context manager.

    However this process ends, the KDC ends too: a shell between the two waits for the end of a pipe.

    Args:
        directory: its own folder: database, configuration, logs, keytabs.
        clock_skew_s: by so many seconds clocks may differ; so long is an expired ticket taken by a server.
    """

    def __init__(self, directory: str | os.PathLike[str], *, clock_skew_s: int = 300) -> None:
        self.directory = Path(directory).absolute()
        self._clock_skew_s = clock_skew_s
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def configuration(self) -> Path:
        """The ``krb5.conf`` of clients and servers of the realm."""
        return self.directory / "krb5.conf"

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which programs find the realm."""
        return {"KRB5_CONFIG": str(self.configuration), "KRB5_KDC_PROFILE": str(self.directory / "kdc.conf")}

    @property
    def java_options(self) -> tuple[str, ...]:
        """Options with which Java programs find the realm."""
        return (f"-Djava.security.krb5.conf={self.configuration}",)

    @property
    def log(self) -> str:
        """What the KDC did: a line for each ticket."""
        return (self.directory / "kdc.log").read_text(errors="replace")

    def start(self) -> Self:
        """Make the database when there is none, start the KDC, and wait until its port is open.

        Raises:
            RuntimeError: it did not come up.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        if not self._port:
            with socket.create_server(("127.0.0.1", 0)) as free:
                self._port = int(free.getsockname()[1])
        fields = {
            "realm": REALM,
            "port": self._port,
            "folder": self.directory,
            "clock_skew_s": self._clock_skew_s,
        }
        self.configuration.write_text(_CLIENT.format(**fields))
        (self.directory / "kdc.conf").write_text(_SERVER.format(**fields))
        if not (self.directory / "principal").exists():
            self.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "of a test")
        command = (_program("krb5kdc") or "krb5kdc", "-n", "-r", REALM)
        script = '"$@" </dev/null & child=$!; { read -r _ <&3; kill "$child"; } & wait "$child"; kill $! 2>/dev/null'
        with (self.directory / "output.log").open("ab") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", f"exec 3<&0; {script}", "sh", *command],
                env={**os.environ, **self.environment},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                return self
            time.sleep(0.05)
        self.stop()
        raise RuntimeError(f"the KDC did not start: {(self.directory / 'output.log').read_text()[-2000:]}")

    def stop(self) -> None:
        """Stop the KDC and wait until it is gone; does nothing when it does not run."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        process.wait(60)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def add(self, *principals: str, life_s: int | None = None) -> Path:
        """Add principals, and make one keytab with the keys of all of them.

        Args:
            principals: names, with or without the realm.
            life_s: tickets live for so many seconds at most; None for ten hours.
        """
        names = [name.partition("@")[0] for name in principals]
        keytab = self.keytab(*names)
        life = "" if life_s is None else f'-maxlife "{life_s} seconds"'
        orders = [f"addprinc -randkey {life} {name}" for name in names]
        orders += [f"ktadd -k {keytab} {name}" for name in names]
        self.administrate(*orders)
        return keytab

    def keytab(self, *names: str) -> Path:
        """The keytab that ``add`` made for these principals."""
        return self.directory / f"{'-'.join(names).replace('/', '_')}.keytab"

    def administrate(self, *orders: str) -> None:
        """Give orders to ``kadmin.local``."""
        self.run("kadmin.local", "-r", REALM, text="\n".join(orders) + "\n")

    def log_in(self, principal: str, keytab: Path, cache_file: Path) -> None:
        """Get a ticket into a ticket cache, as ``kinit`` does."""
        self.run("kinit", "-k", "-t", str(keytab), "-c", f"FILE:{cache_file}", principal)

    def run(self, program: str, *arguments: str, text: str = "", extra: Mapping[str, str] | None = None) -> str:
        """The output of one of Kerberos's programs.

        Raises:
            RuntimeError: it failed.
        """
        run = subprocess.run(
            [_program(program) or program, *arguments],
            env={**os.environ, **self.environment, **(extra or {})},
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0 or "while" in run.stderr.replace("existing while", ""):
            raise RuntimeError(f"{program} failed: {run.stdout[-1000:]}{run.stderr[-1000:]}")
        return run.stdout


def kerberized(
    version: str,
    directory: Path,
    realm: KerberosRealm,
    *,
    properties: Mapping[str, str] | None = None,
    hadoop: Mapping[str, str] | None = None,
) -> ReleasedMetastore:
    """A metastore whose clients log in by Kerberos or by a delegation token; not started yet.

    Args:
        version: a key of ``metastores.RELEASES``.
        directory: its own folder.
        realm: runs already.
        properties: metastore properties on top of its own.
        hadoop: properties of its ``core-site.xml``.
    """
    keytab = realm.keytab(SERVICE.partition("@")[0])
    if not keytab.exists():
        realm.add(SERVICE)
    directory.mkdir(parents=True, exist_ok=True)
    write_properties(directory / "core-site.xml", {"hadoop.security.authentication": "kerberos", **(hadoop or {})})
    login = {"sasl.enabled": "true", "kerberos.principal": SERVICE, "kerberos.keytab.file": str(keytab)}
    own = {f"{prefix}{name}": value for prefix in ("hive.metastore.", "metastore.") for name, value in login.items()}
    return ReleasedMetastore(
        version,
        directory,
        properties={**own, **(properties or {})},
        jars=_CODEC if version == "3.1.3" else (),
        java_options=realm.java_options,
    )
