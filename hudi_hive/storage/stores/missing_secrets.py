"""Finds what takes the place of secrets that did not come with a pickle (docs/credentials.md#pickles).

They are looked for in what this process was given (:func:`use_storage_options`), then in what engines say
(:func:`add_options_origin`: Spark's session and Hadoop's configuration), then in the environment and profiles.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from hudi_hive.errors import MissingSecretError
from hudi_hive.redaction import redact
from hudi_hive.secret_references import is_reference, secret_behind
from hudi_hive.storage.stores.aws_credentials import has_profile
from hudi_hive.storage.stores.settings import (
    AZURE,
    GCS,
    S3,
    Credentials,
    about_of,
    is_hadoop_name,
    is_storage_option,
    layered,
    subjects_of,
)

_STORES: Final = frozenset({S3, GCS, AZURE})
_HDFS: Final = "hdfs"
_OF_HADOOP: Final[Mapping[str, tuple[str, ...]]] = {
    S3: ("fs.s3a.",),
    GCS: ("fs.gs.", "google.cloud."),
    AZURE: ("fs.azure.",),
}
"""How properties of Hadoop begin that are about one kind of store."""

_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    S3: (
        *("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"),
        *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    ),
    GCS: (
        *("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY"),
        "GOOGLE_APPLICATION_CREDENTIALS",
    ),
    AZURE: (
        *("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_MASTER_KEY"),
        *("AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_TOKEN"),
        *("AZURE_STORAGE_CLIENT_SECRET", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE", "IDENTITY_ENDPOINT"),
    ),
}
"""Variables of the environment that say who asks a kind of store."""

_FILES: Final[Mapping[str, str]] = {GCS: "~/.config/gcloud/application_default_credentials.json"}

_guard: Final = threading.Lock()
_of_process: Credentials | None = None
_origins: Final[dict[str, Callable[[], Mapping[str, Any]]]] = {}


def use_storage_options(options: Mapping[str, Any] | None) -> None:
    """Give this process the storage options that take the place of secrets which did not come with a pickle.

    Tables, scans, splits and whatever else was pickled in another process take of them what they lack: the credentials
    of their store, keys of an encryption. What is no secret they have from where they were made. To be called before
    what was loaded reads its first file; the options of an earlier call no longer count.

    Args:
        options: by any of their names. Without any, the environment, profiles and the machine's own identity count,
            whether there seem to be credentials or not. None takes back what an earlier call said.
    """
    global _of_process
    with _guard:
        _of_process = None if options is None else Credentials(options)


def add_options_origin(name: str, origin: Callable[[], Mapping[str, Any]]) -> None:
    """Let an engine say which storage options take the place of missing secrets, when there are some.

    Args:
        name: of the engine; an origin that it has added before goes.
        origin: gives the options; none if the engine does not run.
    """
    with _guard:
        _origins[name] = origin


def with_secrets(options: Mapping[str, Any], kind: str, bucket: str, location: str) -> dict[str, Any]:
    """Storage options with secrets in place of references; references to those of other stores stay.

    Args:
        options: storage options and properties of Hadoop, some of them of a pickle.
        kind: the store: ``s3``, ``gs``, ``abfs``; another word for stores that take no options of these.
        bucket: the bucket or container.
        location: where it is, for the error.

    Raises:
        MissingSecretError: a secret of this store is nowhere.
    """
    complete = {name: secret_behind(value) for name, value in options.items()}
    missing = [name for name, value in complete.items() if is_reference(value) and _is_of_store(name, kind)]
    if not missing:
        return complete
    with _guard:
        of_process, origins = _of_process, list(_origins.values())
    given = layered(of_process, *(origin() for origin in origins))
    nowhere = []
    for name in missing:
        del complete[name]
        instead = {other: value for other, value in given.items() if _replaces(other, name, kind, bucket)}
        if instead:
            own = {about_of(other) for other in complete if not is_reference(complete[other])}
            complete |= {
                other: value for other, value in instead.items() if other == name or about_of(other) not in own
            }
        elif not (kind in _STORES and kind in _kinds(name) and (of_process == {} or _has_environment(kind))):
            nowhere.append(name)
    if nowhere:
        variables = f", or set {_VARIABLES[kind][0]} …" if kind in _STORES else ""
        raise MissingSecretError(
            f"pickles have no secrets, and this process has none for {', '.join(nowhere)}",
            path=redact(location),
            remedy=f"call hudi_hive.use_storage_options in it{variables}",
        )
    return complete


def _kinds(name: str) -> frozenset[str]:
    """The kinds of store that an option is about; none if it is about any."""
    of_hadoop = {kind for kind, prefixes in _OF_HADOOP.items() if name.startswith(prefixes)}
    return frozenset(_STORES & ({subject.partition(":")[0] for subject in subjects_of(name)} | of_hadoop))


def _is_of_store(name: str, kind: str) -> bool:
    kinds = _kinds(name)
    if kind == _HDFS or kind in _STORES:
        return kind in kinds or (not kinds and is_storage_option(name))
    return not is_hadoop_name(name)  # arguments of fsspec have any names


def _replaces(other: str, name: str, kind: str, bucket: str) -> bool:
    """Whether an option that was given takes the place of one that is missing."""
    if other == name:
        return True
    subjects = {subject.partition(":")[0] for subject in subjects_of(name)} | _kinds(name)
    subjects -= _STORES - {kind}
    parts = (subject.partition(":") for subject in subjects_of(other))
    return any(about in subjects and of in ("", bucket) for about, _, of in parts)


def _has_environment(kind: str) -> bool:
    """Whether the environment or a file of profiles seems to say who asks."""
    if any(os.environ.get(name) for name in _VARIABLES[kind]) or (kind == S3 and has_profile()):
        return True
    return kind in _FILES and os.path.isfile(os.path.expanduser(_FILES[kind]))
