"""Properties of Hadoop's S3A connector (``fs.s3a.*``) as storage options, and storage options as such properties."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options import Option, storage

PREFIX: Final = "fs.s3a."
PROVIDER_PATH: Final = "security.credential.provider.path"
"""Behind ``fs.s3a.`` and behind ``hadoop.``: where Hadoop's credential providers keep passwords and keys."""

KEYS: Final[Mapping[str, Option[Any]]] = {
    "access.key": storage.ACCESS_KEY,
    "secret.key": storage.SECRET_KEY,
    "session.token": storage.SESSION_TOKEN,
    "endpoint": storage.ENDPOINT,
    "endpoint.region": storage.REGION,
    "assumed.role.arn": storage.ROLE_ARN,
    "assumed.role.session.name": storage.ROLE_SESSION,
    "assumed.role.external.id": storage.EXTERNAL_ID,
    "auth.profile.name": storage.PROFILE,
    "connection.ssl.enabled": storage.SCHEME,
    "path.style.access": storage.VIRTUAL_HOSTS,
    "proxy.host": storage.PROXY,
    "aws.credentials.provider": storage.ACCESS_KEY,
    PROVIDER_PATH: storage.ACCESS_KEY,
    "encryption.algorithm": storage.ENCRYPTION,
    "encryption.key": storage.ENCRYPTION_KEY,
    "encryption.context": storage.ENCRYPTION,
    "server-side-encryption-algorithm": storage.ENCRYPTION,
    "server-side-encryption.key": storage.ENCRYPTION_KEY,
}
"""Properties behind ``fs.s3a.`` or ``fs.s3a.bucket.NAME.``, and the option that each is about."""

NAME: Final = re.compile(r"fs\.s3a\.(?:bucket\.(.+?)\.)?(" + "|".join(map(re.escape, KEYS)) + ")")
"""A property of :data:`KEYS`: its bucket, if it has one, and what stands behind it."""

_SAME: Final = ("access.key", "secret.key", "session.token", "endpoint", "endpoint.region", "auth.profile.name")
_CLASSES: Final = "org.apache.hadoop.fs.s3a."
_KEYS: Final = ("SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider")
_ROLE: Final = "AssumedRoleCredentialProvider"
_NOBODY: Final = "AnonymousAWSCredentialsProvider"
_OF_MACHINE: Final = (
    *("EnvironmentVariableCredentialsProvider", "IAMInstanceCredentialsProvider", "InstanceProfileCredentialsProvider"),
    *("ContainerCredentialsProvider", "EC2ContainerCredentialsProviderWrapper", "DefaultCredentialsProvider"),
    *("ProfileAWSCredentialsProvider", "ProfileCredentialsProvider", "WebIdentityTokenFileCredentialsProvider"),
    *("DefaultAWSCredentialsProviderChain", "WebIdentityTokenCredentialsProvider"),
)
"""Classes of S3A whose credentials the clients of the stores find as well, in the environment or in profiles."""


def values_of_bucket(properties: Mapping[str, str], bucket: str) -> dict[str, str]:
    """The properties behind ``fs.s3a.`` as they are for a bucket, whose own ones go before those of all buckets.

    An own one without a value takes that of all buckets away, as in Hadoop.
    """
    values: dict[str, str] = {}
    for beginning in (PREFIX, f"{PREFIX}bucket.{bucket}."):
        more = ("proxy.port", "proxy.secured")
        values |= {key: text for key in (*KEYS, *more) if (text := properties.get(f"{beginning}{key}")) is not None}
    return {key: text for key, text in values.items() if text}


