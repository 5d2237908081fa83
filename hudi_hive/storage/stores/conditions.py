"""Tries whether an object store minds the conditions of puts: some servers ignore them, others refuse them.

What is put in such a try is what the file holds already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import obstore

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Client

_STALE: Final[Any] = {"e_tag": '"0"', "version": "1"}
"""A version that no file has."""


def minds_absence(create: Callable[[], None]) -> bool:
    """Whether a file that is there is not created again.

    Args:
        create: puts it under the condition that it is absent.
    """
    try:
        create()
    except obstore.exceptions.AlreadyExistsError:
        return True
    return False


def minds_version(client: Client, key: str, data: bytes, attributes: Mapping[str, str]) -> bool:
    """Whether a file is not replaced under the condition that it is of another version.

    Args:
        client: of the bucket.
        key: of the file.
        data: what it holds.
        attributes: what attributes it has.
    """
    try:
        obstore.put(client, key, data, mode=_STALE, attributes=dict(attributes), use_multipart=False)
    except (obstore.exceptions.PreconditionError, obstore.exceptions.AlreadyExistsError, FileNotFoundError):
        return True
    return False
