"""Cases of storage options: the client that is made of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hudi_hive.options import Face, Option, storage
from hudi_hive.storage import Storage
from tests.support.options.cases import Case

_KEYS = {storage.ACCESS_KEY.name: "a", storage.SECRET_KEY.name: "b", storage.ENDPOINT.name: "http://127.0.0.1:1"}
_AZURE = {storage.ACCOUNT_NAME.name: "lake", storage.ENDPOINT.name: "http://127.0.0.1:1"}
_CLIENT = {storage.TENANT_ID.name: "t", storage.CLIENT_ID.name: "i", storage.CLIENT_SECRET.name: "s"}


@contextmanager
def _profiles(folder: Path) -> Iterator[None]:
    """An AWS file of credentials with one profile."""
    file = folder / "credentials"
    file.write_text("[lake]\naws_access_key_id=k\naws_secret_access_key=s\n")
    before = dict(os.environ)
    os.environ |= {"AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_CONFIG_FILE": str(folder / "none")}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _client_of(uri: str, folder: Path, options: Mapping[str, str]) -> Any:
    with _profiles(folder):
        store: Any = Storage(uri, options)._store
    if not hasattr(store, "_client"):
        return type(store).__name__
    provider = store._client.credential_provider
    return (
        dict(store._client.config),
        dict(store._client.client_options or {}),
        store._patient_client.retry_config["retry_timeout"],
        store._retry,
        None if provider is None else (type(provider).__name__, _role_arguments(provider)),
    )


def _role_arguments(provider: Any) -> Any:
    """What is sent to the token service for a role; None where no role is assumed."""
    fetch = getattr(getattr(provider, "_credentials", None), "_refresh_using", None)
    return None if fetch is None else fetch.__self__._assume_kwargs


def s3_client(folder: Path, options: Mapping[str, str]) -> Any:
    """The client of a bucket of S3."""
    return _client_of("s3://lake/t", folder, options)


def gcs_client(folder: Path, options: Mapping[str, str]) -> Any:
    """The client of a bucket of GCS."""
    return _client_of("gs://lake/t", folder, options)


def azure_client(folder: Path, options: Mapping[str, str]) -> Any:
    """The client of a container of Azure."""
    return _client_of("abfs://files@lake.dfs.core.windows.net/t", folder, options)


def cache_of_files(_: Path, options: Mapping[str, str]) -> Any:
    """The folder and the bound of a bucket's cache."""
    cache: Any = Storage("s3://lake/t", options)._cache
    return cache and (cache._folder.folder, cache._folder._most_bytes)


def linked_folder(folder: Path, options: Mapping[str, str]) -> Any:
    """A listing of a local folder with a link that leads out of it."""
    outside, inside = folder / "outside", folder / "inside"
    for path in (outside, inside):
        path.mkdir()
    (outside / "file").write_bytes(b"1")
    (inside / "link").symlink_to(outside)
    return Storage(inside, options).read_bytes("link/file")


def _case(option: Option[Any], value: str, scenario: Any = s3_client, beside: Mapping[str, str] = _KEYS) -> Case:
    others = {name: text for name, text in beside.items() if name != option.name}
    return Case(option, Face.STORAGE, scenario, value, others)


STORAGE_CASES = (
    _case(storage.FOLLOW_LINKS, "true", linked_folder, {}),
    _case(storage.USE_FSSPEC, "true"),
    _case(storage.CACHE_FOLDER, "/cache", cache_of_files),
    _case(storage.CACHE_BYTES, "1g", cache_of_files, {**_KEYS, storage.CACHE_FOLDER.name: "/cache"}),
    _case(storage.ANONYMOUS, "true"),
    _case(storage.ENDPOINT, "http://127.0.0.1:2", beside={**_KEYS}),
    _case(storage.SCHEME, "http", beside={**_KEYS, storage.ENDPOINT.name: "127.0.0.1:1"}),
    _case(storage.CONNECT_TIMEOUT, "3"),
    _case(storage.REQUEST_TIMEOUT, "3"),
    _case(storage.RETRY_TIMEOUT, "3"),
    _case(storage.PROXY, "http://127.0.0.1:3"),
    _case(storage.ACCESS_KEY, "a", beside={}),
    _case(storage.SECRET_KEY, "b", beside={}),
    _case(storage.SESSION_TOKEN, "token"),
    _case(storage.REGION, "eu-west-1"),
    _case(storage.PROFILE, "lake", beside={storage.REGION.name: "eu-west-1"}),
    _case(storage.ROLE_ARN, "arn:aws:iam::123456789012:role/lake"),
    _case(storage.ROLE_SESSION, "me", beside={**_KEYS, storage.ROLE_ARN.name: "arn:aws:iam::123456789012:role/lake"}),
    _case(storage.EXTERNAL_ID, "me", beside={**_KEYS, storage.ROLE_ARN.name: "arn:aws:iam::123456789012:role/lake"}),
    _case(storage.VIRTUAL_HOSTS, "true"),
    _case(storage.ENCRYPTION, "SSE-S3"),
    _case(storage.ENCRYPTION_KEY, "key-1", beside={**_KEYS, storage.ENCRYPTION.name: "SSE-KMS"}),
    _case(storage.SERVICE_ACCOUNT, "/no/such/file", gcs_client, {}),
    _case(storage.ACCESS_TOKEN, "token", gcs_client, {}),
    _case(storage.ACCOUNT_NAME, "other", azure_client, {storage.ACCOUNT_KEY.name: "YWJj"}),
    _case(storage.ACCOUNT_KEY, "YWJj", azure_client, _AZURE),
    _case(storage.SAS_TOKEN, "sv=1&sig=x", azure_client, _AZURE),
    _case(storage.TENANT_ID, "t", azure_client, {**_AZURE, **_CLIENT}),
    _case(storage.CLIENT_ID, "i", azure_client, {**_AZURE, **_CLIENT}),
    _case(storage.CLIENT_SECRET, "s", azure_client, {**_AZURE, **_CLIENT}),
)
