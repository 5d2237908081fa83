"""Resolves paths and URIs to file systems."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow.fs as pafs

from hudi_hive.errors import InvalidOptionError, MissingDependencyError, StorageError
from hudi_hive.options import storage as names
from hudi_hive.redaction import redact, secret_values
from hudi_hive.secret_references import is_reference
from hudi_hive.storage.stores import (
    OBJECT_SCHEMES,
    ArrowStore,
    Credentials,
    FileStore,
    hdfs_store,
    layered,
    object_store,
    storage_options,
    with_secrets,
)

_NOT_OF_STORES = frozenset(
    option.name for option in (names.FOLLOW_LINKS, names.USE_FSSPEC, names.CACHE_FOLDER, names.CACHE_BYTES)
)
_CONTAINERS = frozenset({"az", "abfs", "abfss", "wasb", "wasbs"})
# A secret key may have slashes in it; then what stands before them is no port.
_USER_INFO = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/?#]*|[^/@:]+:(?!\d+(?:[/?#]|$))[^?#]*?)@(?=[^/@]*(?:/|$))")


def without_secrets(error: BaseException, options: Mapping[str, Any] | None = None) -> BaseException | None:
    """Return an error for use as a cause; None if its text, which tracebacks show, contains a secret."""
    text = f"{error}"
    return error if redact(text, secret_values(options or {})) == text else None


def has_user_info(text: str) -> bool:
    """Whether a URI has user information in front of its host."""
    match = _USER_INFO.match(text)
    return match is not None and match[1].lower() not in _CONTAINERS


def with_user_info(text: str, options: Mapping[str, Any]) -> Credentials:
    """Add the keys in front of the bucket of an S3 URI to storage options, which take precedence."""
    match = _USER_INFO.match(text)
    if match is None or OBJECT_SCHEMES.get(match[1].lower()) != "s3":
        return Credentials(options)
    key, colon, secret = match[2].partition(":")
    if not colon:
        return Credentials(options)
    by_fsspec = _is_by_fsspec(options)
    names = ("key", "secret") if by_fsspec else ("access_key", "secret_key")
    keys = dict(zip(names, (unquote(key), unquote(secret)), strict=True))
    return Credentials(keys | dict(options)) if by_fsspec else layered(options, keys)


def complete_options(text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Storage options with what takes the place of secrets that did not come with a pickle.

    Args:
        text: path or URI.
        options: for it, perhaps of a pickle.

    Raises:
        MissingSecretError: a secret of its store is nowhere.
    """
    if not any(is_reference(value) for value in options.values()):
        return dict(options)
    scheme = text.partition(":")[0].lower()
    if _is_by_fsspec(options):
        return with_secrets(options, scheme, "", text)
    if _is_local(text):
        return dict(options)
    kind, bucket = OBJECT_SCHEMES.get(scheme), ""
    if kind is not None:
        container, at, account = _after_authority(without_user_info(text))[0].rpartition("@")
        bucket = container if at else account
    return with_secrets(options, kind or scheme, bucket, without_user_info(text))


def _is_local(text: str) -> bool:
    scheme, separator, _ = text.partition(":")
    is_plain = not separator or "/" in scheme or len(scheme) < 2
    return is_plain or scheme.lower() in ("file", "local")


def _is_by_fsspec(options: Mapping[str, Any]) -> bool:
    return str(options.get(names.USE_FSSPEC.name, "")).lower() == "true"


def without_user_info(text: str) -> str:
    """A URI without user information; the container of an Azure account is kept."""
    match = _USER_INFO.match(text)
    if match is None or match[1].lower() in _CONTAINERS:
        return text
    return f"{match[1]}://{text[match.end() :]}"


class ResolvedPath(NamedTuple):
    """A path or URI as a store and a path in it.

    Attributes:
        prefix: what URIs of the store's paths begin with: ``file:``, ``s3://`` …
        store: the store; None for the local disk.
        root: the path in the store.
        account: ``@account`` of an Azure URI, which follows the container; empty for other schemes.
    """

    prefix: str
    store: FileStore | None
    root: str
    account: str


