"""The kernel's advisory locks on open files and folders of the local disk (``flock``), where a system has them."""

from __future__ import annotations

import errno
from typing import Final

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock
    fcntl = None  # type: ignore[assignment]

HAS_FLOCK: Final = fcntl is not None
"""Whether the system knows these locks."""

_NOT_LOCKABLE: Final = frozenset(
    {errno.EBADF, errno.EINVAL, errno.EISDIR, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
)


def try_flock(descriptor: int) -> bool | None:
    """Take the exclusive lock on an open file or folder if it is free.

    Returns:
        Whether it was taken; None where the file system cannot lock this.

    Raises:
        OSError: it cannot be told.
    """
    if fcntl is None:  # pragma: no cover - Windows
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        if error.errno in _NOT_LOCKABLE:
            return None
        raise
    return True


def unlock(descriptor: int) -> None:
    """Let go of the lock, also of copies of the descriptor in other processes.

    Raises:
        OSError: the file system failed.
    """
    fcntl.flock(descriptor, fcntl.LOCK_UN)
