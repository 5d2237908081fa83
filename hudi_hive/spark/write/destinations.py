"""Tagged rows of a write and how many of them each file group gets, and the groups that they are written to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from hudi_hive.spark.bridge import step_jobs
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write.tasks import FILE_ID
from hudi_hive.table import MetaClient
from hudi_hive.write.files import PARTITION_PATH, RECORD_KEY, TargetSlice, WriteHandle
from hudi_hive.write.index import one_array
from hudi_hive.write.writers import newest_slices


@dataclass(frozen=True)
class Destinations:
    """The file groups and tasks of the rows of a write.

    Attributes:
        assignment: file groups for new rows.
        groups: all groups that get lines, by number.
        handles: what happens to each.
    """

    assignment: pa.Table
    groups: pa.Table
    handles: tuple[tuple[WriteHandle, TargetSlice], ...]

    def merged(self) -> list[TargetSlice]:
        """The groups whose base files are read."""
        return [target for handle, target in self.handles if handle is WriteHandle.MERGE]


@dataclass(frozen=True)
class TaggedRows:
    """Rows with their file groups.

    Attributes:
        frame: the rows.
        lines: ``partition``, ``file_id`` (null: any will do) and ``count`` of rows.
        partitions: the partitions that the rows came with.
        untagged: rows of one key may be several, and no index was asked for those without a group.
    """

    frame: DataFrame
    lines: pa.Table
    partitions: list[str]
    untagged: bool

    def split(self, client: MetaClient) -> _Split:
        """The rows of groups that the table has, and the frame of the others; None for none.

        Args:
            client: the table as of the write.
        """
        bound = self.lines.filter(pc.is_valid(self.lines.column("file_id")))
        slices = newest_slices(client, pc.unique(bound.column("partition")).to_pylist())
        existing = set(zip(slices["partition"].to_pylist(), slices["file_id"].to_pylist(), strict=True))
        named = zip(bound["partition"].to_pylist(), bound["file_id"].to_pylist(), strict=True)
        if not self.lines.num_rows:
            return _Split(self, None)
        if not bound.num_rows or not all(group in existing for group in named):
            return _Split(None, self.frame)
        if bound.num_rows == self.lines.num_rows:
            return _Split(self, None)
        frame = self.frame.where(sql.col(FILE_ID).isNotNull())
        paths: list[str] = sorted(pc.unique(bound.column("partition")).to_pylist())
        return _Split(TaggedRows(frame, bound, paths, self.untagged), self.frame.where(sql.col(FILE_ID).isNull()))

    def without_keys_of(self, rest: DataFrame) -> tuple[TaggedRows | None, DataFrame]:
        """These rows without those whose keys other rows have as well, and those others with them."""
        keys = rest.select(RECORD_KEY).distinct()
        others = rest.unionByName(self.frame.join(keys, RECORD_KEY, "left_semi"))
        there = with_lines(self.frame.join(keys, RECORD_KEY, "left_anti"))
        return there if there.lines.num_rows else None, others

    def joined(self, other: TaggedRows) -> TaggedRows:
        """These rows and others."""
        return TaggedRows(
            self.frame.unionByName(other.frame, allowMissingColumns=True),
            pa.concat_tables([self.lines, other.lines]),
            sorted({*self.partitions, *other.partitions}),
            self.untagged or other.untagged,
        )


class _Split(NamedTuple):
    """Rows of groups that the table has, and other rows; None for none."""

    there: TaggedRows | None
    rest: DataFrame | None


def with_lines(frame: DataFrame, partitions: list[str] | None = None) -> TaggedRows:
    """Tagged rows with their numbers, which a job counts.

    Args:
        frame: the rows.
        partitions: that rows came with, where they were combined and looked up; None for rows that were not.
    """
    with step_jobs(frame.sparkSession.sparkContext, "look records up"):
        lines = SPARK.to_arrow(frame.groupBy(PARTITION_PATH, FILE_ID).count()).combine_chunks()
    lines = lines.rename_columns(["partition", "file_id", "count"])
    paths: list[str] = pc.unique(one_array(lines.column("partition"))).to_pylist()
    return TaggedRows(frame, lines, sorted(paths) if partitions is None else partitions, partitions is None)


def partitions_of(prepared: DataFrame) -> list[str]:
    """Partitions that rows name."""
    with step_jobs(prepared.sparkSession.sparkContext, "find partitions"):
        paths = [row[0] for row in prepared.select(PARTITION_PATH).distinct().collect()]
    return sorted(path for path in paths if path is not None)


__all__ = ["Destinations", "TaggedRows", "partitions_of", "with_lines"]
