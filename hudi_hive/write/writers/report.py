"""The result of a write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import HudiHiveError
from hudi_hive.notebook_html import facts_html
from hudi_hive.timeline import Instant
from hudi_hive.write.options import Operation
from hudi_hive.write.services import InlineReport


@dataclass(frozen=True)
class WriteReport:
    """The result of a write.

    Attributes:
        instant: the completed instant.
        operation: what was asked for.
        files: number of files written.
        inserted, updated, deleted: numbers of records.
        bytes_written: bytes of the files.
        statuses: a row a file, ``WRITE_STATUS_SCHEMA``.
        services: what the table services behind the commit did; None where none were asked.
        failed: steps behind the commit that failed, and why; the commit stands. Services under their names, letting go
            of ``lock``, ``heartbeat`` and ``markers``, ``sync``, ``refresh`` of the table and ``on_commit``.
    """

    instant: Instant
    operation: Operation
    files: int
    inserted: int
    updated: int
    deleted: int
    bytes_written: int
    statuses: pa.Table = field(repr=False)
    services: InlineReport | None = None
    failed: Mapping[str, HudiHiveError] = field(default_factory=dict)

    def summary(self) -> str:
        """What was written, as one line: operation, instant, records, files and bytes."""
        counts = ((self.inserted, "inserted"), (self.updated, "updated"), (self.deleted, "deleted"))
        records = ", ".join(f"{count:,} {what}" for count, what in counts if count) or "no records"
        operation = str(self.operation.value).replace("_", " ")
        return f"{operation} {self.instant.requested}: {records}; {self.files:,} files, {self.bytes_written:,} bytes"

    def _repr_html_(self) -> str:
        facts = {
            "instant": self.instant.requested,
            "inserted": self.inserted,
            "updated": self.updated,
            "deleted": self.deleted,
            "files": self.files,
            "bytes": self.bytes_written,
            **{f"failed: {step}": error for step, error in self.failed.items()},
        }
        return facts_html(f"WriteReport: {str(self.operation.value).replace('_', ' ')}", facts)

    @classmethod
    def of(cls, instant: Instant, operation: Operation, statuses: pa.Table) -> WriteReport:
        """Of the statuses of a commit, or of one that is about to complete."""

        def total(column: str) -> int:
            return int(pc.sum(statuses.column(column)).as_py() or 0)

        return cls(
            instant,
            operation,
            files=statuses.num_rows,
            inserted=total("num_inserts"),
            updated=total("num_updates"),
            deleted=total("num_deletes"),
            bytes_written=total("size"),
            statuses=statuses,
        )