def options_of_s3a(values: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Storage options of S3A's properties, and what there is of credentials that cannot be had but by Hadoop.

    Args:
        values: properties by what stands behind ``fs.s3a.``.

    Raises:
        InvalidOptionError: an encryption that is not supported.
    """
    translated = {KEYS[key].name: values[key] for key in _SAME if key in values}
    if (tls := values.get("connection.ssl.enabled")) is not None:
        translated[storage.SCHEME.name] = "http" if tls.lower() == "false" else "https"
    if values.get("path.style.access", "").lower() == "true":
        translated[storage.VIRTUAL_HOSTS.name] = "false"
    if host := values.get("proxy.host"):
        scheme = "https" if values.get("proxy.secured", "").lower() == "true" else "http"
        port = values.get("proxy.port", "443" if scheme == "https" else "80")
        translated[storage.PROXY.name] = f"{scheme}://{host}:{port}"
    return _by_provider(translated | _encryption(values), values)


def _by_provider(translated: dict[str, str], values: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Credentials as ``fs.s3a.aws.credentials.provider`` chooses among them."""
    classes = [text.strip().rpartition(".")[2] for text in values.get("aws.credentials.provider", "").split(",")]
    names = [name for name in classes if name]
    if _ROLE in names:
        roles = ("assumed.role.arn", "assumed.role.session.name", "assumed.role.external.id")
        translated |= {KEYS[key].name: values[key] for key in roles if key in values}
    elif names == [_NOBODY]:
        keys = {storage.ACCESS_KEY.name, storage.SECRET_KEY.name, storage.SESSION_TOKEN.name, storage.PROFILE.name}
        others = {name: text for name, text in translated.items() if name not in keys}
        return {**others, storage.ANONYMOUS.name: "true"}, ""
    strange = [name for name in names if name not in (*_KEYS, _ROLE, _NOBODY, *_OF_MACHINE)]
    if strange and len(strange) == len(names):
        return translated, ", ".join(strange)
    if PROVIDER_PATH in values and not (names and set(names) <= set(_OF_MACHINE)):
        return translated, PROVIDER_PATH
    return translated, ""


def _encryption(values: Mapping[str, str]) -> dict[str, str]:
    algorithm = values.get("encryption.algorithm") or values.get("server-side-encryption-algorithm")
    if algorithm is None:
        return {}
    if algorithm.upper().startswith("CSE") or "encryption.context" in values:
        name = f"{PREFIX}encryption.context" if not algorithm.upper().startswith("CSE") else algorithm
        raise InvalidOptionError(
            f"encryption of S3A is not supported with {name}",
            remedy="use SSE-S3, SSE-KMS, DSSE-KMS or SSE-C, without a context",
        )
    key = values.get("encryption.key") or values.get("server-side-encryption.key")
    translated = {storage.ENCRYPTION.name: algorithm}
    return translated | ({storage.ENCRYPTION_KEY.name: key} if key else {})


def with_provider(properties: Mapping[str, str], beginning: str) -> dict[str, str]:
    """Add the provider of the keys among properties where they name none, so that no other one's credentials count."""
    name = f"{beginning}aws.credentials.provider"
    if name in properties or not properties.get(f"{beginning}access.key"):
        return dict(properties)
    kind = _KEYS[1 if properties.get(f"{beginning}session.token") else 0]
    return {**properties, name: f"{_CLASSES}{kind}"}


def s3a_values(own: Mapping[str, str]) -> dict[str, str]:
    """Properties of S3A, by what stands behind ``fs.s3a.``, of storage options.

    Raises:
        InvalidOptionError: a value that does not fit.
    """
    translated: dict[str, str | None] = {key: KEYS[key].of(own) for key in _SAME if key != "auth.profile.name"}
    if endpoint := translated["endpoint"]:
        scheme = storage.SCHEME.of(own) or endpoint.partition("://")[0]
        translated["connection.ssl.enabled"] = "false" if scheme == "http" else "true"
        translated["path.style.access"] = "false" if storage.VIRTUAL_HOSTS.of(own) else "true"
    if storage.ANONYMOUS.of(own):
        translated |= dict.fromkeys(("access.key", "secret.key", "session.token"))
        translated["aws.credentials.provider"] = f"{_CLASSES}{_NOBODY}"
    elif role := storage.ROLE_ARN.of(own):
        translated |= {"assumed.role.arn": role, "assumed.role.session.name": storage.ROLE_SESSION.of(own)}
        translated |= {"assumed.role.external.id": storage.EXTERNAL_ID.of(own)}
        translated["aws.credentials.provider"] = f"{_CLASSES}auth.{_ROLE}"
    elif translated["access.key"]:
        translated["aws.credentials.provider"] = f"{_CLASSES}{_KEYS[1 if translated['session.token'] else 0]}"
    elif profile := storage.PROFILE.of(own):
        translated |= {"auth.profile.name": profile}
        translated["aws.credentials.provider"] = f"{_CLASSES}auth.ProfileAWSCredentialsProvider"
    if (encryption := storage.ENCRYPTION.of(own)) is not None:
        translated["encryption.algorithm"] = "AES256" if encryption == "SSE-S3" else encryption
        translated["encryption.key"] = storage.ENCRYPTION_KEY.of(own)
    return {key: text for key, text in translated.items() if text}
