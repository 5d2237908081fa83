"""Resolves paths and URIs to file systems."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from hudi_hive.errors import InvalidOptionError, MissingDependencyError, StorageError
from hudi_hive.redaction import redact, redact_options, secret_values
from hudi_hive.storage.links import FOLLOW_LINKS

_ARROW_SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfss"}

_CONTAINERS = frozenset({"abfs", "abfss", "wasb", "wasbs"})
# A secret key may have slashes in it; then what stands before them is no port.
_USER_INFO = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/?#]*|[^/@:]+:(?!\d+(?:[/?#]|$))[^?#]*?)@(?=[^/@]*(?:/|$))")


class Credentials(dict[str, Any]):
    """Storage options, printed without their secrets."""

    def __repr__(self) -> str:
        return repr(redact_options(self))

    __str__ = __repr__


def without_secrets(error: BaseException, options: Mapping[str, Any] | None = None) -> BaseException | None:
    """Return an error for use as a cause; None if its text, which tracebacks show, contains a secret."""
    text = f"{error}"
    return error if redact(text, secret_values(options or {})) == text else None


def has_user_info(text: str) -> bool:
    """Whether a URI has user information in front of its host."""
    match = _USER_INFO.match(text)
    return match is not None and match[1].lower() not in _CONTAINERS


def with_user_info(text: str, options: dict[str, Any]) -> dict[str, Any]:
    """Add the keys in front of the bucket of an S3 URI to storage options, which take precedence."""
    match = _USER_INFO.match(text)
    if match is None or _ARROW_SCHEMES.get(match[1].lower()) != "s3":
        return options
    key, colon, secret = match[2].partition(":")
    if not colon:
        return options
    names = ("key", "secret") if options.get("use_fsspec") else ("access_key", "secret_key")
    return {**dict(zip(names, (unquote(key), unquote(secret)), strict=True)), **options}


def without_user_info(text: str) -> str:
    """A URI without user information; the container of an Azure account is kept."""
    match = _USER_INFO.match(text)
    if match is None or match[1].lower() in _CONTAINERS:
        return text
    return f"{match[1]}://{text[match.end() :]}"


class ResolvedPath(NamedTuple):
    """A path or URI as a file system and a path in it.

    Attributes:
        prefix: what URIs of the file system's paths begin with: ``file:``, ``s3://`` …
        filesystem: the file system.
        root: the path in the file system.
        account: ``@account`` of an Azure URI, which follows the container; empty for other schemes.
    """

    prefix: str
    filesystem: pafs.FileSystem
    root: str
    account: str


def resolve(text: str, options: Mapping[str, Any]) -> ResolvedPath:
    """Resolve a path or URI to a file system and a path in it."""
    if not text:
        raise InvalidOptionError("empty path", remedy="give the table's base path")
    scheme, separator, _ = text.partition(":")
    if not separator or "/" in scheme or len(scheme) < 2:
        return ResolvedPath("file:", pafs.LocalFileSystem(), os.path.abspath(text).rstrip("/") or "/", "")
    scheme = scheme.lower()
    if scheme in ("file", "local"):
        path = text.partition(":")[2]
        path = unquote(_after_authority(text)[1]) if path.startswith("//") else path
        return ResolvedPath("file:", pafs.LocalFileSystem(), os.path.abspath(path).rstrip("/") or "/", "")
    options = {name: value for name, value in options.items() if name != FOLLOW_LINKS}
    authority, below = _after_authority(text if scheme not in _ARROW_SCHEMES else without_user_info(text))
    if scheme in _ARROW_SCHEMES and not options.get("use_fsspec"):
        filesystem = _arrow_filesystem(_ARROW_SCHEMES[scheme], authority, options, text)
        # abfs: the file system is that of the account, and its paths begin with the container alone.
        container, at, account = authority.rpartition("@")
        bucket = container or account
        return ResolvedPath(
            f"{scheme}://", filesystem, f"{bucket}{below}".rstrip("/"), f"{at}{account}" if container else ""
        )
    if scheme == "hdfs":
        try:
            filesystem, path = pafs.FileSystem.from_uri(text)
        except (OSError, pa.ArrowException) as error:
            raise StorageError(
                f"cannot reach HDFS: {error}", path=text, remedy="set HADOOP_HOME and CLASSPATH"
            ) from without_secrets(error)
        user, at, host = authority.rpartition("@")
        return ResolvedPath(f"hdfs://{user.partition(':')[0]}{at}{host}", filesystem, path.rstrip("/"), "")
    return _fsspec_filesystem(scheme, text, options)


def _after_authority(text: str) -> tuple[str, str]:
    """Authority and path of a URI; ``?`` and ``#`` are characters of the path, as in names of files and objects."""
    authority, slash, path = text.partition(":")[2].removeprefix("//").partition("/")
    return authority, slash + path


def _arrow_filesystem(kind: str, netloc: str, options: Mapping[str, Any], text: str) -> pafs.FileSystem:
    try:
        if kind == "s3":
            return pafs.S3FileSystem(**options)
        if kind == "gs":
            return pafs.GcsFileSystem(**options)
        account = netloc.rpartition("@")[2].split(".")[0]
        return pafs.AzureFileSystem(**{"account_name": account, **options})
    except (TypeError, AttributeError, ValueError, OSError) as error:
        message = redact(f"cannot make the {kind} file system: {error}", secret_values(options))
        raise StorageError(message, path=text) from without_secrets(error, options)


def _fsspec_filesystem(scheme: str, text: str, options: Mapping[str, Any]) -> ResolvedPath:
    try:
        import fsspec
    except ImportError as error:
        raise MissingDependencyError(
            f"scheme {scheme!r} needs fsspec", path=text, remedy="pip install 'hudi_hive[fsspec]'"
        ) from error
    kwargs = {k: v for k, v in options.items() if k != "use_fsspec"}
    try:
        filesystem, root = fsspec.core.url_to_fs(text, **kwargs)
    except (ValueError, ImportError, OSError) as error:
        message = redact(f"no file system for scheme {scheme!r}: {error}", secret_values(options))
        raise StorageError(message, path=text) from without_secrets(error, options)
    root = root.rstrip("/")
    prefix = text[: text.index("://") + 3] if not root.startswith("/") else f"{scheme}://"
    return ResolvedPath(prefix, pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)), root, "")
