"""Merges the options of stores: those of a call, of a session, of Hadoop's configuration (docs/credentials.md).

What a call says goes before what its session says, that before Hadoop's configuration, and that before the environment
and profiles, which the clients of the stores read. Credentials go together: who gives a key need not fear a token that
somebody else gave. Properties of Hadoop stay under their names until a bucket is opened, since each may have its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.names import HOODIE_PREFIX
from hudi_hive.options import Face, Option, OptionSet, as_texts, storage
from hudi_hive.redaction import redact_options

S3, GCS, AZURE = "s3", "gs", "abfs"
HADOOP_PREFIXES: Final = ("fs.", "hadoop.", "dfs.", "io.", "ipc.", "google.cloud.")
"""How names of Hadoop's properties begin."""

_NAMES: Final = OptionSet("storage", Face.STORAGE)
_STORES: Final = ("fs.s3a.", "fs.gs.", "fs.azure.", "google.cloud.", "dfs.", f"{HOODIE_PREFIX}aws.")

_S3_CREDENTIALS: Final = (
    *(storage.ACCESS_KEY, storage.SECRET_KEY, storage.SESSION_TOKEN, storage.PROFILE, storage.ROLE_ARN),
    *(storage.ROLE_SESSION, storage.EXTERNAL_ID),
)
_GCS_CREDENTIALS: Final = (storage.SERVICE_ACCOUNT,)
_AZURE_CREDENTIALS: Final = (
    *(storage.ACCOUNT_KEY, storage.SAS_TOKEN, storage.TENANT_ID, storage.CLIENT_ID, storage.CLIENT_SECRET),
)
_TOGETHER: Final[Mapping[str, frozenset[str]]] = {
    **{option.name: frozenset({S3}) for option in _S3_CREDENTIALS},
    **{option.name: frozenset({GCS}) for option in _GCS_CREDENTIALS},
    **{option.name: frozenset({AZURE}) for option in _AZURE_CREDENTIALS},
    storage.ACCESS_TOKEN.name: frozenset({GCS, AZURE}),
    storage.ANONYMOUS.name: frozenset({S3, GCS, AZURE}),
    storage.ENDPOINT.name: frozenset({"endpoint"}),
    storage.SCHEME.name: frozenset({"endpoint"}),
}
"""What an option is about: of two who speak about one thing, only the first one is heard."""

_S3A: Final[Mapping[str, Option[Any]]] = {
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
}
"""Properties of S3A behind ``fs.s3a.`` or ``fs.s3a.bucket.NAME.``, and the option that each is about."""

_S3A_NAME: Final = re.compile(r"fs\.s3a\.(?:bucket\.(.+?)\.)?(" + "|".join(map(re.escape, _S3A)) + ")")
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

_DFS, _BLOB = ".dfs.core.windows.net", ".blob.core.windows.net"
_TENANT: Final = re.compile(r"https?://[^/]+/([^/]+)/oauth2/")


class Credentials(dict[str, Any]):
    """Storage options, printed without their secrets."""

    def __repr__(self) -> str:
        return repr(redact_options(self))

    __str__ = __repr__


def is_hadoop_name(name: str) -> bool:
    """Whether an option is a property of Hadoop, such as ``fs.s3a.access.key``."""
    return name.startswith(HADOOP_PREFIXES)


def is_store_name(name: str) -> bool:
    """Whether an option, in small letters or not, is about stores and has the name that Hadoop or Hudi has for it."""
    return name.startswith(_STORES) and (is_hadoop_name(name) or name in _NAMES)


# -- layers ------------------------------------------------------------------------------------------------------------


def layered(*layers: Mapping[str, Any] | None) -> Credentials:
    """Merge storage options of several origins.

    An option of a later layer counts where no earlier one speaks of its subject: all credentials of a kind of store are
    one subject, as are an endpoint and its scheme.

    Args:
        layers: storage options and properties of Hadoop by name, the most important ones first: those of a call, of its
            session, of Hadoop's configuration.
    """
    merged, settled = Credentials(), set[str]()
    for layer in layers:
        options = {name: value for name, value in (layer or {}).items() if value is not None}
        subjects = {name: frozenset(_subjects(name)) for name in options}
        for name, value in options.items():
            general = {subject.partition(":")[0] for subject in subjects[name]}
            if not settled & (general | subjects[name]):
                merged[name] = value
        settled |= {subject for one in subjects.values() for subject in one}
    return merged


def _subjects(name: str) -> Iterator[str]:
    """What an option is about; of one bucket only with the bucket's name behind a colon."""
    match = _S3A_NAME.fullmatch(name)
    if match is not None:
        about, bucket = _S3A[match[2]].name, match[1]
    else:
        option = _NAMES.get(name)
        about, bucket = name if option is None else option.name, None
    for subject in _TOGETHER.get(about, (about,)):
        yield f"{subject}:{bucket}" if bucket else subject


