"""File sets as Polars' own lazy scans of Parquet files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_hive.connector.files.division import DividedPlan, FileSet, Origin, SetColumn
from hudi_hive.names import COMMIT_TIME_COLUMN

if TYPE_CHECKING:
    import polars as pl


class PolarsFiles:
    """Whether Polars reads file sets as we do, and how it is asked to.

    Args:
        schema: the columns that are shown.
    """

    def __init__(self, schema: pa.Schema) -> None:
        import polars

        empty = polars.from_arrow(schema.empty_table())
        assert isinstance(empty, polars.DataFrame)
        self._types = empty.schema
        self._polars = polars

    def accepts_path(self, _: str) -> bool:
        """Any path is that of one file."""
        return True

    def accepts(self, files: FileSet) -> bool:
        """Whether Polars reads the columns of a set with the types of our Arrow columns."""
        names = files.schema.names
        if len(set(names)) < len(names):
            return False
        try:
            types = self._scan(files.paths[:1]).collect_schema()
        except (self._polars.exceptions.PolarsError, OSError):
            return False  # our reader says what is wrong, if anything is
        return all(
            column.origin is not Origin.SAME or types.get(column.source) == self._types[column.name]
            for column in files.columns
        )

    def frames(self, divided: DividedPlan) -> list[pl.LazyFrame]:
        """A lazy frame for each set of a plan, with the shown columns."""
        frames = []
        for files in divided.sets:
            frame = self._scan(files.paths)
            if divided.commit_times is not None:
                frame = frame.filter(self._polars.col(COMMIT_TIME_COLUMN).is_in(list(divided.commit_times)))
            frames.append(frame.select([self._column(column) for column in files.columns]))
        return frames

    def _scan(self, paths: list[str]) -> pl.LazyFrame:
        return self._polars.scan_parquet(list(paths), glob=False, hive_partitioning=False)

    def _column(self, column: SetColumn) -> pl.Expr:
        kind = self._types[column.name]
        if column.origin is Origin.PATH and column.value is not None:
            value = self._polars.lit(column.value.as_py()).cast(kind)
            return value.alias(column.name)
        if column.origin is Origin.SAME:
            return self._polars.col(column.source).alias(column.name)
        if column.origin is Origin.WIDER:
            return self._polars.col(column.source).cast(kind).alias(column.name)
        return self._polars.lit(None).cast(kind).alias(column.name)
