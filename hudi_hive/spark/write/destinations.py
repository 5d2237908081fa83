"""Tagged rows of a write and how many of them each file group gets, and the groups that they are written to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from hudi_hive.spark.bridge import from_arrow_schema, map_in_arrow, repartition_by_number, step_jobs
from hudi_hive.spark.versions import SPARK
from hudi_hive.spark.write.file_steps import PlaceRows, WriteFileGroups
from hudi_hive.spark.write.located_rows import GROUP_LINES, LINES, TAGGED, PackTagged
from hudi_hive.spark.write.packed_rows import NUMBER, PACKED
from hudi_hive.spark.write.rows import in_session_of_steps, parallelism, statuses_of
from hudi_hive.spark.write.tasks import FILE_ID, IS_NEW, PARTITIONS
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
        frame: the rows; packed ones where they were looked up.
        lines: ``partition``, ``file_id`` (null: any will do), ``is_new`` (null: to be looked up) and ``count`` of rows.
        partitions: the partitions that the rows came with.
        untagged: rows of one key may be several, and no index was asked for those without a group.
    """

    frame: DataFrame
    lines: pa.Table
    partitions: list[str]
    untagged: bool

    def split(self, client: MetaClient) -> _Split:
        """The rows of groups that the table has and new ones, and the frame of those to be looked up; None for none.

        Args:
            client: the table as of the write.
        """
        bound = self.lines.filter(pc.is_valid(self.lines.column("file_id")))
        slices = newest_slices(client, pc.unique(bound.column("partition")).to_pylist())
        existing = set(zip(slices["partition"].to_pylist(), slices["file_id"].to_pylist(), strict=True))
        named = zip(bound["partition"].to_pylist(), bound["file_id"].to_pylist(), strict=True)
        if not self.lines.num_rows:
            return _Split(self, None, 0)
        settled = self.lines.filter(pc.is_valid(self.lines.column("is_new")))
        if not all(group in existing for group in named):
            return _Split(None, self.frame, None)
        unknown = int(pc.sum(self.lines.filter(pc.is_null(self.lines.column("is_new"))).column("count")).as_py() or 0)
        if not unknown:
            return _Split(self, None, 0)
        if not settled.num_rows:
            return _Split(None, self.frame, unknown)
        frame = self.frame.where(sql.col(IS_NEW).isNotNull())
        paths: list[str] = sorted(pc.unique(settled.column("partition")).to_pylist())
        there = TaggedRows(frame, settled, paths, self.untagged)
        return _Split(there, self.frame.where(sql.col(IS_NEW).isNull()), unknown)

    def all_new(self) -> TaggedRows:
        """These rows, of which none that names no group is of a record of the table."""
        return replace(self, frame=self.frame.withColumn(IS_NEW, sql.col(FILE_ID).isNull()))

    def without_keys_of(self, rest: DataFrame) -> tuple[TaggedRows | None, DataFrame]:
        """These rows without those whose keys other rows have as well, and those others with them."""
        keys = rest.select(RECORD_KEY).distinct()
        others = rest.unionByName(self.frame.join(keys, RECORD_KEY, "left_semi"))
        there = with_lines(self.frame.join(keys, RECORD_KEY, "left_anti"))
        return there if there.lines.num_rows else None, others

    def joined(self, looked_up: TaggedRows, schema: pa.Schema) -> TaggedRows:
        """These rows, which are not packed, and such as were looked up.

        Args:
            looked_up: packed rows.
            schema: of prepared rows.
        """
        mine = map_in_arrow(self.frame, PackTagged(schema), from_arrow_schema(TAGGED))
        return TaggedRows(
            mine.unionByName(looked_up.frame),
            pa.concat_tables([self.lines, looked_up.lines]),
            sorted({*self.partitions, *looked_up.partitions}),
            self.untagged or looked_up.untagged,
        )


class _Split(NamedTuple):
    """Rows of groups that the table has and new ones, and rows to be looked up; None for none.

    Attributes:
        unknown: how many are to be looked up; None where some of these name groups that the table does not have.
    """

    there: TaggedRows | None
    rest: DataFrame | None
    unknown: int | None


def with_lines(frame: DataFrame, partitions: list[str] | None = None) -> TaggedRows:
    """Tagged rows with their numbers, which a job counts.

    Args:
        frame: the rows, packed or not.
        partitions: that rows came with, where they were combined and looked up; None for rows that were not.
    """
    with step_jobs(frame.sparkSession.sparkContext, "look records up"):
        kept = in_session_of_steps(frame)
        if LINES in frame.columns:
            parts = kept.select(sql.explode(LINES).alias(LINES)).select(f"{LINES}.*")
            counted = parts.groupBy("partition", "file_id", "is_new").agg(sql.sum("count"))
        else:
            counted = kept.groupBy(PARTITION_PATH, FILE_ID, IS_NEW).count()
        lines = SPARK.to_arrow(counted).combine_chunks()
    lines = lines.rename_columns(GROUP_LINES.names).cast(GROUP_LINES)
    paths: list[str] = pc.unique(one_array(lines.column("partition"))).to_pylist()
    return TaggedRows(frame, lines, sorted(paths) if partitions is None else partitions, partitions is None)


def partitions_of(keyed: DataFrame) -> list[str]:
    """Paths of the partitions that packed rows name, ascending."""
    with step_jobs(keyed.sparkSession.sparkContext, "find partitions"):
        return _ascending(keyed.select(sql.explode(PARTITIONS)))


def partitions_of_rows(prepared: DataFrame) -> list[str]:
    """Paths of the partitions that rows name, ascending."""
    with step_jobs(prepared.sparkSession.sparkContext, "find partitions"):
        return _ascending(prepared.select(PARTITION_PATH))


def _ascending(paths: DataFrame) -> list[str]:
    return sorted(row[0] for row in paths.distinct().collect() if row[0] is not None)


def to_groups(tagged: TaggedRows, to: Destinations, step: WriteFileGroups) -> pa.Table:
    """Lines to the files of their groups; the statuses of these."""
    rows = in_session_of_steps(tagged.frame)
    tasks = max(1, min(to.groups.num_rows, parallelism(rows)))
    place = PlaceRows(to.assignment, to.groups, step.schema, tasks)
    placed = map_in_arrow(rows, place, from_arrow_schema(PACKED))
    return statuses_of(repartition_by_number(placed, tasks, sql.col(NUMBER)), step)


__all__ = ["Destinations", "TaggedRows", "partitions_of", "partitions_of_rows", "to_groups", "with_lines"]
