"""Locations as a metastore stores them, compared and joined.

A configured base path has often no scheme or authority (``/lake/t``) while the metastore stores one
(``hdfs://nameservice/lake/t``, ``file:/lake/t``): such pairs are the same place.
"""

from __future__ import annotations

import os
import posixpath
import re
from urllib.parse import urlsplit

from hudi_hive.redaction import without_credentials

_LOCATION = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", re.DOTALL)


def _split(location: str) -> tuple[str, str]:
    """Authority (empty when there is none) and normalised path; ``file:`` stands for the authority of local files."""
    match = _LOCATION.fullmatch(location)
    assert match is not None  # The pattern takes any text.
    scheme, authority, path = match.groups()
    if scheme is None and not location.startswith("/"):
        return "", posixpath.normpath(location)
    if scheme is None:
        authority, path = "", location
    # Only the parts in front of the path are taken: ``?`` and ``#`` are ordinary characters of a path.
    normal = "/" + posixpath.normpath(path or "/").lstrip("/")
    return ("file:" if (scheme or "").lower() == "file" else authority or ""), normal


def same_location(first: str, second: str) -> bool:
    """Whether two locations are the same place; schemes do not count (``s3`` and ``s3a``), nor a missing authority."""
    (authority, path), (other_authority, other_path) = _split(first), _split(second)
    return path == other_path and (authority == other_authority or not authority or not other_authority)


def absolute(base_path: str) -> str:
    """A base path for the metastore: as written, but absolute, with single slashes, none at its end, and no password.

    Object stores take ``a//b`` for another place than ``a/b``, while Hadoop's paths never hold double slashes.
    """
    base_path = without_credentials(base_path)
    if not urlsplit(base_path).scheme:
        base_path = os.path.abspath(base_path)
        return re.sub("/{2,}", "/", base_path).rstrip("/") or "/"
    match = _LOCATION.fullmatch(base_path)
    assert match is not None  # The pattern takes any text.
    scheme, authority, path = match.groups()
    place = "" if authority is None else f"//{authority}"
    return f"{scheme}:{place}{re.sub('/{2,}', '/', path)}".rstrip("/")


def path_of(location: str) -> str:
    """The path of a location, without scheme and authority."""
    return _split(location)[1]


def relative_to(base: str, location: str) -> str | None:
    """Path of a location relative to the base path, or None when it lies elsewhere."""
    (authority, path), (base_authority, base_path) = _split(location), _split(base)
    prefix = base_path.rstrip("/") + "/"
    if authority != base_authority and authority and base_authority:
        return None
    return path.removeprefix(prefix) if path.startswith(prefix) else None


def join(base: str, relative: str) -> str:
    """Location of a path below the base path."""
    return f"{base.rstrip('/')}/{relative}"


def qualified_like(location: str, model: str) -> str:
    """A location without a scheme, with the scheme and authority of another one that has them."""
    if urlsplit(location).scheme or not urlsplit(model).scheme:
        return location
    scheme, _, rest = model.partition(":")
    authority = f"//{rest[2:].partition('/')[0]}" if rest.startswith("//") else ""
    return f"{scheme}:{authority}{location}"
