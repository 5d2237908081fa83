"""Which file system serves a path or URI, and how the paths of that file system begin."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from hudi_hive.errors import InvalidOptionError, MissingDependencyError, StorageError
from hudi_hive.storage.links import FOLLOW_LINKS

_ARROW_SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfss"}


def resolve(text: str, options: Mapping[str, Any]) -> tuple[str, pafs.FileSystem, str, str]:
    """Prefix for URIs, file system, root path and ``@account`` (abfs; else empty) of a user's path or URI."""
    if not text:
        raise InvalidOptionError("empty path", remedy="give the table's base path")
    scheme, separator, _ = text.partition(":")
    if not separator or "/" in scheme or len(scheme) < 2:
        return "file:", pafs.LocalFileSystem(), os.path.abspath(text).rstrip("/") or "/", ""
    scheme = scheme.lower()
    if scheme in ("file", "local"):
        path = text.partition(":")[2]
        path = unquote(_after_authority(text)[1]) if path.startswith("//") else path
        return "file:", pafs.LocalFileSystem(), os.path.abspath(path).rstrip("/") or "/", ""
    options = {name: value for name, value in options.items() if name != FOLLOW_LINKS}
    authority, below = _after_authority(text)
    if scheme in _ARROW_SCHEMES and not options.get("use_fsspec"):
        filesystem = _arrow_filesystem(_ARROW_SCHEMES[scheme], authority, options, text)
        # abfs: the file system is that of the account, and its paths begin with the container alone.
        container, at, account = authority.rpartition("@")
        bucket = container or account
        return f"{scheme}://", filesystem, f"{bucket}{below}".rstrip("/"), f"{at}{account}" if container else ""
    if scheme == "hdfs":
        try:
            filesystem, path = pafs.FileSystem.from_uri(text)
        except (OSError, pa.ArrowException) as error:
            raise StorageError(
                f"cannot reach HDFS: {error}", path=text, remedy="set HADOOP_HOME and CLASSPATH"
            ) from error
        return f"hdfs://{authority}", filesystem, path.rstrip("/"), ""
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
        raise StorageError(f"cannot make the {kind} file system: {error}", path=text) from error


def _fsspec_filesystem(scheme: str, text: str, options: Mapping[str, Any]) -> tuple[str, pafs.FileSystem, str, str]:
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
        raise StorageError(f"no file system for scheme {scheme!r}: {error}", path=text) from error
    root = root.rstrip("/")
    prefix = text[: text.index("://") + 3] if not root.startswith("/") else f"{scheme}://"
    return prefix, pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)), root, ""
