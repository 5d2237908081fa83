"""Merges the options of stores: those of a call, of a session, of Hadoop's configuration (docs/credentials.md).

What a call says goes before what its session says, that before Hadoop's configuration, and that before the environment
and profiles, which the clients of the stores read. Credentials go together: who gives a key need not fear a token that
somebody else gave. Properties of Hadoop stay under their names until a bucket is opened, since each may have its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from hudi_hive.errors import InvalidOptionError
from hudi_hive.names import HOODIE_PREFIX
from hudi_hive.options import Face, OptionSet, as_texts, storage
from hudi_hive.secret_references import SecretOptions
from hudi_hive.storage.stores import s3a

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
    storage.ENCRYPTION.name: frozenset({"encryption"}),
    storage.ENCRYPTION_KEY.name: frozenset({"encryption"}),
}
"""What an option is about: of two who speak about one thing, only the first one is heard."""

HADOOP_PROVIDERS: Final = f"hadoop.{s3a.PROVIDER_PATH}"
"""The property of Hadoop that says where its credential providers are, which Java alone can read."""

_ENCRYPTION_OF_OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    GCS: ("fs.gs.encryption.",),
    AZURE: ("fs.azure.encryption.", "fs.azure.client-provided-encryption-key"),
}
"""How properties begin by which Google's and Azure's connectors send keys of the user with their requests."""

_DFS, _BLOB = ".dfs.core.windows.net", ".blob.core.windows.net"
_TENANT: Final = re.compile(r"https?://[^/]+/([^/]+)/oauth2/")


_LOGIN: Final = re.compile(
    r"auth|pass|login|cred|secret|token|cookie|certificate|private|pkey|kerb|ticket|jwt|sign|\bpin\b|\bkey\b",
    re.IGNORECASE,
)
"""What stands in names of arguments by which libraries log in."""


class HadoopOptions(SecretOptions):
    """Properties of Hadoop and others by name, printed and pickled without their secrets."""

    def is_hidden(self, name: str) -> bool:
        """Whether pickles have a reference in place of an option; the id of a key that the store holds is no secret."""
        is_id = about_of(name) == storage.ENCRYPTION_KEY.name and self._has_kms()
        return not is_id and super().is_hidden(name)

    def _has_kms(self) -> bool:
        kinds = {str(value).upper() for name, value in self.items() if about_of(name) == storage.ENCRYPTION.name}
        return any(kind.endswith("KMS") or "KMS:" in kind for kind in kinds) and "SSE-C" not in kinds


class Credentials(HadoopOptions):
    """Storage options, printed and pickled without their secrets (:mod:`hudi_hive.secret_references`)."""

    def is_hidden(self, name: str) -> bool:
        """Whether pickles have a reference in place of an option: of those for fsspec, if it sounds like a login."""
        if super().is_hidden(name):
            return True
        is_argument = not is_storage_option(name) and not name.startswith((*HADOOP_PREFIXES, HOODIE_PREFIX))
        return is_argument and _LOGIN.search(name) is not None and not isinstance(self[name], bool | None)


def is_hadoop_name(name: str) -> bool:
    """Whether an option is a property of Hadoop, such as ``fs.s3a.access.key``."""
    return name.startswith(HADOOP_PREFIXES)


def is_store_name(name: str) -> bool:
    """Whether an option, in small letters or not, is about stores and has the name that Hadoop or Hudi has for it."""
    return name.startswith(_STORES) and (is_hadoop_name(name) or name in _NAMES)


def is_storage_option(name: str) -> bool:
    """Whether an option is one of those that are declared for stores, by any of its names and of S3A's."""
    return about_of(name) in _NAMES


# -- layers ------------------------------------------------------------------------------------------------------------


def layered(*layers: Mapping[str, Any] | None) -> Credentials:
    """Merge storage options of several origins.

    An option of a later layer counts where no earlier one speaks of its subject: all credentials of a kind of store are
    one subject, as are an endpoint and its scheme, an encryption and its key. Where an earlier layer speaks of one
    bucket alone, a later one counts for the others.

    Args:
        layers: storage options and properties of Hadoop by name, the most important ones first: those of a call, of its
            session, of Hadoop's configuration.
    """
    merged, settled = Credentials(), set[str]()
    for layer in layers:
        options = {name: value for name, value in (layer or {}).items() if value is not None}
        subjects = {name: frozenset(subjects_of(name)) for name in options}
        for name, value in options.items():
            general = {subject.partition(":")[0] for subject in subjects[name]}
            if settled & (general | subjects[name]):
                continue
            merged[name] = value
            if (match := s3a.NAME.fullmatch(name)) is not None and match[1] is None:
                buckets = {subject.partition(":")[2] for subject in settled if subject.partition(":")[0] in general}
                # Without a value it is not the bucket's, where others of its subject are.
                own = (f"{s3a.PREFIX}bucket.{bucket}.{match[2]}" for bucket in sorted(buckets))
                merged = Credentials(dict.fromkeys(own, "") | merged)
        settled |= {subject for one in subjects.values() for subject in one}
    return merged


def subjects_of(name: str) -> Iterator[str]:
    """What an option is about; of one bucket only with the bucket's name behind a colon."""
    match = s3a.NAME.fullmatch(name)
    bucket = None if match is None else match[1]
    for subject in _together(about_of(name)):
        yield f"{subject}:{bucket}" if bucket else subject


def about_of(name: str) -> str:
    """Name of the storage option that an option is or is about; its own name for others."""
    match = s3a.NAME.fullmatch(name)
    return _own_name(name) if match is None else s3a.KEYS[match[2]].name


