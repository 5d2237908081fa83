"""The checkpoint file of a puller: up to where it has read, and the range that it is about to write."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from hudi_hive.errors import CheckpointError, InvalidOptionError
from hudi_hive.plan.core import CommitOffset
from hudi_hive.storage import Storage, try_flock

_TABLE: Final = "table"
_NEXT: Final = "next"
_MAX_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class PendingRange:
    """A range that was begun: it is written again under the same name until the checkpoint has passed it.

    Attributes:
        end: time of its last commit, inclusive.
        file: name of the file that its rows go to.
    """

    end: str
    file: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The content of a checkpoint file.

    Attributes:
        offset: all writes up to it have been read.
        table: name of the table; None when the file does not say.
        pending: the range that was begun, or None.
    """

    offset: CommitOffset
    table: str | None = None
    pending: PendingRange | None = None

    def to_text(self) -> str:
        """One line, which a stream's checkpoint may hold as well."""
        fields: dict[str, Any] = json.loads(self.offset.to_json())
        if self.table is not None:
            fields[_TABLE] = self.table
        if self.pending is not None:
            fields[_NEXT] = {"time": self.pending.end, "file": self.pending.file}
        return json.dumps(fields) + "\n"

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """Parse what a puller wrote, the offset of a stream, or the bare time of ``ScanPlan.checkpoint``.

        Raises:
            CheckpointError: none of them.
        """
        line = text.strip()
        head, _, rest = line.partition("\n")
        if head == "v1":  # the first line of Spark's own checkpoint files
            line = rest.strip()
        if line.isascii() and line.isdigit():
            return cls(CommitOffset(line, is_commit=False))
        offset = CommitOffset.parse(line)
        fields = json.loads(line)
        table, pending = fields.get(_TABLE), fields.get(_NEXT)
        if table is not None and not isinstance(table, str):
            raise CheckpointError("the checkpoint's table is no text", remedy="start with a new checkpoint")
        if pending is None:
            return cls(offset, table)
        end, file = (pending.get("time"), pending.get("file")) if isinstance(pending, dict) else (None, None)
        if not isinstance(end, str) or not isinstance(file, str) or "/" in file or not file.endswith(".parquet"):
            raise CheckpointError("the checkpoint's pending range is damaged", remedy="start with a new checkpoint")
        return cls(offset, table, PendingRange(end, file))


class CheckpointFile:
    """A checkpoint file on local disk, which one puller at a time uses.

    Args:
        path: the file; it need not be there yet, its folder must.

    Raises:
        InvalidOptionError: the path is of a store, or names a folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        text = os.fspath(path)
        if "://" in text or not text.strip():
            raise InvalidOptionError(
                "a checkpoint is a file on local disk", remedy=f"name a local file in place of {text!r}"
            )
        self.path = Path(os.path.abspath(text))
        if self.path.is_dir():
            raise InvalidOptionError("the checkpoint is a folder", remedy=f"name a file in {str(self.path)!r}")
        self._storage = Storage(str(self.path.parent))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other pullers out: by the kernel's lock on a file beside the checkpoint, which ends with its process.

        Raises:
            CheckpointError: another puller has it, or the folder cannot be written.
        """
        try:
            descriptor = os.open(self.path.with_name(f".{self.path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint cannot be written: {error.strerror}",
                path=str(self.path),
                remedy="make its folder, and let the puller write there",
            ) from error
        try:
            if not self._try_lock(descriptor):
                raise CheckpointError(
                    "another puller works with this checkpoint",
                    path=str(self.path),
                    remedy="wait for it, or use a checkpoint of one's own",
                )
            yield
        finally:
            os.close(descriptor)

    def _try_lock(self, descriptor: int) -> bool:
        said = "it knows no locks"
        try:
            taken = try_flock(descriptor)
        except OSError as error:
            taken, said = None, str(error.strerror)
        if taken is None:
            raise CheckpointError(
                f"the checkpoint cannot be locked: {said}",
                path=str(self.path),
                remedy="keep it on a file system with locks",
            )
        return taken

    def read(self) -> Checkpoint | None:
        """The checkpoint; None when there is no file yet.

        Raises:
            CheckpointError: the file is no checkpoint.
        """
        name = self.path.name
        if not self._storage.exists(name):
            return None
        if self._storage.size(name) > _MAX_BYTES:
            raise CheckpointError("not a checkpoint: the file is too large", path=str(self.path))
        try:
            return Checkpoint.parse(self._storage.read_bytes(name).decode("utf-8"))
        except UnicodeDecodeError as error:
            raise CheckpointError("not a checkpoint: the file is no text", path=str(self.path)) from error
        except CheckpointError as error:
            raise CheckpointError(error.message, path=str(self.path), remedy=error.remedy) from error

    def write(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint in one step that outlasts a loss of power.

        Raises:
            StorageError: it cannot be written.
        """
        self._storage.replace_bytes(self.path.name, checkpoint.to_text().encode())

    def advance(self, checkpoint: Checkpoint, end: str) -> None:
        """Write the checkpoint behind a range.

        Raises:
            StorageError: it cannot be written.
        """
        self.write(replace(checkpoint, offset=CommitOffset(end), pending=None))