def resolve(text: str, options: Mapping[str, Any]) -> ResolvedPath:
    """Resolve a path or URI to a store and a path in it; options that are references are those of other stores."""
    if not text:
        raise InvalidOptionError("empty path", remedy="give the table's base path")
    options = {name: value for name, value in options.items() if not is_reference(value)}
    scheme, separator, _ = text.partition(":")
    is_plain = not separator or "/" in scheme or len(scheme) < 2
    by_fsspec = _is_by_fsspec(options)
    if not by_fsspec and _is_local(text):
        storage_options(options)  # a mistyped one must not go unnoticed
    if is_plain:
        return ResolvedPath("file:", None, os.path.abspath(text).rstrip("/") or "/", "")
    scheme = scheme.lower()
    if scheme in ("file", "local"):
        path = text.partition(":")[2]
        if path.startswith("//"):
            host, path = _after_authority(text)
            if host not in ("", "localhost"):
                raise InvalidOptionError(
                    f"a local path on the host {host!r}", path=text, remedy=f"write {scheme}:///… with three slashes"
                )
            path = unquote(path)
        return ResolvedPath("file:", None, os.path.abspath(path).rstrip("/") or "/", "")
    has_cache = bool(options.get(names.CACHE_FOLDER.name))
    options = {name: value for name, value in options.items() if name not in _NOT_OF_STORES}
    if has_cache and (by_fsspec or (scheme not in OBJECT_SCHEMES and scheme != "hdfs")):
        raise InvalidOptionError(
            f"{names.CACHE_FOLDER.name} is for S3, GCS, Azure and HDFS", path=text, remedy="use one of fsspec's caches"
        )
    if by_fsspec:
        return _fsspec_store(scheme, text, options)
    if (kind := OBJECT_SCHEMES.get(scheme)) is not None:
        authority, below = _after_authority(without_user_info(text))
        container, at, account = authority.rpartition("@")
        bucket = container or account
        if not bucket:
            raise InvalidOptionError("the URI names no bucket", path=text, remedy=f"write {scheme}://bucket/path")
        store = object_store(kind, bucket, account if container else "", f"{scheme}://", options)
        root = f"{bucket}{_normal(below, text)}"
        return ResolvedPath(f"{scheme}://", store, root, f"{at}{account}" if container else "")
    if scheme == "hdfs":
        authority, below = _after_authority(text)
        prefix = f"hdfs://{authority}"
        return ResolvedPath(prefix, hdfs_store(prefix, options), _normal(below, text), "")
    return _fsspec_store(scheme, text, options)


def _normal(path: str, text: str) -> str:
    """A path in a store without doubled and trailing slashes, as Hadoop has them too.

    Raises:
        InvalidOptionError: a part of it is ``.`` or ``..``.
    """
    parts = [part for part in path.split("/") if part]
    if "." in parts or ".." in parts:
        raise InvalidOptionError("the path has . or .. in it", path=text, remedy="give it without them")
    return "".join(f"/{part}" for part in parts)


def _after_authority(text: str) -> tuple[str, str]:
    """Authority and path of a URI; ``?`` and ``#`` are characters of the path, as in names of files and objects."""
    authority, slash, path = text.partition(":")[2].removeprefix("//").partition("/")
    return authority, slash + path


def _fsspec_store(scheme: str, text: str, options: Mapping[str, Any]) -> ResolvedPath:
    try:
        import fsspec
    except ImportError as error:
        raise MissingDependencyError(
            f"scheme {scheme!r} needs fsspec", path=text, remedy="pip install 'hudi_hive[fsspec]'"
        ) from error
    if OBJECT_SCHEMES.get(scheme) == "s3":
        text = without_user_info(text)  # its keys are among the options
    try:
        filesystem, root = fsspec.core.url_to_fs(text, **options)
    except (ValueError, ImportError, OSError) as error:
        message = redact(f"no file system for scheme {scheme!r}: {error}", secret_values(options))
        raise StorageError(message, path=text) from without_secrets(error, options)
    root = root.rstrip("/")
    prefix = text[: text.index("://") + 3] if not root.startswith("/") else f"{scheme}://"
    return ResolvedPath(prefix, ArrowStore(pafs.PyFileSystem(pafs.FSSpecHandler(filesystem))), root, "")
