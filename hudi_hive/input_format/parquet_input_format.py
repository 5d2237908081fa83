"""Hive's face of the planner: ``HoodieParquetInputFormat`` for copy-on-write tables and read-optimised views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from hudi_hive.caching import cached_property
from hudi_hive.input_format.job import JobConf, PathGroups, TableInputs, classify
from hudi_hive.input_format.plan import FileStatus, InputPlan, JobTablePlan, plan_inputs, plan_table
from hudi_hive.input_format.record_reader import read_split
from hudi_hive.input_format.splits import FileSplit, cut_files, file_splits, locations_of_files
from hudi_hive.metrics import IoCounters
from hudi_hive.storage import Stores, is_hadoop_name, layered


class HoodieParquetInputFormat:
    """Lists, splits and reads what a Hive job names: newest base files of Hudi tables, and plain files as they are.

    One object sees one moment: tables are opened once, and :meth:`list_status`, :meth:`get_splits` and
    :meth:`get_record_reader` speak of the same files. Make a new object to see newer commits. The conf is never
    changed; the rewritten input paths are in :attr:`plan`.

    Args:
        conf: the job: input paths, ``hoodie.<table>.consume.*`` and the other keys that docs/input-format.md lists.
        storage_options: keys, region, endpoint … of file systems that are not local; they go before the job's own
            (``fs.s3a.access.key`` …).
        counters: where all I/O is counted.

    Raises:
        InvalidOptionError: from the methods: a key that is wrong, missing or names no table.
    """

    def __init__(
        self,
        conf: Mapping[str, Any],
        *,
        storage_options: Mapping[str, Any] | None = None,
        counters: IoCounters | None = None,
    ) -> None:
        self.conf = conf if isinstance(conf, JobConf) else JobConf(conf)
        properties = {name: value for name, value in self.conf.items() if is_hadoop_name(name)}
        self.stores = Stores(layered(storage_options, properties), counters)

    @property
    def counters(self) -> IoCounters:
        """Counts of all storage calls of this object."""
        return self.stores.counters

    @cached_property
    def groups(self) -> PathGroups:
        """The job's paths in RFC-04's three groups; nothing is listed but for globs."""
        return classify(self.conf.input_paths, self.conf, stores=self.stores)

    @cached_property
    def plan(self) -> InputPlan:
        """The plan of the job: files, tables and plain folders that it reads."""
        return plan_inputs(self.groups, self.conf, self.stores, self._table)

    def _table(self, inputs: TableInputs) -> JobTablePlan:
        return plan_table(inputs, self.conf)

    def classify(self) -> PathGroups:
        """The job's paths in three groups: incremental tables, snapshot tables, plain paths.

        Raises:
            PathNotFoundError: an input path does not exist, or a glob matches nothing.
            InvalidOptionError: a key with a bad value, or one that names no table among the paths.
            TableError: a table's properties are missing or not understood.
        """
        return self.groups

    def list_status_table(self) -> pa.Table:
        """All files to read, a row each (:data:`~hudi_hive.input_format.plan.STATUS_SCHEMA`).

        Raises:
            IncrementalRangeError, HollowCommitError: a range that cannot be answered in full.
            TimeTravelError, InstantNotFoundError: a past that cannot be shown.
            UnsupportedTableError: an incremental read of a table without meta columns.
        """
        return self.plan.statuses

    def list_status(self) -> list[FileStatus]:
        """All files to read, as objects; errors as in :meth:`list_status_table`."""
        return list(self.plan.file_statuses())

    def splits_table(self, number: int = 1) -> pa.Table:
        """All splits: columns ``file`` (row of :meth:`list_status_table`), ``start``, ``length``.

        Args:
            number: how many splits the engine would like.
        """
        return cut_files(self.plan.statuses, self.conf, number)

    def get_splits(self, number: int = 1) -> list[FileSplit]:
        """All splits, as objects: byte ranges of files, cut by Hadoop's size rule, with the nodes that have them.

        Args:
            number: how many splits the engine would like.

        Raises:
            InvalidOptionError: a negative number, or a size key that is none; and what listing raises.
        """
        statuses = self.plan.statuses
        located = locations_of_files(statuses.column("path"), self.stores)
        return file_splits(statuses, self.splits_table(number), located)

    def get_record_reader(self, split: FileSplit) -> Iterator[pa.RecordBatch]:
        """Rows of one split.

        The columns are those of ``hive.io.file.readcolumn.names`` (or ``.ids`` by ``columns``) and the job's
        ``partition_columns``, all columns of the table without them. Rows of an incremental split are those that the
        commits of the range wrote, unless ``hoodie.<table>.consume.filter.rows`` is false: Hive itself hands out whole
        files.

        Args:
            split: one of :meth:`get_splits` of this object or of one with the same conf.

        Raises:
            FileVanishedError: the file was cleaned since.
            CorruptFileError, SchemaError: the file is broken or does not fit the table.
            UnknownColumnError: a column of the projection does not exist.
        """
        return read_split(self.plan, self.conf, self.stores, split)
