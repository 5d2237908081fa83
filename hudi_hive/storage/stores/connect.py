"""Makes the store of a bucket, container or cluster of storage options and the environment.

Options say more than the environment, the environment more than profiles and what a cloud gives its machines.
"""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from hudi_hive.errors import InvalidOptionError, StorageError
from hudi_hive.options import as_texts, storage
from hudi_hive.redaction import redact, secret_values
from hudi_hive.storage.stores.aws_credentials import aws_credentials, has_profile
from hudi_hive.storage.stores.base import forked
from hudi_hive.storage.stores.settings import (
    AZURE,
    GCS,
    S3,
    is_hadoop_name,
    options_of_store,
    storage_options,
)

if TYPE_CHECKING:
    from hudi_hive.storage.stores.hdfs import HdfsStore
    from hudi_hive.storage.stores.object_store import ObjectStore

OBJECT_SCHEMES: Final[Mapping[str, str]] = {
    "s3": S3,
    "s3a": S3,
    "s3n": S3,
    "gs": GCS,
    "gcs": GCS,
    "az": AZURE,
    "abfs": AZURE,
    "abfss": AZURE,
    "wasb": AZURE,
    "wasbs": AZURE,
}
"""Schemes of object stores, and the kind of each."""

_UPLOAD_RETRIES: Final = 30
_PUBLIC_CLOUD: Final = "blob.core.windows.net"
_object_stores: Final[dict[tuple[object, ...], ObjectStore]] = {}
_hdfs_stores: Final[dict[tuple[object, ...], HdfsStore]] = {}
_guard: Final = threading.Lock()
_process: int | None = None
"""The process that made the first client."""


def object_store(kind: str, bucket: str, account: str, prefix: str, options: Mapping[str, Any]) -> ObjectStore:
    """The store of a bucket or container.

    Args:
        kind: one of the values of :data:`OBJECT_SCHEMES`.
        bucket: the bucket or container.
        account: host of an Azure account; empty for others.
        prefix: what URIs begin with, ``s3a://``.
        options: storage options.

    Raises:
        InvalidOptionError: options that are unknown or do not fit.
        MissingDependencyError: a profile or role is asked for without boto3.
    """
    _refuse_forked(prefix + bucket)
    texts = options_of_store(kind, bucket, account, options)
    identity = (kind, bucket, account, prefix, tuple(sorted(texts.items())), _environment(kind), os.getpid())
    with _guard:
        store = _object_stores.get(identity)
        if store is None:
            store = _object_stores[identity] = _make(kind, bucket, account, prefix, texts)
    return store


def hdfs_store(url: str, options: Mapping[str, Any]) -> HdfsStore:
    """The store of an HDFS cluster; options of Hadoop (``dfs.*``) are added to ``HADOOP_CONF_DIR``'s."""
    texts = as_texts(options)
    configuration = {name: text for name, text in texts.items() if is_hadoop_name(name)}
    own = storage_options({name: text for name, text in options.items() if name not in configuration})
    identity = (url, tuple(sorted(texts.items())), os.getpid())
    from hudi_hive.storage.stores.hdfs import HdfsStore  # few tables are on HDFS

    with _guard:
        store = _hdfs_stores.get(identity)
        if store is None:
            timeouts = storage.RETRY_TIMEOUT.of(own), storage.REQUEST_TIMEOUT.of(own)
            store = _hdfs_stores[identity] = HdfsStore(url, configuration, *timeouts)
    return store


def _refuse_forked(path: str) -> None:
    """Refuse a client in a process whose parent has one: the threads that send requests stayed there.

    Raises:
        StorageError: the process was forked from such a one.
    """
    global _process
    _process = _process or os.getpid()
    if _process != os.getpid():
        raise forked(path)


def _environment(kind: str) -> tuple[tuple[str, str], ...]:
    beginning = {S3: "AWS_", GCS: "GOOGLE_", AZURE: "AZURE_"}[kind]
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(beginning)))


def _make(kind: str, bucket: str, account: str, prefix: str, options: Mapping[str, str]) -> ObjectStore:
    import obstore.store  # loaded only now: tables on the local disk do without

    from hudi_hive.storage.stores.object_store import ObjectStore
    from hudi_hive.storage.stores.retry import RetryPolicy

    client: dict[str, Any] = {
        "timeout": timedelta(seconds=storage.REQUEST_TIMEOUT.of(options)),
        "connect_timeout": timedelta(seconds=storage.CONNECT_TIMEOUT.of(options)),
    }
    if proxy := storage.PROXY.of(options):
        client["proxy_url"] = proxy
    config, endpoint = {
        S3: _s3,
        GCS: _gcs,
        AZURE: _azure,
    }[kind](options, account)
    if endpoint and endpoint.startswith("http://"):
        client["allow_http"] = True
    classes = {S3: obstore.store.S3Store, GCS: obstore.store.GCSStore, AZURE: obstore.store.AzureStore}
    patience = RetryPolicy(storage.RETRY_TIMEOUT.of(options))
    uri = f"{prefix}{bucket}@{account}" if account else f"{prefix}{bucket}"
    common = {**config, "client_options": client}
    try:
        once = classes[kind](bucket, **common, retry_config={"max_retries": 0})
        timeout = timedelta(seconds=patience.timeout_s)
        patient = classes[kind](
            bucket, **common, retry_config={"max_retries": _UPLOAD_RETRIES, "retry_timeout": timeout}
        )
    except (obstore.exceptions.BaseError, ValueError, TypeError) as error:
        message = redact(f"cannot make a client of the store: {error}".partition("\n")[0], secret_values(options))
        raise StorageError(message, path=uri) from None
    # The clouds' own endpoints create files atomically; other servers show it by the first file.
    identity = " ".join((kind, bucket, account, endpoint or "", storage.ACCOUNT_NAME.of(options) or ""))
    return ObjectStore(once, patient, bucket, uri, patience, identity=identity, is_tested=endpoint is None)