# -- of one store ------------------------------------------------------------------------------------------------------


def storage_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Options of a store as texts, checked; properties of Hadoop and Hudi that are not a store's are left out.

    Raises:
        InvalidOptionError: an unknown name, or a value that does not fit.
    """
    texts = as_texts({name: value for name, value in options.items() if value is not None})
    of_stores = {
        name: text
        for name, text in texts.items()
        if name in _NAMES or not name.startswith((*HADOOP_PREFIXES, HOODIE_PREFIX))
    }
    _NAMES.check(of_stores)
    return of_stores


def options_of_store(kind: str, bucket: str, account: str, options: Mapping[str, Any]) -> dict[str, str]:
    """The options of one bucket or container: where they say nothing, what properties of Hadoop say of it.

    Args:
        kind: ``s3``, ``gs`` or ``abfs``.
        bucket: the bucket or container.
        account: host of an Azure account; empty for others.
        options: storage options and properties of Hadoop, by any of their names.

    Raises:
        InvalidOptionError: an unknown name, or a value that does not fit.
    """
    texts = as_texts({name: value for name, value in options.items() if value is not None})
    properties = {name: text.strip() for name, text in texts.items() if is_hadoop_name(name) and text.strip()}
    own = storage_options({name: text for name, text in texts.items() if not is_hadoop_name(name)})
    if not properties:
        return own
    if kind == S3:
        translated = _of_s3a(properties, bucket)
    elif kind == GCS:
        translated = _of_gs(properties)
    else:
        translated = _of_azure(properties, bucket, account)
    refused = translated.pop("", None)
    merged = dict(layered(own, translated))
    if refused is not None and not any(_TOGETHER.get(name, frozenset()) & {kind} for name in map(_own_name, merged)):
        raise InvalidOptionError(
            f"credentials of {refused} cannot be had here",
            remedy="give storage options, or keys in the environment or in a profile",
        )
    _NAMES.check(merged)
    return merged


def _own_name(name: str) -> str:
    option = _NAMES.get(name)
    return name if option is None else option.name


def _of_s3a(properties: Mapping[str, str], bucket: str) -> dict[str, str]:
    """Properties of S3A as storage options; those of the bucket go before those of all buckets."""
    values: dict[str, str] = {}
    for beginning in ("fs.s3a.", f"fs.s3a.bucket.{bucket}."):
        more = ("proxy.port", "proxy.secured")
        values |= {key: text for key in (*_S3A, *more) if (text := properties.get(f"{beginning}{key}"))}
    translated = {
        _S3A[key].name: values[key]
        for key in ("access.key", "secret.key", "session.token", "endpoint", "endpoint.region", "auth.profile.name")
        if key in values
    }
    if (tls := values.get("connection.ssl.enabled")) is not None:
        translated[storage.SCHEME.name] = "http" if tls.lower() == "false" else "https"
    if values.get("path.style.access", "").lower() == "true":
        translated[storage.VIRTUAL_HOSTS.name] = "false"
    if host := values.get("proxy.host"):
        scheme = "https" if values.get("proxy.secured", "").lower() == "true" else "http"
        port = values.get("proxy.port", "443" if scheme == "https" else "80")
        translated[storage.PROXY.name] = f"{scheme}://{host}:{port}"
    return _by_provider(translated, values)


def _by_provider(translated: dict[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Credentials as ``fs.s3a.aws.credentials.provider`` chooses among them; what cannot be had under an empty name."""
    classes = [text.strip().rpartition(".")[2] for text in values.get("aws.credentials.provider", "").split(",")]
    names = [name for name in classes if name]
    if _ROLE in names:
        roles = ("assumed.role.arn", "assumed.role.session.name", "assumed.role.external.id")
        translated |= {_S3A[key].name: values[key] for key in roles if key in values}
    elif names == [_NOBODY]:
        keys = {storage.ACCESS_KEY.name, storage.SECRET_KEY.name, storage.SESSION_TOKEN.name, storage.PROFILE.name}
        return {name: text for name, text in translated.items() if name not in keys} | {storage.ANONYMOUS.name: "true"}
    strange = [name for name in names if name not in (*_KEYS, _ROLE, _NOBODY, *_OF_MACHINE)]
    return {**translated, "": ", ".join(strange)} if strange and len(strange) == len(names) else translated


