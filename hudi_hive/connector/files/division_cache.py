"""The division of a source's whole plan, made anew only when one of its files is another one than it was."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from hudi_hive.connector.files.division import FOOTERS, DividedPlan, EngineReader, divide
from hudi_hive.connector.files.footers import Footer
from hudi_hive.connector.files.merged_slices import MergedSlices
from hudi_hive.plan import ScanPlan
from hudi_hive.storage import Storage


@dataclass(frozen=True, slots=True)
class _Division:
    """A plan that was divided, whose slices all went to the engine.

    Attributes:
        plan, shown: what was divided.
        divided: into what.
        files: paths and sizes of the base files.
        footers: what their footers said.
    """

    plan: ScanPlan
    shown: pa.Schema
    divided: DividedPlan
    files: tuple[tuple[str, int | None], ...]
    footers: tuple[Footer | None, ...]


class DivisionCache:
    """Divides the plans of a source for one engine; what it did last with all slices stands while their files do.

    Args:
        storage: rooted at the table's base path.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._merger = MergedSlices(storage)
        self._last: _Division | None = None

    def divide(self, plan: ScanPlan, shown: pa.Schema, reader: EngineReader) -> DividedPlan:
        """Divide a plan; see :func:`~hudi_hive.connector.files.divide`.

        Args:
            plan, shown: as there.
            reader: of the engine, of the same settings each time.

        Raises:
            UnsafePathError: a file is a symbolic link out of the table.
        """
        last = self._last
        if last is not None and last.plan is plan and last.shown.equals(shown):
            footers = self._footers(last.files)
            if all(one is other for one, other in zip(footers, last.footers, strict=True)):
                return last.divided
        divided = divide(self._storage, plan, shown, reader, self._merger)
        if divided.sets and not divided.has_rest:
            columns = divided.by_engine.files.select(["path", "size"]).columns
            files = tuple(zip(*(column.to_pylist() for column in columns), strict=True))
            self._last = _Division(plan, shown, divided, files, self._footers(files))
        return divided

    def _footers(self, files: tuple[tuple[str, int | None], ...]) -> tuple[Footer | None, ...]:
        return tuple(FOOTERS.footer(self._storage, path, size) for path, size in files)
