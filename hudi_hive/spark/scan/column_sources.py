"""Where the columns of a scan come from: Spark takes some from partition paths and reads the others from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DateType, StructType

from hudi_hive.errors import PartitionValueError
from hudi_hive.table.keys import DEFAULT_PARTITION


@dataclass(frozen=True)
class ColumnSources:
    """The columns of a scan by where their values come from.

    Attributes:
        data: columns that are read from files.
        path: partition columns that Spark takes from partition paths, with their types.
        hidden: partition columns among ``data`` whose values the paths hold, too.
    """

    data: StructType
    path: StructType
    hidden: StructType

    @cached_property
    def in_paths(self) -> StructType:
        """All columns whose values partition paths hold."""
        return StructType([*self.path.fields, *self.hidden.fields])

    @cached_property
    def all(self) -> StructType:
        """The columns of files, then those of partition paths."""
        return StructType([*self.data.fields, *self.path.fields])

    def renamed(self, texts: pa.Table) -> pa.Table:
        """Partition values under the names that Spark's schema gives them: the catalog may differ in case.

        Args:
            texts: a column for each partition field, a row for each partition.
        """
        by_lower = {name.lower(): name for name in self.in_paths.names}
        return texts.rename_columns([by_lower.get(name.lower(), name) for name in texts.column_names])

    def ambiguous(self, texts: pa.Table, names: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Partitions whose path leaves a hidden column's value open: the default partition holds "" beside null."""
        ambiguous = np.zeros(texts.num_rows, np.bool_)
        for name in set(names) & set(self.hidden.names):
            ambiguous |= pc.is_null(texts.column(name)).to_numpy()
        return ambiguous

    def other_readings(self, texts: pa.Table, names: Sequence[str]) -> list[pa.Table]:
        """What ambiguous partitions hold beside nulls: empty texts, and texts that are the folder's name.

        Returns:
            Tables like ``texts``, for all combinations of hidden columns.
        """
        readings = [texts]
        for name in sorted(set(names) & set(self.hidden.names)):
            column = texts.column(name)
            fills = [pc.fill_null(column, text) for text in ("", DEFAULT_PARTITION)]
            place = texts.schema.get_field_index(name)
            readings += [reading.set_column(place, name, fill) for reading in readings for fill in fills]
        return readings[1:]

    def check_dates(self, texts: pa.Table, names: Sequence[str], location: str) -> None:
        """Check the texts of date columns: Spark would read ``19723`` as the year, not as a day number.

        Raises:
            PartitionValueError: a text is no date; with the table's location.
        """
        for name in names:
            if isinstance(self.in_paths[name].dataType, DateType):
                fits = pc.fill_null(pc.match_substring_regex(texts.column(name), r"^\d{4}-\d{2}-\d{2}$"), True)
                if not pc.all(fits, min_count=0).as_py():
                    raise PartitionValueError(
                        f"partition column {name} is a date, but a partition path holds something else", path=location
                    )