def _endpoint(options: Mapping[str, str], *variables: str) -> str | None:
    text: str | None = storage.ENDPOINT.of(options)
    if text is None:
        text = next((os.environ[name] for name in variables if os.environ.get(name)), None)
    if text is None:
        return None
    url = text if "://" in text else f"{storage.SCHEME.of(options) or 'https'}://{text}"
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise InvalidOptionError(
            f"the endpoint {redact(text)!r} is no address of a server", remedy="write http://host:port or https://host"
        )
    return url


def _s3(options: Mapping[str, str], _account: str) -> tuple[dict[str, Any], str | None]:
    endpoint = _endpoint(options, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
    region = storage.REGION.of(options) or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    config: dict[str, Any] = {
        "endpoint": endpoint,
        "region": region,
        "virtual_hosted_style_request": storage.VIRTUAL_HOSTS.of(options),
    }
    key, secret = storage.ACCESS_KEY.of(options), storage.SECRET_KEY.of(options)
    if (key is None) != (secret is None):
        raise InvalidOptionError(
            "only one of access_key and secret_key is given", remedy="give both, or none and a profile or role"
        )
    if key is None and storage.SESSION_TOKEN.of(options) is not None:
        raise InvalidOptionError("session_token is given without its keys", remedy="give access_key and secret_key too")
    profile, role = storage.PROFILE.of(options), storage.ROLE_ARN.of(options)
    if storage.ANONYMOUS.of(options) and not (key is None and profile is None and role is None):
        raise InvalidOptionError("anonymous is given beside keys, a profile or a role", remedy="leave out one of them")
    if storage.ANONYMOUS.of(options):
        config["skip_signature"] = True
    elif role is not None or profile is not None or (key is None and has_profile()):
        if (provider := aws_credentials(options, region)) is not None:
            config |= {"credential_provider": provider, "region": provider.region}
    elif key is not None:
        config |= {"access_key_id": key, "secret_access_key": secret}
        if token := storage.SESSION_TOKEN.of(options):
            config["session_token"] = token
    config["region"] = config["region"] or "us-east-1"
    config |= _encryption(options)
    return {name: value for name, value in config.items() if value is not None}, endpoint


def _encryption(options: Mapping[str, str]) -> dict[str, Any]:
    kind, key = storage.ENCRYPTION.of(options), storage.ENCRYPTION_KEY.of(options)
    name = storage.ENCRYPTION_KEY.name
    if key is not None and kind in (None, "SSE-S3"):
        raise InvalidOptionError(
            f"{name} is given without an encryption that takes it", remedy="set encryption=SSE-KMS, DSSE-KMS or SSE-C"
        )
    if kind is None:
        return {}
    if kind != "SSE-C":
        algorithm = {"SSE-S3": "AES256", "SSE-KMS": "aws:kms", "DSSE-KMS": "aws:kms:dsse"}[kind]
        return {"server_side_encryption": algorithm, "sse_kms_key_id": key}
    try:
        fits = len(base64.b64decode(key or "", validate=True)) == 32
    except ValueError:
        fits = False
    if not fits:
        raise InvalidOptionError(f"{name} is not a key of SSE-C", remedy="give 32 bytes as base64")
    return {"server_side_encryption": "sse-c", "sse_customer_key_base64": key}


def _gcs(options: Mapping[str, str], _account: str) -> tuple[dict[str, Any], str | None]:
    endpoint = _endpoint(options, "STORAGE_EMULATOR_HOST")
    config = {
        "base_url": endpoint,
        "service_account": storage.SERVICE_ACCOUNT.of(options),
        "bearer_token": storage.ACCESS_TOKEN.of(options),
        "skip_signature": storage.ANONYMOUS.of(options) or None,
    }
    return {name: value for name, value in config.items() if value is not None}, endpoint


def _azure(options: Mapping[str, str], account: str) -> tuple[dict[str, Any], str | None]:
    endpoint = _endpoint(options, "AZURE_STORAGE_ENDPOINT") or _endpoint_of_account(account)
    config = {
        "account_name": storage.ACCOUNT_NAME.of(options) or account.partition(".")[0] or None,
        "account_key": storage.ACCOUNT_KEY.of(options),
        "sas_key": storage.SAS_TOKEN.of(options),
        "token": storage.ACCESS_TOKEN.of(options),
        "tenant_id": storage.TENANT_ID.of(options),
        "client_id": storage.CLIENT_ID.of(options),
        "client_secret": storage.CLIENT_SECRET.of(options),
        "endpoint": endpoint,
        "skip_signature": storage.ANONYMOUS.of(options) or None,
    }
    return {name: value for name, value in config.items() if value is not None}, endpoint


def _endpoint_of_account(host: str) -> str | None:
    """Where the blobs of an account are that is not on Azure's public cloud; None for those that are."""
    blobs = host.replace(".dfs.", ".blob.", 1)
    domain = blobs.partition(".")[2]
    return None if domain in ("", _PUBLIC_CLOUD) else f"https://{blobs}"
