"""Reads the record keys of file slices, from base files and log files.

Engines put new records into log files only with an index that can find them there; which one wrote a table is not
written down anywhere, so that log files are always looked into.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from hudi_hive.formats.base import BaseFile, open_base_file
from hudi_hive.read.merge import record_keys
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.logs import RECORD_KEY, BlockRange, LogData, scan_logs
from hudi_hive.table.merge import MergeSpec
from hudi_hive.timeline import Timeline
from hudi_hive.write.index.tables import one_array


@dataclass(frozen=True)
class Slice:
    """A file slice whose keys are read.

    Attributes:
        partition: partition path.
        file_id: its file group.
        base_file: name of the base file, or None.
        base_size: its bytes.
        log_files: names of log files, in the order of reading.
        log_sizes: bytes of each.
    """

    partition: str
    file_id: str
    base_file: str | None
    base_size: int = 0
    log_files: tuple[str, ...] = ()
    log_sizes: tuple[int, ...] = ()

    @property
    def base_path(self) -> str | None:
        """The base file relative to the table's base path."""
        if self.base_file is None:
            return None
        return f"{self.partition}/{self.base_file}" if self.partition else self.base_file

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return self.base_size + sum(self.log_sizes)


def slices_of(table: pa.Table) -> list[Slice]:
    """Slices of a table of ``SLICE_SCHEMA``."""
    return [
        Slice(
            partition=row["partition"],
            file_id=row["file_id"],
            base_file=row["base_file"],
            base_size=row["base_size"] or 0,
            log_files=tuple(row["log_files"] or ()),
            log_sizes=tuple(row["log_sizes"] or ()),
        )
        for row in table.to_pylist()
    ]


@dataclass(frozen=True)
class KeySource:
    """Reads the record keys of slices; it can be pickled.

    Attributes:
        storage: rooted at the table's base path.
        timeline: tells which blocks of log files count.
        spec: what makes up the keys of a table without meta columns; None for one with them.
    """

    storage: Storage
    timeline: Timeline = field(repr=False)
    spec: MergeSpec | None

    @classmethod
    def of(cls, client: MetaClient) -> KeySource:
        """The source of a table's keys.

        Raises:
            UnsupportedTableError: the table has neither meta columns nor key fields.
        """
        spec = None if client.config.populate_meta_fields else MergeSpec.from_config(client.config)
        return cls(client.storage, client.timeline, spec)

    @property
    def columns(self) -> Sequence[str]:
        """Columns that hold the keys."""
        return (RECORD_KEY,) if self.spec is None else self.spec.key_fields

    def keys(self, part: Slice, base: BaseFile | None = None) -> Iterator[pa.Array]:
        """Keys of a slice's records as arrays of text: of its base file, then of its log files' records.

        A key may come several times.

        Args:
            part: the slice.
            base: its base file, if it is open already.

        Raises:
            FileVanishedError: a file of it is gone.
            CorruptFileError: a file cannot be decoded.
        """
        yield from self.base_keys(part, base)
        yield from self.log_keys(part)

    def base_keys(self, part: Slice, base: BaseFile | None = None) -> Iterator[pa.Array]:
        """Keys of all rows of a slice's base file, in their order; arguments and errors as of :meth:`keys`."""
        path = part.base_path
        if base is not None:
            yield from self._base(base)
        elif path is not None:
            with open_base_file(self.storage, path, size=part.base_size) as file:
                yield from self._base(file)

    def log_keys(self, part: Slice) -> Iterator[pa.Array]:
        """Keys of the records in a slice's log files."""
        if not part.log_files:
            return
        names = [name.partition(".")[0] for name in self.columns]
        logs = scan_logs(
            self.storage,
            part.partition,
            part.log_files,
            blocks=BlockRange(self.timeline),
            columns=names,
            sizes=part.log_sizes or None,
        )
        for block in logs.blocks:
            if isinstance(block, LogData) and block.batch.num_rows:
                yield self._of(block.batch, block.path)

    def _base(self, file: BaseFile) -> Iterator[pa.Array]:
        names = list(dict.fromkeys(name.partition(".")[0] for name in self.columns))
        for batch in file.batches(names):
            yield self._of(batch, file.path)

    def _of(self, batch: pa.RecordBatch, path: str) -> pa.Array:
        if self.spec is None:
            column = one_array(batch.column(RECORD_KEY))
            return column if pa.types.is_string(column.type) else column.cast(pa.string())
        return record_keys(batch, self.spec, path)