def split_credential_providers(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Take Hadoop's credential providers out of storage options.

    Returns:
        the other options; and the providers' paths by the bucket that they are for, which is empty for all buckets.
    """
    others, paths = dict(options), dict[str, str]()
    for name in (HADOOP_PROVIDERS, *options):
        match = s3a.NAME.fullmatch(name)
        of_s3a = match is not None and match[2] == s3a.PROVIDER_PATH
        if name in others and (name == HADOOP_PROVIDERS or of_s3a):
            bucket, path = (match[1] or "") if match is not None else "", str(others.pop(name) or "")
            if path:
                paths[bucket] = ",".join(filter(None, (path, paths.get(bucket))))
    return others, paths


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

    Properties of the bucket alone (``fs.s3a.bucket.NAME.access.key``) go before all options of its subject.

    Args:
        kind: ``s3``, ``gs`` or ``abfs``.
        bucket: the bucket or container.
        account: host of an Azure account; empty for others.
        options: storage options and properties of Hadoop, by any of their names.

    Raises:
        InvalidOptionError: an unknown name, a value that does not fit, or a property that cannot be honoured.
    """
    texts = as_texts({name: value for name, value in options.items() if value is not None})
    properties = {name: text.strip() for name, text in texts.items() if is_hadoop_name(name)}
    own = storage_options({name: text for name, text in texts.items() if name not in properties})
    if not any(properties.values()):
        return own
    if kind == S3:
        own = _without(own, _subjects_of_bucket(properties, bucket))
        translated, unread = s3a.options_of_s3a(_values_of_bucket(properties, bucket, _spoken(own)))
    else:
        present = {name: text for name, text in properties.items() if text}
        _refuse_encryption(kind, present)
        translated = _of_gs(present) if kind == GCS else _of_azure(present, bucket, account)
        unread = translated.pop("", "") or (present.get(HADOOP_PROVIDERS, "") and s3a.PROVIDER_PATH)
    merged = dict(layered(own, translated))
    if unread and not any(_TOGETHER.get(name, frozenset()) & {kind} for name in map(_own_name, merged)):
        raise InvalidOptionError(
            f"credentials of {unread} cannot be had here",
            remedy="give storage options: keys, or a profile that has them",
        )
    _NAMES.check(merged)
    return merged


def _values_of_bucket(properties: Mapping[str, str], bucket: str, spoken: Collection[str]) -> dict[str, str]:
    """Properties of S3A for a bucket, but for those about what storage options speak of."""
    values = s3a.values_of_bucket(properties, bucket)
    if path := properties.get(HADOOP_PROVIDERS):
        values.setdefault(s3a.PROVIDER_PATH, path)
    abouts = {key: _together(s3a.KEYS[key].name) if key in s3a.KEYS else frozenset[str]() for key in values}
    return {key: text for key, text in values.items() if abouts[key].isdisjoint(spoken)}


def _subjects_of_bucket(properties: Mapping[str, str], bucket: str) -> frozenset[str]:
    """What properties of a bucket alone are about."""
    matches = (s3a.NAME.fullmatch(name) for name, text in properties.items() if text)
    abouts = {s3a.KEYS[match[2]].name for match in matches if match is not None and match[1] == bucket}
    return frozenset(subject for about in abouts for subject in _together(about))


def _together(about: str) -> frozenset[str]:
    return _TOGETHER.get(about, frozenset({about}))


def _spoken(own: Iterable[str]) -> frozenset[str]:
    return frozenset(subject for name in own for subject in subjects_of(name))


def _without(own: Mapping[str, str], subjects: Collection[str]) -> dict[str, str]:
    return {name: text for name, text in own.items() if _spoken([name]).isdisjoint(subjects)}


def _refuse_encryption(kind: str, properties: Mapping[str, str]) -> None:
    for name in properties:
        if name.startswith(_ENCRYPTION_OF_OTHERS[kind]):
            raise InvalidOptionError(f"encryption by {name} is not supported", remedy="use keys that the store holds")


def _own_name(name: str) -> str:
    option = _NAMES.get(name)
    return name if option is None else option.name


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
        options: storage options and properties of Hadoop, by any of their names.
        location: URI on S3, for whose bucket alone the properties are to be.

    Raises:
        InvalidOptionError: a value that does not fit.
    """
    texts = as_texts({name: value for name, value in options.items() if value is not None})
    of_hadoop = {name: text for name, text in texts.items() if is_hadoop_name(name)}
    own = {name: text for name, text in texts.items() if name not in of_hadoop}
    scheme, _, rest = location.partition("://")
    bucket = rest.partition("/")[0] if scheme in ("s3a", "s3", "s3n") else ""
    if bucket:
        own = _without(own, _subjects_of_bucket(of_hadoop, bucket))
    beginning = f"{s3a.PREFIX}bucket.{bucket}." if bucket else s3a.PREFIX
    properties = {f"{beginning}{key}": text for key, text in s3a.s3a_values(own).items()}
    spoken = _spoken(own)
    for name, text in of_hadoop.items():
        match = s3a.NAME.fullmatch(name)
        if match is None or match[1]:
            properties[name] = text
        elif spoken.isdisjoint(subjects_of(name)) and (own_name := f"{beginning}{match[2]}") not in of_hadoop:
            properties[own_name] = text
    if bucket:
        properties = s3a.with_provider(properties, beginning)
    if keyfile := storage.SERVICE_ACCOUNT.of(own):
        properties |= {
            "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
            "fs.gs.auth.service.account.json.keyfile": keyfile,
        }
    return properties
