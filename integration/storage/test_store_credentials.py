"""Where the keys of requests to S3 come from, and that new ones are fetched before the old ones expire."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hudi_hive.errors import InvalidOptionError, StoreCredentialsError
from hudi_hive.storage import Storage
from integration.support.stores.proxy import StoreProxy
from integration.support.stores.s3 import S3Server

ROLE = "arn:aws:iam::123456789012:role/reader"
FOREVER, SOON = 3600, 60
"""Seconds for which keys last; new ones are fetched five minutes before the end."""


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, s3: S3Server) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", s3.endpoint)


@pytest.fixture
def keys_used(s3: S3Server, s3_proxy: StoreProxy) -> Callable[..., list[str]]:
    """Access keys of requests of a storage with some options: of a few, or of as many as it takes to see others."""

    def use(*, others: bool = False, **options: str) -> list[str]:
        storage = Storage(s3.folder(), {"endpoint": s3.options(s3_proxy.port)["endpoint"], **options})
        used: list[str] = []
        deadline = time.monotonic() + 60
        while len(used) < 3 or (others and len(set(used)) < 2 and time.monotonic() < deadline):
            with s3_proxy.recording() as recording:
                storage.write_bytes("x", b"1")
            used += [
                item.headers["authorization"].partition("Credential=")[2].split("/")[0] for item in recording.requests
            ]
        return used

    return use


def keys(number: int, seconds: int) -> dict[str, Any]:
    until = (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"AccessKeyId": f"AK{number}", "SecretAccessKey": "s", "Expiration": until}


@pytest.mark.parametrize("seconds", [FOREVER, SOON])
def test_a_profile_whose_keys_a_program_gives(
    keys_used: Callable[..., list[str]], tmp_path: Path, seconds: int
) -> None:
    until = keys(0, seconds)["Expiration"]
    program = tmp_path / "keys.py"
    program.write_text(
        "import json, uuid\n"
        "print(json.dumps({'Version': 1, 'AccessKeyId': uuid.uuid4().hex, 'SecretAccessKey': 's', "
        f"'Expiration': '{until}'}}))\n"
    )
    (tmp_path / "config").write_text(
        f"[profile p]\nregion = eu-west-1\ncredential_process = {sys.executable} {program}\n"
    )
    renewed = seconds == SOON
    assert len(set(keys_used(others=renewed, profile="p"))) == 1 + renewed
    config = Storage("s3://lake/x", {"endpoint": "http://127.0.0.1:1", "profile": "p"})._store._client.config
    assert config["region"] == "eu-west-1"


def test_profiles_that_give_no_keys(keys_used: Callable[..., list[str]], tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[profile bad]\ncredential_process = /bin/false\n[profile empty]\nregion = r\n")
    for profile, said in (("bad", "custom-process"), ("empty", "no AWS credentials"), ("none", "could not be found")):
        with pytest.raises(StoreCredentialsError, match=said):
            keys_used(profile=profile)


def test_roles(
    keys_used: Callable[..., list[str]], s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {name: s3.options()[name] for name in ("access_key", "secret_key")}
    used = keys_used(**own, role_arn=ROLE, region="eu-west-1")
    assert len(set(used)) == 1 and used[0].startswith("ASIA")
    (tmp_path / "token").write_text("eyJ.a.b")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
    assert keys_used(region="eu-west-1")[0].startswith("ASIA")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")
    with pytest.raises(StoreCredentialsError, match="Could not connect"):
        keys_used(**own, role_arn=ROLE, region="eu-west-1")


@pytest.fixture
def machine() -> Iterator[tuple[str, list[int]]]:
    """Address of a service that gives machines their keys, and how long these last."""
    number, seconds = iter(range(99)), [FOREVER]

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing."""

        def do_PUT(self) -> None:
            self._answer(b"session")

        def do_GET(self) -> None:
            is_name = self.path.endswith("security-credentials/")
            given = {**keys(next(number), seconds[0]), "Token": "t", "Code": "Success"}
            self._answer(b"my-role" if is_name else json.dumps({**given, "LastUpdated": given["Expiration"]}).encode())

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", seconds
        server.shutdown()


@pytest.mark.parametrize("kind", ["instance", "container"])
def test_keys_of_machines(
    keys_used: Callable[..., list[str]],
    machine: tuple[str, list[int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    address, seconds = machine
    if kind == "instance":
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", address)
    else:
        (tmp_path / "token").write_text("abc")
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{address}/keys")
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
    assert len(set(keys_used(region="r"))) == 1
    seconds[0] = SOON
    assert len(set(keys_used(others=True, region="other"))) == 2


def test_keys_of_the_environment_change(keys_used: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    for key in ("AK1", "AK2"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        assert keys_used() == [key] * 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"session_token": "t"}, "without its keys"),
        ({"access_key": "k"}, "only one of"),
        ({"access_key": "k", "secret_key": "s", "anonymous": "true"}, "anonymous"),
        ({"request_timeout": "0"}, "greater than 0"),
        ({"retry_timeout": "-1"}, "not be negative"),
        ({"endpoint": "http://"}, "no address"),
        ({"endpoint": "ftp://host"}, "no address"),
    ],
)
def test_options_that_cannot_be_meant(options: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidOptionError, match=said):
        Storage("s3://lake/x", options)