def _of_gs(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties of GCS's connector as storage options."""
    translated: dict[str, str] = {}
    kind = properties.get("fs.gs.auth.type", "").upper()
    for name in ("fs.gs.auth.service.account.json.keyfile", "google.cloud.auth.service.account.json.keyfile"):
        if name in properties:
            translated.setdefault(storage.SERVICE_ACCOUNT.name, properties[name])
    if kind == "UNAUTHENTICATED" or properties.get("fs.gs.auth.null.enable", "").lower() == "true":
        translated = {storage.ANONYMOUS.name: "true"}
    elif kind in ("ACCESS_TOKEN_PROVIDER", "USER_CREDENTIALS", "WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE"):
        translated = {"": f"fs.gs.auth.type={kind}"}
    if root := properties.get("fs.gs.storage.root.url"):
        translated[storage.ENDPOINT.name] = root
    if proxy := properties.get("fs.gs.proxy.address"):
        translated[storage.PROXY.name] = proxy if "://" in proxy else f"http://{proxy}"
    return translated


def _of_azure(properties: Mapping[str, str], container: str, account: str) -> dict[str, str]:
    """Properties of ABFS and WASB as storage options: those of the container, of its account, of all accounts."""
    name = account.partition(".")[0]
    hosts = [host for host in dict.fromkeys((account, f"{name}{_DFS}", f"{name}{_BLOB}")) if name and host]
    endings = [*(f".{container}.{host}" for host in hosts), *(f".{host}" for host in hosts), ""]

    def value(*keys: str) -> str | None:
        names = (f"fs.azure.{key}{ending}" for ending in endings for key in keys)
        return next((properties[name] for name in names if name in properties), None)

    kind = (value("account.auth.type") or "").upper()
    tenant = _TENANT.match(value("account.oauth2.client.endpoint") or "")
    by_kind: dict[str, dict[str, str | None]] = {
        "SHAREDKEY": {storage.ACCOUNT_KEY.name: value("account.key")},
        "SAS": {storage.SAS_TOKEN.name: value("sas.fixed.token", "sas")},
        "OAUTH": {
            storage.CLIENT_ID.name: value("account.oauth2.client.id"),
            storage.CLIENT_SECRET.name: value("account.oauth2.client.secret"),
            storage.TENANT_ID.name: tenant[1] if tenant else value("account.oauth2.msi.tenant"),
        },
    }
    if kind == "CUSTOM":
        return {"": "fs.azure.account.auth.type=Custom"}
    chosen = by_kind.get(kind) or next((one for one in by_kind.values() if all(one.values())), {})
    return {option: text.removeprefix("?") for option, text in chosen.items() if text}


# -- for Hadoop --------------------------------------------------------------------------------------------------------


def hadoop_properties(options: Mapping[str, Any], location: str = "") -> dict[str, str]:
    """Storage options as properties of Hadoop's S3A and GCS connectors, for engines that read the files themselves.

    Args:
        options: storage options, by any of their names.
        location: URI on S3, for whose bucket alone the properties are to be; properties of Hadoop among the options
            are taken then, too.

    Raises:
        InvalidOptionError: a value that does not fit.
    """
    texts = as_texts({name: value for name, value in options.items() if value is not None})
    own = {name: text for name, text in texts.items() if not is_hadoop_name(name)}
    scheme, _, rest = location.partition("://")
    bucket = rest.partition("/")[0] if scheme in ("s3a", "s3", "s3n") else ""
    beginning = f"fs.s3a.bucket.{bucket}." if bucket else "fs.s3a."
    translated: dict[str, str | None] = {
        key: _S3A[key].of(own) for key in ("access.key", "secret.key", "session.token", "endpoint", "endpoint.region")
    }
    if endpoint := translated["endpoint"]:
        scheme = storage.SCHEME.of(own) or endpoint.partition("://")[0]
        translated["connection.ssl.enabled"] = "false" if scheme == "http" else "true"
        translated["path.style.access"] = "false" if storage.VIRTUAL_HOSTS.of(own) else "true"
    providers = "org.apache.hadoop.fs.s3a."
    if storage.ANONYMOUS.of(own):
        translated = {key: text for key, text in translated.items() if _S3A[key] not in _S3_CREDENTIALS}
        translated["aws.credentials.provider"] = f"{providers}{_NOBODY}"
    elif role := storage.ROLE_ARN.of(own):
        translated |= {"assumed.role.arn": role, "assumed.role.session.name": storage.ROLE_SESSION.of(own)}
        translated |= {"assumed.role.external.id": storage.EXTERNAL_ID.of(own)}
        translated["aws.credentials.provider"] = f"{providers}auth.{_ROLE}"
    elif translated["access.key"]:
        translated["aws.credentials.provider"] = f"{providers}{_KEYS[1 if translated['session.token'] else 0]}"
    elif profile := storage.PROFILE.of(own):
        translated |= {"auth.profile.name": profile}
        translated["aws.credentials.provider"] = f"{providers}auth.ProfileAWSCredentialsProvider"
    properties = {f"{beginning}{key}": text for key, text in translated.items() if text}
    if keyfile := storage.SERVICE_ACCOUNT.of(own):
        properties |= {
            "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
            "fs.gs.auth.service.account.json.keyfile": keyfile,
        }
    if location:
        for name, text in texts.items():
            if is_hadoop_name(name):
                match = _S3A_NAME.fullmatch(name)
                properties[f"{beginning}{match[2]}" if match and not match[1] else name] = text
    return properties
