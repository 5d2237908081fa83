"""Azure's blob storage on this machine: azurite, of npm, in a Node process."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from email.utils import formatdate
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlencode

import pytest

from integration.support.metastores import cache_folder, locked
from integration.support.stores.server_process import ServerProcess, accepts, free_port

VERSION: Final = "3.37.0"
ACCOUNT: Final = "hudihivetests"
KEY: Final = base64.b64encode(b"key of the tests, which is not that of any account at all: 64 b.").decode()
CONTAINER: Final = "lake"

_SAS_VERSION: Final = "2019-12-12"
_MAIN: Final = "node_modules/azurite/dist/src/blob/main.js"


def azurite() -> tuple[str, Path]:
    """Node, and azurite's main module; npm fetches that once into the cache. Skips the test where it cannot be had."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("azurite, Azure's emulator, needs Node and npm, which are not on this machine")
    home = cache_folder() / f"azurite-{VERSION}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with locked(home.with_name(f"{home.name}.lock")):
        if not home.exists():
            fresh = Path(tempfile.mkdtemp(dir=home.parent, prefix=f"{home.name}-"))
            (fresh / "package.json").write_text(json.dumps({"private": True, "dependencies": {"azurite": VERSION}}))
            quiet = ("--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
            done = subprocess.run(
                [npm, "install", *quiet],
                cwd=fresh,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0 or not (fresh / _MAIN).exists():
                shutil.rmtree(fresh, ignore_errors=True)
                pytest.skip(f"npm does not get azurite {VERSION}: {(done.stdout + done.stderr)[-300:].strip()}")
            os.replace(fresh, home)
    return node, home / _MAIN


class AzureServer:
    """A running azurite with one container; a context manager that stops it.

    Attributes:
        port: its port on 127.0.0.1.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._process: ServerProcess | None = None
        self.port = 0

    def __enter__(self) -> Self:
        node, main = azurite()
        self.port = free_port()
        self._process = ServerProcess("azurite")
        accounts = f"AZURITE_ACCOUNTS={ACCOUNT}:{KEY}"
        where = ("--blobHost", "127.0.0.1", "--blobPort", str(self.port))
        # The version of the service that the client names is newer than the emulator.
        how = ("--silent", "--skipApiVersionCheck", "--disableTelemetry", "--inMemoryPersistence")
        self._process.start(["env", accounts, node, main, *where, *how], lambda: accepts(self.port))
        self._make_container()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.stop()

    def _make_container(self) -> None:
        """The one request that the store never sends: signed as Azure's documentation says (Shared Key)."""
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02", "Content-Length": "0"}
        names = "".join(f"{name}:{headers[name]}\n" for name in ("x-ms-date", "x-ms-version"))
        resource = f"/{ACCOUNT}/{ACCOUNT}/{CONTAINER}\nrestype:container"
        signed = "PUT" + "\n" * 12 + names + resource
        signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), signed.encode(), hashlib.sha256)).decode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        authorization = {"Authorization": f"SharedKey {ACCOUNT}:{signature}"}
        connection.request("PUT", f"/{ACCOUNT}/{CONTAINER}?restype=container", headers={**headers, **authorization})
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        connection.close()
        if answer.status != 201:
            raise RuntimeError(f"azurite makes no container: {answer.status} {text[:300]}")

    @property
    def endpoint(self) -> str:
        """URL of the account."""
        return f"http://127.0.0.1:{self.port}/{ACCOUNT}"

    def options(self) -> dict[str, str]:
        """Storage options of the server."""
        return {"endpoint": self.endpoint, "account_name": ACCOUNT, "account_key": KEY}

    def shared_access_signature(self, permissions: str = "rwdlac", *, lasts_s: float = 3600.0) -> str:
        """A signature of the account, as Azure's documentation has it ("Create an account SAS").

        Args:
            permissions: ``r`` read, ``l`` list, ``w`` write, ``c`` create, ``a`` add, ``d`` delete.
            lasts_s: seconds until it expires; negative for one that has.
        """
        expiry = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + lasts_s))
        fields = {"sp": permissions, "ss": "b", "srt": "sco", "st": "", "se": expiry, "sip": "", "spr": "https,http"}
        signed = "".join(f"{text}\n" for text in (ACCOUNT, *fields.values(), _SAS_VERSION))
        signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), signed.encode(), hashlib.sha256)).decode()
        given = {name: text for name, text in fields.items() if text}
        return urlencode({"sv": _SAS_VERSION, **given, "sig": signature})

    def hadoop(self) -> dict[str, str]:
        """Properties of Hadoop's ABFS connector; an endpoint is not among them."""
        return {f"fs.azure.account.key.{ACCOUNT}.dfs.core.windows.net": KEY}

    def folder(self, scheme: str = "abfs") -> str:
        """URI of a folder that nobody has used.

        Args:
            scheme: ``abfs`` and its like name the account, ``az`` the container alone.
        """
        host = "" if scheme == "az" else f"@{ACCOUNT}.dfs.core.windows.net"
        return f"{scheme}://{CONTAINER}{host}/f{next(self._numbers)}"
