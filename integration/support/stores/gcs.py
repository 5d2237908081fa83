"""A GCS server on loopback for tests: Google's XML API on moto, in a process of its own (``gcs_main``)."""

from __future__ import annotations

import http.client
import itertools
import json
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from integration.support.stores.gcs_main import BUCKET, EMAIL, TOKEN
from integration.support.stores.module_server import ModuleServer


class GcsServer:
    """A running server; a context manager that stops it.

    Attributes:
        port: its port on 127.0.0.1.
    """

    def __init__(self) -> None:
        self._server = ModuleServer("integration.support.stores.gcs_main", "GCS")
        self._folder = tempfile.TemporaryDirectory(prefix="gcs_")
        self._numbers = itertools.count(1)
        self.port = 0

    def __enter__(self) -> Self:
        self.port = self._server.start()
        self._make_bucket()
        return self

    def _make_bucket(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("PUT", f"/{BUCKET}", headers={"Authorization": f"Bearer {TOKEN}"})
        status = connection.getresponse().status
        connection.close()
        if status != 200:
            raise RuntimeError(f"the GCS server makes no bucket: {status}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()
        self._folder.cleanup()

    @property
    def endpoint(self) -> str:
        """URL of the server."""
        return f"http://127.0.0.1:{self.port}"

    def options(self) -> dict[str, str]:
        """Storage options of the server."""
        return {"endpoint": self.endpoint, "access_token": TOKEN}

    def key_file(self) -> str:
        """File of a service account's key, with which a client signs its own tokens."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import rsa

        path = Path(self._folder.name, "key.json")
        if not path.exists():
            key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
            pem = key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            fields = {"private_key": pem.decode(), "private_key_id": "1", "client_email": EMAIL}
            path.write_text(json.dumps({"type": "service_account", "disable_oauth": False, **fields}))
        return str(path)

    def hadoop(self) -> dict[str, str]:
        """Properties of Google's connector for Hadoop for the server."""
        return {
            "fs.gs.storage.root.url": self.endpoint,
            "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
            "fs.gs.auth.service.account.json.keyfile": self.key_file(),
        }

    def folder(self) -> str:
        """URI of a folder that nobody has used."""
        return f"gs://{BUCKET}/f{next(self._numbers)}"
